//! A **report** shows findings: to people in a terminal, in an upstream issue or on a page for many libraries,
//! to machines as JSON, JUnit, SARIF or annotations.
//!
//! Goes in: findings, replay lines, counts of rules. Comes out: text. Nothing here runs a case or decides
//! anything, and nothing fails.

mod github;
mod json;
mod junit;
mod markdown;
pub mod matrix;
mod noted;
mod notice;
pub(crate) mod prose;
mod replay;
mod sarif;
mod table;
mod terminal;

pub use github::github;
pub use json::{json, json_replay};
pub use junit::{junit, junit_rules};
pub use markdown::markdown;
pub use noted::Noted;
pub use notice::{Level, Notice, Place};
pub use replay::{Answer, ReplayLine};
pub use sarif::sarif;
pub use table::{RuleCount, table};
pub use terminal::{Style, terminal, terminal_in};

use crate::finding::Versions;
use crate::oracle::{Fact, Grade, Knob, Of, ProbeName, catalogue};

fn grade_word(grade: Grade) -> &'static str {
    match grade {
        Grade::Info => "Information",
        Grade::Warning => "Warning",
        Grade::Violation => "Violation",
    }
}

/// `numpy 2.4.6, Python 3.11.7, DLPack header 1.3, dlpack-fuzz 0.1.0`.
pub fn versions(versions: &Versions) -> String {
    let libraries = versions.libraries.iter().map(|(name, version)| format!("{name} {version}"));
    let others = [
        ("Python", &versions.python),
        ("DLPack header", &versions.dlpack),
        ("dlpack-fuzz", &versions.tool),
    ];
    let others = (others.into_iter().filter(|(_, version)| !version.is_empty()))
        .map(|(name, version)| format!("{name} {version}"));
    libraries.chain(others).collect::<Vec<_>>().join(", ")
}

/// `MUST, since DLPack 1.0`; some rules are older than any version.
fn standing(entry: &catalogue::Entry) -> String {
    match entry.since {
        "" | "-" => entry.level.to_string(),
        since => format!("{}, since {since}", entry.level),
    }
}

/// `flags = 0 (probe copy-true)`.
fn fact_words(fact: &Fact) -> String {
    let what = serde_json::to_value(fact.what).expect("a unit variant is a string");
    let what = what.as_str().unwrap_or_default().replace('-', " ");
    match fact.of {
        Of::Export => format!("{what} = {}", fact.value),
        Of::FromPy => format!("{what} = {} (from_py)", fact.value),
        Of::Probe(ProbeName(probe)) => format!("{what} = {} (probe {})", fact.value, probe.name()),
    }
}

/// The contested points that a rule's verdict hangs on.
fn knobs(rule: &str) -> Vec<Knob> {
    let Some(entry) = catalogue::entry(rule) else {
        return vec![];
    };
    let knob = |name| Knob::ALL.into_iter().find(|knob| knob.name() == name);
    entry.knob_names().filter_map(knob).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Probe;
    use crate::finding::{Cause, Finding, Reproduced, Violation};
    use crate::oracle::{Evidence, What};

    /// A violation of a rule by this id; `X-NONE` is in no catalogue, so that its report is all literal.
    pub(super) fn finding(rule: &'static str) -> Finding {
        let case = "array(shape=(6,), dtype='float32').__dlpack__(copy=False, dl_device=(2, 0))";
        let fact = |of, what, value: &str| Fact { of, what, value: value.into() };
        let evidence = Evidence {
            key: "ValueError".into(),
            expected: "BufferError".into(),
            seen: "ValueError".into(),
            facts: vec![
                fact(Of::Export, What::Outcome, "ValueError"),
                fact(Of::Probe(ProbeName(Probe::CopyTrue)), What::Flags, "2"),
            ],
        };
        let cause =
            Cause::Violation(Violation { rule: rule.into(), grade: Grade::Violation, evidence });
        let versions = Versions {
            libraries: vec![("numpy".into(), "2.3.5".into()), ("ml_dtypes".into(), "0.6.0".into())],
            python: "3.11.7".into(),
            dlpack: "1.3".into(),
            tool: "0.1.0".into(),
        };
        Finding {
            reproduced: Reproduced::Confirmed,
            script: "import numpy as np\nx = np.zeros(6, 'f4')\n".into(),
            again: "dlpack-fuzz repro 'case'".into(),
            ..Finding::new("numpy", "spec", case.parse().unwrap(), cause, versions)
        }
    }

    #[test]
    fn the_contested_points_of_a_rule_are_those_of_the_catalogue() {
        let names = |rule| knobs(rule).into_iter().map(Knob::name).collect::<Vec<_>>();
        assert_eq!(names("STR-CPU-NONE-ONLY"), ["cpu_stream"]);
        assert!(names("EXC-NO-CRASH").is_empty());
        assert!(names("X-NONE").is_empty());
    }
}
