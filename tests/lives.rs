//! What a life shows, as a user meets it: each fault that is planted in the reference exporter's lives has a
//! reproducer that shows it in a fresh interpreter, and shows nothing on the lawful twin.

mod common;

use common::{parallel, reference};
use dlpack_fuzz::case::Case;
use dlpack_fuzz::host::{Detail, Options, Session};
use dlpack_fuzz::oracle::{Grade, Profile, judge};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A fault, and the life that shows it.
const LIVES: [(&str, &str); 16] = [
    ("consumed_released_again", "take a, delete a, drop a"),
    ("consumed_reset", "take a, drop a"),
    ("error_cleared", "drop a raising"),
    ("error_replaced", "take a, drop a raising"),
    ("siblings_reset", "export b, take a, delete a"),
    ("deleter_leaks", "take a"),
    ("shape_of_array", "reshape"),
    ("flags_of_array", "freeze"),
    ("memory_moved", "resize"),
    ("memory_of_object", "drop source"),
    ("memory_of_capsule", "take a, drop a, drop source"),
    ("deleter_releases_twice", "take a"),
    ("deleter_minds_thread", "take a, delete a on thread"),
    ("deleter_without_state", "take a, delete a on native thread"),
    ("aborts_while_ending", "exit"),
    ("device_first", "churn"),
];

fn tool(words: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_dlpack-fuzz"))
        .args(words)
        .env("DLPACK_FUZZ_PYTHONPATH", &reference().folder)
        .output()
        .expect("the tool starts");
    let told = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.code(), String::from_utf8_lossy(&told).into_owned())
}

fn own_modules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exporters")
}

fn case(life: &str) -> String {
    format!("array(shape=(6,), dtype='float32').__dlpack__(max_version=(1, 0)) then {life}")
}

/// Faults behind the C header, and the lives that show them.
const LIVES_IN_C: [(&str, &str); 4] = [
    ("memory_ends_with_handle", "take a, drop source"),
    ("extents_in_common", "export b, drop b"),
    ("deleter_of_its_thread", "take a, delete a on native thread"),
    ("device_before_export", "churn"),
];

#[test]
fn each_fault_of_a_life_has_a_reproducer_that_its_lawful_twin_withstands() {
    let wrong = parallel::wrong(LIVES.iter(), |(fault, life)| {
        let backend = format!("py:dlpack_reference:{fault}");
        let planted = format!("dlpack_reference.{fault}(");
        told_wrong(&backend, life, &planted, "dlpack_reference.build(")
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn so_has_each_fault_of_a_life_in_c() {
    let wrong = parallel::wrong(LIVES_IN_C.iter(), |(fault, life)| {
        let backend = format!("c:{}?fault={fault}", reference().c.display());
        told_wrong(&backend, life, &format!("b\"{fault}\""), "b\"none\"")
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong with the reproducer of this life, or with that of its twin, which has other words in one place.
fn told_wrong(backend: &str, life: &str, planted: &str, lawful: &str) -> Vec<String> {
    let (_, told) = tool(&["repro", "--backend", backend, "--run", &case(life)]);
    if !told.contains(": confirmed in a fresh interpreter") {
        return vec![format!("{backend} is not confirmed:\n{told}")];
    }
    // The script comes first; a line about how it went follows.
    let script = &told[..told.rfind("\n# ").unwrap_or(0)];
    let twin = script.replace(planted, lawful);
    assert_ne!(script, twin, "{backend}");
    let python = Path::new(env!("DLPACK_FUZZ_ENV_DEFAULT")).join("bin/python");
    let output = Command::new(python).args(["-c", &twin]).output().expect("Python starts");
    let told = String::from_utf8_lossy(&output.stdout);
    // What has no such method does not change: that is another array, and decides nothing.
    let is_silent = matches!(output.status.code(), Some(0 | 2)) && !told.contains("FAULT SHOWN");
    if is_silent {
        vec![]
    } else {
        vec![format!("the twin of {backend} does not withstand:\n{told}")]
    }
}

/// A destructor in Python cannot keep the exception in flight: that is told, and accuses nobody.
#[test]
fn python_destructor() {
    let output = Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["python_destructor_child", "--exact", "--ignored", "--nocapture"])
        .env("DLPACK_FUZZ_PYTHONPATH", own_modules())
        .output()
        .expect("this program starts");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "the test above starts it"]
fn python_destructor_child() {
    let options = Options { env: None, backend: "py:described:Exporter".into() };
    let mut session = Session::open(&options).expect("the module is there");
    let profile = Profile::named("spec").expect("the default");
    let mut said = |life: &str| {
        let case: Case = case(life).parse().expect("a case");
        let seen = session.run(&case, Detail::Brief).expect("NumPy has such an array");
        let words = judge(&case, &seen, &profile, Grade::Warning).violations;
        words.into_iter().map(|word| (word.rule, word.grade)).collect::<Vec<_>>()
    };
    assert_eq!(said("drop a raising"), [("CAP-DTOR-EXC-PY", Grade::Warning)]);
    assert_eq!(said("drop a"), []);
    assert_eq!(said("take a, drop a, churn, delete a on native thread"), []);
}

#[test]
fn numpy_lives_through_everything() {
    let folder = tempfile::tempdir().expect("a folder");
    let lives: String = (LIVES.iter())
        .map(|(_, life)| case(life) + "\n")
        .chain(
            ["race", "starve", "take a, exit", "attach a, drop source, collect"]
                .map(|it| case(it) + "\n"),
        )
        .collect();
    let file = folder.path().join("lives.txt");
    std::fs::write(&file, lives).expect("the folder is new");
    let (status, told) = tool(&["replay", &file.display().to_string()]);
    assert_eq!(status, Some(0), "{told}");
    assert!(told.contains("20 cases: 20 OK"), "{told}");
}
