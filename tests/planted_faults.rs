//! Each fault that can be planted in the reference exporter is caught, by its own rule; without one the
//! exporter draws no word, behind the C header and in Python. What is caught makes the **mutation score**, and
//! `src/oracle/planted.tsv` holds it rule by rule.
//!
//! Faults run in children (this test program again), as some end their process.

mod common;

use common::reference;
use dlpack_fuzz::abi::DLDevice;
use dlpack_fuzz::case::sweep::{Part, Sweep};
use dlpack_fuzz::case::{Case, Dtype, Probe, Probes, Rng, Surface, Vocabulary, generate};
use dlpack_fuzz::host::{Detail, Options, Session};
use dlpack_fuzz::oracle::{Grade, Profile, judge, planted, rules};
use dlpack_reference::fault::{self, Fault, Route, Shown};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::LazyLock;

/// Tells a child what to run: `c` or `py`, and names of faults, separated by spaces.
const WORK: &str = "DLPACK_FUZZ_TEST_FAULTS";
/// Stands before the lines that are for the parent; libtest writes others.
const MARK: &str = "@@ ";
/// Cases drawn at random beside the fixed ones: many for the lawful exporter, few for each fault.
const DRAWN_LAWFUL: usize = 2000;
const DRAWN_FAULTY: usize = 100;
/// A leak is confirmed by repetition, which takes time. After so many confirmed ones the rest says no more.
const ENOUGH_LEAKS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    C,
    Python,
}

impl Way {
    const BOTH: [Self; 2] = [Self::C, Self::Python];

    fn name(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Python => "py",
        }
    }

    fn shows(self, fault: &Fault) -> bool {
        match fault.route {
            Route::Both => true,
            Route::C => self == Self::C,
            Route::Python => self == Self::Python,
        }
    }

    /// The backend with this fault, or `none`.
    fn backend(self, fault: &str) -> String {
        match (self, fault) {
            (Self::C, _) => format!("c:{}?fault={fault}", reference().c.display()),
            (Self::Python, "none") => "py:dlpack_reference:build".into(),
            (Self::Python, _) => format!("py:dlpack_reference:{fault}"),
        }
    }
}

/// By rule and grade: how often, and the first case with what was expected and seen.
type Accusations = BTreeMap<(String, Grade), (usize, String)>;

/// What an exporter was accused of.
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Trial {
    accused: Vec<(String, u8, usize, String)>,
    /// Rules and grades that the lawful exporter does not draw on the same case.
    own: BTreeSet<(String, u8)>,
}

fn grade(grade: fault::Grade) -> Grade {
    match grade {
        fault::Grade::Info => Grade::Info,
        fault::Grade::Warning => Grade::Warning,
        fault::Grade::Violation => Grade::Violation,
    }
}

/// Faults that are told apart by what else a case does; all others show with every probe.
const PROBES: [(&str, &[Probe]); 4] = [
    // A leak of a call that fails, if no other call of the case succeeds.
    ("refused_device_leaks", &[]),
    ("refused_copy_leaks", &[]),
    // The same call in other words is the same call to the fault, and has rules of its own.
    ("second_call_refused", &[Probe::Repeat]),
    ("array_lost_after_error", &[Probe::Plain, Probe::Repeat]),
];

fn probes_of(fault: &str) -> Probes {
    match PROBES.iter().find(|(name, _)| *name == fault) {
        Some((_, probes)) => probes.iter().copied().collect(),
        None => Probes::ALL,
    }
}

/// The fixed cases and the drawn ones, with every probe.
fn cases(drawn: usize, vocabulary: &Vocabulary) -> Vec<Case> {
    let fixed = [include_str!("exporters/cases.txt"), include_str!("planted/cases.txt")];
    let fixed = fixed.iter().flat_map(|text| text.lines()).filter(|line| !line.starts_with('#'));
    let fixed =
        fixed.map(|text| text.parse::<Case>().unwrap_or_else(|error| panic!("{text}: {error:?}")));
    let mut rng = Rng::new(0x70_6c61_6e74_6564);
    let drawn = (0..drawn).map(|_| generate(&mut rng, vocabulary));
    fixed.chain(drawn).map(|case| Case { probes: Probes::ALL, ..case }.normalized()).collect()
}

/// Every life of the sweep, on arrays of one type.
fn lives(way: Way) -> Vec<Case> {
    let dtypes = vec![(Dtype::FLOAT32, 1)];
    let surface = if way == Way::C { Surface::C } else { Surface::Python };
    let vocabulary = Vocabulary { dtypes, objects: vec![], surface, ..Vocabulary::default() };
    let sweep = Sweep::new(&vocabulary);
    let places = (0..sweep.len())
        .filter(|&place| matches!(sweep.part(place), Some((Part::Lives | Part::CostlyLives, _))));
    places.map(|place| sweep.case(place)).collect()
}

/// The cases under which a fault shows.
fn cases_of(way: Way, fault: &Fault) -> Vec<Case> {
    match fault.shown {
        Shown::ByLife => lives(way),
        Shown::ByCalls => {
            let probes = probes_of(fault.name);
            let cases = cases(DRAWN_FAULTY, &Vocabulary::default()).into_iter();
            cases.map(|case| Case { probes, ..case }).collect()
        }
    }
}

#[test]
#[ignore = "the other tests of this file start it"]
fn child() {
    let Ok(work) = std::env::var(WORK) else {
        return;
    };
    let mut words = work.split(' ');
    let way = match words.next() {
        Some("c") => Way::C,
        _ => Way::Python,
    };
    let profile = Profile::named("spec").expect("a built-in profile");
    let [lawful, lived]: [Vec<_>; 2] = {
        let mut session = open(way, "none");
        [cases(DRAWN_FAULTY, &Vocabulary::default()), lives(way)].map(|cases| {
            cases.iter().map(|case| words_on(&mut session, case, &profile).0).collect()
        })
    };
    for name in words {
        let fault = fault::faults().find(|fault| fault.name == name).expect("a fault");
        let lawful = match fault.shown {
            Shown::ByLife => &lived,
            Shown::ByCalls => &lawful,
        };
        let trial = serde_json::to_string(&run(way, fault, lawful)).expect("plain data");
        println!("\n{MARK}{name}\t{trial}");
    }
}

fn open(way: Way, fault: &str) -> Session {
    let options = Options { env: None, backend: way.backend(fault) };
    Session::open(&options).unwrap_or_else(|error| panic!("{error}"))
}

type Words = Vec<(&'static str, Grade, String)>;

/// What is said of a case, and whether a leak was confirmed.
fn words_on(session: &mut Session, case: &Case, profile: &Profile) -> (Words, bool) {
    let Ok(seen) = session.run(case, Detail::Brief) else {
        return (Words::new(), false);
    };
    let violations = judge(case, &seen, profile, Grade::Info).violations;
    let words = violations.into_iter().map(|it| {
        let text = format!("{case} [{} / {}]", it.evidence.expected, it.evidence.seen);
        (it.rule, it.grade, text.replace(['\t', '\n'], " "))
    });
    (words.collect(), seen.ledger.growth.is_some())
}

fn run(way: Way, fault: &Fault, lawful: &[Words]) -> Trial {
    let profile = Profile::named("spec").expect("a built-in profile");
    let mut session = open(way, fault.name);
    let mut accusations = Accusations::new();
    let mut trial = Trial::default();
    let mut leaks = 0;
    let device = fault.device.map(|device| DLDevice::new(device.kind, device.id));
    for (case, lawful) in cases_of(way, fault).iter().zip(lawful) {
        if case.tensor.device != DLDevice::CPU && Some(case.tensor.device) != device {
            continue; // nobody would draw it
        }
        let (words, is_leak) = words_on(&mut session, case, &profile);
        for (rule, grade, text) in words {
            if !lawful.iter().any(|(other, theirs, _)| *other == rule && *theirs >= grade) {
                trial.own.insert((rule.into(), grade as u8));
                let accused = accusations.entry((rule.into(), grade)).or_insert((0, text));
                accused.0 += 1;
            }
        }
        leaks += usize::from(is_leak);
        if leaks == ENOUGH_LEAKS {
            break;
        }
    }
    trial.accused = (accusations.into_iter())
        .map(|((rule, grade), (count, text))| (rule, grade as u8, count, text))
        .collect();
    trial
}

/// Of every way and fault. One that ends its process has none.
static TRIALS: LazyLock<BTreeMap<(Way, &'static str), Trial>> = LazyLock::new(|| {
    reference();
    let all = std::thread::scope(|scope| {
        Way::BOTH.map(|way| scope.spawn(move || trials(way))).map(|it| it.join().unwrap())
    });
    all.into_iter().flatten().collect()
});

fn trials(way: Way) -> BTreeMap<(Way, &'static str), Trial> {
    let mut results = BTreeMap::new();
    let mut left: Vec<_> = fault::faults().filter(|fault| way.shows(fault)).collect();
    while !left.is_empty() {
        let names: Vec<_> = left.iter().map(|fault| fault.name).collect();
        let output = Command::new(std::env::current_exe().expect("this program has a path"))
            .args(["child", "--exact", "--ignored", "--nocapture"])
            .env(WORK, format!("{} {}", way.name(), names.join(" ")))
            .env("DLPACK_FUZZ_PYTHONPATH", &reference().folder)
            .output()
            .expect("this program starts");
        let mut finished = 0;
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Some((name, trial)) = line.strip_prefix(MARK).and_then(|it| it.split_once('\t'))
            else {
                continue;
            };
            assert_eq!(name, left[finished].name);
            let trial = serde_json::from_str(trial).expect("the child's JSON");
            results.insert((way, left[finished].name), trial);
            finished += 1;
        }
        if finished < left.len() {
            let errors = String::from_utf8_lossy(&output.stderr);
            let tail: Vec<_> = errors.lines().rev().take(8).collect();
            eprintln!("{} ({way:?}) ended its process: {tail:?}", left[finished].name);
            finished += 1;
        }
        left.drain(..finished);
    }
    results
}

fn is_caught(fault: &Fault, trial: &Trial) -> bool {
    trial.own.contains(&(fault.rule.into(), grade(fault.grade) as u8))
}

#[test]
fn each_fault_is_caught_by_its_rule_and_no_other() {
    let mut wrong = Vec::new();
    for fault in fault::faults() {
        for way in Way::BOTH.into_iter().filter(|way| way.shows(fault)) {
            let title = format!("{} ({way:?}, {}): {}", fault.name, fault.rule, fault.story);
            let Some(trial) = TRIALS.get(&(way, fault.name)) else {
                wrong.push(format!("{title}\n    ended its process"));
                continue;
            };
            if !is_caught(fault, trial) {
                wrong.push(format!("{title}\n    not caught as {:?}", fault.grade));
                for (rule, grade, count, text) in &trial.accused {
                    wrong.push(format!("    but {rule} {grade}, {count} times: {text}"));
                }
            }
            for (rule, grade, count, text) in &trial.accused {
                let is_known = *rule == fault.rule || fault.also.contains(&rule.as_str());
                if *grade == Grade::Violation as u8 && !is_known {
                    wrong.push(format!("{title}\n    also {rule}, {count} times: {text}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Rewrites the list instead of comparing it.
const BLESS: &str = "DLPACK_FUZZ_BLESS";

#[test]
fn the_list_tells_what_is_caught() {
    let mut caught: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for fault in fault::faults() {
        let by = |way| TRIALS.get(&(way, fault.name)).is_some_and(|trial| is_caught(fault, trial));
        if Way::BOTH.into_iter().any(by) {
            caught.entry(fault.rule).or_default().insert(fault.name);
        }
    }
    let mut text = String::from("rule\tfaults\twhy there is none\n");
    for rule in rules().iter().map(|rule| rule.id) {
        // Another test has these caught (`tests/exchange_faults.rs`).
        let elsewhere = planted::of(rule).iter().copied().filter(|fault| fault.contains(':'));
        let faults: Vec<_> = caught.remove(rule).into_iter().flatten().chain(elsewhere).collect();
        let reason = planted::why_none(rule).unwrap_or("-");
        let faults = if faults.is_empty() { "-".into() } else { faults.join(",") };
        text += &format!("{rule}\t{faults}\t{reason}\n");
    }
    assert!(caught.is_empty(), "no function judges these: {caught:?}");
    let list = concat!(env!("CARGO_MANIFEST_DIR"), "/src/oracle/planted.tsv");
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(list, &text).unwrap();
        return;
    }
    assert_eq!(
        text,
        std::fs::read_to_string(list).unwrap(),
        "src/oracle/planted.tsv differs; run this test with {BLESS}=1 and read the change"
    );
    println!("{}", planted::score());
}

#[test]
fn every_rule_has_a_fault_or_a_reason() {
    for rule in rules().iter().map(|rule| rule.id) {
        let (faults, reason) = (planted::of(rule), planted::why_none(rule));
        assert!(faults.is_empty() == reason.is_some(), "{rule}: {faults:?} {reason:?}");
    }
}

#[test]
fn the_lawful_exporter_draws_no_word() {
    let mut wrong = Vec::new();
    for way in Way::BOTH {
        let output = Command::new(std::env::current_exe().expect("this program has a path"))
            .args(["lawful_child", "--exact", "--ignored", "--nocapture"])
            .env(WORK, way.name())
            .env("DLPACK_FUZZ_PYTHONPATH", &reference().folder)
            .output()
            .expect("this program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout);
        wrong.extend(text.lines().filter_map(|line| line.strip_prefix(MARK)).map(String::from));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Warnings that the lawful exporter draws under `strict`: the rule, what the case says, and the reason.
const DOCUMENTED: [(&str, &str, &str); 1] =
    [("SIG-MALFORMED", "(Int(1), 0)", "to Python, an int of another class is an int")];

#[test]
#[ignore = "another test of this file starts it"]
fn lawful_child() {
    let Ok(way) = std::env::var(WORK) else {
        return;
    };
    let way = if way == "c" { Way::C } else { Way::Python };
    let mut session = open(way, "none");
    let vocabulary = session.vocabulary();
    let mut made = 0;
    let mut first: BTreeMap<(&str, &str, Grade), String> = BTreeMap::new();
    for case in cases(DRAWN_LAWFUL, &vocabulary).into_iter().chain(lives(way)) {
        let Ok(seen) = session.run(&case, Detail::Brief) else {
            continue;
        };
        made += 1;
        for name in ["spec", "strict", "lenient"] {
            let profile = Profile::named(name).expect("a built-in profile");
            for it in judge(&case, &seen, &profile, Grade::Warning).violations {
                let text = format!("{case} [{} / {}]", it.evidence.expected, it.evidence.seen);
                let is_documented =
                    |&(rule, word, _): &(&str, &str, &str)| rule == it.rule && text.contains(word);
                if name == "strict" && DOCUMENTED.iter().any(is_documented) {
                    continue;
                }
                first.entry((name, it.rule, it.grade)).or_insert(text);
            }
        }
    }
    assert!(made > DRAWN_LAWFUL / 2, "only {made} cases could be made");
    for ((profile, rule, grade), text) in first {
        println!("\n{MARK}{way:?} {profile}: {grade:?} {rule}: {}", text.replace('\n', " "));
    }
}
