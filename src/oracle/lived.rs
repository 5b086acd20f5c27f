//! What a **life** breaks: every step against the model of ownership, and the rule to which a break belongs.
//!
//! A break belongs to the step that made it. Where that cannot be told (memory that was freed some steps ago
//! and is overwritten now), it belongs to the only step that can have done it; where there are several, nobody
//! is accused, and the life without one of them will show it. After the first export that is not what it was,
//! nothing further is judged. A leak is judged by its growth over many lives (P-BASELINE), and only where the
//! calls alone leak nothing (P-ONE-CAUSE).

mod blame;
mod ledger;
mod step;

use super::export::evidence;
use super::{
    Context, Difference, Event, Evidence, Fact, Grade, Lived, Moment, Of, Outcome, Verdict, What,
};
use crate::case::life::{Slot, Standing};
use std::collections::BTreeSet;

/// A rule that only a life can break.
macro_rules! rule {
    ($id:literal) => {
        $crate::oracle::Rule {
            id: $id,
            needs: $crate::oracle::Matter::LIFE,
            judge: |ctx| $crate::oracle::lived::verdict(ctx, $id),
        }
    };
}
pub(super) use rule;

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
