//! Every faulty exporter of `tests/exporters/faults.py` is caught under the rule that it breaks and accused of
//! nothing else, and the lawful exporter that they derive from is not accused at all. The reproducer of each
//! shows the fault on it, and not on the lawful one.
//!
//! The exporters run in child processes (this test program again), as some of them hand out invalid memory and
//! as the folder of the Python modules is told by an environment variable.

mod common;

use common::parallel;
use dlpack_fuzz::abi::DLDevice;
use dlpack_fuzz::case::{Case, Probe, Probes, Rng, Vocabulary, generate};
use dlpack_fuzz::finding::{Cause, Limits, ReproInput, Reproduced, confirm, reproducer};
use dlpack_fuzz::host::{Detail, Options, Session};
use dlpack_fuzz::oracle::{Grade, Profile, catalogue, judge};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

/// Tells the child which exporters to run: `module:class=probe;probe` each, separated by spaces.
const EXPORTERS: &str = "DLPACK_FUZZ_TEST_EXPORTERS";
const LAWFUL: &str = "described:Exporter";
/// Stands before the lines that are for the parent; libtest writes others.
const MARK: &str = "@@ ";
/// Cases drawn at random beside those of `cases.txt`: many for the lawful exporter, few for each faulty one.
const DRAWN_LAWFUL: usize = 1000;
const DRAWN_FAULTY: usize = 40;
/// A leak is confirmed by repetition, which takes time. After so many confirmed ones the rest says no more.
const ENOUGH_LEAKS: usize = 8;

/// A line of `python faults.py`.
#[derive(Debug)]
struct Fault {
    name: String,
    rule: String,
    grade: Grade,
    also: Vec<String>,
    probes: String,
    description: String,
}

impl Fault {
    fn exporter(&self) -> String {
        format!("described:{}", self.name)
    }

    fn title(&self) -> String {
        format!("{} ({}): {}", self.name, self.rule, self.description)
    }
}

/// What an exporter was accused of, by profile, rule and grade.
type Accusations = BTreeMap<(String, String, Grade), Accused>;

struct Accused {
    count: usize,
    /// The first case, with what was expected and seen.
    case: String,
    /// The reproducer of it, and its cause.
    script: String,
    cause: Cause,
}

fn exporters() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exporters")
}

fn python(script: &str) -> String {
    let output = Command::new(Path::new(env!("DLPACK_FUZZ_ENV_DEFAULT")).join("bin/python"))
        .arg(exporters().join(script))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("the environment of the build has an interpreter");
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("ASCII")
}

static FAULTS: LazyLock<Vec<Fault>> = LazyLock::new(faults);

/// What each of them is accused of.
static RESULTS: LazyLock<BTreeMap<String, Accusations>> = LazyLock::new(|| {
    let names: Vec<_> =
        FAULTS.iter().map(|fault| (fault.exporter(), fault.probes.clone())).collect();
    run(&names)
});

fn faults() -> Vec<Fault> {
    let list =
        |field: &str| field.split(';').filter(|each| !each.is_empty()).map(String::from).collect();
    (python("faults.py").lines())
        .map(|line| {
            let [name, rule, grade, also, probes, description] =
                line.split('\t').collect::<Vec<_>>()[..]
            else {
                panic!("six fields: {line}");
            };
            let grade = match grade {
                "violation" => Grade::Violation,
                "warning" => Grade::Warning,
                _ => panic!("no grade: {grade}"),
            };
            let (name, rule, probes) = (name.into(), rule.into(), probes.into());
            Fault { name, rule, grade, also: list(also), probes, description: description.into() }
        })
        .collect()
}

/// Runs exporters in children, one after the other; one that ends its process is left out.
fn run(exporters: &[(String, String)]) -> BTreeMap<String, Accusations> {
    let mut results = BTreeMap::new();
    let mut left = exporters;
    while !left.is_empty() {
        let arguments: Vec<_> =
            left.iter().map(|(name, probes)| format!("{name}={probes}")).collect();
        let output = Command::new(std::env::current_exe().expect("this program has a path"))
            .args(["child", "--exact", "--ignored", "--nocapture"])
            .env(EXPORTERS, arguments.join(" "))
            .env("DLPACK_FUZZ_PYTHONPATH", self::exporters())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .output()
            .expect("this program starts");
        let mut finished = 0;
        let mut accusations = Accusations::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Some(line) = line.strip_prefix(MARK) else {
                continue;
            };
            match line.split('\t').collect::<Vec<_>>()[..] {
                ["end", name] => {
                    results.insert(name.to_string(), std::mem::take(&mut accusations));
                    finished += 1;
                }
                [profile, rule, grade, count, case, script] => {
                    let grade = match grade {
                        "Violation" => Grade::Violation,
                        "Warning" => Grade::Warning,
                        _ => Grade::Info,
                    };
                    let count = count.parse().expect("a number");
                    let (script, cause) = serde_json::from_str(script).expect("the child's JSON");
                    let accused = Accused { count, case: case.to_string(), script, cause };
                    accusations.insert((profile.into(), rule.into(), grade), accused);
                }
                _ => panic!("not the child's: {line}"),
            }
        }
        if finished < left.len() {
            let errors = String::from_utf8_lossy(&output.stderr);
            let tail: Vec<_> = errors.lines().rev().take(8).collect();
            eprintln!("{} ended its process: {} {tail:?}", left[finished].0, output.status);
            finished += 1;
        }
        left = &left[finished..];
    }
    results
}

/// The fixed cases and the drawn ones, with every probe.
fn cases(probes: Probes, drawn: usize) -> Vec<Case> {
    let fixed = include_str!("exporters/cases.txt").lines().filter(|line| !line.starts_with('#'));
    let fixed =
        fixed.map(|text| text.parse::<Case>().unwrap_or_else(|error| panic!("{text}: {error:?}")));
    let mut rng = Rng::new(0x6661_756c_7473);
    let vocabulary = Vocabulary::default();
    let drawn = (0..drawn).map(|_| generate(&mut rng, &vocabulary));
    fixed.chain(drawn).map(|case| Case { probes, ..case }.normalized()).collect()
}

#[test]
#[ignore = "the other tests of this file start it"]
fn child() {
    let Ok(exporters) = std::env::var(EXPORTERS) else {
        return;
    };
    for exporter in exporters.split(' ') {
        let (name, probes) = exporter.split_once('=').expect("name=probes");
        let probes = match probes {
            "" => Probes::ALL,
            names => Probe::ALL
                .into_iter()
                .filter(|probe| names.split(';').any(|name| name == probe.name()))
                .collect(),
        };
        let profiles = if name == LAWFUL { &["spec", "strict", "lenient"][..] } else { &["spec"] };
        for ((profile, rule, grade), accused) in accuse(name, probes, profiles) {
            let Accused { count, case, script, cause } = accused;
            let script = serde_json::to_string(&(script, cause)).expect("plain data");
            println!("\n{MARK}{profile}\t{rule}\t{grade:?}\t{count}\t{case}\t{script}");
        }
        println!("\n{MARK}end\t{name}");
    }
}

fn accuse(name: &str, probes: Probes, profiles: &[&str]) -> Accusations {
    let options = Options { env: None, backend: format!("py:{name}") };
    let mut session = Session::open(&options).unwrap_or_else(|error| panic!("{error}"));
    let profiles: Vec<_> =
        profiles.iter().map(|name| Profile::named(name).expect("a built-in profile")).collect();
    let drawn = if name == LAWFUL { DRAWN_LAWFUL } else { DRAWN_FAULTY };
    let mut accusations = Accusations::new();
    let mut leaks = 0;
    for case in cases(probes, drawn) {
        let Ok(seen) = session.run(&case, Detail::Brief) else {
            continue;
        };
        for profile in &profiles {
            for violation in judge(&case, &seen, profile, Grade::Warning).violations {
                let binds =
                    catalogue::entry(violation.rule).is_some_and(|it| it.may_accuse_under(profile));
                assert!(
                    binds || violation.grade < Grade::Violation,
                    "{} binds nobody",
                    violation.rule
                );
                let key = (profile.name().to_string(), violation.rule.to_string(), violation.grade);
                let accused = || {
                    let evidence = &violation.evidence;
                    let text = format!("{case} [{} / {}]", evidence.expected, evidence.seen)
                        .replace(['\t', '\n'], " ");
                    let cause = Cause::from(violation.clone());
                    let script = reproducer(&ReproInput {
                        case: &case,
                        cause: &cause,
                        build: &session.source(&case),
                        versions: &session.versions(),
                        own: seen.device_before.device().unwrap_or(DLDevice::CPU),
                    });
                    Accused { count: 0, case: text, script, cause }
                };
                accusations.entry(key).or_insert_with(accused).count += 1;
            }
        }
        leaks += usize::from(seen.ledger.growth.is_some());
        if leaks == ENOUGH_LEAKS {
            break;
        }
    }
    accusations
}

#[test]
fn the_exporters_pass_their_own_tests() {
    assert_eq!(python("selftest.py").trim(), "ok");
}

#[test]
fn each_fault_is_caught_under_its_rule_and_no_other() {
    let faults = &*FAULTS;
    assert!(faults.len() >= 35);
    let mut wrong = Vec::new();
    for fault in faults {
        let title = fault.title();
        let Some(accusations) = RESULTS.get(&fault.exporter()) else {
            wrong.push(format!("{title}\n    ended its process"));
            continue;
        };
        let caught =
            accusations.keys().any(|(_, rule, grade)| *rule == fault.rule && *grade == fault.grade);
        if !caught {
            wrong.push(format!("{title}\n    not caught as {:?}", fault.grade));
        }
        for ((_, rule, grade), Accused { count, case, .. }) in accusations {
            let allowed = *rule == fault.rule && *grade <= fault.grade || fault.also.contains(rule);
            if *grade == Grade::Violation && !allowed {
                wrong.push(format!("{title}\n    also {rule}, {count} times: {case}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Faults whose script cannot decide, with the reason.
const UNDECIDED: [(&str, &str); 1] = [(
    "error_left_behind",
    "CPython raises the exception that was left behind wherever it looks next, which may be in the script",
)];

#[test]
fn each_fault_is_shown_by_its_reproducer_and_not_shown_on_the_lawful_twin() {
    let python = Path::new(env!("DLPACK_FUZZ_ENV_DEFAULT")).join("bin/python");
    let limit = Limits { time: Duration::from_secs(60), memory: 2 << 30 };
    let check = |fault: &Fault| {
        let mut wrong = Vec::new();
        let key = ("spec".into(), fault.rule.clone(), fault.grade);
        let Some(accused) = RESULTS.get(&fault.exporter()).and_then(|all| all.get(&key)) else {
            return wrong; // the other test complains
        };
        let shown = confirm(&accused.script, &accused.cause, &python, limit);
        let is_undecided = UNDECIDED.iter().any(|(name, _)| *name == fault.name);
        if (shown == Reproduced::Confirmed) == is_undecided {
            wrong.push(format!("{}\n    {shown}\n    {}", fault.title(), accused.case));
        }
        let call = |name: &str| format!("import described\nx = described.{name}(description)\n");
        let (faulty, lawful) = (call(&fault.name), call("Exporter"));
        assert!(accused.script.contains(&faulty), "{}", accused.script);
        let twin = accused.script.replace(&faulty, &lawful);
        if confirm(&twin, &accused.cause, &python, limit) == Reproduced::Confirmed {
            wrong.push(format!(
                "{}\n    shown on the lawful twin: {}",
                fault.title(),
                accused.case
            ));
        }
        wrong
    };
    let wrong = parallel::wrong(FAULTS.iter(), check);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_lawful_exporter_is_not_accused() {
    let results = run(&[(LAWFUL.into(), String::new())]);
    let accusations = results.get(LAWFUL).expect("the lawful exporter does not end its process");
    let wrong: Vec<_> = (accusations.iter())
        .filter(|((profile, _, grade), _)| profile == "spec" || *grade == Grade::Violation)
        .map(|((profile, rule, grade), Accused { count, case, .. })| {
            format!("{profile}: {grade:?} {rule}, {count} times: {case}")
        })
        .collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
