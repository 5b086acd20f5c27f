//! To **blame**: the step, and with it the rule, by which a living export is not what it was.

use super::{Findings, Judge};
use crate::case::life::{Change, Slot, Standing, Step};
use crate::oracle::{Difference, Event, Grade, Manner, Moment};

impl Judge<'_, '_> {
    /// The rule that says why this export had to stay what it was.
    pub(super) fn blame(
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
    pub(super) fn direct(
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
}
