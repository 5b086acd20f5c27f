//! One **export** of a life: the capsule, the struct behind it, and what it was when it was made.

use crate::abi::{DLManagedTensor, DLManagedTensorVersioned, DLTensor};
use crate::host::consumer;
use crate::oracle::{Difference, Elements, Event, Kind, Managed, Outcome};
use pyo3::ffi;
use pyo3::prelude::*;

/// An export, from the call to the last release.
pub struct Export<'py> {
    /// `None` once it was dropped.
    pub capsule: Option<Bound<'py, PyAny>>,
    kind: Kind,
    pointer: usize,
    taken: bool,
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

impl<'py> Export<'py> {
    /// `None` where the outcome is no capsule with a struct that can be read.
    pub fn of(outcome: &Outcome, result: Option<Bound<'py, PyAny>>) -> Option<Self> {
        let capsule = outcome.capsule()?;
        let made = capsule.managed.clone()?;
        let tensor = made.tensor.as_ref()?;
        let is_readable = matches!(
            tensor.elements,
            Elements::Same | Elements::SameValues | Elements::Differ { .. }
        );
        // SAFETY: the elements were read a moment ago by the same numbers.
        let bytes = is_readable.then(|| unsafe { consumer::gather(tensor) });
        Some(Self {
            capsule: Some(result?),
            kind: made.kind,
            pointer: capsule.pointer,
            taken: false,
            deleted: false,
            made,
            bytes,
        })
    }

    /// Nothing of it is left that would have to be released.
    pub fn is_gone(&self) -> bool {
        self.capsule.is_none() && (self.deleted || !self.taken)
    }

    /// The capsule is unconsumed, and somebody holds it.
    pub fn is_unconsumed(&self) -> bool {
        self.capsule.is_some() && !self.taken
    }

    /// A consumer has it, and has not run its deleter.
    pub fn is_due(&self) -> bool {
        self.taken && !self.deleted
    }

    /// Renames the capsule: the struct is the consumer's from now on.
    pub fn take(&mut self) -> Event {
        let Some(capsule) = &self.capsule else { return Event::Skipped("the capsule is gone") };
        let used = match self.kind {
            Kind::Legacy => c"used_dltensor",
            Kind::Versioned => c"used_dltensor_versioned",
        };
        // SAFETY: the capsule is alive and the name is static.
        unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) };
        self.taken = true;
        Event::Done
    }

    pub fn disarm(&mut self) -> Event {
        let Some(capsule) = &self.capsule else { return Event::Skipped("the capsule is gone") };
        // SAFETY: the capsule is alive.
        unsafe { ffi::PyCapsule_SetDestructor(capsule.as_ptr(), None) };
        Event::Done
    }

    /// The deleter, which counts as run from now on; `None` if there is none to run.
    pub fn deletion(&mut self) -> Option<Deletion> {
        if !self.taken || self.deleted {
            return None;
        }
        self.deleted = true;
        // SAFETY: the struct is the consumer's and was not deleted.
        let deleter = unsafe {
            match self.kind {
                Kind::Legacy => {
                    let managed = self.pointer as *const DLManagedTensor;
                    managed.read_unaligned().deleter.map(|deleter| deleter as usize)
                }
                Kind::Versioned => {
                    let managed = self.pointer as *const DLManagedTensorVersioned;
                    managed.read_unaligned().deleter.map(|deleter| deleter as usize)
                }
            }
        };
        Some(Deletion { kind: self.kind, pointer: self.pointer, deleter: deleter? })
    }

    /// In what a living export is not what it was.
    pub fn difference(&self) -> Option<Difference> {
        let lives = if self.taken { !self.deleted } else { self.capsule.is_some() };
        if !lives {
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
    pub fn run(self) {
        // SAFETY: the address is that of a deleter of this kind, the pointer the one that the capsule held,
        // and `Export::deletion` gives each only once.
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
