//! The **content** of a capsule: the array's memory or other memory, as the decision table asks it.

use crate::abi::DLDevice;
use crate::oracle::{DlTensor, Elements, Memory, Source, WriteThrough};

/// Whose memory an export holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Element 0 lies at the source's address.
    Alias,
    /// Part of the source's memory from another address on.
    Overlap,
    /// Other addresses, but a write on one side shows on the other (mapped memory).
    Mapped,
    /// Memory of its own.
    Copy,
    /// No telling: size 0, an opaque handle, an unknown address, or a wrong one: what holds other values
    /// than the source is not taken for a copy of it.
    Unknown,
}

impl Content {
    /// Of an export of `source`, which lives on `own`.
    pub fn of(source: &Source, own: DLDevice, tensor: &DlTensor) -> Self {
        if source.shape.contains(&0) {
            return Self::Unknown;
        }
        match (tensor.memory, tensor.write_through) {
            (Memory::Alias, _) => Self::Alias,
            (Memory::Overlap, _) => Self::Overlap,
            (Memory::Distinct, WriteThrough::Shared | WriteThrough::OneWay) => Self::Mapped,
            (Memory::Distinct, _) if matches!(tensor.elements, Elements::Differ { .. }) => {
                Self::Unknown
            }
            (Memory::Distinct, _) => Self::Copy,
            // What the host can read was not there before when the array's own memory is out of its reach.
            (Memory::Unknown, _)
                if tensor.device.device_type.is_host_accessible()
                    && matches!(own.device_type.0, 2 | 10) =>
            {
                Self::Copy
            }
            (Memory::Unknown, _) => Self::Unknown,
        }
    }

    pub fn is_shared(self) -> bool {
        matches!(self, Self::Alias | Self::Overlap | Self::Mapped)
    }

    pub fn is_copy(self) -> bool {
        self == Self::Copy
    }

    /// For people.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Alias => "the array's memory",
            Self::Overlap => "memory that overlaps the array's",
            Self::Mapped => "memory that is mapped to the array's",
            Self::Copy => "a copy",
            Self::Unknown => "memory of unknown origin",
        }
    }
}
