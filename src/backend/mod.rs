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
mod script;

use crate::case::life::Change;
use crate::case::{Tensor, Vocabulary};
use crate::host::Error;
use crate::oracle::{ArrayApi, Manner, Source};
use pyo3::prelude::*;
use pyo3::types::PyAny;
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// One system under test. Every method is called with the interpreter attached.
pub trait Backend {
    /// What `--backend` calls it.
    fn name(&self) -> &str;

    /// Name and version of the library and of what it depends on, for reports; the library first.
    fn versions(&self, py: Python<'_>) -> Vec<(String, String)>;

    /// What the library says of itself that no probe can find out.
    fn traits(&self) -> Traits;

    /// What it can be asked to build.
    fn vocabulary(&self) -> Vocabulary {
        Vocabulary::default()
    }

    /// Builds the array.
    fn build<'py>(&self, py: Python<'py>, tensor: &Tensor) -> Result<Built<'py>, Inexpressible>;

    /// The array is still what `built.source` says, values apart (CAP-SOURCE-UNCHANGED).
    fn unchanged(&self, py: Python<'_>, built: &Built<'_>) -> Result<(), Cow<'static, str>>;

    /// Live blocks of the library's own data allocator; `None` where it cannot be counted.
    fn live_blocks(&self) -> Option<isize> {
        None
    }

    /// The statement that changes the array `x` in place in this way, and how the library documents it; `None`
    /// where it has no such operation.
    fn change(&self, _change: Change) -> Option<(&str, Manner)> {
        None
    }

    /// The same array in Python: statements that leave it in `x`, for reports and reproducers. Behind a
    /// [`VIEW_MARK`](crate::case::VIEW_MARK) may stand functions that tell what a NumPy array would tell by itself.
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

/// A line of the registry.
pub struct Entry {
    /// What `--backend` calls it.
    pub name: &'static str,
    /// Its environment: `scripts/setup ENV` makes it in `envs/ENV`.
    pub env: &'static str,
    open: Open,
}

enum Open {
    Rust(fn(Python<'_>) -> PyResult<Box<dyn Backend>>),
    /// The text of a script.
    Script(&'static str),
}

/// A script of this folder.
macro_rules! script {
    ($name:literal, $file:literal) => {
        Entry { name: $name, env: $name, open: Open::Script(include_str!($file)) }
    };
}

/// Every backend by its name.
pub const REGISTRY: &[Entry] = &[
    Entry { name: "numpy", env: "numpy", open: Open::Rust(numpy::open) },
    Entry { name: "array-api-strict", env: "numpy", open: Open::Rust(array_api_strict::open) },
    script!("torch", "torch.py"),
    script!("jax", "jax.py"),
    script!("pyarrow", "pyarrow.py"),
    script!("mlx", "mlx.py"),
    script!("tvm-ffi", "tvm_ffi.py"),
    script!("nanobind", "nanobind.py"),
    script!("dpctl", "dpctl.py"),
    script!("tensorflow", "tensorflow.py"),
    script!("paddle", "paddle.py"),
    script!("numkong", "numkong.py"),
    script!("nanoarrow", "nanoarrow.py"),
    script!("max", "max.py"),
    script!("tritonclient", "tritonclient.py"),
    script!("dali", "dali.py"),
    script!("av", "av.py"),
    script!("iree", "iree.py"),
    script!("open3d", "open3d.py"),
    script!("quadrants", "taichi.py"),
    script!("gstaichi", "taichi.py"),
    script!("awkward", "awkward.py"),
    script!("ndonnx", "ndonnx.py"),
    script!("dpnp", "dpnp.py"),
    script!("cuda-core", "cuda_core.py"),
    script!("warp", "warp.py"),
    script!("onnxruntime", "onnxruntime.py"),
    script!("drjit", "drjit.py"),
    script!("kornia-rs", "kornia_rs.py"),
];

/// The name as it means the same in every folder.
pub fn absolute(name: &str) -> String {
    let spec = name.strip_prefix(c::PREFIX).and_then(|spec| c::Spec::parse(spec).ok());
    spec.map_or_else(|| name.to_owned(), |spec| spec.to_string())
}

/// The backend of that name, `py:MODULE:FUNCTION`, or the script `py:FILE.py`.
pub fn open(py: Python<'_>, name: &str) -> Result<Box<dyn Backend>, Error> {
    let failed = |error: PyErr, advice: String| {
        let sentence = crate::host::interpreter::sentence(py, &error);
        Error(format!("backend {name} does not load ({sentence}): {advice}"))
    };
    if let Some(path) = name.strip_prefix("py:") {
        if !path.ends_with(".py") {
            return python::open(py, path);
        }
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error(format!("the script {path} cannot be read: {error}")))?;
        return script::open(py, name, path, &text)
            .map_err(|error| failed(error, "mend it, or name its environment with --env".into()));
    }
    let Some(entry) = entry(name) else {
        let known: Vec<_> = REGISTRY.iter().map(|entry| entry.name).collect();
        return Err(Error(format!(
            "no backend is named {name}; there are {}, py:MODULE:FUNCTION, py:FILE.py and c:PATH",
            known.join(", ")
        )));
    };
    let opened = match entry.open {
        Open::Rust(open) => open(py),
        Open::Script(text) => script::open(py, name, &format!("{name}.py"), text),
    };
    opened.map_err(|error| failed(error, format!("run `scripts/setup {}`", entry.env)))
}

/// The registry's line for a name.
pub fn entry(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}

/// The environment of a backend: the one given, else the backend's own, which lies beside the one that the
/// build was made with.
pub fn environment(given: Option<&Path>, backend: &str) -> PathBuf {
    let default = crate::host::interpreter::environment(given);
    let is_named = given.is_some() || std::env::var_os("DLPACK_FUZZ_ENV").is_some();
    match entry(backend) {
        Some(entry) if !is_named => default.with_file_name(entry.env),
        _ => default,
    }
}
