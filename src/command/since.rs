//! **Since**: what is new against an earlier release, another environment, or an earlier run.
//!
//! Goes in: what was found now, and [`Earlier`]. Comes out: [`Since`]: findings by their identity, new, gone
//! and common. A sweep that was cut short meets less than a whole one, so that what only one side has found
//! is run on the other before it is called new or gone; against a file there is only this side to ask.

use super::arena::{self, Arena};
use super::lab::Lab;
use super::options::Subject;
use super::record::{Kept, Recorder};
use super::summary::StatusLine;
use super::sweep::{Orders, Swept, sweep};
use super::{At, Failure};
use dlpack_fuzz::finding::{Finding, Identity};
use dlpack_fuzz::host::Versions;
use dlpack_fuzz::host::scratch::Scratch;
use dlpack_fuzz::report;
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What was found earlier.
pub struct Earlier<'a> {
    place: PathBuf,
    versions: Versions,
    findings: Vec<Finding>,
    /// Runs cases in the earlier environment.
    recorder: Option<Recorder<'a>>,
}

/// The comparison.
pub struct Since {
    place: PathBuf,
    versions: Versions,
    new: Vec<Identity>,
    gone: Vec<Finding>,
    common: Vec<Identity>,
}

/// The part of `check --json` that is read back.
#[derive(Deserialize)]
struct File {
    backend: String,
    versions: Versions,
    findings: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    finding: Finding,
}

/// The lab of the earlier environment; `None` if the path is a file.
pub fn lab(subject: &Subject, path: &Path) -> Result<Option<Lab>, Failure> {
    match path.is_dir() {
        true => Lab::open(&Subject { env: Some(path.to_owned()), ..subject.clone() }).map(Some),
        false => Ok(None),
    }
}

impl<'a> Earlier<'a> {
    /// Sweeps the earlier environment; its findings are kept nowhere.
    pub fn sweep(lab: &'a Lab, orders: &Orders, line: &StatusLine) -> Result<Self, Failure> {
        let scratch = Scratch::new().at(&std::env::temp_dir())?;
        let recorder = Recorder::open(lab, scratch.path(), None)?;
        let Swept { mut recorder, failed, .. } = sweep(lab, recorder, orders, line)?;
        match failed {
            Some(failure) => Err(failure),
            None => Ok(Self {
                place: lab.env.clone(),
                versions: recorder.worker().versions().clone(),
                findings: recorder.kept().iter().map(|kept| kept.finding.clone()).collect(),
                recorder: Some(recorder),
            }),
        }
    }

    /// Reads the output of `check --json`.
    pub fn read(path: &Path, backend: &str) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).at(path)?;
        let file: File = serde_json::from_str(&text).map_err(|error| {
            Failure::new(format!(
                "{}: not what `check --json` writes ({error}); --since takes that or an environment",
                path.display()
            ))
        })?;
        if file.backend != backend {
            return Err(Failure::new(format!(
                "{}: a check of {}, not of {backend}",
                path.display(),
                file.backend
            )));
        }
        Ok(Self {
            place: path.to_owned(),
            versions: file.versions,
            findings: file.findings.into_iter().map(|found| found.finding).collect(),
            recorder: None,
        })
    }

    /// Compares; `now` is the recorder of the sweep that follows.
    pub fn compare(mut self, now: &mut Recorder) -> Result<Since, Failure> {
        let (mut new, mut common, mut gone) = (Vec::new(), Vec::new(), Vec::new());
        for Kept { finding, .. } in now.kept() {
            let is_met = self.findings.iter().any(|earlier| earlier.identity == finding.identity);
            let is_old = is_met
                || match &mut self.recorder {
                    Some(recorder) => shows(recorder, finding)?,
                    None => false,
                };
            if is_old { &mut common } else { &mut new }.push(finding.identity.clone());
        }
        for finding in self.findings {
            if common.contains(&finding.identity) {
                continue;
            }
            match shows(now, &finding)? {
                true => common.push(finding.identity),
                false => gone.push(finding),
            }
        }
        Ok(Since { place: self.place, versions: self.versions, new, gone, common })
    }
}

/// The finding's case shows it on the recorder's side, too.
fn shows(recorder: &mut Recorder, finding: &Finding) -> Result<bool, Failure> {
    arena::shows(&mut Arena::Worker(recorder.worker()), &finding.case, &finding.cause)
}

impl Since {
    pub fn is_new(&self, finding: &Finding) -> bool {
        self.new.contains(&finding.identity)
    }

    /// One line for each finding, and the counts.
    pub fn text(&self) -> String {
        let earlier = format!("{} ({})", report::versions(&self.versions), self.place.display());
        let mut text = format!("Since {earlier}:\n");
        self.new.iter().for_each(|identity| _ = writeln!(text, "  new     {identity}"));
        for finding in &self.gone {
            _ = writeln!(text, "  gone    {}: {}", finding.identity, finding.case);
        }
        self.common.iter().for_each(|identity| _ = writeln!(text, "  common  {identity}"));
        let counts = [self.new.len(), self.gone.len(), self.common.len()];
        let _ = writeln!(text, "{} new, {} gone, {} common", counts[0], counts[1], counts[2]);
        text
    }

    pub fn json(&self) -> serde_json::Value {
        json!({
            "place": self.place,
            "versions": self.versions,
            "new": self.new,
            "gone": self.gone,
            "common": self.common,
        })
    }
}
