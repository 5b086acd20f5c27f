//! The **recorder** turns what a sweep or a session meets into findings: each fault once, shrunk, with a
//! reproducer that was run, and kept on disk.
//!
//! Goes in: a case with its cause, as often as it is met. A finding that cannot be written (a full disk) is
//! kept in memory, tried again with every later one, and printed in full at the end if all fails.

use super::arena::{self, Arena, Target};
use super::lab::Lab;
use super::options::Output;
use super::repro;
use super::{Failure, print};
use dlpack_fuzz::case::Case;
use dlpack_fuzz::finding::{Cause, Crash, Death, Finding, Identity, Store};
use dlpack_fuzz::host::steering::Steering;
use dlpack_fuzz::host::worker::Worker;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long one finding may be shrunk. A crash takes a new process per try, about a fifth of a second.
const SHRINK_LIMIT: Duration = Duration::from_secs(20);

pub struct Recorder<'a> {
    lab: &'a Lab,
    store: Store,
    worker: Worker,
    target: Option<Target>,
    kept: Vec<Kept>,
    /// Faults that are findings of this session: met again they cost nothing.
    met: Vec<Cause>,
    /// By finding, the places it was met at.
    sites: Vec<(Identity, Crash)>,
    /// By finding, the deaths that were seen to be of it.
    understood: Vec<(Identity, Crash, Steering)>,
    /// Meetings with findings that are known.
    known: u64,
}

/// A finding of this session.
#[derive(Clone, Debug)]
pub struct Kept {
    pub finding: Finding,
    /// Processes that died of it; 1 for a broken rule, which every process tells once.
    pub count: u64,
    /// Its folder, or why it has none.
    pub folder: Result<PathBuf, String>,
}

/// What became of something that was met.
pub struct Recorded {
    pub met: Met,
    /// The simplest case that shows the fault; `None` if it was not looked for, or did not show again.
    pub simplest: Option<Case>,
}

impl Recorded {
    /// What a session goes round from now on, after `case` killed its child.
    pub fn teach(&self, case: &Case, steering: &mut Steering) {
        match (&self.met, &self.simplest) {
            (Met::Gone, _) => {}
            (_, Some(simplest)) => steering.learn(case, simplest),
            (_, None) => steering.go_round(case),
        }
    }
}

pub enum Met {
    /// It is known and reported upstream.
    Known,
    /// It was met before in this session.
    Again,
    /// A new finding, the last of [`Recorder::kept`].
    New,
    /// It took too long or too much once, or was killed, and not again: a busy machine, what earlier cases left
    /// behind, or somebody who kills processes.
    Gone,
}

impl<'a> Recorder<'a> {
    pub fn open(lab: &'a Lab, findings: &Path, target: Option<Target>) -> Result<Self, Failure> {
        Ok(Self {
            lab,
            store: Store::open(findings)?,
            worker: lab.worker(None)?,
            target,
            kept: Vec::new(),
            met: Vec::new(),
            sites: Vec::new(),
            understood: Vec::new(),
            known: 0,
        })
    }

    pub fn kept(&self) -> &[Kept] {
        &self.kept
    }

    pub fn known(&self) -> u64 {
        self.known
    }

    pub fn worker(&mut self) -> &mut Worker {
        &mut self.worker
    }

    /// Takes what was met.
    pub fn record(&mut self, case: &Case, cause: Cause) -> Result<Recorded, Failure> {
        if self.is_known(case, &cause) {
            self.known += 1;
            return Ok(Recorded { met: Met::Known, simplest: None });
        }
        if let Some(recorded) = self.recognize(case, &cause) {
            return Ok(recorded);
        }
        // A death that left no trace has nothing that says it is the same fault again: only shrinking shows that.
        if matches!(cause, Cause::Violation(_))
            && self.met.iter().any(|met| arena::is_same(met, &cause))
        {
            return Ok(Recorded { met: Met::Again, simplest: None });
        }
        let met_as = cause.clone();
        let reduced = self.reduce(case, &cause)?;
        let simplest = reduced.as_ref().map(|(case, _)| case.clone());
        let met = match reduced {
            None if is_from_outside(&cause) => Met::Gone,
            // It did happen: it is kept as it was met.
            None => self.take(case.clone(), cause)?,
            Some((simplest, cause)) => {
                let identity = Identity::of(&simplest, &cause);
                if let (Cause::Crash(met), Cause::Crash(crash)) = (&met_as, &cause) {
                    self.understand(case, &simplest, crash, identity.clone());
                    // A loop may be left at another of its instructions.
                    self.understand(case, &simplest, met, identity);
                }
                self.take(simplest, cause)?
            }
        };
        Ok(Recorded { met, simplest })
    }

    /// A death in the place of another, or like some that were all seen to be of one finding. Every death was one of
    /// a child that knew no rule around that fault yet, so that there may be many; each takes seconds to shrink.
    fn recognize(&mut self, case: &Case, cause: &Cause) -> Option<Recorded> {
        let Cause::Crash(crash) = cause else { return None };
        let identity = self.sites.iter().find(|(_, site)| site.is_at(crash)).map(|(it, _)| it);
        let understood = || {
            let mut all = self.understood.iter();
            all.find(|(_, known, deaths)| known.is_like(crash) && deaths.steers(case))
        };
        let identity = identity.or_else(|| understood().map(|(identity, ..)| identity))?.clone();
        let kept = self.kept.iter_mut().find(|kept| kept.finding.identity == identity)?;
        kept.count += 1;
        let simplest = kept.finding.case.clone();
        self.understand(case, &simplest, crash, identity);
        Some(Recorded { met: Met::Again, simplest: Some(simplest) })
    }

    fn understand(&mut self, case: &Case, simplest: &Case, crash: &Crash, identity: Identity) {
        let site = (identity.clone(), crash.clone());
        if !crash.frames.is_empty() && !self.sites.contains(&site) {
            self.sites.push(site);
        }
        let place = (self.understood.iter())
            .position(|(known, like, _)| *known == identity && like.is_like(crash))
            .unwrap_or_else(|| {
                self.understood.push((identity, crash.clone(), Steering::default()));
                self.understood.len() - 1
            });
        self.understood[place].2.learn(case, simplest);
    }

    /// Takes what was reduced.
    fn take(&mut self, case: Case, cause: Cause) -> Result<Met, Failure> {
        if self.is_known(&case, &cause) {
            self.known += 1;
            return Ok(Met::Known);
        }
        let identity = Identity::of(&case, &cause);
        self.met.push(cause.clone());
        if self.is_kept(&identity, &cause) {
            return Ok(Met::Again);
        }
        let mut finding = self.lab.subject.finding(case, cause, self.worker.versions().clone());
        repro::attach(self.lab, &mut self.worker, &mut finding)?;
        self.keep(finding);
        Ok(Met::New)
    }

    /// Tries once more to write what could not be written. What still cannot be is printed, so that it is
    /// in somebody's terminal or log. (JSON output has every finding whole in any case.)
    pub fn close(&mut self, output: Output) -> Result<(), Failure> {
        self.save_again();
        let unsaved: Vec<_> = self.kept.iter().filter(|kept| kept.folder.is_err()).collect();
        if unsaved.is_empty() {
            return Ok(());
        }
        for kept in unsaved.iter().filter(|_| !output.json) {
            let text = serde_json::to_string(&kept.finding).unwrap_or_default();
            print(&format!("{text}\n"));
        }
        let reason = unsaved[0].folder.as_ref().err().cloned().unwrap_or_default();
        Err(Failure::new(format!(
            "{} of {} findings could not be written and stand in the output as JSON: {reason}",
            unsaved.len(),
            self.kept.len(),
        )))
    }

    /// The simplest case that shows the fault, and the cause as it shows there; `None` if it does not show
    /// again.
    fn reduce(&mut self, case: &Case, cause: &Cause) -> Result<Option<(Case, Cause)>, Failure> {
        let mut arena = Arena::Worker(&mut self.worker);
        // That a case hangs is believed at once where another was seen to.
        let is_believed = is_hang(cause)
            && self.understood.iter().any(|(_, known, _)| known.death == Death::Hang)
            && arena::shows(&mut arena, case, cause)?;
        let again = match is_believed {
            true => vec![cause.clone()],
            false => arena::causes(&mut arena, case)?,
        };
        let shown = (again.iter().find(|again| arena::is_same(again, cause)))
            // A sanitizer or libFuzzer names a death its own way; the worker's word is the system's.
            .or_else(|| again.iter().find(|again| matches!(again, Cause::Crash(_))))
            .cloned();
        let (mut arena, fault) = match (shown, &self.target) {
            (Some(shown), _) => (arena, shown),
            (None, Some(target)) => {
                let mut arena = Arena::Target(target);
                let again = arena::causes(&mut arena, case)?;
                match again.into_iter().find(|again| arena::is_same(again, cause)) {
                    Some(shown) => (arena, shown),
                    None => return Ok(None),
                }
            }
            (None, None) => return Ok(None),
        };
        let case = arena::shrink(&mut arena, case, &fault, SHRINK_LIMIT)?;
        if let Cause::Crash(_) = fault {
            // A death has no evidence that could be plainer now.
            return Ok(Some((case, fault)));
        }
        let shown = arena::causes(&mut arena, &case)?;
        let cause = shown.into_iter().find(|shown| arena::is_same(shown, &fault)).unwrap_or(fault);
        Ok(Some((case, cause)))
    }

    fn is_known(&self, case: &Case, cause: &Cause) -> bool {
        !self.lab.subject.ignore_known
            && self.lab.known.covers(case, cause, self.worker.versions()).is_some()
    }

    /// It is a finding of this session already; a further death is counted.
    fn is_kept(&mut self, identity: &Identity, cause: &Cause) -> bool {
        let kept = self.kept.iter_mut().find(|kept| kept.finding.identity == *identity);
        kept.map(|kept| kept.count += u64::from(matches!(cause, Cause::Crash(_)))).is_some()
    }

    fn keep(&mut self, finding: Finding) {
        self.save_again();
        let folder = self.store.save(&finding).map_err(|error| error.to_string());
        self.kept.push(Kept { finding, count: 1, folder });
    }

    fn save_again(&mut self) {
        for kept in self.kept.iter_mut().filter(|kept| kept.folder.is_err()) {
            kept.folder = self.store.save(&kept.finding).map_err(|error| error.to_string());
        }
    }
}

/// What somebody else can do to a process too; it must show again to be the exporter's.
fn is_from_outside(cause: &Cause) -> bool {
    let killed = [libc::SIGKILL, libc::SIGTERM, libc::SIGHUP, libc::SIGINT].map(Death::Signal);
    let is_limit = |death| matches!(death, Death::Hang | Death::Memory);
    matches!(cause, Cause::Crash(crash) if is_limit(crash.death) || killed.contains(&crash.death))
}

fn is_hang(cause: &Cause) -> bool {
    matches!(cause, Cause::Crash(crash) if crash.death == Death::Hang)
}
