//! The built command from outside: what cannot run says so in one line, what is asked is answered, and a
//! case that kills its process kills no command.

mod common;

use common::{dlpack_fuzz, text};
use std::path::Path;
use std::process::Command;

const KILLER: &str = "array(shape=(4,), dtype='void[0]', strides=(8,)).__dlpack__()";
const LAWFUL: &str = "array(shape=(6,), dtype='float32').__dlpack__(max_version=(1, 0))";

/// Runs with these arguments, wants status 2 and one line on standard error, and gives the line.
fn refusal(arguments: &[&str]) -> String {
    let output = dlpack_fuzz(arguments);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
    assert_eq!(errors.trim_end().lines().count(), 1, "{arguments:?}: {errors}");
    assert!(errors.starts_with("dlpack-fuzz: "), "{errors}");
    errors
}

#[test]
fn what_cannot_run_says_why_in_one_line() {
    for (arguments, says) in [
        (&["check", "nosuch"][..], "nosuch"),
        (&["check", "--backend", "py:nosuch:f", "--runs", "1"], "nosuch"),
        (&["check", "--profile", "nosuch"], "strict"),
        (&["check", "--knob", "nosuch=off"], "nosuch"),
        (&["check", "--knob", "nothing"], "nothing"),
        (&["check", "--env", "/nowhere"], "scripts/setup"),
        (&["doctor", "--env", "/nowhere", "--quiet"], "scripts/setup"),
        (&["replay", "--env", "/nowhere"], "scripts/setup"),
        (&["replay", "/nowhere"], "/nowhere"),
        (&["repro", "array(shape=(4,"], "does not parse"),
        (&["shrink", "--case", "nothing"], "does not parse"),
        (&["explain", "EXC-DEVISE"], "EXC-DEVICE"),
        (&["fuzz", "nosuch"], "dunder_dlpack"),
        (&["check", "--exchange-api"], "numpy has no C exchange API"),
        (&["check", "--exchange-api", "--backend", "c:nosuch.so"], "nosuch.so"),
    ] {
        let line = refusal(arguments);
        assert!(line.contains(says), "{arguments:?}: {line}");
    }
}

#[test]
fn a_corrupt_file_of_known_findings_is_named_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("numpy.toml"), "\n[[known]]\nrule = 7\n").unwrap();
    let line = refusal(&["check", "--known-dir", dir.path().to_str().unwrap()]);
    assert!(line.contains("numpy.toml:"), "{line}");
}

#[test]
fn a_folder_that_takes_no_findings_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let folder = file.path().join("findings");
    let line = refusal(&["check", "--runs", "1", "--findings", folder.to_str().unwrap()]);
    assert!(line.contains("findings"), "{line}");
}

#[test]
fn rules_and_their_explanations_are_printed() {
    let output = dlpack_fuzz(&["explain", "exc-device"]);
    assert!(output.status.success());
    assert!(text(&output.stdout).contains("BufferError"), "{}", text(&output.stdout));
    let output = dlpack_fuzz(&["rules", "--json"]);
    let rules: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(rules.as_array().unwrap().len() > 100);
    assert!(text(&dlpack_fuzz(&["rules"]).stdout).contains("not observable"));
}

#[test]
fn every_command_has_help_with_its_exit_status() {
    for command in
        ["doctor", "check", "fuzz", "matrix", "replay", "repro", "shrink", "explain", "rules"]
    {
        let output = dlpack_fuzz(&[command, "--help"]);
        assert!(output.status.success());
        assert!(text(&output.stdout).contains("Exit status"), "{command}");
    }
}

#[test]
fn doctor_names_the_interpreter_and_the_library() {
    let output = dlpack_fuzz(&["doctor"]);
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told}{}", text(&output.stderr));
    assert!(told.contains("numpy 2.") && told.contains("libpython"), "{told}");
}

#[test]
fn a_case_that_kills_its_process_is_a_finding_and_the_next_case_runs() {
    let output = dlpack_fuzz(&["replay", "--ignore-known", "--case", KILLER, "--case", LAWFUL]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}{}", text(&output.stderr));
    assert!(told.contains("FAILED") && told.contains("SIGFPE"), "{told}");
    assert!(told.contains("1 OK"), "{told}");
    // The same case is known, and then it is nothing new.
    let output = dlpack_fuzz(&["replay", "--case", KILLER]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("KNOWN"));
}

/// `os._exit(0)` looks like an orderly end, and `print` writes to where the replies go.
#[test]
fn a_library_that_exits_or_prints_confuses_no_worker() {
    let dir = tempfile::tempdir().unwrap();
    let module = "import os\n\nclass Exporter:\n    def __init__(self, d):\n        self.x = d.numpy\n\n    \
                  def __dlpack__(self, **kw):\n        print('noise', flush=True)\n        \
                  os.write(1, b'noise')\n        if kw.get('copy') is True:\n            os._exit(0)\n        \
                  return self.x.__dlpack__(**kw)\n\n    def __dlpack_device__(self):\n        \
                  return self.x.__dlpack_device__()\n";
    std::fs::write(dir.path().join("quitter.py"), module).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_dlpack-fuzz"))
        .args(["replay", "--backend", "py:quitter:Exporter"])
        .args(["--case", "array(shape=(4,), dtype='int8').__dlpack__(copy=True)"])
        .args(["--case", "array(shape=(4,), dtype='int8').__dlpack__(copy=False)"])
        .env("DLPACK_FUZZ_PYTHONPATH", dir.path())
        .output()
        .unwrap();
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}{}", text(&output.stderr));
    assert!(told.contains("FAILED --case: CRASH-EXIT0"), "{told}");
    assert!(told.contains("OK     --case"), "{told}");
}

#[test]
fn a_killer_is_shrunk_and_its_script_dies_in_a_fresh_interpreter() {
    let large =
        "array(shape=(2, 3), dtype='void[0]', strides=(40, 8)).__dlpack__(stream=None) + repeat";
    let output = dlpack_fuzz(&["shrink", "--ignore-known", "--quiet", large]);
    let shrunk = text(&output.stdout).trim().to_owned();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(shrunk.contains("dtype='void[0]'") && shrunk.contains("shape=(2,)"), "{shrunk}");
    assert!(shrunk.ends_with(".__dlpack__()"), "{shrunk}");
    let output = dlpack_fuzz(&["repro", "--run", &shrunk]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}{}", text(&output.stderr));
    assert!(told.contains("# CRASH-SIGFPE-array_dlpack-void0-strided: confirmed"), "{told}");
}

#[test]
fn a_kept_finding_is_fixed_once_it_no_longer_shows() {
    let dir = tempfile::tempdir().unwrap();
    let output = dlpack_fuzz(&["repro", "--json", "--ignore-known", KILLER]);
    let findings: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let replayed = |case: &str| {
        let mut finding = findings[0].clone();
        finding["case"] = case.into();
        std::fs::write(dir.path().join("report.json"), finding.to_string()).unwrap();
        let path = dir.path().to_str().unwrap();
        let output = dlpack_fuzz(&["replay", "--ignore-known", "--json", path]);
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (value["lines"][0]["answer"].as_str().unwrap().to_owned(), output.status.code())
    };
    assert_eq!(replayed(KILLER), ("FAILED".into(), Some(1)));
    assert_eq!(replayed(LAWFUL), ("FIXED".into(), Some(0)));
}

#[test]
fn a_replay_writes_junit_and_an_unreadable_case_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let (good, bad) = (dir.path().join("good.txt"), dir.path().join("bad.txt"));
    std::fs::write(&good, LAWFUL).unwrap();
    std::fs::write(&bad, "no case").unwrap();
    let junit = dir.path().join("junit.xml");
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let output = dlpack_fuzz(&["replay", "--junit", &path(&junit), &path(&good), &path(&bad)]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    let xml = std::fs::read_to_string(junit).unwrap();
    assert!(xml.contains("good.txt") && xml.contains("errors=\"1\""), "{xml}");
}

#[test]
fn a_short_sweep_finds_nothing_new_and_counts_its_rules() {
    let dir = tempfile::tempdir().unwrap();
    let findings = dir.path().to_str().unwrap();
    let output = dlpack_fuzz(&[
        "check",
        "numpy",
        "--runs",
        "2000",
        "--jobs",
        "2",
        "--quiet",
        "--json",
        "--findings",
        findings,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(told["cases"].as_u64().unwrap() >= 2000);
    assert!(told["rules"].as_array().unwrap().iter().any(|rule| rule["checked"] == true));
    assert_eq!(told["findings"], serde_json::json!([]));
}

/// An environment with a space in its name, another profile, and a knob: all of it has to be there again.
#[test]
fn the_command_that_a_report_ends_with_shows_the_same_fault_again() {
    let dir = tempfile::tempdir().unwrap();
    let module = "class Exporter:\n    def __init__(self, x):\n        self.x = x\n\n    \
                  def __dlpack__(self, **kw):\n        if kw.get('copy') is False:\n            \
                  raise ValueError\n        return self.x.__dlpack__(**kw)\n\n    \
                  def __dlpack_device__(self):\n        return self.x.__dlpack_device__()\n";
    std::fs::write(dir.path().join("refuser.py"), module).unwrap();
    let env = dir.path().join("the env");
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("envs/numpy");
    std::os::unix::fs::symlink(built, &env).unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        let tool = Path::new(env!("CARGO_BIN_EXE_dlpack-fuzz")).parent().unwrap();
        let path = format!("{}:{}", tool.display(), std::env::var("PATH").unwrap());
        command.args(arguments).env("PATH", path).current_dir(dir.path());
        command
    };
    // Faults of profile `strict` alone are not shown again under `spec`.
    let check = run("dlpack-fuzz", &["check", "py:refuser:Exporter", "--runs", "3000", "--quiet"])
        .args(["--jobs", "2", "--json", "--profile", "strict", "--knob", "cpu_stream=V"])
        .args(["--env", env.to_str().unwrap()])
        .env("DLPACK_FUZZ_PYTHONPATH", dir.path())
        .output()
        .unwrap();
    let told: serde_json::Value = serde_json::from_slice(&check.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&check.stderr)));
    let findings = told["findings"].as_array().unwrap();
    assert!(findings.len() > 1, "{told:#}");
    for found in findings {
        assert_eq!(found["count"], 1, "one finding, whatever the number of processes");
        let again = found["finding"]["again"].as_str().unwrap();
        for word in ["--backend py:refuser:Exporter", "--profile strict", "--knob 'cpu_stream=V'"] {
            assert!(again.contains(word), "{again}");
        }
        let output = run("sh", &["-c", &format!("{again} --json")]).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{again}: {}", text(&output.stderr));
        let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let same = |one: &serde_json::Value| one["identity"] == found["finding"]["identity"];
        assert!(shown.as_array().unwrap().iter().any(same), "{again}: {shown:#}");
    }
}
