//! What the **C exchange API** of the array's type showed.
//!
//! Like every observation plain data: addresses are numbers to compare. What a reproducer is to find again
//! has a text form ([`Display`](fmt::Display)) that it prints in the same words.

use super::{DlTensor, Managed, Outcome, Raised};
use crate::abi::{DLDataType, DLDevice, DLPackVersion};
use crate::case::{Shape, Tensor};
use std::borrow::Cow;
use std::fmt;

/// What was seen of the API; a part that the case did not ask for, or that the table lacks, is `None` or
/// empty.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// `type(x).__dlpack_c_exchange_api__`.
    pub attribute: Attribute,
    /// `type(x).__c_dlpack_exchange_api__`, the attribute of DLPack 1.2.
    pub old: Attribute,
    pub table: Option<Table>,
    /// `x.__dlpack__(max_version=(1, 99))`, or `x.__dlpack__()` where it knows no keywords.
    pub reference: Option<Outcome>,
    pub from_py: Option<FromPy>,
    pub view: Option<View>,
    pub to_py: Vec<ToPy>,
    pub allocations: Vec<Allocation>,
    pub streams: Vec<Stream>,
    pub pending: Vec<Pending>,
    /// The allocator, called without the GIL.
    pub without_gil: Option<Allocation>,
}

impl Exchange {
    /// Something stays behind: counts that are taken around it say nothing of `__dlpack__`.
    pub fn leaks(&self) -> bool {
        let left = |kept: &Kept| kept.once != 0;
        self.from_py.as_ref().is_some_and(|it| left(&it.kept))
            || self.view.as_ref().is_some_and(|it| left(&it.kept))
    }
}

/// What a type holds under one of the two names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    Absent {
        on_instance: bool,
    },
    /// The capsule's name and the pointer it holds.
    Capsule {
        name: Option<String>,
        pointer: usize,
    },
    Int(usize),
    /// An object with `__get__`, such as a property: its value is the instance's. Name of its type.
    Descriptor(String),
    /// Something else; the name of its type.
    Other(String),
    Raised(Raised),
}

impl Default for Attribute {
    fn default() -> Self {
        Self::Absent { on_instance: false }
    }
}

impl Attribute {
    /// The table's address, where the attribute has one of the two lawful forms.
    pub fn address(&self) -> Option<usize> {
        match self {
            Self::Capsule { name: Some(name), pointer }
                if name.as_bytes() == crate::abi::exchange::NAME_EXCHANGE.to_bytes() =>
            {
                Some(*pointer)
            }
            Self::Int(address) => Some(*address),
            _ => None,
        }
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent { on_instance: false } => f.write_str("absent"),
            Self::Absent { on_instance: true } => f.write_str("on the instance only"),
            Self::Capsule { name: Some(name), .. } => write!(f, "capsule '{name}'"),
            Self::Capsule { name: None, .. } => f.write_str("capsule without a name"),
            Self::Int(_) => f.write_str("int"),
            Self::Descriptor(name) | Self::Other(name) => f.write_str(name),
            Self::Raised(raised) => f.write_str(&raised.name),
        }
    }
}

/// The functions of the table, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Function {
    Allocator,
    FromPy,
    ToPy,
    View,
    Stream,
}

impl Function {
    pub const ALL: [Self; 5] =
        [Self::Allocator, Self::FromPy, Self::ToPy, Self::View, Self::Stream];

    /// The field's name in the header.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allocator => "managed_tensor_allocator",
            Self::FromPy => "managed_tensor_from_py_object_no_sync",
            Self::ToPy => "managed_tensor_to_py_object_no_sync",
            Self::View => "dltensor_from_py_object_no_sync",
            Self::Stream => "current_work_stream",
        }
    }
}

/// The table, read and read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The address was an int (1.2), and no capsule.
    pub is_old_form: bool,
    pub version: DLPackVersion,
    /// Versions of the tables behind `prev_api`, the newest first.
    pub older: Vec<DLPackVersion>,
    pub chain_end: ChainEnd,
    /// Which functions are not NULL, in the order of [`Function::ALL`]; `None` where no table of major
    /// version 1 was found.
    pub present: Option<[bool; 5]>,
    pub look_ups: LookUps,
    /// Some byte differs between the first reading in this process and the one after the calls.
    pub changed: bool,
}

/// Where the chain of older tables ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainEnd {
    Null,
    /// A table comes up for the second time.
    Cycle,
    /// It was not followed further.
    TooLong,
    /// The memory cannot be read.
    Unreadable,
}

/// Repeated look-ups on the type and over the instances of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookUps {
    Same,
    /// Another address, and the first one still holds the table.
    Moved,
    /// Another address, and the first one no longer holds it.
    Gone,
}

/// How one call of a table's function ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub code: i32,
    /// The Python exception that was set afterwards.
    pub error: Option<Raised>,
    pub out: Out,
}

/// An out parameter after the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Out {
    /// It still holds what it held before.
    Untouched,
    Null,
    Set,
}

impl Answer {
    pub fn succeeded(&self) -> bool {
        self.code == 0
    }

    /// The number and the exception say the same (XCH-RET).
    pub fn agrees(&self) -> bool {
        (self.code == 0) == self.error.is_none()
    }
}

impl fmt::Display for Answer {
    /// A script sees no number when an exception is set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            Some(raised) => write!(f, "raised {}", raised.name)?,
            None => write!(f, "returned {}", self.code)?,
        }
        f.write_str(match self.out {
            Out::Untouched => ", out untouched",
            Out::Null => ", out NULL",
            Out::Set => ", out set",
        })
    }
}

/// References of the array that a call and its release leave behind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Kept {
    /// After one round.
    pub once: isize,
    /// Per round over many rounds; taken only when `once` is not 0 (P-BASELINE).
    pub growth: Option<f64>,
}

/// `managed_tensor_from_py_object_no_sync`.
#[derive(Clone, Debug)]
pub struct FromPy {
    pub answer: Answer,
    /// Address of the struct; 0 where there is none.
    pub pointer: usize,
    pub managed: Option<Managed>,
    pub second: Second,
    pub kept: Kept,
    /// The exception that the deleter left.
    pub error_after_release: Option<Cow<'static, str>>,
}

/// A second export of the same object while the first one lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Second {
    /// It failed, or the first one did.
    NotTried,
    /// A struct of its own.
    Separate,
    /// The very struct that the first owner has to release.
    SameStruct,
    /// Releasing it changed the first one.
    Disturbs,
}

/// `dltensor_from_py_object_no_sync`, into a struct that was filled with 0xA5.
#[derive(Clone, Debug)]
pub struct View {
    pub answer: Answer,
    /// `None` after a failure, or where a field that leads further was not written.
    pub tensor: Option<DlTensor>,
    /// Fields that still hold 0xA5 in every byte, though the call succeeded.
    pub unwritten: Vec<&'static str>,
    /// Shape and strides read the same after other objects came and went.
    pub stays: bool,
    pub kept: Kept,
}

impl View {
    /// Names of the fields, as a list.
    pub fn unwritten_text(&self) -> String {
        if self.unwritten.is_empty() { "none".into() } else { self.unwritten.join(" ") }
    }
}

/// A tensor that the host makes for `managed_tensor_to_py_object_no_sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parcel {
    /// Six float32 with a counting deleter.
    Plain,
    /// The same without a deleter.
    NoDeleter,
    /// The same under version (2, 0).
    MajorTwo,
    /// The same with a dtype code that DLPack does not define.
    UnknownDtype,
    /// The same with a device type that DLPack does not define.
    UnknownDevice,
}

impl Parcel {
    pub const ALL: [Self; 5] =
        [Self::Plain, Self::NoDeleter, Self::MajorTwo, Self::UnknownDtype, Self::UnknownDevice];

    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::NoDeleter => "no deleter",
            Self::MajorTwo => "version (2, 0)",
            Self::UnknownDtype => "unknown dtype",
            Self::UnknownDevice => "unknown device",
        }
    }
}

/// `managed_tensor_to_py_object_no_sync`.
#[derive(Clone, Debug)]
pub struct ToPy {
    pub parcel: Parcel,
    pub answer: Answer,
    pub object: Option<Imported>,
    /// How often the deleter ran, the object's death included.
    pub deleted: u32,
}

impl fmt::Display for ToPy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, ", self.parcel.name(), self.answer)?;
        match &self.object {
            None => f.write_str("no object")?,
            Some(object) if object.fits => f.write_str("an array")?,
            Some(object) => write!(f, "a {}", object.type_name)?,
        }
        write!(f, ", deleter ran {} times", self.deleted)
    }
}

/// The object that came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    pub type_name: String,
    /// Of the exporter's type, or of a sub-class.
    pub fits: bool,
    /// Its reference count at once.
    pub references: isize,
}

/// A prototype that the allocator gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prototype {
    /// Six of the case's dtype; the fields that must not be read are NULL and 0.
    Plain,
    /// The same with wrong data, strides and byte_offset.
    Garbage,
    /// The case's shape.
    Shape,
    /// Shape `(0, 3)`.
    NoElements,
    /// No axes; the shape is NULL.
    NoAxes,
    /// A dtype code that DLPack does not define.
    UnknownDtype,
    /// A device type that DLPack does not define.
    UnknownDevice,
    /// Shape `(2**61,)`.
    Huge,
    /// Shape `(2**32, 2**32)`: its size is 0 modulo 2**64.
    Wrapping,
    /// Shape `(-1,)`: a mistake of the caller's.
    Negative,
}

impl Prototype {
    pub const ALL: [Self; 10] = [
        Self::Plain,
        Self::Garbage,
        Self::Shape,
        Self::NoElements,
        Self::NoAxes,
        Self::UnknownDtype,
        Self::UnknownDevice,
        Self::Huge,
        Self::Wrapping,
        Self::Negative,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Garbage => "garbage",
            Self::Shape => "shape",
            Self::NoElements => "no-elements",
            Self::NoAxes => "no-axes",
            Self::UnknownDtype => "unknown-dtype",
            Self::UnknownDevice => "unknown-device",
            Self::Huge => "huge",
            Self::Wrapping => "wrapping",
            Self::Negative => "negative",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|prototype| prototype.name() == name)
    }

    /// No memory can hold it.
    pub fn is_absurd(self) -> bool {
        matches!(self, Self::Huge | Self::Wrapping)
    }

    /// What it asks for in a case of this array; `None` where the array is too large to ask for.
    pub fn wanted(self, tensor: &Tensor) -> Option<Wanted> {
        let mut dtype = tensor.dtype.info().triple.unwrap_or(DLDataType::new(2, 32, 1));
        let mut shape = Shape::from_slice(&[6]);
        let mut device = DLDevice::CPU;
        match self {
            Self::Plain | Self::Garbage => {}
            Self::Shape => {
                let item = dtype.item_size() as u64;
                let bytes = tensor.shape.iter().try_fold(item, |bytes, &extent| {
                    bytes.checked_mul(u64::try_from(extent).ok()?)
                });
                bytes.filter(|&bytes| bytes <= MOST_BYTES)?;
                shape = tensor.shape.clone();
            }
            Self::NoElements => shape = Shape::from_slice(&[0, 3]),
            Self::NoAxes => shape = Shape::new(),
            Self::UnknownDtype => dtype = DLDataType::new(UNKNOWN_CODE, 32, 1),
            Self::UnknownDevice => device = UNKNOWN_DEVICE,
            Self::Huge => shape = Shape::from_slice(&[1 << 61]),
            Self::Wrapping => shape = Shape::from_slice(&[1 << 32, 1 << 32]),
            Self::Negative => shape = Shape::from_slice(&[-1]),
        }
        if self.is_absurd() {
            // Eight bytes each: no product of the two fits 64 bits.
            dtype = DLDataType::new(2, 64, 1);
        }
        Some(Wanted { dtype, shape, device })
    }
}

/// The case's own shape is asked for up to this many bytes; more would measure the machine.
const MOST_BYTES: u64 = 1 << 20;
/// A code far beyond the last one of DLPack 1.3.
pub const UNKNOWN_CODE: u8 = 200;
/// A type far beyond the last one of DLPack 1.3.
pub const UNKNOWN_DEVICE: DLDevice = DLDevice::new(99, 0);

/// The fields of a prototype that the allocator reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub dtype: DLDataType,
    pub shape: Shape,
    pub device: DLDevice,
}

/// `managed_tensor_allocator`.
#[derive(Clone, Debug)]
pub struct Allocation {
    pub prototype: Prototype,
    pub dtype: DLDataType,
    pub shape: Shape,
    pub device: DLDevice,
    pub answer: Answer,
    /// Calls of SetError.
    pub complaints: u32,
    pub managed: Option<Managed>,
}

impl Allocation {
    /// The result has what the prototype asked for, writable.
    pub fn fits(&self) -> bool {
        let tensor = self.managed.as_ref().and_then(|managed| managed.tensor.as_ref());
        let is_writable = self.managed.as_ref().is_some_and(|managed| managed.flags & 1 == 0);
        is_writable
            && tensor.is_some_and(|tensor| {
                tensor.dtype == self.dtype
                    && tensor.shape == self.shape
                    && tensor.ndim as usize == self.shape.len()
                    && tensor.device == self.device
            })
    }
}

impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, ", self.prototype.name(), self.answer)?;
        write!(f, "SetError called {} times, ", self.complaints)?;
        match &self.managed {
            None => f.write_str("no tensor"),
            Some(managed) => match &managed.tensor {
                None => f.write_str("no readable tensor"),
                Some(tensor) => {
                    write!(f, "dtype {} shape {:?} ", tensor.dtype, &tensor.shape[..])?;
                    write!(f, "device {} flags {}", tensor.device, managed.flags)
                }
            },
        }
    }
}

/// `current_work_stream`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    pub device: DLDevice,
    pub answer: Answer,
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.device, self.answer)
    }
}

/// A call with a Python exception in flight, which no text speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The function; `None` for the deleter of a from_py result.
    pub function: Option<Function>,
    pub code: i32,
    pub fate: Fate,
}

/// What became of the exception that was in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    Kept,
    Lost,
    /// By one of this type.
    Replaced(Cow<'static, str>),
}
