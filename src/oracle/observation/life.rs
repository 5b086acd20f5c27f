//! What a **life** showed: one moment for each step, as plain data.

use super::{Fate, Growth, Outcome, Raised};
use crate::case::life::{Slot, Step};
use std::borrow::Cow;

/// A life, from the export `a` to the last release.
#[derive(Clone, Debug, Default)]
pub struct Lived {
    /// How the case's own call ended.
    pub first: Option<Outcome>,
    /// One for each step, in order; those of the end behind them.
    pub moments: Vec<Moment>,
    /// References of the owner that are left when every export is released; `None` where the array was let go
    /// before that.
    pub references: Option<isize>,
    /// Blocks of the library's data allocator that are left; `None` where they are not counted.
    pub blocks: Option<isize>,
    /// What many such lives left behind; taken only when a count above was off (P-BASELINE).
    pub growth: Option<Growth>,
}

/// One step, and what it did.
#[derive(Clone, Debug)]
pub struct Moment {
    pub step: Step,
    pub event: Event,
    /// A Python exception that is set after the step although none was in flight before.
    pub error: Option<Cow<'static, str>>,
    /// References of the owner, against the time before the export `a`; `None` once it was let go.
    pub references: Option<isize>,
    /// The first living export that is not any more what it was, and in what.
    pub changed: Option<(Slot, Difference)>,
}

/// What a step did, beyond what it says.
#[derive(Clone, Debug)]
pub enum Event {
    Done,
    /// There was nothing to do it with, for this reason.
    Skipped(&'static str),
    Exported(Outcome),
    /// What became of the exception that was in flight.
    InFlight(Fate),
    /// The array did change.
    Changed(Manner),
    /// The library refused the change, which is fine.
    Refused(Raised),
    Starved(Starved),
    Raced(Raced),
    Ended(Ended),
}

/// How a library documents an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Ordinary,
    /// As low level or unsafe: what it breaks is a warning.
    LowLevel,
}

/// In what an export differs from itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A field of the struct: its name, before and now.
    Field(&'static str, String, String),
    /// Bytes of the elements.
    Elements,
}

impl Difference {
    /// What differs, in a word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Field(name, ..) => name,
            Self::Elements => "elements",
        }
    }
}

/// Exports during which an allocation failed.
#[derive(Clone, Debug, Default)]
pub struct Starved {
    /// How often an allocation did fail.
    pub failures: u32,
    /// Exceptions other than MemoryError, in the order in which they first came up.
    pub raised: Vec<Raised>,
    /// References of the owner that all rounds but the first leave behind.
    pub references: isize,
}

impl Starved {
    /// How often each allocation fails.
    pub const ROUNDS: u32 = 8;
}

/// What two threads did to one array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Raced {
    pub exports: u32,
    /// Calls that raised, though the same call alone does not.
    pub raised: u32,
    /// References of the owner that are left.
    pub references: isize,
}

/// The end of the interpreter in a child process, while exports were held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How far a child came that had released everything before.
    pub without: Passing,
    pub with: Passing,
    /// Capsules that nobody had consumed, and structs whose deleter ran after the end.
    pub capsules: u32,
    pub structs: u32,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    Clean,
    /// By this signal, or with a status that it has not chosen; and after the interpreter's end or before it.
    Died(&'static str, Stage),
    Hung(Stage),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// While the interpreter ended.
    Finalizing,
    /// In a deleter after that.
    Finalized,
}
