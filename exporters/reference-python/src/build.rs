//! Builds an array from dlpack-fuzz's **description** of one, and says what it knows of it.
//!
//! Goes in: an object with the attributes that `py:MODULE:FUNCTION` is called with. Comes out: the array and
//! its facts, or None where there is no such array.

use crate::array::Array;
use crate::faulty::{self, Faulty};
use crate::mortal::{CHANGES, Mortal};
use dlpack_reference::arguments::Request;
use dlpack_reference::array::{Access, Array as Inner};
use dlpack_reference::dlpack::{DataType, Device, flag};
use dlpack_reference::dtype::{ElementType, Storage, Unnamed, element_type};
use dlpack_reference::fault::{self, Fault, Plant, Surface};
use dlpack_reference::memory::Memory;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict, PyTuple};
use std::collections::HashMap;
use std::sync::Arc;

/// What may be built on another device lies in host memory all the same.
const DEVICES: [Device; 5] =
    [Device::CPU, Device::CUDA, Device::ROCM, Device::CUDA_HOST, Device::CUDA_MANAGED];

/// `(array, facts)`, or None.
#[pyfunction]
pub fn build<'py>(description: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let py = description.py();
    let Some(array) = array_of(description)? else {
        return Ok(None);
    };
    let object: String = description.getattr("object")?.extract()?;
    let array = match object.as_str() {
        "array" => fault::built(array),
        "imported" => match import(&array) {
            Some(array) => array,
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    let facts = facts(py, &array)?;
    let object = match fault::surface() {
        None | Some(Surface::ImportedForgetsDevice | Surface::ImportedForgetsReadOnly) => {
            Bound::new(py, Array { inner: array })?.into_any()
        }
        Some(Surface::NoDeviceMethod) => {
            Bound::new(py, faulty::NoDevice { inner: array })?.into_any()
        }
        Some(Surface::Life(life)) => Bound::new(py, Mortal::new(array, life))?.into_any(),
        Some(surface) => Bound::new(py, Faulty { inner: array, surface })?.into_any(),
    };
    facts.set_item("owner", &object)?;
    Ok(Some(PyTuple::new(py, [object, facts.into_any()])?))
}

/// Builds with a fault planted, which stays planted.
#[pyclass(frozen, module = "dlpack_reference")]
pub struct Builder {
    pub fault: &'static Fault,
}

#[pymethods]
impl Builder {
    /// How arrays with faults of their life change in place; the others have no such methods.
    #[getter]
    fn changes(&self) -> HashMap<&'static str, &'static str> {
        match self.fault.plant {
            Plant::Surface(Surface::Life(_)) => CHANGES.into_iter().collect(),
            _ => HashMap::new(),
        }
    }

    fn __call__<'py>(
        &self,
        description: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let is_planted = fault::planted().is_some_and(|planted| planted.name == self.fault.name);
        if !is_planted {
            fault::plant(self.fault.name).expect("it was found by its name");
        }
        build(description)
    }
}

fn array_of(description: &Bound<'_, PyAny>) -> PyResult<Option<Arc<Inner>>> {
    let attribute = |name: &str| description.getattr(name);
    let (kind, id): (i32, i32) = attribute("device")?.extract()?;
    let device = Device { kind, id };
    let Some(element) = element_of(description)? else {
        return Ok(None);
    };
    if !DEVICES.contains(&device) {
        return Ok(None);
    }
    let mut axes: Vec<i64> = attribute("shape")?.extract()?;
    axes.extend(attribute("strides")?.extract::<Vec<i64>>()?);
    let access = match attribute("writable")?.extract()? {
        true => Access::Writable,
        false => Access::ReadOnly,
    };
    let memory = attribute("memory")?;
    let Some(memory) = Memory::holding(&memory.cast::<PyByteArray>()?.to_vec()) else {
        return Ok(None);
    };
    let offset = attribute("offset")?.extract()?;
    Ok(Some(Inner::new(element, device, access, axes.into(), memory, offset)))
}

fn element_of(description: &Bound<'_, PyAny>) -> PyResult<Option<ElementType>> {
    let item_bytes: usize = description.getattr("itemsize")?.extract()?;
    let is_swapped = description.getattr("byteorder")?.extract::<String>()? == "swapped";
    let unnamed =
        |unnamed| Ok(Some(ElementType { name: Err(unnamed), storage: Storage::Whole, item_bytes }));
    if let Some((code, bits, lanes)) = description.getattr("triple")?.extract()? {
        let name = DataType::new(code, bits, lanes);
        return match element_type(name, item_bytes, false) {
            Ok(_) if is_swapped => unnamed(Unnamed::Swapped(name)),
            Ok(element) => Ok(Some(element)),
            Err(_) => Ok(None),
        };
    }
    let dtype: String = description.getattr("dtype")?.extract()?;
    unnamed(match dtype.as_str() {
        "longdouble" if !is_swapped => Unnamed::LongDouble,
        "clongdouble" if !is_swapped => Unnamed::ComplexLongDouble,
        "object" => Unnamed::Object,
        _ => Unnamed::Other,
    })
}

/// An array over the memory of an export of `original`; `None` if that cannot be exported.
fn import(original: &Arc<Inner>) -> Option<Arc<Inner>> {
    let request = Request { max_version: Some((1, 3)), ..Request::default() };
    let mut export = dlpack_reference::export(original, &request).ok()?;
    let is_read_only = export.versioned().is_some_and(|it| it.flags & flag::READ_ONLY != 0);
    let access = match fault::surface() {
        Some(Surface::ImportedForgetsReadOnly) => Access::Writable,
        _ if is_read_only => Access::ReadOnly,
        _ => Access::Writable,
    };
    let mut array = Inner::import(original, export, access);
    if let (Some(Surface::ImportedForgetsDevice), Some(array)) =
        (fault::surface(), Arc::get_mut(&mut array))
    {
        array.device = Device::CUDA_HOST;
    }
    Some(fault::built(array))
}

fn facts<'py>(py: Python<'py>, array: &Inner) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    let start = array.start() as usize;
    facts.set_item("address", array.first() as usize)?;
    facts.set_item("allocation", (start, start + array.size()))?;
    facts.set_item("shape", PyTuple::new(py, array.shape())?)?;
    facts.set_item("strides", PyTuple::new(py, array.strides())?)?;
    facts.set_item("itemsize", array.element.item_bytes)?;
    facts.set_item("writable", array.access == Access::Writable)?;
    // A type without a name has been given one.
    if array.element.name == Err(Unnamed::Object)
        && fault::planted().is_some_and(|fault| fault.rule == "DTY-OPAQUE")
    {
        facts.set_item("exportable", true)?;
    }
    Ok(facts)
}
