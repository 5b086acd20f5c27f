//! `replay`: cases that are kept somewhere run again, each with a word on what came of it.

mod sources;

use super::arena;
use super::lab::Lab;
use super::options::{Output, Subject, project};
use super::summary::StatusLine;
use super::{At, Failure, Status, print};
use clap::Args;
use dlpack_fuzz::case::Case;
use dlpack_fuzz::finding::{Cause, Identity};
use dlpack_fuzz::host::Versions;
use dlpack_fuzz::host::worker::{self, Worker};
use dlpack_fuzz::oracle::Grade;
use dlpack_fuzz::report::{self, Answer, ReplayLine};
use sources::{Expected, Source};
use std::path::PathBuf;

/// Run kept cases again
///
/// A PATH is a file with a case's text (.txt) or bytes (a corpus file, a libFuzzer artifact),
/// the folder of a finding, a file of known findings (.toml), or a folder of all these.
///
/// Each case is answered with:
///   OK      nothing is broken
///   FIXED   the finding no longer shows
///   KNOWN   it shows something that is known and reported upstream
///   FAILED  it shows something else; or a known finding is gone and its entry is to be deleted
///   ERROR   it could not be run
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  dlpack-fuzz replay                          the committed corpus and the known findings
  dlpack-fuzz replay findings/numpy           are they fixed in this NumPy?
  dlpack-fuzz replay --env envs/numpy-2.3.5 --junit replay.xml corpus/dunder_dlpack
  dlpack-fuzz replay --case \"array(shape=(6,), dtype='float32').__dlpack__(copy=True)\"

Exit status: 0 nothing FAILED, 1 something did, 2 could not run (also after an ERROR)."
)]
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
        let line =
            StatusLine::up_to(Output { json: false, quiet: self.quiet }, sources.len() as u64);
        let mut lines = Vec::new();
        for (place, source) in sources.iter().enumerate() {
            line.advance(place as u64);
            lines.push(answer(&lab, &mut worker, source)?);
        }
        line.finish();
        self.report(&lines)?;
        let any = |answer| lines.iter().any(|line| line.answer == answer);
        Ok(match () {
            () if any(Answer::Failed) => Status::Findings,
            () if any(Answer::Error) => Status::CouldNotRun,
            () => Status::NothingNew,
        })
    }

    fn report(&self, lines: &[ReplayLine]) -> Result<(), Failure> {
        if let Some(path) = &self.junit {
            std::fs::write(path, report::junit(lines)).at(path)?;
        }
        let json = report::json_replay(lines);
        match &self.json {
            Some(path) if path.as_os_str() == "-" => {
                print(&json);
                return Ok(());
            }
            Some(path) => std::fs::write(path, json).at(path)?,
            None => {}
        }
        let mut text = String::new();
        for line in lines.iter().filter(|line| !self.quiet || line.answer != Answer::Ok) {
            text += &format!("{line}\n");
        }
        let count = |answer| lines.iter().filter(|line| line.answer == answer).count();
        text += &format!(
            "{} cases: {} OK, {} FIXED, {} KNOWN, {} FAILED, {} ERROR\n",
            lines.len(),
            count(Answer::Ok),
            count(Answer::Fixed),
            count(Answer::Known),
            count(Answer::Failed),
            count(Answer::Error),
        );
        print(&text);
        Ok(())
    }
}

/// Runs one case.
fn answer(lab: &Lab, worker: &mut Worker, source: &Source) -> Result<ReplayLine, Failure> {
    let mut line = ReplayLine::new(&source.name, Answer::Error);
    let case = match &source.case {
        Ok(case) => case,
        Err(reason) => return Ok(ReplayLine { detail: reason.clone(), ..line }),
    };
    line.case = Some(case.to_string());
    let causes = match worker.judge(case, Grade::Violation)? {
        worker::Answer::Judged(judgement) => {
            judgement.violations.into_iter().map(Cause::from).collect()
        }
        worker::Answer::Died(fatality) => match arena::own_defect(case, &fatality.last_words) {
            Err(failure) => return Ok(ReplayLine { detail: failure.to_string(), ..line }),
            Ok(()) => vec![arena::crash(&fatality)],
        },
        worker::Answer::Inexpressible(reason) => {
            line.detail = format!("the backend has no such array: {reason}");
            if let Expected::Nothing = source.expected {
                line.answer = Answer::Ok;
            }
            return Ok(line);
        }
    };
    judge(lab, worker.versions(), case, &source.expected, &causes, &mut line);
    Ok(line)
}

/// What the causes that a case showed mean for what was expected of it.
fn judge(
    lab: &Lab,
    versions: &Versions,
    case: &Case,
    expected: &Expected,
    causes: &[Cause],
    line: &mut ReplayLine,
) {
    let (old, new): (Vec<_>, Vec<_>) = (causes.iter()).partition(|cause| {
        !lab.subject.ignore_known && lab.known.covers(case, cause, versions).is_some()
    });
    let is_gone = match expected {
        Expected::Finding(cause) => !causes.iter().any(|seen| arena::is_same(seen, cause)),
        _ => causes.is_empty(),
    };
    let (answer, told) = match expected {
        _ if !new.is_empty() => (Answer::Failed, new),
        Expected::Finding(_) if is_gone => (Answer::Fixed, old),
        _ if !old.is_empty() => (Answer::Known, old),
        Expected::Known(entry) if entry.applies(versions) => {
            line.answer = Answer::Failed;
            line.detail =
                format!("it no longer shows: fixed, so delete the entry at {}", line.name);
            return;
        }
        Expected::Known(_) => {
            line.detail = "the entry speaks of other versions".into();
            (Answer::Ok, Vec::new())
        }
        _ => (Answer::Ok, Vec::new()),
    };
    line.answer = answer;
    if let Some(cause) = told.first() {
        line.identity = Some(Identity::of(case, cause).to_string());
        line.detail = told.iter().map(|cause| cause.seen()).collect::<Vec<_>>().join("; ");
    }
}
