//! The **facts** that a backend written in Python states of an array: a dict, read into a [`Source`].
//!
//! Each is optional: `address`, `allocation` (start, stop), `shape`, `strides` (bytes), `itemsize`,
//! `writable` (bool or None: no such notion), `exportable` (True, the reason why not, or None: unknown),
//! `special` (more than its memory), `values` (the elements in row-major order, where they are not what
//! lies in memory), `owner`. A fact of a wrong type is an error of the backend.

use crate::case::{Shape, Span, Tensor};
use crate::oracle::{Exportable, Source};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Every fact by its name; another name is a mistake that must not pass unseen.
const NAMES: [&str; 10] = [
    "address",
    "allocation",
    "shape",
    "strides",
    "itemsize",
    "writable",
    "exportable",
    "special",
    "values",
    "owner",
];

/// What is known of an array of which nothing was said: its shape.
pub fn unknown(tensor: &Tensor) -> Source {
    Source {
        shape: tensor.shape.clone(),
        strides: compact(&tensor.shape, tensor.dtype.item_size()),
        item_size: tensor.dtype.item_size(),
        address: None,
        allocation: None,
        writable: None,
        exportable: Exportable::Unknown,
        is_special: false,
        values: None,
        unchanged: Ok(()),
    }
}

/// The facts of a dict.
pub fn read(facts: &Bound<'_, PyDict>, tensor: &Tensor) -> PyResult<Source> {
    for name in facts.keys() {
        let name: String = name.extract()?;
        if !NAMES.contains(&name.as_str()) {
            let text = format!("no fact is named {name}; there are {}", NAMES.join(", "));
            return Err(pyo3::exceptions::PyKeyError::new_err(text));
        }
    }
    let mut source = unknown(tensor);
    let given = |name: &str| Ok::<_, PyErr>(facts.get_item(name)?.filter(|fact| !fact.is_none()));
    if let Some(item_size) = given("itemsize")? {
        source.item_size = item_size.extract()?;
    }
    if let Some(shape) = given("shape")? {
        source.shape = Shape::from_vec(shape.extract()?);
    }
    source.strides = match given("strides")? {
        Some(strides) => Shape::from_vec(strides.extract()?),
        None if source.shape == tensor.shape => tensor.byte_strides(),
        None => compact(&source.shape, source.item_size),
    };
    if source.strides.len() != source.shape.len() {
        let text = "facts: shape and strides are of different lengths";
        return Err(pyo3::exceptions::PyValueError::new_err(text));
    }
    if let Some(address) = given("address")? {
        let address: usize = address.extract()?;
        let span = Span::of(&source.shape, &source.strides, source.item_size);
        let start = address.wrapping_add_signed(span.low as isize);
        let own = start..start.wrapping_add(span.bytes() as usize);
        source.allocation = Some(match given("allocation")? {
            Some(allocation) => {
                let (start, stop): (usize, usize) = allocation.extract()?;
                start..stop.max(start)
            }
            None => own,
        });
        source.address = Some(address);
    }
    source.writable = given("writable")?.map(|fact| fact.extract()).transpose()?;
    source.exportable = match given("exportable")? {
        None => Exportable::Unknown,
        Some(reason) if reason.is_instance_of::<PyString>() => {
            Exportable::No(reason_of(&reason.extract::<String>()?))
        }
        Some(yes) if yes.extract::<bool>()? => Exportable::Yes,
        Some(_) => Exportable::No("its backend says so"),
    };
    source.is_special = given("special")?.map_or(Ok(false), |fact| fact.extract())?;
    if let Some(values) = given("values")? {
        let values: Vec<u8> = values.extract()?;
        if values.len() as u64 != source.size().saturating_mul(source.item_size as u64) {
            let text = "facts: values are not as many bytes as the shape and the item size say";
            return Err(pyo3::exceptions::PyValueError::new_err(text));
        }
        source.values = Some(values.into());
    }
    Ok(source)
}

/// The object whose references are counted; `object` itself if nothing else is said.
pub fn owner<'py>(
    facts: &Bound<'py, PyDict>,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(facts.get_item("owner")?.unwrap_or_else(|| object.clone()))
}

/// A reason for good: there are as many as a backend's table has.
fn reason_of(text: &str) -> &'static str {
    static REASONS: LazyLock<Mutex<BTreeSet<&'static str>>> = LazyLock::new(Mutex::default);
    let mut reasons = REASONS.lock().unwrap_or_else(PoisonError::into_inner);
    match reasons.get(text) {
        Some(known) => known,
        None => {
            let kept: &'static str = Box::leak(text.into());
            reasons.insert(kept);
            kept
        }
    }
}

fn compact(shape: &[i64], item_size: usize) -> Shape {
    let mut strides = Shape::from_elem(0, shape.len());
    let mut step = item_size as i64;
    for (stride, &extent) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(extent.max(1));
    }
    strides
}
