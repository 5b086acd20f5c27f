//! A **session** runs cases, by way of an interpreter or of a shared object: the commands, the worker and the
//! fuzz targets ask no further.

use super::c;
use super::interpreter;
use super::journal::Journal;
use super::session::Session as Interpreted;
use super::{Detail, Error, Options, Versions, trace};
use crate::backend::Inexpressible;
use crate::backend::c::{PREFIX, Spec};
use crate::case::{Case, Vocabulary};
use crate::oracle::{Exporter, Observation};
use std::fs::File;

/// One exporter, ready to run cases.
pub enum Session {
    Python(Box<Interpreted>),
    C(Box<c::Session>),
}

impl Session {
    /// Starts the interpreter, or loads the shared object.
    pub fn open(options: &Options) -> Result<Self, Error> {
        Ok(match options.backend.strip_prefix(PREFIX) {
            Some(spec) => Self::C(Box::new(c::Session::open(Spec::parse(spec)?)?)),
            None => Self::Python(Box::new(Interpreted::open(options)?)),
        })
    }

    pub fn exporter(&self) -> Exporter {
        match self {
            Self::Python(session) => session.exporter(),
            Self::C(session) => session.exporter(),
        }
    }

    pub fn versions(&self) -> Versions {
        match self {
            Self::Python(session) => session.versions(),
            Self::C(session) => session.versions(),
        }
    }

    /// What it is worth asking.
    pub fn vocabulary(&self) -> Vocabulary {
        match self {
            Self::Python(session) => session.vocabulary(),
            Self::C(session) => session.vocabulary(),
        }
    }

    /// An error if the exporter's arrays have no C exchange API, which is one of Python types.
    pub fn require_exchange_api(&self) -> Result<(), Error> {
        match self {
            Self::Python(session) => session.require_exchange_api(),
            Self::C(_) => Err(Error(
                "a shared object has no C exchange API, which is an attribute of Python types: name a \
                 Python backend"
                    .into(),
            )),
        }
    }

    /// Python statements that leave the case's array in `x`.
    pub fn source(&self, case: &Case) -> String {
        match self {
            Self::Python(session) => session.source(case),
            Self::C(session) => session.source(case),
        }
    }

    /// Runs a case once and releases everything. Counts that are off are confirmed by repetition.
    pub fn run(&mut self, case: &Case, detail: Detail) -> Result<Observation, Inexpressible> {
        match self {
            Self::Python(session) => session.run(case, detail),
            Self::C(session) => session.run(case, detail),
        }
    }

    /// What is called now and then while a case takes long because it is repeated.
    pub fn on_pulse(&mut self, pulse: impl Fn() + 'static) {
        match self {
            Self::Python(session) => session.pulse = Box::new(pulse),
            Self::C(session) => session.pulse = Box::new(pulse),
        }
    }

    /// From now on a signal that ends this process leaves a trace in the journal, and what Python knows of it
    /// in the file. To be called once, on the thread that runs the cases.
    pub fn leave_trace(&self, journal: Journal, stack: File) -> Result<(), Error> {
        if let Self::Python(_) = self {
            interpreter::write_stack_at(trace::python_signal(), stack)?;
        }
        trace::install(journal.trace_page());
        Ok(())
    }

    /// The environment whose interpreter runs, if one does.
    pub fn env(&self) -> Option<&std::path::Path> {
        match self {
            Self::Python(session) => Some(session.env()),
            Self::C(_) => None,
        }
    }
}
