//! Planted faults in the C exchange API: each is caught under its rule and no other of its family, and its
//! script shows it in a fresh interpreter, but not on the lawful twin; the lawful tables are not accused.

mod common;

use common::parallel;
use dlpack_fuzz::abi::DLDevice;
use dlpack_fuzz::case::{Case, Rng, Vocabulary, draw_steps, generate};
use dlpack_fuzz::finding::{Cause, Limits, ReproInput, Reproduced, confirm, reproducer};
use dlpack_fuzz::host::{Detail, Options, Session};
use dlpack_fuzz::oracle::{Grade, Profile, catalogue, judge, planted, rules};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

/// Cases beside the fixed ones, for a lawful table.
const DRAWN: usize = 800;

/// Between them every fault shows.
const CASES: [&str; 6] = [
    "array(shape=(6,), dtype='float32').__dlpack__()",
    "array(shape=(), dtype='float32').__dlpack__()",
    "array(shape=(2, 3), dtype='int16', order='F').__dlpack__()",
    "array(shape=(3,), dtype='float64', strides=(-16,)).__dlpack__()",
    "array(shape=(0, 3), dtype='float32').__dlpack__()",
    "array(shape=(3,), dtype='str[3]').__dlpack__()",
];
const STEPS: &str = "exchange-table, exchange-from, exchange-view, exchange-to, exchange-alloc, \
                     exchange-stream, exchange-pending";

struct Fault {
    name: String,
    rule: String,
    grade: Grade,
    description: String,
}

/// A rule that spoke of an exporter, with the script for the first case.
struct Accused {
    case: String,
    script: String,
    cause: Cause,
}

/// By rule and grade; for a lawful table under the profile.
type Accusations = BTreeMap<(&'static str, Grade), Accused>;

fn exporters() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exporters")
}

fn python() -> PathBuf {
    Path::new(env!("DLPACK_FUZZ_ENV_DEFAULT")).join("bin/python")
}

/// The list, and the names of the lawful ones.
static LIST: LazyLock<(Vec<Fault>, Vec<String>)> = LazyLock::new(|| {
    let output = Command::new(python())
        .arg(exporters().join("exchange.py"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("the environment of the build has an interpreter");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut faults, mut lawful) = (Vec::new(), Vec::new());
    for line in String::from_utf8(output.stdout).expect("ASCII").lines() {
        let [name, rule, grade, description] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("four fields: {line}");
        };
        let grade = match grade {
            "violation" => Grade::Violation,
            "warning" => Grade::Warning,
            _ => Grade::Info,
        };
        let (name, rule, description) = (name.into(), rule.to_string(), description.into());
        match rule.as_str() {
            "lawful" => lawful.push(name),
            _ => faults.push(Fault { name, rule, grade, description }),
        }
    }
    (faults, lawful)
});

static RESULTS: LazyLock<BTreeMap<String, Accusations>> = LazyLock::new(|| {
    let run = |fault: &Fault| (fault.name.clone(), accuse(&fault.name, &["spec"], fixed()));
    LIST.0.iter().map(run).collect()
});

fn fixed() -> Vec<Case> {
    let parse = |text: String| text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    CASES.map(|case| parse(format!("{case} + {STEPS}"))).into()
}

/// What the rules of the family say of an exporter.
fn accuse(name: &str, profiles: &[&str], cases: Vec<Case>) -> Accusations {
    // SAFETY: set before the interpreter starts or to the same value; no other thread reads it.
    unsafe { std::env::set_var("DLPACK_FUZZ_PYTHONPATH", exporters()) };
    let options = Options { env: None, backend: format!("py:exchange:{name}") };
    let mut session = Session::open(&options).unwrap_or_else(|error| panic!("{error}"));
    let profiles: Vec<_> =
        profiles.iter().map(|name| Profile::named(name).expect("a built-in profile")).collect();
    let mut accusations = Accusations::new();
    for case in cases {
        let Ok(seen) = session.run(&case, Detail::Brief) else { continue };
        let words = profiles.iter().flat_map(|profile| {
            let violations = judge(&case, &seen, profile, Grade::Info).violations;
            violations.into_iter().map(move |violation| (profile, violation))
        });
        for (profile, violation) in words {
            // Contested points are graded otherwise by the other profiles.
            if violation.grade < Grade::Violation && profile.name() != "spec" {
                continue;
            }
            let binds =
                catalogue::entry(violation.rule).is_some_and(|it| it.may_accuse_under(profile));
            assert!(binds || violation.grade < Grade::Violation, "{} binds nobody", violation.rule);
            if !violation.rule.starts_with("XCH-") && violation.grade < Grade::Violation {
                continue;
            }
            let accused = || {
                let evidence = &violation.evidence;
                let text = format!("{case} [{} / {}]", evidence.expected, evidence.seen);
                let cause = Cause::from(violation.clone());
                let script = reproducer(&ReproInput {
                    case: &case,
                    cause: &cause,
                    build: &session.source(&case),
                    versions: &session.versions(),
                    own: DLDevice::CPU,
                });
                Accused { case: text, script, cause }
            };
            accusations.entry((violation.rule, violation.grade)).or_insert_with(accused);
        }
    }
    accusations
}

#[test]
fn each_fault_is_caught_under_its_rule_and_no_other() {
    let mut wrong = Vec::new();
    for fault in &LIST.0 {
        let title = format!("{} ({}: {})", fault.name, fault.rule, fault.description);
        let accusations = &RESULTS[&fault.name];
        if !accusations.keys().any(|(rule, grade)| *rule == fault.rule && *grade == fault.grade) {
            wrong.push(format!("{title}\n    not caught as {:?}", fault.grade));
        }
        for ((rule, grade), accused) in accusations {
            let is_own = *rule == fault.rule && *grade <= fault.grade;
            if *grade >= Grade::Warning && !is_own {
                wrong.push(format!("{title}\n    also {grade:?} {rule}: {}", accused.case));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The list of what each rule catches names these faults, under this test's name.
#[test]
fn the_list_of_planted_faults_is_in_step() {
    let mut listed = BTreeSet::new();
    for rule in rules().iter().filter(|rule| rule.id.starts_with("XCH-")) {
        let (faults, reason) = (planted::of(rule.id), planted::why_none(rule.id));
        assert!(faults.is_empty() == reason.is_some(), "{}: {faults:?} {reason:?}", rule.id);
        listed.extend(faults.iter().map(|fault| (rule.id.to_string(), fault.to_string())));
    }
    let planted = LIST.0.iter();
    let planted = planted.map(|it| (it.rule.clone(), format!("exchange_faults:{}", it.name)));
    assert_eq!(planted.collect::<BTreeSet<_>>(), listed);
}

/// Faults whose script cannot decide, with the reason.
const UNDECIDED: [(&str, &str); 0] = [];

#[test]
fn each_fault_is_shown_by_its_script_and_not_on_the_lawful_twin() {
    let limit = Limits { time: Duration::from_secs(60), memory: 2 << 30 };
    let check = |fault: &Fault| {
        let mut wrong = Vec::new();
        let Some(accused) = RESULTS[&fault.name].get(&(&*fault.rule, fault.grade)) else {
            return wrong; // the other test complains
        };
        let shown = confirm(&accused.script, &accused.cause, &python(), limit);
        let is_undecided = UNDECIDED.iter().any(|(name, _)| *name == fault.name);
        if (shown == Reproduced::Confirmed) == is_undecided {
            wrong.push(format!("{}: {shown}\n    {}", fault.name, accused.case));
        }
        let faulty = format!("exchange.{}(", fault.name);
        assert!(accused.script.contains(&faulty), "{}", accused.script);
        let twin = accused.script.replace(&faulty, "exchange.lawful(");
        if confirm(&twin, &accused.cause, &python(), limit) == Reproduced::Confirmed {
            wrong.push(format!("{}: shown on the lawful twin: {}", fault.name, accused.case));
        }
        wrong
    };
    // Evaluated on one thread before several ask.
    let faults = RESULTS.keys().filter_map(|name| LIST.0.iter().find(|it| it.name == *name));
    let wrong = parallel::wrong(faults, check);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn lawful_tables_are_not_accused() {
    let mut rng = Rng::new(0x6578_6368);
    let vocabulary = Vocabulary::default();
    let mut cases = fixed();
    cases.extend((0..DRAWN).map(|_| {
        let mut case = generate(&mut rng, &vocabulary);
        draw_steps(&mut case, &mut rng);
        // Other families have tests of their own.
        case.call = Default::default();
        case.tensor.object = dlpack_fuzz::case::Object::Array;
        case.normalized()
    }));
    let mut wrong = Vec::new();
    for name in &LIST.1 {
        for ((rule, grade), accused) in accuse(name, &["spec", "strict", "lenient"], cases.clone())
        {
            if rule.starts_with("XCH-") && grade >= Grade::Warning {
                wrong.push(format!("{name}: {grade:?} {rule}: {}", accused.case));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_allocator_is_called_without_the_gil_when_a_case_says_so() {
    let text = format!("{} + exchange-alloc-nogil", CASES[0]);
    let case: Case = text.parse().expect("a step's name");
    assert!(accuse("lawful", &["spec"], vec![case]).is_empty());
}
