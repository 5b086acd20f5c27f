//! One **library** of the matrix: its check, what is known of it, its C exchange API, and its answers to the
//! questions that all are asked.

use crate::command::Failure;
use crate::command::arena::{self, Arena};
use crate::command::lab::{Lab, SweepKind};
use crate::command::record::{Kept, Recorder};
use crate::command::repro;
use crate::command::summary::{StatusLine, unfinished};
use crate::command::sweep::{Orders, sweep};
use dlpack_fuzz::case::sweep::questions;
use dlpack_fuzz::host::process;
use dlpack_fuzz::report::RuleCount;
use dlpack_fuzz::report::matrix::{Exchange, KnownSince, Reported, Run, State};
use dlpack_fuzz::subject::Subject;
use std::path::Path;
use std::time::{Duration, Instant};

/// How each library is checked.
pub struct Plan<'a> {
    pub findings: &'a Path,
    /// All of it.
    pub time: Duration,
}

/// Checks one library. What cannot run is no failure: it is what came of it.
pub fn examine(subject: &Subject, plan: &Plan) -> State {
    if process::is_interrupted() {
        return State::NotRun("interrupted before its turn".into());
    }
    let mut run = Run::default();
    match fill(subject, plan, &mut run) {
        Err(failure) if run.cases == 0 => return State::NotRun(failure.to_string()),
        Err(failure) => run.remarks.push(format!("Ended early: {failure}")),
        Ok(()) => {}
    }
    State::Ran(Box::new(run))
}

/// The time begins when the library is loaded. A fifth of it is for the exchange API where there is one.
fn fill(subject: &Subject, plan: &Plan, run: &mut Run) -> Result<(), Failure> {
    let lab = Lab::open(subject)?;
    let mut recorder = Recorder::open(&lab, plan.findings, None)?;
    run.versions = recorder.worker().versions().clone();
    let started = Instant::now();
    let until = started + plan.time;
    let has_exchange = recorder.worker().has_exchange_api()?;
    let calls_until = if has_exchange { until - plan.time / 5 } else { until };

    ask(&mut recorder, started + plan.time / 4, run)?;
    show_known(&lab, &mut recorder, started + plan.time / 2, run)?;
    take(&lab, recorder, calls_until, run)?;
    run.exchange = match has_exchange {
        false => Exchange::None,
        true if Instant::now() >= until || process::is_interrupted() => Exchange::NotRun,
        true => {
            let lab = lab.sweeping(SweepKind::ExchangeApi);
            let recorder = Recorder::open(&lab, plan.findings, None)?;
            take(&lab, recorder, until.max(Instant::now() + plan.time / 5), run)?;
            Exchange::Swept
        }
    };
    Ok(())
}

/// Sweeps, and adds what it came to.
fn take<'a>(
    lab: &'a Lab,
    recorder: Recorder<'a>,
    until: Instant,
    run: &mut Run,
) -> Result<(), Failure> {
    let orders = Orders { until: Some(until), runs: None, jobs: 1 };
    let mut swept = sweep(lab, recorder, &orders, &StatusLine::Quiet)?;
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
    for Kept { finding, .. } in swept.recorder.kept() {
        if !run.findings.iter().any(|it| it.finding.identity == finding.identity) {
            run.findings.push(Reported { finding: finding.clone(), known: None });
        }
    }
    run.deaths_unseen += swept.recorder.passed();
    run.noted.append(&mut swept.noted);
    run.remarks.extend(unfinished(swept.recorder.kept(), swept.recorder.passed()));
    swept.failed.map_or(Ok(()), Err)
}

/// Asks what all libraries are asked.
fn ask(recorder: &mut Recorder, until: Instant, run: &mut Run) -> Result<(), Failure> {
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
            run.answers.push((question.to_string(), answer));
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
