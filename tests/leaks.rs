//! Memory that nothing of Python or NumPy counts is found by its growth, on its own rule and with a reproducer
//! that shows it; caches are silent. The exporters are in `tests/exporters/leaking.py`.

mod common;

use common::text;
use std::path::Path;
use std::process::Command;

/// Identities that the sweep finds in an exporter, each confirmed by its reproducer.
fn found(exporter: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(env!("CARGO_BIN_EXE_dlpack-fuzz"))
        .args(["check", "--backend", &format!("py:leaking:{exporter}"), "--findings"])
        .arg(dir.path())
        .args(["--runs", "40000", "--jobs", "1", "--quiet", "--json"])
        .env("DLPACK_FUZZ_PYTHONPATH", project.join("tests/exporters"))
        .current_dir(project)
        .output()
        .unwrap();
    let told: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
    let findings = told["findings"].as_array().expect("a list").iter();
    findings
        .map(|it| {
            assert_eq!(it["finding"]["reproduced"], "confirmed", "{it:#}");
            it["finding"]["identity"].as_str().expect("text").to_owned()
        })
        .collect()
}

#[test]
fn a_struct_that_is_never_freed_is_found() {
    assert_eq!(found("LosesAStruct"), ["CAP-DTOR-UNCONSUMED-heap"]);
}

#[test]
fn what_a_failing_call_leaves_is_another_rules() {
    assert_eq!(found("LosesWhenItRaises"), ["EXC-NO-PARTIAL-heap"]);
}

#[test]
fn a_list_of_spare_structs_and_a_table_are_none() {
    assert_eq!(found("KeepsTheLast"), [""; 0]);
    assert_eq!(found("GrowsATable"), [""; 0]);
}
