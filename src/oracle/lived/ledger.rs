//! The **ledger** of a life: what many such lives leave behind, or give back too often.

use super::{Judge, fact};
use crate::case::life::{Mood, Place, Standing, Step};
use crate::oracle::export::evidence;
use crate::oracle::{Event, Grade, Moment, Route, What};
use std::collections::BTreeSet;

impl Judge<'_, '_> {
    /// What many lives leave behind.
    pub(super) fn ledger(&mut self) {
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
                        let exporter = self.ctx.seen.exporter;
                        let is_python = exporter.python_destructor;
                        routes.insert(match mood {
                            // Without a capsule it is the deleter that ran.
                            _ if exporter.route == Route::C => "MGT-DELETER-FREES-ALL",
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
}
