//! array-api-strict: the reference wrapper of the standard around NumPy.

use super::numpy::Numpy;
use super::{Backend, Built, Inexpressible, Traits};
use crate::case::{Object, Tensor};
use crate::host::interpreter::sentence;
use crate::oracle::ArrayApi;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use std::borrow::Cow;

struct Strict {
    module: Py<PyAny>,
    asarray: Py<PyAny>,
    no_copy: Py<PyDict>,
    numpy: Numpy,
}

pub fn open(py: Python<'_>) -> PyResult<Box<dyn Backend>> {
    let module = py.import("array_api_strict")?;
    Ok(Box::new(Strict {
        asarray: module.getattr("asarray")?.unbind(),
        no_copy: [("copy", false)].into_py_dict(py)?.unbind(),
        module: module.into_any().unbind(),
        numpy: Numpy::new(py)?,
    }))
}

impl Backend for Strict {
    fn name(&self) -> &str {
        "array-api-strict"
    }

    fn versions(&self, py: Python<'_>) -> Vec<(String, String)> {
        let version = self.module.bind(py).getattr("__version__");
        let own = version.map_or_else(|_| "unknown".into(), |version| version.to_string());
        std::iter::once(("array-api-strict".into(), own)).chain(self.numpy.versions(py)).collect()
    }

    fn traits(&self) -> Traits {
        Traits { claims: Some(ArrayApi::V2025), ..self.numpy.traits() }
    }

    fn build<'py>(&self, py: Python<'py>, tensor: &Tensor) -> Result<Built<'py>, Inexpressible> {
        if tensor.object != Object::Array || !tensor.dtype.is_standard() {
            return Err(Inexpressible("only plain arrays of the standard's dtypes".into()));
        }
        let built = self.numpy.build(py, tensor)?;
        let object = (self.asarray.bind(py).call((&built.array,), Some(self.no_copy.bind(py))))
            .map_err(|error| Inexpressible(sentence(py, &error).into()))?;
        // The wrapper may hold a view; the facts must be those of the array it exports.
        let inner = object.getattr("_array").unwrap_or_else(|_| built.array.clone());
        if inner.as_ptr() != built.array.as_ptr() {
            return Err(Inexpressible("asarray made another array".into()));
        }
        Ok(Built { object, ..built })
    }

    fn unchanged(&self, py: Python<'_>, built: &Built<'_>) -> Result<(), Cow<'static, str>> {
        self.numpy.unchanged(py, built)
    }

    fn live_blocks(&self) -> Option<isize> {
        self.numpy.live_blocks()
    }

    fn source(&self, tensor: &Tensor) -> String {
        let array = self.numpy.source(tensor);
        format!(
            "{array}source = x\nimport array_api_strict\nx = array_api_strict.asarray(source, copy=False)\n"
        )
    }
}
