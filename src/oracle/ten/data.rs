//! The address, its offset, and the elements that lie there.

use super::{by_knob, tensor_fault};
use crate::oracle::export::{Fault, Layer, Word, evidence, tuple};
use crate::oracle::{Context, Elements, Grade, Knob, Setting, Verdict, What};

/// Other devices have handles, or an address space that may start at 0.
pub(super) fn nonnull(ctx: &Context) -> Verdict {
    ctx.each_tensor(
        |export, tensor| {
            if export.diagnosis.shape != Layer::Sound || ctx.seen.source.size() == 0 {
                return Word::Silent;
            }
            let is_pointer = tensor.device.device_type.has_plain_pointers();
            Word::require(tensor.data != 0, if is_pointer { Grade::Violation } else { Grade::Info })
        },
        |export, tensor| {
            evidence(
                "NULL",
                format!("an address, because the array has {} elements", ctx.seen.source.size()),
                format!("NULL {}", export.place()),
                [
                    export.fact(What::Shape, tuple(&tensor.shape)),
                    export.fact(What::DataIsNull, "True"),
                ],
            )
        },
    )
}

pub(super) fn null_size0(ctx: &Context) -> Verdict {
    let grade = ctx.profile.setting(Knob::NullDataSize0);
    ctx.each_tensor(
        |export, tensor| match export.diagnosis.shape == Layer::Sound && ctx.seen.source.size() == 0
        {
            true => by_knob(tensor.data == 0, grade),
            false => Word::Silent,
        },
        |export, tensor| {
            evidence(
                "address",
                "NULL, because the array has no elements",
                format!("an address {}", export.place()),
                [
                    export.fact(What::Shape, tuple(&tensor.shape)),
                    export.fact(What::DataIsNull, "False"),
                ],
            )
        },
    )
}

pub(super) fn address(ctx: &Context) -> Verdict {
    tensor_fault(
        ctx,
        Fault::Address,
        |d| d.address,
        |export, tensor| {
            let first = tensor.first().unwrap_or_default() as i128;
            let distance = first - ctx.seen.source.address.unwrap_or_default() as i128;
            evidence(
                "address",
                "data + byte_offset at the array's first element",
                format!("an address {distance} bytes from it {}", export.place()),
                [
                    export.fact(What::Memory, "overlap"),
                    export.fact(What::ByteOffset, tensor.byte_offset),
                ],
            )
        },
    )
}

pub(super) fn align256(ctx: &Context) -> Verdict {
    let Setting::Grade(grade) = ctx.profile.setting(Knob::Align256) else {
        return Verdict::Silent;
    };
    ctx.each_tensor(
        |_, tensor| match tensor.device.device_type.has_plain_pointers()
            && ctx.seen.source.size() > 0
        {
            true => Word::require(tensor.data.is_multiple_of(256), grade),
            false => Word::Silent,
        },
        |export, _| {
            let seen = format!("another address {}", export.place());
            evidence("unaligned", "data at a multiple of 256 bytes", seen, [])
        },
    )
}

pub(super) fn align_item(ctx: &Context) -> Verdict {
    ctx.each_tensor(
        |_, tensor| {
            let alignment = tensor.dtype.item_size().clamp(1, 16);
            match tensor.first() {
                Some(first)
                    if tensor.device.device_type.has_plain_pointers()
                        && ctx.seen.source.size() > 0 =>
                {
                    Word::require(first % alignment == 0, Grade::Info)
                }
                _ => Word::Silent,
            }
        },
        |export, tensor| {
            let size = tensor.dtype.item_size().clamp(1, 16);
            let expected = format!("elements at multiples of {size} bytes");
            evidence("unaligned", expected, format!("another address {}", export.place()), [])
        },
    )
}

pub(super) fn byte_offset_range(ctx: &Context) -> Verdict {
    ctx.each_tensor(
        |export, tensor| match export.diagnosis.address {
            Layer::Broken(Fault::Offset) => Word::Breaks(Grade::Violation),
            Layer::Sound => Word::Holds,
            // Nothing lies there, but the sum was checked.
            Layer::Hidden if tensor.device.device_type.has_plain_pointers() => Word::Holds,
            _ => Word::Silent,
        },
        |export, tensor| {
            let wraps = tensor.first().is_none();
            evidence(
                if wraps { "wraps" } else { "outside" },
                "data + byte_offset in the array's allocation",
                if wraps {
                    format!("byte_offset {} wraps around {}", tensor.byte_offset, export.place())
                } else {
                    format!("byte_offset {} leads out of it {}", tensor.byte_offset, export.place())
                },
                [export.fact(What::ByteOffset, tensor.byte_offset)],
            )
        },
    )
}

pub(super) fn byte_offset_multiple(ctx: &Context) -> Verdict {
    ctx.each_tensor(
        |_, tensor| match tensor.dtype.item_size() as u64 {
            0 => Word::Silent,
            item => Word::require(tensor.byte_offset.is_multiple_of(item), Grade::Info),
        },
        |export, tensor| {
            evidence(
                "no multiple",
                format!("a multiple of {} bytes", tensor.dtype.item_size()),
                format!("byte_offset {} {}", tensor.byte_offset, export.place()),
                [export.fact(What::ByteOffset, tensor.byte_offset)],
            )
        },
    )
}

pub(super) fn values(ctx: &Context) -> Verdict {
    ctx.each_tensor(
        |export, tensor| match (export.diagnosis.values, &tensor.elements) {
            (Layer::Broken(Fault::Values), _) => Word::Breaks(Grade::Violation),
            // A copy may quiet a NaN and write a truth value as 0 or 1.
            (Layer::Sound, Elements::SameValues) => Word::Breaks(Grade::Info),
            (Layer::Sound, _) => Word::Holds,
            _ => Word::Silent,
        },
        |export, tensor| match &tensor.elements {
            Elements::Differ { index, expected, seen } => evidence(
                "values",
                format!("bytes {} at index {}", hex(expected), tuple(index)),
                format!("bytes {} {}", hex(seen), export.place()),
                [export.fact(What::Elements, "differ")],
            ),
            _ => evidence(
                "representation",
                "the source's bytes",
                format!(
                    "the same values in other bytes (NaN payloads, truth values) {}",
                    export.place()
                ),
                [],
            ),
        },
    )
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
