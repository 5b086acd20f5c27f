//! A **worker**: a child process that runs cases, so that a case that kills its process kills no more.
//!
//! Goes in: a case, or a stretch of a sweep. Comes out: what the oracle said, or the [`Death`] that the
//! case caused; the worker is then started anew. Failure to start is an [`Error`].
//!
//! Requests and replies are lines of JSON on the child's standard input and output. A library may print:
//! the child therefore moves its standard output elsewhere before it loads anything ([`Bench::serve`]).

use super::journal::Journal;
use super::process::{self, Death, LastWords};
use super::scratch::Scratch;
use super::{Detail, Error, Session, Versions};
use crate::case::Case;
use crate::oracle::{self, Evidence, Grade, Judgement, Profile, RuleSet, Violation};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// How long an interpreter may take to start and to import the library, on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(120);
/// A hang is believed when a second run takes this many times the limit.
const PATIENCE: u32 = 10;

/// How to start a worker.
#[derive(Clone, Debug)]
pub struct Launch {
    /// This very program.
    pub program: PathBuf,
    /// Everything but the journal.
    pub arguments: Vec<OsString>,
    /// How long one case may take.
    pub limit: Duration,
}

/// A broken rule as it travels between processes and lies in files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken {
    pub rule: String,
    pub grade: Grade,
    pub evidence: Evidence,
}

impl From<Violation> for Broken {
    fn from(violation: Violation) -> Self {
        let Violation { rule, grade, evidence } = violation;
        Self { rule: rule.to_owned(), grade, evidence }
    }
}

impl Broken {
    /// `None` for a rule that this build does not have.
    pub fn violation(self) -> Option<Violation> {
        let rule = oracle::rules().iter().find(|rule| rule.id == self.rule)?;
        Some(Violation { rule: rule.id, grade: self.grade, evidence: self.evidence })
    }
}

/// A violation with the case that showed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Case text.
    pub case: String,
    pub broken: Broken,
}

/// What a worker answers to one case.
#[derive(Clone, Debug)]
pub enum Answer {
    Judged(Judgement),
    /// The backend has no such array, for this reason.
    Inexpressible(String),
    /// The process died of it.
    Died(Fatality),
}

/// A death with what the process said before it.
#[derive(Clone, Debug)]
pub struct Fatality {
    pub death: Death,
    /// The end of its standard error.
    pub last_words: String,
}

/// How a stretch of a sweep ended.
#[derive(Debug)]
pub enum Stretch {
    /// There are no more cases.
    Over,
    /// The caller asked to stop.
    Stopped,
    /// The case at this place killed the worker.
    Died { fatality: Fatality, place: u64, case: Vec<u8> },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Request {
    Judge { case: String, grade: Grade },
    Source { case: String },
    Sweep { from: u64, step: u64 },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Reply {
    Ready { versions: Versions, sweep: u64 },
    /// The request cannot be served, for this reason.
    Failed(String),
    Judged { checked: [u64; 4], fired: [u64; 4], broken: Vec<Broken> },
    Inexpressible(String),
    Source(String),
    Found(Found),
    Swept,
}

/// The parent's side.
pub struct Worker {
    launch: Launch,
    journal: Journal,
    running: Option<Running>,
    versions: Versions,
    sweep_len: u64,
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
        let scratch = Scratch::new()
            .map_err(|error| Error(format!("no temporary folder can be made: {error}; set TMPDIR")))?;
        let journal = Journal::create(&scratch.path().join("journal"))
            .map_err(|error| Error(format!("no journal can be made in {}: {error}; set TMPDIR", scratch.path().display())))?;
        let versions = Versions::default();
        let mut worker = Self { launch, journal, running: None, versions, sweep_len: 0, scratch };
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

    /// Runs and judges one case. A hang is only believed when it repeats with ten times the limit.
    pub fn judge(&mut self, case: &Case, grade: Grade) -> Result<Answer, Error> {
        let answer = self.judge_within(case, grade, self.launch.limit)?;
        match &answer {
            Answer::Died(Fatality { death: Death::Hang(_), .. }) => {
                self.judge_within(case, grade, PATIENCE * self.launch.limit)
            }
            _ => Ok(answer),
        }
    }

    /// Python statements that leave the case's array in `x`.
    pub fn source(&mut self, case: &Case) -> Result<String, Error> {
        let request = Request::Source { case: case.to_string() };
        match self.ask(&request, self.launch.limit.max(Duration::from_secs(10)))? {
            Ok(Reply::Source(source)) => Ok(source),
            Ok(Reply::Failed(reason)) => Err(Error(reason)),
            Ok(other) => Err(Error(format!("a worker answered {other:?} to a request for source"))),
            Err(fatality) => Err(Error(format!("a worker died while it wrote source: {}", fatality.death))),
        }
    }

    /// Runs the cases at `from`, `from + step`, … of the sweep until they end, one kills the child, or
    /// `stop` says so; `found` hears of every violation.
    pub fn sweep(
        &mut self,
        from: u64,
        step: u64,
        mut found: impl FnMut(Found),
        stop: impl Fn() -> bool,
    ) -> Result<Stretch, Error> {
        let limit = self.launch.limit;
        self.send(&Request::Sweep { from, step })?;
        let mut seen = (0, Instant::now());
        loop {
            match self.receive(Duration::from_millis(100))? {
                Ok(Reply::Found(event)) => found(event),
                Ok(Reply::Swept) => return Ok(Stretch::Over),
                Ok(Reply::Failed(reason)) => return Err(Error(reason)),
                Ok(other) => return Err(Error(format!("a worker answered {other:?} to a sweep"))),
                Err(Silence::TooLong) => {
                    let done = self.journal.read().done;
                    if done != seen.0 {
                        seen = (done, Instant::now());
                    }
                    if stop() {
                        self.running = None;
                        self.journal.settle();
                        return Ok(Stretch::Stopped);
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
        if !state.in_flight() {
            return Err(Error(format!(
                "a worker died ({}) between two cases near place {from} of the sweep{}",
                fatality.death,
                quote(&fatality.last_words)
            )));
        }
        Ok(Stretch::Died { fatality, place: state.place, case: state.case.unwrap_or_default() })
    }

    fn judge_within(&mut self, case: &Case, grade: Grade, limit: Duration) -> Result<Answer, Error> {
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

    fn ask(&mut self, request: &Request, limit: Duration) -> Result<Result<Reply, Fatality>, Error> {
        self.send(request)?;
        match self.receive(limit)? {
            Ok(reply) => Ok(Ok(reply)),
            Err(silence) => {
                let death = match silence {
                    Silence::TooLong => Death::Hang(limit),
                    Silence::Ended => self.reap(),
                };
                let fatality = self.bury(death);
                self.journal.settle();
                Ok(Err(fatality))
            }
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
                running.end();
                // The listener reads on for a moment after the pipe's writer is gone.
                std::thread::sleep(Duration::from_millis(20));
                running.last_words.text()
            }
        };
        Fatality { death, last_words }
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
                let Some(reply) = line.ok().and_then(|line| serde_json::from_str(&line).ok()) else {
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

/// The last line of what a process said, to be put into a sentence.
fn quote(words: &str) -> String {
    match words.lines().rev().find(|line| !line.trim().is_empty()) {
        Some(line) => format!(": {}", line.trim()),
        None => String::new(),
    }
}

/// The replies' way out of a child: its standard output, before anything else could write to it.
pub struct Outlet(BufWriter<File>);

impl Outlet {
    /// Takes the standard output for the replies and points descriptor 1 at standard error, so that what
    /// a library prints corrupts nothing. To be called before the interpreter starts.
    pub fn claim() -> std::io::Result<Self> {
        // SAFETY: plain calls on descriptors; the duplicate is owned by the file that is made of it.
        let file = unsafe {
            let copy = libc::fcntl(std::io::stdout().as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3);
            if copy < 0 || libc::dup2(2, 1) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            File::from_raw_fd(copy)
        };
        Ok(Self(BufWriter::new(file)))
    }

    /// Says that the child cannot work.
    pub fn fail(mut self, error: &Error) {
        let _ = self.send(&Reply::Failed(error.0.clone()));
    }

    fn send(&mut self, reply: &Reply) -> std::io::Result<()> {
        serde_json::to_writer(&mut self.0, reply)?;
        self.0.write_all(b"\n")?;
        self.0.flush()
    }
}

/// The child's side: what it works with.
pub struct Bench<'a> {
    pub session: Session,
    pub profile: Profile,
    pub journal: Journal,
    /// The number of cases of the sweep, and the case at a place of it.
    pub sweep: (u64, &'a dyn Fn(u64) -> Case),
    /// Cases to go round because they are known to kill.
    pub steers: &'a dyn Fn(&Case) -> bool,
    /// Violations to count and not to report.
    pub is_known: &'a dyn Fn(&Case, &Violation) -> bool,
}

impl Bench<'_> {
    /// Answers requests until the parent closes them.
    pub fn serve(mut self, mut outlet: Outlet) -> std::io::Result<()> {
        outlet.send(&Reply::Ready { versions: self.session.versions(), sweep: self.sweep.0 })?;
        for line in std::io::stdin().lock().lines() {
            let reply = match serde_json::from_str(&line?) {
                Ok(Request::Judge { case, grade }) => match parse(&case) {
                    Ok(case) => self.judge(&case, grade),
                    Err(reply) => reply,
                },
                Ok(Request::Source { case }) => match parse(&case) {
                    Ok(case) => Reply::Source(self.session.source(&case)),
                    Err(reply) => reply,
                },
                Ok(Request::Sweep { from, step }) => self.sweep(from, step, &mut outlet)?,
                Err(error) => Reply::Failed(format!("a request that is none: {error}")),
            };
            outlet.send(&reply)?;
        }
        Ok(())
    }

    fn judge(&mut self, case: &Case, grade: Grade) -> Reply {
        self.journal.begin(&case.encode());
        let reply = match self.session.run(case, Detail::Full) {
            Err(reason) => {
                self.journal.end(None);
                Reply::Inexpressible(reason.0.into_owned())
            }
            Ok(seen) => {
                let judgement = oracle::judge(case, &seen, &self.profile, grade);
                self.journal.end(Some(&judgement));
                Reply::Judged {
                    checked: judgement.checked.words(),
                    fired: judgement.fired.words(),
                    broken: judgement.violations.into_iter().map(Broken::from).collect(),
                }
            }
        };
        reply
    }

    fn sweep(&mut self, from: u64, step: u64, outlet: &mut Outlet) -> std::io::Result<Reply> {
        let mut reported = std::collections::HashMap::<(&'static str, String), u64>::new();
        let (cases, case_at) = self.sweep;
        for place in (from..cases).step_by(step.max(1) as usize) {
            let case = case_at(place);
            if (self.steers)(&case) {
                continue;
            }
            self.journal.begin_at(place, &case.encode());
            let Ok(seen) = self.session.run(&case, Detail::Brief) else {
                self.journal.end(None);
                continue;
            };
            let judgement = oracle::judge(&case, &seen, &self.profile, Grade::Info);
            self.journal.count(&judgement);
            self.journal.end(Some(&judgement));
            for violation in judgement.violations {
                if violation.grade < Grade::Violation || (self.is_known)(&case, &violation) {
                    continue;
                }
                // A fault that shows in every tenth case need not be told a hundred thousand times; the
                // simplest of the cases that show it is worth more than the first.
                let weight = crate::case::weight(&case);
                let fault = (violation.rule, violation.evidence.key.to_string());
                let lightest = reported.entry(fault).or_insert(u64::MAX);
                if weight < *lightest {
                    *lightest = weight;
                    let found = Found { case: case.to_string(), broken: violation.into() };
                    outlet.send(&Reply::Found(found))?;
                }
            }
        }
        Ok(Reply::Swept)
    }
}

fn parse(text: &str) -> Result<Case, Reply> {
    text.parse().map_err(|error| Reply::Failed(format!("the case {text:?} does not parse: {error}")))
}

/// The journal that the parent made for this child.
pub fn journal(path: &Path) -> Result<Journal, Error> {
    Journal::open(path)
        .map_err(|error| Error(format!("{} cannot be used: {error}", path.display())))
}
