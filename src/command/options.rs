//! The options: the same name and the same meaning in every command that has them.

use super::{At, Failure};
use clap::{Args, ValueEnum};
use dlpack_fuzz::case::Case;
pub use dlpack_fuzz::subject::{Subject, project};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How much is done.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "How much")]
pub struct Effort {
    /// Stop after this time; no limit if left out
    #[arg(long, value_name = "SECONDS")]
    pub time: Option<u64>,

    /// Stop after this many cases; no limit if left out
    #[arg(long, value_name = "N")]
    pub runs: Option<u64>,

    /// Processes that work side by side [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
}

impl Effort {
    pub fn time(&self) -> Option<Duration> {
        self.time.map(Duration::from_secs)
    }

    pub fn jobs(&self) -> usize {
        self.jobs.map_or_else(
            || std::thread::available_parallelism().map_or(1, usize::from),
            usize::from,
        )
    }
}

/// Where findings go.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Where")]
pub struct Keeping {
    /// Findings are kept in DIR/BACKEND/IDENTITY/ as case text, report and repro.py
    #[arg(long, value_name = "DIR", default_value = "findings", env = "DLPACK_FUZZ_FINDINGS")]
    pub findings: PathBuf,
}

/// How it is said.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,

    /// Say nothing but the result
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sanitizer {
    /// AddressSanitizer with leak detection: sees reads and writes outside of blocks, several times slower
    Address,
    /// No sanitizer: crashes, rules and the ledger only
    None,
}

impl Sanitizer {
    pub fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::None => "none",
        }
    }
}

/// A case, given as an argument or with `--case`: its text, or a file with its text or its bytes.
pub fn read_case(word: &str) -> Result<Case, Failure> {
    let path = Path::new(word);
    if path.is_file() {
        return read_case_file(path);
    }
    parse_case(word)
}

pub fn parse_case(text: &str) -> Result<Case, Failure> {
    (text.trim().parse()).map_err(|error| {
        Failure::new(format!("the case {:?} does not parse: {error}", text.trim()))
    })
}

/// A `.txt` file holds text, any other the bytes of a fuzz target's input.
pub fn read_case_file(path: &Path) -> Result<Case, Failure> {
    let bytes = std::fs::read(path).at(path)?;
    if path.extension().is_some_and(|extension| extension == "txt") {
        return parse_case(&String::from_utf8_lossy(&bytes))
            .map_err(|failure| Failure::new(format!("{}: {failure}", path.display())));
    }
    Ok(Case::decode(&bytes))
}
