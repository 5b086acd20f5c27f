//! Types narrower than a byte: packed, or padded to a byte each.

use crate::abi::{DLDataType, FLAG_SUBBYTE_PADDED};
use crate::case::{Case, DtypeClass, Object};
use crate::oracle::export::{Export, Layer, Word, evidence, flags_with_dtype, tuple};
use crate::oracle::{Context, DlTensor, Elements, Grade, Observation, Verdict, What};

/// The shape counts another unit than the source's, but the bits are as many.
pub(in crate::oracle) fn is_repacked(case: &Case, seen: &Observation, tensor: &DlTensor) -> bool {
    let bits = |shape: &[i64], dtype: DLDataType| {
        let size =
            shape.iter().try_fold(1i128, |size, &extent| size.checked_mul(i128::from(extent)));
        Some(size? * i128::from(dtype.bits) * i128::from(dtype.lanes))
    };
    let Some(due) = case.tensor.dtype.info().triple else {
        return false;
    };
    tensor.shape != seen.source.shape
        && tensor.shape.iter().all(|&extent| extent >= 0)
        && bits(&tensor.shape, tensor.dtype) == bits(&seen.source.shape, due)
}

/// An element narrower than a byte lies alone in its byte.
fn is_padded(ctx: &Context, tensor: &DlTensor) -> bool {
    let source = &ctx.seen.source;
    let room = source.allocation.as_ref().map_or(0, |allocation| allocation.len() as u64);
    source.size() > 1
        && ctx.case.tensor.object != Object::Packed
        && source.item_size == 1
        && tensor.shape == source.shape
        && tensor.first().is_some()
        && tensor.first() == source.address
        && room >= source.size()
}

/// A type of the case and of the export that is narrower than a byte.
fn is_narrow(ctx: &Context, export: &Export, tensor: &DlTensor) -> bool {
    ctx.case.tensor.dtype.class() == DtypeClass::SubByte
        && export.diagnosis.dtype == Layer::Sound
        && u32::from(tensor.dtype.bits) * u32::from(tensor.dtype.lanes) < 8
}

pub(super) fn padded(ctx: &Context) -> Verdict {
    ctx.each_tensor(
        |export, tensor| match export.minor() {
            _ if !is_narrow(ctx, export, tensor) || !is_padded(ctx, tensor) => Word::Silent,
            _ if export.has_flag(FLAG_SUBBYTE_PADDED) => Word::Holds,
            // Neither the flag nor the rule of packing exists there.
            None | Some(0) => Word::Breaks(Grade::Info),
            Some(_) => Word::Breaks(Grade::Violation),
        },
        |export, tensor| {
            flags_with_dtype(
                export,
                tensor,
                ctx.case.tensor.dtype.name(),
                "flag bit 2 (padded), because each element has a byte of its own",
            )
        },
    )
}

pub(super) fn pack(ctx: &Context) -> Verdict {
    ctx.each_tensor(
        |export, tensor| {
            let is_judged = is_narrow(ctx, export, tensor)
                && !export.has_flag(FLAG_SUBBYTE_PADDED)
                && !is_padded(ctx, tensor);
            match &tensor.elements {
                _ if !is_judged => Word::Silent,
                Elements::Differ { .. } => Word::Breaks(Grade::Violation),
                Elements::Same | Elements::SameValues => Word::Holds,
                Elements::NotRead(_) | Elements::OutOfBounds { .. } => Word::Silent,
            }
        },
        |export, tensor| {
            evidence(
                ctx.case.tensor.dtype.name(),
                "elements packed from the least significant bit upwards",
                format!("other values in that order {}", export.place()),
                [export.fact(What::Elements, "differ"), export.fact(What::Dtype, tensor.dtype)],
            )
        },
    )
}

pub(super) fn shape(ctx: &Context) -> Verdict {
    if ctx.case.tensor.dtype.class() != DtypeClass::SubByte {
        return Verdict::Silent;
    }
    ctx.each_tensor(
        |_, tensor| match tensor.shape == ctx.seen.source.shape {
            true => Word::Holds,
            false if is_repacked(ctx.case, ctx.seen, tensor) => Word::Breaks(Grade::Info),
            false => Word::Silent,
        },
        |export, tensor| {
            evidence(
                "unit",
                format!("shape {} or the same bits in another unit", tuple(&ctx.seen.source.shape)),
                format!(
                    "shape {} with dtype {} {}",
                    tuple(&tensor.shape),
                    tensor.dtype,
                    export.place()
                ),
                [
                    export.fact(What::Shape, tuple(&tensor.shape)),
                    export.fact(What::Dtype, tensor.dtype),
                ],
            )
        },
    )
}
