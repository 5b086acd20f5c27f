//! The **capsule**: how a managed tensor is handed over.
//!
//! Whoever consumes the capsule renames it. The destructor calls the deleter only under the name that the
//! capsule was made with (CAP-DTOR-CONSUMED), and neither reads nor changes the exception that may be in
//! flight while it runs (CAP-DTOR-EXC-KEPT, CAP-DTOR-EXC-CLEAN): asking a capsule whether it has a name, and
//! for its pointer under the name it has, sets none.

use dlpack_reference::dlpack::{ManagedTensor, ManagedTensorVersioned, NAME, NAME_VERSIONED};
use dlpack_reference::export::Export;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::CStr;
use std::ptr::NonNull;

/// A new capsule with the export in it.
pub fn capsule(py: Python<'_>, export: Export) -> PyResult<Bound<'_, PyAny>> {
    let name = name_of(&export);
    named(py, export, name.as_ptr(), Some(destructor))
}

pub fn name_of(export: &Export) -> &'static CStr {
    match export {
        Export::Legacy(_) => NAME,
        Export::Versioned(_) => NAME_VERSIONED,
    }
}

/// With this name, and this destructor.
pub fn named(
    py: Python<'_>,
    export: Export,
    name: *const std::ffi::c_char,
    destructor: Option<unsafe extern "C" fn(*mut ffi::PyObject)>,
) -> PyResult<Bound<'_, PyAny>> {
    let pointer = match &export {
        Export::Legacy(managed) => managed.as_ptr().cast(),
        Export::Versioned(managed) => managed.as_ptr().cast(),
    };
    // SAFETY: the interpreter is attached; the pointer is not NULL and the name lives as long as the capsule.
    let capsule =
        unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyCapsule_New(pointer, name, destructor))? };
    // From here on it is the capsule's; without one it was released.
    export.into_raw();
    Ok(capsule)
}

/// Deletes what nobody consumed.
pub unsafe extern "C" fn destructor(capsule: *mut ffi::PyObject) {
    // SAFETY: CPython calls it with a capsule that is about to die. The names are those of `capsule`, under
    // which it holds a struct that nobody took.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) != 0 {
            let managed = ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr());
            if let Some(managed) = NonNull::new(managed.cast::<ManagedTensor>()) {
                drop(Export::Legacy(managed));
            }
        } else if ffi::PyCapsule_IsValid(capsule, NAME_VERSIONED.as_ptr()) != 0 {
            let managed = ffi::PyCapsule_GetPointer(capsule, NAME_VERSIONED.as_ptr());
            if let Some(managed) = NonNull::new(managed.cast::<ManagedTensorVersioned>()) {
                drop(Export::Versioned(managed));
            }
        }
    }
}
