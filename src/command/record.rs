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
use dlpack_fuzz::host::Versions;
use dlpack_fuzz::host::steering::Steering;
use dlpack_fuzz::host::worker::Worker;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long one finding may be shrunk. A crash takes a new process per try, about a fifth of a second.
const SHRINK_LIMIT: Duration = Duration::from_secs(20);
/// The part of the time left that one finding may take to shrink: the next ones have some, too.
const SHARE: u32 = 3;
/// A death is seen again, tried to shrink, and has its script written and run: each a new process.
const DEATH_STARTS: u32 = 4;

pub struct Recorder<'a> {
    lab: &'a Lab,
    store: Store,
    worker: Worker,
    /// How long the worker took to start.
    start_time: Duration,
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
    /// When everything has to be over.
    until: Option<Instant>,
    /// Deaths that were not looked into for want of time.
    passed: u64,
}

/// A finding of this session.
#[derive(Clone, Debug)]
pub struct Kept {
    pub finding: Finding,
    /// Processes that died of it; 1 for a broken rule, which every process tells once.
    pub count: u64,
    /// Its folder, or why it has none.
    pub folder: Result<PathBuf, String>,
    pub reduction: Reduction,
}

/// How far a finding's case was simplified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// As far as it goes, or as [`SHRINK_LIMIT`] allows.
    Done,
    /// The session's time was over before.
    Cut,
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
    /// There was no time to look into it.
    Passed,
}

impl<'a> Recorder<'a> {
    pub fn open(lab: &'a Lab, findings: &Path, target: Option<Target>) -> Result<Self, Failure> {
        let store = Store::open(findings)?;
        let begun = Instant::now();
        let worker = lab.worker(None)?;
        Ok(Self {
            lab,
            store,
            start_time: begun.elapsed(),
            worker,
            target,
            kept: Vec::new(),
            met: Vec::new(),
            sites: Vec::new(),
            understood: Vec::new(),
            known: 0,
            until: None,
            passed: 0,
        })
    }

    /// From now on what is met is reduced and confirmed within this time, and kept as it is after it.
    pub fn until(self, until: Option<Instant>) -> Self {
        Self { until, ..self }
    }

    pub fn kept(&self) -> &[Kept] {
        &self.kept
    }

    pub fn known(&self) -> u64 {
        self.known
    }

    /// How long an interpreter with the library took to start.
    pub fn start_time(&self) -> Duration {
        self.start_time
    }

    /// Deaths that were not looked into for want of time.
    pub fn passed(&self) -> u64 {
        self.passed
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
        if self.is_too_late_for(&cause) {
            return self.take_as_met(case, cause);
        }
        let limit = self.left().map_or(SHRINK_LIMIT, |left| (left / SHARE).min(SHRINK_LIMIT));
        let begun = Instant::now();
        let reduced = self.reduce(case, &cause, limit)?;
        let reduction = match limit < SHRINK_LIMIT && begun.elapsed() >= limit {
            true => Reduction::Cut,
            false => Reduction::Done,
        };
        let met_as = cause.clone();
        let simplest = reduced.as_ref().map(|(case, _)| case.clone());
        let met = match reduced {
            None if is_from_outside(&cause) => Met::Gone,
            // It did happen: it is kept as it was met.
            None => self.take(case.clone(), cause, reduction)?,
            Some((simplest, cause)) => {
                let identity = Identity::of(&simplest, &cause);
                if let (Cause::Crash(met), Cause::Crash(crash)) = (&met_as, &cause) {
                    self.understand(case, &simplest, crash, identity.clone());
                    // A loop may be left at another of its instructions.
                    self.understand(case, &simplest, met, identity);
                }
                self.take(simplest, cause, reduction)?
            }
        };
        Ok(Recorded { met, simplest })
    }

    /// How much time is left; `None`: any.
    fn left(&self) -> Option<Duration> {
        self.until.map(|until| until.saturating_duration_since(Instant::now()))
    }

    /// Whether a case hangs is seen by waiting, longer the second time; whether it kills costs a new process
    /// for each try.
    fn is_too_late_for(&self, cause: &Cause) -> bool {
        let needed = match cause {
            _ if is_hang(cause) => self.lab.hang_limit(),
            Cause::Crash(_) => DEATH_STARTS * self.start_time,
            Cause::Violation(_) => Duration::ZERO,
        };
        self.left().is_some_and(|left| left <= needed)
    }

    /// A broken rule is a finding as it was met. So is the first death of a kind; more deaths all look
    /// different until they are reduced, and a hang may be a busy machine.
    fn take_as_met(&mut self, case: &Case, cause: Cause) -> Result<Recorded, Failure> {
        let is_told = |kept: &Kept| arena::is_same(&kept.finding.cause, &cause);
        let is_passed = is_from_outside(&cause)
            || matches!(cause, Cause::Crash(_)) && self.kept.iter().any(is_told);
        let met = match is_passed {
            true => {
                self.passed += 1;
                Met::Passed
            }
            false => self.take(case.clone(), cause, Reduction::Cut)?,
        };
        Ok(Recorded { met, simplest: None })
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
    fn take(&mut self, case: Case, cause: Cause, reduction: Reduction) -> Result<Met, Failure> {
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
        repro::attach(self.lab, &mut self.worker, &mut finding, self.until)?;
        self.keep(finding, reduction);
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
    fn reduce(
        &mut self,
        case: &Case,
        cause: &Cause,
        limit: Duration,
    ) -> Result<Option<(Case, Cause)>, Failure> {
        let versions = self.worker.versions().clone();
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
        // A fault that is new in this case must not end as one that is known in a simpler one.
        let is_known = |case: &Case| known_to(self.lab, case, &fault, &versions);
        let case = arena::shrink(&mut arena, case, &fault, limit, &is_known)?;
        if let Cause::Crash(_) = fault {
            // A death has no evidence that could be plainer now.
            return Ok(Some((case, fault)));
        }
        let shown = arena::causes(&mut arena, &case)?;
        let cause = shown.into_iter().find(|shown| arena::is_same(shown, &fault)).unwrap_or(fault);
        Ok(Some((case, cause)))
    }

    fn is_known(&self, case: &Case, cause: &Cause) -> bool {
        known_to(self.lab, case, cause, self.worker.versions())
    }

    /// It is a finding of this session already; a further death is counted.
    fn is_kept(&mut self, identity: &Identity, cause: &Cause) -> bool {
        let kept = self.kept.iter_mut().find(|kept| kept.finding.identity == *identity);
        kept.map(|kept| kept.count += u64::from(matches!(cause, Cause::Crash(_)))).is_some()
    }

    fn keep(&mut self, finding: Finding, reduction: Reduction) {
        self.save_again();
        let folder = self.store.save(&finding).map_err(|error| error.to_string());
        self.kept.push(Kept { finding, count: 1, folder, reduction });
    }

    fn save_again(&mut self) {
        for kept in self.kept.iter_mut().filter(|kept| kept.folder.is_err()) {
            kept.folder = self.store.save(&kept.finding).map_err(|error| error.to_string());
        }
    }
}

fn known_to(lab: &Lab, case: &Case, cause: &Cause, versions: &Versions) -> bool {
    !lab.subject.ignore_known && lab.known.covers(case, cause, versions).is_some()
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
