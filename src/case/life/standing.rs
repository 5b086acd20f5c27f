//! The **standing** of a life: the model of who owns what after some steps.

use super::{Slot, Step};

/// What is alive, and who has to free it.
#[derive(Clone, Debug)]
pub struct Standing {
    exports: [Export; 4],
    source_lives: bool,
    is_over: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Export {
    made: bool,
    /// Somebody holds the capsule.
    capsule: bool,
    /// A consumer has the pointer, and with it the duty to run the deleter.
    taken: bool,
    disarmed: bool,
    deleted: bool,
    /// The array holds the capsule.
    attached: bool,
}

impl Export {
    const NEW: Self = Self {
        made: true,
        capsule: true,
        taken: false,
        disarmed: false,
        deleted: false,
        attached: false,
    };

    /// The struct may be read.
    fn lives(&self) -> bool {
        if self.taken { !self.deleted } else { self.capsule }
    }
}

impl Standing {
    /// The array is built and exported once.
    pub fn after_export() -> Self {
        let mut exports = [Export::default(); 4];
        exports[0] = Export::NEW;
        Self { exports, source_lives: true, is_over: false }
    }

    /// Takes the step, if it is lawful here.
    pub fn take(&mut self, step: Step) -> bool {
        let allowed = self.allows(step);
        if allowed {
            self.apply(step);
        }
        allowed
    }

    /// Nobody could call it a consumer's mistake.
    pub fn allows(&self, step: Step) -> bool {
        if self.is_over {
            return false;
        }
        let export = |slot: Slot| &self.exports[slot as usize];
        match step {
            Step::Export(slot, _) => self.source_lives && self.next_slot() == Some(slot),
            Step::Take(slot) => export(slot).capsule && !export(slot).taken,
            Step::Disarm(slot) => {
                export(slot).taken && export(slot).capsule && !export(slot).disarmed
            }
            Step::Drop(slot, _) => export(slot).capsule && !export(slot).attached,
            Step::Delete(slot, _) => export(slot).taken && !export(slot).deleted,
            Step::Attach(slot) => {
                self.source_lives && export(slot).capsule && !export(slot).attached
            }
            Step::DropSource | Step::Change(_) | Step::Race | Step::Starve => self.source_lives,
            Step::Churn | Step::Collect | Step::Exit => true,
        }
    }

    /// What follows a step that was taken, or that is [due](Self::due).
    pub fn apply(&mut self, step: Step) {
        let mut change =
            |slot: Slot, change: fn(&mut Export)| change(&mut self.exports[slot as usize]);
        match step {
            Step::Export(slot, _) => change(slot, |export| *export = Export::NEW),
            Step::Take(slot) => change(slot, |export| export.taken = true),
            Step::Disarm(slot) => change(slot, |export| export.disarmed = true),
            Step::Drop(slot, _) => change(slot, |export| export.capsule = false),
            Step::Delete(slot, _) => change(slot, |export| export.deleted = true),
            Step::Attach(slot) => change(slot, |export| export.attached = true),
            Step::DropSource => {
                self.source_lives = false;
                // What the array held goes with it.
                for export in self.exports.iter_mut().filter(|export| export.attached) {
                    export.capsule = false;
                }
            }
            Step::Exit => self.is_over = true,
            Step::Churn | Step::Collect | Step::Change(_) | Step::Race | Step::Starve => {}
        }
    }

    /// The next release without which something would be left behind.
    pub fn due(&self) -> Option<Step> {
        for slot in Slot::ALL {
            let export = &self.exports[slot as usize];
            if export.taken && !export.deleted {
                return Some(Step::Delete(slot, super::Place::Here));
            }
            if export.capsule && !export.attached {
                return Some(Step::Drop(slot, super::Mood::Calm));
            }
        }
        self.source_lives.then_some(Step::DropSource)
    }

    /// The struct of this export may be read.
    pub fn lives(&self, slot: Slot) -> bool {
        self.exports[slot as usize].lives()
    }

    pub fn is_taken(&self, slot: Slot) -> bool {
        self.exports[slot as usize].taken
    }

    /// Of the export that can be made next.
    pub fn next_slot(&self) -> Option<Slot> {
        let next = self.exports.iter().position(|export| !export.made)?;
        Some(Slot::ALL[next])
    }
}
