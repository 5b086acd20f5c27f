//! A **worker**: a child process that runs cases, so that a case that kills its process kills no more.
//!
//! Goes in: a case, or a stretch of a sweep. Comes out: what the oracle said, or the [`Death`] that the
//! case caused; the worker is then started anew. Failure to start is an [`Error`].
//!
//! Requests and replies are lines of JSON on the child's standard input and output. A library may print:
//! the child therefore moves its standard output elsewhere before it loads anything ([`Bench::serve`]).

mod bench;
mod parent;

pub use bench::{Bench, Outlet};
pub use parent::{PATIENCE, Worker};

use super::Versions;
use super::process::Death;
use super::{Error, journal::Journal};
use crate::oracle::{self, Evidence, Grade, Judgement, Violation};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How to start a worker.
#[derive(Clone, Debug)]
pub struct Launch {
    /// This very program.
    pub program: PathBuf,
    /// Everything but the journal.
    pub arguments: Vec<OsString>,
    /// How long one case may take.
    pub limit: Duration,
    /// How many bytes of memory a worker may occupy.
    pub memory: u64,
}

/// A broken rule as it travels between processes and lies in files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken {
    pub rule: String,
    pub grade: Grade,
    pub evidence: Evidence,
}

impl From<Violation> for Broken {
    fn from(violation: Violation) -> Self {
        let Violation { rule, grade, evidence } = violation;
        Self { rule: rule.to_owned(), grade, evidence }
    }
}

impl Broken {
    /// `None` for a rule that this build does not have.
    pub fn violation(self) -> Option<Violation> {
        let rule = oracle::rules().iter().find(|rule| rule.id == self.rule)?;
        Some(Violation { rule: rule.id, grade: self.grade, evidence: self.evidence })
    }
}

/// A broken rule with the case that showed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Case text.
    pub case: String,
    pub broken: Broken,
}

/// What a worker answers to one case.
#[derive(Clone, Debug)]
pub enum Answer {
    Judged(Judgement),
    /// The backend has no such array, for this reason.
    Inexpressible(String),
    /// The process died of it.
    Died(Fatality),
}

/// A death with what the process said before it.
#[derive(Clone, Debug)]
pub struct Fatality {
    pub death: Death,
    /// The end of its standard error.
    pub last_words: String,
    /// The exporter's functions it died in, innermost first; none if it left no trace.
    pub frames: Vec<String>,
}

/// How a stretch of a sweep ended.
#[derive(Debug)]
pub enum Stretch {
    /// There are no more cases.
    Over,
    /// The caller asked to stop.
    Stopped,
    /// The worker was ended for a case that came to its end meanwhile; all up to this place were run.
    Disturbed { place: u64 },
    /// The case at this place killed the worker.
    Died { fatality: Fatality, place: u64, case: Vec<u8> },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Request {
    Judge { case: String, grade: Grade },
    Source { case: String },
    Answer { case: String },
    HasExchangeApi,
    Sweep { from: u64, step: u64 },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Reply {
    Ready {
        versions: Versions,
        sweep: u64,
    },
    /// The request cannot be served, for this reason.
    Failed(String),
    Judged {
        checked: [u64; 4],
        fired: [u64; 4],
        broken: Vec<Broken>,
    },
    Inexpressible(String),
    Source(String),
    /// What the case's own call answered, in words.
    Answer(String),
    HasExchangeApi(bool),
    Found(Found),
    Swept,
}

/// The file beside the journal in which Python's part of a trace is.
pub fn stack(journal: &Path) -> PathBuf {
    journal.with_file_name("stack")
}

/// The journal that the parent made for this child.
pub fn journal(path: &Path) -> Result<Journal, Error> {
    Journal::open(path)
        .map_err(|error| Error(format!("{} cannot be used: {error}", path.display())))
}
