//! The options: the same name and the same meaning in every command that has them.

use super::{At, Failure, print};
use clap::{Args, ValueEnum};
use dlpack_fuzz::case::Case;
use dlpack_fuzz::report::{self, Notice};
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
        self.jobs.map_or_else(processors, usize::from)
    }
}

pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
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

/// How findings are told: to a person, and in the files and lines that build services read.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub struct Reports {
    /// Print the result as JSON on standard output, or write it to FILE
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = STANDARD_OUTPUT
    )]
    json: Option<PathBuf>,

    /// Write the result as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Write the findings as SARIF 2.1.0, which code-scanning services read
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,

    /// Print each finding as a workflow command of GitHub Actions, which annotates the run with it
    #[arg(long)]
    github: bool,

    /// Say nothing but the result
    #[arg(long)]
    quiet: bool,
}

const STANDARD_OUTPUT: &str = "-";

/// A result in every form that a person may have asked for.
pub struct Told<'a> {
    pub text: &'a dyn Fn() -> String,
    pub json: &'a dyn Fn() -> String,
    pub junit: &'a dyn Fn() -> String,
    pub notices: &'a [Notice],
}

impl Reports {
    /// Refuses what cannot be had together, before anything runs.
    pub fn check(&self) -> Result<(), Failure> {
        match self.github && self.output().json {
            true => Err(Failure::new(
                "--json and --github both print on standard output: write the JSON to a file, --json=FILE",
            )),
            false => Ok(()),
        }
    }

    pub fn output(&self) -> Output {
        let json = self.json.as_ref().is_some_and(|path| path.as_os_str() == STANDARD_OUTPUT);
        Output { json, quiet: self.quiet }
    }

    /// Writes the files, and prints the text or the JSON.
    pub fn tell(&self, told: &Told) -> Result<(), Failure> {
        let file = |path: &Option<PathBuf>, content: &dyn Fn() -> String| match path {
            Some(path) => std::fs::write(path, content()).at(path),
            None => Ok(()),
        };
        print(&if self.output().json { (told.json)() } else { (told.text)() });
        if self.github {
            print(&report::github(told.notices));
        }
        if !self.output().json {
            file(&self.json, told.json)?;
        }
        file(&self.junit, told.junit)?;
        file(&self.sarif, &|| report::sarif(told.notices))
    }
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
