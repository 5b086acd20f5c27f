//! Why an export is refused: the **cause**, and the Python exception that stands for it.
//!
//! The array API knows two sorts: BufferError where the data cannot be exported in that way, and any other
//! exception (here ValueError) where an argument makes no sense.

/// A refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    pub cause: Cause,
    pub kind: Kind,
}

/// The class of the Python exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Buffer,
    Type,
    Value,
    Overflow,
    Memory,
    // Nothing below is ever raised by a lawful exporter; faults do.
    Runtime,
    NotImplemented,
    Attribute,
    Key,
    Index,
    Assertion,
    System,
    /// No `Exception` at all, as PyO3 reports a Rust panic.
    Base,
}

/// What is in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    // Arguments that make no sense.
    NoStreams,
    NoSuchStream,
    NegativeVersion,
    NoDevice,
    // Data that cannot be exported in that way.
    OtherDevice,
    CopyNeeded,
    Unnamed,
    OddStrides,
    LegacyReadOnly,
    LegacyPadded,
    // And neither.
    OutOfMemory,
    /// A fault refuses what should be served.
    Planted,
}

impl From<Cause> for Error {
    fn from(cause: Cause) -> Self {
        Self { cause, kind: cause.kind() }
    }
}

impl Cause {
    fn kind(self) -> Kind {
        match self {
            Self::NoStreams | Self::NoSuchStream | Self::NegativeVersion | Self::NoDevice => {
                Kind::Value
            }
            Self::OutOfMemory => Kind::Memory,
            _ => Kind::Buffer,
        }
    }

    /// For people; C callers get it as it is.
    pub fn message(self) -> &'static std::ffi::CStr {
        match self {
            Self::NoStreams => c"this device has no streams: stream must be None",
            Self::NoSuchStream => c"stream is none that this device can have",
            Self::NegativeVersion => c"max_version must not be negative",
            Self::NoDevice => c"dl_device is no device",
            Self::OtherDevice => c"this array cannot be exported to that device",
            Self::CopyNeeded => c"that device needs a copy, which copy=False forbids",
            Self::Unnamed => c"DLPack has no name for this element type",
            Self::OddStrides => {
                c"a stride is no multiple of the item size: only a copy can be exported"
            }
            Self::LegacyReadOnly => c"the legacy struct cannot say that memory is read-only",
            Self::LegacyPadded => c"the legacy struct cannot say that elements are padded to bytes",
            Self::OutOfMemory => c"there is not enough memory for a copy",
            Self::Planted => c"refused by a planted fault",
        }
    }
}
