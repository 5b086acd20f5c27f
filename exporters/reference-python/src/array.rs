//! The Python **array**: the two methods of the protocol and nothing else.

use crate::arguments::{Argument, request};
use crate::capsule::capsule;
use crate::error::raise;
use dlpack_reference::arguments::Request;
use dlpack_reference::array::Array as Inner;
use dlpack_reference::export::Export;
use dlpack_reference::fault::{self, Left};
use pyo3::ffi;
use pyo3::prelude::*;
use std::sync::Arc;

/// An array that exports itself. Its exports hold the array's memory, not this object.
#[pyclass(frozen, module = "dlpack_reference")]
pub struct Array {
    pub inner: Arc<Inner>,
}

#[pymethods]
impl Array {
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Argument<'_, 'py>,
        max_version: Argument<'_, 'py>,
        dl_device: Argument<'_, 'py>,
        copy: Argument<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request = request(stream, max_version, dl_device, copy)?;
        let export = export(slf.as_any(), &slf.get().inner, &request)?;
        capsule(slf.py(), export)
    }

    /// The type and the index of the device.
    fn __dlpack_device__(&self) -> (i32, i32) {
        let device = fault::device(&self.inner);
        (device.kind, device.id)
    }
}

/// Exports the array of `object`. Without a fault nothing is left behind.
pub fn export(
    object: &Bound<'_, PyAny>,
    array: &Arc<Inner>,
    request: &Request,
) -> PyResult<Export> {
    let outcome = fault::export(array, request);
    if outcome.left == Some(Left::Reference) {
        // SAFETY: one reference more, of a live object.
        unsafe { ffi::Py_IncRef(object.as_ptr()) };
    }
    outcome.result.map_err(raise)
}
