//! Faults of the tensor's fields (TEN).

use super::{Fault, Plant, Scene, lowest, runs_backwards};
use crate::array::{Access, Array};
use crate::dlpack::Tensor;
use crate::memory::Memory;
use crate::plan::{Data, Plan, Struct};

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "trailing_ones_dropped",
        "TEN-NDIM",
        "Axes of extent 1 at the end are left out.",
        Plant::Alter(|scene, _, mut export| {
            let kept = scene.array.shape().iter().rposition(|&extent| extent != 1);
            if scene.array.ndim() > 1 {
                export.tensor().ndim = kept.map_or(1, |last| last + 1) as i32;
            }
            export
        }),
    ),
    Fault::new(
        "shape_null_of_empty",
        "TEN-SHAPE-PTR",
        "The shape of an array without elements is NULL, though it has axes.",
        Plant::Alter(|scene, _, mut export| {
            if scene.array.is_empty() {
                export.tensor().shape = std::ptr::null_mut();
            }
            export
        }),
    ),
    Fault::new(
        "column_major_reversed",
        "TEN-SHAPE-VALUES",
        "A column-major array goes out with its axes in the reverse order.",
        Plant::Alter(|scene, plan, mut export| {
            let extents = scene.array.shape();
            let is_square = extents.iter().eq(extents.iter().rev());
            if plan.data == Data::Shared && is_column_major(scene.array) && !is_square {
                shape(export.tensor()).reverse();
                strides(export.tensor()).reverse();
            }
            export
        }),
    ),
    Fault::new(
        "broadcast_axis_collapsed",
        "TEN-SHAPE-VALUES",
        "A broadcast axis goes out with extent 1.",
        Plant::Alter(|scene, plan, mut export| {
            if plan.data == Data::Shared && !scene.array.is_empty() {
                for axis in 0..scene.array.ndim() {
                    if scene.array.strides()[axis] == 0 {
                        shape(export.tensor())[axis] = 1;
                    }
                }
            }
            export
        }),
    ),
    Fault::new(
        "strides_null_versioned",
        "TEN-STRIDES-NONNULL-1.2",
        "A versioned struct of row-major elements has no strides, as before 1.2.",
        Plant::Alter(|scene, plan, mut export| {
            if plan.kind == Struct::Versioned && scene.array.is_contiguous() {
                export.tensor().strides = std::ptr::null_mut();
            }
            export
        }),
    ),
    Fault::new(
        "strides_null_legacy",
        "TEN-STRIDES-NULL-OLD",
        "A legacy struct of row-major elements has no strides, as before 1.2.",
        Plant::Alter(|scene, plan, mut export| {
            if plan.kind == Struct::Legacy && scene.array.is_contiguous() {
                export.tensor().strides = std::ptr::null_mut();
            }
            export
        }),
    )
    .info(),
    Fault::new(
        "strides_null_column_major",
        "TEN-STRIDES-NULL-COMPACT",
        "A legacy struct of column-major elements has no strides, because they have no gaps either.",
        Plant::Alter(|scene, plan, mut export| {
            if (plan.kind, plan.data) == (Struct::Legacy, Data::Shared)
                && is_column_major(scene.array)
            {
                export.tensor().strides = std::ptr::null_mut();
            }
            export
        }),
    ),
    Fault::new(
        "strides_in_bytes",
        "TEN-STRIDES-UNIT",
        "Strides that are not those of a row-major array are passed on in bytes.",
        Plant::Alter(|scene, plan, mut export| {
            if is_view(scene.array, plan) {
                strides(export.tensor()).copy_from_slice(scene.array.strides());
            }
            export
        }),
    ),
    Fault::new(
        "strides_unsigned",
        "TEN-STRIDES-UNIT",
        "Negative strides lose their sign.",
        Plant::Alter(|scene, plan, mut export| {
            if plan.data == Data::Shared && runs_backwards(scene.array) {
                absolute(export.tensor());
            }
            export
        }),
    ),
    Fault::new(
        "strides_of_four_axes_row_major",
        "TEN-STRIDES-UNIT",
        "From four axes on the strides are those of a row-major array, whatever the layout is.",
        Plant::Alter(|scene, plan, mut export| {
            if scene.array.ndim() > 3 && is_view(scene.array, plan) {
                let mut step = 1i64;
                for axis in (0..scene.array.ndim()).rev() {
                    strides(export.tensor())[axis] = step;
                    step = step.saturating_mul(scene.array.shape()[axis]);
                }
            }
            export
        }),
    ),
    Fault::new(
        "copy_is_a_late_view",
        "TEN-STRIDES-EXTENT",
        "copy=True of a row-major array is a view that begins one element late and ends behind the memory.",
        Plant::Alter(|scene, plan, mut export| {
            let (array, item) = (scene.array, scene.array.element.item_bytes);
            let end = array.first() as usize + array.count().saturating_mul(item);
            let is_at_end = array.access == Access::Writable && end + item > array.start() as usize + array.size();
            if is_asked_copy(scene, plan) && array.count() > 1 && array.is_contiguous() && is_at_end {
                export.tensor().data = array.first().wrapping_add(item).cast();
            }
            export
        }),
    )
    .also(&["COPY-TRUE-DISTINCT"]),
    Fault::new(
        "copy_is_a_flipped_view",
        "TEN-VALUES",
        "copy=True of an array that runs backwards is a view that runs forwards.",
        Plant::Alter(|scene, plan, mut export| {
            let is_writable = scene.array.access == Access::Writable;
            if is_asked_copy(scene, plan) && is_writable && scene.array.has_element_strides() {
                flip(scene.array, export.tensor());
            }
            export
        }),
    )
    .also(&["COPY-TRUE-DISTINCT"]),
    Fault::new(
        "data_null_of_scalar_copy",
        "TEN-DATA-NONNULL",
        "The copy of an array without axes is taken for an empty one: data is NULL.",
        Plant::Alter(|scene, plan, mut export| {
            if plan.data == Data::Copied && scene.array.ndim() == 0 {
                export.tensor().data = std::ptr::null_mut();
            }
            export
        }),
    ),
    Fault::new(
        "data_of_empty",
        "TEN-DATA-NULL-SIZE0",
        "An array without elements goes out with an address.",
        Plant::Alter(|scene, _, mut export| {
            if scene.array.is_empty() {
                export.tensor().data = scene.array.first().cast();
            }
            export
        }),
    )
    .info(),
    Fault::new(
        "data_lowest_address",
        "TEN-DATA-ADDR",
        "data is the lowest address, and not the first element's, of an array that runs backwards.",
        Plant::Alter(|scene, plan, mut export| {
            if plan.data == Data::Shared && runs_backwards(scene.array) {
                export.tensor().data = lowest(scene.array).cast();
            }
            export
        }),
    ),
    Fault::new(
        "offset_forgotten",
        "TEN-DATA-ADDR",
        "A view that begins inside its memory goes out from the start of it, in a versioned struct.",
        Plant::Alter(|scene, plan, mut export| {
            if (plan.kind, plan.data) == (Struct::Versioned, Data::Shared) && !scene.array.is_empty()
            {
                export.tensor().data = scene.array.start().cast();
            }
            export
        }),
    ),
    Fault::new(
        "copy_at_odd_address",
        "TEN-DATA-ALIGN-ITEM",
        "A copy lies behind one byte.",
        Plant::Alter(|scene, plan, mut export| {
            if plan.data == Data::Copied {
                move_copy(scene.array, scene.past, export.tensor());
            }
            export
        }),
    )
    .info(),
    Fault::new(
        "byte_offset_negative",
        "TEN-BYTEOFFSET-RANGE",
        "data is the end of an array that runs backwards, and byte_offset goes back by wrapping around.",
        Plant::Alter(|scene, plan, mut export| {
            if plan.data == Data::Shared && runs_backwards(scene.array) {
                let tensor = export.tensor();
                tensor.data = scene.array.first().wrapping_add(64).cast();
                tensor.byte_offset = 64u64.wrapping_neg();
            }
            export
        }),
    ),
    Fault::new(
        "byte_offset_of_one",
        "TEN-BYTEOFFSET-MULT",
        "data is one byte before the first element of a view, and byte_offset is 1.",
        Plant::Alter(|scene, plan, mut export| {
            let begins_inside = scene.array.first() > scene.array.start();
            if plan.data == Data::Shared && begins_inside && !scene.array.is_empty() {
                let tensor = export.tensor();
                tensor.data = scene.array.first().wrapping_sub(1).cast();
                tensor.byte_offset = 1;
            }
            export
        }),
    )
    .info(),
];

fn is_column_major(array: &Array) -> bool {
    array.is_column_major() && !array.is_contiguous()
}

/// Shared memory in another layout than the row-major one.
fn is_view(array: &Array, plan: &Plan) -> bool {
    plan.data == Data::Shared && !array.is_empty() && !array.is_contiguous()
}

/// A copy that is made because the caller asks for it, where the array is.
fn is_asked_copy(scene: &Scene, plan: &Plan) -> bool {
    plan.data == Data::Copied && plan.device == scene.array.device
}

fn shape(tensor: &mut Tensor) -> &mut [i64] {
    numbers(tensor.shape, tensor.ndim)
}

fn strides(tensor: &mut Tensor) -> &mut [i64] {
    numbers(tensor.strides, tensor.ndim)
}

fn numbers<'a>(first: *mut i64, ndim: i32) -> &'a mut [i64] {
    match ndim {
        0 => &mut [],
        // SAFETY: an export that was just made has `ndim` numbers in both places, and nobody else has it.
        _ => unsafe { std::slice::from_raw_parts_mut(first, ndim as usize) },
    }
}

fn absolute(tensor: &mut Tensor) {
    strides(tensor).iter_mut().for_each(|stride| *stride = stride.saturating_abs());
}

/// Points at the source's memory from its lowest address on, if it runs backwards.
pub(super) fn flip(array: &Array, tensor: &mut Tensor) {
    if runs_backwards(array) {
        tensor.data = lowest(array).cast();
        for (mine, &theirs) in strides(tensor).iter_mut().zip(array.strides()) {
            *mine = array.element_stride(theirs).saturating_abs();
        }
    }
}

/// Moves a copy one byte behind the start of another block.
fn move_copy(array: &Array, past: &mut super::Past, tensor: &mut Tensor) {
    let Some(size) = array.element.bytes_of(array.count()) else { return };
    if let (Some(block), 1..) = (Memory::new(size + 1), size) {
        let place = block.start().wrapping_add(1);
        // SAFETY: the copy is `size` bytes long, and the new block is one byte longer.
        unsafe { place.copy_from_nonoverlapping(tensor.data.cast(), size) };
        tensor.data = place.cast();
        past.keep(block);
    }
}
