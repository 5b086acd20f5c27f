//! The **life** of a case: what becomes of the array and of its exports, step by step.
//!
//! A life begins with a new array and its export by the case's own call, `a`; further exports are `b`, `c` and
//! `d`. Each [`Step`] is something that a consumer, or the array's owner, may lawfully do. [`Standing`] is the
//! model of ownership: it knows what is alive and who has to free it, and leaves out the steps that would be
//! the consumer's own mistake, such as running a deleter twice. After every step each living export is read,
//! and has to be what it was when it was made. What is still held at the end is released
//! ([`Life::with_end`]), so that nothing may be left behind.

mod draw;
mod standing;
mod text;

pub use draw::draw_life;
pub use standing::Standing;

use super::Probe;
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::fmt;

/// One of the exports of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Slot {
    A,
    B,
    C,
    D,
}

impl Slot {
    pub const ALL: [Self; 4] = [Self::A, Self::B, Self::C, Self::D];
}

/// From where a deleter is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Place {
    /// Here, with the GIL held (LIFE-DELETER-GIL-HELD).
    Here,
    /// Likewise, with a Python exception in flight (MGT-DELETER-NO-EXC).
    Raising,
    /// Here, after the GIL was released, as a C++ consumer does (LIFE-DELETER-NO-GIL).
    Unlocked,
    /// On another Python thread (LIFE-DELETER-PY-THREAD).
    Thread,
    /// On a native thread without a Python thread state (LIFE-DELETER-NO-GIL).
    Native,
}

impl Place {
    /// In the order of the byte format: append only.
    pub const ALL: [Self; 5] =
        [Self::Here, Self::Raising, Self::Unlocked, Self::Thread, Self::Native];
}

/// Whether a capsule is dropped while a Python exception is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mood {
    Calm,
    Raising,
}

/// How the source is changed in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Change {
    /// Another shape or other strides of the same memory (MGT-META-SNAPSHOT).
    Reshape,
    /// More memory than before (LIFE-OWNER-PINNED).
    Resize,
    /// Not writable any more (RO-STATE).
    Freeze,
}

impl Change {
    pub const ALL: [Self; 3] = [Self::Reshape, Self::Resize, Self::Freeze];

    /// Name in case texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reshape => "reshape",
            Self::Resize => "resize",
            Self::Freeze => "freeze",
        }
    }
}

/// In the statements that build an array: a line that names a change and the statement that makes it, as in
/// `# In place, reshape: x.shape = (1, *x.shape)`.
pub const CHANGE_MARK: &str = "# In place, ";

/// One thing that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// One more export: by the case's call, or by this probe of it.
    Export(Slot, Option<Probe>),
    /// A consumer takes the pointer and renames the capsule.
    Take(Slot),
    /// It also sets the capsule's destructor to NULL (CAP-DTOR-REMOVED).
    Disarm(Slot),
    /// The last reference to the capsule goes.
    Drop(Slot, Mood),
    /// The consumer runs the deleter.
    Delete(Slot, Place),
    /// The last references to the array and its exporter go.
    DropSource,
    /// Memory of the sizes in question is allocated and filled.
    Churn,
    /// A full garbage collection.
    Collect,
    /// The source changes in place, or refuses to.
    Change(Change),
    /// The capsule becomes an attribute of its own array, if there can be one (LIFE-CYCLE).
    Attach(Slot),
    /// Two Python threads export the array and drop the capsules, over and over (LIFE-CONCURRENT).
    Race,
    /// Exports by the case's call during each of which another allocation of Python's fails (EXC-OOM).
    Starve,
    /// The interpreter ends in a child process, with everything that is held now (LIFE-CAPSULE-AT-EXIT), and
    /// the deleters run after that (LIFE-DELETER-FINALIZED). The last step; the releases at the end are made in
    /// the process that goes on.
    Exit,
}

impl Step {
    /// The same in an easier way.
    pub(super) fn plainer(self) -> impl Iterator<Item = Self> {
        let easier = match self {
            Self::Export(slot, Some(_)) => Some(Self::Export(slot, None)),
            Self::Drop(slot, Mood::Raising) => Some(Self::Drop(slot, Mood::Calm)),
            Self::Delete(slot, place) if place != Place::Here => {
                Some(Self::Delete(slot, Place::Here))
            }
            _ => None,
        };
        easier.into_iter()
    }

    /// The step in a life without this export, in which the later ones have moved up.
    pub(super) fn without(self, gone: Slot) -> Option<Self> {
        let moved = |slot: Slot| match slot.cmp(&gone) {
            Ordering::Less => Some(slot),
            Ordering::Equal => None,
            Ordering::Greater => Some(Slot::ALL[slot as usize - 1]),
        };
        Some(match self {
            // What was `b` is the case's own export then, which no step makes.
            Self::Export(Slot::B, _) if gone == Slot::A => return None,
            Self::Export(slot, probe) => Self::Export(moved(slot)?, probe),
            Self::Take(slot) => Self::Take(moved(slot)?),
            Self::Disarm(slot) => Self::Disarm(moved(slot)?),
            Self::Drop(slot, mood) => Self::Drop(moved(slot)?, mood),
            Self::Delete(slot, place) => Self::Delete(moved(slot)?, place),
            Self::Attach(slot) => Self::Attach(moved(slot)?),
            other => other,
        })
    }
}

/// No life has more steps.
pub const MAX_STEPS: usize = 12;

/// The steps after the export `a`; none: the case has no life.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Life(SmallVec<[Step; 6]>);

impl Life {
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A step of it takes milliseconds, where a call takes microseconds: a collection, a second thread, a process of
    /// its own, a call for each allocation that may fail.
    pub fn is_costly(&self) -> bool {
        self.0.iter().any(|step| {
            matches!(step, Step::Race | Step::Starve | Step::Collect | Step::Attach(_) | Step::Exit)
        })
    }

    /// The probes by which some of its exports are made.
    pub fn probes(&self) -> impl Iterator<Item = Probe> {
        self.0.iter().filter_map(|step| match step {
            Step::Export(_, probe) => *probe,
            Step::Race => Some(Probe::Plain),
            _ => None,
        })
    }

    /// The steps that make sense where they stand.
    pub fn normalized(steps: impl IntoIterator<Item = Step>) -> Self {
        let mut standing = Standing::after_export();
        Self(steps.into_iter().filter(|&step| standing.take(step)).take(MAX_STEPS).collect())
    }

    /// The steps, and behind them the releases without which something would be left behind.
    pub fn with_end(&self) -> SmallVec<[Step; 16]> {
        let mut standing = Standing::after_export();
        let mut steps: SmallVec<[Step; 16]> = SmallVec::new();
        steps.extend(self.0.iter().copied().filter(|&step| standing.take(step)));
        while let Some(step) = standing.due() {
            standing.apply(step);
            steps.push(step);
        }
        steps
    }
}

impl fmt::Debug for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life(text: &str) -> Life {
        format!("array(shape=(6,), dtype='float32').__dlpack__() then {text}")
            .parse::<crate::case::Case>()
            .unwrap_or_else(|error| panic!("{text}: {error}"))
            .life
    }

    #[test]
    fn what_would_be_the_consumers_mistake_is_left_out() {
        let all = [
            Step::Delete(Slot::A, Place::Here), // not taken yet
            Step::Take(Slot::A),
            Step::Take(Slot::A),         // taken already
            Step::Export(Slot::C, None), // b comes first
            Step::Export(Slot::B, None),
            Step::Delete(Slot::A, Place::Native),
            Step::Delete(Slot::A, Place::Here), // twice
            Step::DropSource,
            Step::Export(Slot::C, None), // of no array
            Step::Churn,
        ];
        assert_eq!(
            Life::normalized(all).to_string(),
            "take a, export b, delete a on native thread, drop source, churn"
        );
    }

    #[test]
    fn whatever_is_held_at_the_end_is_released_once() {
        for (text, end) in [
            ("churn", "drop a, drop source"),
            ("take a", "delete a, drop a, drop source"),
            ("take a, drop a", "delete a, drop source"),
            ("take a, delete a, drop source", "drop a"),
            ("export b, take b", "drop a, delete b, drop b, drop source"),
            ("take a, exit", "delete a, drop a, drop source"),
        ] {
            let life = life(text);
            let steps = life.with_end();
            let end_steps = Life(steps[life.steps().len()..].into());
            assert_eq!(end_steps.to_string(), end, "{text}");
        }
    }

    #[test]
    fn a_life_reads_back_from_its_text() {
        for text in [
            "take a, drop a, churn, delete a on native thread",
            "export b with copy-true, drop a raising",
            "take a, disarm a, drop a, delete a unlocked",
            "drop source, churn, collect",
            "reshape, resize, freeze",
            "attach a, race, starve, exit",
            "take a, delete a raising, drop a",
            "take a, delete a on thread",
        ] {
            assert_eq!(life(text).to_string(), text);
        }
    }
}
