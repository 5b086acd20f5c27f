//! An **observation**: everything that was seen while a case ran, as plain data.
//!
//! It holds no Python object and no pointer that may be followed; addresses are numbers to compare. A rule
//! can therefore be tested with a hand-written observation, without an interpreter.

mod exchange;
mod life;

pub use exchange::*;
pub use life::*;

use crate::abi::{DLDataType, DLDevice, DLPackVersion};
use crate::case::{Probe, Shape, Strides};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::ops::Range;

/// What was seen.
#[derive(Clone, Debug)]
pub struct Observation {
    pub exporter: Exporter,
    pub source: Source,
    /// `__dlpack_device__()` before the first export.
    pub device_before: DeviceAnswer,
    /// `__dlpack_device__()` after the last one, when the case asked again.
    pub device_after: Option<DeviceAnswer>,
    /// The export that the case is about.
    pub export: Outcome,
    /// Further exports, in the order they were made; all results were alive together.
    pub further: SmallVec<[(Probe, Outcome); 4]>,
    /// Counts after everything was released.
    pub ledger: Ledger,
    /// The C exchange API of the array's type, where the case asked for it.
    pub exchange: Option<Box<Exchange>>,
    /// The case's life, if it has one.
    pub life: Option<Box<Lived>>,
}

impl Observation {
    /// The outcome of a probe, if it was made.
    pub fn probe(&self, probe: Probe) -> Option<&Outcome> {
        self.further.iter().find(|(made, _)| *made == probe).map(|(_, outcome)| outcome)
    }
}

/// What the type of the exporter can do: found by probing once and from the backend's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exporter {
    pub route: Route,
    /// `__dlpack__` takes this keyword (probed with `None`), in the order of `Keyword::ALL`.
    pub keywords: [bool; 4],
    /// `__dlpack__` and `__dlpack_device__` exist.
    pub methods: [bool; 2],
    /// The newest version of the array API that the library claims (`None`: claims none).
    pub claims: Option<ArrayApi>,
    /// Versioned capsules are known to be made at all.
    pub versioned: bool,
    /// Arrays can be written to by their users (false: JAX, Arrow, mlx).
    pub mutable: bool,
    /// The library has a notion of read-only arrays that it reports.
    pub has_readonly: bool,
    /// The capsule destructor is Python code (CAP-DTOR-EXC-PY).
    pub python_destructor: bool,
}

/// By which way exports are asked for: it says what there is to be seen around a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// `__dlpack__`: arguments and results are Python objects.
    Python,
    /// A C function that answers with a struct: there is no capsule, and arguments have one spelling.
    C,
}

impl Exporter {
    /// max_version, dl_device and copy are all known: an exporter of 2023.12 or later.
    pub fn is_2023(&self) -> bool {
        self.keywords[1..].iter().all(|&known| known)
    }
}

/// A version of the array API standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArrayApi {
    V2021,
    V2022,
    V2023,
    V2024,
    V2025,
}

/// The array as the adapter knows it, by ways that do not go through DLPack.
#[derive(Clone, Debug)]
pub struct Source {
    /// Shape and byte strides that an export is due to have.
    pub shape: Shape,
    pub strides: Strides,
    pub item_size: usize,
    /// Address of the first element; `None` where it cannot be had without side effects.
    pub address: Option<usize>,
    /// The allocation that holds the elements.
    pub allocation: Option<Range<usize>>,
    /// `None`: the library has no such notion.
    pub writable: Option<bool>,
    /// The library's own word on whether this array can be exported at all.
    pub exportable: Exportable,
    /// More than memory (masked, matrix): compare with the base data only.
    pub is_special: bool,
    /// The elements in row-major order and in native bytes, where they are not what lies at `address`
    /// (a view that stands for the negative of its memory) or where that is not known.
    pub values: Option<Box<[u8]>>,
    /// The source's values, shape, dtype and device were the same at the end (CAP-SOURCE-UNCHANGED).
    pub unchanged: Result<(), Cow<'static, str>>,
}

impl Source {
    /// Number of elements; saturates where it does not fit.
    pub fn size(&self) -> u64 {
        if self.shape.contains(&0) {
            return 0;
        }
        self.shape.iter().fold(1u64, |size, &extent| size.saturating_mul(extent as u64))
    }
}

/// What the backend's table says of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exportable {
    Yes,
    /// The library lawfully refuses it, for this reason.
    No(&'static str),
    /// The table does not say; the plain call and the call with `dl_device=(1, 0)` decide.
    Unknown,
}

/// What `__dlpack_device__()` answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceAnswer {
    /// A container of two with numbers in it, however it is typed.
    Pair {
        device: DLDevice,
        container: Container,
        type_element: Number,
        id_element: Number,
    },
    /// A container of two, of which this element (the first such) is no number; its `repr`.
    NoNumber(DeviceElement, String),
    /// Something else, by its `repr`.
    Malformed(String),
    Raised(Raised),
}

impl DeviceAnswer {
    pub fn device(&self) -> Option<DLDevice> {
        match self {
            Self::Pair { device, .. } => Some(*device),
            _ => None,
        }
    }
}

/// A place in the device pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceElement {
    Type,
    Id,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    Tuple,
    TupleSubclass,
    List,
    Other,
}

/// The type of an element of the device pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    Int,
    Bool,
    IntEnum,
    /// A plain `enum.Enum` member with an int value.
    Enum,
    /// Another sub-class of int.
    IntSubclass,
    /// Not an int, but has `__index__`.
    Index,
}

/// How one `__dlpack__` call ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    Capsule(Box<Capsule>),
    /// Returned an object that is no capsule; the name of its type.
    Returned(String),
    Raised(Raised),
}

impl Outcome {
    pub fn capsule(&self) -> Option<&Capsule> {
        match self {
            Self::Capsule(capsule) => Some(capsule),
            _ => None,
        }
    }

    pub fn raised(&self) -> Option<&Raised> {
        match self {
            Self::Raised(raised) => Some(raised),
            _ => None,
        }
    }

    /// The managed tensor of a capsule that could be read.
    pub fn managed(&self) -> Option<&Managed> {
        self.capsule()?.managed.as_ref()
    }
}

/// An exception, sorted by `isinstance` in the order of [`ErrorClass`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    pub class: ErrorClass,
    /// Name of the type, such as `BufferError`.
    pub name: Cow<'static, str>,
    /// `str(exception)`; only in detailed runs.
    pub message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ErrorClass {
    /// MemoryError
    Memory,
    /// BufferError: `BE`
    Buffer,
    /// TypeError: `TE`
    Type,
    /// OverflowError: `OE`
    Overflow,
    /// ValueError: `VE`
    Value,
    /// SystemError (a RuntimeError's sibling; EXC-SYSTEMERROR)
    System,
    /// RuntimeError and NotImplementedError: `RE`
    Runtime,
    /// AssertionError: `AE`
    Assertion,
    /// Any other `Exception`: `XE`
    Other,
    /// A `BaseException` that is no `Exception` (EXC-CLASS)
    Base,
}

/// A capsule as returned, read before anything consumed it.
#[derive(Clone, Debug)]
pub struct Capsule {
    /// `PyCapsule_CheckExact`.
    pub exact: bool,
    pub name: CapsuleName,
    /// Address of the name's buffer; 0 for NULL.
    pub name_address: usize,
    pub has_destructor: bool,
    /// The pointer it holds.
    pub pointer: usize,
    /// The struct, as far as it could be read safely; `None` when the name names no struct.
    pub managed: Option<Managed>,
    /// A Python exception was set although the call returned a result.
    pub error_pending: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CapsuleName {
    Legacy,
    Versioned,
    Null,
    Other(String),
}

/// Which managed tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Legacy,
    Versioned,
}

/// `DLManagedTensor` or `DLManagedTensorVersioned`.
#[derive(Clone, Debug)]
pub struct Managed {
    pub kind: Kind,
    /// `None` in a legacy struct.
    pub version: Option<DLPackVersion>,
    /// 0 in a legacy struct.
    pub flags: u64,
    pub has_deleter: bool,
    /// `None` when the struct's major version, alignment or ndim forbids to read on.
    pub tensor: Option<DlTensor>,
}

/// `DLTensor`, with what reading its elements showed.
#[derive(Clone, Debug)]
pub struct DlTensor {
    pub data: usize,
    pub device: DLDevice,
    pub ndim: i32,
    pub dtype: DLDataType,
    /// The pointer itself; 0 for NULL.
    pub shape_pointer: usize,
    pub strides_pointer: usize,
    /// Empty when `ndim` is 0 or negative, the pointer is NULL or misaligned.
    pub shape: Shape,
    /// In **elements**, as the header counts them; empty like `shape`.
    pub strides: Strides,
    /// In bytes.
    pub byte_offset: u64,
    pub elements: Elements,
    /// Whether the memory is the source's.
    pub memory: Memory,
    /// What the write-through test showed.
    pub write_through: WriteThrough,
}

impl DlTensor {
    /// `data + byte_offset`, or `None` if that wraps.
    pub fn first(&self) -> Option<usize> {
        usize::try_from(self.byte_offset).ok().and_then(|offset| self.data.checked_add(offset))
    }
}

/// The elements, read by the export's own metadata and compared with the source's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elements {
    /// Not read, for this reason (device memory, size 0, unknown address, broken struct).
    NotRead(&'static str),
    /// Every element that was read has the source's bytes.
    Same,
    /// Equal but for NaN payloads or for truth values that are not 0 or 1.
    SameValues,
    /// An element differs: its multi-index, the source's bytes and the export's.
    Differ { index: Shape, expected: Vec<u8>, seen: Vec<u8> },
    /// Some element lies outside the source's allocation: lowest and one past the highest address.
    OutOfBounds { low: i128, high: i128 },
}

/// How the export's memory relates to the source's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Size 0, an opaque handle, or an unknown source address.
    Unknown,
    /// Element 0 has the source's address.
    Alias,
    /// Not the same first address, but some addressed byte is the source allocation's.
    Overlap,
    /// No addressed byte is in the source's allocation.
    Distinct,
}

/// What a marker that is written on one side shows on the other (COPY-WRITE-THROUGH).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteThrough {
    /// Not tried: one side may not be written.
    NotTried,
    /// A write on either side shows on the other.
    Shared,
    /// A write on neither side shows on the other.
    Separate,
    /// A write through the export shows in the source, but not the reverse, or the other way round.
    OneWay,
}

/// Counts after every capsule was dropped; each is the difference to before the case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// References of the source array that are still held.
    pub source_references: isize,
    /// References of argument objects that are still held.
    pub argument_references: isize,
    /// Live blocks of the library's own data allocator (NEP 49 for NumPy); `None` where not counted.
    pub blocks: Option<isize>,
    /// A Python exception that was set after a release although none was in flight before.
    pub error_after_release: Option<String>,
    /// Growth per round over many rounds; taken only when a count above was off (P-BASELINE).
    pub growth: Option<Growth>,
    /// Bytes of the heap that each round of exports leaves behind, taken over thousands: 0 if none, `None`
    /// where it was not taken. It says what the counts above do not know of.
    pub heap: Option<f64>,
}

/// What repetition showed: the leak is confirmed when the count grows with the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    pub rounds: u32,
    pub references: isize,
    pub blocks: isize,
    pub argument_references: isize,
}
