//! An **export**: the managed tensor, what keeps its memory alive, and the deleter.
//!
//! One block of memory holds the struct, the shape and the strides, and whatever owns the elements: a
//! reference to the array, or the copy. The deleter needs nothing else. It takes no lock and no part in
//! Python, so it works on any thread and after the interpreter's end (LIFE-DELETER-NO-GIL,
//! LIFE-DELETER-FINALIZED), and it reads no field that a consumer might have changed.

use crate::array::Array;
use crate::dlpack::{ManagedTensor, ManagedTensorVersioned, Tensor, VERSION};
use crate::error::{Cause, Error};
use crate::memory::{Memory, count_block};
use crate::plan::{Data, Plan, Struct};
use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// A managed tensor that nobody has taken yet; dropping it calls its deleter, as every consumer does.
#[derive(Debug)]
pub enum Export {
    Legacy(NonNull<ManagedTensor>),
    Versioned(NonNull<ManagedTensorVersioned>),
}

impl Export {
    /// Makes what was planned. Only memory may still be missing.
    pub fn make(array: &Arc<Array>, plan: &Plan) -> Result<Self, Error> {
        let owner = match plan.data {
            Data::Shared => Owner::Array(array.clone()),
            Data::Copied => Owner::Copy(array.copy()?),
        };
        Self::owning(array, plan, owner)
    }

    fn owning(array: &Arc<Array>, plan: &Plan, owner: Owner) -> Result<Self, Error> {
        Ok(match plan.kind {
            Struct::Legacy => Self::Legacy(Block::make(array, plan, owner)?),
            Struct::Versioned => Self::Versioned(Block::make(array, plan, owner)?),
        })
    }

    /// The pointer for a capsule. Whoever holds it calls the deleter, once.
    pub fn into_raw(self) -> *mut c_void {
        let pointer = match &self {
            Self::Legacy(managed) => managed.as_ptr().cast(),
            Self::Versioned(managed) => managed.as_ptr().cast(),
        };
        std::mem::forget(self);
        pointer
    }

    pub fn tensor(&mut self) -> &mut Tensor {
        match self {
            // SAFETY: the struct is alive, and `self` is the only way to it.
            Self::Legacy(managed) => unsafe { &mut managed.as_mut().tensor },
            // SAFETY: likewise.
            Self::Versioned(managed) => unsafe { &mut managed.as_mut().tensor },
        }
    }

    pub fn versioned(&mut self) -> Option<&mut ManagedTensorVersioned> {
        match self {
            Self::Legacy(_) => None,
            // SAFETY: the struct is alive, and `self` is the only way to it.
            Self::Versioned(managed) => Some(unsafe { managed.as_mut() }),
        }
    }

    /// One that keeps nothing alive, as is right for memory that never ends.
    pub(crate) fn without_owner(array: &Arc<Array>, plan: &Plan) -> Result<Self, Error> {
        Self::owning(array, plan, Owner::Nobody)
    }
}

impl Drop for Export {
    fn drop(&mut self) {
        // SAFETY: nobody else has the struct, so nobody else deletes it.
        unsafe {
            match self {
                Self::Legacy(managed) => {
                    if let Some(delete) = managed.as_ref().deleter {
                        delete(managed.as_ptr());
                    }
                }
                Self::Versioned(managed) => {
                    if let Some(delete) = managed.as_ref().deleter {
                        delete(managed.as_ptr());
                    }
                }
            }
        }
    }
}

/// What keeps the elements alive.
enum Owner {
    Array(Arc<Array>),
    Copy(Memory),
    Nobody,
}

/// The one block: the struct comes first, so a pointer to it is one to the block. Behind it lie the extents
/// and then the strides.
#[repr(C)]
struct Block<M> {
    managed: M,
    owner: Owner,
    ndim: usize,
}

impl<M: Managed> Block<M> {
    fn make(array: &Arc<Array>, plan: &Plan, owner: Owner) -> Result<NonNull<M>, Error> {
        let ndim = array.ndim();
        let Some((layout, axes_at)) = Self::layout(ndim) else {
            return Err(Cause::OutOfMemory.into());
        };
        // SAFETY: the layout is never of size 0.
        let Some(start) = NonNull::new(unsafe { alloc(layout) }) else {
            return Err(Cause::OutOfMemory.into());
        };
        // Neither has a meaning without axes, and both may be NULL then (TEN-SHAPE-PTR).
        let (mut shape, mut strides) = (null_mut(), null_mut());
        if ndim > 0 {
            // SAFETY: room for twice `ndim` numbers begins there, aligned for them.
            unsafe {
                shape = start.as_ptr().add(axes_at).cast::<i64>();
                strides = shape.add(ndim);
                for axis in 0..ndim {
                    shape.add(axis).write(array.shape()[axis]);
                }
                match plan.data {
                    Data::Shared => {
                        for axis in 0..ndim {
                            strides.add(axis).write(array.element_stride(array.strides()[axis]));
                        }
                    }
                    Data::Copied => {
                        let mut step = i64::from(!array.is_empty());
                        for axis in (0..ndim).rev() {
                            strides.add(axis).write(step);
                            step *= array.shape()[axis];
                        }
                    }
                }
            }
        }
        let first = match &owner {
            _ if array.is_empty() => null_mut(), // TEN-DATA-NULL-SIZE0
            Owner::Array(owner) => owner.first(),
            Owner::Nobody => array.first(),
            Owner::Copy(memory) => memory.start(),
        };
        let tensor = Tensor {
            data: first.cast(),
            device: plan.device,
            ndim: ndim as i32,
            dtype: plan.dtype,
            shape,
            strides,
            byte_offset: 0,
        };
        let managed = M::new(tensor, plan.flags, start.as_ptr().cast(), delete::<M>);
        let block = start.cast::<Self>();
        // SAFETY: the block begins there.
        unsafe { block.write(Self { managed, owner, ndim }) };
        count_block(1);
        Ok(block.cast())
    }

    /// Of a block for so many axes, and where their numbers begin.
    fn layout(ndim: usize) -> Option<(Layout, usize)> {
        Layout::new::<Self>().extend(Layout::array::<[i64; 2]>(ndim).ok()?).ok()
    }
}

/// The deleter: gives back the elements, then the block.
///
/// # Safety
/// `managed` is from [`Export::make`] and was not deleted before.
pub(crate) unsafe extern "C" fn delete<M: Managed>(managed: *mut M) {
    let block = managed.cast::<Block<M>>();
    // SAFETY: the struct is the first field of its block.
    let Block { owner, ndim, .. } = unsafe { block.read() };
    drop(owner);
    count_block(-1);
    if let Some((layout, _)) = Block::<M>::layout(ndim) {
        // SAFETY: allocated with this layout, for as many axes.
        unsafe { dealloc(block.cast(), layout) };
    }
}

/// Either managed tensor.
pub(crate) trait Managed: Sized {
    fn new(
        tensor: Tensor,
        flags: u64,
        manager_ctx: *mut c_void,
        deleter: unsafe extern "C" fn(*mut Self),
    ) -> Self;

    fn tensor(&mut self) -> &mut Tensor;
}

impl Managed for ManagedTensor {
    fn new(
        tensor: Tensor,
        _flags: u64,
        manager_ctx: *mut c_void,
        deleter: unsafe extern "C" fn(*mut Self),
    ) -> Self {
        Self { tensor, manager_ctx, deleter: Some(deleter) }
    }

    fn tensor(&mut self) -> &mut Tensor {
        &mut self.tensor
    }
}

impl Managed for ManagedTensorVersioned {
    fn new(
        tensor: Tensor,
        flags: u64,
        manager_ctx: *mut c_void,
        deleter: unsafe extern "C" fn(*mut Self),
    ) -> Self {
        Self { version: VERSION, manager_ctx, deleter: Some(deleter), flags, tensor }
    }

    fn tensor(&mut self) -> &mut Tensor {
        &mut self.tensor
    }
}
