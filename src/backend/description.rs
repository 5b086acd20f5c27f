//! The **description** of an array, as backends written in Python get it: an object with the attributes
//! `shape`, `strides` (bytes), `dtype`, `triple`, `byteorder`, `itemsize`, `memory`, `offset`, `writable`,
//! `device`, `object`, `order`, `statements` and `numpy`.
//!
//! `numpy` is the same array as NumPy has it; NumPy is imported when it is asked for, not before.

use super::numpy::{Numpy, statements, tuple};
use super::{Backend, Built, Inexpressible};
use crate::case::{Access, ByteOrder, Contents, Layout, Tensor};
use crate::oracle::Source;
use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyTuple};
use std::cell::{Cell, OnceCell};
use std::fmt::Write;
use std::rc::Rc;

/// More bytes than this are not made: the array is then not expressible.
const MOST_BYTES: i128 = 1 << 28;

/// NumPy of the environment, for every description of a backend.
#[derive(Default)]
pub struct LazyNumpy {
    numpy: OnceCell<Numpy>,
    /// Some description was asked for its NumPy array, or for the text of it.
    pub was_asked: Cell<bool>,
}

impl LazyNumpy {
    /// NumPy, if it has been imported.
    pub fn loaded(&self) -> Option<&Numpy> {
        self.numpy.get()
    }

    fn load(&self, py: Python<'_>) -> PyResult<&Numpy> {
        if self.numpy.get().is_none() {
            let _ = self.numpy.set(Numpy::new(py)?);
        }
        Ok(self.numpy.get().expect("just set"))
    }
}

/// What a backend written in Python is asked to build.
#[pyclass(unsendable, module = "dlpack_fuzz")]
pub struct Description {
    tensor: Tensor,
    lazy: Rc<LazyNumpy>,
    memory: OnceCell<Py<PyByteArray>>,
    array: OnceCell<(Py<PyAny>, Source)>,
}

impl Description {
    pub fn new(tensor: &Tensor, lazy: &Rc<LazyNumpy>) -> Self {
        Self {
            tensor: tensor.clone(),
            lazy: Rc::clone(lazy),
            memory: OnceCell::new(),
            array: OnceCell::new(),
        }
    }

    pub fn tensor(&self) -> &Tensor {
        &self.tensor
    }

    /// The NumPy array and its facts, if they were asked for.
    pub fn asked(&self) -> Option<&(Py<PyAny>, Source)> {
        self.array.get()
    }

    fn bytes(&self) -> PyResult<usize> {
        let bytes = self.tensor.span().bytes() + self.tensor.lead() as i128;
        match bytes {
            0..=MOST_BYTES => Ok(bytes as usize),
            _ => Err(PyMemoryError::new_err(format!("{bytes} bytes are too many"))),
        }
    }
}

#[pymethods]
impl Description {
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.shape.iter())
    }

    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.byte_strides().iter())
    }

    #[getter]
    fn dtype(&self) -> String {
        dtype_name(&self.tensor)
    }

    #[getter]
    fn triple(&self) -> Option<(u8, u8, u16)> {
        self.tensor.dtype.info().triple.map(|it| (it.code.0, it.bits, it.lanes))
    }

    #[getter]
    fn byteorder(&self) -> &'static str {
        byte_order(&self.tensor)
    }

    #[getter]
    fn itemsize(&self) -> usize {
        self.tensor.dtype.item_size()
    }

    /// The same object whenever it is asked for.
    #[getter]
    fn memory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyByteArray>> {
        if self.memory.get().is_none() {
            let contents = contents(&self.tensor);
            let memory = PyByteArray::new_with(py, self.bytes()?, |bytes| {
                contents.fill(bytes);
                Ok(())
            })?;
            let _ = self.memory.set(memory.unbind());
        }
        Ok(self.memory.get().expect("just set").bind(py).clone())
    }

    #[getter]
    fn offset(&self) -> i128 {
        offset(&self.tensor)
    }

    #[getter]
    fn writable(&self) -> bool {
        self.tensor.access == Access::Writable
    }

    #[getter]
    fn device(&self) -> (i32, i32) {
        let device = self.tensor.device;
        (device.device_type.0, device.device_id)
    }

    #[getter]
    fn object(&self) -> &'static str {
        self.tensor.object.name()
    }

    #[getter]
    fn order(&self) -> Option<&'static str> {
        order(&self.tensor)
    }

    #[getter]
    fn statements(&self) -> String {
        self.lazy.was_asked.set(true);
        statements(&self.tensor)
    }

    #[getter]
    fn numpy(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.lazy.was_asked.set(true);
        if self.array.get().is_none() {
            let numpy = self.lazy.load(py)?;
            let Built { array, source, .. } = numpy
                .build(py, &self.tensor)
                .map_err(|Inexpressible(reason)| PyTypeError::new_err(reason))?;
            let _ = self.array.set((array.unbind(), source));
        }
        Ok(self.array.get().expect("just set").0.clone_ref(py))
    }
}

/// Statements that leave the description in `description`, as plain Python: with `numpy` where a backend
/// uses it.
pub fn description_statements(tensor: &Tensor, with_numpy: bool) -> String {
    let mut text = String::new();
    if with_numpy {
        text += &statements(tensor);
    }
    let triple = match tensor.dtype.info().triple {
        Some(it) => format!("({}, {}, {})", it.code.0, it.bits, it.lanes),
        None => "None".into(),
    };
    let order = order(tensor).map_or_else(|| "None".into(), |order| format!("'{order}'"));
    let writable = if tensor.access == Access::Writable { "True" } else { "False" };
    let device = tensor.device;
    // Writing to a String does not fail.
    let _ = write!(
        text,
        "from types import SimpleNamespace\n\
         description = SimpleNamespace(\n    \
         shape={}, strides={}, dtype='{}',\n    \
         triple={triple}, byteorder='{}', itemsize={},\n    \
         memory={}, offset={},\n    \
         writable={writable}, device=({}, {}), object='{}', order={order}",
        tuple(&tensor.shape),
        tuple(&tensor.byte_strides()),
        dtype_name(tensor),
        byte_order(tensor),
        tensor.dtype.item_size(),
        memory_text(tensor),
        offset(tensor),
        device.device_type.0,
        device.device_id,
        tensor.object.name(),
    );
    if with_numpy {
        let _ = write!(text, ",\n    numpy=x, statements={:?}", statements(tensor));
    }
    text + ")\n"
}

/// A Python expression for the memory of a description.
pub fn memory_text(tensor: &Tensor) -> String {
    let bytes = tensor.span().bytes() + tensor.lead() as i128;
    super::numpy::memory(contents(tensor), usize::try_from(bytes).unwrap_or(0))
}

fn contents(tensor: &Tensor) -> Contents {
    if tensor.dtype.info().any_bytes { tensor.contents } else { Contents::ZEROS }
}

fn offset(tensor: &Tensor) -> i128 {
    tensor.lead() as i128 - tensor.span().low
}

fn dtype_name(tensor: &Tensor) -> String {
    let dtype = tensor.dtype;
    if dtype.is_flexible() {
        format!("{}[{}]", dtype.name(), dtype.size)
    } else {
        dtype.name().into()
    }
}

fn byte_order(tensor: &Tensor) -> &'static str {
    match tensor.dtype.order {
        ByteOrder::Native => "native",
        ByteOrder::Swapped => "swapped",
    }
}

fn order(tensor: &Tensor) -> Option<&'static str> {
    match tensor.layout {
        Layout::C => Some("C"),
        Layout::F => Some("F"),
        Layout::Strided { .. } => None,
    }
}
