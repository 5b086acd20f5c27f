//! The **struct** of an export that is held, whatever holds it: what it was when it was made, and its deleter.

use crate::abi::{DLManagedTensor, DLManagedTensorVersioned, DLTensor};
use crate::host::consumer;
use crate::oracle::{Capsule, Difference, Elements, Kind, Managed};

/// A struct, from the call to its deletion.
pub struct Held {
    kind: Kind,
    pointer: usize,
    deleted: bool,
    made: Managed,
    /// Bytes of the elements then; `None` where they could not be read.
    bytes: Option<Vec<u8>>,
}

/// A deleter that is due, with its argument.
#[derive(Clone, Copy)]
pub struct Deletion {
    kind: Kind,
    pointer: usize,
    deleter: usize,
}

impl Held {
    /// `None` where the export has no struct that can be read.
    pub fn of(capsule: &Capsule) -> Option<Self> {
        let made = capsule.managed.clone()?;
        let tensor = made.tensor.as_ref()?;
        let is_readable = matches!(
            tensor.elements,
            Elements::Same | Elements::SameValues | Elements::Differ { .. }
        );
        // Elements that share a byte are no bytes.
        let is_whole = tensor.dtype.bits % 8 == 0;
        // SAFETY: the elements were read a moment ago by the same numbers.
        let bytes = (is_readable && is_whole).then(|| unsafe { consumer::gather(tensor) });
        Some(Self { kind: made.kind, pointer: capsule.pointer, deleted: false, made, bytes })
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn is_deleted(&self) -> bool {
        self.deleted
    }

    /// The deleter, which counts as run from now on; `None` if there is none to run.
    pub fn deletion(&mut self) -> Option<Deletion> {
        if std::mem::replace(&mut self.deleted, true) {
            return None;
        }
        // SAFETY: the struct was not deleted before.
        unsafe { Deletion::of(self.pointer, self.kind) }
    }

    /// In what a living export is not what it was.
    pub fn difference(&self) -> Option<Difference> {
        if self.deleted {
            return None;
        }
        // SAFETY: by the rules the struct is valid; if it is not, this is where that shows.
        let (flags, now) = unsafe {
            match self.kind {
                Kind::Legacy => {
                    (0, (self.pointer as *const DLManagedTensor).read_unaligned().dl_tensor)
                }
                Kind::Versioned => {
                    let managed =
                        (self.pointer as *const DLManagedTensorVersioned).read_unaligned();
                    (managed.flags, managed.dl_tensor)
                }
            }
        };
        let before = self.made.tensor.as_ref()?;
        let field = |name, was: &dyn std::fmt::Debug, is: &dyn std::fmt::Debug| {
            Some(Difference::Field(name, format!("{was:?}"), format!("{is:?}")))
        };
        if flags != self.made.flags {
            return field("flags", &self.made.flags, &flags);
        }
        if now.ndim != before.ndim {
            return field("ndim", &before.ndim, &now.ndim);
        }
        if now.device != before.device {
            return field("device", &before.device, &now.device);
        }
        if now.dtype != before.dtype {
            return field("dtype", &before.dtype, &now.dtype);
        }
        if (now.data as usize, now.byte_offset) != (before.data, before.byte_offset) {
            return Some(Difference::Field("data", "an address".into(), "another".into()));
        }
        // SAFETY: as above.
        let (shape, strides) = unsafe { (list(&now, now.shape), list(&now, now.strides)) };
        if shape != before.shape.as_slice() {
            return field("shape", &before.shape, &shape);
        }
        if strides != before.strides.as_slice() {
            return field("strides", &before.strides, &strides);
        }
        let bytes = self.bytes.as_ref()?;
        // SAFETY: as above, with the numbers that were good before.
        (unsafe { consumer::gather(before) } != *bytes).then_some(Difference::Elements)
    }
}

impl Deletion {
    /// The deleter as the struct has it now; `None` if that is NULL.
    ///
    /// # Safety
    /// The struct at the address is of this kind and was not deleted.
    pub unsafe fn of(pointer: usize, kind: Kind) -> Option<Self> {
        // SAFETY: as the caller promises.
        let deleter = unsafe {
            match kind {
                Kind::Legacy => {
                    let managed = pointer as *const DLManagedTensor;
                    (&raw const (*managed).deleter).read_unaligned().map(|it| it as usize)
                }
                Kind::Versioned => {
                    let managed = pointer as *const DLManagedTensorVersioned;
                    (&raw const (*managed).deleter).read_unaligned().map(|it| it as usize)
                }
            }
        };
        Some(Self { kind, pointer, deleter: deleter? })
    }

    pub fn run(self) {
        // SAFETY: the address is that of a deleter of this kind, the pointer the one that the capsule held,
        // and whoever asked for the deletion runs it once.
        unsafe {
            match self.kind {
                Kind::Legacy => {
                    let deleter: unsafe extern "C" fn(*mut DLManagedTensor) =
                        std::mem::transmute(self.deleter);
                    deleter(self.pointer as *mut DLManagedTensor);
                }
                Kind::Versioned => {
                    let deleter: unsafe extern "C" fn(*mut DLManagedTensorVersioned) =
                        std::mem::transmute(self.deleter);
                    deleter(self.pointer as *mut DLManagedTensorVersioned);
                }
            }
        }
    }
}

/// # Safety
/// The pointer is NULL or leads to `ndim` numbers.
unsafe fn list(tensor: &DLTensor, pointer: *const i64) -> &[i64] {
    if tensor.ndim <= 0 || pointer.is_null() || !pointer.is_aligned() {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(pointer, tensor.ndim as usize) }
}
