//! One **library** of the matrix: its check, what is known of it, its C exchange API, and its answers to the
//! questions that all are asked.

use crate::command::Failure;
use crate::command::arena::{self, Arena};
use crate::command::lab::{Lab, SweepKind};
use crate::command::record::Recorder;
use crate::command::repro;
use crate::command::summary::{StatusLine, unfinished};
use crate::command::sweep::{Orders, Swept, sweep};
use dlpack_fuzz::case::sweep::questions;
use dlpack_fuzz::host::process;
use dlpack_fuzz::report::RuleCount;
use dlpack_fuzz::report::matrix::{Exchange, KnownSince, Library, Reported, Run, State};
use dlpack_fuzz::subject::Subject;
use std::path::Path;
use std::time::{Duration, Instant};

/// How each library is checked.
pub struct Plan<'a> {
    pub findings: &'a Path,
    /// All of it.
    pub time: Duration,
}

/// What came of a library.
pub struct Examined {
    pub library: Library,
    /// Questions that it could be asked, each with its answer.
    pub answers: Vec<(String, String)>,
}

impl Examined {
    pub fn not_run(name: &str, reason: impl ToString) -> Self {
        let state = State::NotRun(reason.to_string());
        Self { library: Library { name: name.to_owned(), state }, answers: Vec::new() }
    }
}

/// Checks one library. What cannot run is no failure: it is what came of it.
pub fn examine(name: &str, subject: &Subject, plan: &Plan) -> Examined {
    if process::is_interrupted() {
        return Examined::not_run(name, "interrupted before its turn");
    }
    let (mut run, mut answers) = (Run::default(), Vec::new());
    match fill(subject, plan, &mut run, &mut answers) {
        Err(failure) if run.cases == 0 => return Examined::not_run(name, failure),
        Err(failure) => run.remarks.push(format!("Ended early: {failure}")),
        Ok(()) => {}
    }
    let library = Library { name: name.to_owned(), state: State::Ran(Box::new(run)) };
    Examined { library, answers }
}

/// An interpreter and a library that start slowly have less time for the rest; a fifth of it is for the
/// exchange API where there is one.
fn fill(
    subject: &Subject,
    plan: &Plan,
    run: &mut Run,
    answers: &mut Vec<(String, String)>,
) -> Result<(), Failure> {
    let until = Instant::now() + plan.time;
    let lab = Lab::open(subject)?;
    let mut recorder = Recorder::open(&lab, plan.findings, None)?;
    run.versions = recorder.worker().versions().clone();
    let has_exchange = recorder.worker().has_exchange_api()?;
    let left = until.saturating_duration_since(Instant::now());
    let calls_until = if has_exchange { until - left / 5 } else { until };
    let deadline = |until| Some(until).filter(|until| *until > Instant::now());

    ask(&mut recorder, until - left * 3 / 4, run, answers)?;
    show_known(&lab, &mut recorder, until - left / 2, run)?;
    let orders = |until| Orders { until: deadline(until), runs: None, jobs: 1 };
    let mut swept =
        sweep(&lab, recorder.until(Some(calls_until)), &orders(calls_until), &StatusLine::Quiet)?;
    take(&mut swept, run);
    if let Some(failure) = swept.failed {
        return Err(failure);
    }
    drop(swept.recorder);
    run.exchange = match has_exchange {
        false => Exchange::None,
        true if deadline(until).is_none() || process::is_interrupted() => Exchange::NotRun,
        true => {
            let lab = lab.sweeping(SweepKind::ExchangeApi);
            let recorder = Recorder::open(&lab, plan.findings, None)?.until(Some(until));
            let mut swept = sweep(&lab, recorder, &orders(until), &StatusLine::Quiet)?;
            take(&mut swept, run);
            if let Some(failure) = swept.failed {
                return Err(failure);
            }
            Exchange::Swept
        }
    };
    Ok(())
}

/// Adds what a sweep came to.
fn take(swept: &mut Swept, run: &mut Run) {
    run.cases += swept.state.done;
    let counts = dlpack_fuzz::oracle::rules().iter().enumerate().map(|(place, rule)| RuleCount {
        id: rule.id.to_owned(),
        checked: swept.counts.checked[place],
        fired: swept.counts.fired[place],
    });
    match run.counts.is_empty() {
        true => run.counts = counts.collect(),
        false => run.counts.iter_mut().zip(counts).for_each(|(sum, more)| {
            sum.checked += more.checked;
            sum.fired += more.fired;
        }),
    }
    let is_new = |finding: &dlpack_fuzz::finding::Finding, run: &Run| {
        !run.findings.iter().any(|it| it.finding.identity == finding.identity)
    };
    for kept in swept.recorder.kept() {
        if is_new(&kept.finding, run) {
            run.findings.push(Reported { finding: kept.finding.clone(), known: None });
        }
    }
    run.noted.append(&mut swept.noted);
    run.remarks.extend(unfinished(swept.recorder.kept(), swept.recorder.passed()));
}

/// Asks what all libraries are asked.
fn ask(
    recorder: &mut Recorder,
    until: Instant,
    run: &mut Run,
    answers: &mut Vec<(String, String)>,
) -> Result<(), Failure> {
    let questions = questions();
    for (place, question) in questions.iter().enumerate() {
        if Instant::now() >= until || process::is_interrupted() {
            run.remarks.push(format!(
                "{} of {} questions were not asked for want of time.",
                questions.len() - place,
                questions.len()
            ));
            break;
        }
        if let Some(answer) = recorder.worker().answer(question)? {
            answers.push((question.to_string(), answer));
        }
    }
    Ok(())
}

/// The sweep goes round what is known, so its examples are run by themselves.
fn show_known(
    lab: &Lab,
    recorder: &mut Recorder,
    until: Instant,
    run: &mut Run,
) -> Result<(), Failure> {
    for entry in lab.known.entries().iter().filter(|entry| entry.applies(&run.versions)) {
        if Instant::now() >= until {
            run.remarks.push(format!("Known, and not run for want of time: {}", entry.note));
            continue;
        }
        let worker = recorder.worker();
        let causes = arena::causes(&mut Arena::Worker(worker), &entry.example)?;
        let Some(cause) = causes.into_iter().find(|cause| entry.is_about(cause)) else {
            run.remarks.push(format!("Known, and not shown by its example: {}", entry.note));
            continue;
        };
        let case = entry.example.clone();
        let mut finding = lab.subject.finding(case, cause, run.versions.clone());
        repro::attach(lab, worker, &mut finding, Some(until))?;
        let known = KnownSince { since: entry.since.clone(), upstream: entry.upstream.clone() };
        run.findings.push(Reported { finding, known: Some(known) });
    }
    Ok(())
}
