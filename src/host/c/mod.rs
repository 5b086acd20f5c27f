//! A **C session**: one shared object behind `dlpack_fuzz_backend.h`, ready to run cases. No interpreter takes
//! part.
//!
//! What Python has around an export is not there: no capsule, no names of arguments, no types of numbers, no
//! exception in flight. An observation says so by its route ([`Route::C`]), and the rules about these
//! things say nothing. In the place of the capsule's name stands the field of the answer that is set.
//!
//! An answer in which nothing is set, or too much, is to C what CPython answers with SystemError (a call that
//! returned NULL without an exception, or a result with one), and is observed as that.

mod arguments;
mod build;
mod errors;
mod form;
mod held;
mod life;
mod narrow;
mod script;

use super::heap::Slope;
use super::session::{GROWTH_ROUNDS, WARM_UP_ROUNDS, is_off, needed};
use super::{Detail, Error, Versions, consumer};
use crate::abi::backend::{self, Answer};
use crate::abi::{DLDevice, KNOWN_VERSION};
use crate::backend::Inexpressible;
use crate::backend::c::{Shared, Spec, text};
use crate::case::{Call, Case, Contents, Dtype, DtypeClass, Life, Tensor, Vocabulary};
use crate::oracle::{
    ArrayApi, Capsule, CapsuleName, Container, DeviceAnswer, Exporter, Growth, Kind, Ledger,
    Memory, Number, Observation, Outcome, Route, Source,
};
use arguments::arguments;
use errors::{raised, system_error};
use held::{Held, delete, is_deletable};
use narrow::Lie;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::ffi::c_void;
use std::mem::size_of;
use std::sync::{Mutex, PoisonError};

/// Counts are the shared object's, not the session's, and it is called from one thread at a time.
static RUNNING: Mutex<()> = Mutex::new(());

/// A loaded shared object that runs cases.
pub struct Session {
    shared: Shared,
    exporter: Exporter,
    /// What the source's memory is filled with: this pattern, this far.
    contents: Vec<u8>,
    filled: (Contents, usize),
    /// The source's memory before the exports, where it is not the contents.
    snapshot: Vec<u8>,
    /// A sign of life, given during what takes long.
    pub(super) pulse: Box<dyn Fn()>,
}

/// An array that was built and is to be released.
struct Subject {
    handle: *mut c_void,
    facts: Source,
    /// How narrow elements lie.
    lie: Lie,
}

impl Session {
    pub fn open(spec: Spec) -> Result<Self, Error> {
        let shared = Shared::open(spec)?;
        let mut session = Self {
            shared,
            exporter: EXPORTER,
            contents: Vec::new(),
            filled: (Contents(7), 0),
            snapshot: Vec::new(),
            pulse: Box::new(|| ()),
        };
        let newest = crate::case::Probe::Version199.call(&Call::default(), DLDevice::CPU);
        let case = Case::new(Tensor::plain(), newest, Default::default());
        let seen = session.run(&case, Detail::Brief).map_err(|Inexpressible(reason)| {
            Error(format!("{} cannot build six float32: {reason}", session.shared.spec))
        })?;
        session.exporter.versioned =
            seen.export.managed().is_some_and(|managed| managed.version.is_some());
        Ok(session)
    }

    pub fn exporter(&self) -> Exporter {
        self.exporter
    }

    /// What takes part. There is no Python in it.
    pub fn versions(&self) -> Versions {
        Versions {
            libraries: vec![(self.shared.name.clone(), self.shared.version.clone())],
            python: String::new(),
            dlpack: format!("{}.{}", KNOWN_VERSION.major, KNOWN_VERSION.minor),
            tool: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// What the shared object says it can build.
    pub fn vocabulary(&self) -> Vocabulary {
        Vocabulary::of_c(self.shared.dtypes().as_deref(), self.shared.devices().as_deref())
    }

    /// Python statements that leave in `x` an object with `__dlpack__` around the same array.
    pub fn source(&self, case: &Case) -> String {
        script::statements(&self.shared.spec, &case.tensor)
    }

    /// Runs a case once and releases everything. Counts that are off are confirmed by repetition.
    pub fn run(&mut self, case: &Case, detail: Detail) -> Result<Observation, Inexpressible> {
        let _one_at_a_time = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = self.run_once(case, detail)?;
        if is_off(&seen.ledger) {
            seen.ledger.growth = Some(self.measure_growth(case)?);
        }
        if detail == Detail::Full {
            seen.ledger.heap = self.measure_heap(case)?;
        }
        Ok(seen)
    }

    fn run_once(&mut self, case: &Case, detail: Detail) -> Result<Observation, Inexpressible> {
        // What cannot be said is found out before anything is built.
        arguments(&case.call, DLDevice::CPU)?;
        let life = life::live(self, case, detail)?;
        let blocks = self.live_blocks();
        let built = self.build(&case.tensor)?;
        let references = self.references(&built);
        let own = self.device(&built);
        let is_filled = self.take_snapshot(&built.facts);

        let mut held: SmallVec<[Held; 6]> = SmallVec::new();
        let mut make = |call: &Call| -> Result<Outcome, Inexpressible> {
            let call = arguments(call, own)?;
            Ok(self.export(&built, case.tensor.dtype, &call, detail, &mut held))
        };
        let mut export = match make(&case.call) {
            Ok(export) => export,
            Err(reason) => {
                self.release(&built);
                return Err(reason);
            }
        };
        let mut further = SmallVec::new();
        for probe in needed(case, own, &export, built.facts.exportable).iter() {
            if probe.is_of_c()
                && let Ok(outcome) = make(&probe.call(&case.call, own))
            {
                further.push((probe, outcome));
            }
        }

        let unchanged = self.compare_snapshot(&built.facts, is_filled);
        try_write_through(&mut export, &built.facts, case.tensor.dtype);
        let device_after = (!case.probes.is_empty()).then(|| answer(self.device(&built)));

        let mut ledger = Ledger::default();
        delete(&held);
        ledger.source_references = self.references(&built) - references;
        self.release(&built);
        ledger.blocks = match (blocks, self.live_blocks()) {
            (Some(before), Some(after)) => Some(after - before),
            _ => None,
        };
        let source = Source { unchanged, ..built.facts };
        Ok(Observation {
            exporter: self.exporter,
            source,
            device_before: answer(own),
            device_after,
            export,
            further,
            ledger,
            exchange: None,
            life,
        })
    }

    /// Repeats the case's calls on one array, and the whole case, and counts what stays behind.
    fn measure_growth(&mut self, case: &Case) -> Result<Growth, Inexpressible> {
        let built = self.build(&case.tensor)?;
        let own = self.device(&built);
        let calls = calls_of(case, own);
        let rounds = |count| (0..count).for_each(|_| self.round(&built, case, &calls));
        rounds(WARM_UP_ROUNDS);
        let before = self.references(&built);
        rounds(GROWTH_ROUNDS);
        let references = self.references(&built) - before;
        self.release(&built);

        // Its life has a ledger of its own.
        let case = Case { life: Life::default(), ..case.clone() };
        let mut blocks = 0;
        for round in 0..WARM_UP_ROUNDS + GROWTH_ROUNDS {
            let seen = self.run_once(&case, Detail::Brief)?;
            if round >= WARM_UP_ROUNDS {
                blocks += seen.ledger.blocks.unwrap_or(0);
            }
        }
        Ok(Growth { rounds: GROWTH_ROUNDS, references, blocks, argument_references: 0 })
    }

    /// Bytes of the heap that the case's calls on one array leave behind.
    fn measure_heap(&mut self, case: &Case) -> Result<Option<f64>, Inexpressible> {
        let built = self.build(&case.tensor)?;
        let calls = calls_of(case, self.device(&built));
        let slope = Slope { pulse: &*self.pulse, settle: &|| (), wait: &std::thread::sleep };
        let Ok(heap) = slope.of(|| {
            self.round(&built, case, &calls);
            Ok::<_, std::convert::Infallible>(())
        });
        self.release(&built);
        Ok(heap)
    }

    /// Makes the calls once and deletes what they return.
    fn round(&self, built: &Subject, case: &Case, calls: &[backend::Call]) {
        for call in calls {
            let mut held = SmallVec::new();
            self.export(built, case.tensor.dtype, call, Detail::Brief, &mut held);
            delete(&held);
        }
    }

    fn export(
        &self,
        built: &Subject,
        dtype: Dtype,
        call: &backend::Call,
        detail: Detail,
        held: &mut SmallVec<[Held; 6]>,
    ) -> Outcome {
        let mut answer = Answer {
            struct_size: size_of::<Answer>() as u32,
            error: 0,
            versioned: std::ptr::null_mut(),
            legacy: std::ptr::null_mut(),
            message: std::ptr::null(),
        };
        let export = self.shared.table.export_array.expect("the table was checked");
        // SAFETY: the handle is `build`'s and not yet released; both structs live through the call.
        unsafe { export(built.handle, call, &mut answer) };
        let (pointer, kind) = match (answer.versioned.is_null(), answer.legacy.is_null()) {
            (false, true) => (answer.versioned as usize, Kind::Versioned),
            (true, false) => (answer.legacy as usize, Kind::Legacy),
            // One tensor too many: neither is taken, since they may be one.
            (false, false) => {
                return Outcome::Raised(system_error("two tensors in one answer", detail));
            }
            (true, true) if answer.error == 0 => {
                return Outcome::Raised(system_error("neither a tensor nor an error", detail));
            }
            (true, true) => {
                // SAFETY: NULL or a string that lives until the next call.
                let message = || unsafe { text(answer.message) }.unwrap_or_default();
                return Outcome::Raised(raised(answer.error, detail, message));
            }
        };
        // SAFETY: the header says which struct the pointer is; the source is alive.
        let mut managed = unsafe { consumer::read(pointer, kind, &built.facts, dtype) };
        if dtype.class() == DtypeClass::SubByte
            && let Some(triple) = dtype.info().triple
        {
            // SAFETY: `build` was checked to have put the source's elements into its allocation.
            unsafe { narrow::read(&mut managed, &built.facts, triple.bits, built.lie) };
        }
        if is_deletable(&managed) {
            held.push((pointer, kind));
        }
        Outcome::Capsule(Box::new(Capsule {
            exact: true,
            name: match kind {
                Kind::Legacy => CapsuleName::Legacy,
                Kind::Versioned => CapsuleName::Versioned,
            },
            name_address: 0,
            // What was not released explains what stays behind.
            has_destructor: is_deletable(&managed),
            pointer,
            managed: Some(managed),
            error_pending: answer.error != 0,
        }))
    }

    fn device(&self, built: &Subject) -> DLDevice {
        let device = self.shared.table.device.expect("the table was checked");
        // SAFETY: the handle is `build`'s and not yet released.
        unsafe { device(built.handle) }
    }

    fn release(&self, built: &Subject) {
        let release = self.shared.table.release.expect("the table was checked");
        // SAFETY: the handle is `build`'s; it is released once and not used after it.
        unsafe { release(built.handle) }
    }

    fn counts_references(&self) -> bool {
        self.shared.table.references.is_some()
    }

    /// 0 where they are not counted.
    fn references(&self, built: &Subject) -> isize {
        // SAFETY: the handle is `build`'s and not yet released.
        self.shared.table.references.map_or(0, |count| unsafe { count(built.handle) } as isize)
    }

    fn live_blocks(&self) -> Option<isize> {
        // SAFETY: it takes nothing.
        self.shared.table.live_blocks.map(|count| unsafe { count() } as isize)
    }

    /// Whether the memory is as it was to be filled; else it is kept to be compared with.
    fn take_snapshot(&mut self, source: &Source) -> bool {
        // SAFETY: the source was just built and is alive.
        let memory = unsafe { super::session::memory_of(source) };
        let is_filled = self.contents[..self.filled.1].starts_with(memory);
        if !is_filled {
            self.snapshot.clear();
            self.snapshot.extend_from_slice(memory);
        }
        is_filled
    }

    fn compare_snapshot(&self, source: &Source, is_filled: bool) -> Result<(), Cow<'static, str>> {
        // SAFETY: the source is alive.
        let memory = unsafe { super::session::memory_of(source) };
        let is_same =
            if is_filled { self.contents.starts_with(memory) } else { self.snapshot == memory };
        if is_same { Ok(()) } else { Err("the values changed".into()) }
    }
}

/// The case's call and its probes, as far as C can pass them.
fn calls_of(case: &Case, own: DLDevice) -> Vec<backend::Call> {
    let probes = case.probes.iter().filter(|probe| probe.is_of_c());
    std::iter::once(case.call.clone())
        .chain(probes.map(|probe| probe.call(&case.call, own)))
        .filter_map(|call| arguments(&call, own).ok())
        .collect()
}

/// What the header promises of every exporter behind it.
const EXPORTER: Exporter = Exporter {
    route: Route::C,
    keywords: [true; 4],
    methods: [true; 2],
    claims: Some(ArrayApi::V2025),
    versioned: true,
    mutable: true,
    has_readonly: true,
    python_destructor: false,
};

fn try_write_through(outcome: &mut Outcome, source: &Source, dtype: Dtype) {
    let Outcome::Capsule(capsule) = outcome else { return };
    let Some(managed) = &mut capsule.managed else { return };
    let Some(tensor) = &managed.tensor else { return };
    if matches!(tensor.memory, Memory::Alias | Memory::Distinct) {
        // SAFETY: source and export are alive, and only this thread uses them.
        unsafe { consumer::write_through(managed, source, dtype) };
    }
}

/// The device pair as C has it: two plain numbers.
fn answer(device: DLDevice) -> DeviceAnswer {
    DeviceAnswer::Pair {
        device,
        container: Container::Tuple,
        type_element: Number::Int,
        id_element: Number::Int,
    }
}
