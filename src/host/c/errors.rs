//! Errors of the header as the Python exceptions that stand for them.

use crate::abi::backend;
use crate::host::Detail;
use crate::oracle::{ErrorClass, Raised};
use std::borrow::Cow;

/// The Python exception that stands for an error of this kind.
pub fn raised(kind: i32, detail: Detail, message: impl FnOnce() -> String) -> Raised {
    let (class, name) = match kind {
        backend::BUFFER_ERROR => (ErrorClass::Buffer, "BufferError"),
        backend::TYPE_ERROR => (ErrorClass::Type, "TypeError"),
        backend::VALUE_ERROR => (ErrorClass::Value, "ValueError"),
        backend::OVERFLOW_ERROR => (ErrorClass::Overflow, "OverflowError"),
        backend::RUNTIME_ERROR => (ErrorClass::Runtime, "RuntimeError"),
        backend::MEMORY_ERROR => (ErrorClass::Memory, "MemoryError"),
        backend::OTHER_ERROR => (ErrorClass::Other, "OtherError"),
        _ => return system_error("an error of a kind that the header does not know", detail),
    };
    let message = (detail == Detail::Full).then(message);
    Raised { class, name: Cow::Borrowed(name), message }
}

/// What CPython makes of an answer that is none.
pub fn system_error(message: &str, detail: Detail) -> Raised {
    let message = (detail == Detail::Full).then(|| message.to_owned());
    Raised { class: ErrorClass::System, name: Cow::Borrowed("SystemError"), message }
}
