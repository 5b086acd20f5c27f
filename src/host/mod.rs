//! The **host** runs cases: it embeds the interpreter, makes the exports, reads the capsules and counts.
//!
//! Goes in: an [`Options`] (which environment, which backend) and cases. Comes out: observations. Failure
//! to start is an [`Error`] that says what to do; what an exporter does is never an error here.

mod arguments;
mod c;
mod consumer;
mod errors;
mod exchange;
mod export;
pub mod frames;
pub mod heap;
pub mod interpreter;
pub mod journal;
mod life;
pub mod outbox;
pub mod process;
mod runner;
pub mod scratch;
mod session;
pub mod steering;
pub mod trace;
pub mod watch;
pub mod worker;

pub use runner::Session;

use std::fmt;
use std::path::PathBuf;

/// Which interpreter and which exporter.
#[derive(Clone, Debug)]
pub struct Options {
    /// The virtual environment; `None`: `DLPACK_FUZZ_ENV` or the one this program was built with.
    pub env: Option<PathBuf>,
    /// A name of the registry, `py:MODULE:FUNCTION`, or `c:PATH`.
    pub backend: String,
}

/// What could not be done, such as a session that could not start or a finding that could not be kept: one
/// sentence that names the file or says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

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
