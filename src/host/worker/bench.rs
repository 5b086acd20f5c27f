//! The child's side of a worker: reads requests, runs cases, answers.

use super::{Broken, Found, Reply, Request};
use crate::case::Case;
use crate::host::journal::Journal;
use crate::host::watch::Watch;
use crate::host::{Detail, Error, Session};
use crate::oracle::{self, Grade, Profile, Violation};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufWriter, Write};
use std::os::fd::{AsRawFd, FromRawFd};

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

/// By rule and key, the weight of the simplest case that was told.
type Reported = HashMap<(&'static str, Cow<'static, str>, Grade), u64>;

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
                    Err(reason) => Reply::Failed(reason),
                },
                Ok(Request::Source { case }) => match parse(&case) {
                    Ok(case) => Reply::Source(self.session.source(&case)),
                    Err(reason) => Reply::Failed(reason),
                },
                Ok(Request::Answer { case }) => match parse(&case) {
                    Ok(case) => self.answer(&case),
                    Err(reason) => Reply::Failed(reason),
                },
                Ok(Request::HasExchangeApi) => {
                    Reply::HasExchangeApi(self.session.require_exchange_api().is_ok())
                }
                Ok(Request::Sweep { from, step }) => self.sweep(from, step, &mut outlet)?,
                Err(error) => Reply::Failed(format!("a request that is none: {error}")),
            };
            outlet.send(&reply)?;
        }
        Ok(())
    }

    fn judge(&mut self, case: &Case, grade: Grade) -> Reply {
        self.journal.begin(&case.encode());
        match self.session.run(case, Detail::Full) {
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
        }
    }

    fn answer(&mut self, case: &Case) -> Reply {
        self.journal.begin(&case.encode());
        let seen = self.session.run(case, Detail::Brief);
        self.journal.end(None);
        match seen {
            Err(reason) => Reply::Inexpressible(reason.0.into_owned()),
            Ok(seen) => Reply::Answer(seen.export.answer()),
        }
    }

    fn sweep(&mut self, from: u64, step: u64, outlet: &mut Outlet) -> std::io::Result<Reply> {
        let mut reported = Reported::new();
        let mut watch = Watch::default();
        let (cases, case_at) = self.sweep;
        for place in (from..cases).step_by(step.max(1) as usize) {
            let case = case_at(place);
            if (self.steers)(&case) {
                continue;
            }
            let bytes = case.encode();
            self.journal.begin_at(place, &bytes);
            let Ok(seen) = self.session.run(&case, Detail::Brief) else {
                self.journal.end(None);
                continue;
            };
            let judgement = oracle::judge(&case, &seen, &self.profile, Grade::Info);
            self.journal.count(&judgement);
            self.journal.end(Some(&judgement));
            self.report(&case, judgement.violations, &mut reported, outlet)?;
            if watch.note(&case, &bytes) {
                self.search(&mut watch, &mut reported, outlet)?;
            }
        }
        self.search(&mut watch, &mut reported, outlet)?;
        Ok(Reply::Swept)
    }

    /// Sends violations that are new. A fault that shows in every tenth case need not be told a hundred thousand
    /// times; the simplest of the cases that show it is worth more than the first.
    fn report(
        &self,
        case: &Case,
        violations: Vec<Violation>,
        reported: &mut Reported,
        outlet: &mut Outlet,
    ) -> std::io::Result<()> {
        for violation in violations {
            if (self.is_known)(case, &violation) {
                continue;
            }
            let weight = crate::case::weight(case);
            let fault = (violation.rule, violation.evidence.key.clone(), violation.grade);
            let lightest = reported.entry(fault).or_insert(u64::MAX);
            if weight < *lightest {
                *lightest = weight;
                let found = Found { case: case.to_string(), broken: violation.into() };
                outlet.send(&Reply::Found(found))?;
            }
        }
        Ok(())
    }

    /// Ends a batch of the watch, and judges the case that makes the heap grow, if there is one.
    fn search(
        &mut self,
        watch: &mut Watch,
        reported: &mut Reported,
        outlet: &mut Outlet,
    ) -> std::io::Result<()> {
        let suspect = watch.look(|bytes| {
            self.journal.repeat(bytes);
            let _ = self.session.run(&Case::decode(bytes), Detail::Brief);
            self.journal.end(None);
        });
        let Some(case) = suspect else { return Ok(()) };
        self.journal.repeat(&case.encode());
        let seen = self.session.run(&case, Detail::Full);
        self.journal.end(None);
        let Ok(seen) = seen else { return Ok(()) };
        let judgement = oracle::judge(&case, &seen, &self.profile, Grade::Violation);
        self.report(&case, judgement.violations, reported, outlet)
    }
}

fn parse(text: &str) -> Result<Case, String> {
    text.parse().map_err(|error| format!("the case {text:?} does not parse: {error}"))
}
