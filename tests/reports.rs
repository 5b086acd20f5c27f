//! What is told of findings, and to whom: what is new since, what is known, and what build services read.
//! The exporter with faults to choose from is `tests/exporters/several.py`.

mod common;

use common::text;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const BACKEND: &str = "py:several:Exporter";

/// The program on the exporter with these faults; findings go into the folder.
fn run(faults: &str, dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dlpack-fuzz"));
    for name in ["BACKEND", "PROFILE", "KNOBS", "ENV", "KNOWN", "IGNORE_KNOWN", "FINDINGS"] {
        command.env_remove(format!("DLPACK_FUZZ_{name}"));
    }
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    command
        .args(arguments)
        .args(["--backend", BACKEND])
        .env("DLPACK_FUZZ_FINDINGS", dir.join("findings"))
        .env("DLPACK_FUZZ_PYTHONPATH", project.join("tests/exporters"))
        .env("FAULTS", faults)
        .current_dir(project)
        .output()
        .unwrap()
}

/// A sweep that is long enough for every fault.
fn check(faults: &str, dir: &Path, arguments: &[&str]) -> Output {
    run(faults, dir, &[&["check", "--runs", "6000", "--jobs", "2", "--quiet"], arguments].concat())
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)))
}

/// Identities of the findings, sorted.
fn found(told: &Value) -> Vec<String> {
    let findings = told["findings"].as_array().expect("a list").iter();
    let mut all: Vec<_> =
        findings.map(|it| it["finding"]["identity"].as_str().expect("text").to_owned()).collect();
    all.sort();
    all
}

#[test]
fn only_what_is_new_since_an_earlier_check_fails() {
    let dir = tempfile::tempdir().unwrap();
    let last = dir.path().join("last.json");
    let last = last.to_str().unwrap();
    let output = check("value,list", dir.path(), &[&format!("--json={last}")]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));

    let output = check("value,list", dir.path(), &["--since", last, "--json"]);
    let told = json(&output);
    assert_eq!(output.status.code(), Some(0), "nothing is new: {:#}", told["since"]);
    assert_eq!(told["since"]["new"], Value::from(Vec::<Value>::new()));
    assert_eq!(told["since"]["common"].as_array().unwrap().len(), 2, "{:#}", told["since"]);
    assert_eq!(found(&told).len(), 2, "the next baseline has them all");

    let output = check("value,runtime-copy", dir.path(), &["--since", last]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}{}", text(&output.stderr));
    assert!(told.contains("new     EXC-DEVICE-RuntimeError"), "{told}");
    assert!(told.contains("gone    CAP-TYPE-list"), "{told}");
    assert!(told.contains("common  EXC-DEVICE-ValueError"), "{told}");
    let reported = |identity: &str| told.contains(&format!("Violation: {identity}"));
    assert!(reported("EXC-DEVICE-RuntimeError") && !reported("EXC-DEVICE-ValueError"), "{told}");
}

/// Whatever the two sweeps have met by chance, each finding is asked of the other side.
#[test]
fn an_environment_has_nothing_new_since_itself() {
    let dir = tempfile::tempdir().unwrap();
    let env = Path::new(env!("CARGO_MANIFEST_DIR")).join("envs/numpy");
    let output = check(
        "value-float32,runtime-copy",
        dir.path(),
        &["--since", env.to_str().unwrap(), "--json"],
    );
    let told = json(&output);
    assert_eq!(output.status.code(), Some(0), "{:#}", told["since"]);
    assert_eq!(told["since"]["common"].as_array().unwrap().len(), 2, "{:#}", told["since"]);
    assert_eq!(told["since"]["versions"], told["versions"]);
}

#[test]
fn a_baseline_that_is_none_is_refused_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let none = dir.path().join("none.json");
    std::fs::write(&none, "{}").unwrap();
    let other = dir.path().join("other.json");
    std::fs::write(
        &other,
        r#"{"backend": "torch", "findings": [], "versions": {"libraries": [], "python": "", "dlpack": "", "tool": ""}}"#,
    )
    .unwrap();
    for (path, says) in [
        (none.as_path(), "check --json"),
        (&other, "a check of torch"),
        (Path::new("/nowhere"), "/nowhere"),
        (dir.path(), "no Python environment"),
    ] {
        let output = check("", dir.path(), &["--since", path.to_str().unwrap()]);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(says) && errors.trim_end().lines().count() == 1, "{errors}");
    }
}

const KNOWN: &str = r#"
[[known]]
rule = "EXC-DEVICE"
key = "ValueError"
example = "array(shape=(6,), dtype='float32').__dlpack__(dl_device=(2, 0))"
since = 2026-12-01
when = [{ dtypes = ["float32"] }]
"#;

/// A folder of known findings with this text.
fn known(dir: &Path, entries: &str) -> String {
    let folder = dir.join("known");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{BACKEND}.toml")), entries).unwrap();
    folder.to_str().unwrap().to_owned()
}

/// The entry tells of ValueError for float32. The same rule by another exception, and the same exception for
/// another element type, are other faults.
#[test]
fn a_known_finding_covers_no_second_fault_under_its_rule() {
    let dir = tempfile::tempdir().unwrap();
    let known = known(dir.path(), KNOWN);
    let arguments = ["--known-dir", &known, "--json"];
    let covered = check("value-float32", dir.path(), &arguments);
    assert_eq!(found(&json(&covered)), [""; 0]);
    assert_eq!(covered.status.code(), Some(0));
    let other_key = check("value-float32,runtime-copy", dir.path(), &arguments);
    assert_eq!(found(&json(&other_key)), ["EXC-DEVICE-RuntimeError"]);
    let other_case = check("value", dir.path(), &arguments);
    let told = json(&other_case);
    assert_eq!(found(&told), ["EXC-DEVICE-ValueError"]);
    let case = told["findings"][0]["finding"]["case"].as_str().unwrap();
    assert!(!case.contains("float32"), "it is not reduced to what is known: {case}");
}

#[test]
fn a_known_finding_is_still_there_or_fixed_or_not_runnable() {
    let dir = tempfile::tempdir().unwrap();
    let known = known(
        dir.path(),
        &format!("{KNOWN}{}", KNOWN.replace("since =", "versions = { numpy = \"<1\" }\nsince =")),
    );
    let replay = |faults, arguments: &[&str]| {
        run(
            faults,
            dir.path(),
            &[&["replay", "--known", "--known-dir", &known], arguments].concat(),
        )
    };
    let output = replay("value-float32", &[]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{told}{}", text(&output.stderr));
    assert!(told.contains("STILL  ") && told.contains(".toml:2: EXC-DEVICE-ValueError"), "{told}");
    assert!(told.contains("NOT RUNNABLE ") && told.contains("other versions"), "{told}");

    let output = replay("", &["--junit", dir.path().join("replay.xml").to_str().unwrap()]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("FIXED  ") && told.contains("delete the entry at "), "{told}");
    let xml = std::fs::read_to_string(dir.path().join("replay.xml")).unwrap();
    assert!(xml.contains("failures=\"1\"") && xml.contains("skipped=\"1\""), "{xml}");

    // Another fault in the entry's own example is no sign that the entry still holds.
    let output = replay("value", &["--ignore-known"]);
    assert!(text(&output.stdout).contains("FAILED "), "{}", text(&output.stdout));
}

#[test]
fn build_services_are_told_in_their_own_forms() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (sarif, junit, whole) =
        (path("a.sarif"), path("a.xml"), format!("--json={}", path("a.json")));
    let forms = ["--sarif", &sarif, "--junit", &junit, &whole, "--github"];
    let output = check("value,list", dir.path(), &forms);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let lines: Vec<_> = told.lines().filter(|line| line.starts_with("::error ")).collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(lines.iter().any(|line| line.contains("title=EXC-DEVICE-ValueError::py:several")));

    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let log: Value = serde_json::from_str(&read("a.sarif")).unwrap();
    let run = &log["runs"][0];
    let rules: Vec<_> = run["tool"]["driver"]["rules"].as_array().unwrap().iter().collect();
    assert_eq!(rules.len(), 2, "{run:#}");
    for result in run["results"].as_array().unwrap() {
        let place = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[place]["id"], result["ruleId"]);
        let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        let file = uri.as_str().unwrap().strip_prefix("file://").unwrap();
        assert!(Path::new(file).is_file(), "{file}");
    }
    assert!(read("a.xml").contains("failures=\"2\""), "{}", read("a.xml"));
    assert_eq!(found(&serde_json::from_str(&read("a.json")).unwrap()).len(), 2);

    let case = "array(shape=(6,), dtype='int8').__dlpack__(dl_device=(2, 0))";
    let output =
        self::run("value", dir.path(), &["replay", "--case", case, "--sarif", &sarif, "--github"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("::error title=EXC-DEVICE-ValueError::FAILED"));
    let log: Value = serde_json::from_str(&read("a.sarif")).unwrap();
    assert_eq!(log["runs"][0]["results"][0]["ruleId"], "EXC-DEVICE");
}

#[test]
fn two_forms_for_one_stream_are_refused_before_anything_runs() {
    let dir = tempfile::tempdir().unwrap();
    for command in ["check", "replay", "fuzz"] {
        let output = run("", dir.path(), &[command, "--json", "--github"]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(text(&output.stderr).contains("--json=FILE"), "{}", text(&output.stderr));
    }
}

/// Each confirmation takes three seconds, for the exporter loads so slowly; that of all takes far longer than
/// the time allows.
#[test]
fn the_time_bounds_what_is_reduced_and_confirmed_too() {
    let dir = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dlpack-fuzz"));
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = command
        .args(["check", "--backend", BACKEND, "--time", "16", "--jobs", "1", "--quiet", "--json"])
        .args(["--findings", dir.path().to_str().unwrap()])
        .env("DLPACK_FUZZ_PYTHONPATH", project.join("tests/exporters"))
        .envs([("FAULTS", "many"), ("LOADING", "3")])
        .current_dir(project)
        .output()
        .unwrap();
    let took = started.elapsed();
    let told = json(&output);
    assert!(found(&told).len() >= 4, "{told:#}");
    assert!(told["unfinished"]["unconfirmed"].as_u64().unwrap() > 0, "{}", told["unfinished"]);
    // A busy machine may take long to start and to end processes.
    assert!(took < Duration::from_secs(35), "{took:?}: {}", told["unfinished"]);
}
