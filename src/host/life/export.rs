//! One **export** of a life in Python: the capsule, and the struct behind it.

use super::held::{Deletion, Held};
use crate::oracle::{Difference, Event, Kind, Outcome};
use pyo3::ffi;
use pyo3::prelude::*;

/// An export, from the call to the last release.
pub struct Export<'py> {
    /// `None` once it was dropped.
    pub capsule: Option<Bound<'py, PyAny>>,
    taken: bool,
    held: Held,
}

impl<'py> Export<'py> {
    /// `None` where the outcome is no capsule with a struct that can be read.
    pub fn of(outcome: &Outcome, result: Option<Bound<'py, PyAny>>) -> Option<Self> {
        let held = Held::of(outcome.capsule()?)?;
        Some(Self { capsule: Some(result?), taken: false, held })
    }

    /// Nothing of it is left that would have to be released.
    pub fn is_gone(&self) -> bool {
        self.capsule.is_none() && (self.held.is_deleted() || !self.taken)
    }

    /// The capsule is unconsumed, and somebody holds it.
    pub fn is_unconsumed(&self) -> bool {
        self.capsule.is_some() && !self.taken
    }

    /// A consumer has it, and has not run its deleter.
    pub fn is_due(&self) -> bool {
        self.taken && !self.held.is_deleted()
    }

    /// Renames the capsule: the struct is the consumer's from now on.
    pub fn take(&mut self) -> Event {
        let Some(capsule) = &self.capsule else { return Event::Skipped("the capsule is gone") };
        let used = match self.held.kind() {
            Kind::Legacy => c"used_dltensor",
            Kind::Versioned => c"used_dltensor_versioned",
        };
        // SAFETY: the capsule is alive and the name is static.
        unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) };
        self.taken = true;
        Event::Done
    }

    pub fn disarm(&mut self) -> Event {
        let Some(capsule) = &self.capsule else { return Event::Skipped("the capsule is gone") };
        // SAFETY: the capsule is alive.
        unsafe { ffi::PyCapsule_SetDestructor(capsule.as_ptr(), None) };
        Event::Done
    }

    /// The deleter, which counts as run from now on; `None` if there is none to run.
    pub fn deletion(&mut self) -> Option<Deletion> {
        if self.taken { self.held.deletion() } else { None }
    }

    /// In what a living export is not what it was.
    pub fn difference(&self) -> Option<Difference> {
        let lives = self.taken || self.capsule.is_some();
        if lives { self.held.difference() } else { None }
    }
}
