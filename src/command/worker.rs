//! `worker`: the child that runs cases for the other commands. Not for people.

use super::options::Subject;
use super::{At, Failure, Status};
use clap::Args;
use dlpack_fuzz::case::sweep::{ExchangeSweep, Sweep};
use dlpack_fuzz::finding::{Cause, Known};
use dlpack_fuzz::host::process;
use dlpack_fuzz::host::steering::Steering;
use dlpack_fuzz::host::worker::{Bench, Outlet, journal, stack};
use dlpack_fuzz::host::{Error, Session};
use std::path::PathBuf;

/// Run cases for a parent process
#[derive(Args)]
pub struct Work {
    #[command(flatten)]
    subject: Subject,
    /// The page of shared memory that the parent made
    #[arg(long)]
    journal: PathBuf,
    /// Sweep the C exchange API, which the backend must have
    #[arg(long)]
    exchange_api: bool,
    /// Cases that are not to be run in sweeps
    #[arg(long)]
    steer: Option<PathBuf>,
}

impl Work {
    pub fn run(self) -> Result<Status, Failure> {
        process::die_by_the_signal();
        let outlet = Outlet::claim().map_err(|error| Failure::new(error.to_string()))?;
        match self.prepare() {
            Err(failure) => outlet.fail(&Error(failure.to_string())),
            Ok((mut session, known, steering)) => {
                let pulse = journal(&self.journal)?;
                session.on_pulse(move || pulse.pulse());
                let stack = stack(&self.journal);
                let stack = std::fs::File::create(&stack).at(&stack)?;
                session.leave_trace(journal(&self.journal)?, stack)?;
                let versions = session.versions();
                let sweep = Sweep::new(&session.vocabulary());
                let exchange = ExchangeSweep::new(&session.vocabulary());
                let length = if self.exchange_api { exchange.len() } else { sweep.len() };
                let case_at = |place: u64| match self.exchange_api {
                    true => exchange.case(place as usize),
                    false => sweep.spread_case(place as usize),
                };
                let bench = Bench {
                    session,
                    profile: self.subject.profile()?,
                    journal: journal(&self.journal)?,
                    sweep: (length as u64, &case_at),
                    steers: &|case| {
                        steering.steers(case)
                            || !self.subject.ignore_known && known.steers(case, &versions).is_some()
                    },
                    is_known: &|case, violation| {
                        !self.subject.ignore_known
                            && known
                                .covers(case, &Cause::from(violation.clone()), &versions)
                                .is_some()
                    },
                };
                // The parent is gone when its pipes are.
                let _ = bench.serve(outlet);
            }
        }
        // Python is not asked to clean up: that would run what is not tested here.
        Ok(Status::NothingNew)
    }

    fn prepare(&self) -> Result<(Session, Known, Steering), Failure> {
        let steering = match &self.steer {
            None => Steering::default(),
            Some(path) => Steering::read(path).at(path)?,
        };
        let known = Known::load(&self.subject.known_folder(), &self.subject.backend)?;
        let session = Session::open(&self.subject.options())?;
        if self.exchange_api {
            session.require_exchange_api()?;
        }
        Ok((session, known, steering))
    }
}
