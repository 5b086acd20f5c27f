//! `replay`: cases that are kept somewhere run again, each with a word on what came of it.

mod sources;

use super::arena;
use super::lab::Lab;
use super::options::{Reports, Subject, Told, project};
use super::summary::StatusLine;
use super::{Failure, Status};
use clap::Args;
use dlpack_fuzz::case::Case;
use dlpack_fuzz::finding::{Cause, Identity, Known};
use dlpack_fuzz::host::Versions;
use dlpack_fuzz::host::worker::{self, Worker};
use dlpack_fuzz::oracle::Grade;
use dlpack_fuzz::report::{self, Answer, Notice, ReplayLine};
use sources::{Expected, Source};
use std::path::PathBuf;

/// Run kept cases again
///
/// A PATH is a file with a case's text (.txt) or bytes (a corpus file, a libFuzzer artifact),
/// the folder of a finding, a file of known findings (.toml), or a folder of all these.
///
/// Each case is answered with:
///   OK            nothing is broken
///   FIXED         the finding no longer shows; a known finding's entry is to be deleted, so that fails
///   KNOWN         it shows something that is known and reported upstream
///   STILL         the example of a known finding, which still shows
///   NOT RUNNABLE  the example of a known finding, on which this environment says nothing
///   FAILED        it shows something else
///   ERROR         it could not be run
#[derive(Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  dlpack-fuzz replay                          the committed corpus and the known findings
  dlpack-fuzz replay findings/numpy           are they fixed in this NumPy?
  dlpack-fuzz replay --known                  are the known findings still there?
  dlpack-fuzz replay --env envs/numpy-2.3.5 --junit replay.xml corpus/dunder_dlpack
  dlpack-fuzz replay --sarif replay.sarif --github --quiet
  dlpack-fuzz replay --case \"array(shape=(6,), dtype='float32').__dlpack__(copy=True)\"

Exit status: 0 nothing FAILED and no entry is outdated, 1 something is, 2 could not run (also after an ERROR)."
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
    /// The examples of the backend's known findings, and nothing else unless it is named
    #[arg(long)]
    known: bool,
    #[command(flatten)]
    subject: Subject,
    #[command(flatten)]
    reports: Reports,
}

impl Replay {
    pub fn run(self) -> Result<Status, Failure> {
        self.reports.check()?;
        let lab = Lab::open(&self.subject)?;
        let mut worker = lab.worker(None)?;
        let mut paths = self.paths.clone();
        if paths.is_empty() && self.cases.is_empty() && !self.known {
            paths.push(self.corpus.clone().unwrap_or_else(|| project().join("corpus")));
        }
        let mut sources: Vec<Source> =
            self.cases.iter().map(|text| Source::of_text("--case", text)).collect();
        for path in &paths {
            sources::gather(path, &self.subject.backend, &mut sources)?;
        }
        if self.known {
            let backend = &self.subject.backend;
            let file = Known::file(&self.subject.known_folder(), backend);
            sources::known(&file, backend, &mut sources);
        }
        let line = StatusLine::bar(self.reports.output());
        line.length(sources.len() as u64);
        let mut lines = Vec::new();
        for (place, source) in sources.iter().enumerate() {
            line.advance(place as u64);
            lines.push(answer(&lab, &mut worker, source)?);
        }
        line.finish();
        let notices: Vec<_> = lines.iter().filter_map(Notice::of_line).collect();
        self.reports.tell(&Told {
            text: &|| self.text(&lines),
            json: &|| report::json_replay(&lines),
            junit: &|| report::junit(&lines),
            notices: &notices,
        })?;
        Ok(match () {
            () if lines.iter().any(|line| line.answer.fails()) => Status::Findings,
            () if lines.iter().any(|line| line.answer == Answer::Error) => Status::CouldNotRun,
            () => Status::NothingNew,
        })
    }

    fn text(&self, lines: &[ReplayLine]) -> String {
        let mut text = String::new();
        let is_quiet = self.reports.output().quiet;
        for line in lines.iter().filter(|line| !is_quiet || line.answer != Answer::Ok) {
            text += &format!("{line}\n");
        }
        let words = ["OK", "FIXED", "KNOWN", "STILL", "NOT RUNNABLE", "FAILED", "ERROR"];
        let counts = words.map(|word| {
            format!("{} {word}", lines.iter().filter(|line| line.answer.word() == word).count())
        });
        text + &format!("{} cases: {}\n", lines.len(), counts.join(", "))
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
            line.answer = match source.expected {
                Expected::Nothing => Answer::Ok,
                Expected::Finding(_) => Answer::Error,
                Expected::Known(_) => Answer::NotRunnable,
            };
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
    let shows = |fault: &dyn Fn(&Cause) -> bool| causes.iter().any(fault);
    let (answer, told) = match expected {
        Expected::Known(entry) if !entry.applies(versions) => {
            line.answer = Answer::NotRunnable;
            line.detail = "the entry speaks of other versions".into();
            return;
        }
        _ if !new.is_empty() => (Answer::Failed, new),
        Expected::Finding(cause) if !shows(&|seen| arena::is_same(seen, cause)) => {
            (Answer::Fixed, old)
        }
        Expected::Known(entry) if !shows(&|seen| entry.is_about(seen)) => {
            line.answer = Answer::Outdated;
            line.detail = format!("it no longer shows: delete the entry at {}", line.name);
            return;
        }
        Expected::Known(_) => (Answer::Still, old),
        _ if !old.is_empty() => (Answer::Known, old),
        _ => (Answer::Ok, Vec::new()),
    };
    line.answer = answer;
    if let Some(cause) = told.first() {
        line.identity = Some(Identity::of(case, cause).to_string());
        line.rule = Some(cause.rule(case).to_owned());
        line.detail = told.iter().map(|cause| cause.seen()).collect::<Vec<_>>().join("; ");
    }
}
