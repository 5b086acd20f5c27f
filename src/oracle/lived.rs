//! What a **life** breaks: every step against the model of ownership, and the rule to which a break belongs.
//!
//! A break belongs to the step that made it. Where that cannot be told (memory that was freed some steps ago
//! and is overwritten now), it belongs to the only step that can have done it; where there are several, nobody
//! is accused, and the life without one of them will show it. After the first export that is not what it was,
//! nothing further is judged. A leak is judged by its growth over many lives (P-BASELINE), and only where the
//! calls alone leak nothing (P-ONE-CAUSE).

use super::export::evidence;
use super::{
    Context, Difference, Event, Evidence, Fact, Fate, Grade, Knob, Lived, Manner, Moment, Of,
    Outcome, Passing, Setting, Stage, Verdict, What,
};
use crate::case::life::{Change, Mood, Place, Slot, Standing, Step};
use std::collections::BTreeSet;

/// A broken rule.
#[derive(Clone, Debug)]
pub(super) struct Breach {
    rule: &'static str,
    grade: Grade,
    evidence: Evidence,
}

/// What a life shows: the rules that had their say, and those that are broken.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    held: BTreeSet<&'static str>,
    broken: Vec<Breach>,
}

/// The word of one rule on the case's life.
pub(super) fn verdict(ctx: &Context, rule: &'static str) -> Verdict {
    let findings = ctx.lived();
    if let Some(breach) = findings.broken.iter().find(|breach| breach.rule == rule) {
        return ctx.breaks(breach.grade, || breach.evidence.clone());
    }
    if findings.held.contains(rule) { Verdict::Holds } else { Verdict::Silent }
}

/// The word of a rule that also speaks of the calls alone.
pub(super) fn verdict_beside(ctx: &Context, rule: &'static str, of_calls: Verdict) -> Verdict {
    match (of_calls, verdict(ctx, rule)) {
        (broken @ Verdict::Breaks(..), _) => broken,
        (Verdict::Holds, Verdict::Silent) => Verdict::Holds,
        (_, of_life) => of_life,
    }
}

/// Judges a life.
pub(super) fn examine(ctx: &Context, lived: &Lived) -> Findings {
    let mut judge =
        Judge { ctx, lived, standing: Standing::after_export(), findings: Findings::default() };
    judge.first();
    for place in 0..lived.moments.len() {
        if !judge.moment(place) {
            return judge.findings;
        }
    }
    judge.ledger();
    judge.findings
}

struct Judge<'a, 'c> {
    ctx: &'a Context<'c>,
    lived: &'a Lived,
    /// Before the moment in question.
    standing: Standing,
    findings: Findings,
}

impl Judge<'_, '_> {
    /// The export `a`, which nobody asked for its device before (DEV-ORDER).
    fn first(&mut self) {
        let (Some(first), Outcome::Capsule(_)) = (&self.lived.first, &self.ctx.seen.export) else {
            return;
        };
        match first.raised() {
            None => self.hold("DEV-ORDER"),
            Some(raised) => self.break_by(
                "DEV-ORDER",
                Grade::Violation,
                evidence(
                    raised.name.clone(),
                    "an export also where __dlpack_device__ was not called before",
                    format!("{} from the first call on a new array", raised.name),
                    [Fact { of: Of::Export, what: What::Outcome, value: raised.name.to_string() }],
                ),
            ),
        }
    }

    /// What one step did; `false` if nothing further can be told.
    fn moment(&mut self, place: usize) -> bool {
        let moment = &self.lived.moments[place];
        if matches!(moment.event, Event::Skipped(_)) {
            self.standing.apply(moment.step);
            return true;
        }
        self.flight(moment);
        self.special(moment);
        let goes_on = match &moment.changed {
            Some((slot, difference)) => {
                if let Some((rule, grade)) = self.blame(place, *slot, difference) {
                    self.break_by(rule, grade, changed(moment, *slot, difference));
                }
                false
            }
            None => {
                let flags = Difference::Field("flags", String::new(), String::new());
                for slot in Slot::ALL.into_iter().filter(|&slot| self.standing.lives(slot)) {
                    for what in [&Difference::Elements, &flags] {
                        let rule = self.direct(moment, slot, what).map(|(rule, _)| rule);
                        self.findings.held.extend(rule);
                    }
                }
                true
            }
        };
        self.standing.apply(moment.step);
        goes_on
    }

    /// Exceptions: one that was in flight stays, and none is left behind.
    fn flight(&mut self, moment: &Moment) {
        let (quiet, kept, grade) = match moment.step {
            Step::Drop(..) if self.ctx.seen.exporter.python_destructor => {
                ("CAP-DTOR-EXC-CLEAN", "CAP-DTOR-EXC-PY", Setting::Grade(Grade::Warning))
            }
            Step::Drop(..) => {
                ("CAP-DTOR-EXC-CLEAN", "CAP-DTOR-EXC-KEPT", Setting::Grade(Grade::Violation))
            }
            Step::Delete(..) => (
                "MGT-DELETER-NO-EXC",
                "MGT-DELETER-NO-EXC",
                self.ctx.profile.setting(Knob::DeleterExc),
            ),
            _ => return,
        };
        let what = if matches!(moment.step, Step::Drop(..)) { "destructor" } else { "deleter" };
        if let Event::InFlight(fate) = &moment.event {
            let word = match fate {
                Fate::Kept => return self.hold(kept),
                Fate::Lost => "None".to_owned(),
                Fate::Replaced(name) => name.clone().into_owned(),
            };
            if let Setting::Grade(grade) = grade {
                self.break_by(
                    kept,
                    grade,
                    evidence(
                        if word == "None" { "lost" } else { "replaced" },
                        format!("the KeyError that is in flight while the {what} runs, still set"),
                        format!("{word} set after `{}`", moment.step),
                        [fact(What::LifeInFlight, word.clone())],
                    ),
                );
            }
            return;
        }
        let grade = match grade {
            _ if what == "destructor" => Some(Grade::Violation),
            Setting::Grade(grade) => Some(grade),
            Setting::Off => None,
        };
        match (&moment.error, grade) {
            (None, _) => self.hold(quiet),
            (Some(name), Some(grade)) => self.break_by(
                quiet,
                grade,
                evidence(
                    name.clone(),
                    format!("no exception set after the {what} ran"),
                    format!("{name} set after `{}`", moment.step),
                    [fact(What::LifeError, name.clone().into_owned())],
                ),
            ),
            (Some(_), None) => {}
        }
    }

    /// Steps that have a rule of their own.
    fn special(&mut self, moment: &Moment) {
        match &moment.event {
            Event::Raced(raced) => {
                let few = i64::from(raced.exports / 20).max(2) as isize;
                if raced.raised > 0 || raced.references.abs() >= few {
                    let word = if raced.raised > 0 { "raises" } else { "references" };
                    self.break_by(
                        "LIFE-CONCURRENT",
                        Grade::Warning,
                        evidence(
                            word,
                            "the same answers and counts from two threads as from one",
                            format!(
                                "{} of {} exports raise, {} references left",
                                raced.raised, raced.exports, raced.references
                            ),
                            [fact(What::LifeRace, word.to_owned())],
                        ),
                    );
                } else {
                    self.hold("LIFE-CONCURRENT");
                }
            }
            Event::Starved(starved) if starved.failures > 0 => {
                let bad = |name: &str| starved.raised.iter().find(|raised| raised.name == name);
                match bad("SystemError") {
                    Some(raised) => self.break_by(
                        "EXC-OOM",
                        Grade::Violation,
                        evidence(
                            "SystemError",
                            "MemoryError, or an export all the same, when an allocation fails",
                            format!(
                                "SystemError ({})",
                                raised.message.as_deref().unwrap_or("no message")
                            ),
                            [],
                        ),
                    ),
                    None => self.hold("EXC-OOM"),
                }
                // Every one of the rounds behind the first has left something.
                if starved.references >= crate::oracle::Starved::ROUNDS as isize - 1 {
                    self.break_by(
                        "CAP-EXC-NO-LEAK",
                        Grade::Violation,
                        evidence(
                            "starved",
                            "a reference count that stays when an allocation fails in a call",
                            format!("{} references left behind", starved.references),
                            [],
                        ),
                    );
                }
            }
            Event::Ended(ended) => {
                if ended.without != Passing::Clean {
                    return;
                }
                if ended.capsules > 0 {
                    self.hold("LIFE-CAPSULE-AT-EXIT");
                }
                if ended.structs > 0 {
                    self.hold("LIFE-DELETER-FINALIZED");
                }
                let (word, stage) = match ended.with {
                    Passing::Clean => return,
                    Passing::Died(word, stage) => (word, stage),
                    Passing::Hung(stage) => ("hang", stage),
                };
                let (rule, grade) = match stage {
                    Stage::Finalizing if ended.capsules > 0 => {
                        let hangs = matches!(ended.with, Passing::Hung(_));
                        let grade = if hangs { Grade::Warning } else { Grade::Violation };
                        ("LIFE-CAPSULE-AT-EXIT", grade)
                    }
                    Stage::Finalized => match self.ctx.profile.setting(Knob::Finalized) {
                        Setting::Grade(grade) => ("LIFE-DELETER-FINALIZED", grade),
                        Setting::Off => return,
                    },
                    Stage::Finalizing => return,
                };
                self.break_by(
                    rule,
                    grade,
                    evidence(
                        word,
                        "a process that ends as it does without the export",
                        format!("it ends with {word}"),
                        [fact(What::LifeEnd, word.to_owned())],
                    ),
                );
            }
            _ => {}
        }
    }

    /// The rule that says why this export had to stay what it was.
    fn blame(
        &self,
        place: usize,
        slot: Slot,
        difference: &Difference,
    ) -> Option<(&'static str, Grade)> {
        if let Some(direct) = self.direct(&self.lived.moments[place], slot, difference) {
            return Some(direct);
        }
        // It was done before, and shows now that memory was used again.
        let mut standing = Standing::after_export();
        let mut suspects = Vec::new();
        for moment in &self.lived.moments[..place] {
            let was_there = standing.lives(slot);
            let done = !matches!(moment.event, Event::Skipped(_));
            if was_there && done {
                let judge =
                    Judge { standing: standing.clone(), findings: Findings::default(), ..*self };
                suspects.extend(judge.direct(moment, slot, difference));
            }
            standing.apply(moment.step);
            // Whatever had been freed by then would have been overwritten, and shown.
            if moment.step == Step::Churn {
                suspects.clear();
            }
        }
        suspects.dedup();
        match suspects[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The rule by which this very step must leave the export alone.
    fn direct(
        &self,
        moment: &Moment,
        slot: Slot,
        difference: &Difference,
    ) -> Option<(&'static str, Grade)> {
        let rule = match moment.step {
            Step::Drop(dropped, _) if self.standing.is_taken(dropped) => {
                if dropped == slot {
                    "CAP-DTOR-CONSUMED-LIVE"
                } else if self.standing.lives(dropped) {
                    "CAP-INDEPENDENT"
                } else {
                    "CAP-DTOR-CONSUMED"
                }
            }
            Step::Drop(..) | Step::Delete(..) | Step::Export(..) => "CAP-INDEPENDENT",
            Step::DropSource if self.standing.is_taken(slot) => "LIFE-OWNER-DROPPED-TAKEN",
            Step::DropSource => "LIFE-OWNER-DROPPED",
            Step::Race => "LIFE-CONCURRENT",
            Step::Change(change) => {
                let Event::Changed(manner) = moment.event else { return None };
                let rule = match (change, difference) {
                    (Change::Freeze, Difference::Field("flags", ..)) => "RO-STATE",
                    (Change::Resize, Difference::Elements) => "LIFE-OWNER-PINNED",
                    _ => "MGT-META-SNAPSHOT",
                };
                return Some((
                    rule,
                    if manner == Manner::LowLevel { Grade::Warning } else { Grade::Violation },
                ));
            }
            Step::Take(_)
            | Step::Disarm(_)
            | Step::Churn
            | Step::Collect
            | Step::Attach(_)
            | Step::Starve
            | Step::Exit => return None,
        };
        let grade = if rule == "LIFE-CONCURRENT" { Grade::Warning } else { Grade::Violation };
        Some((rule, grade))
    }

    /// What many lives leave behind.
    fn ledger(&mut self) {
        // What was said above explains it, the calls alone do, or a capsule that releases nothing does.
        let calls_leak = self.ctx.seen.ledger.growth.is_some();
        let is_lawful = |moment: &Moment| match &moment.event {
            Event::Exported(outcome) => outcome.capsule().is_none_or(|it| it.has_destructor),
            _ => true,
        };
        let first = self.lived.first.as_ref().and_then(|first| first.capsule());
        if calls_leak
            || !self.findings.broken.is_empty()
            || !self.lived.moments.iter().all(is_lawful)
            || first.is_none_or(|capsule| !capsule.has_destructor)
        {
            return;
        }
        let route = self.route();
        let Some(growth) = self.lived.growth else {
            if self.lived.references == Some(0) {
                self.findings.held.extend(["LIFE-REFCOUNT", "LIFE-DELETER-ONCE"]);
                self.hold(route.unwrap_or("LIFE-REFCOUNT"));
            }
            return;
        };
        let per_life = |count: isize| count as f64 / f64::from(growth.rounds.max(1));
        let (references, blocks) = (per_life(growth.references), per_life(growth.blocks));
        if references <= -0.5 {
            let rule = self.released_twice();
            let seen = format!("{:.2} references too many given back by each life", -references);
            self.break_by(
                rule,
                Grade::Violation,
                evidence(
                    "twice",
                    "each export to be released once",
                    seen,
                    [fact(What::LifeGrowth, format!("{references:.2}"))],
                ),
            );
        } else if references >= 0.5 || blocks >= 0.5 {
            let rule = route.unwrap_or("LIFE-REFCOUNT");
            let grade = match rule {
                "CAP-DTOR-REMOVED" => Grade::Warning,
                "LIFE-CYCLE" => Grade::Info,
                _ => Grade::Violation,
            };
            let (key, what, facts) = match references >= 0.5 {
                true => {
                    let value = format!("{references:.2}");
                    ("references", "references", vec![fact(What::LifeGrowth, value)])
                }
                false => ("memory", "blocks of memory", vec![]),
            };
            let count = if references >= 0.5 { references } else { blocks };
            self.break_by(
                rule,
                grade,
                evidence(
                    key,
                    "nothing left behind when every export is released",
                    format!("{count:.2} {what} left behind by each life"),
                    facts,
                ),
            );
        }
    }

    /// The rule about the way on which every export of this life was released, if that was one way.
    fn route(&self) -> Option<&'static str> {
        let mut routes = BTreeSet::new();
        let mut disarmed = BTreeSet::new();
        let mut standing = Standing::after_export();
        for moment in &self.lived.moments {
            if !matches!(moment.event, Event::Skipped(_)) {
                match moment.step {
                    Step::Attach(_) => drop(routes.insert("LIFE-CYCLE")),
                    Step::Race => drop(routes.insert("LIFE-CONCURRENT")),
                    Step::Starve => drop(routes.insert("CAP-EXC-NO-LEAK")),
                    Step::Disarm(slot) => drop(disarmed.insert(slot)),
                    Step::Drop(slot, mood) if !standing.is_taken(slot) => {
                        let is_python = self.ctx.seen.exporter.python_destructor;
                        routes.insert(match mood {
                            // The destructor gave up because of the exception.
                            Mood::Raising if is_python => "CAP-DTOR-EXC-PY",
                            _ => "CAP-DTOR-UNCONSUMED",
                        });
                    }
                    Step::Delete(slot, _) if disarmed.contains(&slot) => {
                        routes.insert("CAP-DTOR-REMOVED");
                    }
                    Step::Delete(_, Place::Here | Place::Raising) => {
                        routes.insert("MGT-DELETER-FREES-ALL");
                    }
                    Step::Delete(_, Place::Thread) => drop(routes.insert("LIFE-DELETER-PY-THREAD")),
                    Step::Delete(_, Place::Unlocked | Place::Native) => {
                        routes.insert("LIFE-DELETER-NO-GIL");
                    }
                    _ => {}
                }
            }
            standing.apply(moment.step);
        }
        let mut routes = routes.into_iter();
        match (routes.next(), routes.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        }
    }

    /// The rule about the step that released what was released already.
    fn released_twice(&self) -> &'static str {
        let mut standing = Standing::after_export();
        // Whose capsules have released what was the consumer's to release.
        let mut released = BTreeSet::new();
        let mut before = None;
        for moment in &self.lived.moments {
            if let Step::Drop(slot, _) = moment.step
                && standing.is_taken(slot)
                && standing.lives(slot)
                && moment.references < before
            {
                released.insert(slot);
            }
            before = moment.references;
            if moment.references.is_some_and(|references| references < 0) {
                return match moment.step {
                    Step::Drop(slot, _) if standing.is_taken(slot) => "CAP-DTOR-CONSUMED",
                    // Its capsule had run the deleter before the consumer did.
                    Step::Delete(slot, _) if released.contains(&slot) => "CAP-DTOR-CONSUMED-LIVE",
                    _ => "LIFE-DELETER-ONCE",
                };
            }
            standing.apply(moment.step);
        }
        "LIFE-DELETER-ONCE"
    }

    fn hold(&mut self, rule: &'static str) {
        self.findings.held.insert(rule);
    }

    fn break_by(&mut self, rule: &'static str, grade: Grade, evidence: Evidence) {
        self.findings.broken.push(Breach { rule, grade, evidence });
    }
}

fn fact(what: What, value: String) -> Fact {
    Fact { of: Of::Export, what, value }
}

fn changed(moment: &Moment, slot: Slot, difference: &Difference) -> Evidence {
    let seen = match difference {
        Difference::Field(name, was, is) => format!("{name} {is} where it was {was}"),
        Difference::Elements => "other bytes in its elements".to_owned(),
    };
    let word = difference.word();
    evidence(
        word,
        "a living export that stays as it was made",
        format!("{seen}: export {slot} after `{}`", moment.step),
        [fact(What::LifeChange, format!("{slot}: {word}"))],
    )
}

#[cfg(test)]
mod tests;
