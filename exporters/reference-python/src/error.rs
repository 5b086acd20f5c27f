//! Refusals as Python exceptions.

use dlpack_reference::error::{Error, Kind};
use pyo3::PyErr;
use pyo3::exceptions::*;
use pyo3::panic::PanicException;

pub fn raise(error: Error) -> PyErr {
    let message = error.cause.message().to_string_lossy();
    match error.kind {
        Kind::Buffer => PyBufferError::new_err(message),
        Kind::Type => PyTypeError::new_err(message),
        Kind::Value => PyValueError::new_err(message),
        Kind::Overflow => PyOverflowError::new_err(message),
        Kind::Memory => PyMemoryError::new_err(message),
        Kind::Runtime => PyRuntimeError::new_err(message),
        Kind::NotImplemented => PyNotImplementedError::new_err(message),
        Kind::Attribute => PyAttributeError::new_err(message),
        Kind::Key => PyKeyError::new_err(message),
        Kind::Index => PyIndexError::new_err(message),
        Kind::Assertion => PyAssertionError::new_err(message),
        Kind::System => PySystemError::new_err(message),
        Kind::Base => PanicException::new_err(message.into_owned()),
    }
}
