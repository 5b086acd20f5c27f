//! `check`: the exhaustive sweep, in worker processes that may die.

use super::arena;
use super::lab::{Lab, SweepKind};
use super::options::{Effort, Keeping, Output, Subject};
use super::record::{Met, Recorded, Recorder};
use super::summary::{self, StatusLine, Summary};
use super::{At, Failure, Status};
use clap::Args;
use dlpack_fuzz::case::Case;
use dlpack_fuzz::finding::Cause;
use dlpack_fuzz::host::journal::{Counts, Journal};
use dlpack_fuzz::host::process;
use dlpack_fuzz::host::scratch::Scratch;
use dlpack_fuzz::host::steering::Steering;
use dlpack_fuzz::host::worker::Stretch;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// Make every kind of call on every kind of array, once
///
/// Every row of the decision table with several values, times dtypes and layouts. The same cases in the
/// same order every time. Seconds while nothing crashes; each crash costs a new process.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dlpack-fuzz check numpy
  dlpack-fuzz check numpy --profile strict --quiet --json
  dlpack-fuzz check numpy --env envs/numpy-2.3.5
  dlpack-fuzz check --exchange-api --backend tvm-ffi --env envs/tvm-ffi

Exit status: 0 nothing new, 1 findings, 2 could not run.")]
pub struct Check {
    /// The same as --backend
    #[arg(value_name = "BACKEND")]
    library: Option<String>,
    /// Check the C exchange API (`__dlpack_c_exchange_api__`) of the backend's arrays instead: each of its
    /// functions on every kind of array. A backend without one cannot be checked
    #[arg(long)]
    exchange_api: bool,
    #[command(flatten)]
    subject: Subject,
    #[command(flatten)]
    effort: Effort,
    #[command(flatten)]
    keeping: Keeping,
    #[command(flatten)]
    output: Output,
}

/// Whether a case that was in flight when its worker died is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blame {
    Case,
    Nobody,
}

/// What the sweeping threads tell.
enum Event {
    Met(Case, Cause),
    /// The thread waits to hear that the case was recorded: its next worker would die of the same again.
    Crashed(Case, Cause, Sender<Blame>),
    Failed(Failure),
}

impl Check {
    pub fn run(mut self) -> Result<Status, Failure> {
        if let Some(backend) = self.library.take() {
            self.subject.backend = backend;
        }
        let sweep = if self.exchange_api { SweepKind::ExchangeApi } else { SweepKind::Calls };
        let lab = Lab::open(&self.subject)?.sweeping(sweep);
        let mut recorder = Recorder::open(&lab, &self.keeping.findings, None)?;
        process::catch_interrupts();
        let scratch = Scratch::new().at(&std::env::temp_dir())?;
        let jobs = self.effort.jobs() as u64;
        let crew = Crew {
            lab: &lab,
            steer: scratch.path().join("steer.toml"),
            steering: Mutex::default(),
            journals: Mutex::default(),
            stop: AtomicBool::new(false),
        };

        let started = Instant::now();
        let total = recorder.worker().sweep_len();
        let line = StatusLine::up_to(self.output, self.effort.runs.unwrap_or(total).min(total));
        let mut crashes = 0;
        let mut failed = None;
        let (sender, events) = mpsc::channel();
        std::thread::scope(|scope| {
            for number in 0..jobs {
                let (crew, sender) = (&crew, sender.clone());
                scope.spawn(move || {
                    if let Err(failure) = crew.sweep(number, jobs, &sender) {
                        let _ = sender.send(Event::Failed(failure));
                    }
                });
            }
            drop(sender);
            loop {
                let event = match events.recv_timeout(Duration::from_millis(200)) {
                    Ok(event) => Some(event),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                let recorded = match event {
                    None => Ok(Met::Again),
                    Some(Event::Met(case, cause)) => {
                        recorder.record(&case, cause).map(|recorded| recorded.met)
                    }
                    Some(Event::Crashed(case, cause, heard)) => {
                        crashes += 1;
                        let recorded = recorder.record(&case, cause).and_then(|recorded| {
                            crew.learn(&case, &recorded)?;
                            Ok(recorded.met)
                        });
                        let is_gone = matches!(recorded, Ok(Met::Gone));
                        let _ = heard.send(if is_gone { Blame::Nobody } else { Blame::Case });
                        recorded
                    }
                    Some(Event::Failed(failure)) => Err(failure),
                };
                match recorded {
                    Ok(Met::New) => {
                        recorder
                            .kept()
                            .last()
                            .into_iter()
                            .for_each(|kept| line.say(&summary::headline(kept)));
                    }
                    Ok(_) => {}
                    Err(failure) => {
                        crew.stop.store(true, Ordering::Relaxed);
                        failed.get_or_insert(failure);
                    }
                }
                let state = crew.state();
                line.advance(state.done);
                line.show(&format!(
                    "{} cases  {} findings  {crashes} crashes",
                    summary::grouped(state.done),
                    recorder.kept().len()
                ));
                let is_enough = self.effort.runs.is_some_and(|runs| state.done >= runs)
                    || self.effort.time().is_some_and(|time| started.elapsed() >= time);
                if is_enough || process::is_interrupted() {
                    crew.stop.store(true, Ordering::Relaxed);
                }
            }
        });
        line.finish();
        let closed = recorder.close(self.output);
        let summary = Summary {
            lab: &lab,
            versions: recorder.worker().versions().clone(),
            state: crew.state(),
            counts: Some(crew.counts()),
            elapsed: started.elapsed(),
            kept: recorder.kept(),
            known: recorder.known(),
            crashes,
        };
        summary.print(self.output);
        if let Some(failure) = failed {
            return Err(failure);
        }
        closed?;
        Ok(summary.status())
    }
}

/// The sweeping threads and what they share.
struct Crew<'a> {
    lab: &'a Lab,
    /// The file that carries `steering` to workers that start anew.
    steer: PathBuf,
    steering: Mutex<Steering>,
    journals: Mutex<Vec<Journal>>,
    stop: AtomicBool,
}

impl Crew<'_> {
    /// Sweeps every `step`th case from `first` on.
    fn sweep(&self, first: u64, step: u64, events: &Sender<Event>) -> Result<(), Failure> {
        let mut worker = self.lab.worker(Some(&self.steer))?;
        self.journals
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .push(worker.monitor()?);
        let mut from = first;
        let mut again = None;
        loop {
            let meet = |found: dlpack_fuzz::host::worker::Found| {
                let event = match (found.case.parse(), found.broken.violation()) {
                    (Ok(case), Some(violation)) => Event::Met(case, Cause::from(violation)),
                    _ => Event::Failed(Failure::new(format!(
                        "a worker told of no case: {}",
                        found.case
                    ))),
                };
                let _ = events.send(event);
            };
            match worker.sweep(from, step, meet, || self.stop.load(Ordering::Relaxed))? {
                Stretch::Over | Stretch::Stopped => return Ok(()),
                Stretch::Disturbed { place } => from = place + step,
                Stretch::Died { fatality, place, case } => {
                    let case = Case::decode(&case);
                    arena::own_defect(&case, &fatality.last_words)?;
                    let (heard, hears) = mpsc::channel();
                    let _ = events.send(Event::Crashed(case, arena::crash(&fatality), heard));
                    // Nobody answers if the other side has ended.
                    let is_innocent = hears.recv() == Ok(Blame::Nobody);
                    // It is run once more, for its verdict.
                    from = if is_innocent && again != Some(place) { place } else { place + step };
                    again = Some(place);
                }
            }
        }
    }

    /// Writes down for the workers that start from now on what they are to go round.
    fn learn(&self, case: &Case, recorded: &Recorded) -> Result<(), Failure> {
        let mut steering = self.steering.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        recorded.teach(case, &mut steering);
        steering.write(&self.steer).at(&self.steer)
    }

    fn state(&self) -> dlpack_fuzz::host::journal::Snapshot {
        let journals = self.journals.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        summary::sum(journals.iter().map(Journal::read))
    }

    fn counts(&self) -> Counts {
        let rules = dlpack_fuzz::oracle::rules().len();
        let journals = self.journals.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut sum = Counts { checked: vec![0; rules], fired: vec![0; rules] };
        for counts in journals.iter().map(|journal| journal.counts(rules)) {
            sum.checked.iter_mut().zip(counts.checked).for_each(|(sum, more)| *sum += more);
            sum.fired.iter_mut().zip(counts.fired).for_each(|(sum, more)| *sum += more);
        }
        sum
    }
}
