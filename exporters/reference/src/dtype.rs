//! The **element type** of an array: its name in DLPack, and how its elements lie in memory.

use crate::dlpack::{DataType, code};

/// A type that DLPack has no name for. Arrays of it can be built, and are refused when they are exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnamed {
    /// The bytes of this type, in the order of another machine.
    Swapped(DataType),
    LongDouble,
    ComplexLongDouble,
    /// Python objects.
    Object,
    /// Dates, text, records.
    Other,
}

/// How elements lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Whole bytes each.
    Whole,
    /// Narrower than a byte, a byte each, in its low bits.
    Padded,
    /// Narrower than a byte, side by side, the first in the low bits.
    Packed,
}

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementType {
    pub name: Result<DataType, Unnamed>,
    pub storage: Storage,
    /// Bytes that an element takes; 1 for a packed one, whose stride counts elements.
    pub item_bytes: usize,
}

impl ElementType {
    /// Bytes of `count` elements in a row; `None` if they cannot be addressed.
    pub fn bytes_of(&self, count: usize) -> Option<usize> {
        match (self.storage, self.name) {
            (Storage::Packed, Ok(name)) => {
                Some(count.checked_mul(name.element_bits())?.div_ceil(8))
            }
            _ => count.checked_mul(self.item_bytes),
        }
    }
}

/// Why there is no array of this type; a C string, as callers want it.
pub type Reason = &'static std::ffi::CStr;

/// Accepts the types that DLPack 1.3 defines, in the storage that is described.
pub fn element_type(
    name: DataType,
    item_bytes: usize,
    is_packed: bool,
) -> Result<ElementType, Reason> {
    let is_defined = match name.code {
        code::INT | code::UINT => matches!(name.bits, 1 | 2 | 4 | 8 | 16 | 32 | 64),
        code::FLOAT => matches!(name.bits, 16 | 32 | 64 | 128),
        code::BFLOAT => name.bits == 16,
        code::COMPLEX => matches!(name.bits, 32 | 64 | 128),
        code::BOOL => name.bits == 8,
        code::FLOAT8_E3M4..=code::FLOAT8_E8M0FNU => name.bits == 8,
        code::FLOAT6_E2M3FN | code::FLOAT6_E3M2FN => name.bits == 6,
        code::FLOAT4_E2M1FN => name.bits == 4,
        code::OPAQUE_HANDLE => return Err(c"an opaque handle means nothing without an agreement"),
        _ => false,
    };
    if !is_defined || name.lanes == 0 {
        return Err(c"DLPack 1.3 does not define this type");
    }
    let bits = name.element_bits();
    let storage = match (bits % 8, is_packed) {
        (0, _) => Storage::Whole,
        (_, true) if bits < 8 => Storage::Packed,
        (_, false) if bits < 8 => Storage::Padded,
        _ => return Err(c"a vector of such elements ends within a byte"),
    };
    let due = if storage == Storage::Whole { bits / 8 } else { 1 };
    if item_bytes != due {
        return Err(c"an element of this type takes another number of bytes");
    }
    Ok(ElementType { name: Ok(name), storage, item_bytes })
}
