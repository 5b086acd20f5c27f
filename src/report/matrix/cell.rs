//! A **cell**: what the run of one library says of one rule.

use super::{Exchange, Reported, Run};
use crate::finding::Cause;
use crate::oracle::Grade;
use crate::oracle::catalogue::{self, Obligation};
use crate::report::Noted;

/// The worst that was seen, and what shows it.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    pub verdict: Verdict,
    pub checked: u64,
    pub findings: Vec<&'a Reported>,
    pub noted: Vec<&'a Noted>,
}

/// From what needs no action to what needs it most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It could not be asked in this run.
    NotRun,
    /// Its preconditions were never met: the library has no such array, argument or answer.
    NeverAsked,
    Kept,
    /// Another answer than the rule has, on a point where sources disagree or nobody is bound.
    Contested,
    /// It departs from a recommendation, or from what others do.
    Should,
    /// An accusation.
    Must,
    /// The process dies.
    Crashed,
}

impl Verdict {
    pub const ALL: [Self; 7] = [
        Self::Crashed,
        Self::Must,
        Self::Should,
        Self::Contested,
        Self::Kept,
        Self::NeverAsked,
        Self::NotRun,
    ];

    /// What stands in the cell; told apart without colour.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Crashed => "\u{2020}",
            Self::Must => "\u{2717}",
            Self::Should => "\u{25b2}",
            Self::Contested => "\u{25c7}",
            Self::Kept => "\u{2713}",
            Self::NeverAsked => "\u{2013}",
            Self::NotRun => "?",
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Crashed => "crashed",
            Self::Must => "broken",
            Self::Should => "departs",
            Self::Contested => "contested",
            Self::Kept => "kept",
            Self::NeverAsked => "never asked",
            Self::NotRun => "not run",
        }
    }

    pub fn meaning(self) -> &'static str {
        match self {
            Self::Crashed => "the process dies or hangs",
            Self::Must => "a clause that binds is broken",
            Self::Should => "from a recommendation, or from what others do",
            Self::Contested => {
                "another answer on a point where the sources disagree or bind nobody"
            }
            Self::Kept => "checked, and never broken",
            Self::NeverAsked => "nothing that the rule speaks of came up",
            Self::NotRun => "not checked in this run",
        }
    }

    /// Name of its style.
    pub fn class(self) -> &'static str {
        match self {
            Self::Crashed => "crashed",
            Self::Must => "must",
            Self::Should => "should",
            Self::Contested => "contested",
            Self::Kept => "kept",
            Self::NeverAsked => "never",
            Self::NotRun => "notrun",
        }
    }

    /// There is something to read about it.
    pub fn is_broken(self) -> bool {
        self >= Self::Contested
    }
}

impl<'a> Cell<'a> {
    pub fn of(run: &'a Run, rule: &str) -> Self {
        let findings: Vec<_> = run.findings.iter().filter(|it| it.finding.rule() == rule).collect();
        let noted: Vec<_> = run.noted.iter().filter(|it| it.violation.rule == rule).collect();
        let count = run.counts.iter().find(|count| count.id == rule);
        let checked = count.map_or(0, |count| count.checked);
        let is_exchange = catalogue::entry(rule).is_some_and(|entry| entry.family == "XCH");
        let of_findings = findings.iter().map(|it| match it.finding.cause {
            Cause::Crash(_) => Verdict::Crashed,
            Cause::Violation(_) => Verdict::Must,
        });
        let of_notes = noted.iter().map(|it| of_note(rule, it.violation.grade));
        let worst = of_findings.chain(of_notes).max();
        // A death is what breaks this rule; no case that lived says anything else of it.
        let is_kept = checked > 0 || rule == CRASH_RULE && run.cases > 0;
        let verdict = worst.unwrap_or(match is_kept {
            true if rule == CRASH_RULE && run.deaths_unseen > 0 => Verdict::NotRun,
            true => Verdict::Kept,
            false if is_exchange && run.exchange == Exchange::NotRun => Verdict::NotRun,
            false => Verdict::NeverAsked,
        });
        Self { verdict, checked, findings, noted }
    }
}

/// The rule that deaths break.
pub(super) const CRASH_RULE: &str = "EXC-NO-CRASH";

fn of_note(rule: &str, grade: Grade) -> Verdict {
    let obligation = catalogue::entry(rule).map(|entry| entry.obligation());
    match (grade, obligation) {
        (Grade::Violation, _) => Verdict::Must,
        (Grade::Warning, Some(Obligation::Ambiguous)) | (Grade::Info, _) => Verdict::Contested,
        (Grade::Warning, _) => Verdict::Should,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::matrix::tests::sample;

    #[test]
    fn every_kind_of_cell_is_told_apart() {
        let matrix = sample();
        let verdict =
            |library: usize, rule| Cell::of(matrix.libraries[library].run().unwrap(), rule).verdict;
        for (library, rule, expected) in [
            (0, "CAP-TYPE", Verdict::Kept),
            (0, "EXC-DEVICE", Verdict::Must),
            (0, "EXC-NO-CRASH", Verdict::Crashed),
            (0, "STR-CPU-NONE-ONLY", Verdict::Should),
            (0, "DEV-CPU-ID-OTHER", Verdict::Contested),
            (0, "TEN-VALUES", Verdict::NeverAsked),
            (0, "XCH-TABLE-NAMES", Verdict::NeverAsked),
            (1, "EXC-NO-CRASH", Verdict::Kept),
            (1, "DEV-CPU-ID-OTHER", Verdict::Kept),
        ] {
            assert_eq!(verdict(library, rule), expected, "{rule}");
        }
        let exchange = catalogue::all().iter().find(|entry| entry.family == "XCH").unwrap();
        assert_eq!(verdict(1, exchange.id), Verdict::NotRun);
    }

    #[test]
    fn deaths_that_nobody_looked_into_are_not_taken_for_none() {
        let run = |deaths_unseen| Run { cases: 9, deaths_unseen, ..Run::default() };
        assert_eq!(Cell::of(&run(0), CRASH_RULE).verdict, Verdict::Kept);
        assert_eq!(Cell::of(&run(1), CRASH_RULE).verdict, Verdict::NotRun);
    }

    #[test]
    fn signs_differ_without_colour() {
        let signs: std::collections::HashSet<_> = Verdict::ALL.map(Verdict::sign).into();
        assert_eq!(signs.len(), Verdict::ALL.len());
    }
}
