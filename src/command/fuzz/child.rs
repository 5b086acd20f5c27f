//! A **child** of a session: one libFuzzer process after another in one folder of the session.

use crate::command::arena::{self, Target};
use crate::command::{At, Failure};
use dlpack_fuzz::case::Case;
use dlpack_fuzz::finding::{Cause, Crash, Death};
use dlpack_fuzz::host::frames;
use dlpack_fuzz::host::journal::{CASE_MAX, Journal, Snapshot};
use dlpack_fuzz::host::outbox::{self, Outbox};
use dlpack_fuzz::host::process::{self, LastWords};
use dlpack_fuzz::host::steering::Steering;
use dlpack_fuzz::host::trace;
use dlpack_fuzz::host::worker::Found;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{self as os, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A target that dies this often in a row without running a case will not start at all.
const VAIN_STARTS: u32 = 5;

/// libFuzzer's exit status after SIGINT.
const INTERRUPTED: i32 = 72;

pub struct Child {
    folder: PathBuf,
    journal: Journal,
    collected: HashSet<PathBuf>,
    vain: u32,
    begun_at_start: u64,
    /// What it ran last.
    program: PathBuf,
    running: Option<Running>,
}

struct Running {
    process: os::Child,
    log: LastWords,
    /// How far it had come when it was last seen to come further.
    seen: ((u64, u64), Instant),
}

/// What a session asks of each of its children.
pub struct Orders<'a> {
    pub target: &'a Target,
    /// The first is written to.
    pub corpus: &'a [PathBuf],
    pub deadline: Option<Instant>,
    /// How long one case may take, and how many bytes of memory a process.
    pub case_limit: Duration,
    pub memory_limit: u64,
    /// Cases that this child may run, over all its processes.
    pub runs: Option<u64>,
}

impl Orders<'_> {
    /// The time is up.
    pub fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// How a process ended.
pub enum Ending {
    /// As it was asked to.
    Orderly,
    /// It was killed by this.
    Killed { case: Case, cause: Cause },
    /// The harness failed, not the exporter.
    Defect { case: Case, failure: Failure },
}

impl Child {
    pub fn new(folder: PathBuf) -> Result<Self, Failure> {
        std::fs::create_dir_all(artifacts(&folder)).at(&folder)?;
        let journal = outbox::prepare(&folder).at(&folder)?;
        Ok(Self {
            folder,
            journal,
            collected: HashSet::new(),
            vain: 0,
            begun_at_start: 0,
            program: PathBuf::new(),
            running: None,
        })
    }

    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    pub fn snapshot(&self) -> Snapshot {
        self.journal.read()
    }

    /// Starts a process, unless time or runs are used up.
    pub fn start(&mut self, orders: &Orders) -> Result<(), Failure> {
        self.begun_at_start = self.journal.read().begun;
        self.program = orders.target.binary.clone();
        let mut command = Command::new(&self.program);
        command
            .args(orders.corpus)
            .arg(format!("-artifact_prefix={}/", artifacts(&self.folder).display()))
            .arg(format!("-max_len={CASE_MAX}"))
            // This command watches time, memory and leaks itself: it knows the case in flight, and libFuzzer's
            // search for leaks after a single run takes as long as a thousand runs.
            .args(["-timeout=0", "-rss_limit_mb=0", "-detect_leaks=0"])
            // Entropic looks through all rare features for each one a run shows: more than the case costs.
            .arg("-entropic=0");
        if let Some(deadline) = orders.deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            if left < Duration::from_secs(1) {
                return Ok(());
            }
            command.arg(format!("-max_total_time={}", left.as_secs()));
        }
        if let Some(runs) = orders.runs {
            let left = runs.saturating_sub(self.begun_at_start);
            if left == 0 {
                return Ok(());
            }
            command.arg(format!("-runs={left}"));
        }
        command
            .envs(orders.target.variables.iter().map(|(name, value)| (name, value)))
            .env(outbox::VARIABLE, &self.folder)
            // What a killed process leaves behind goes with the session.
            .env("TMPDIR", &self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut process = process::tether(&mut command).spawn().at(&orders.target.binary)?;
        let errors = process.stderr.take().expect("it was asked for");
        let log = LastWords::listen(errors, |_| {});
        let seen = (self.journal.read().progress(), Instant::now());
        self.running = Some(Running { process, log, seen });
        Ok(())
    }

    /// New violations that the target has left.
    pub fn collect(&mut self) -> Result<Vec<Found>, Failure> {
        outbox::collect(&self.folder, &mut self.collected).at(&self.folder)
    }

    /// How the process ended, if it has. One that hangs, or takes too much memory, is ended.
    pub fn ending(&mut self, orders: &Orders) -> Result<Option<Ending>, Failure> {
        let Some(running) = &mut self.running else { return Ok(None) };
        if let Some(status) = running.process.try_wait().at(&self.folder)? {
            return self.autopsy(arena::death(process::Death::of(status))).map(Some);
        }
        let state = self.journal.read();
        if state.progress() != running.seen.0 || !state.in_flight() {
            running.seen = (state.progress(), Instant::now());
        }
        let death = if running.seen.1.elapsed() > orders.case_limit {
            Death::Hang
        } else if process::resident(&running.process) > orders.memory_limit {
            Death::Memory
        } else {
            return Ok(None);
        };
        process::signal(&running.process, trace::WHERE);
        let deadline = Instant::now() + Duration::from_secs(1);
        while !self.journal.has_whole_trace() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        process::signal(&running.process, libc::SIGKILL);
        running.process.wait().at(&self.folder)?;
        self.autopsy(death).map(Some)
    }

    /// Ends the process: politely first, so that libFuzzer finishes what it writes.
    pub fn end(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        process::signal(&running.process, libc::SIGINT);
        let deadline = Instant::now() + Duration::from_secs(2);
        if !matches!(process::wait_until(&mut running.process, deadline), Ok(Some(_))) {
            process::signal(&running.process, libc::SIGKILL);
            let _ = running.process.wait();
        }
    }

    /// Ends a process that has not ended by itself and starts the next, which reads new steering.
    pub fn renew(&mut self, orders: &Orders) -> Result<(), Failure> {
        let Some(running) = &mut self.running else { return Ok(()) };
        process::signal(&running.process, libc::SIGINT);
        let deadline = Instant::now() + Duration::from_secs(2);
        let status = process::wait_until(&mut running.process, deadline).at(&self.folder)?;
        // While it starts, libFuzzer does not catch the signal yet, and Python may make an exception of it.
        let has_begun = self.journal.read().begun != self.begun_at_start;
        let is_ours = |status: ExitStatus| {
            !has_begun
                || status.code() == Some(INTERRUPTED)
                || process::Death::of(status) == process::Death::Signal(libc::SIGINT)
        };
        if status.is_some_and(|status| !is_ours(status)) {
            // It died of something else: that is for `ending` to tell.
            return Ok(());
        }
        self.end();
        self.journal.settle();
        // A file that libFuzzer wrote when it was interrupted is no death.
        self.take_artifact();
        self.start(orders)
    }

    /// The next process goes round such cases.
    pub fn steer(&self, steering: &Steering) -> Result<(), Failure> {
        let path = Outbox::steer(&self.folder);
        steering.write(&path).at(&path)
    }

    fn autopsy(&mut self, death: Death) -> Result<Ending, Failure> {
        let Some(running) = self.running.take() else { return Ok(Ending::Orderly) };
        let state = self.journal.read();
        let signal = self.journal.trace().map(|trace| trace.signal);
        let frames = frames::of(&self.journal, &Outbox::stack(&self.folder), &self.program);
        self.journal.settle();
        if death == Death::Exit(0) && !state.in_flight() {
            return Ok(Ending::Orderly);
        }
        // The listener reads on for a moment after the pipe's writer is gone.
        std::thread::sleep(Duration::from_millis(50));
        let log = running.log.text();
        let in_flight = state.case.as_ref().filter(|_| state.in_flight()).cloned();
        // libFuzzer's file comes first: a leak shows after its case has ended.
        let bytes = self.take_artifact().or(in_flight);
        if state.begun == self.begun_at_start {
            self.vain += 1;
        } else {
            self.vain = 0;
        }
        let Some(bytes) = bytes.filter(|_| self.vain < VAIN_STARTS) else {
            return Err(Failure::new(format!(
                "the fuzz target ended ({death}) and names no case{}",
                last_line(&log)
            )));
        };
        let case = Case::decode(&bytes);
        if let Err(failure) = arena::own_defect(&case, &log) {
            return Ok(Ending::Defect { case, failure });
        }
        let crash = |death| Cause::Crash(Crash { death, frames: frames.clone() });
        let cause = match (death, signal) {
            // These are the library's own doing; whatever the log says came before.
            (Death::Signal(_) | Death::Exit(0) | Death::Hang | Death::Memory, _) => crash(death),
            // libFuzzer or a sanitizer caught the signal and exited.
            (Death::Exit(_), signal) => match arena::cause_in(&log).filter(|told| !is_leak(told)) {
                Some(Cause::Crash(told)) => crash(signal.map_or(told.death, Death::Signal)),
                Some(violation) => violation,
                None => crash(death),
            },
        };
        Ok(Ending::Killed { case, cause })
    }

    /// The input that libFuzzer wrote when it died; the file is removed, for the next death is another.
    fn take_artifact(&self) -> Option<Vec<u8>> {
        let mut taken = None;
        for entry in std::fs::read_dir(artifacts(&self.folder)).ok()?.flatten() {
            let is_death = !entry.file_name().to_string_lossy().starts_with("slow-unit-");
            if is_death {
                taken = std::fs::read(entry.path()).ok();
            }
            let _ = std::fs::remove_file(entry.path());
        }
        taken
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

/// What LeakSanitizer says after a batch stands in the log, and is nobody's death.
fn is_leak(told: &Cause) -> bool {
    matches!(told, Cause::Violation(violation) if violation.evidence.key == "leak")
}

fn artifacts(folder: &Path) -> PathBuf {
    folder.join("artifacts")
}

fn last_line(log: &str) -> String {
    match log.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => format!("; its last words: {}", line.trim()),
        None => String::new(),
    }
}
