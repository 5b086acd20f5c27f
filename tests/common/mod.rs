//! What several tests of the built program have in common: how it is started, and what it says of real
//! libraries.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod compiler;
pub mod parallel;

use dlpack_fuzz::case::sweep;
use dlpack_fuzz::host::{Detail, Options, Session};
use dlpack_fuzz::oracle::{Grade, Profile, judge};
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::LazyLock;

/// Runs the program in the project's folder, whatever the caller's environment says.
pub fn dlpack_fuzz(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dlpack-fuzz"));
    for name in ["BACKEND", "PROFILE", "KNOBS", "ENV", "KNOWN", "IGNORE_KNOWN", "FINDINGS"] {
        command.env_remove(format!("DLPACK_FUZZ_{name}"));
    }
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The whole sweep, `check BACKEND --json`.
pub struct Sweep {
    pub status: Option<i32>,
    pub json: serde_json::Value,
}

impl Sweep {
    pub fn of(backend: &str, options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let findings = dir.path().to_str().unwrap();
        let fixed = ["check", backend, "--quiet", "--json", "--findings", findings];
        let output = dlpack_fuzz(&[&fixed, options].concat());
        let json = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
        Self { status: output.status.code(), json }
    }

    /// How many cases ended with a break of this grade, `lawful`, `info`, `warning` or `violation`.
    pub fn grade(&self, name: &str) -> u64 {
        self.json["grades"][name].as_u64().expect("a number")
    }

    /// Rule and key of each finding.
    pub fn findings(&self) -> Vec<(String, String)> {
        let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        (self.json["findings"].as_array().expect("a list").iter())
            .map(|found| {
                let violation = &found["finding"]["cause"]["violation"];
                (word(&violation["rule"]), word(&violation["evidence"]["key"]))
            })
            .collect()
    }
}

/// What is said of every row of the decision table with all its values, on one plain array.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Calibration {
    /// Calls without a break, and with one of each grade as the worst.
    pub ok: usize,
    pub info: usize,
    pub warning: usize,
    pub violation: usize,
    /// `RULE key Grade` of each warning and violation.
    pub accused: BTreeSet<String>,
}

impl Calibration {
    pub fn of(session: &mut Session) -> Self {
        let profile = Profile::named("spec").expect("a built-in profile");
        let mut counts = Self::default();
        for (row, case) in sweep::calibration() {
            let seen = (session.run(&case, Detail::Brief))
                .unwrap_or_else(|reason| panic!("{row:?} {case}: {reason:?}"));
            let violations = judge(&case, &seen, &profile, Grade::Info).violations;
            *match violations.iter().map(|violation| violation.grade).max() {
                None => &mut counts.ok,
                Some(Grade::Info) => &mut counts.info,
                Some(Grade::Warning) => &mut counts.warning,
                Some(Grade::Violation) => &mut counts.violation,
            } += 1;
            let serious = violations.into_iter().filter(|it| it.grade >= Grade::Warning);
            counts.accused.extend(
                serious.map(|it| format!("{} {} {:?}", it.rule, it.evidence.key, it.grade)),
            );
        }
        counts
    }

    pub fn calls(&self) -> usize {
        self.ok + self.info + self.warning + self.violation
    }
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ok, info, warning, violation, accused } = self;
        write!(f, "{ok} ok, {info} info, {warning} warning, {violation} violation {accused:?}")
    }
}

/// Opens the backend in this environment, or in the one of the build. One environment per process.
pub fn open(backend: &str, env: Option<PathBuf>) -> Session {
    Session::open(&Options { env, backend: backend.into() })
        .unwrap_or_else(|error| panic!("{error}"))
}

/// The reference exporter, built (again) where that is needed.
pub struct Reference {
    /// The shared object.
    pub c: PathBuf,
    /// The folder of the Python module.
    pub folder: PathBuf,
}

pub fn reference() -> &'static Reference {
    static BUILT: LazyLock<Reference> = LazyLock::new(|| {
        let output = Command::new("scripts/reference")
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("CARGO_TARGET_DIR", target())
            .output()
            .expect("scripts/reference starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        let folder = target().join("exporters/lib");
        Reference { c: folder.join("libdlpack_reference.so"), folder }
    });
    &BUILT
}

/// Cargo's target folder, above the profile's.
fn target() -> PathBuf {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_dlpack-fuzz"));
    program.ancestors().nth(2).expect("target/PROFILE/dlpack-fuzz").to_path_buf()
}
