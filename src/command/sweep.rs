//! The **sweep** of one backend: its list of cases in worker processes that may die, and a recorder beside
//! them that reduces and confirms what they meet.
//!
//! Goes in: a [`Lab`], a [`Recorder`] and [`Orders`]. Comes out: [`Swept`], with every finding kept. A time limit bounds the
//! whole: the sweep ends early enough that what still waits can be reduced, at half of the time at the
//! earliest. A case that cannot be recorded is a [`Failure`] that loses none of the others.

use super::arena;
use super::lab::Lab;
use super::record::{Met, Recorder};
use super::summary::{self, StatusLine};
use super::{At, Failure};
use dlpack_fuzz::case::{self, Case};
use dlpack_fuzz::finding::{Cause, Violation};
use dlpack_fuzz::host::journal::{Counts, Journal, Snapshot};
use dlpack_fuzz::host::process;
use dlpack_fuzz::host::scratch::Scratch;
use dlpack_fuzz::host::steering::Steering;
use dlpack_fuzz::host::worker::{Found, Stretch};
use dlpack_fuzz::oracle::Grade;
use dlpack_fuzz::report::Noted;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// How much is swept.
#[derive(Clone, Copy)]
pub struct Orders {
    /// When all of it has to be over.
    pub until: Option<Instant>,
    /// Cases that are enough.
    pub runs: Option<u64>,
    /// Processes that sweep side by side.
    pub jobs: u64,
}

/// What a sweep came to.
pub struct Swept<'a> {
    pub recorder: Recorder<'a>,
    pub state: Snapshot,
    pub counts: Counts,
    pub elapsed: Duration,
    pub crashes: u64,
    /// What broke a rule in a way that is no finding, by rule and key.
    pub noted: Vec<Noted>,
    /// The first thing that went wrong, after which the rest went on.
    pub failed: Option<Failure>,
}

/// Sweeps to the end of the list, of the time or of the runs, whichever comes first.
pub fn sweep<'a>(
    lab: &'a Lab,
    recorder: Recorder<'a>,
    orders: &Orders,
    line: &StatusLine,
) -> Result<Swept<'a>, Failure> {
    let started = Instant::now();
    let mut recorder = recorder.until(orders.until);
    // Where the library is quick to load, a finding is quickly confirmed.
    let cost = recorder.start_time();
    let total = recorder.worker().sweep_len();
    let enough = orders.runs.unwrap_or(total).min(total);
    let scratch = Scratch::new().at(&std::env::temp_dir())?;
    let crew = Crew {
        lab,
        steer: scratch.path().join("steer.toml"),
        steering: Mutex::default(),
        journals: Mutex::default(),
        stop: AtomicBool::new(false),
        waiting: AtomicU64::new(0),
        kept: AtomicU64::new(0),
        pace: orders.until.map(|until| Pace { started, until, cost }),
        runs: orders.runs,
    };
    line.length(enough);
    let (sorter, failed) = std::thread::scope(|scope| {
        let (sender, events) = mpsc::channel();
        for number in 0..orders.jobs {
            let (crew, sender) = (&crew, sender.clone());
            scope.spawn(move || {
                if let Err(failure) = crew.sweep(number, orders.jobs, &sender) {
                    let _ = sender.send(Event::Failed(failure));
                }
            });
        }
        drop(sender);
        let (meetings, met) = mpsc::channel();
        let sorting = scope.spawn(|| crew.sort(events, meetings, line));
        // In this thread: a worker that is started anew ends with the thread that started it.
        let recorded = crew.record(&mut recorder, met, line);
        let (sorter, failed) = sorting.join().expect("sorting does not panic");
        (sorter, failed.or(recorded.err()))
    });
    line.finish();
    let (state, counts) = (crew.state(), crew.counts());
    let (crashes, noted) = (sorter.crashes, sorter.noted);
    let elapsed = started.elapsed();
    Ok(Swept { recorder, state, counts, elapsed, crashes, noted, failed })
}

/// What the sweeping threads tell.
enum Event {
    Met(Box<Meeting>),
    Failed(Failure),
}

/// A rule that was broken, at any grade, or a process that died.
struct Meeting {
    case: Case,
    cause: Cause,
    /// After a death the thread waits to hear that it was recorded: its next worker would die of the same again.
    heard: Option<Sender<Blame>>,
}

/// Whether a case that was in flight when its worker died is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blame {
    Case,
    Nobody,
}

impl Event {
    fn met(case: Case, cause: Cause, heard: Option<Sender<Blame>>) -> Self {
        Self::Met(Box::new(Meeting { case, cause, heard }))
    }
}

/// Tells what is new from what every thread and every process meets again.
#[derive(Default)]
struct Sorter {
    /// Broken rules that the recorder has.
    handed: Vec<Cause>,
    noted: Vec<Noted>,
    crashes: u64,
}

impl Sorter {
    fn is_for_the_recorder(&mut self, case: &Case, cause: &Cause) -> bool {
        match cause {
            // Only shrinking shows whether two deaths are the same.
            Cause::Crash(_) => {
                self.crashes += 1;
                true
            }
            Cause::Violation(violation) if violation.grade < Grade::Violation => {
                self.note(case, violation);
                false
            }
            Cause::Violation(_) => {
                let is_new = !self.handed.iter().any(|handed| arena::is_same(handed, cause));
                if is_new {
                    self.handed.push(cause.clone());
                }
                is_new
            }
        }
    }

    /// Keeps the gravest grade of each fault, and the simplest case that shows it.
    fn note(&mut self, case: &Case, violation: &Violation) {
        let same = |noted: &&mut Noted| {
            noted.violation.rule == violation.rule
                && noted.violation.evidence.key == violation.evidence.key
        };
        let new = || Noted { case: case.clone(), violation: violation.clone() };
        match self.noted.iter_mut().find(same) {
            None => self.noted.push(new()),
            Some(noted) => {
                let rank = |violation: &Violation, case| {
                    (std::cmp::Reverse(violation.grade), case::weight(case))
                };
                if rank(violation, case) < rank(&noted.violation, &noted.case) {
                    *noted = new();
                }
            }
        }
    }
}

/// When the sweep ends for the sake of the recorder.
struct Pace {
    started: Instant,
    until: Instant,
    /// What one finding takes, more or less.
    cost: Duration,
}

impl Pace {
    fn is_over(&self, waiting: u64) -> bool {
        let half = self.started + (self.until - self.started) / 2;
        let needed = self.cost.saturating_mul(u32::try_from(waiting).unwrap_or(u32::MAX));
        let end = self.until.checked_sub(needed).unwrap_or(half).max(half);
        Instant::now() >= end.min(self.until)
    }
}

/// The sweeping threads and what they share with the recorder.
struct Crew<'a> {
    lab: &'a Lab,
    /// The file that carries `steering` to workers that start anew.
    steer: PathBuf,
    steering: Mutex<Steering>,
    journals: Mutex<Vec<Journal>>,
    stop: AtomicBool,
    /// Faults on their way through the recorder.
    waiting: AtomicU64,
    /// Findings so far.
    kept: AtomicU64,
    pace: Option<Pace>,
    runs: Option<u64>,
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
            let meet = |found: Found| {
                let event = match (found.case.parse(), found.broken.violation()) {
                    (Ok(case), Some(violation)) => Event::met(case, Cause::from(violation), None),
                    _ => Event::Failed(Failure::new(format!(
                        "a worker told of no case: {}",
                        found.case
                    ))),
                };
                let _ = events.send(event);
            };
            match worker.sweep(from, step, meet, || self.is_over())? {
                Stretch::Over | Stretch::Stopped => return Ok(()),
                Stretch::Disturbed { place } => from = place + step,
                Stretch::Died { fatality, place, case } => {
                    let case = Case::decode(&case);
                    arena::own_defect(&case, &fatality.last_words)?;
                    let (heard, hears) = mpsc::channel();
                    let _ = events.send(Event::met(case, arena::crash(&fatality), Some(heard)));
                    // Nobody answers if the other side has ended.
                    let is_innocent = hears.recv() == Ok(Blame::Nobody);
                    // It is run once more, for its verdict.
                    from = if is_innocent && again != Some(place) { place } else { place + step };
                    again = Some(place);
                    if self.is_over() {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Hands on what is met until all sweeping threads have ended, and says how far they are.
    fn sort(
        &self,
        events: Receiver<Event>,
        meetings: Sender<Meeting>,
        line: &StatusLine,
    ) -> (Sorter, Option<Failure>) {
        let (mut sorter, mut failed) = (Sorter::default(), None);
        loop {
            match events.recv_timeout(Duration::from_millis(200)) {
                Ok(Event::Failed(failure)) => {
                    self.stop.store(true, Relaxed);
                    failed.get_or_insert(failure);
                }
                Ok(Event::Met(meeting)) => {
                    if sorter.is_for_the_recorder(&meeting.case, &meeting.cause) {
                        self.waiting.fetch_add(1, Relaxed);
                        let _ = meetings.send(*meeting);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return (sorter, failed),
            }
            let state = self.state();
            line.advance(state.done);
            line.show(&format!(
                "{} cases  {} findings  {} crashes",
                summary::grouped(state.done),
                self.kept.load(Relaxed),
                sorter.crashes
            ));
        }
    }

    /// Takes meetings until there are no more; runs beside the sweep, because shrinking takes seconds.
    fn record(
        &self,
        recorder: &mut Recorder,
        meetings: Receiver<Meeting>,
        line: &StatusLine,
    ) -> Result<(), Failure> {
        let mut failed = Ok(());
        for Meeting { case, cause, heard } in meetings {
            let recorded = recorder.record(&case, cause).and_then(|recorded| {
                if heard.is_some() {
                    self.change(|steering| recorded.teach(&case, steering))?;
                }
                Ok(recorded.met)
            });
            if let Some(heard) = heard {
                let is_gone = matches!(recorded, Ok(Met::Gone));
                let _ = heard.send(if is_gone { Blame::Nobody } else { Blame::Case });
            }
            self.waiting.fetch_sub(1, Relaxed);
            match recorded {
                Ok(Met::New) => {
                    self.kept.fetch_add(1, Relaxed);
                    recorder.kept().last().into_iter().for_each(|kept| {
                        line.say(&summary::headline(kept));
                    });
                }
                Ok(_) => {}
                // One case that cannot be recorded must not lose the others.
                Err(failure) => {
                    line.say(&failure.to_string());
                    failed = failed.and(Err(failure));
                }
            }
        }
        failed
    }

    /// Nothing more is to be swept.
    fn is_over(&self) -> bool {
        self.stop.load(Relaxed)
            || process::is_interrupted()
            || self.pace.as_ref().is_some_and(|pace| pace.is_over(self.waiting.load(Relaxed)))
            || self.runs.is_some_and(|runs| self.state().done >= runs)
    }

    fn change(&self, change: impl FnOnce(&mut Steering)) -> Result<(), Failure> {
        let mut steering = self.steering.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        change(&mut steering);
        steering.write(&self.steer).at(&self.steer)
    }

    fn state(&self) -> Snapshot {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sweep_leaves_what_waits_the_time_that_it_needs_and_takes_half_in_any_case() {
        let over = |gone: u64, waiting| {
            let started = Instant::now() - Duration::from_secs(gone);
            let until = started + Duration::from_secs(60);
            Pace { started, until, cost: Duration::from_secs(5) }.is_over(waiting)
        };
        assert!(!over(58, 0) && over(61, 0), "nothing waits");
        assert!(!over(48, 2) && over(51, 2), "two wait");
        assert!(!over(28, 1000) && over(31, 1000), "more than can be done");
    }

    #[test]
    fn a_fault_goes_to_the_recorder_once_and_what_is_no_finding_is_noted_once() {
        let case: Case = "array(shape=(2, 3), dtype='int8').__dlpack__()".parse().unwrap();
        let simple: Case = "array(shape=(), dtype='int8').__dlpack__()".parse().unwrap();
        let broken = |grade, key: &'static str| {
            let (expected, seen) = (String::new(), String::new());
            let evidence =
                dlpack_fuzz::oracle::Evidence { key: key.into(), expected, seen, facts: vec![] };
            Cause::Violation(Violation { rule: "EXC-DEVICE".into(), grade, evidence })
        };
        let mut sorter = Sorter::default();
        let mut takes = |cause: &Cause| sorter.is_for_the_recorder(&case, cause);
        assert!(takes(&broken(Grade::Violation, "a")));
        assert!(!takes(&broken(Grade::Violation, "a")));
        assert!(takes(&broken(Grade::Violation, "b")));
        assert!(!takes(&broken(Grade::Info, "c")));
        assert!(!takes(&broken(Grade::Warning, "c")));
        let info = broken(Grade::Info, "c");
        assert!(!sorter.is_for_the_recorder(&simple, &info), "simpler, but not as grave");
        assert_eq!(sorter.noted.len(), 1);
        assert_eq!(sorter.noted[0].violation.grade, Grade::Warning);
        let warning = broken(Grade::Warning, "c");
        sorter.is_for_the_recorder(&simple, &warning);
        assert_eq!(sorter.noted[0].case, simple);
    }
}
