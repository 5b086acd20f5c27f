//! The **matrix**: which library keeps which rule, on one page.
//!
//! Goes in: for each library what a check of it came to ([`Run`]), or why there was none. Comes out: HTML,
//! Markdown and JSON. A [`Cell`] is what one library's run says of one rule; a [`Disagreement`] tells of
//! questions that libraries answer differently.

mod cell;
mod cluster;
mod page;

pub use cell::{Cell, Verdict};
pub use cluster::Disagreement;
pub use page::{html, markdown};

use super::{Noted, RuleCount};
use crate::finding::Finding;
use crate::host::Versions;
use serde::{Deserialize, Serialize};

/// All libraries, side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix {
    /// The profile that all were judged by, with its knobs.
    pub profile: String,
    pub libraries: Vec<Library>,
}

/// One library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Library {
    /// As `--backend` names it, with the release where it is not the pinned one.
    pub name: String,
    pub state: State,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Ran(Box<Run>),
    /// Why not, and what to do.
    NotRun(String),
}

/// What a check of one library came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    pub versions: Versions,
    /// Cases that were run.
    pub cases: u64,
    /// By rule.
    pub counts: Vec<RuleCount>,
    pub findings: Vec<Reported>,
    /// Broken in a way that accuses nobody.
    pub noted: Vec<Noted>,
    /// Deaths that nobody has looked into: not known to be a fault, and not to be none.
    pub deaths_unseen: u64,
    /// What became of the C exchange API.
    pub exchange: Exchange,
    /// Questions that it could be asked, each with its answer.
    pub answers: Vec<(String, String)>,
    /// What the run did not come to, in sentences.
    pub remarks: Vec<String>,
}

/// A finding, and whether it is among the known ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reported {
    pub finding: Finding,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<KnownSince>,
}

/// What is known of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownSince {
    /// `2026-12-01`.
    pub since: String,
    /// Address of the upstream issue.
    pub upstream: Option<String>,
}

/// Whether the C exchange API was swept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exchange {
    Swept,
    /// The type has none; it is optional.
    #[default]
    None,
    NotRun,
}

impl Matrix {
    /// What libraries answer differently, the simplest questions first.
    pub fn disagreements(&self) -> Vec<Disagreement> {
        let ran = self.libraries.iter().filter_map(|it| Some((it.name.as_str(), it.run()?)));
        let answers: Vec<_> = ran.map(|(name, run)| (name, run.answers.as_slice())).collect();
        cluster::disagreements(&answers)
    }
}

impl Library {
    pub fn run(&self) -> Option<&Run> {
        match &self.state {
            State::Ran(run) => Some(run),
            State::NotRun(_) => None,
        }
    }
}

/// The matrix as JSON, indented, ending in a line feed; reads back by `serde_json`.
pub fn json(matrix: &Matrix) -> String {
    let mut text = serde_json::to_string_pretty(matrix).expect("a matrix is plain data");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Death, Finding, Violation};
    use crate::oracle::{Evidence, Grade};
    use crate::report::tests::finding;

    /// Two libraries with a cell of every kind, and one that is not installed.
    pub(super) fn sample() -> Matrix {
        let count = |id: &str, checked, fired| RuleCount { id: id.into(), checked, fired };
        let noted = |rule: &'static str, grade, seen: &str| Noted {
            case: "array(shape=(6,), dtype='float32').__dlpack__(stream=1)".parse().unwrap(),
            violation: Violation {
                rule: rule.into(),
                grade,
                evidence: Evidence {
                    key: "k".into(),
                    expected: "as the clause <has> it".into(),
                    seen: seen.into(),
                    facts: vec![],
                },
            },
        };
        let broken = finding("EXC-DEVICE");
        let versions = broken.versions.clone();
        let crash = Finding {
            script: "import numpy as np\n</pre><script>alert(1)</script>\n".into(),
            ..Finding::new(
                "numpy",
                "spec",
                broken.case.clone(),
                Death::Signal(libc::SIGFPE).into(),
                versions.clone(),
            )
        };
        let known = KnownSince { since: "2026-12-01".into(), upstream: None };
        let one = Run {
            versions: versions.clone(),
            cases: 1_234_567,
            counts: vec![
                count("CAP-TYPE", 10, 0),
                count("EXC-DEVICE", 10, 3),
                count("STR-CPU-NONE-ONLY", 10, 4),
                count("DEV-CPU-ID-OTHER", 10, 2),
            ],
            findings: vec![
                Reported { finding: broken, known: None },
                Reported { finding: crash, known: Some(known) },
            ],
            noted: vec![
                noted("STR-CPU-NONE-ONLY", Grade::Warning, "the stream 1 is | taken"),
                noted("DEV-CPU-ID-OTHER", Grade::Info, "the device 1 is taken"),
            ],
            remarks: vec!["1 finding was not confirmed for want of time.".into()],
            ..Run::default()
        };
        let answers = |answer: &str| {
            let case = "array(shape=(6,), dtype='float32').__dlpack__(dl_device=(2, 0))";
            vec![(case.to_owned(), answer.to_owned())]
        };
        let one = Run { answers: answers("ValueError"), ..one };
        let other = Run {
            answers: answers("BufferError"),
            versions: Versions { libraries: vec![("other".into(), "1.0".into())], ..versions },
            cases: 12,
            counts: vec![count("CAP-TYPE", 10, 0), count("DEV-CPU-ID-OTHER", 10, 0)],
            exchange: Exchange::NotRun,
            ..Run::default()
        };
        Matrix {
            profile: "spec".into(),
            libraries: vec![
                Library { name: "numpy".into(), state: State::Ran(Box::new(one)) },
                Library { name: "other".into(), state: State::Ran(Box::new(other)) },
                Library {
                    name: "third".into(),
                    state: State::NotRun("not installed: run `scripts/setup third`".into()),
                },
            ],
        }
    }

    #[test]
    fn a_matrix_reads_back_from_its_json() {
        let matrix = sample();
        assert_eq!(serde_json::from_str::<Matrix>(&json(&matrix)).unwrap(), matrix);
    }
}
