//! **TEN**: the fields of `DLTensor` against the array, and the elements that they lead to.
//!
//! What rests on what is in [`export`](super::export); the rules that only record something stand below the
//! faults.

mod data;
mod strides;

use super::export::{Export, Fault, Layer, Word, evidence, tuple};
use super::{Context, DlTensor, Evidence, Grade, Matter, Rule, Setting, Verdict, What};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "TEN-NDIM", needs: Matter::TENSOR, judge: ndim },
    Rule { id: "TEN-SHAPE-PTR", needs: Matter::TENSOR, judge: shape_pointer },
    Rule { id: "TEN-SHAPE-VALUES", needs: Matter::TENSOR, judge: shape_values },
    Rule { id: "TEN-SHAPE-OVERFLOW", needs: Matter::TENSOR, judge: shape_overflow },
    Rule {
        id: "TEN-STRIDES-NONNULL-1.2",
        needs: Matter::TENSOR.and(Matter::VERSIONED),
        judge: strides::nonnull,
    },
    Rule { id: "TEN-STRIDES-NULL-OLD", needs: Matter::TENSOR, judge: strides::null_old },
    Rule { id: "TEN-STRIDES-NULL-COMPACT", needs: Matter::TENSOR, judge: strides::null_compact },
    Rule { id: "TEN-STRIDES-UNIT", needs: Matter::TENSOR, judge: strides::unit },
    Rule { id: "TEN-STRIDES-NEG", needs: Matter::TENSOR, judge: strides::negative },
    Rule { id: "TEN-STRIDES-ZERO", needs: Matter::TENSOR, judge: strides::zero },
    Rule { id: "TEN-STRIDES-EXTENT", needs: Matter::TENSOR, judge: strides::extent },
    Rule { id: "TEN-DATA-NONNULL", needs: Matter::TENSOR, judge: data::nonnull },
    Rule { id: "TEN-DATA-NULL-SIZE0", needs: Matter::TENSOR, judge: data::null_size0 },
    Rule { id: "TEN-DATA-ADDR", needs: Matter::TENSOR, judge: data::address },
    Rule { id: "TEN-DATA-ALIGN256", needs: Matter::TENSOR, judge: data::align256 },
    Rule { id: "TEN-DATA-ALIGN-ITEM", needs: Matter::TENSOR, judge: data::align_item },
    Rule { id: "TEN-BYTEOFFSET-RANGE", needs: Matter::TENSOR, judge: data::byte_offset_range },
    Rule { id: "TEN-BYTEOFFSET-MULT", needs: Matter::TENSOR, judge: data::byte_offset_multiple },
    Rule { id: "TEN-VALUES", needs: Matter::TENSOR, judge: data::values },
];

fn ndim(ctx: &Context) -> Verdict {
    ctx.each_export(
        |export| match export.diagnosis.shape {
            Layer::Broken(Fault::Rank) => Word::Breaks(Grade::Violation),
            Layer::Hidden | Layer::Broken(_) => Word::Silent,
            Layer::Sound if export.tensor().is_some_and(|tensor| tensor.ndim > 64) => {
                Word::Breaks(Grade::Info)
            }
            Layer::Sound => Word::Holds,
        },
        |export| {
            let expected = format!("ndim {}", ctx.seen.source.shape.len());
            match export.tensor() {
                // No consumer knows of so many axes.
                Some(tensor) if export.diagnosis.shape == Layer::Sound => evidence(
                    "more than 64",
                    "at most 64 axes, NumPy's limit",
                    format!("ndim {} {}", tensor.ndim, export.place()),
                    [export.fact(What::Ndim, tensor.ndim)],
                ),
                Some(tensor) => evidence(
                    "another rank",
                    expected,
                    format!("ndim {} {}", tensor.ndim, export.place()),
                    [export.fact(What::Ndim, tensor.ndim)],
                ),
                None => evidence(
                    "out of range",
                    expected,
                    format!("a negative or absurdly large ndim {}", export.place()),
                    [export.fact(What::Ndim, "out of range")],
                ),
            }
        },
    )
}

fn shape_pointer(ctx: &Context) -> Verdict {
    tensor_fault(
        ctx,
        Fault::NoShape,
        |d| d.shape,
        |export, tensor| {
            evidence(
                "NULL",
                "a pointer to the shape, because ndim is not 0",
                format!("NULL with ndim {} {}", tensor.ndim, export.place()),
                [export.fact(What::Ndim, tensor.ndim), export.fact(What::Shape, "None")],
            )
        },
    )
}

fn shape_values(ctx: &Context) -> Verdict {
    tensor_fault(
        ctx,
        Fault::Extents,
        |d| d.shape,
        |export, tensor| {
            evidence(
                if tensor.shape.iter().any(|&extent| extent < 0) { "negative" } else { "extents" },
                format!("shape {}", tuple(&ctx.seen.source.shape)),
                format!("shape {} {}", tuple(&tensor.shape), export.place()),
                [export.fact(What::Shape, tuple(&tensor.shape))],
            )
        },
    )
}

/// A broadcast array may lawfully have more virtual bytes than memory; only the header's formula overflows.
fn shape_overflow(ctx: &Context) -> Verdict {
    ctx.each_tensor(
        |export, tensor| {
            if export.diagnosis.shape != Layer::Sound || ctx.seen.source.size() == 0 {
                return Word::Silent;
            }
            let item = tensor.dtype.item_size() as i64;
            let bytes =
                tensor.shape.iter().try_fold(item, |bytes, &extent| bytes.checked_mul(extent));
            Word::require(bytes.is_some(), Grade::Info)
        },
        |export, tensor| {
            evidence(
                "overflow",
                "a product of shape and item size below 2**63",
                format!("shape {} of {} {}", tuple(&tensor.shape), tensor.dtype, export.place()),
                [
                    export.fact(What::Shape, tuple(&tensor.shape)),
                    export.fact(What::Dtype, tensor.dtype),
                ],
            )
        },
    )
}

fn by_knob(holds: bool, setting: Setting) -> Word {
    match setting {
        Setting::Grade(grade) => Word::require(holds, grade),
        Setting::Off => Word::Silent,
    }
}

/// As [`Context::each_fault`], of a fault that is only found in a readable tensor.
fn tensor_fault<'a>(
    ctx: &Context<'a>,
    fault: Fault,
    layer: impl Fn(&super::export::Diagnosis) -> Layer,
    evidence: impl FnOnce(&Export<'a>, &'a DlTensor) -> Evidence,
) -> Verdict {
    ctx.each_fault(fault, layer, |export| {
        evidence(export, export.tensor().expect("the fault was found in a readable tensor"))
    })
}

#[cfg(test)]
mod tests;
