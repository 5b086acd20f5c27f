//! Extra counters: a wheel has no coverage instrumentation, so the corpus grows by behaviour instead.
//!
//! Each run marks some cells: how the export ended, crossed with each class of argument, dtype and layout,
//! and which rules had something to say. A case is kept when it reaches a cell that no other did.

use dlpack_fuzz::abi::DLDevice;
use dlpack_fuzz::case::{Access, Case};
use dlpack_fuzz::oracle::decision::Classes;
use dlpack_fuzz::oracle::{Answer, Exchange, Judgement, Kind, Lived, Memory, Observation, Outcome};
use std::cell::UnsafeCell;
use std::hash::{Hash, Hasher};

/// Bytes that libFuzzer clears and scans on every run.
const BYTES: usize = 1 << 10;
/// libFuzzer counts these as different features of one byte (`CounterToFeature`). A byte is therefore eight
/// cells: two of them in one run hide each other, but few runs mark more than twenty.
const LEVELS: [u8; 8] = [1, 2, 3, 4, 8, 16, 32, 128];

#[repr(transparent)]
struct Counters(UnsafeCell<[u8; BYTES]>);

// SAFETY: libFuzzer runs targets on one thread, and only `hit` and libFuzzer between runs write here.
unsafe impl Sync for Counters {}

/// libFuzzer reads every byte of this section as a counter.
#[used]
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static COUNTERS: Counters = Counters(UnsafeCell::new([0; BYTES]));

/// Marks a behaviour as seen in this run.
fn hit(behaviour: impl Hash) {
    let mut hasher = Fnv::default();
    behaviour.hash(&mut hasher);
    let cell = hasher.finish() as usize % (BYTES * LEVELS.len());
    let (place, level) = (cell / LEVELS.len(), LEVELS[cell % LEVELS.len()]);
    // SAFETY: in bounds, and no reference to the array exists.
    unsafe { COUNTERS.0.get().cast::<u8>().add(place).write(level) };
}

/// Marks what a run showed.
pub fn observe(case: &Case, seen: &Observation, judgement: &Judgement) {
    let outcome = token(&seen.export);
    let tensor = &case.tensor;
    let layout = tensor.layout_class() as u8;
    hit((1u8, outcome, tensor.dtype.row(), tensor.dtype.order));
    hit((2u8, outcome, layout, tensor.object as u8, tensor.access == Access::Writable));
    hit((3u8, outcome, layout, tensor.shape.len().min(6) as u8));
    let own = seen.device_before.device().unwrap_or(DLDevice::CPU);
    match Classes::of(&case.call, own) {
        Ok(classes) => {
            let (device, version) = (classes.dl_device as u8, classes.max_version as u8);
            let (copy, stream) = (classes.copy as u8, classes.stream as u8);
            hit((4u8, outcome, device, copy, version));
            hit((5u8, outcome, device, stream));
            hit((6u8, outcome, copy, layout));
        }
        Err(why) => hit((7u8, outcome, why as u8)),
    }
    for (probe, further) in &seen.further {
        hit((8u8, *probe as u8, outcome, token(further)));
    }
    if let Some(exchange) = &seen.exchange {
        observe_exchange(case, exchange);
    }
    if let Some(life) = &seen.life {
        observe_life(life);
    }
    for (word, fired) in judgement.fired.words().into_iter().enumerate() {
        if fired != 0 {
            hit((9u8, word as u8, fired));
        }
    }
}

/// Marks what the C exchange API showed.
fn observe_exchange(case: &Case, exchange: &Exchange) {
    let (dtype, layout) = (case.tensor.dtype.row(), case.tensor.layout_class() as u8);
    let end = |answer: &Answer| {
        let error = answer.error.as_ref().map_or(32, |raised| raised.class as u8);
        (answer.succeeded(), error, answer.out as u8)
    };
    if let Some(from_py) = &exchange.from_py {
        hit((10u8, dtype, end(&from_py.answer)));
        hit((11u8, layout, end(&from_py.answer), exchange.reference.as_ref().map(token)));
    }
    if let Some(view) = &exchange.view {
        hit((12u8, dtype, end(&view.answer)));
        hit((13u8, layout, end(&view.answer)));
    }
    for import in &exchange.to_py {
        hit((14u8, import.parcel as u8, end(&import.answer), import.deleted));
    }
    for allocation in &exchange.allocations {
        let prototype = allocation.prototype as u8;
        hit((15u8, prototype, end(&allocation.answer), allocation.complaints, dtype));
    }
    for stream in &exchange.streams {
        hit((16u8, stream.device, end(&stream.answer)));
    }
}

/// Marks which steps followed each other, and what each did.
fn observe_life(life: &Lived) {
    let mut before = 0;
    for moment in &life.moments {
        let kind = moment.step.kind();
        hit((17u8, before, kind));
        let references = moment.references.map(|count| count.clamp(-2, 3));
        let error = moment.error.is_some();
        hit((18u8, kind, std::mem::discriminant(&moment.event), references, error));
        before = kind;
    }
    hit((19u8, life.references.map(|count| count.clamp(-2, 3)), life.growth.is_some()));
}

/// How an export ended, in one number: the exception's class, or the capsule's kind, memory and flags.
fn token(outcome: &Outcome) -> u16 {
    match outcome {
        Outcome::Raised(raised) => raised.class as u16,
        Outcome::Returned(_) => 16,
        Outcome::Capsule(capsule) => match &capsule.managed {
            None => 17,
            Some(managed) => {
                let kind = u16::from(managed.kind == Kind::Versioned);
                let memory =
                    managed.tensor.as_ref().map_or(Memory::Unknown, |tensor| tensor.memory);
                32 | kind << 6 | (memory as u16) << 7 | ((managed.flags & 7) as u16) << 10
            }
        },
    }
}

/// FNV-1a: short keys, and the cells must be the same in every process.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}
