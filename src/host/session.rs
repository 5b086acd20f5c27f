//! A **session**: one interpreter with one backend, ready to run cases.

mod growth;
mod probe;

use super::arguments::Arguments;
use super::export::{Exportee, Exporting};
use super::interpreter::{self, sentence};
use super::{Detail, Error, Options, Versions, consumer, errors, exchange, life};
use crate::abi::exchange::{ATTRIBUTE, ATTRIBUTE_OLD};
use crate::abi::{DLDevice, KNOWN_VERSION};
use crate::backend::{self, Backend, Built, Inexpressible};
use crate::case::life::Step;
use crate::case::{CHANGE_MARK, Call, Case, Probes, Vocabulary};
use crate::oracle::{
    Exchange, Exportable, Exporter, Ledger, Memory, Observation, Outcome, Route, Source, decision,
};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Counts are the process's, not the session's: one case at a time.
static RUNNING: Mutex<()> = Mutex::new(());

/// Rounds that confirm a leak: a cache fills in the first few, a leak grows in all of them.
pub(super) const WARM_UP_ROUNDS: u32 = 16;
pub(super) const GROWTH_ROUNDS: u32 = 64;

/// What an export gave and what it was given.
type Held<'py> = (Option<Bound<'py, PyAny>>, Arguments<'py>);

/// A running interpreter with one backend.
pub struct Session {
    backend: Box<dyn Backend>,
    exporting: Exporting,
    exporter: Exporter,
    /// The class that `exporter` speaks of.
    ordinary_class: Option<Py<PyType>>,
    /// Other classes that were probed when a case met them.
    classes: RefCell<Vec<(Py<PyType>, Exporter)>>,
    env: PathBuf,
    /// The source's allocation before the exports.
    snapshot: Vec<u8>,
    /// The exchange table that was met first.
    remembered: exchange::Remembered,
    /// Those that change an array in its life.
    statements: life::Statements,
    /// A sign of life, given during what takes long.
    pub(super) pulse: Box<dyn Fn()>,
}

impl Session {
    /// Starts the interpreter (once per process), imports the backend's library and probes which keywords
    /// its exporters know.
    pub fn open(options: &Options) -> Result<Self, Error> {
        let env = backend::environment(options.env.as_deref(), &options.backend);
        interpreter::start(&env)?;
        Python::attach(|py| {
            let backend = backend::open(py, &options.backend)?;
            let exporting = Exporting::new(py)
                .map_err(|error| Error(format!("set-up failed: {}", sentence(py, &error))))?;
            let remembered = exchange::Remembered::new(py);
            let mut session = Self {
                backend,
                exporting,
                exporter: UNPROBED,
                ordinary_class: None,
                classes: RefCell::default(),
                env,
                snapshot: Vec::new(),
                remembered,
                statements: life::Statements::default(),
                pulse: Box::new(|| ()),
            };
            session.exporter = session.probe(py)?;
            // What an import made stays: a collection that looks at it takes a fifth of a second for some libraries.
            if let Err(error) = py.import("gc").and_then(|gc| gc.call_method0("freeze")) {
                return Err(Error(format!("set-up failed: {}", sentence(py, &error))));
            }
            Ok(session)
        })
    }

    pub fn exporter(&self) -> Exporter {
        self.exporter
    }

    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// The environment whose interpreter runs.
    pub fn env(&self) -> &std::path::Path {
        &self.env
    }

    pub fn versions(&self) -> Versions {
        Python::attach(|py| Versions {
            libraries: self.backend.versions(py),
            python: interpreter::linked_version(),
            dlpack: format!("{}.{}", KNOWN_VERSION.major, KNOWN_VERSION.minor),
            tool: env!("CARGO_PKG_VERSION").into(),
        })
    }

    /// An error if the type of the backend's arrays has no C exchange API under any name.
    pub fn require_exchange_api(&self) -> Result<(), Error> {
        Python::attach(|py| {
            let (built, _) = self.ordinary(py)?;
            if self.remembered.has_api(py, &built.object) {
                return Ok(());
            }
            let kind = built.object.get_type();
            Err(Error(format!(
                "{} has no C exchange API: {kind} has neither {ATTRIBUTE} nor {ATTRIBUTE_OLD} \
                 (the API is optional, so that is no finding); check it without --exchange-api, or \
                 name another --backend",
                self.backend.name()
            )))
        })
    }

    /// What the backend can be asked to build.
    pub fn vocabulary(&self) -> Vocabulary {
        self.backend.vocabulary()
    }

    /// Python statements that leave the case's array in `x`.
    pub fn source(&self, case: &Case) -> String {
        let source = self.backend.source(&case.tensor);
        let changes = case.life.steps().iter().filter_map(|step| match step {
            Step::Change(change) => {
                let (statement, _) = self.backend.change(*change)?;
                Some(format!("{CHANGE_MARK}{}: {statement}\n", change.name()))
            }
            _ => None,
        });
        changes.chain([source]).collect()
    }

    /// Runs a case once and releases everything. Counts that are off are confirmed by repetition. In full
    /// detail the exports are repeated in any case, and it is seen whether the heap grows.
    pub fn run(&mut self, case: &Case, detail: Detail) -> Result<Observation, Inexpressible> {
        let _one_at_a_time = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        Python::attach(|py| {
            let mut seen = self.run_once(py, case, detail)?;
            if is_off(&seen.ledger) {
                seen.ledger.growth = Some(self.measure_growth(py, case)?);
            }
            if detail == Detail::Full {
                seen.ledger.heap = self.measure_heap(py, case)?;
            }
            Ok(seen)
        })
    }

    fn run_once(
        &mut self,
        py: Python<'_>,
        case: &Case,
        detail: Detail,
    ) -> Result<Observation, Inexpressible> {
        let blocks = self.backend.live_blocks();
        let built = self.backend.build(py, &case.tensor)?;
        let exchange = self.try_exchange(py, &built, case, detail);
        let before = references(&built);
        let (device_before, own) = self.exporting.device(py, &built.object, detail);
        self.take_snapshot(&built.source);

        let exportee = Exportee {
            object: &built.object,
            source: &built.source,
            dtype: case.tensor.dtype,
            own: own.as_ref(),
        };
        let device = device_before.device().unwrap_or(DLDevice::CPU);
        let host = life::Host {
            backend: &*self.backend,
            exporting: &self.exporting,
            statements: &self.statements,
            device,
            own: own.as_ref().map(Bound::as_unbound),
        };
        let life = life::live(&host, py, case, detail)?;
        // All results and arguments live until the last call was made.
        let mut held: SmallVec<[Held<'_>; 4]> = SmallVec::new();
        let mut make = |call: &Call| {
            let made = (self.exporting.export(py, &exportee, call, detail))
                .map_err(|error| no_arguments(py, &error))?;
            held.push((made.result, made.arguments));
            Ok::<_, Inexpressible>(made.outcome)
        };
        let mut export = make(&case.call)?;
        let mut further = SmallVec::new();
        for probe in needed(case, device, &export, built.source.exportable).iter() {
            further.push((probe, make(&probe.call(&case.call, device))?));
        }

        let mut unchanged = self.backend.unchanged(py, &built);
        if unchanged.is_ok() {
            unchanged = self.compare_snapshot(&built.source);
        }
        self.try_write_through(&mut export, &built.source, case);
        let device_after =
            (!case.probes.is_empty()).then(|| self.exporting.device(py, &built.object, detail).0);

        let mut ledger = Ledger::default();
        for (result, arguments) in held {
            drop(result);
            // SAFETY: only asks whether an exception is set; the interpreter is attached.
            if unsafe { !ffi::PyErr_Occurred().is_null() } {
                let raised = errors::take(py, Detail::Brief);
                ledger.error_after_release = raised.map(|raised| raised.name.into_owned());
            }
            ledger.argument_references += arguments.foreign_references();
        }
        drop(own);
        ledger.source_references = references(&built) - before;
        // Behind the count: these calls may leave something behind too.
        let outcomes = std::iter::once(&export).chain(further.iter().map(|(_, outcome)| outcome));
        let exporter = self.exporter_of(py, &built, &case.tensor, outcomes);
        let Built { object, array, owner, mut source } = built;
        source.unchanged = unchanged;
        drop((object, array, owner));
        ledger.blocks = match (blocks, self.backend.live_blocks()) {
            // What the exchange API leaves behind is not the exports' (P-ONE-CAUSE).
            _ if exchange.as_ref().is_some_and(|exchange| exchange.leaks()) => None,
            // A life has a ledger of its own.
            (Some(before), Some(after)) => {
                let of_life = life.as_ref().and_then(|life| life.blocks).unwrap_or(0);
                Some(after - before - of_life)
            }
            _ => None,
        };
        Ok(Observation {
            exporter,
            source,
            device_before,
            device_after,
            export,
            further,
            ledger,
            exchange,
            life,
        })
    }

    /// The steps on the exchange API that the case asks for.
    fn try_exchange(
        &mut self,
        py: Python<'_>,
        built: &Built<'_>,
        case: &Case,
        detail: Detail,
    ) -> Option<Box<Exchange>> {
        let (object, source, dtype) = (&built.object, &built.source, case.tensor.dtype);
        let exportee = Exportee { object, source, dtype, own: None };
        let subject = exchange::Subject { py, exportee: &exportee, owner: &built.owner, detail };
        exchange::observe(&subject, case, &self.exporting, &self.exporter, &mut self.remembered)
    }

    fn take_snapshot(&mut self, source: &Source) {
        self.snapshot.clear();
        // SAFETY: the source was just built and is alive.
        self.snapshot.extend_from_slice(unsafe { memory_of(source) });
    }

    fn compare_snapshot(&self, source: &Source) -> Result<(), Cow<'static, str>> {
        // SAFETY: the source is alive, and `unchanged` has found it at the same address.
        let memory = unsafe { memory_of(source) };
        if memory == self.snapshot { Ok(()) } else { Err("the values changed".into()) }
    }

    fn try_write_through(&self, outcome: &mut Outcome, source: &Source, case: &Case) {
        let Outcome::Capsule(capsule) = outcome else { return };
        let Some(managed) = &mut capsule.managed else { return };
        let Some(tensor) = &managed.tensor else { return };
        let comparable = matches!(tensor.memory, Memory::Alias | Memory::Distinct);
        if self.exporter.mutable && comparable {
            // SAFETY: source and export are alive, and only this thread uses them.
            unsafe { consumer::write_through(managed, source, case.tensor.dtype) };
        }
    }
}

/// Before anything is known.
const UNPROBED: Exporter = Exporter {
    route: Route::Python,
    keywords: [true; 4],
    methods: [true; 2],
    claims: None,
    versioned: true,
    mutable: false,
    has_readonly: false,
    python_destructor: false,
};

/// The probes of the case, and those without which the outcome cannot be judged. What the library lawfully
/// refuses is not asked again: a probe might be what kills (a zero item size, say), unseen in the case.
pub(super) fn needed(
    case: &Case,
    own: DLDevice,
    outcome: &Outcome,
    exportable: Exportable,
) -> Probes {
    let mut probes = case.probes;
    if !matches!(exportable, Exportable::No(_)) {
        let settling = decision::probes_to_settle(case, own, outcome);
        settling.iter().for_each(|probe| probes.insert(probe));
    }
    probes
}

pub(super) fn is_off(ledger: &Ledger) -> bool {
    ledger.source_references != 0
        || ledger.argument_references != 0
        || ledger.blocks.is_some_and(|blocks| blocks != 0)
}

fn references(built: &Built<'_>) -> isize {
    // SAFETY: the owner is alive and the interpreter attached.
    unsafe { ffi::Py_REFCNT(built.owner.as_ptr()) as isize }
}

/// Lets lazily freed owners go.
pub(super) fn settle(_py: Python<'_>) {
    // SAFETY: the interpreter is attached.
    unsafe { ffi::PyGC_Collect() };
}

/// The bytes of the source's allocation; none where the adapter does not know where it lies.
///
/// # Safety
/// The source is alive, and nobody writes to it while the slice is used.
pub(super) unsafe fn memory_of(source: &Source) -> &[u8] {
    match (&source.allocation, source.address) {
        (Some(allocation), Some(_)) => {
            // SAFETY: the adapter says that this range is the source's allocation.
            unsafe { std::slice::from_raw_parts(allocation.start as *const u8, allocation.len()) }
        }
        _ => &[],
    }
}

pub(super) fn no_arguments(py: Python<'_>, error: &PyErr) -> Inexpressible {
    Inexpressible(format!("the arguments cannot be made: {}", sentence(py, error)).into())
}
