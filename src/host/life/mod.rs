//! Lives the **life** of a case: builds an array, exports it, takes every step, and looks after each at what
//! is still alive. [`course`] and [`held`] serve both routes; the rest of this folder is Python's, and `host/c/life.rs`
//! is that of shared objects.
//!
//! Goes in: a case with a life. Comes out: a [`Lived`]. A step that finds nothing to be done with (the call
//! raised, the capsule names no struct) is skipped and says so. Trap: memory that was freed too early may
//! look right for a while; [`Step::Churn`] fills what was freed, and AddressSanitizer sees it at once.

mod change;
pub(super) mod churn;
pub(super) mod course;
mod exit;
mod export;
pub(super) mod held;
mod race;
mod starve;

pub use change::Statements;

use super::export::{Exportee, Exporting};
use super::session::{GROWTH_ROUNDS, WARM_UP_ROUNDS, settle};
use super::{Detail, errors};
use crate::abi::DLDevice;
use crate::backend::{Backend, Built, Inexpressible};
use crate::case::life::{Mood, Place, Slot, Step};
use crate::case::{Call, Case};
use crate::oracle::{Event, Growth, Lived, Manner, Moment, Outcome, Source};
use course::{Living as _, holds_itself, live_again, live_through, on_thread};
use export::Export;
use pyo3::ffi;
use pyo3::prelude::*;
use std::borrow::Cow;

/// More exports than a life has cannot be released too often.
const PINS: isize = 8;

/// What a life needs of the session.
pub struct Host<'a> {
    pub backend: &'a dyn Backend,
    pub exporting: &'a Exporting,
    pub statements: &'a Statements,
    /// Where such arrays are. The array of the life is not asked (DEV-ORDER).
    pub device: DLDevice,
    /// What another such array answered when it was asked: the value `own` of an argument.
    pub own: Option<&'a Py<PyAny>>,
}

/// Lives the case's life once; counts that are off are confirmed by living it many times.
pub fn live(
    host: &Host<'_>,
    py: Python<'_>,
    case: &Case,
    detail: Detail,
) -> Result<Option<Box<Lived>>, Inexpressible> {
    if case.life.is_empty() {
        return Ok(None);
    }
    let mut lived = live_once(host, py, case, detail)?;
    let is_off = |count: Option<isize>| count.is_some_and(|count| count != 0);
    if is_off(lived.references) || is_off(lived.blocks) {
        lived.growth = Some(measure_growth(host, py, case, lived.references.is_some())?);
    }
    Ok(Some(Box::new(lived)))
}

fn live_once(
    host: &Host<'_>,
    py: Python<'_>,
    case: &Case,
    detail: Detail,
) -> Result<Lived, Inexpressible> {
    let blocks = host.backend.live_blocks();
    let built = host.backend.build(py, &case.tensor)?;
    let mut living = Living::new(host, py, case, built, detail);
    let mut lived = live_through(&mut living, case)?;
    drop(living);
    if holds_itself(case) {
        settle(py);
    }
    // Whatever the last releases set was not theirs to keep: the calls that follow are judged by themselves.
    errors::take(py, Detail::Brief);
    lived.blocks = blocks.and_then(|before| Some(host.backend.live_blocks()? - before));
    Ok(lived)
}

/// Lives over and over: on one array for its references, on new ones for blocks of memory.
fn measure_growth(
    host: &Host<'_>,
    py: Python<'_>,
    case: &Case,
    is_released_last: bool,
) -> Result<Growth, Inexpressible> {
    let (warm_up, rounds) =
        if case.life.is_costly() { (2, 8) } else { (WARM_UP_ROUNDS, GROWTH_ROUNDS) };
    let mut references = 0;
    if is_released_last {
        let built = host.backend.build(py, &case.tensor)?;
        let mut living = Living::new(host, py, case, built, Detail::Brief);
        living.pin(PINS * (warm_up + rounds) as isize);
        living.baseline += living.references().unwrap_or(0);
        for round in 0..warm_up + rounds {
            if round == warm_up {
                settle(py);
                references = living.references().unwrap_or(0);
            }
            live_again(&mut living, case)?;
            living.churned.clear();
        }
        settle(py);
        references = living.references().unwrap_or(0) - references;
    }
    let mut blocks = 0;
    for round in 0..warm_up + rounds {
        let lived = live_once(host, py, case, Detail::Brief)?;
        if round >= warm_up {
            blocks += lived.blocks.unwrap_or(0);
        }
    }
    Ok(Growth { rounds, references, blocks, argument_references: 0 })
}

/// An array and its exports, as long as they live.
struct Living<'a, 'py> {
    host: &'a Host<'a>,
    py: Python<'py>,
    case: &'a Case,
    detail: Detail,
    /// `None` once it was let go.
    built: Option<Built<'py>>,
    /// What the array was; its addresses are numbers once it was let go.
    source: Source,
    /// References of the owner before the export `a`.
    baseline: isize,
    /// Of these, references that only the life itself holds.
    pins: isize,
    exports: [Option<Export<'py>>; 4],
    /// Memory that was allocated in the place of what was freed.
    churned: churn::Churned<'py>,
}

impl<'a, 'py> Living<'a, 'py> {
    fn new(
        host: &'a Host<'a>,
        py: Python<'py>,
        case: &'a Case,
        built: Built<'py>,
        detail: Detail,
    ) -> Self {
        let mut living = Self {
            host,
            py,
            case,
            detail,
            source: built.source.clone(),
            built: Some(built),
            baseline: 0,
            pins: 0,
            exports: [const { None }; 4],
            churned: churn::Churned::default(),
        };
        living.pin(PINS);
        living.baseline = living.references().unwrap_or(0);
        living
    }

    /// Takes references of the owner: an export that is released too often must not free it at once.
    fn pin(&mut self, count: isize) {
        if let Some(built) = &self.built {
            // SAFETY: the owner is alive and the interpreter attached; `unpin` gives them back.
            (0..count).for_each(|_| unsafe { ffi::Py_INCREF(built.owner.as_ptr()) });
            self.pins += count;
        }
    }

    /// Lets the array go.
    fn let_go(&mut self) {
        if let Some(built) = self.built.take() {
            // SAFETY: taken by `pin`; `built` still holds the owner.
            (0..self.pins).for_each(|_| unsafe { ffi::Py_DECREF(built.owner.as_ptr()) });
        }
    }

    fn change(&self, change: crate::case::life::Change) -> Event {
        let Some(built) = &self.built else {
            return Event::Skipped("the array was let go");
        };
        let Some((statement, manner)) = self.host.backend.change(change) else {
            return Event::Skipped("the library has no such operation");
        };
        let run = || self.host.statements.run(self.py, statement, &built.object);
        match run() {
            Ok(()) => Event::Changed(manner),
            Err(error) => {
                error.restore(self.py);
                errors::take(self.py, self.detail)
                    .map_or(Event::Changed(Manner::Ordinary), Event::Refused)
            }
        }
    }

    fn attach(&mut self, slot: Slot) -> Event {
        let (Some(built), Some(export)) = (&self.built, &mut self.exports[slot as usize]) else {
            return Event::Skipped("there is no such export");
        };
        let Some(capsule) = &export.capsule else {
            return Event::Skipped("there is no capsule");
        };
        match built.object.setattr("capsule", capsule) {
            Ok(()) => {
                export.capsule = None;
                Event::Done
            }
            Err(_) => Event::Skipped("the array takes no attributes"),
        }
    }
}

impl course::Living for Living<'_, '_> {
    fn references(&self) -> Option<isize> {
        let built = self.built.as_ref()?;
        // SAFETY: the owner is alive and the interpreter attached.
        Some(unsafe { ffi::Py_REFCNT(built.owner.as_ptr()) as isize } - self.baseline)
    }

    fn is_empty(&self) -> bool {
        self.exports.iter().flatten().all(Export::is_gone)
    }

    fn export(&mut self, slot: Slot, call: &Call) -> Result<Outcome, Inexpressible> {
        let Some(built) = &self.built else {
            return Err(Inexpressible("no step exports an array that was let go".into()));
        };
        let exportee = Exportee {
            object: &built.object,
            source: &built.source,
            dtype: self.case.tensor.dtype,
            own: self.host.own.map(|own| own.bind(self.py)),
        };
        let made = (self.host.exporting.export(self.py, &exportee, call, self.detail))
            .map_err(|error| super::session::no_arguments(self.py, &error))?;
        self.exports[slot as usize] = Export::of(&made.outcome, made.result);
        Ok(made.outcome)
    }

    fn take(&mut self, step: Step) -> Result<Event, Inexpressible> {
        const NO_EXPORT: Event = Event::Skipped("there is no such export");
        let py = self.py;
        Ok(match step {
            Step::Export(slot, probe) => {
                let call = match probe {
                    Some(probe) => Cow::Owned(probe.call(&self.case.call, self.host.device)),
                    None => Cow::Borrowed(&self.case.call),
                };
                Event::Exported(self.export(slot, &call)?)
            }
            Step::Take(slot) => match &mut self.exports[slot as usize] {
                Some(export) => export.take(),
                None => NO_EXPORT,
            },
            Step::Disarm(slot) => match &mut self.exports[slot as usize] {
                Some(export) => export.disarm(),
                None => NO_EXPORT,
            },
            Step::Drop(slot, mood) => match &mut self.exports[slot as usize] {
                Some(export) => match export.capsule.take() {
                    Some(capsule) if mood == Mood::Raising => {
                        Event::InFlight(errors::in_flight(py, || drop(capsule)))
                    }
                    capsule => {
                        drop(capsule);
                        Event::Done
                    }
                },
                None => NO_EXPORT,
            },
            Step::Delete(slot, place) => match &mut self.exports[slot as usize] {
                Some(export) => delete(py, export, place),
                None => NO_EXPORT,
            },
            Step::DropSource => {
                self.let_go();
                Event::Done
            }
            Step::Churn => {
                self.churned.fill(py, self.host.backend, &self.case.tensor, &self.source);
                Event::Done
            }
            Step::Collect => {
                settle(py);
                Event::Done
            }
            Step::Change(change) => self.change(change),
            Step::Attach(slot) => self.attach(slot),
            Step::Race => match &self.built {
                Some(built) => race::race(py, &built.object, &built.owner),
                None => NO_EXPORT,
            },
            Step::Starve => match &self.built {
                Some(built) => starve::starve(self.host, py, built, self.case)?,
                None => NO_EXPORT,
            },
            Step::Exit => exit::exit(py, &mut self.exports, &self.built),
        })
    }

    fn moment(&self, step: Step, event: Event) -> Moment {
        // SAFETY: only asks whether an exception is set; the interpreter is attached.
        let error = unsafe { !ffi::PyErr_Occurred().is_null() }
            .then(|| errors::take(self.py, Detail::Brief))
            .flatten()
            .map(|raised| raised.name);
        let changed = Slot::ALL.into_iter().find_map(|slot| {
            let export = self.exports[slot as usize].as_ref()?;
            Some((slot, export.difference()?))
        });
        Moment { step, event, error, references: self.references(), changed }
    }
}

impl Drop for Living<'_, '_> {
    fn drop(&mut self) {
        self.let_go();
    }
}

fn delete(py: Python<'_>, export: &mut Export<'_>, place: Place) -> Event {
    let Some(deletion) = export.deletion() else {
        return Event::Skipped("the deleter is NULL");
    };
    match place {
        Place::Here => deletion.run(),
        Place::Raising => return Event::InFlight(errors::in_flight(py, || deletion.run())),
        Place::Unlocked => py.detach(|| deletion.run()),
        Place::Thread => py.detach(|| on_thread(|| Python::attach(|_| deletion.run()))),
        Place::Native => py.detach(|| on_thread(|| deletion.run())),
    }
    Event::Done
}
