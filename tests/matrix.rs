//! The matrix from outside: one library that dies, hangs or does not load loses nothing of the others.

mod common;

use common::text;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn matrix(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dlpack-fuzz"));
    for name in ["BACKEND", "PROFILE", "KNOBS", "ENV", "KNOWN", "IGNORE_KNOWN", "FINDINGS"] {
        command.env_remove(format!("DLPACK_FUZZ_{name}"));
    }
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    command
        .arg("matrix")
        .args(arguments)
        .args(["--findings", dir.join("findings").to_str().unwrap()])
        .args(["--out", dir.join("pages").to_str().unwrap()])
        .env("DLPACK_FUZZ_PYTHONPATH", project.join("tests/exporters"))
        .env("DLPACK_FUZZ_CASE_LIMIT", "1")
        .env("FAULTS", "value")
        .current_dir(project)
        .output()
        .unwrap()
}

fn page(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join("pages").join(name)).unwrap()
}

#[test]
fn each_library_has_its_column_or_the_reason_why_not() {
    let dir = tempfile::tempdir().unwrap();
    // An environment of another Python, and one that is not there.
    let other = dir.path().join("numpy-9.9");
    std::fs::create_dir_all(other.join("bin")).unwrap();
    std::fs::write(other.join("bin/python"), "").unwrap();
    let empty = dir.path().join("torch-0.1");
    std::fs::create_dir_all(&empty).unwrap();
    let output = matrix(
        dir.path(),
        &[
            "--time",
            "12",
            "--jobs",
            "2",
            "numpy",
            "py:deadly:Crashes",
            "py:nosuch:f",
            "py:deadly:Hangs",
            other.to_str().unwrap(),
            empty.to_str().unwrap(),
            "array-api-strict",
        ],
    );
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}{}", text(&output.stderr));
    assert!(told.contains("4 of 7 libraries checked"), "{told}");

    let data: Value = serde_json::from_str(&page(dir.path(), "matrix.json")).unwrap();
    let state = |place: usize| &data["libraries"][place]["state"];
    let reason = |place: usize| state(place)["not-run"].as_str().unwrap_or_default();
    assert!(state(0)["ran"]["cases"].as_u64().unwrap() > 1000);
    assert!(state(6)["ran"]["cases"].as_u64().unwrap() > 1000, "the last one, too");
    assert!(reason(2).contains("nosuch"), "{}", reason(2));
    assert!(reason(4).contains("no environment for Python"), "{}", reason(4));
    assert!(reason(5).contains("scripts/setup torch"), "{}", reason(5));
    let identities: Vec<_> = (state(1)["ran"]["findings"].as_array().unwrap().iter())
        .map(|found| found["finding"]["identity"].as_str().unwrap())
        .collect();
    assert!(identities.iter().any(|it| it.starts_with("CRASH-SIGSEGV")), "{identities:?}");
    // NumPy's own crash is known, and shown all the same.
    let known = &state(0)["ran"]["findings"][0];
    assert_eq!(known["finding"]["identity"], "CRASH-SIGFPE-array_dlpack-void0-strided");
    assert_eq!(known["known"]["since"], "2026-12-01");
    assert_eq!(known["finding"]["reproduced"], "confirmed");

    let html = page(dir.path(), "matrix.html");
    assert!(html.contains("prefers-color-scheme: dark") && html.contains("name=\"viewport\""));
    for outside in ["<script", "<link", "<img", "src=", "@import", "url("] {
        assert!(!html.contains(outside), "the page needs {outside}");
    }
    let markdown = page(dir.path(), "matrix.md");
    for part in ["| numpy 2.", "not run: ", "## Disagreements", "EXC-NO-CRASH"] {
        assert!(markdown.contains(part), "{part}");
    }

    // What another build has checked is taken over, and what was checked here stays.
    let there = dir.path().join("pages/matrix.json");
    let here = tempfile::tempdir().unwrap();
    let output = matrix(
        here.path(),
        &["--time", "4", "--with", there.to_str().unwrap(), other.to_str().unwrap(), "numpy"],
    );
    assert!(text(&output.stdout).contains("4 of 5 libraries"), "{}", text(&output.stdout));
}

#[test]
fn a_difference_between_libraries_is_told_with_who_answers_what() {
    let dir = tempfile::tempdir().unwrap();
    let output = matrix(dir.path(), &["--time", "10", "numpy", "py:several:Exporter"]);
    let data: Value = serde_json::from_str(&page(dir.path(), "matrix.json"))
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
    let answers = |library: usize| data["libraries"][library]["state"]["ran"]["answers"].as_array();
    assert_eq!(answers(0).unwrap().len(), answers(1).unwrap().len());
    let markdown = page(dir.path(), "matrix.md");
    let (_, told) = markdown.split_once("## Disagreements").unwrap();
    let alike = |line: &str| line.starts_with("- ") && line.contains("dl_device=(2, ");
    let at = told.lines().position(alike).unwrap_or_else(|| panic!("{told}"));
    let answered: Vec<_> = told.lines().skip(at + 1).take(2).collect();
    assert_eq!(answered, ["  - `BufferError`: numpy", "  - `ValueError`: py:several:Exporter"]);
}

#[test]
fn what_is_no_library_is_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("no.json"), "[]").unwrap();
    let no_json = dir.path().join("no.json");
    for (arguments, says) in [
        (&["nosuch"][..], "nosuch"),
        (&["numpy", "--profile", "nosuch"], "strict"),
        (&["numpy", "--with", no_json.to_str().unwrap()], "matrix.json"),
        (&["py:nosuch:f"], "no library could be checked"),
    ] {
        let output = matrix(dir.path(), &[arguments, &["--quiet"]].concat());
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(says) && errors.trim_end().lines().count() == 1, "{errors}");
    }
}
