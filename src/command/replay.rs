//! `replay`: cases that are kept somewhere run again, each with a word on what came of it.

mod sources;

use super::arena;
use super::lab::Lab;
use super::options::{Output, Subject, project};
use super::summary::StatusLine;
use super::{At, Failure, Status, print};
use clap::Args;
use dlpack_fuzz::finding::{Cause, Known};
use dlpack_fuzz::host::worker::{Answer, Worker};
use dlpack_fuzz::oracle::Grade;
use dlpack_fuzz::report::{self, Outcome, ReplayLine};
use sources::{Expected, Source};
use std::path::PathBuf;

/// Run kept cases again
///
/// A PATH is a file with a case's text (.txt) or bytes (a corpus file, a libFuzzer artifact), the folder of
/// a finding, a file of known findings (.toml), or a folder of all these. Each case is answered with
///   OK      nothing is broken
///   FIXED   the finding no longer shows
///   KNOWN   it shows something that is known and reported upstream
///   FAILED  it shows something else; or a known finding is gone and its entry is to be deleted
///   ERROR   it could not be run
#[derive(Args)]
#[command(after_help = "\
Examples:
  dlpack-fuzz replay                          the committed corpus and the known findings
  dlpack-fuzz replay findings/numpy           are they fixed in this NumPy?
  dlpack-fuzz replay --env envs/numpy-2.3 --junit replay.xml corpus/dunder_dlpack
  dlpack-fuzz replay --case \"array(shape=(6,), dtype='float32').__dlpack__(copy=1)\"

Exit status: 0 nothing FAILED, 1 something did, 2 could not run (also after an ERROR).")]
pub struct Replay {
    /// What to run [default: the corpus folder]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// A case as text; may be repeated
    #[arg(long = "case", value_name = "TEXT")]
    cases: Vec<String>,
    /// The corpus folder [default: corpus]
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// Write the result as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the result as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print only what is not OK
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    subject: Subject,
}

impl Replay {
    pub fn run(self) -> Result<Status, Failure> {
        let lab = Lab::open(&self.subject)?;
        let mut worker = lab.worker(None)?;
        let mut paths = self.paths.clone();
        if paths.is_empty() && self.cases.is_empty() {
            paths.push(self.corpus.clone().unwrap_or_else(|| project().join("corpus")));
        }
        let mut sources: Vec<Source> =
            self.cases.iter().map(|text| Source::of_text("--case", text)).collect();
        for path in &paths {
            sources::gather(path, &self.subject.backend, &mut sources)?;
        }
        let line = StatusLine::up_to(Output { json: false, quiet: self.quiet }, sources.len() as u64);
        let mut lines = Vec::new();
        for (place, source) in sources.iter().enumerate() {
            line.advance(place as u64);
            lines.push(answer(&lab, &mut worker, source)?);
        }
        line.finish();
        self.report(&lines, &lab)?;
        let any = |outcome| lines.iter().any(|line| line.outcome == outcome);
        Ok(match () {
            () if any(Outcome::Failed) => Status::Findings,
            () if any(Outcome::Error) => Status::CouldNotRun,
            () => Status::NothingNew,
        })
    }

    fn report(&self, lines: &[ReplayLine], _lab: &Lab) -> Result<(), Failure> {
        if let Some(path) = &self.junit {
            std::fs::write(path, report::junit(lines)).at(path)?;
        }
        let json = format!("{:#}\n", serde_json::json!(lines));
        match &self.json {
            Some(path) if path.as_os_str() == "-" => {
                print(&json);
                return Ok(());
            }
            Some(path) => std::fs::write(path, json).at(path)?,
            None => {}
        }
        let mut text = String::new();
        for line in lines.iter().filter(|line| !self.quiet || line.outcome != Outcome::Ok) {
            text += &format!("{line}\n");
        }
        let count = |outcome| lines.iter().filter(|line| line.outcome == outcome).count();
        text += &format!(
            "{} cases: {} OK, {} FIXED, {} KNOWN, {} FAILED, {} ERROR\n",
            lines.len(),
            count(Outcome::Ok),
            count(Outcome::Fixed),
            count(Outcome::Known),
            count(Outcome::Failed),
            count(Outcome::Error),
        );
        print(&text);
        Ok(())
    }
}

/// Runs one case.
fn answer(lab: &Lab, worker: &mut Worker, source: &Source) -> Result<ReplayLine, Failure> {
    let (outcome, case, what) = match &source.case {
        Err(reason) => (Outcome::Error, String::new(), reason.clone()),
        Ok(case) => {
            let (outcome, what) = match worker.judge(case, Grade::Violation)? {
                Answer::Inexpressible(reason) => inexpressible(&source.expected, reason),
                Answer::Judged(judgement) => {
                    let causes = judgement.violations.into_iter().map(Cause::from).collect();
                    judge(lab, worker, source, causes)
                }
                Answer::Died(fatality) => match arena::own_defect(case, &fatality.last_words) {
                    Err(failure) => (Outcome::Error, failure.to_string()),
                    Ok(()) => {
                        judge(lab, worker, source, vec![arena::death(fatality.death).into()])
                    }
                },
            };
            (outcome, case.to_string(), what)
        }
    };
    Ok(ReplayLine { name: source.name.clone(), case, outcome, what })
}

fn inexpressible(expected: &Expected, reason: String) -> (Outcome, String) {
    let what = format!("the backend has no such array: {reason}");
    match expected {
        Expected::Nothing => (Outcome::Ok, what),
        Expected::Finding(_) | Expected::Known(_) => (Outcome::Error, what),
    }
}

/// What the causes that a case showed mean for what was expected of it.
fn judge(lab: &Lab, worker: &Worker, source: &Source, causes: Vec<Cause>) -> (Outcome, String) {
    let Ok(case) = &source.case else { return (Outcome::Error, String::new()) };
    let none = Known::default();
    let known = if lab.subject.ignore_known { &none } else { &lab.known };
    let (old, new): (Vec<_>, Vec<_>) = (causes.iter())
        .partition(|cause| known.covers(case, cause, worker.versions()).is_some());
    let words = |causes: &[&Cause]| {
        (causes.iter().map(|cause| format!("{}: {}", cause.rule(), cause.seen())))
            .collect::<Vec<_>>()
            .join("; ")
    };
    match &source.expected {
        Expected::Known(entry) if causes.is_empty() && !entry.applies(worker.versions()) => {
            (Outcome::Ok, "the entry speaks of other versions".into())
        }
        Expected::Known(_) if causes.is_empty() => (
            Outcome::Failed,
            format!("it no longer shows: fixed, so delete the entry at {}", source.name),
        ),
        Expected::Finding(cause) if !causes.iter().any(|seen| arena::is_same(seen, cause)) && new.is_empty() => {
            (Outcome::Fixed, format!("{} no longer shows", cause.rule()))
        }
        _ if !new.is_empty() => (Outcome::Failed, words(&new)),
        _ if !old.is_empty() => (Outcome::Known, words(&old)),
        _ => (Outcome::Ok, String::new()),
    }
}
