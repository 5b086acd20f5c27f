//! The **course** of a life: its steps one after the other, whatever route the exports take.

use crate::backend::Inexpressible;
use crate::case::life::{Slot, Step};
use crate::case::{Call, Case};
use crate::oracle::{Event, Lived, Moment, Outcome};

/// An array and its exports, as long as they live.
pub trait Living {
    fn export(&mut self, slot: Slot, call: &Call) -> Result<Outcome, Inexpressible>;
    fn take(&mut self, step: Step) -> Result<Event, Inexpressible>;
    /// What is to be seen after a step.
    fn moment(&self, step: Step, event: Event) -> Moment;
    /// References of the array beyond those at the beginning; `None` once it was let go, or if nobody counts.
    fn references(&self) -> Option<isize>;
    /// Every export is released.
    fn is_empty(&self) -> bool;
}

/// Takes every step of the case's life, up to the last release.
pub fn live_through(living: &mut dyn Living, case: &Case) -> Result<Lived, Inexpressible> {
    let mut lived = Lived { first: Some(living.export(Slot::A, &case.call)?), ..Lived::default() };
    for step in case.life.with_end() {
        if step == Step::DropSource && living.is_empty() && !holds_itself(case) {
            lived.references = living.references();
        }
        let event = living.take(step)?;
        lived.moments.push(living.moment(step, event));
    }
    Ok(lived)
}

/// Lives on the same array once more: it stays what it is and where it is, and no child process leaves anything.
pub fn live_again(living: &mut dyn Living, case: &Case) -> Result<(), Inexpressible> {
    living.export(Slot::A, &case.call)?;
    let stays = |step: &Step| !matches!(step, Step::DropSource | Step::Change(_) | Step::Exit);
    for step in case.life.with_end().into_iter().filter(stays) {
        let event = living.take(step)?;
        // An exception that a step leaves behind is gone after the look.
        living.moment(step, event);
    }
    Ok(())
}

/// Such a capsule is released with the array, once that is collected.
pub fn holds_itself(case: &Case) -> bool {
    case.life.steps().iter().any(|step| matches!(step, Step::Attach(_)))
}

/// Runs something on a thread of its own and waits for it.
pub fn on_thread(run: impl FnOnce() + Send) {
    std::thread::scope(|scope| scope.spawn(run).join().unwrap_or_default());
}
