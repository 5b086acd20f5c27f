//! **Changes** of an array in place: statements of a backend, each compiled once, so that a run allocates only
//! what it frees.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::RefCell;
use std::collections::HashMap;

/// Statements on `x` that have been run before.
#[derive(Default)]
pub struct Statements(RefCell<HashMap<String, Py<PyAny>>>);

impl Statements {
    /// Runs the statement on an array.
    pub fn run(&self, py: Python<'_>, statement: &str, x: &Bound<'_, PyAny>) -> PyResult<()> {
        let known = self.0.borrow().get(statement).map(|code| code.clone_ref(py));
        let code = match known {
            Some(code) => code,
            None => {
                let compile = py.import("builtins")?.getattr("compile")?;
                let code = compile.call1((statement, "<change>", "exec"))?.unbind();
                self.0.borrow_mut().insert(statement.to_owned(), code.clone_ref(py));
                code
            }
        };
        let namespace = PyDict::new(py);
        namespace.set_item("__builtins__", py.import("builtins")?)?;
        namespace.set_item("x", x)?;
        // SAFETY: `code` is a code object, the namespace a dict.
        unsafe {
            let none = ffi::PyEval_EvalCode(code.as_ptr(), namespace.as_ptr(), namespace.as_ptr());
            Bound::from_owned_ptr_or_err(py, none)?;
        }
        Ok(())
    }
}
