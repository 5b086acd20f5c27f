//! The **lab**: what every command that runs cases sets up first: profile, environment, known findings and
//! workers.

use super::Failure;
use super::options::Subject;
use dlpack_fuzz::finding::{Known, Limits};
use dlpack_fuzz::host::worker::{self, Launch, Worker};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A reproducer's interpreter starts and loads the library first.
const SCRIPT_PATIENCE: u32 = 6;

pub struct Lab {
    pub subject: Subject,
    pub known: Known,
    /// The environment's folder.
    pub env: PathBuf,
    /// What its workers sweep.
    pub sweep: SweepKind,
}

/// Which list of cases `check` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepKind {
    /// Every kind of `__dlpack__` call.
    Calls,
    /// Every step on the C exchange API.
    ExchangeApi,
}

impl Lab {
    /// Checks everything that can be checked without an interpreter.
    pub fn open(subject: &Subject) -> Result<Self, Failure> {
        subject.profile()?;
        let env = subject.environment()?;
        let known = Known::load(&subject.known_folder(), &subject.backend)?;
        Ok(Self { subject: subject.clone(), known, env, sweep: SweepKind::Calls })
    }

    /// The same lab for another sweep.
    pub fn sweeping(self, sweep: SweepKind) -> Self {
        Self { sweep, ..self }
    }

    /// How long one case may take.
    pub fn case_limit(&self) -> Duration {
        Duration::from_secs_f64(self.subject.case_limit)
    }

    /// How long it takes to believe that a case hangs: once the limit, and then [`worker::PATIENCE`] times.
    pub fn hang_limit(&self) -> Duration {
        (1 + worker::PATIENCE) * self.case_limit()
    }

    /// How many bytes of memory a process that runs cases may occupy.
    pub fn memory_limit(&self) -> u64 {
        self.subject.memory_limit << 20
    }

    /// A reproducer that takes longer hangs, or shows a hang; likewise for memory.
    pub fn script_limits(&self) -> Limits {
        Limits { time: SCRIPT_PATIENCE * self.case_limit(), memory: self.memory_limit() }
    }

    /// Starts a worker; `steer` is a file of cases that its sweeps leave out.
    pub fn worker(&self, steer: Option<&Path>) -> Result<Worker, Failure> {
        let program = std::env::current_exe()
            .map_err(|error| Failure::new(format!("this program cannot find itself: {error}")))?;
        let launch = Launch {
            program,
            arguments: self.arguments(steer),
            limit: self.case_limit(),
            memory: self.memory_limit(),
        };
        Ok(Worker::start(launch)?)
    }

    fn arguments(&self, steer: Option<&Path>) -> Vec<OsString> {
        let mut arguments = vec![OsString::from("worker")];
        arguments.extend(self.subject.arguments());
        if self.sweep == SweepKind::ExchangeApi {
            arguments.push("--exchange-api".into());
        }
        if let Some(steer) = steer {
            arguments.push("--steer".into());
            arguments.push(steer.into());
        }
        arguments
    }
}
