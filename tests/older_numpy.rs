//! Older releases of NumPy are judged by what they are: 2.3 breaks one rule of the version that it claims,
//! and 1.26 is older than the version that brought the keywords, which is no fault.
//!
//! `scripts/test` makes their environments. Where one is missing, its tests say so and do nothing.

mod common;

use common::{Calibration, Sweep};
use dlpack_fuzz::oracle::Exporter;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tells the child which environment it embeds.
const CHILD: &str = "DLPACK_FUZZ_TEST_ENV";
/// Stands before the lines that are for the parent; libtest writes others.
const MARK: &str = "@@ ";

/// The environment of that release.
fn environment(release: &str) -> Option<PathBuf> {
    let env = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("envs/numpy-{release}"));
    // Written last: without it the environment is not whole.
    if env.join("made-of").exists() {
        return Some(env);
    }
    // Past libtest, which would keep it from being read.
    let line = format!("SKIPPED: no {}; run scripts/setup numpy=={release}", env.display());
    writeln!(std::io::stderr(), "{line}").expect("standard error is open");
    None
}

fn sweep(env: &Path) -> Sweep {
    Sweep::of("numpy", &["--env", env.to_str().expect("the project's path is text")])
}

/// The interpreter of another environment needs a process of its own.
#[test]
#[ignore = "the other tests of this file start it"]
fn child() {
    let Some(env) = std::env::var_os(CHILD) else {
        return;
    };
    let mut session = common::open("numpy", Some(env.into()));
    let Exporter { keywords, claims, versioned, .. } = session.exporter();
    println!("\n{MARK}{keywords:?} {claims:?} {versioned}");
    println!("{MARK}{}", Calibration::of(&mut session));
}

/// What the child says of the exporter, and of the decision table's rows.
fn told_of(env: &Path) -> [String; 2] {
    let output = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["child", "--exact", "--ignored", "--nocapture"])
        .env(CHILD, env)
        .output()
        .expect("this program starts");
    let told = common::text(&output.stdout);
    let lines: Vec<_> = told.lines().filter_map(|line| line.strip_prefix(MARK)).collect();
    let [exporter, calibration] = lines[..] else {
        panic!("{told}{}", common::text(&output.stderr));
    };
    println!("{}: {calibration}", env.display());
    [exporter.into(), calibration.into()]
}

#[test]
fn numpy_2_3_is_accused_of_its_value_error_for_another_device_and_of_nothing_else() {
    let Some(env) = environment("2.3.5") else {
        return;
    };
    let sweep = sweep(&env);
    assert_eq!(sweep.findings(), [("EXC-DEVICE".into(), "ValueError".into())]);
    assert_eq!(sweep.status, Some(1));
    assert!(sweep.grade("violation") > 0);
    let [exporter, calibration] = told_of(&env);
    assert_eq!(exporter, "[true, true, true, true] Some(V2024) true");
    // Whether another index of the CPU is another device is contested: a warning.
    let accused = ["DEV-CPU-ID-OTHER ValueError Warning", "EXC-DEVICE ValueError Violation"];
    let accused = accused.map(|word| format!("{word:?}")).join(", ");
    assert!(calibration.ends_with(&format!("{{{accused}}}")), "{calibration}");
}

#[test]
fn numpy_1_26_lacks_three_keywords_and_is_accused_of_nothing() {
    let Some(env) = environment("1.26.4") else {
        return;
    };
    let sweep = sweep(&env);
    assert_eq!((sweep.status, sweep.findings()), (Some(0), vec![]));
    assert_eq!((sweep.grade("warning"), sweep.grade("violation")), (0, 0));
    let [exporter, calibration] = told_of(&env);
    // stream only, and no claim that the others could be measured by
    assert_eq!(exporter, "[true, false, false, false] None false");
    assert!(calibration.contains(" 0 warning, 0 violation {}"), "{calibration}");
}
