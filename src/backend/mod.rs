//! A **backend** is one system under test: it builds the array of a case and knows it by ways that do not
//! go through DLPack.
//!
//! Goes in: a [`Tensor`]. Comes out: a [`Built`] array with its [`Source`] facts, or [`Inexpressible`]
//! when the library has no such array: that is counted and shown, and it is no failure. One file per
//! library, one line in [`REGISTRY`].

mod array_api_strict;
pub mod c;
mod description;
mod facts;
mod numpy;
mod python;

use crate::case::Tensor;
use crate::host::Error;
use crate::oracle::{ArrayApi, Source};
use pyo3::prelude::*;
use pyo3::types::PyAny;
use std::borrow::Cow;

/// One system under test. Every method is called with the interpreter attached.
pub trait Backend {
    /// What `--backend` calls it.
    fn name(&self) -> &str;

    /// Name and version of the library and of what it depends on, for reports; the library first.
    fn versions(&self, py: Python<'_>) -> Vec<(String, String)>;

    /// What the library says of itself that no probe can find out.
    fn traits(&self) -> Traits;

    /// Builds the array.
    fn build<'py>(&self, py: Python<'py>, tensor: &Tensor) -> Result<Built<'py>, Inexpressible>;

    /// The array is still what `built.source` says, values apart (CAP-SOURCE-UNCHANGED).
    fn unchanged(&self, py: Python<'_>, built: &Built<'_>) -> Result<(), Cow<'static, str>>;

    /// Live blocks of the library's own data allocator; `None` where it cannot be counted.
    fn live_blocks(&self) -> Option<isize> {
        None
    }

    /// The same array in Python: statements that leave it in `x`, for reports and reproducers.
    fn source(&self, tensor: &Tensor) -> String;
}

/// Facts about a library that its backend states.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// The newest array API version it claims.
    pub claims: Option<ArrayApi>,
    pub mutable: bool,
    pub has_readonly: bool,
    /// The capsule destructor is Python code.
    pub python_destructor: bool,
}

/// An array that was built.
pub struct Built<'py> {
    /// The exporter: what has `__dlpack__`.
    pub object: Bound<'py, PyAny>,
    /// The array from which the facts were taken; `object` itself, or what it wraps.
    pub array: Bound<'py, PyAny>,
    /// The object whose reference count an export takes and gives back.
    pub owner: Bound<'py, PyAny>,
    pub source: Source,
}

/// The library has no such array, for this reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inexpressible(pub Cow<'static, str>);

type Open = fn(Python<'_>) -> PyResult<Box<dyn Backend>>;

/// Every backend by its name.
pub const REGISTRY: &[(&str, Open)] =
    &[("numpy", numpy::open), ("array-api-strict", array_api_strict::open)];

/// The name as it means the same in every folder.
pub fn absolute(name: &str) -> String {
    let spec = name.strip_prefix(c::PREFIX).and_then(|spec| c::Spec::parse(spec).ok());
    spec.map_or_else(|| name.to_owned(), |spec| spec.to_string())
}

/// The backend of that name, or `py:MODULE:FUNCTION`.
pub fn open(py: Python<'_>, name: &str) -> Result<Box<dyn Backend>, Error> {
    let failed = |error: PyErr| {
        let sentence = crate::host::interpreter::sentence(py, &error);
        Error(format!("backend {name} does not load ({sentence}): run `scripts/setup {name}`"))
    };
    if let Some(path) = name.strip_prefix("py:") {
        return python::open(py, path);
    }
    match REGISTRY.iter().find(|(known, _)| *known == name) {
        Some((_, open)) => open(py).map_err(failed),
        None => {
            let known: Vec<_> = REGISTRY.iter().map(|(known, _)| *known).collect();
            Err(Error(format!(
                "no backend is named {name}; there are {}, py:MODULE:FUNCTION and c:PATH",
                known.join(", ")
            )))
        }
    }
}
