//! A session outlives what it meets: cases that kill or hang their process, a folder that takes no more,
//! another session beside it, and Ctrl-C. Exporters that kill are in `tests/exporters/deadly.py`; those whose memory
//! only a sanitizer sees are the reference exporter with one of its faults, too.

mod common;

use common::{reference, text};
use dlpack_fuzz::case::Case;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The program with a deadly exporter and a folder of findings; no folder of a person's is touched.
fn session(command: &str, exporter: &str, findings: &Path) -> Command {
    let mut session = Command::new(env!("CARGO_BIN_EXE_dlpack-fuzz"));
    clean(&mut session);
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    session
        .args([command, "--backend", &format!("py:deadly:{exporter}")])
        .env("DLPACK_FUZZ_FINDINGS", findings)
        .env("DLPACK_FUZZ_PYTHONPATH", project.join("tests/exporters"))
        .current_dir(project);
    session
}

/// Tests that wait for hangs and deaths by the clock run one at a time: each by itself keeps all processors busy.
fn alone_with_the_clock() -> MutexGuard<'static, ()> {
    static CLOCK: Mutex<()> = Mutex::new(());
    CLOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the environment says is not meant for the tests.
fn clean(command: &mut Command) {
    for name in [
        "BACKEND",
        "PROFILE",
        "KNOBS",
        "ENV",
        "KNOWN",
        "IGNORE_KNOWN",
        "CASE_LIMIT",
        "MEMORY_LIMIT",
    ] {
        command.env_remove(format!("DLPACK_FUZZ_{name}"));
    }
}

/// A session of the fuzz target with a corpus of its own. (The first builds the target.)
fn fuzz(exporter: &str, dir: &Path) -> Command {
    let mut session = session("fuzz", exporter, &dir.join("findings"));
    session.args(["--sanitizer", "none", "--jobs", "2", "--corpus"]).arg(dir.join("corpus"));
    session
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)))
}

/// Identities in the result, sorted.
fn identities(told: &serde_json::Value) -> Vec<String> {
    let findings = told["findings"].as_array().expect("a list").iter();
    let mut all: Vec<_> =
        findings.map(|it| it["finding"]["identity"].as_str().expect("text").to_owned()).collect();
    all.sort();
    all
}

/// Identities of the complete findings on disk, sorted; nothing else lies there.
fn kept(findings: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for backend in std::fs::read_dir(findings).unwrap().flatten() {
        for finding in std::fs::read_dir(backend.path()).unwrap().flatten() {
            let report = std::fs::read_to_string(finding.path().join("report.json")).unwrap();
            let report: serde_json::Value = serde_json::from_str(&report).unwrap();
            let name = finding.file_name().into_string().unwrap();
            assert_eq!(report["identity"], name.as_str());
            for file in std::fs::read_dir(finding.path()).unwrap().flatten() {
                assert!(!file.file_name().to_string_lossy().starts_with('.'), "{file:?} is half");
            }
            all.push(name);
        }
    }
    all.sort();
    all
}

/// Ways to die and dtypes that do, as `deadly.py` has them; the identity that `check` gives to each.
const WAYS: [(&str, &str); 12] = [
    ("int8", "CRASH-SIGSEGV-crash-integer-scalar"),
    ("int16", "CRASH-SIGFPE-divide-integer-scalar"),
    ("int32", "CRASH-SIGABRT-strike-integer-scalar"),
    ("int64", "CRASH-EXIT11-integer-scalar"),
    ("uint8", "CRASH-EXIT0-integer-scalar"),
    ("uint16", "EXC-CLASS-SystemExit"),
    ("uint32", "CRASH-HANG-integer-scalar"),
    ("uint64", "CRASH-HANG-integer-scalar"),
    ("float16", "CRASH-SIGABRT-float16-scalar"),
    ("float64", "CRASH-SIGSEGV-exhaust_the_stack-float-scalar"),
    ("complex64", "CRASH-MEMORY-complex-scalar"),
    ("complex128", "CRASH-SIGKILL-complex-scalar"),
];

/// As short as a busy machine lets a case be, and little memory.
const LIMITS: [&str; 4] = ["--case-limit", "0.5", "--memory-limit", "200"];

/// Each way to die twenty times in one session, and a lawful case before each death.
#[test]
fn a_replay_tells_each_death_and_each_lawful_case() {
    let _alone = alone_with_the_clock();
    let dir = tempfile::tempdir().unwrap();
    let mut replay = session("replay", "DiesInEveryWay", dir.path());
    replay.args(["--json", "--quiet"]).args(LIMITS);
    let mut expected = Vec::new();
    for length in 1..=20 {
        for (dtype, _) in WAYS {
            for dtype in ["float32", dtype] {
                replay
                    .arg("--case")
                    .arg(format!("array(shape=({length},), dtype='{dtype}').__dlpack__()"));
                expected.push(dtype);
            }
        }
    }
    let output = replay.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let told = json(&output);
    let lines = told["lines"].as_array().unwrap_or_else(|| panic!("{told:#}"));
    assert_eq!(lines.len(), expected.len());
    for (dtype, line) in expected.into_iter().zip(lines) {
        let way = WAYS.iter().find(|way| way.0 == dtype);
        let identity = way.map(|way| way.1.replace("scalar", "c"));
        assert_eq!(line["identity"].as_str(), identity.as_deref(), "{line:#}");
        assert_eq!(line["answer"], if way.is_some() { "FAILED" } else { "OK" }, "{line:#}");
    }
}

/// The sweep meets every way to die, tells each by name, and runs every other case as often as a sweep that meets none.
#[test]
fn a_sweep_records_each_way_to_die_and_loses_no_lawful_case() {
    let _alone = alone_with_the_clock();
    let sweep = |exporter: &str| {
        let dir = tempfile::tempdir().unwrap();
        let output = session("check", exporter, dir.path())
            .args(["--jobs", "2", "--quiet", "--json"])
            .args(LIMITS)
            .output()
            .unwrap();
        let told = json(&output);
        assert_eq!(kept(dir.path()), identities(&told));
        (told, text(&output.stderr))
    };
    let (deadly, errors) = sweep("DiesInEveryWay");
    let (alive, _) = sweep("Survives");
    let mut expected: Vec<_> = WAYS.iter().map(|way| way.1).collect();
    expected.sort();
    expected.dedup();
    assert_eq!(identities(&deadly), expected, "{errors}");
    assert_eq!(identities(&alive), ["EXC-CLASS-SystemExit"]);
    for finding in deadly["findings"].as_array().unwrap() {
        assert_eq!(finding["finding"]["reproduced"], "confirmed", "{finding:#}");
    }
    assert_eq!(deadly["grades"], alive["grades"]);
}

#[test]
fn a_session_finds_two_faults_that_kill_as_two() {
    let _alone = alone_with_the_clock();
    let dir = tempfile::tempdir().unwrap();
    let output = fuzz("Crashes", dir.path()).args(["--time", "40", "--json"]).output().unwrap();
    let told = json(&output);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let two = ["CRASH-SIGSEGV-crash-complex-scalar", "CRASH-SIGSEGV-crash-float-scalar-readonly"];
    assert_eq!(identities(&told), two);
    // A death teaches what the fault does not need; without that each dtype and layout would cost one.
    assert!(told["crashes"].as_u64().unwrap() <= 60, "{told:#}");
    assert_eq!(kept(&dir.path().join("findings")), two);
}

/// What is freed twice the C library sees by itself; what is read after it was freed only the sanitizer does. In the
/// reference exporter both are planted, in Python and in C.
#[test]
#[ignore = "builds three targets under AddressSanitizer, which takes minutes: run it with --ignored"]
fn a_session_under_a_sanitizer_sees_what_is_freed_twice_or_too_early() {
    let _alone = alone_with_the_clock();
    let freed = "EXC-NO-CRASH-heap-use-after-free";
    let twice = "CRASH-SIGABRT-dlpack_reference__fault__freed__delete_strides_twice";
    let python = |fault: &str| format!("py:dlpack_reference:{fault}");
    let c = |fault: &str| format!("c:{}?fault={fault}", reference().c.display());
    for (target, backend, identity) in [
        ("dunder_dlpack", "py:deadly:FreesTwice".into(), "CRASH-SIGABRT-free_twice-integer-scalar"),
        ("dunder_dlpack", "py:deadly:ExportsTheFreed".into(), freed),
        ("lifecycle", python("frees_twice"), twice),
        ("lifecycle", python("exports_the_freed"), freed),
        ("lifecycle", python("array_not_held"), freed),
        ("c_abi", c("frees_twice"), twice),
        ("c_abi", c("exports_the_freed"), freed),
        ("c_abi", c("array_not_held"), freed),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut session = Command::new(env!("CARGO_BIN_EXE_dlpack-fuzz"));
        clean(&mut session);
        let project = Path::new(env!("CARGO_MANIFEST_DIR"));
        let modules = [project.join("tests/exporters"), reference().folder.clone()];
        let output = session
            .args(["fuzz", target, "--backend", &backend, "--sanitizer", "address"])
            .args(["--jobs", "1", "--time", "15", "--json", "--corpus"])
            .arg(dir.path().join("corpus"))
            .env("DLPACK_FUZZ_FINDINGS", dir.path().join("findings"))
            .env("DLPACK_FUZZ_PYTHONPATH", std::env::join_paths(modules).unwrap())
            .current_dir(project)
            .output()
            .unwrap();
        let told = json(&output);
        let found = identities(&told);
        assert!(
            found.iter().any(|it| it.starts_with(identity)),
            "{backend}: {found:?}: {}",
            text(&output.stderr)
        );
        // The same fault under no other name.
        assert_eq!(found.len(), 1, "{backend}: {found:?}");
    }
}

#[test]
fn a_session_outlives_a_hang() {
    let _alone = alone_with_the_clock();
    let dir = tempfile::tempdir().unwrap();
    let output = fuzz("Hangs", dir.path())
        .args(["--time", "25", "--case-limit", "0.5", "--json"])
        .output()
        .unwrap();
    let told = json(&output);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(identities(&told), ["CRASH-HANG-integer-scalar"]);
    // Cases were run after the first had hung.
    assert!(told["cases"].as_u64().unwrap() > 50, "{told:#}");
}

#[test]
fn an_interrupted_session_keeps_what_it_found_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let mut child =
        fuzz("Crashes", dir.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("FOUND ") {
        line.clear();
        assert_ne!(errors.read_line(&mut line).unwrap(), 0, "it ended by itself");
    }
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
    let mut rest = String::new();
    errors.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{told}{rest}");
    assert!(told.contains("new findings: "), "{told}");
    let kept = kept(&dir.path().join("findings"));
    assert!(!kept.is_empty());
    kept.iter().for_each(|identity| assert!(told.contains(identity), "{told}"));
}

#[test]
fn two_sessions_on_one_folder_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let sessions: Vec<_> = ["Aborts", "Aborts", "Exits"]
        .map(|exporter| {
            session("check", exporter, dir.path())
                .args(["--runs", "8000", "--jobs", "1", "--quiet", "--json"])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .into_iter()
        .map(|child| child.wait_with_output().unwrap())
        .collect();
    let mut all: Vec<_> = sessions.iter().flat_map(|output| identities(&json(output))).collect();
    assert!(sessions.iter().all(|output| output.status.code() == Some(1)));
    all.sort();
    all.dedup();
    let mut kept = kept(dir.path());
    kept.sort();
    assert_eq!(kept, all);
    assert_eq!(all.len(), 2, "{all:?}");
}

/// The fuzz target alone, as `cargo fuzz run` starts it, on an exporter that ends it without libFuzzer's knowing.
fn alone(exporter: &str) -> (String, Vec<Vec<u8>>) {
    let dir = tempfile::tempdir().unwrap();
    // Builds it.
    let built = fuzz("Alive", dir.path()).args(["--runs", "1", "--quiet"]).output().unwrap();
    assert_eq!(built.status.code(), Some(0), "{}", text(&built.stderr));
    let folder = Path::new(env!("CARGO_BIN_EXE_dlpack-fuzz")).ancestors().nth(2).unwrap();
    let artifacts = dir.path().join("artifacts");
    std::fs::create_dir(&artifacts).unwrap();
    let mut target = Command::new(folder.join("fuzz/none/dunder_dlpack"));
    clean(&mut target);
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = target
        .args(["-runs=100000".into(), format!("-artifact_prefix={}/", artifacts.display())])
        .env("DLPACK_FUZZ_BACKEND", format!("py:deadly:{exporter}"))
        .env("DLPACK_FUZZ_PYTHONPATH", project.join("tests/exporters"))
        .current_dir(project)
        .output()
        .unwrap();
    let kept = std::fs::read_dir(&artifacts).unwrap().flatten();
    (text(&output.stderr), kept.map(|file| std::fs::read(file.path()).unwrap()).collect())
}

#[test]
fn a_target_alone_leaves_the_case_behind_however_it_ends() {
    for (exporter, how) in [("Exits", ":"), ("IsKilled", ":"), ("Aborts", ", by SIGABRT:")] {
        let (errors, artifacts) = alone(exporter);
        let told = format!("the process ended in this case{how}\n");
        let case = errors.split_once(&told).unwrap_or_else(|| panic!("{exporter}: {errors}")).1;
        let case: Case = case.lines().next().unwrap().parse().unwrap();
        assert_eq!(case.tensor.dtype.name(), "int16");
        let [artifact] = &artifacts[..] else {
            panic!("{exporter}: {} artifacts", artifacts.len())
        };
        assert_eq!(Case::decode(artifact), case, "{exporter}");
    }
}

/// What a session says that cannot write: all it found on standard output, and one line of error.
fn loses_nothing(output: &Output, reason: &str) {
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert_eq!(errors.trim_end().lines().count(), 1, "{errors}");
    assert!(errors.contains("could not be written") && errors.contains(reason), "{errors}");
    let told = text(&output.stdout);
    let line = told.lines().find(|line| line.starts_with('{')).expect("the finding in one line");
    let finding: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(finding["identity"], "CRASH-SIGABRT-strike-integer-scalar");
    assert!(finding["script"].as_str().unwrap().contains("__dlpack__"));
}

#[test]
fn a_folder_that_takes_no_finding_is_one_error_and_loses_none() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("py_deadly_Aborts"), "a file in the way").unwrap();
    let output = session("check", "Aborts", dir.path())
        .args(["--runs", "8000", "--jobs", "1", "--quiet"])
        .output()
        .unwrap();
    loses_nothing(&output, "py_deadly_Aborts");
}

/// A file system of four pages in a name space of its own, where the system lets one be made.
#[test]
fn a_full_disk_is_one_error_and_loses_none() {
    let dir = tempfile::tempdir().unwrap();
    let mut check = session("check", "Aborts", dir.path());
    check.args(["--runs", "8000", "--jobs", "1", "--quiet"]);
    let mut inside = Command::new("unshare");
    let script = "mount -t tmpfs -o size=16k none \"$0\" || exit 77; exec \"$@\"";
    inside.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(dir.path());
    inside.arg(check.get_program()).args(check.get_args());
    for (name, value) in check.get_envs() {
        match value {
            Some(value) => inside.env(name, value),
            None => inside.env_remove(name),
        };
    }
    let output = match inside.current_dir(env!("CARGO_MANIFEST_DIR")).output() {
        Ok(output) if ![Some(77), Some(1)].contains(&output.status.code()) => output,
        refused => return eprintln!("SKIPPED: no file system can be mounted here: {refused:?}"),
    };
    loses_nothing(&output, "the disk is full");
}
