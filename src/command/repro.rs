//! `repro`: the stand-alone Python script that shows a case, and whether it shows the fault.

use super::arena::{self, Arena};
use super::lab::Lab;
use super::options::{Output, Subject, read_case};
use super::{Failure, Status, print};
use clap::Args;
use dlpack_fuzz::finding::{self, Cause, Death, Finding, Limits, Reproduced};
use dlpack_fuzz::host::interpreter::python_of;
use dlpack_fuzz::host::worker::Worker;
use serde_json::json;
use std::time::{Duration, Instant};

/// Print a stand-alone Python script for a case, or run it
///
/// The script uses Python, ctypes and the library only, so that it can be pasted into an issue. With --run
/// it runs in a fresh interpreter of the environment. There is a script for each fault that the case shows
/// in this environment, and none for a case that shows no fault. Known findings count as faults here.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dlpack-fuzz repro \"array(shape=(4,), dtype='void[0]', strides=(8,)).__dlpack__()\" > repro.py
  dlpack-fuzz repro --env envs/numpy-2.3.5 findings/numpy/EXC-DEVICE-ValueError/case.txt --run

Exit status: 0 the case breaks nothing, 1 it shows a fault (with --run: the script shows it), 2 could not run.")]
pub struct Repro {
    /// Case text, or a file with its text (.txt) or its bytes
    #[arg(required_unless_present = "text")]
    case: Option<String>,
    /// The same as CASE
    #[arg(long = "case", value_name = "TEXT", conflicts_with = "case")]
    text: Option<String>,
    /// Run the script in a fresh interpreter and say whether it shows the fault
    #[arg(long)]
    run: bool,
    #[command(flatten)]
    subject: Subject,
    #[command(flatten)]
    output: Output,
}

impl Repro {
    pub fn run(self) -> Result<Status, Failure> {
        let case = read_case(self.case.or(self.text).as_deref().unwrap_or_default())?;
        let lab = Lab::open(&self.subject)?;
        let mut worker = lab.worker(None)?;
        let causes = arena::causes(&mut Arena::Worker(&mut worker), &case)?;
        if causes.is_empty() && !self.output.json {
            eprintln!("dlpack-fuzz: the case breaks no rule and kills nothing: {case}");
        }
        let mut findings = Vec::new();
        for cause in causes {
            let versions = worker.versions().clone();
            let mut finding = lab.subject.finding(case.clone(), cause, versions);
            finding.script = script(&mut worker, &finding)?;
            if self.run {
                finding.reproduced = run(&lab, &finding, lab.script_limits().time);
            }
            findings.push(finding);
        }
        print(&if self.output.json {
            format!("{:#}\n", json!(findings))
        } else {
            as_text(&findings, self.output)
        });
        let shown = match self.run {
            true => findings.iter().any(|finding| finding.reproduced == Reproduced::Confirmed),
            false => !findings.is_empty(),
        };
        Ok(if shown { Status::Findings } else { Status::NothingNew })
    }
}

/// The scripts one after another, each with what came of it as a comment: the whole is still Python.
fn as_text(findings: &[Finding], output: Output) -> String {
    let mut text = String::new();
    for finding in findings {
        text += &finding.script;
        if finding.reproduced != Reproduced::NotTried && !output.quiet {
            text += &format!("# {}: {}\n", finding.identity, finding.reproduced);
        }
    }
    text
}

/// Gives a finding its script and says whether a fresh interpreter shows the fault with it, if there is time
/// to find out.
pub fn attach(
    lab: &Lab,
    worker: &mut Worker,
    finding: &mut Finding,
    until: Option<Instant>,
) -> Result<(), Failure> {
    finding.script = script(worker, finding)?;
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let patience = lab.script_limits().time;
    let limit = left.map_or(patience, |left| left.min(patience));
    // A script that is ended early would look as if it hung.
    let is_hang = matches!(&finding.cause, Cause::Crash(crash) if crash.death == Death::Hang);
    if limit.is_zero() || is_hang && limit < patience {
        return Ok(());
    }
    finding.reproduced = match run(lab, finding, limit) {
        Reproduced::Failed(_) if left.is_some() && until <= Some(Instant::now()) => {
            Reproduced::NotTried
        }
        reproduced => reproduced,
    };
    Ok(())
}

fn script(worker: &mut Worker, finding: &Finding) -> Result<String, Failure> {
    let build = worker.source(&finding.case)?;
    Ok(finding::reproducer(&finding::ReproInput {
        case: &finding.case,
        cause: &finding.cause,
        build: &build,
        versions: &finding.versions,
        own: finding.case.tensor.device,
    }))
}

fn run(lab: &Lab, finding: &Finding, time: Duration) -> Reproduced {
    let limits = Limits { time, ..lab.script_limits() };
    finding::confirm(&finding.script, &finding.cause, &python_of(&lab.env), limits)
}
