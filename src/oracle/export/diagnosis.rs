//! What is wrong **first** with an export. The module above says what rests on what.

use super::asked::{Asked, asked};
use crate::case::{ByteOrder, Case, DtypeClass, Keyword};
use crate::oracle::{
    Capsule, CapsuleName, DlTensor, Elements, Kind, Managed, Memory, Observation, Of, dty,
};

/// What was found in each layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::oracle) struct Diagnosis {
    pub header: Layer,
    pub shape: Layer,
    pub dtype: Layer,
    pub strides: Layer,
    pub address: Layer,
    pub values: Layer,
}

/// A part of the struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::oracle) enum Layer {
    /// It cannot be judged: there is nothing to compare, or what it rests on is broken.
    Hidden,
    Sound,
    Broken(Fault),
}

/// What is wrong first; each is one rule's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::oracle) enum Fault {
    /// CAP-STRUCT-MATCHES-NAME
    OtherStruct,
    /// MGT-VERSION-MAJOR
    MajorZero,
    /// MGT-ALIGNED
    Misaligned,
    /// TEN-NDIM
    Rank,
    /// TEN-SHAPE-PTR
    NoShape,
    /// TEN-SHAPE-VALUES
    Extents,
    /// Any of the DTY rules
    Dtype(dty::Fault),
    /// TEN-STRIDES-NONNULL-1.2
    NoStrides,
    /// TEN-STRIDES-NULL-COMPACT
    NotCompact,
    /// TEN-STRIDES-UNIT
    Strides,
    /// TEN-DATA-NONNULL
    NoData,
    /// TEN-BYTEOFFSET-RANGE
    Offset,
    /// TEN-DATA-ADDR
    Address,
    /// TEN-STRIDES-EXTENT
    Extent,
    /// TEN-VALUES
    Values,
}

pub(super) fn diagnose(
    case: &Case,
    seen: &Observation,
    of: Of,
    capsule: &Capsule,
    managed: &Managed,
) -> Diagnosis {
    let mut diagnosis = Diagnosis {
        header: header(seen, capsule, managed),
        shape: Layer::Hidden,
        dtype: Layer::Hidden,
        strides: Layer::Hidden,
        address: Layer::Hidden,
        values: Layer::Hidden,
    };
    if diagnosis.header != Layer::Sound {
        return diagnosis;
    }
    let Some(tensor) = &managed.tensor else {
        // The struct is the right one, so only its number of axes can have stopped the reader.
        let is_read = managed.version.is_none_or(|version| version.major == 1);
        diagnosis.shape = if is_read { Layer::Broken(Fault::Rank) } else { Layer::Hidden };
        return diagnosis;
    };
    diagnosis.shape = shape(case, seen, tensor);
    diagnosis.dtype = dty::layer(case, seen, managed, tensor);
    diagnosis.strides = strides(seen, managed, tensor, &diagnosis);
    diagnosis.address = address(case, seen, of, tensor, &diagnosis);
    diagnosis.values = values(case, tensor, &diagnosis);
    diagnosis
}

fn header(seen: &Observation, capsule: &Capsule, managed: &Managed) -> Layer {
    let rank = seen.source.shape.len();
    let is_named = match capsule.name {
        CapsuleName::Legacy => managed.kind == Kind::Legacy,
        CapsuleName::Versioned => managed.kind == Kind::Versioned,
        // CAP-NAME-KNOWN speaks of the name; the struct may still be right.
        CapsuleName::Null | CapsuleName::Other(_) => true,
    };
    let is_other = match (managed.version, &managed.tensor) {
        // A pointer or a shape in these places is a larger number than any version will ever be.
        (Some(version), _) => version.major > 64 || version.minor >= 1024,
        // At the offset of `ndim` the versioned struct has half of a function's address.
        (None, None) => true,
        (None, Some(tensor)) => tensor.ndim as usize != rank && tensor.dtype.lanes == 0,
    };
    let pointers = managed.tensor.as_ref().map_or([0; 2], |t| [t.shape_pointer, t.strides_pointer]);
    if is_other && is_named {
        Layer::Broken(Fault::OtherStruct)
    } else if managed.version.is_some_and(|version| version.major == 0) {
        Layer::Broken(Fault::MajorZero)
    } else if !capsule.pointer.is_multiple_of(8) || pointers.iter().any(|pointer| pointer % 8 != 0)
    {
        Layer::Broken(Fault::Misaligned)
    } else {
        Layer::Sound
    }
}

fn shape(case: &Case, seen: &Observation, tensor: &DlTensor) -> Layer {
    let due = &seen.source.shape;
    if tensor.ndim > 0 && tensor.shape_pointer == 0 {
        return Layer::Broken(Fault::NoShape);
    }
    if tensor.shape == *due && tensor.ndim as usize == due.len() {
        return Layer::Sound;
    }
    // The unit of a packed shape is not defined: DTY-SUBBYTE-SHAPE records it.
    if case.tensor.dtype.class() == DtypeClass::SubByte && dty::is_repacked(case, seen, tensor) {
        return Layer::Hidden;
    }
    let is_rank = tensor.ndim < 0 || tensor.ndim as usize != due.len();
    Layer::Broken(if is_rank { Fault::Rank } else { Fault::Extents })
}

fn strides(
    seen: &Observation,
    managed: &Managed,
    tensor: &DlTensor,
    diagnosis: &Diagnosis,
) -> Layer {
    let source = &seen.source;
    if tensor.ndim <= 0 {
        return Layer::Hidden;
    }
    let is_null = tensor.strides_pointer == 0;
    if is_null && managed.version.is_some_and(|version| version.minor >= 2) {
        return Layer::Broken(Fault::NoStrides);
    }
    let item = tensor.dtype.item_size();
    let comparable = diagnosis.shape == Layer::Sound
        && item == source.item_size
        && tensor.memory == Memory::Alias
        && source.size() > 0;
    if !comparable {
        return Layer::Hidden;
    }
    // Only axes longer than 1 have a stride that means anything.
    let mut compact = item as i128;
    let mut equal = true;
    for axis in (0..source.shape.len()).rev() {
        let extent = source.shape[axis];
        if extent <= 1 {
            continue;
        }
        let seen = match tensor.strides.get(axis) {
            _ if is_null => compact,
            Some(&stride) => i128::from(stride) * item as i128,
            None => return Layer::Hidden,
        };
        equal &= seen == i128::from(source.strides[axis]);
        compact = compact.saturating_mul(i128::from(extent));
    }
    match (equal, is_null) {
        (true, _) => Layer::Sound,
        (false, true) => Layer::Broken(Fault::NotCompact),
        (false, false) => Layer::Broken(Fault::Strides),
    }
}

fn address(
    case: &Case,
    seen: &Observation,
    of: Of,
    tensor: &DlTensor,
    diagnosis: &Diagnosis,
) -> Layer {
    let source = &seen.source;
    if !tensor.device.device_type.has_plain_pointers() || diagnosis.shape != Layer::Sound {
        return Layer::Hidden;
    }
    let Some(first) = tensor.first() else {
        return Layer::Broken(Fault::Offset);
    };
    if source.size() == 0 {
        return Layer::Hidden;
    }
    if tensor.data == 0 {
        return Layer::Broken(Fault::NoData);
    }
    let leaves = |allocation: &std::ops::Range<usize>| {
        allocation.contains(&tensor.data) && !allocation.contains(&first)
    };
    if tensor.byte_offset > 0 && source.allocation.as_ref().is_some_and(leaves) {
        return Layer::Broken(Fault::Offset);
    }
    match tensor.memory {
        Memory::Alias => Layer::Sound,
        // A copy that shares memory is COPY-TRUE-DISTINCT's.
        Memory::Overlap if asked(case, of, Keyword::Copy) == Asked::True => Layer::Hidden,
        Memory::Overlap => Layer::Broken(Fault::Address),
        Memory::Unknown | Memory::Distinct => Layer::Hidden,
    }
}

fn values(case: &Case, tensor: &DlTensor, diagnosis: &Diagnosis) -> Layer {
    let broken = |layer| matches!(layer, Layer::Broken(_));
    let dtype = case.tensor.dtype;
    let judged_by_dtype = dtype.class() == DtypeClass::SubByte
        || dtype.order == ByteOrder::Swapped
        || broken(diagnosis.dtype);
    let is_hidden = judged_by_dtype
        || broken(diagnosis.shape)
        || broken(diagnosis.strides)
        || broken(diagnosis.address);
    match (&tensor.elements, tensor.memory) {
        _ if is_hidden => Layer::Hidden,
        // A copy has bounds of its own, and COPY-VALUES its values.
        (_, Memory::Distinct) => Layer::Hidden,
        (Elements::OutOfBounds { .. }, _) => Layer::Broken(Fault::Extent),
        (Elements::Differ { .. }, _) => Layer::Broken(Fault::Values),
        (Elements::Same | Elements::SameValues, _) => Layer::Sound,
        (Elements::NotRead(_), _) => Layer::Hidden,
    }
}

#[cfg(test)]
mod tests {
    use super::super::examine;
    use super::*;
    use crate::oracle::testing::Scene;

    #[test]
    fn a_lawful_export_is_sound_in_every_layer() {
        let scene = Scene::plain();
        let exports = examine(&scene.case, &scene.seen);
        let Diagnosis { header, shape, dtype, strides, address, values } = exports[0].diagnosis;
        assert_eq!([header, shape, dtype, strides, address, values], [Layer::Sound; 6]);
    }
}
