//! The route through a shared object, from outside: what cannot be loaded says so in one line, a lawful exporter
//! in C draws no accusation, planted faults do, and their reproducers show them.

mod common;

use common::compiler::Compiler;
use common::{Sweep, dlpack_fuzz, open, text};
use dlpack_fuzz::case::sweep::Sweep as Cases;
use dlpack_fuzz::host::{Detail, Session};
use dlpack_fuzz::oracle::{Grade, Profile, Route, judge, rules};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn plain_c() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("exporters/foreign/plain-c/plain_c.c")
}

/// The plain C exporter with one of its faults, by the number that its source gives it; 0 for none.
fn faulty(compiler: &Compiler, fault: u32) -> PathBuf {
    compiler.library_of(&format!("fault{fault}"), &plain_c(), &[&format!("-DFAULT={fault}")])
}

fn session(library: &Path) -> Session {
    open(&format!("c:{}", library.display()), None)
}

/// Rule and key of every violation among so many cases of the sweep, spread over it; ends with the first that
/// `is_enough`.
fn accusations(
    library: &Path,
    profile: &str,
    step: usize,
    is_enough: impl Fn(&str) -> bool,
) -> BTreeSet<String> {
    let mut session = session(library);
    let cases = Cases::new(&session.vocabulary());
    let profile = Profile::named(profile).expect("a built-in profile");
    let mut accused = BTreeSet::new();
    for place in (0..cases.len()).step_by(step) {
        let case = cases.case(place);
        let Ok(seen) = session.run(&case, Detail::Brief) else { continue };
        for violation in judge(&case, &seen, &profile, Grade::Violation).violations {
            accused.insert(violation.rule.to_owned());
            if is_enough(violation.rule) {
                return accused;
            }
        }
    }
    accused
}

/// A table in which everything required is set, and nothing works.
const IDLE: &str = r#"
#include <stddef.h>
#include "dlpack_fuzz_backend.h"
static int32_t build(const DLPackFuzzArray *a, DLPackFuzzBuilt *b) { (void)a; b->inexpressible = "idle"; return 1; }
static DLPackFuzzDevice device(void *h) { (void)h; return (DLPackFuzzDevice){1, 0}; }
static void export_array(void *h, const DLPackFuzzCall *c, DLPackFuzzResult *r) { (void)h; (void)c; (void)r; }
static void release(void *h) { (void)h; }
static DLPackFuzzBackend table = {
    .struct_size = sizeof(DLPackFuzzBackend), .major = DLPACK_FUZZ_BACKEND_MAJOR, .name = "idle", .version = "1",
    .build = build, .device = device, .export_array = export_array, .release = release};
"#;

#[test]
fn what_cannot_be_loaded_says_why_in_one_line() {
    let compiler = Compiler::new();
    let library = |name: &str, rest: &str| {
        compiler.library(name, &format!("{IDLE}{rest}")).display().to_string()
    };
    let entry = "const DLPackFuzzBackend *dlpack_fuzz_backend(void)";
    let whole = format!("{entry} {{ return &table; }}");
    let unused = "void *keep[] = {&table};";
    let text_file = compiler.write_as("text.so", b"no shared object").display().to_string();
    let constructor = "#include <stdlib.h>\n#include <unistd.h>\n__attribute__((constructor)) static void start(void)";
    for (path, says) in [
        ("/nowhere/lib.so".to_owned(), "there is no file /nowhere/lib.so"),
        (String::new(), "c:PATH"),
        (text_file, "cannot be loaded as a shared object"),
        (library("nosymbol", unused), "exports no function dlpack_fuzz_backend"),
        (library("null", &format!("{unused}{entry} {{ return NULL; }}")), "returned NULL"),
        (
            library("major", &format!("{entry} {{ table.major = 2; return &table; }}")),
            "version 2.0",
        ),
        (
            library("short", &format!("{entry} {{ table.struct_size = 16; return &table; }}")),
            "struct_size",
        ),
        (
            library("lacks", &format!("{entry} {{ table.release = NULL; return &table; }}")),
            "lacks release",
        ),
        (library("whole", &whole) + "?fault=x", "it takes no options"),
        (library("whole", &whole) + "?fault", "fault=VALUE"),
        (library("whole", &whole), "cannot build six float32: idle"),
        (
            library("crash", &format!("{whole}\n{constructor} {{ abort(); }}")),
            "dies by SIGABRT while it is loaded",
        ),
        (
            library("exit", &format!("{whole}\n{constructor} {{ _exit(0); }}")),
            "exits with status 0 while it is loaded",
        ),
        (
            library("hang", &format!("{whole}\n{constructor} {{ for (;;) pause(); }}")),
            "was still loading after 10 s",
        ),
        (
            library(
                "undefined",
                &format!("void nowhere(void);\n{entry} {{ nowhere(); return &table; }}"),
            ),
            "nowhere",
        ),
    ] {
        let output = dlpack_fuzz(&["check", "--backend", &format!("c:{path}"), "--runs", "1"]);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{path}: {errors}");
        assert_eq!(errors.trim_end().lines().count(), 1, "{path}: {errors}");
        assert!(errors.starts_with("dlpack-fuzz: ") && errors.contains(says), "{path}: {errors}");
    }
}

#[test]
fn a_lawful_exporter_is_accused_of_nothing() {
    let compiler = Compiler::new();
    let sweep = Sweep::of(&format!("c:{}", faulty(&compiler, 0).display()), &[]);
    assert_eq!((sweep.status, sweep.grade("violation")), (Some(0), 0), "{}", sweep.json);
    assert!(sweep.grade("lawful") > 50_000, "{}", sweep.json);
    for profile in ["lenient", "strict"] {
        let accused = accusations(&faulty(&compiler, 0), profile, 23, |_| false);
        assert!(accused.is_empty(), "{profile}: {accused:?}");
    }
}

#[test]
fn planted_faults_are_accused_by_their_rules() {
    let compiler = Compiler::new();
    for (fault, rule) in [
        (1, "TEN-STRIDES-UNIT"),
        (2, "MGT-DELETER-FREES-ALL"),
        (3, "MGT-DELETER-FREES-ALL"),
        (4, "COPY-FLAG-SET"),
        (5, "RO-FLAG-SET"),
        (6, "MGT-VERSION-OWN"),
        (7, "COPY-FALSE-ALIAS"),
        (8, "DEV-ID-ZERO"),
        (9, "EXC-DEVICE"),
        (10, "TEN-DATA-ADDR"),
        (12, "DTY-SUBBYTE-PACK"),
    ] {
        let accused = accusations(&faulty(&compiler, fault), "spec", 11, |found| found == rule);
        assert!(accused.contains(rule), "fault {fault}: {accused:?}");
    }
}

#[test]
fn a_crash_is_a_finding_and_reproducers_are_confirmed() {
    let compiler = Compiler::new();
    for (fault, case, identity) in [
        (
            11,
            "array(shape=(6,), dtype='int8', writable=False).__dlpack__(max_version=(1, 0), copy=True)",
            "CRASH-SIGSEGV",
        ),
        (
            4,
            "array(shape=(6,), dtype='int8').__dlpack__(max_version=(1, 0), copy=True)",
            "COPY-FLAG-SET",
        ),
        (3, "array(shape=(2, 3), dtype='int16').__dlpack__()", "MGT-DELETER-FREES-ALL-memory"),
        (2, "array(shape=(2, 3), dtype='int16').__dlpack__()", "MGT-DELETER-FREES-ALL-references"),
        (9, "array(shape=(), dtype='bool').__dlpack__(dl_device=(2, 0))", "EXC-DEVICE"),
        (
            12,
            "array(shape=(5,), dtype='int4', object='packed').__dlpack__(max_version=(1, 0), copy=True)",
            "DTY-SUBBYTE-PACK",
        ),
    ] {
        let library = faulty(&compiler, fault);
        let backend = format!("c:{}", library.display());
        let output = dlpack_fuzz(&["repro", "--run", "--backend", &backend, case]);
        let told = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{fault}: {told}{}", text(&output.stderr));
        let is_verdict =
            |line: &str| line.starts_with(&format!("# {identity}")) && line.contains(": confirmed");
        assert!(told.lines().any(is_verdict), "{fault}: {told}");
        let lawful = format!("c:{}", faulty(&compiler, 0).display());
        let output = dlpack_fuzz(&["repro", "--run", "--backend", &lawful, case]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    }
}

/// A rule that finds nothing of its own in C must not count as checked.
#[test]
fn nothing_is_said_of_what_c_has_not() {
    let compiler = Compiler::new();
    let mut session = session(&faulty(&compiler, 0));
    assert_eq!(session.exporter().route, Route::C);
    assert!(session.versions().python.is_empty());
    let profile = Profile::spec();
    let mut checked = BTreeSet::new();
    let cases = Cases::new(&session.vocabulary());
    for place in (0..cases.len()).step_by(11) {
        let case = cases.case(place);
        let Ok(seen) = session.run(&case, Detail::Brief) else { continue };
        let judgement = judge(&case, &seen, &profile, Grade::Violation);
        let places = (0..rules().len()).filter(|&place| judgement.checked.contains(place));
        checked.extend(places.map(|place| rules()[place].id));
    }
    for silent in [
        "CAP-TYPE",
        "CAP-NAME-LEGACY",
        "CAP-DTOR-UNCONSUMED",
        "CAP-DTOR-CONSUMED",
        "MGT-DELETER-NO-EXC",
        "DEV-TUPLE",
        "SIG-KWONLY",
        "SIG-ARG-UNCHANGED",
        "LIFE-DELETER-PY-THREAD",
        "LIFE-CAPSULE-AT-EXIT",
    ] {
        assert!(!checked.contains(silent), "{silent}");
    }
    for said in [
        "TEN-VALUES",
        "DTY-SUBBYTE-PACK",
        "COPY-VALUES",
        "MGT-DELETER-FREES-ALL",
        "EXC-DEVICE",
        "DEV-ORDER",
        "CAP-INDEPENDENT",
        "LIFE-OWNER-DROPPED",
        "LIFE-OWNER-DROPPED-TAKEN",
        "LIFE-DELETER-NO-GIL",
        "LIFE-DELETER-ONCE",
    ] {
        assert!(checked.contains(said), "{said}");
    }
}
