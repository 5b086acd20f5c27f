//! What a sweep or a session shows: a status line while it runs, and at its end the rules, the findings
//! and one line of totals.

use super::lab::Lab;
use super::options::{Output, Reports, Told};
use super::record::{Kept, Reduction};
use super::since::Since;
use super::{Failure, Status};
use dlpack_fuzz::finding::{Cause, Reproduced};
use dlpack_fuzz::host::Versions;
use dlpack_fuzz::host::journal::{Counts, Snapshot};
use dlpack_fuzz::oracle::{RuleSet, rules};
use dlpack_fuzz::report::{self, Noted, Notice, RuleCount, Style};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How often the status is printed where it cannot be overwritten.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// One line on standard error that says how far it is.
pub enum StatusLine {
    Quiet,
    /// A terminal: the line is overwritten.
    Bar(ProgressBar),
    /// A log: a new line now and then; the time of the last one.
    Plain(Mutex<Instant>),
}

impl StatusLine {
    /// A line without an end, for a session.
    pub fn new(output: Output) -> Self {
        Self::with(output, ProgressBar::no_length(), "{spinner} {msg}")
    }

    /// A bar up to a number of cases that [`Self::length`] tells, for a sweep.
    pub fn bar(output: Output) -> Self {
        let style = "{bar:30} {percent:>3}%  {msg}  {elapsed_precise}, {eta} left";
        Self::with(output, ProgressBar::new(0), style)
    }

    fn with(output: Output, bar: ProgressBar, style: &str) -> Self {
        if output.quiet {
            return Self::Quiet;
        }
        if !std::io::stderr().is_terminal() {
            return Self::Plain(Mutex::new(Instant::now()));
        }
        bar.set_style(ProgressStyle::with_template(style).expect("the template is a constant"));
        Self::Bar(bar)
    }

    /// How many cases there are, once it is known.
    pub fn length(&self, cases: u64) {
        if let Self::Bar(bar) = self {
            bar.set_length(cases);
        }
    }

    /// How many of the cases are done.
    pub fn advance(&self, cases: u64) {
        if let Self::Bar(bar) = self {
            bar.set_position(cases);
        }
    }

    pub fn show(&self, text: &str) {
        match self {
            Self::Quiet => {}
            Self::Bar(bar) => {
                bar.set_message(text.to_owned());
                bar.tick();
            }
            Self::Plain(last) => {
                let mut last = last.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                if last.elapsed() >= PLAIN_INTERVAL {
                    *last = Instant::now();
                    eprintln!("{text}");
                }
            }
        }
    }

    /// Something that must not be overwritten.
    pub fn say(&self, text: &str) {
        match self {
            Self::Quiet => {}
            Self::Bar(bar) => bar.suspend(|| eprintln!("{text}")),
            Self::Plain(_) => eprintln!("{text}"),
        }
    }

    pub fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// Everything that is told at the end.
pub struct Summary<'a> {
    pub lab: &'a Lab,
    pub versions: Versions,
    pub state: Snapshot,
    /// Known for sweeps.
    pub counts: Option<Counts>,
    pub elapsed: Duration,
    /// What broke a rule and is no finding; told of sweeps.
    pub noted: &'a [Noted],
    pub kept: &'a [Kept],
    pub known: u64,
    /// Deaths that were not looked into for want of time.
    pub passed: u64,
    pub crashes: u64,
    pub since: Option<&'a Since>,
}

impl Summary<'_> {
    pub fn status(&self) -> Status {
        if self.decisive().next().is_none() { Status::NothingNew } else { Status::Findings }
    }

    /// Says all of it in every form that was asked for.
    pub fn tell(&self, reports: &Reports) -> Result<(), Failure> {
        let notices: Vec<_> = (self.decisive())
            .map(|kept| Notice::of_finding(&kept.finding, kept.folder.as_deref().ok()))
            .collect();
        reports.tell(&Told {
            text: &|| self.text(reports.output()),
            json: &|| format!("{:#}\n", self.json()),
            junit: &|| {
                let findings: Vec<_> = self.decisive().map(|kept| &kept.finding).collect();
                report::junit_rules(&self.lab.subject.backend, &self.rule_counts(), &findings)
            },
            notices: &notices,
        })
    }

    /// The findings that decide: all of them, or those that are new since.
    fn decisive(&self) -> impl Iterator<Item = &Kept> {
        (self.kept.iter()).filter(|kept| self.since.is_none_or(|since| since.is_new(&kept.finding)))
    }

    fn rule_counts(&self) -> Vec<RuleCount> {
        let counts = self.counts.as_ref();
        // A session does not count; a rule was checked or not.
        let count = |place, counted: Option<&Vec<u64>>, set: &RuleSet| {
            counted.map_or_else(|| u64::from(set.contains(place)), |counted| counted[place])
        };
        (rules().iter().enumerate())
            .map(|(place, rule)| RuleCount {
                id: rule.id.to_owned(),
                checked: count(place, counts.map(|counts| &counts.checked), &self.state.checked),
                fired: count(place, counts.map(|counts| &counts.fired), &self.state.fired),
            })
            .collect()
    }

    fn text(&self, output: Output) -> String {
        let mut text = String::new();
        if self.counts.is_some() && !output.quiet {
            text += &report::table(&self.rule_counts());
            text.push('\n');
        }
        for kept in self.decisive() {
            let _ = writeln!(
                text,
                "{}",
                report::terminal_in(&kept.finding, Style::of(&std::io::stdout()))
            );
            // Only deaths have a number worth telling.
            let often = match &kept.finding.cause {
                Cause::Crash(_) => format!("; {} processes died", kept.count),
                Cause::Violation(_) => String::new(),
            };
            let _ = writeln!(text, "    {}{often}\n", place(kept));
        }
        text += &self.since.map(Since::text).unwrap_or_default();
        let _ = writeln!(text, "{}", self.totals());
        if let Some(unfinished) = unfinished(self.kept, self.passed) {
            let _ = writeln!(text, "{unfinished}");
        }
        text
    }

    /// `123,456 cases in 0:12, 10,288/s: …`
    fn totals(&self) -> String {
        let [lawful, info, warning, violation] = self.state.grades.map(grouped);
        let graded = match self.counts {
            Some(_) => format!(
                "{lawful} lawful, {info} with a note, {warning} with a warning, {violation} with a violation"
            ),
            // A session asks for violations only.
            None => format!("{lawful} without a violation, {violation} with one"),
        };
        let rate = self.state.done as f64 / self.elapsed.as_secs_f64().max(0.001);
        let judged: u64 = self.state.grades.iter().sum();
        format!(
            "{} cases in {}, {}/s: {graded}, {} left out (not expressible, or known to kill); \
             {} crashes; {} times something known; {} of {} rules checked; {}findings: {}",
            grouped(self.state.done),
            clock(self.elapsed),
            grouped(rate as u64),
            grouped(self.state.done.saturating_sub(judged + self.crashes)),
            self.crashes,
            grouped(self.known),
            self.state.checked.len(),
            rules().len(),
            if self.since.is_some() { "" } else { "new " },
            self.kept.len(),
        )
    }

    fn json(&self) -> serde_json::Value {
        let rules: Vec<_> = (rules().iter().enumerate())
            .map(|(place, rule)| {
                let counts = self.counts.as_ref();
                json!({
                    "id": rule.id,
                    "checked": self.state.checked.contains(place),
                    "fired": self.state.fired.contains(place),
                    "times_checked": counts.map(|counts| counts.checked[place]),
                    "times_fired": counts.map(|counts| counts.fired[place]),
                })
            })
            .collect();
        let findings: Vec<_> = (self.kept.iter())
            .map(|kept| {
                json!({
                    "finding": kept.finding,
                    "count": kept.count,
                    "folder": kept.folder.as_ref().ok(),
                })
            })
            .collect();
        let [lawful, info, warning, violation] = self.state.grades;
        let [unreduced, unconfirmed] = left_over(self.kept);
        // A session asks for violations only, and counts nothing below.
        let below = |count: u64| self.counts.is_some().then_some(count);
        json!({
            "backend": self.lab.subject.backend,
            "profile": self.lab.subject.profile_text(),
            "versions": self.versions,
            "cases": self.state.done,
            "seconds": self.elapsed.as_secs_f64(),
            "grades": { "lawful": below(lawful), "info": below(info), "warning": below(warning), "violation": violation },
            "crashes": self.crashes,
            "known": self.known,
            "rules": rules,
            "noted": self.noted,
            "findings": findings,
            "unfinished": { "unreduced": unreduced, "unconfirmed": unconfirmed, "deaths": self.passed },
            "since": self.since.map(Since::json),
        })
    }
}

/// One line for a finding that was just kept.
pub fn headline(kept: &Kept) -> String {
    let finding = &kept.finding;
    format!(
        "FOUND {}: {} ({}); {}",
        finding.identity,
        finding.case,
        finding.cause.seen(),
        place(kept)
    )
}

fn place(kept: &Kept) -> String {
    match &kept.folder {
        Ok(folder) => folder.display().to_string(),
        Err(reason) => format!("NOT WRITTEN: {reason}"),
    }
}

/// What the time did not suffice for, in a sentence; `None` if it did.
pub fn unfinished(kept: &[Kept], passed: u64) -> Option<String> {
    let [unreduced, unconfirmed] = left_over(kept);
    let parts = [
        (unreduced as u64, "not reduced as far as it goes"),
        (unconfirmed as u64, "not confirmed"),
        (passed, "not looked into (deaths)"),
    ];
    let parts: Vec<_> = (parts.iter())
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!parts.is_empty()).then(|| format!("For want of time: {}; raise --time.", parts.join(", ")))
}

/// How many findings were not reduced, and how many not confirmed.
fn left_over(kept: &[Kept]) -> [usize; 2] {
    let count = |wanted: &dyn Fn(&Kept) -> bool| kept.iter().filter(|kept| wanted(kept)).count();
    [
        count(&|kept| kept.reduction == Reduction::Cut),
        count(&|kept| kept.finding.reproduced == Reproduced::NotTried),
    ]
}

/// `1,234,567`
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1:02:03` or `2:03`
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// Several journals in one; it names no case.
pub fn sum(states: impl Iterator<Item = Snapshot>) -> Snapshot {
    states.fold(Snapshot::default(), |mut sum, state| {
        sum.begun += state.begun;
        sum.done += state.done;
        sum.findings += state.findings;
        sum.checked.union(&state.checked);
        sum.fired.union(&state.fired);
        sum.grades.iter_mut().zip(state.grades).for_each(|(sum, more)| *sum += more);
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_read_well() {
        assert_eq!(
            ["0", "999", "1,000", "1,234,567"],
            [0, 999, 1000, 1_234_567].map(grouped).each_ref().map(|text| text.as_str())
        );
        assert_eq!(clock(Duration::from_secs(63)), "1:03");
        assert_eq!(clock(Duration::from_secs(3723)), "1:02:03");
    }
}
