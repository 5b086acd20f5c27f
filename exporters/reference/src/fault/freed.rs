//! Faults that **touch memory after it was freed**, which all others only play by overwriting it. What shows of these
//! depends on the allocator, unless AddressSanitizer watches: they are told by themselves, and no score counts them.

use super::{Fault, Plant, set_deleter};
use crate::dlpack::{ManagedTensor, ManagedTensorVersioned};
use crate::export::{Export, Managed, delete};
use crate::memory::Memory;
use crate::plan::Data;
use std::alloc::{Layout, alloc, dealloc};

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "exports_the_freed",
        "EXC-NO-CRASH",
        "A copy is freed when the call returns, and its address is in the export.",
        Plant::Alter(|scene, plan, mut export| {
            let copy = match plan.data {
                Data::Copied => scene.array.copy().ok(),
                Data::Shared => None,
            };
            if let Some(copy) = copy.filter(|copy: &Memory| copy.size() > 0) {
                export.tensor().data = copy.start().cast();
            }
            export
        }),
    ),
    Fault::new(
        "frees_twice",
        "EXC-NO-CRASH",
        "The deleter of an export with more than one axis frees the strides, and then frees them again.",
        Plant::Alter(|scene, _, mut export| {
            if scene.array.ndim() > 1 {
                move_strides(&mut export);
                set_deleter(
                    &mut export,
                    delete_strides_twice::<ManagedTensor>,
                    delete_strides_twice::<ManagedTensorVersioned>,
                );
            }
            export
        }),
    ),
    Fault::new(
        "array_not_held",
        "LIFE-OWNER-DROPPED",
        "An export that shares the array's memory holds no reference to the array: whoever lets that go frees both.",
        Plant::Alter(|scene, plan, export| match plan.data {
            Data::Shared => Export::without_owner(scene.array, plan).unwrap_or(export),
            Data::Copied => export,
        }),
    )
    .also(&["LIFE-OWNER-DROPPED-TAKEN"]),
];

/// Puts the strides into a block of their own.
fn move_strides(export: &mut Export) {
    let tensor = export.tensor();
    let ndim = tensor.ndim as usize;
    // SAFETY: the layout is not of size 0; the strides are `ndim` numbers, and so is the block.
    unsafe {
        let block = alloc(strides(ndim)).cast::<i64>();
        if !block.is_null() {
            block.copy_from_nonoverlapping(tensor.strides, ndim);
            tensor.strides = block;
        }
    }
}

fn strides(ndim: usize) -> Layout {
    Layout::array::<i64>(ndim).expect("a tensor has few axes")
}

/// # Safety
/// As every deleter; and the second `dealloc` is the fault.
unsafe extern "C" fn delete_strides_twice<M: Managed>(managed: *mut M) {
    // SAFETY: the struct lives, with strides that `move_strides` has made.
    unsafe {
        let tensor = (*managed).tensor();
        let (block, layout) = (tensor.strides.cast(), strides(tensor.ndim as usize));
        dealloc(block, layout);
        // The compiler must not see that it is the same block.
        dealloc(std::hint::black_box(block), layout);
        delete(managed);
    }
}
