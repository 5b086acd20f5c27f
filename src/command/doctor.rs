//! `doctor`: what is there, what is missing, and the command that gets it.

use super::fuzz::engine;
use super::lab::Lab;
use super::options::{Output, Subject, project};
use super::{Failure, Status, print};
use clap::Args;
use dlpack_fuzz::backend;
use dlpack_fuzz::host::interpreter::{self, python_of};
use serde_json::json;
use std::fmt::Write;

/// Say what is there, what is missing, and how to get it
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 the environment can be tested (something optional may be missing), 2 it cannot.")]
pub struct Doctor {
    #[command(flatten)]
    subject: Subject,
    #[command(flatten)]
    output: Output,
}

/// One thing that was looked at.
struct Line {
    what: &'static str,
    state: State,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// Missing, and not needed for everything.
    Lacking,
    /// Nothing works without it.
    Bad,
}

impl Doctor {
    pub fn run(self) -> Result<Status, Failure> {
        let lines = self.examine();
        print(&if self.output.json { as_json(&lines) } else { as_text(&lines, self.output) });
        match lines.iter().find(|line| line.state == State::Bad) {
            None => Ok(Status::NothingNew),
            Some(line) => Err(Failure::new(format!("{}: {}", line.what, line.text))),
        }
    }

    fn examine(&self) -> Vec<Line> {
        let mut lines = vec![good("dlpack-fuzz", env!("CARGO_PKG_VERSION"))];
        let env = backend::environment(self.subject.env.as_deref(), &self.subject.backend);
        let python = python_of(&env);
        let version =
            engine::answer(&python, &["-I", "-c", "import sys; print(sys.version.split()[0])"]);
        lines.push(match version {
            Some(version) => good("environment", format!("{} (Python {version})", env.display())),
            None => bad(
                "environment",
                format!(
                    "{} does not run: run scripts/setup, or name one with --env",
                    python.display()
                ),
            ),
        });
        let library = linked_library().unwrap_or_else(|| "linked into this program".into());
        lines.push(good(
            "interpreter",
            format!("Python {}, {library}", interpreter::linked_version()),
        ));
        match Lab::open(&self.subject).and_then(|lab| lab.worker(None)) {
            Ok(worker) => {
                for (place, (name, version)) in worker.versions().libraries.iter().enumerate() {
                    let what = if place == 0 { "library" } else { "also there" };
                    lines.push(good(what, format!("{name} {version}")));
                }
                lines.push(good("DLPack header", worker.versions().dlpack.clone()));
            }
            Err(failure) => lines.push(bad("library", failure.to_string())),
        }
        let pip = |package: &str| format!("{} -m pip install {package}", python.display());
        for (package, what_for) in [
            ("ml_dtypes", "bfloat16, float8, float6, float4, int4, int2"),
            ("array_api_strict", "the backend array-api-strict"),
        ] {
            let script = format!("import {package}; print({package}.__version__)");
            lines.push(match engine::answer(&python, &["-I", "-c", &script]) {
                Some(version) => good(package, version),
                None => lacking(package, format!("missing ({what_for}); get it: {}", pip(package))),
            });
        }
        for entry in backend::REGISTRY.iter().filter(|entry| entry.env != "numpy") {
            let own = env.with_file_name(entry.env);
            lines.push(match python_of(&own).exists() {
                true => good(entry.name, own.display().to_string()),
                false => lacking(
                    entry.name,
                    format!("no environment; get it: scripts/setup {}", entry.env),
                ),
            });
        }
        lines.push(good(
            "devices",
            "the CPU; none other is looked for yet (GPU drivers are asked once GPU backends exist)",
        ));
        lines.extend(toolchain());
        lines
    }
}

/// What `fuzz` needs beyond this program.
fn toolchain() -> Vec<Line> {
    let rustc = engine::rustc_version();
    let mut lines = vec![match &rustc {
        Some(version) => good("Rust", version.clone()),
        None => lacking("Rust", "missing (needed by `fuzz` only); get it: https://rustup.rs"),
    }];
    lines.push(match engine::cargo_fuzz_version() {
        Some(version) => good("cargo-fuzz", version),
        None => lacking(
            "cargo-fuzz",
            "missing (needed by `fuzz` only); get it: scripts/setup, or cargo install cargo-fuzz --locked",
        ),
    });
    let targets = project().join("fuzz/fuzz_targets");
    lines.push(match targets.is_dir() {
        true => good("fuzz targets", targets.display().to_string()),
        false => lacking(
            "fuzz targets",
            format!("no folder {}; run `fuzz` inside the project", targets.display()),
        ),
    });
    lines.push(match (rustc, engine::is_nightly()) {
        (None, _) => lacking("sanitizers", "none without Rust"),
        (Some(_), true) => good("sanitizers", "address (nightly Rust), none"),
        (Some(_), false) => good(
            "sanitizers",
            "address (stable Rust: .cargo/config.toml sets RUSTC_BOOTSTRAP=1 for it), none",
        ),
    });
    lines
}

/// The libpython that this very process runs.
fn linked_library() -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    (maps.lines().filter_map(|line| line.split_whitespace().nth(5)))
        .find(|path| path.rsplit('/').next().is_some_and(|name| name.starts_with("libpython")))
        .map(str::to_owned)
}

fn good(what: &'static str, text: impl Into<String>) -> Line {
    Line { what, state: State::Good, text: text.into() }
}

fn lacking(what: &'static str, text: impl Into<String>) -> Line {
    Line { what, state: State::Lacking, text: text.into() }
}

fn bad(what: &'static str, text: impl Into<String>) -> Line {
    Line { what, state: State::Bad, text: text.into() }
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Lacking => "missing",
            Self::Bad => "broken",
        }
    }
}

fn as_text(lines: &[Line], output: Output) -> String {
    let mut text = String::new();
    for line in lines.iter().filter(|line| !output.quiet || line.state != State::Good) {
        let _ = writeln!(text, "{:8} {:18} {}", line.state.word(), line.what, line.text);
    }
    text
}

fn as_json(lines: &[Line]) -> String {
    let all: Vec<_> = (lines.iter())
        .map(|line| json!({ "what": line.what, "state": line.state.word(), "text": line.text }))
        .collect();
    format!("{:#}\n", serde_json::Value::from(all))
}
