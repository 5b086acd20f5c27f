//! The **host** runs cases: it embeds the interpreter, makes the exports, reads the capsules and counts.
//!
//! Goes in: an [`Options`] (which environment, which backend) and cases. Comes out: observations. Failure
//! to start is an [`Error`] that says what to do; what an exporter does is never an error here.

pub mod journal;
pub mod outbox;
pub mod process;
pub mod scratch;
pub mod steering;
pub mod worker;

use crate::backend::Inexpressible;
use crate::case::Case;
use crate::oracle::{Exporter, Observation};
use std::path::PathBuf;

/// Which interpreter and which exporter.
#[derive(Clone, Debug)]
pub struct Options {
    /// The virtual environment; `None`: `DLPACK_FUZZ_ENV` or the one this program was built with.
    pub env: Option<PathBuf>,
    /// A name of the registry, or `py:MODULE:FUNCTION`.
    pub backend: String,
}

/// Why a session could not start: one sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

/// How much a run writes down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What the rules need.
    Brief,
    /// Also exception messages.
    Full,
}

/// What a report says of the parts that took part.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Versions {
    /// Library first: `[("numpy", "2.4.6"), …]`.
    pub libraries: Vec<(String, String)>,
    /// `3.11.7`.
    pub python: String,
    /// The newest DLPack header this program knows: `1.3`.
    pub dlpack: String,
    /// `dlpack-fuzz`'s own version.
    pub tool: String,
}

/// A running interpreter with one backend. One per process, because CPython is.
pub struct Session {}

impl Session {
    /// Starts the interpreter (once per process), imports the backend and probes its keywords.
    pub fn open(_options: &Options) -> Result<Self, Error> {
        todo!()
    }

    pub fn exporter(&self) -> Exporter {
        todo!()
    }

    pub fn versions(&self) -> Versions {
        todo!()
    }

    /// Python statements that leave the case's array in `x`.
    pub fn source(&self, _case: &Case) -> String {
        todo!()
    }

    /// Runs a case once and releases everything.
    pub fn run(&mut self, _case: &Case, _detail: Detail) -> Result<Observation, Inexpressible> {
        todo!()
    }
}
