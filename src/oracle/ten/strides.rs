//! Strides, given and NULL.

use super::{by_knob, tensor_fault};
use crate::abi::FLAG_READ_ONLY;
use crate::case::{Layout, LayoutClass};
use crate::oracle::export::{Export, Fault, Layer, Word, evidence, tuple};
use crate::oracle::{Context, DlTensor, Elements, Fact, Grade, Knob, Memory, Verdict, What};

fn null_strides(export: &Export, tensor: &DlTensor) -> [Fact; 3] {
    let version =
        export.managed.version.map_or("None".into(), |v| format!("({}, {})", v.major, v.minor));
    [
        export.fact(What::Version, version),
        export.fact(What::Ndim, tensor.ndim),
        export.fact(What::Strides, "None"),
    ]
}

pub(super) fn nonnull(ctx: &Context) -> Verdict {
    ctx.each_tensor(
        |export, tensor| match export.minor() {
            Some(2..) if tensor.ndim > 0 => {
                Word::require(tensor.strides_pointer != 0, Grade::Violation)
            }
            _ => Word::Silent,
        },
        |export, tensor| {
            let minor = export.minor().unwrap_or_default();
            evidence(
                "NULL",
                format!("a pointer to the strides, because the struct declares version 1.{minor}"),
                format!("NULL strides with ndim {} {}", tensor.ndim, export.place()),
                null_strides(export, tensor),
            )
        },
    )
}

pub(super) fn null_old(ctx: &Context) -> Verdict {
    let grade = ctx.profile.setting(Knob::LegacyNullStrides);
    ctx.each_tensor(
        |export, tensor| match export.minor() {
            None | Some(0 | 1) if tensor.ndim > 0 => by_knob(tensor.strides_pointer != 0, grade),
            _ => Word::Silent,
        },
        |export, tensor| {
            evidence(
                "NULL",
                "strides, as headers from 1.2 demand them",
                format!("NULL strides, which meant compact data before 1.2, {}", export.place()),
                null_strides(export, tensor),
            )
        },
    )
}

pub(super) fn null_compact(ctx: &Context) -> Verdict {
    ctx.each_tensor(
        |export, tensor| match export.diagnosis.strides {
            Layer::Broken(Fault::NotCompact) => Word::Breaks(Grade::Violation),
            Layer::Sound if tensor.strides_pointer == 0 => Word::Holds,
            _ => Word::Silent,
        },
        |export, tensor| {
            evidence(
                "NULL",
                format!(
                    "byte strides {} to be told, because the array is not compact",
                    tuple(&ctx.seen.source.strides)
                ),
                format!("NULL strides {}", export.place()),
                null_strides(export, tensor),
            )
        },
    )
}

pub(super) fn unit(ctx: &Context) -> Verdict {
    tensor_fault(
        ctx,
        Fault::Strides,
        |d| d.strides,
        |export, tensor| {
            let item = ctx.seen.source.item_size as i64;
            let bytes = &ctx.seen.source.strides;
            let counts = (tensor.shape.iter().zip(&tensor.strides).zip(bytes))
                .all(|((&extent, &seen), &due)| extent <= 1 || seen == due);
            let divides = (tensor.shape.iter().zip(bytes))
                .all(|(&extent, &due)| extent <= 1 || due % item.max(1) == 0);
            let key = match (counts, divides) {
                (_, false) => "no multiple",
                (true, true) => "bytes",
                (false, true) => "strides",
            };
            let expected = if divides {
                let elements: Vec<_> = bytes.iter().map(|stride| stride / item.max(1)).collect();
                format!("strides {} in elements", tuple(&elements))
            } else {
                format!("a refusal: byte strides {} are no multiples of {item} bytes", tuple(bytes))
            };
            evidence(
                key,
                expected,
                format!("strides {} {}", tuple(&tensor.strides), export.place()),
                [
                    export.fact(What::Shape, tuple(&tensor.shape)),
                    export.fact(What::Strides, tuple(&tensor.strides)),
                ],
            )
        },
    )
}

/// Axes longer than 1 of an export with elements: the only strides that mean anything.
fn has_stride(ctx: &Context, export: &Export, tensor: &DlTensor, is: impl Fn(i64) -> bool) -> bool {
    export.diagnosis.shape == Layer::Sound
        && ctx.seen.source.size() > 0
        && (tensor.shape.iter().zip(&tensor.strides))
            .any(|(&extent, &stride)| extent > 1 && is(stride))
}

pub(super) fn negative(ctx: &Context) -> Verdict {
    let grade = ctx.profile.setting(Knob::NegativeStrides);
    ctx.each_tensor(
        |export, tensor| by_knob(!has_stride(ctx, export, tensor, |stride| stride < 0), grade),
        |export, tensor| {
            evidence(
                "negative",
                "strides that most importers can take",
                format!("strides {} {}", tuple(&tensor.strides), export.place()),
                [export.fact(What::Strides, tuple(&tensor.strides))],
            )
        },
    )
}

/// The hazard is a consumer that writes to one element and changes another.
pub(super) fn zero(ctx: &Context) -> Verdict {
    // Elements that share bytes without a zero stride; a layout of the library's own never does.
    let overlaps = || {
        matches!(ctx.case.tensor.layout, Layout::Strided { .. })
            && ctx.case.tensor.layout_class() == LayoutClass::Overlap
    };
    ctx.each_tensor(
        |export, tensor| {
            let is_writable =
                !export.has_flag(FLAG_READ_ONLY) && ctx.seen.source.writable != Some(false);
            let shares = || {
                has_stride(ctx, export, tensor, |stride| stride == 0)
                    || tensor.memory == Memory::Alias && overlaps()
            };
            Word::require(!(is_writable && shares()), Grade::Info)
        },
        |export, tensor| {
            evidence(
                "writable",
                "READ_ONLY on memory in which elements overlap",
                format!("strides {} without READ_ONLY {}", tuple(&tensor.strides), export.place()),
                [
                    export.fact(What::Strides, tuple(&tensor.strides)),
                    export.fact(What::Flags, export.managed.flags),
                ],
            )
        },
    )
}

pub(super) fn extent(ctx: &Context) -> Verdict {
    tensor_fault(
        ctx,
        Fault::Extent,
        |d| d.values,
        |export, tensor| {
            let (low, high) = match tensor.elements {
                Elements::OutOfBounds { low, high } => (low, high),
                _ => (0, 0),
            };
            let bounds = ctx.seen.source.allocation.clone().unwrap_or_default();
            let before = (bounds.start as i128 - low).max(0);
            let behind = (high - bounds.end as i128).max(0);
            evidence(
                if behind > 0 { "behind" } else { "before" },
                format!("elements in the array's {} bytes", bounds.len()),
                format!(
                    "elements that begin {before} bytes before them and end {behind} bytes behind them {}",
                    export.place()
                ),
                [
                    export.fact(What::Shape, tuple(&tensor.shape)),
                    export.fact(What::Strides, tuple(&tensor.strides)),
                ],
            )
        },
    )
}
