//! The Python module **`dlpack_reference`**: the [reference exporter](dlpack_reference) behind `__dlpack__`.
//!
//! Read [`array`] (the two methods), [`arguments`] (what their arguments mean) and [`capsule`] (how a managed
//! tensor is handed over); everything else is the crate's that this one wraps. [`build`] makes an array from a
//! description, and [`faulty`] is what an array becomes when a fault is planted that only Python can show, or
//! [`mortal`] if only the life of an export shows it.

mod arguments;
mod array;
mod build;
mod capsule;
mod error;
mod faulty;
mod mortal;

use dlpack_reference::fault;
use pyo3::exceptions::{PyAttributeError, PyValueError};
use pyo3::prelude::*;

#[pymodule]
#[pyo3(name = "dlpack_reference")]
mod module {
    #[pymodule_export]
    use super::array::Array;
    #[pymodule_export]
    use super::build::build;
    #[pymodule_export]
    use super::{__getattr__, faults, live_blocks, plant};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Plants the fault of that name, or none.
#[pyfunction]
#[pyo3(signature = (name=None))]
fn plant(name: Option<&str>) -> PyResult<()> {
    let name = name.unwrap_or("none");
    fault::plant(name)
        .map_err(|fault::Unknown| PyValueError::new_err(format!("no fault is named {name}")))
}

/// `dlpack_reference.NAME(description)` is `build` with the fault NAME planted.
#[pyfunction]
fn __getattr__(name: &str) -> PyResult<build::Builder> {
    match fault::named(name) {
        Some(fault) => Ok(build::Builder { fault }),
        None => {
            let text =
                format!("module 'dlpack_reference' has no attribute {name:?}, and no such fault");
            Err(PyAttributeError::new_err(text))
        }
    }
}

/// Name, rule, grade, route by which a search finds it (`both`, `c`, `python`, or `life`: in the life of an export in Python)
/// and story of every fault that can be planted.
#[pyfunction]
fn faults() -> Vec<[&'static str; 5]> {
    let row = |fault: &'static fault::Fault| {
        let grade = match fault.grade {
            fault::Grade::Info => "info",
            fault::Grade::Warning => "warning",
            fault::Grade::Violation => "violation",
        };
        let route = match (fault.route, fault.device) {
            (fault::Route::Python, _) if fault.shown == fault::Shown::ByLife => "life",
            (fault::Route::Both, None) => "both",
            // Through `build`, arrays are drawn on the CPU only.
            (fault::Route::C, _) | (fault::Route::Both, Some(_)) => "c",
            (fault::Route::Python, _) => "python",
        };
        [fault.name, fault.rule, grade, route, fault.story]
    };
    fault::faults().map(row).collect()
}

/// Arrays, their memory and exports that are alive.
#[pyfunction]
fn live_blocks() -> i64 {
    dlpack_reference::memory::live_blocks()
}
