//! **Builds** arrays: from a tensor of a case, by way of the header's description.

use super::form::Form;
use super::narrow::Lie;
use super::{Session, Subject};
use crate::abi::backend::{Array, Built};
use crate::backend::Inexpressible;
use crate::backend::c::text;
use crate::case::{Access, Contents, Object, Tensor};
use crate::oracle::Source;
use std::borrow::Cow;
use std::mem::size_of;

impl Session {
    /// Builds the case's array and checks what the backend says of it.
    pub(super) fn build(&mut self, tensor: &Tensor) -> Result<Subject, Inexpressible> {
        let form = Form::of(tensor)?;
        self.fill(tensor.contents, form.allocation_size);
        let array = Array {
            struct_size: size_of::<Array>() as u32,
            flags: form.flags,
            dtype: form.dtype,
            device: tensor.device,
            ndim: tensor.shape.len() as i32,
            item_bytes: tensor.dtype.item_size() as u32,
            shape: pointer(&tensor.shape),
            strides: pointer(&form.strides),
            allocation_size: form.allocation_size as u64,
            offset: form.offset as u64,
            contents: self.contents.as_ptr(),
        };
        let mut built = Built {
            struct_size: size_of::<Built>() as u32,
            reserved: 0,
            handle: std::ptr::null_mut(),
            allocation: std::ptr::null(),
            allocation_size: 0,
            first: std::ptr::null(),
            inexpressible: std::ptr::null(),
        };
        let build = self.shared.table.build.expect("the table was checked");
        // SAFETY: both structs are as the header says, and what they point to lives through the call.
        match unsafe { build(&array, &mut built) } {
            0 => {}
            1 => {
                // SAFETY: NULL or a string that lives until the next call.
                let why = unsafe { text(built.inexpressible) };
                return Err(Inexpressible(
                    why.map_or("the library does not say why".into(), Cow::Owned),
                ));
            }
            other => {
                return Err(Inexpressible(
                    format!("build answered {other}, which the header does not know").into(),
                ));
            }
        }
        let lie = if tensor.object == Object::Packed { Lie::Packed } else { Lie::Padded };
        let mut facts = Source {
            shape: tensor.shape.clone(),
            strides: form.strides,
            item_size: tensor.dtype.item_size(),
            address: None,
            allocation: None,
            writable: Some(tensor.access == Access::Writable),
            exportable: form.exportable,
            is_special: false,
            values: None,
            unchanged: Ok(()),
        };
        if !built.allocation.is_null() && !built.first.is_null() {
            let start = built.allocation as usize;
            let allocation = start..start.saturating_add(built.allocation_size as usize);
            let first = built.first as usize;
            let (low, high) = (form.low + first as i128, form.high + first as i128);
            if low < allocation.start as i128 || high > allocation.end as i128 {
                let built = Subject { handle: built.handle, facts, lie };
                self.release(&built);
                let why =
                    "the memory that `build` names does not hold the array: correct the backend";
                return Err(Inexpressible(why.into()));
            }
            (facts.address, facts.allocation) = (Some(first), Some(allocation));
        }
        Ok(Subject { handle: built.handle, facts, lie })
    }

    /// Makes the first bytes of the contents those of the pattern.
    fn fill(&mut self, pattern: Contents, length: usize) {
        if pattern != self.filled.0 || length > self.filled.1 {
            self.contents.resize(length.max(self.contents.len()), 0);
            // What is longer begins in the same way.
            pattern.fill(&mut self.contents[..length]);
            self.filled = (pattern, length);
        }
    }
}

/// NULL for an array without axes, as the header has it.
fn pointer(numbers: &[i64]) -> *const i64 {
    if numbers.is_empty() { std::ptr::null() } else { numbers.as_ptr() }
}
