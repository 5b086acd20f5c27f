//! The parent's side of a worker: asks, waits, and starts the child anew when it is gone.

use super::{Answer, Broken, Fatality, Found, Launch, Reply, Request, Stretch, journal, stack};
use crate::case::Case;
use crate::host::journal::Journal;
use crate::host::process::{self, Death, LastWords};
use crate::host::scratch::Scratch;
use crate::host::{Error, Versions, frames, trace};
use crate::oracle::{Grade, Judgement, RuleSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How often a child is looked at.
const TICK: Duration = Duration::from_millis(50);
/// How long an interpreter may take to start and to import the library, on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(120);
/// How long a child that hangs may take to write where it does.
const TRACE_LIMIT: Duration = Duration::from_secs(1);
/// A hang is believed when a second run takes this many times the limit.
pub const PATIENCE: u32 = 10;

/// The parent's side.
pub struct Worker {
    launch: Launch,
    journal: Journal,
    running: Option<Running>,
    versions: Versions,
    sweep_len: u64,
    /// Where it was seen to hang with all patience.
    hangs: Vec<Vec<String>>,
    /// Holds the journal's file.
    scratch: Scratch,
}

struct Running {
    child: Child,
    requests: ChildStdin,
    replies: mpsc::Receiver<Reply>,
    last_words: LastWords,
}

/// Why no reply came.
enum Silence {
    Ended,
    TooLong,
}

impl Worker {
    /// Starts the child and waits until its interpreter and library are loaded.
    pub fn start(launch: Launch) -> Result<Self, Error> {
        let scratch = Scratch::new().map_err(|error| {
            Error(format!("no temporary folder can be made: {error}; set TMPDIR"))
        })?;
        let journal = Journal::create(&scratch.path().join("journal")).map_err(|error| {
            Error(format!(
                "no journal can be made in {}: {error}; set TMPDIR",
                scratch.path().display()
            ))
        })?;
        let versions = Versions::default();
        let hangs = Vec::new();
        let mut worker =
            Self { launch, journal, running: None, versions, sweep_len: 0, hangs, scratch };
        worker.running()?;
        Ok(worker)
    }

    /// What takes part; known since the start.
    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// Number of cases of the sweep.
    pub fn sweep_len(&self) -> u64 {
        self.sweep_len
    }

    /// The journal, to be read from another thread; it outlives the worker.
    pub fn monitor(&self) -> Result<Journal, Error> {
        journal(&self.scratch.path().join("journal"))
    }

    /// Runs and judges one case. A hang is only believed when it repeats with ten times the limit, or is in the
    /// place of one that was believed; too much memory, when a new child takes it too.
    pub fn judge(&mut self, case: &Case, grade: Grade) -> Result<Answer, Error> {
        match self.judge_within(case, grade, self.launch.limit)? {
            Answer::Died(it) if is_hang(&it) && !self.hangs.contains(&it.frames) => {}
            Answer::Died(Fatality { death: Death::Memory, .. }) => {}
            answer => return Ok(answer),
        }
        let answer = self.judge_within(case, grade, PATIENCE * self.launch.limit)?;
        if let Answer::Died(it) = &answer
            && is_hang(it)
            && !it.frames.is_empty()
        {
            self.hangs.push(it.frames.clone());
        }
        Ok(answer)
    }

    /// Python statements that leave the case's array in `x`.
    pub fn source(&mut self, case: &Case) -> Result<String, Error> {
        let request = Request::Source { case: case.to_string() };
        match self.ask(&request, self.launch.limit.max(Duration::from_secs(10)))? {
            Ok(Reply::Source(source)) => Ok(source),
            Ok(Reply::Failed(reason)) => Err(Error(reason)),
            Ok(other) => Err(Error(format!("a worker answered {other:?} to a request for source"))),
            Err(fatality) => {
                Err(Error(format!("a worker died while it wrote source: {}", fatality.death)))
            }
        }
    }

    /// What the case's call answers, in words; `None` if the backend has no such array. A death is an
    /// answer, too.
    pub fn answer(&mut self, case: &Case) -> Result<Option<String>, Error> {
        let request = Request::Answer { case: case.to_string() };
        match self.ask(&request, self.launch.limit)? {
            Ok(Reply::Answer(answer)) => Ok(Some(answer)),
            Ok(Reply::Inexpressible(_)) => Ok(None),
            Ok(Reply::Failed(reason)) => Err(Error(reason)),
            Ok(other) => Err(Error(format!("a worker answered {other:?} to a question"))),
            Err(fatality) => Ok(Some(format!("the process dies: {}", fatality.death))),
        }
    }

    /// The type of the backend's arrays has a C exchange API.
    pub fn has_exchange_api(&mut self) -> Result<bool, Error> {
        match self.ask(&Request::HasExchangeApi, self.launch.limit)? {
            Ok(Reply::HasExchangeApi(has)) => Ok(has),
            Ok(other) => Err(Error(format!("a worker answered {other:?} about the exchange API"))),
            Err(fatality) => {
                Err(Error(format!("a worker died over its exchange API: {}", fatality.death)))
            }
        }
    }

    /// Runs the cases at `from`, `from + step`, … of the sweep until they end, one kills the child, or
    /// `stop` says so; `found` hears of every broken rule, at any grade.
    pub fn sweep(
        &mut self,
        from: u64,
        step: u64,
        mut found: impl FnMut(Found),
        stop: impl Fn() -> bool,
    ) -> Result<Stretch, Error> {
        let limit = self.launch.limit;
        self.send(&Request::Sweep { from, step })?;
        let mut seen = (self.journal.read().progress(), Instant::now());
        loop {
            match self.receive(TICK)? {
                Ok(Reply::Found(event)) => found(event),
                Ok(Reply::Swept) => return Ok(Stretch::Over),
                Ok(Reply::Failed(reason)) => return Err(Error(reason)),
                Ok(other) => return Err(Error(format!("a worker answered {other:?} to a sweep"))),
                Err(Silence::TooLong) => {
                    let progress = self.journal.read().progress();
                    if progress != seen.0 {
                        seen = (progress, Instant::now());
                    }
                    if stop() {
                        self.running = None;
                        self.journal.settle();
                        return Ok(Stretch::Stopped);
                    }
                    if self.is_too_large() {
                        return self.after_death(Death::Memory, from);
                    }
                    if seen.1.elapsed() > limit && self.journal.read().in_flight() {
                        return self.after_death(Death::Hang(limit), from);
                    }
                }
                Err(Silence::Ended) => {
                    let death = self.reap();
                    return self.after_death(death, from);
                }
            }
        }
    }

    /// A sweeping child is gone: what of, and at which case.
    fn after_death(&mut self, death: Death, from: u64) -> Result<Stretch, Error> {
        let fatality = self.bury(death);
        let state = self.journal.read();
        self.journal.settle();
        if !state.in_flight() && matches!(death, Death::Hang(_) | Death::Memory) {
            return Ok(Stretch::Disturbed { place: state.place });
        }
        if !state.has_suspect(from) {
            return Err(Error(format!(
                "a worker died ({}) before the case at place {from} of the sweep{}",
                fatality.death,
                quote(&fatality.last_words)
            )));
        }
        Ok(Stretch::Died { fatality, place: state.place, case: state.case.unwrap_or_default() })
    }

    /// As [`Worker::judge`], but believes the first hang: for cases like one that was seen to hang.
    pub fn judge_once(&mut self, case: &Case, grade: Grade) -> Result<Answer, Error> {
        self.judge_within(case, grade, self.launch.limit)
    }

    fn judge_within(
        &mut self,
        case: &Case,
        grade: Grade,
        limit: Duration,
    ) -> Result<Answer, Error> {
        let request = Request::Judge { case: case.to_string(), grade };
        match self.ask(&request, limit)? {
            Ok(Reply::Judged { checked, fired, broken }) => Ok(Answer::Judged(Judgement {
                checked: RuleSet::from_words(checked),
                fired: RuleSet::from_words(fired),
                violations: broken.into_iter().filter_map(Broken::violation).collect(),
            })),
            Ok(Reply::Inexpressible(reason)) => Ok(Answer::Inexpressible(reason)),
            Ok(Reply::Failed(reason)) => Err(Error(reason)),
            Ok(other) => Err(Error(format!("a worker answered {other:?} to a case"))),
            Err(fatality) => Ok(Answer::Died(fatality)),
        }
    }

    fn ask(
        &mut self,
        request: &Request,
        limit: Duration,
    ) -> Result<Result<Reply, Fatality>, Error> {
        self.send(request)?;
        let mut seen = (self.journal.read().progress(), Instant::now());
        loop {
            let death = match self.receive(TICK.min(limit))? {
                Ok(reply) => return Ok(Ok(reply)),
                Err(Silence::Ended) => self.reap(),
                Err(Silence::TooLong) if self.is_too_large() => Death::Memory,
                Err(Silence::TooLong) => {
                    let progress = self.journal.read().progress();
                    if progress != seen.0 {
                        // It was measuring: it has as much time again.
                        seen = (progress, Instant::now());
                    }
                    if seen.1.elapsed() < limit {
                        continue;
                    }
                    Death::Hang(limit)
                }
            };
            let fatality = self.bury(death);
            self.journal.settle();
            return Ok(Err(fatality));
        }
    }

    /// Sends to the child, to a new one if the last has died since its last answer.
    fn send(&mut self, request: &Request) -> Result<(), Error> {
        let mut line = serde_json::to_string(request).expect("a request is plain data");
        line.push('\n');
        if self.running()?.requests.write_all(line.as_bytes()).is_err() {
            self.running = None;
            (self.running()?.requests.write_all(line.as_bytes()))
                .map_err(|error| Error(format!("a worker takes no requests: {error}")))?;
        }
        Ok(())
    }

    fn receive(&mut self, limit: Duration) -> Result<Result<Reply, Silence>, Error> {
        Ok(match self.running()?.replies.recv_timeout(limit) {
            Ok(reply) => Ok(reply),
            Err(RecvTimeoutError::Timeout) => Err(Silence::TooLong),
            Err(RecvTimeoutError::Disconnected) => Err(Silence::Ended),
        })
    }

    /// Waits for a child that has closed its replies, which it does when it ends.
    fn reap(&mut self) -> Death {
        let Some(running) = &mut self.running else { return Death::Exit(-1) };
        let deadline = Instant::now() + Duration::from_secs(5);
        match process::wait_until(&mut running.child, deadline) {
            Ok(Some(status)) => Death::of(status),
            // It closed its pipes and lives on: as good as dead.
            _ => Death::Hang(Duration::from_secs(5)),
        }
    }

    fn bury(&mut self, death: Death) -> Fatality {
        let last_words = match self.running.take() {
            None => String::new(),
            Some(mut running) => {
                if matches!(death, Death::Hang(_) | Death::Memory) {
                    self.ask_where(&running.child);
                }
                running.end();
                // The listener reads on for a moment after the pipe's writer is gone.
                std::thread::sleep(Duration::from_millis(20));
                running.last_words.text()
            }
        };
        let stack = stack(&self.scratch.path().join("journal"));
        let frames = frames::of(&self.journal, &stack, &self.launch.program);
        Fatality { death, last_words, frames }
    }

    /// Lets a child that runs on write where it does.
    fn ask_where(&self, child: &Child) {
        process::signal(child, trace::WHERE);
        let deadline = Instant::now() + TRACE_LIMIT;
        while !self.journal.has_whole_trace() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// The child occupies more memory than it may.
    fn is_too_large(&self) -> bool {
        let running = self.running.as_ref();
        running.is_some_and(|running| process::resident(&running.child) > self.launch.memory)
    }

    /// The child, started if there is none.
    fn running(&mut self) -> Result<&mut Running, Error> {
        if self.running.is_none() {
            let mut running = self.spawn()?;
            match running.replies.recv_timeout(START_LIMIT) {
                Ok(Reply::Ready { versions, sweep }) => {
                    self.versions = versions;
                    self.sweep_len = sweep;
                }
                Ok(Reply::Failed(reason)) => return Err(Error(reason)),
                Ok(other) => return Err(Error(format!("a worker began with {other:?}"))),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(Error(format!(
                        "the interpreter did not start within {} s; see `dlpack-fuzz doctor`",
                        START_LIMIT.as_secs()
                    )));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let end = match running.child.wait() {
                        Ok(status) => Death::of(status).to_string(),
                        Err(error) => error.to_string(),
                    };
                    std::thread::sleep(Duration::from_millis(20));
                    let words = running.last_words.text();
                    return Err(Error(format!(
                        "a worker died at its start ({end}){}; see `dlpack-fuzz doctor`",
                        quote(&words)
                    )));
                }
            }
            self.running = Some(running);
        }
        Ok(self.running.as_mut().expect("it was just started"))
    }

    fn spawn(&self) -> Result<Running, Error> {
        let mut command = Command::new(&self.launch.program);
        command
            .args(&self.launch.arguments)
            .arg("--journal")
            .arg(self.scratch.path().join("journal"))
            // What a killed child leaves behind goes with the worker.
            .env("TMPDIR", self.scratch.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = process::tether(&mut command).spawn().map_err(|error| {
            Error(format!("cannot start {}: {error}", self.launch.program.display()))
        })?;
        let requests = child.stdin.take().expect("it was asked for");
        let output = child.stdout.take().expect("it was asked for");
        let errors = child.stderr.take().expect("it was asked for");
        let (sender, replies) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                // A broken line is a death in mid-sentence: the channel closes and the parent reaps.
                let Some(reply) = line.ok().and_then(|line| serde_json::from_str(&line).ok())
                else {
                    break;
                };
                if sender.send(reply).is_err() {
                    break;
                }
            }
        });
        Ok(Running { child, requests, replies, last_words: LastWords::listen(errors, |_| {}) })
    }
}

impl Running {
    fn end(&mut self) {
        process::signal(&self.child, libc::SIGKILL);
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.end();
        }
    }
}

fn is_hang(fatality: &Fatality) -> bool {
    matches!(fatality.death, Death::Hang(_))
}

/// The last line of what a process said, to be put into a sentence.
fn quote(words: &str) -> String {
    match words.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => format!(": {}", line.trim()),
        None => String::new(),
    }
}
