//! A **backend** is one system under test: it builds the array of a case and knows it by ways that do not
//! go through DLPack.
//!
//! Goes in: a [`Tensor`]. Comes out: a [`Built`] array with its [`Source`] facts, or [`Inexpressible`]
//! when the library has no such array: that is counted and shown, and it is no failure. One file per
//! library, one line in [`REGISTRY`].

use crate::case::Tensor;
use crate::oracle::{ArrayApi, Source};
use pyo3::prelude::*;
use pyo3::types::PyAny;
use std::borrow::Cow;

/// One system under test. Every method is called with the interpreter attached.
pub trait Backend {
    /// What `--backend` calls it.
    fn name(&self) -> &str;

    /// Name and version of the library and of what it depends on, for reports.
    fn versions(&self, py: Python<'_>) -> Vec<(String, String)>;

    /// What the library says of itself that no probe can find out.
    fn traits(&self) -> Traits;

    /// Builds the array.
    fn build<'py>(&self, py: Python<'py>, tensor: &Tensor) -> Result<Built<'py>, Inexpressible>;

    /// The same in Python source: statements that leave the array in `x`, for reports and reproducers.
    /// They use the library, NumPy-free where the library does not need it, and `ctypes` only.
    fn source(&self, tensor: &Tensor) -> String;
}

/// Facts about a library that its backend states.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// The newest array API version it claims.
    pub claims: Option<ArrayApi>,
    pub mutable: bool,
    pub has_readonly: bool,
}

/// An array that was built.
pub struct Built<'py> {
    /// The exporter: what has `__dlpack__`.
    pub object: Bound<'py, PyAny>,
    pub source: Source,
    /// The object whose reference count an export takes; usually `object` itself.
    pub owner: Bound<'py, PyAny>,
}

/// The library has no such array, for this reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inexpressible(pub Cow<'static, str>);
