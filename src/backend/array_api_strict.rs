//! array-api-strict: the reference wrapper of the standard around NumPy.

use super::numpy::Numpy;
use super::{Backend, Built, Inexpressible, Traits};
use crate::case::{Object, Tensor, Vocabulary};
use crate::host::interpreter::sentence;
use crate::oracle::ArrayApi;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use std::borrow::Cow;

/// The name of a device beside the default one.
const ELSEWHERE: &str = "device1";

struct Strict {
    module: Py<PyAny>,
    asarray: Py<PyAny>,
    no_copy: Py<PyDict>,
    /// The same on another device of the library's, which is a label: the memory is NumPy's.
    elsewhere: Option<Py<PyDict>>,
    numpy: Numpy,
}

pub fn open(py: Python<'_>) -> PyResult<Box<dyn Backend>> {
    let module = py.import("array_api_strict")?;
    let device = module.getattr("Device").and_then(|class| class.call1((ELSEWHERE,)));
    let elsewhere = device.ok().map(|device| {
        let arguments = PyDict::new(py);
        arguments.set_item("copy", false)?;
        arguments.set_item("device", device)?;
        Ok::<_, PyErr>(arguments.unbind())
    });
    Ok(Box::new(Strict {
        asarray: module.getattr("asarray")?.unbind(),
        no_copy: [("copy", false)].into_py_dict(py)?.unbind(),
        elsewhere: elsewhere.transpose()?,
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

    fn vocabulary(&self) -> Vocabulary {
        let objects = vec![(Object::Array, 100), (Object::SubDevice, 5)];
        Vocabulary { objects, ..Vocabulary::default() }
    }

    fn build<'py>(&self, py: Python<'py>, tensor: &Tensor) -> Result<Built<'py>, Inexpressible> {
        let arguments = match tensor.object {
            Object::Array => Some(&self.no_copy),
            Object::SubDevice => self.elsewhere.as_ref(),
            _ => None,
        };
        let arguments = arguments
            .filter(|_| tensor.dtype.is_standard())
            .ok_or_else(|| Inexpressible("only plain arrays of the standard's dtypes".into()))?;
        let built = self.numpy.build(py, &plain(tensor))?;
        let object = (self.asarray.bind(py).call((&built.array,), Some(arguments.bind(py))))
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
        let array = self.numpy.source(&plain(tensor));
        let device = match tensor.object {
            Object::SubDevice => format!(", device=array_api_strict.Device({ELSEWHERE:?})"),
            _ => String::new(),
        };
        format!(
            "{array}source = x\nimport array_api_strict\nx = array_api_strict.asarray(source, copy=False{device})\n"
        )
    }
}

/// The NumPy array that is wrapped.
fn plain(tensor: &Tensor) -> Tensor {
    Tensor { object: Object::Array, ..tensor.clone() }
}
