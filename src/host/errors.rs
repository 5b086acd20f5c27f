//! Sorts Python exceptions into the classes that the decision table tells apart.

use crate::oracle::{ErrorClass, Fate, Raised};
use pyo3::ffi;
use pyo3::prelude::*;
use std::borrow::Cow;
use std::ffi::CStr;

use super::Detail;

/// Takes the exception that is set; `None` if none is.
pub fn take(py: Python<'_>, detail: Detail) -> Option<Raised> {
    let (mut kind, mut value, mut trace) =
        (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the interpreter is attached; Fetch gives three owned references, of which only the first is
    // certain, and they are released below.
    unsafe {
        ffi::PyErr_Fetch(&mut kind, &mut value, &mut trace);
        if kind.is_null() {
            return None;
        }
        let (class, name) = classify(kind.cast());
        let message = (detail == Detail::Full).then(|| {
            ffi::PyErr_NormalizeException(&mut kind, &mut value, &mut trace);
            let text = Bound::from_borrowed_ptr_or_opt(py, value).map(|value| value.str());
            match text {
                Some(Ok(text)) => text.to_string_lossy().into_owned(),
                _ => String::new(),
            }
        });
        ffi::Py_XDECREF(trace);
        ffi::Py_XDECREF(value);
        ffi::Py_DECREF(kind);
        Some(Raised { class, name, message })
    }
}

/// Runs something while a KeyError is set, and tells what became of that.
pub fn in_flight(py: Python<'_>, run: impl FnOnce()) -> Fate {
    // SAFETY: the interpreter is attached; the strings are static.
    unsafe { ffi::PyErr_SetString(ffi::PyExc_KeyError, c"in flight".as_ptr()) };
    run();
    match take(py, Detail::Brief) {
        None => Fate::Lost,
        Some(raised) if raised.name == "KeyError" => Fate::Kept,
        Some(raised) => Fate::Replaced(Cow::Owned(raised.name.into_owned())),
    }
}

/// # Safety
/// `kind` is a live exception type and the interpreter is attached.
unsafe fn classify(kind: *mut ffi::PyTypeObject) -> (ErrorClass, Cow<'static, str>) {
    // SAFETY: the PyExc_ statics are set since initialisation; the sub-type test only reads types.
    unsafe {
        let order = [
            (ffi::PyExc_MemoryError, ErrorClass::Memory, "MemoryError"),
            (ffi::PyExc_BufferError, ErrorClass::Buffer, "BufferError"),
            (ffi::PyExc_TypeError, ErrorClass::Type, "TypeError"),
            (ffi::PyExc_OverflowError, ErrorClass::Overflow, "OverflowError"),
            (ffi::PyExc_ValueError, ErrorClass::Value, "ValueError"),
            (ffi::PyExc_SystemError, ErrorClass::System, "SystemError"),
            (ffi::PyExc_RuntimeError, ErrorClass::Runtime, "RuntimeError"),
            (ffi::PyExc_AssertionError, ErrorClass::Assertion, "AssertionError"),
            (ffi::PyExc_Exception, ErrorClass::Other, "Exception"),
        ];
        for (known, class, name) in order {
            if known.cast() == kind {
                return (class, Cow::Borrowed(name));
            }
        }
        let class = (order.iter())
            .find(|(known, ..)| ffi::PyType_IsSubtype(kind, known.cast()) != 0)
            .map_or(ErrorClass::Base, |(_, class, _)| *class);
        (class, Cow::Owned(type_name(kind)))
    }
}

/// The last component of a type's name.
///
/// # Safety
/// `kind` is a live type and the interpreter is attached.
pub unsafe fn type_name(kind: *mut ffi::PyTypeObject) -> String {
    // SAFETY: tp_name is a NUL-terminated string for as long as the type lives.
    let name = unsafe { CStr::from_ptr((*kind).tp_name) }.to_string_lossy();
    name.rsplit('.').next().unwrap_or_default().to_string()
}
