//! What a single **step** shows by itself: exceptions around a release, threads, failed allocations, the
//! interpreter's end.

use super::{Judge, fact};
use crate::case::life::Step;
use crate::oracle::export::evidence;
use crate::oracle::{Event, Fate, Grade, Knob, Moment, Passing, Setting, Stage, Starved, What};

impl Judge<'_, '_> {
    /// Exceptions: one that was in flight stays, and none is left behind.
    pub(super) fn flight(&mut self, moment: &Moment) {
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
    pub(super) fn special(&mut self, moment: &Moment) {
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
                if starved.references >= Starved::ROUNDS as isize - 1 {
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
}
