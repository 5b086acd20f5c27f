//! `py:MODULE:FUNCTION`: whatever exporter a Python function makes of the description of an array.
//!
//! FUNCTION(description) returns the exporter, or (exporter, facts), or None where there is no such array;
//! what it raises is the reason why there is none. Attributes of `description`: see [`Description`]; names
//! of facts: see [`facts`]. FUNCTION may have an attribute `changes`, a dict as `CHANGES` of a
//! [script](super::script). Without facts those of `description.numpy` hold, if it was asked for.
//! MODULE is searched for in `DLPACK_FUZZ_PYTHONPATH` (folders separated by colons) first.

use super::description::{Description, LazyNumpy, description_statements};
use super::{Backend, Built, Inexpressible, Traits, facts, script};
use crate::case::Tensor;
use crate::case::life::Change;
use crate::host::Error;
use crate::host::interpreter::sentence;
use crate::oracle::{ArrayApi, Exportable, Manner};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

struct Python {
    name: String,
    module: String,
    function_name: String,
    folders: Vec<String>,
    function: Py<PyAny>,
    changes: script::Changes,
    numpy: Rc<LazyNumpy>,
    /// The function has returned facts beside an exporter.
    states_facts: Cell<bool>,
}

pub fn open(py: pyo3::Python<'_>, path: &str) -> Result<Box<dyn Backend>, Error> {
    let Some((module, function_name)) = path.split_once(':') else {
        return Err(Error(format!("py:{path} lacks the function: write py:MODULE:FUNCTION")));
    };
    let folders: Vec<String> = (std::env::var("DLPACK_FUZZ_PYTHONPATH").ok())
        .map(|folders| folders.split(':').map(str::to_string).collect())
        .unwrap_or_default();
    let load = || -> PyResult<_> {
        let search = py.import("sys")?.getattr("path")?;
        for folder in folders.iter().rev() {
            if !search.contains(folder)? {
                search.call_method1("insert", (0, folder))?;
            }
        }
        Ok(py.import(module)?.getattr(function_name)?.unbind())
    };
    let function = load().map_err(|error| {
        Error(format!(
            "py:{path} does not load ({}); is its folder in DLPACK_FUZZ_PYTHONPATH?",
            sentence(py, &error)
        ))
    })?;
    let changes = function.bind(py).getattr("changes").ok().map_or(Ok(Vec::new()), |changes| {
        changes.extract().and_then(|statements| script::changes(statements, &[]))
    });
    let changes = changes.map_err(|error| Error(format!("py:{path}: {}", sentence(py, &error))))?;
    Ok(Box::new(Python {
        name: format!("py:{path}"),
        module: module.into(),
        function_name: function_name.into(),
        folders,
        function,
        changes,
        numpy: Rc::default(),
        states_facts: Cell::default(),
    }))
}

impl Backend for Python {
    fn name(&self) -> &str {
        &self.name
    }

    fn versions(&self, py: pyo3::Python<'_>) -> Vec<(String, String)> {
        let version = || py.import(&self.module).ok()?.getattr("__version__").ok();
        let own = version().map_or_else(|| "unversioned".into(), |version| version.to_string());
        let numpy = self.numpy.loaded().map(|numpy| numpy.versions(py)).unwrap_or_default();
        std::iter::once((self.module.clone(), own)).chain(numpy).collect()
    }

    fn traits(&self) -> Traits {
        Traits {
            claims: Some(ArrayApi::V2025),
            mutable: true,
            has_readonly: true,
            python_destructor: true,
        }
    }

    fn build<'py>(
        &self,
        py: pyo3::Python<'py>,
        tensor: &Tensor,
    ) -> Result<Built<'py>, Inexpressible> {
        let refused = |error: PyErr| Inexpressible(sentence(py, &error).into());
        let description = Bound::new(py, Description::new(tensor, &self.numpy)).map_err(refused)?;
        let made = self.function.bind(py).call1((&description,)).map_err(refused)?;
        if made.is_none() {
            return Err(Inexpressible(format!("{} has no such array", self.name).into()));
        }
        let (object, stated) = match made.cast::<PyTuple>() {
            Ok(pair) if pair.len() == 2 => {
                self.states_facts.set(true);
                let stated = pair.get_item(1).and_then(|it| Ok(it.cast_into::<PyDict>()?));
                (pair.get_item(0).map_err(refused)?, Some(stated.map_err(refused)?))
            }
            _ => (made, None),
        };
        let (owner, source) = match (&stated, description.borrow().asked()) {
            (Some(stated), _) => (
                facts::owner(stated, &object).map_err(refused)?,
                facts::read(stated, tensor).map_err(refused)?,
            ),
            (None, Some((array, known))) => {
                // What NumPy refuses another exporter may export, and the reverse.
                let source =
                    crate::oracle::Source { exportable: Exportable::Unknown, ..known.clone() };
                (array.bind(py).clone(), source)
            }
            (None, None) => (object.clone(), facts::unknown(tensor)),
        };
        // The description holds the memory and the NumPy array as long as the case runs.
        Ok(Built { object, array: description.into_any(), owner, source })
    }

    fn unchanged(&self, py: pyo3::Python<'_>, built: &Built<'_>) -> Result<(), Cow<'static, str>> {
        let Ok(description) = built.array.cast::<Description>() else { return Ok(()) };
        let description = description.borrow();
        match (description.asked(), self.numpy.loaded()) {
            (Some((array, known)), Some(numpy)) => numpy.is_still(array.bind(py), known),
            _ => Ok(()),
        }
    }

    fn live_blocks(&self) -> Option<isize> {
        self.numpy.loaded().and_then(|numpy| numpy.live_blocks())
    }

    fn change(&self, change: Change) -> Option<(&str, Manner)> {
        script::change_of(&self.changes, change)
    }

    fn source(&self, tensor: &Tensor) -> String {
        let path: String = (self.folders.iter())
            .map(|folder| format!("import sys; sys.path.insert(0, {folder:?})\n"))
            .collect();
        let description = description_statements(tensor, self.numpy.was_asked.get());
        let (module, function) = (&self.module, &self.function_name);
        // What a leak is counted on: see `build`.
        let owner = if self.numpy.was_asked.get() { "source = x\n" } else { "" };
        let exporter = if self.states_facts.get() { "x = source = x[0]\n" } else { "" };
        format!(
            "{path}{description}{owner}import {module}\nx = {module}.{function}(description)\n\
             {exporter}"
        )
    }
}
