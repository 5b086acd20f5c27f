//! The **engine**: the libFuzzer binary of a target, built by cargo-fuzz exactly as `cargo fuzz run` builds
//! it, so that nobody waits for the same build twice.

use crate::command::arena::Target;
use crate::command::options::{Sanitizer, Subject};
use crate::command::{At, Failure};
use std::ffi::OsString;
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
    let mut command = Command::new("cargo");
    command
        .current_dir(root)
        .args(["fuzz", "build", "-s", sanitizer.name(), name])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(messages);
    let status = command.status().at(Path::new("cargo"))?;
    if !status.success() {
        return Err(Failure::new(format!(
            "the fuzz target {name} does not build; `cargo fuzz build -s {} {name}` in {} tells why",
            sanitizer.name(),
            root.display()
        )));
    }
    let folder = target_folder(root)?;
    let built = folder.join(host).join("release").join(name);
    if !built.is_file() {
        return Err(Failure::new(format!("cargo-fuzz made no {}", built.display())));
    }
    let binary = keep(&built, &folder.join("fuzz").join(sanitizer.name()))?;
    let mut variables = subject.variables()?;
    variables.push(("ASAN_OPTIONS", sanitizer_options()));
    Ok(Target { binary, variables })
}

/// A block that is too large must be a MemoryError, not the end: cases ask for petabytes. Leaks are looked for after
/// each batch of cases; at the exit nobody could say which case it was. The user's own options come last and win.
fn sanitizer_options() -> OsString {
    let mut options =
        OsString::from("allocator_may_return_null=1:detect_odr_violation=0:leak_check_at_exit=0");
    if let Some(own) = std::env::var_os("ASAN_OPTIONS") {
        options.push(":");
        options.push(own);
    }
    options
}

/// Copies the program to a place of this sanitizer's own: cargo puts the next build, maybe with another
/// sanitizer, where this one lay, and a session starts its program again and again.
fn keep(built: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    std::fs::create_dir_all(folder).at(folder)?;
    let kept = folder.join(built.file_name().expect("a program has a name"));
    // In one step: another session may be running the old one.
    let half = kept.with_extension(format!("half-{}", std::process::id()));
    let copied = std::fs::copy(built, &half).and_then(|_| std::fs::rename(&half, &kept));
    if copied.is_err() {
        let _ = std::fs::remove_file(&half);
    }
    copied.at(&kept)?;
    Ok(kept)
}

/// Where cargo builds this project: `target` unless the user's configuration says otherwise.
fn target_folder(root: &Path) -> Result<PathBuf, Failure> {
    let manifest = root.join("Cargo.toml");
    let manifest = manifest.to_string_lossy();
    let arguments = ["metadata", "--no-deps", "--format-version=1", "--manifest-path", &manifest];
    let metadata = answer("cargo", &arguments)
        .and_then(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
    (metadata.as_ref().and_then(|metadata| metadata["target_directory"].as_str()))
        .map(PathBuf::from)
        .ok_or_else(|| Failure::new(format!("`cargo metadata` does not read {manifest}")))
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
