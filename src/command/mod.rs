//! A **command** is what a person asks for on the command line: one file each.
//!
//! Goes in: its parsed arguments. Comes out: text on standard output and a [`Status`], or a [`Failure`] of
//! one line that says what to do. Nothing is judged here; commands call the library and arrange what it says.

mod arena;
mod check;
mod doctor;
mod explain;
mod fuzz;
mod lab;
mod matrix;
mod options;
mod record;
mod replay;
mod repro;
mod rules;
mod shrink;
mod since;
mod summary;
mod sweep;
mod worker;

use clap::{Parser, Subcommand};
use std::fmt;
use std::process::ExitCode;

/// Finds DLPack exporters that break the protocol, and writes the reports for their maintainers.
#[derive(Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "\
Start here:
  dlpack-fuzz doctor                 is everything there?
  dlpack-fuzz check numpy            every kind of call on every kind of array, under a minute
  dlpack-fuzz fuzz --time 600        search for ten minutes, past known findings and past crashes
  dlpack-fuzz matrix                 every library, and one page that compares them
  dlpack-fuzz replay                 run the committed corpus again
  dlpack-fuzz explain EXC-DEVICE     what a rule says, and on whose word

Exit status of every command: 0 nothing new, 1 findings, 2 could not run.")]
pub struct Cli {
    #[command(subcommand)]
    command: Request,
}

#[derive(Subcommand)]
enum Request {
    Doctor(doctor::Doctor),
    Check(check::Check),
    Fuzz(fuzz::Fuzz),
    Matrix(matrix::Matrices),
    Replay(replay::Replay),
    Repro(repro::Repro),
    Shrink(shrink::Shrink),
    Explain(explain::Explain),
    Rules(rules::Rules),
    #[command(hide = true)]
    Worker(worker::Work),
}

/// Does what the command line asks for.
pub fn run(cli: Cli) -> Result<Status, Failure> {
    match cli.command {
        Request::Doctor(command) => command.run(),
        Request::Check(command) => command.run(),
        Request::Fuzz(command) => command.run(),
        Request::Matrix(command) => command.run(),
        Request::Replay(command) => command.run(),
        Request::Repro(command) => command.run(),
        Request::Shrink(command) => command.run(),
        Request::Explain(command) => command.run(),
        Request::Rules(command) => command.run(),
        Request::Worker(command) => command.run(),
    }
}

/// What the exit status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    NothingNew,
    Findings,
    CouldNotRun,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::NothingNew => 0,
            Status::Findings => 1,
            Status::CouldNotRun => 2,
        })
    }
}

/// Why a command could not run: one line that says what to do.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = self.0.lines().map(str::trim).filter(|line| !line.is_empty());
        f.write_str(lines.next().unwrap_or_default())?;
        lines.try_for_each(|line| write!(f, "; {line}"))
    }
}

impl From<dlpack_fuzz::host::Error> for Failure {
    fn from(error: dlpack_fuzz::host::Error) -> Self {
        Self(error.0)
    }
}

/// A file or folder that an error is about.
trait At<T> {
    /// Puts the path into the error's sentence.
    fn at(self, path: &std::path::Path) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> At<T> for Result<T, E> {
    fn at(self, path: &std::path::Path) -> Result<T, Failure> {
        self.map_err(|error| Failure(format!("{}: {error}", path.display())))
    }
}

/// Prints to standard output; a reader that went away (`| head`) ends the program quietly.
fn print(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_failure_is_one_line() {
        assert_eq!(Failure::new("first\n  second\n\n").to_string(), "first; second");
    }
}
