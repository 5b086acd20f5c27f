//! The arguments of `__dlpack__`, from Python objects to a [`Request`].
//!
//! TypeError where a value has the wrong type, ValueError where a tuple has the wrong length, OverflowError
//! where a number is larger than any such number can be. What a well-formed value means to an array is no
//! question of Python's.

use dlpack_reference::arguments::Request;
use dlpack_reference::dlpack::Device;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyTuple};

/// An argument; `None` is None or not given.
pub type Argument<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

pub fn request(
    stream: Argument,
    max_version: Argument,
    dl_device: Argument,
    copy: Argument,
) -> PyResult<Request> {
    Ok(Request {
        stream: stream.map(|value| number("stream", value)).transpose()?,
        max_version: max_version.map(|value| pair("max_version", value)).transpose()?,
        dl_device: dl_device.map(device).transpose()?,
        copy: copy.map(truth).transpose()?,
    })
}

/// A plain tuple of two ints; a named tuple or a list may mean something else.
fn pair(name: &str, value: &Bound<'_, PyAny>) -> PyResult<(i64, i64)> {
    let Ok(tuple) = value.cast_exact::<PyTuple>() else {
        return Err(PyTypeError::new_err(format!("{name} must be a tuple")));
    };
    if tuple.len() != 2 {
        return Err(PyValueError::new_err(format!("{name} must have two elements")));
    }
    Ok((number(name, &tuple.get_item(0)?)?, number(name, &tuple.get_item(1)?)?))
}

fn device(value: &Bound<'_, PyAny>) -> PyResult<Device> {
    let (kind, id) = pair("dl_device", value)?;
    let narrow = |number: i64| {
        i32::try_from(number)
            .map_err(|_| PyOverflowError::new_err("dl_device must hold numbers of 32 bits"))
    };
    Ok(Device { kind: narrow(kind)?, id: narrow(id)? })
}

/// An int, or a member of an IntEnum (as `__dlpack_device__` may return it), but no truth value.
fn number(name: &str, value: &Bound<'_, PyAny>) -> PyResult<i64> {
    if !value.is_instance_of::<PyInt>() || value.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err(format!("{name} must be made of ints")));
    }
    // OverflowError, if it is one.
    value.extract::<i64>()
}

fn truth(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    match value.cast_exact::<PyBool>() {
        Ok(value) => Ok(value.is_true()),
        Err(_) => Err(PyTypeError::new_err("copy must be True, False or None")),
    }
}
