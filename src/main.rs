//! The command line: parse, call, print.

mod command;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = command::Cli::parse();
    match command::run(cli) {
        Ok(status) => status.into(),
        Err(failure) => {
            eprintln!("dlpack-fuzz: {failure}");
            command::Status::CouldNotRun.into()
        }
    }
}
