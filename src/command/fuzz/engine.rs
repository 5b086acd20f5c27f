//! The **engine**: the libFuzzer binary of a target, built by cargo-fuzz.

use crate::command::arena::Target;
use crate::command::options::{Sanitizer, Subject};
use crate::command::{At, Failure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Builds the target and says where it is.
pub fn build(
    root: &Path,
    name: &str,
    sanitizer: Sanitizer,
    subject: &Subject,
    messages: Stdio,
) -> Result<Target, Failure> {
    let targets = targets(root)?;
    if !targets.iter().any(|target| target == name) {
        return Err(Failure::new(format!(
            "no fuzz target is called {name}; there are {}",
            targets.join(", ")
        )));
    }
    let Some(host) = host_triple() else {
        return Err(Failure::new("rustc does not run: install Rust from https://rustup.rs"));
    };
    if cargo_fuzz_version().is_none() {
        return Err(Failure::new(
            "cargo-fuzz is missing: run scripts/setup, or `cargo install cargo-fuzz --locked`",
        ));
    }
    let folder = root.join("target").join(format!("fuzz-{}", sanitizer.name()));
    let mut command = Command::new("cargo");
    command
        .current_dir(root)
        .args(["fuzz", "build", "-s", sanitizer.name(), "--target", &host, "--target-dir"])
        .arg(&folder)
        .arg(name)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(messages);
    if sanitizer == Sanitizer::Address && !is_nightly() {
        // The sanitizer's runtime comes with stable Rust; only the switch for it is nightly's.
        command.env("RUSTC_BOOTSTRAP", "1");
    }
    let status = command.status().at(Path::new("cargo"))?;
    if !status.success() {
        return Err(Failure::new(format!(
            "the fuzz target {name} does not build; `cargo fuzz build -s {} {name}` in {} tells why",
            sanitizer.name(),
            root.display()
        )));
    }
    let binary = folder.join(host).join("release").join(name);
    if !binary.is_file() {
        return Err(Failure::new(format!("cargo-fuzz made no {}", binary.display())));
    }
    Ok(Target { binary, variables: subject.variables()? })
}

/// Names of the fuzz targets.
fn targets(root: &Path) -> Result<Vec<String>, Failure> {
    let folder: PathBuf = root.join("fuzz/fuzz_targets");
    let mut names: Vec<_> = (std::fs::read_dir(&folder).at(&folder)?)
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            Some(name.to_str()?.strip_suffix(".rs")?.to_owned())
        })
        .collect();
    names.sort();
    Ok(names)
}

/// `0.13.2`
pub fn cargo_fuzz_version() -> Option<String> {
    answer("cargo", &["fuzz", "--version"])?.split_whitespace().last().map(str::to_owned)
}

/// `x86_64-unknown-linux-gnu`
fn host_triple() -> Option<String> {
    answer("rustc", &["-vV"])?
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
}

/// `rustc 1.95.0 (…)`
pub fn rustc_version() -> Option<String> {
    answer("rustc", &["--version"])
}

pub fn is_nightly() -> bool {
    rustc_version().is_some_and(|version| version.contains("nightly"))
}

/// The trimmed standard output of a program that succeeds.
pub fn answer(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    (output.status.success()).then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
