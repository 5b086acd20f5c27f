//! `py:MODULE:FUNCTION`: any exporter that a Python function makes of a NumPy array.
//!
//! The function takes the NumPy array of the case and returns the exporter; the facts are the array's.
//! MODULE is searched for in `DLPACK_FUZZ_PYTHONPATH` (folders separated by colons) first.

use super::numpy::Numpy;
use super::{Backend, Built, Inexpressible, Traits};
use crate::case::Tensor;
use crate::host::Error;
use crate::host::interpreter::sentence;
use crate::oracle::{ArrayApi, Exportable};
use pyo3::prelude::*;
use std::borrow::Cow;

struct Python {
    name: String,
    module: String,
    function_name: String,
    folders: Vec<String>,
    function: Py<PyAny>,
    numpy: Numpy,
}

pub fn open(py: pyo3::Python<'_>, path: &str) -> Result<Box<dyn Backend>, Error> {
    let Some((module, function_name)) = path.split_once(':') else {
        return Err(Error(format!("py:{path} lacks the function: write py:MODULE:FUNCTION")));
    };
    let folders: Vec<String> = (std::env::var("DLPACK_FUZZ_PYTHONPATH").ok())
        .map(|folders| folders.split(':').map(str::to_string).collect())
        .unwrap_or_default();
    let load = || -> PyResult<_> {
        let numpy = Numpy::new(py)?;
        let search = py.import("sys")?.getattr("path")?;
        for folder in folders.iter().rev() {
            if !search.contains(folder)? {
                search.call_method1("insert", (0, folder))?;
            }
        }
        Ok((numpy, py.import(module)?.getattr(function_name)?.unbind()))
    };
    let (numpy, function) = load().map_err(|error| {
        Error(format!(
            "py:{path} does not load ({}); is its folder in DLPACK_FUZZ_PYTHONPATH?",
            sentence(py, &error)
        ))
    })?;
    Ok(Box::new(Python {
        name: format!("py:{path}"),
        module: module.into(),
        function_name: function_name.into(),
        folders,
        function,
        numpy,
    }))
}

impl Backend for Python {
    fn name(&self) -> &str {
        &self.name
    }

    fn versions(&self, py: pyo3::Python<'_>) -> Vec<(String, String)> {
        let version = || py.import(&self.module).ok()?.getattr("__version__").ok();
        let own = version().map_or_else(|| "unversioned".into(), |version| version.to_string());
        std::iter::once((self.module.clone(), own)).chain(self.numpy.versions(py)).collect()
    }

    fn traits(&self) -> Traits {
        Traits { claims: Some(ArrayApi::V2025), python_destructor: true, ..self.numpy.traits() }
    }

    fn build<'py>(
        &self,
        py: pyo3::Python<'py>,
        tensor: &Tensor,
    ) -> Result<Built<'py>, Inexpressible> {
        let mut built = self.numpy.build(py, tensor)?;
        // What NumPy refuses another exporter may export, and the reverse.
        built.source.exportable = Exportable::Unknown;
        let object = (self.function.bind(py).call1((&built.array,)))
            .map_err(|error| Inexpressible(sentence(py, &error).into()))?;
        Ok(Built { object, ..built })
    }

    fn unchanged(&self, py: pyo3::Python<'_>, built: &Built<'_>) -> Result<(), Cow<'static, str>> {
        self.numpy.unchanged(py, built)
    }

    fn live_blocks(&self) -> Option<isize> {
        self.numpy.live_blocks()
    }

    fn source(&self, tensor: &Tensor) -> String {
        let array = self.numpy.source(tensor);
        let path: String = (self.folders.iter())
            .map(|folder| format!("import sys; sys.path.insert(0, {folder:?})\n"))
            .collect();
        let (module, function) = (&self.module, &self.function_name);
        format!("{path}{array}source = x\nimport {module}\nx = {module}.{function}(source)\n")
    }
}
