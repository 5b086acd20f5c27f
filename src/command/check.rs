//! `check`: the exhaustive sweep of one backend, and what is new in it since another.

use super::lab::{Lab, SweepKind};
use super::options::{Effort, Keeping, Reports, Subject};
use super::record::Recorder;
use super::since::{self, Earlier};
use super::summary::{StatusLine, Summary};
use super::sweep::{Orders, sweep};
use super::{Failure, Status};
use clap::Args;
use dlpack_fuzz::host::process;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Make every kind of call on every kind of array, once
///
/// Every row of the decision table with several values, times dtypes and layouts. The same cases in the
/// same order every time. Seconds while nothing crashes; each crash costs a new process. With --time the
/// whole ends then: what could not be reduced or confirmed any more is told as it was met.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dlpack-fuzz check numpy
  dlpack-fuzz check numpy --profile strict --quiet --json
  dlpack-fuzz check numpy --env envs/numpy-2.3.5
  dlpack-fuzz check numpy --since envs/numpy-2.3.5          what the newer release breaks, and mends
  dlpack-fuzz check numpy --json=now.json --since last.json --github
  dlpack-fuzz check --exchange-api --backend tvm-ffi --env envs/tvm-ffi

Exit status: 0 nothing new, 1 findings (with --since: new ones), 2 could not run.")]
pub struct Check {
    /// The same as --backend
    #[arg(value_name = "BACKEND")]
    library: Option<String>,
    /// Check the C exchange API (`__dlpack_c_exchange_api__`) of the backend's arrays instead: each of its
    /// functions on every kind of array. A backend without one cannot be checked
    #[arg(long)]
    exchange_api: bool,
    /// Compare with an earlier state: another environment (a folder), which is checked first, or what an
    /// earlier check wrote with --json. Tells new, gone and common findings, and fails for new ones only
    #[arg(long, value_name = "ENV|FILE")]
    since: Option<PathBuf>,
    #[command(flatten)]
    subject: Subject,
    #[command(flatten)]
    effort: Effort,
    #[command(flatten)]
    keeping: Keeping,
    #[command(flatten)]
    reports: Reports,
}

impl Check {
    pub fn run(mut self) -> Result<Status, Failure> {
        let started = Instant::now();
        if let Some(backend) = self.library.take() {
            self.subject.backend = backend;
        }
        self.reports.check()?;
        let kind = if self.exchange_api { SweepKind::ExchangeApi } else { SweepKind::Calls };
        let lab = Lab::open(&self.subject)?.sweeping(kind);
        let output = self.reports.output();
        process::catch_interrupts();

        let orders = |share: Option<Duration>| Orders {
            until: share.map(|share| started + share),
            runs: self.effort.runs,
            jobs: self.effort.jobs() as u64,
        };
        let time = self.effort.time();
        let earlier_lab = match &self.since {
            Some(path) => since::lab(&self.subject, path)?.map(|lab| lab.sweeping(kind)),
            None => None,
        };
        let line = StatusLine::bar(output);
        let earlier = match (&self.since, &earlier_lab) {
            (None, _) => None,
            (Some(path), None) => Some(Earlier::read(path, &self.subject.backend)?),
            (Some(_), Some(lab)) => {
                line.say(&format!("first {}", lab.env.display()));
                Some(Earlier::sweep(lab, &orders(time.map(|time| time / 2)), &StatusLine::Quiet)?)
            }
        };
        let recorder = Recorder::open(&lab, &self.keeping.findings, None)?;
        let mut swept = sweep(&lab, recorder, &orders(time), &line)?;
        let since = earlier.map(|earlier| earlier.compare(&mut swept.recorder)).transpose()?;
        let closed = swept.recorder.close(output);
        let summary = Summary {
            lab: &lab,
            versions: swept.recorder.worker().versions().clone(),
            state: swept.state,
            counts: Some(swept.counts),
            noted: &swept.noted,
            elapsed: swept.elapsed,
            kept: swept.recorder.kept(),
            known: swept.recorder.known(),
            passed: swept.recorder.passed(),
            crashes: swept.crashes,
            since: since.as_ref(),
        };
        summary.tell(&self.reports)?;
        if let Some(failure) = swept.failed {
            return Err(failure);
        }
        closed?;
        Ok(summary.status())
    }
}
