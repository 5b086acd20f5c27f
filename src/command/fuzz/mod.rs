//! `fuzz`: a session that lives through crashes. libFuzzer searches, in child processes; this command
//! starts them, takes what they find, and starts them again when a case kills them.

mod child;
pub mod engine;

use super::lab::Lab;
use super::options::{Effort, Keeping, Reports, Sanitizer, Subject, project};
use super::record::{Met, Recorded, Recorder};
use super::summary::{self, Summary};
use super::{At, Failure, Status};
use child::{Child, Ending, Orders};
use clap::Args;
use dlpack_fuzz::case::Case;
use dlpack_fuzz::finding::Cause;
use dlpack_fuzz::host::journal::Snapshot;
use dlpack_fuzz::host::process;
use dlpack_fuzz::host::scratch::Scratch;
use dlpack_fuzz::host::steering::Steering;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};
use summary::StatusLine;

/// Search with libFuzzer, past known findings and past crashes
///
/// Each new finding is recorded once, shrunk, and given a reproducer that is run in a fresh interpreter. A
/// case that kills its process ends a child, never the session. New inputs go to the corpus folder; the
/// committed seeds are read and never written. The first session compiles the fuzz target, which takes
/// minutes. Without --time or --runs it ends with Ctrl-C.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dlpack-fuzz fuzz --time 600                      ten minutes on NumPy with AddressSanitizer
  dlpack-fuzz fuzz --sanitizer none --jobs 1       faster, and blind to reads outside of blocks
  dlpack-fuzz fuzz --profile strict --runs 1000000
  dlpack-fuzz fuzz --knob cpu_stream=V --findings /tmp/f

Exit status: 0 nothing new, 1 findings, 2 could not run.")]
pub struct Fuzz {
    /// The fuzz target, a file of fuzz/fuzz_targets [default: c_abi for a backend c:PATH, else dunder_dlpack]
    target: Option<String>,

    /// What watches memory
    #[arg(long, value_name = "NAME", default_value = "address")]
    sanitizer: Sanitizer,

    /// Where new inputs go [default: fuzz/corpus/TARGET]
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,

    #[command(flatten)]
    subject: Subject,
    #[command(flatten)]
    effort: Effort,
    #[command(flatten)]
    keeping: Keeping,
    #[command(flatten)]
    reports: Reports,
}

/// Something that a child met, on its way to the recorder.
type Meeting = (Case, Cause);

/// On its way back: a case that killed a child, and what became of it; `None` if it could not be recorded.
type Lesson = (Case, Option<Recorded>);

/// How long a child that was killed waits to be told of what: as long as it takes to shrink two cases.
const LESSON_LIMIT: Duration = Duration::from_secs(45);

/// Numbers of the session that two threads share.
#[derive(Default)]
struct Tally {
    findings: AtomicU64,
    crashes: AtomicU64,
}

impl Fuzz {
    pub fn run(self) -> Result<Status, Failure> {
        self.reports.check()?;
        let output = self.reports.output();
        let lab = Lab::open(&self.subject)?;
        let root = project();
        let messages = if output.quiet { Stdio::null() } else { Stdio::inherit() };
        let name = self.target.as_deref().unwrap_or(self.subject.target());
        let target = engine::build(&root, name, self.sanitizer, &self.subject, messages)?;
        process::catch_interrupts();
        let mut recorder = Recorder::open(&lab, &self.keeping.findings, Some(target.clone()))?;

        let own = self.corpus.clone().unwrap_or_else(|| root.join("fuzz/corpus").join(name));
        std::fs::create_dir_all(&own).at(&own)?;
        let mut corpus = vec![std::path::absolute(&own).at(&own)?];
        corpus.extend(Some(root.join("corpus").join(name)).filter(|seeds| seeds.is_dir()));
        let jobs = self.effort.jobs();
        let orders = Orders {
            target: &target,
            corpus: &corpus,
            case_limit: lab.case_limit(),
            memory_limit: lab.memory_limit(),
            deadline: self.effort.time().map(|time| Instant::now() + time),
            runs: self.effort.runs.map(|runs| runs.div_ceil(jobs as u64)),
        };
        let scratch = Scratch::new().at(&std::env::temp_dir())?;
        let mut children = (0..jobs)
            .map(|number| Child::new(scratch.path().join(number.to_string())))
            .collect::<Result<Vec<_>, _>>()?;

        let started = Instant::now();
        let line = StatusLine::new(output);
        let tally = Tally::default();
        let (sender, meetings) = mpsc::channel();
        let (teacher, lessons) = mpsc::channel();
        let (outcome, elapsed) = std::thread::scope(|scope| {
            let recording = scope.spawn(|| record(&mut recorder, meetings, teacher, &tally, &line));
            let session = Session { orders: &orders, tally: &tally, line: &line, started };
            let outcome = session.run(&mut children, sender, lessons);
            children.iter_mut().for_each(Child::end);
            // What is still to be shrunk and written is not searching.
            let elapsed = started.elapsed();
            if process::is_interrupted() {
                line.say("recording what was found; Ctrl-C again leaves it unreduced");
            }
            let recorded = recording.join().unwrap_or_else(|_| {
                Err(Failure::new("the recorder panicked; a defect of dlpack-fuzz itself"))
            });
            (outcome.and(recorded), elapsed)
        });
        line.finish();
        let closed = recorder.close(output);
        let summary = Summary {
            lab: &lab,
            versions: recorder.worker().versions().clone(),
            state: total(&children),
            counts: None,
            noted: &[],
            elapsed,
            kept: recorder.kept(),
            known: recorder.known(),
            passed: recorder.passed(),
            crashes: tally.crashes.load(Ordering::Relaxed),
            since: None,
        };
        summary.tell(&self.reports)?;
        outcome.and(closed)?;
        Ok(summary.status())
    }
}

/// What the loop over the children needs.
struct Session<'a> {
    orders: &'a Orders<'a>,
    tally: &'a Tally,
    line: &'a StatusLine,
    started: Instant,
}

impl Session<'_> {
    /// Keeps the children running until each has ended as it was asked to, or a person wants the end.
    fn run(
        &self,
        children: &mut [Child],
        meetings: Sender<Meeting>,
        lessons: Receiver<Lesson>,
    ) -> Result<(), Failure> {
        let mut steering = Steering::default();
        let mut defect = Ok(());
        for child in children.iter_mut() {
            child.start(self.orders)?;
        }
        let mut shown = (Instant::now(), 0);
        // By child, the case that killed its process, until it is known what of: a new process would only die of the
        // same again.
        let mut waiting: Vec<Option<(Case, Instant)>> = children.iter().map(|_| None).collect();
        while (children.iter().any(Child::is_running) || waiting.iter().any(Option::is_some))
            && !process::is_interrupted()
            && !self.orders.is_over()
        {
            std::thread::sleep(Duration::from_millis(50));
            for (child, waits) in children.iter_mut().zip(&mut waiting) {
                let ending = child.ending(self.orders)?;
                // After the end was seen, so that what was left just before it is not missed.
                self.take(child, &meetings)?;
                match ending {
                    None | Some(Ending::Orderly) => continue,
                    Some(Ending::Killed { case, cause }) => {
                        self.tally.crashes.fetch_add(1, Ordering::Relaxed);
                        *waits = Some((case.clone(), Instant::now()));
                        // The recorder ends early only with a failure of its own, which is told then.
                        let _ = meetings.send((case, cause));
                    }
                    Some(Ending::Defect { case, failure }) => {
                        self.line.say(&format!("{failure}"));
                        steering.go_round(&case);
                        defect = Err(failure);
                        child.steer(&steering)?;
                        child.start(self.orders)?;
                    }
                }
            }
            let before = steering.clone();
            let lessons: Vec<Lesson> = lessons.try_iter().collect();
            for (case, recorded) in &lessons {
                match recorded {
                    Some(recorded) => recorded.teach(case, &mut steering),
                    None => steering.go_round(case),
                }
            }
            for (child, waits) in children.iter_mut().zip(&mut waiting) {
                let is_told = waits.take_if(|(killer, since)| {
                    lessons.iter().any(|(case, _)| case == killer) || since.elapsed() > LESSON_LIMIT
                });
                if is_told.is_some() {
                    child.steer(&steering)?;
                    child.start(self.orders)?;
                } else if steering != before && child.is_running() {
                    child.steer(&steering)?;
                    child.renew(self.orders)?;
                }
            }
            let since = shown.0.elapsed();
            if since >= Duration::from_secs(1) {
                let state = total(children);
                let rate = state.begun.saturating_sub(shown.1) as f64 / since.as_secs_f64();
                self.show(&state, rate as u64);
                shown = (Instant::now(), state.begun);
            }
        }
        for child in children.iter_mut() {
            // One may have been killed since it was last looked at.
            if let Some(Ending::Killed { case, cause }) = child.ending(self.orders)? {
                self.tally.crashes.fetch_add(1, Ordering::Relaxed);
                let _ = meetings.send((case, cause));
            }
            child.end();
            self.take(child, &meetings)?;
        }
        defect
    }

    fn take(&self, child: &mut Child, meetings: &Sender<Meeting>) -> Result<(), Failure> {
        for found in child.collect()? {
            let case = super::options::parse_case(&found.case)?;
            if let Some(violation) = found.broken.violation() {
                let _ = meetings.send((case, Cause::from(violation)));
            }
        }
        Ok(())
    }

    fn show(&self, state: &Snapshot, rate: u64) {
        self.line.show(&format!(
            "{} runs  {}/s  {}/{} rules  {} findings  {} crashes  {}",
            summary::grouped(state.begun),
            summary::grouped(rate),
            state.checked.len(),
            dlpack_fuzz::oracle::rules().len(),
            self.tally.findings.load(Ordering::Relaxed),
            self.tally.crashes.load(Ordering::Relaxed),
            summary::clock(self.started.elapsed()),
        ));
    }
}

/// Takes meetings until there are no more; runs beside the session, because shrinking takes seconds.
fn record(
    recorder: &mut Recorder,
    meetings: Receiver<Meeting>,
    teacher: Sender<Lesson>,
    tally: &Tally,
    line: &StatusLine,
) -> Result<(), Failure> {
    let mut failed = Ok(());
    for (case, cause) in meetings {
        let is_death = matches!(cause, Cause::Crash(_));
        match recorder.record(&case, cause) {
            Ok(recorded) => {
                let is_new = matches!(recorded.met, Met::New);
                if matches!(recorded.met, Met::Gone) {
                    line.say(&format!("a child was killed, and not by its case: {case}"));
                }
                if is_death {
                    // The session may be over.
                    let _ = teacher.send((case, Some(recorded)));
                }
                if !is_new {
                    continue;
                }
                tally.findings.fetch_add(1, Ordering::Relaxed);
                if let Some(kept) = recorder.kept().last() {
                    line.say(&summary::headline(kept));
                }
            }
            // One case that cannot be recorded must not lose the others.
            Err(failure) => {
                line.say(&failure.to_string());
                failed = Err(failure);
                let _ = teacher.send((case, None));
            }
        }
    }
    failed
}

/// The children's journals in one.
fn total(children: &[Child]) -> Snapshot {
    summary::sum(children.iter().map(Child::snapshot))
}
