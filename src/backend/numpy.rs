//! NumPy: arrays of every dtype, layout and sub-class, built through NumPy's C API.
//!
//! Views lie in a byte array that NumPy allocates with exactly the bytes the case addresses, so that a
//! sanitizer sees the very edges. The allocator is a NEP 49 handler on the C library's `malloc`: NumPy's
//! own keeps small blocks in a cache, where neither a sanitizer nor a leak count would see them.

mod api;
mod source;

use super::{Backend, Built, Inexpressible, Traits};
use crate::case::life::Change;
use crate::case::{
    Access, ByteOrder, Dtype, DtypeClass, Layout, LayoutClass, Object, Shape, Span, Tensor,
};
use crate::oracle::{ArrayApi, Exportable, Manner, Source};
use api::{Api, ArrayObject};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict, PyType};
use pyo3::{ffi, intern};
use std::borrow::Cow;
use std::cell::RefCell;

pub use source::{memory, statements, tuple};

pub struct Numpy {
    api: Api,
    module: Py<PyAny>,
    ml_dtypes: Option<Py<PyAny>>,
    classes: Classes,
    dtype_class: Py<PyAny>,
    dtypes: Vec<Option<Py<PyAny>>>,
    bytes_dtype: Py<PyAny>,
    /// For [`Object::Memmap`], made on first use.
    mappings: RefCell<Option<Mappings>>,
}

struct Classes {
    subclass: Py<PyType>,
    matrix: Py<PyType>,
    masked: Py<PyType>,
    record: Py<PyType>,
}

pub fn open(py: Python<'_>) -> PyResult<Box<dyn Backend>> {
    Ok(Box::new(Numpy::new(py)?))
}

/// Two mappings of one file without a name, as `numpy.memmap` of bytes.
struct Mappings {
    writable: Py<PyAny>,
    read_only: Py<PyAny>,
}

/// Bytes of the file; larger arrays are not expressible.
const FILE_BYTES: usize = 1 << 16;

impl Mappings {
    fn new(numpy: &Bound<'_, PyAny>) -> PyResult<Self> {
        let file = numpy.py().import("tempfile")?.getattr("TemporaryFile")?.call0()?;
        file.call_method1("truncate", (FILE_BYTES,))?;
        let map = |mode: &str| {
            let map = numpy.getattr("memmap")?.call1((&file, "u1", mode, 0, FILE_BYTES))?;
            Ok::<_, PyErr>(map.unbind())
        };
        Ok(Self { writable: map("r+")?, read_only: map("r")? })
    }
}

impl Numpy {
    pub fn new(py: Python<'_>) -> PyResult<Self> {
        let module = py.import("numpy")?;
        let api = Api::load(py)?;
        api.install_allocator(py)?;
        let locals = PyDict::new(py);
        locals.set_item("np", &module)?;
        py.run(c"class Subclass(np.ndarray):\n    pass", Some(&locals), None)?;
        let class =
            |object: Bound<'_, PyAny>| Ok::<_, PyErr>(object.cast_into::<PyType>()?.unbind());
        let classes = Classes {
            subclass: class(locals.get_item("Subclass")?.expect("just defined"))?,
            matrix: class(module.getattr("matrix")?)?,
            masked: class(module.getattr("ma")?.getattr("MaskedArray")?)?,
            record: class(module.getattr("recarray")?)?,
        };
        let bytes_dtype = module.getattr("dtype")?.call1(("u1",))?.unbind();
        let ml_dtypes = py.import("ml_dtypes").ok().map(|module| module.into_any().unbind());
        let dtypes = all_dtypes(&module, ml_dtypes.as_ref().map(|module| module.bind(py)))?;
        Ok(Self {
            api,
            module: module.clone().into_any().unbind(),
            ml_dtypes,
            classes,
            dtype_class: module.getattr("dtype")?.unbind(),
            dtypes,
            bytes_dtype,
            mappings: RefCell::default(),
        })
    }

    /// NumPy's dtype object. The flexible ones are too many to keep, and quickly made.
    fn dtype<'py>(
        &self,
        py: Python<'py>,
        dtype: Dtype,
    ) -> Result<Bound<'py, PyAny>, Inexpressible> {
        let made = if dtype.is_flexible() {
            sized_dtype(self.dtype_class.bind(py), dtype).ok()
        } else {
            self.dtypes[place_of(dtype)].as_ref().map(|object| object.bind(py).clone())
        };
        made.ok_or_else(|| Inexpressible(format!("no dtype {}", dtype.name()).into()))
    }

    fn plain_array<'py>(
        &self,
        py: Python<'py>,
        tensor: &Tensor,
        class: *mut ffi::PyTypeObject,
    ) -> Result<Bound<'py, PyAny>, Inexpressible> {
        if matches!(tensor.dtype.name(), "str" | "bytes") && tensor.dtype.size == 0 {
            // NumPy makes room for one character in a new array of empty strings, but not in a view.
            let void = Dtype::named("void", 0).unwrap_or(tensor.dtype);
            let empty = Tensor { dtype: void, ..tensor.clone() };
            let array = self.plain_array(py, &empty, class)?;
            return (self.dtype(py, tensor.dtype))
                .and_then(|dtype| view(&array, dtype).map_err(|error| refused(py, &error)));
        }
        let dtype = self.dtype(py, tensor.dtype)?;
        if tensor.dtype.name() == "vstr" {
            return self.empty(py, tensor, &dtype);
        }
        match &tensor.layout {
            Layout::C | Layout::F => {
                let fortran = tensor.layout == Layout::F;
                let array = self
                    .api
                    .new_owning(py, class, &dtype, &tensor.shape, fortran)
                    .map_err(|error| refused(py, &error))?;
                if tensor.dtype.info().any_bytes {
                    // SAFETY: the array owns its memory and nobody has seen it yet.
                    tensor.contents.fill(unsafe { self.api.array(&array).memory_mut() });
                }
                Ok(array)
            }
            Layout::Strided { strides, .. } => {
                let span = tensor.span();
                let bytes = usize::try_from(span.bytes())
                    .map_err(|_| Inexpressible("the view is larger than memory".into()))?
                    + tensor.lead();
                // SAFETY: PyArray_Type is a type object for as long as NumPy is loaded.
                let base = self
                    .api
                    .new_owning(
                        py,
                        self.api.array_type(),
                        self.bytes_dtype.bind(py),
                        &[bytes as i64],
                        false,
                    )
                    .map_err(|error| refused(py, &error))?;
                // SAFETY: as above.
                let memory = unsafe { self.api.array(&base).memory_mut() };
                match tensor.dtype.info().any_bytes {
                    true => tensor.contents.fill(memory),
                    false => memory.fill(0),
                }
                let first = (tensor.lead() as i128 - span.low) as usize;
                self.api
                    .new_view(py, class, &dtype, &tensor.shape, strides, &base, first)
                    .map_err(|error| refused(py, &error))
            }
        }
    }

    /// `numpy.empty`: for dtypes whose items need NumPy to set them up.
    fn empty<'py>(
        &self,
        py: Python<'py>,
        tensor: &Tensor,
        dtype: &Bound<'py, PyAny>,
    ) -> Result<Bound<'py, PyAny>, Inexpressible> {
        if matches!(tensor.layout, Layout::Strided { .. }) || tensor.size() > 1 << 16 {
            return Err(Inexpressible("variable-width strings only in small plain arrays".into()));
        }
        let empty = || {
            let shape = pyo3::types::PyTuple::new(py, tensor.shape.iter())?;
            self.module.bind(py).call_method1(intern!(py, "empty"), (shape, dtype))
        };
        empty().map_err(|error| refused(py, &error))
    }

    /// A field of a structured array, so that NumPy itself makes the gaps.
    fn field<'py>(
        &self,
        py: Python<'py>,
        tensor: &Tensor,
    ) -> Result<Bound<'py, PyAny>, Inexpressible> {
        if !matches!(tensor.layout, Layout::C)
            || !tensor.dtype.info().any_bytes
            || tensor.size() > 1 << 12
        {
            return Err(Inexpressible("a field comes from a small row-major record array".into()));
        }
        let dtype = self.dtype(py, tensor.dtype)?;
        let made = || -> PyResult<_> {
            let gap = self.module.bind(py).getattr(intern!(py, "float64"))?;
            let fields = vec![(intern!(py, "x"), dtype), (intern!(py, "gap"), gap)];
            let record = self.dtype_class.bind(py).call1((fields,))?;
            let base =
                self.api.new_owning(py, self.api.array_type(), &record, &tensor.shape, false)?;
            // SAFETY: the array owns its memory and nobody has seen it yet.
            tensor.contents.fill(unsafe { self.api.array(&base).memory_mut() });
            base.get_item(intern!(py, "x"))
        };
        made().map_err(|error| refused(py, &error))
    }

    /// A view of a file mapping; read-only ones lie in a mapping without write permission. There is one
    /// file and one mapping of each kind: a new one for every case would cost fifty times the export.
    fn memmap<'py>(
        &self,
        py: Python<'py>,
        tensor: &Tensor,
    ) -> Result<Bound<'py, PyAny>, Inexpressible> {
        let span = tensor.span();
        let bytes = span.bytes() + tensor.lead() as i128;
        if !(1..=FILE_BYTES as i128).contains(&bytes) || !tensor.dtype.info().any_bytes {
            return Err(Inexpressible("a mapping holds 1 byte to 64 KiB of plain numbers".into()));
        }
        let made = || -> PyResult<_> {
            let mut mappings = self.mappings.borrow_mut();
            let mappings = match &mut *mappings {
                Some(mappings) => mappings,
                none => none.insert(Mappings::new(self.module.bind(py))?),
            };
            let base = mappings.writable.bind(py);
            // SAFETY: the writable mapping is FILE_BYTES long, and no array of an earlier case is alive.
            let memory = unsafe { self.api.array(base).memory_mut() };
            tensor.contents.fill(&mut memory[..bytes as usize]);
            let base = match tensor.access {
                Access::Writable => base,
                Access::ReadOnly => mappings.read_only.bind(py),
            };
            let dtype = self
                .dtype(py, tensor.dtype)
                .map_err(|Inexpressible(reason)| pyo3::exceptions::PyTypeError::new_err(reason))?;
            let class = base.get_type();
            let first = (tensor.lead() as i128 - span.low) as usize;
            let class = class.as_ptr().cast();
            self.api.new_view(py, class, &dtype, &tensor.shape, &tensor.byte_strides(), base, first)
        };
        made().map_err(|error| refused(py, &error))
    }

    /// The array that [`Numpy::build`] made is what `source` says.
    pub fn is_still(
        &self,
        array: &Bound<'_, PyAny>,
        source: &Source,
    ) -> Result<(), Cow<'static, str>> {
        // SAFETY: the caller has the array from `build`.
        let fields: &ArrayObject = unsafe { self.api.array(array) };
        if Some(fields.data as usize) != source.address {
            Err("the address changed".into())
        } else if fields.shape() != source.shape.as_slice() {
            Err("the shape changed".into())
        } else if fields.strides() != source.strides.as_slice() {
            Err("the strides changed".into())
        } else if self.api.item_size(array) != source.item_size {
            Err("the dtype changed".into())
        } else if Some(fields.is_writable()) != source.writable {
            Err("writability changed".into())
        } else {
            Ok(())
        }
    }

    /// The facts of an array, read from NumPy's struct.
    fn facts(&self, array: &Bound<'_, PyAny>, tensor: &Tensor) -> Source {
        // SAFETY: every array made here is a PyArrayObject.
        let fields = unsafe { self.api.array(array) };
        let item_size = self.api.item_size(array);
        let shape = Shape::from_slice(fields.shape());
        let strides = Shape::from_slice(fields.strides());
        let address = fields.data as usize;
        let span = Span::of(&shape, &strides, item_size);
        // The allocation is the base array's where there is one; otherwise the array's own.
        let allocation = match self.api.owner_of(array) {
            // A mapping is longer than the array.
            Some(base) if tensor.object != Object::Memmap => {
                // SAFETY: `owner_of` has checked that the base is an array.
                let base = unsafe { self.api.array(&base) };
                let start = base.data as usize;
                start..start + base.bytes(self.api.item_size_of(base))
            }
            _ => {
                let start = address.wrapping_add_signed(span.low as isize);
                start..start.wrapping_add(span.bytes() as usize)
            }
        };
        let exportable = exportable(tensor, &shape, &strides, item_size);
        Source {
            shape,
            strides,
            item_size,
            address: Some(address),
            allocation: Some(allocation),
            writable: Some(fields.is_writable()),
            exportable,
            is_special: matches!(tensor.object, Object::Masked | Object::Matrix),
            values: None,
            unchanged: Ok(()),
        }
    }
}

impl Backend for Numpy {
    fn name(&self) -> &str {
        "numpy"
    }

    fn versions(&self, py: Python<'_>) -> Vec<(String, String)> {
        let version = |name: &str, module: &Py<PyAny>| {
            let version = module.bind(py).getattr("__version__").ok()?;
            Some((name.to_string(), version.to_string()))
        };
        let ml_dtypes = self.ml_dtypes.as_ref().and_then(|module| version("ml_dtypes", module));
        version("numpy", &self.module).into_iter().chain(ml_dtypes).collect()
    }

    fn traits(&self) -> Traits {
        let claims = self.api.major_version() >= 2;
        Traits {
            claims: claims.then_some(ArrayApi::V2024),
            mutable: true,
            has_readonly: true,
            python_destructor: false,
        }
    }

    fn build<'py>(&self, py: Python<'py>, tensor: &Tensor) -> Result<Built<'py>, Inexpressible> {
        if tensor.device != crate::abi::DLDevice::CPU {
            return Err(Inexpressible("NumPy has the CPU only".into()));
        }
        if tensor.shape.len() > self.api.most_axes() {
            return Err(Inexpressible(format!("{} axes are too many", tensor.shape.len()).into()));
        }
        let class = |class: &Py<PyType>| class.as_ptr().cast::<ffi::PyTypeObject>();
        let viewed = |class: &Py<PyType>| {
            let array = self.plain_array(py, tensor, self.api.array_type())?;
            array.call_method1(intern!(py, "view"), (class,)).map_err(|error| refused(py, &error))
        };
        let object = match tensor.object {
            Object::Array => self.plain_array(py, tensor, self.api.array_type())?,
            Object::Subclass => self.plain_array(py, tensor, class(&self.classes.subclass))?,
            Object::Matrix if tensor.shape.len() == 2 => viewed(&self.classes.matrix)?,
            Object::Matrix => return Err(Inexpressible("a matrix has two axes".into())),
            // The mask of a virtually huge array would be as large as the array claims to be.
            Object::Masked if tensor.size() > 1 << 16 => {
                return Err(Inexpressible("a mask of that size does not fit".into()));
            }
            Object::Masked => viewed(&self.classes.masked)?,
            Object::Record => viewed(&self.classes.record)?,
            Object::Packed => {
                return Err(Inexpressible("NumPy has a byte for each element".into()));
            }
            Object::Field => self.field(py, tensor)?,
            Object::Memmap => self.memmap(py, tensor)?,
            Object::Imported => {
                if exportable_dtype(tensor.dtype).is_some() {
                    return Err(Inexpressible("NumPy imports what it exports only".into()));
                }
                let array = self.plain_array(py, tensor, self.api.array_type())?;
                (self.module.bind(py).call_method1(intern!(py, "from_dlpack"), (array,)))
                    .map_err(|error| refused(py, &error))?
            }
            other => {
                return Err(Inexpressible(format!("NumPy has no {}", other.name()).into()));
            }
        };
        if tensor.access == Access::ReadOnly {
            // SAFETY: an array, and nobody else has it.
            unsafe { self.api.array_mut(&object).clear_writable() };
        }
        let source = self.facts(&object, tensor);
        Ok(Built { array: object.clone(), owner: object.clone(), object, source })
    }

    fn unchanged(&self, _py: Python<'_>, built: &Built<'_>) -> Result<(), Cow<'static, str>> {
        self.is_still(&built.array, &built.source)
    }

    fn live_blocks(&self) -> Option<isize> {
        Some(api::live_blocks())
    }

    fn change(&self, change: Change) -> Option<(&str, Manner)> {
        let statement = match change {
            Change::Reshape => "x.shape = (1, *x.shape)",
            // With its default check, which refuses where the memory may be somebody else's, too.
            Change::Resize => "x.resize(4 * x.size + 64)",
            Change::Freeze => "x.flags.writeable = False",
        };
        Some((statement, Manner::Ordinary))
    }

    fn source(&self, tensor: &Tensor) -> String {
        statements(tensor)
    }
}

/// Place of a dtype that is not flexible among those made at the start.
fn place_of(dtype: Dtype) -> usize {
    2 * usize::from(dtype.row()) + usize::from(dtype.order != ByteOrder::Native)
}

/// All dtypes that are not flexible, in both byte orders, by [`place_of`]; `None` where NumPy has none.
fn all_dtypes(
    numpy: &Bound<'_, PyAny>,
    ml_dtypes: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<Option<Py<PyAny>>>> {
    let class = numpy.getattr("dtype")?;
    let globals = [("np", numpy)].into_py_dict(numpy.py())?;
    let make = |dtype: Dtype| -> PyResult<Bound<'_, PyAny>> {
        let registered = ml_dtypes.and_then(|module| module.getattr(dtype.name()).ok());
        let spelled = match registered {
            Some(registered) => registered,
            None => {
                let text = std::ffi::CString::new(source::dtype_expression(dtype))?;
                numpy.py().eval(&text, Some(&globals), None)?
            }
        };
        let made = class.call1((spelled,))?;
        match dtype.order {
            ByteOrder::Native => Ok(made),
            ByteOrder::Swapped => made.call_method0("newbyteorder"),
        }
    };
    let rows = 0..Dtype::TABLE.len() as u8;
    Ok(rows
        .map(|row| Dtype::from_row(row, 0))
        .flat_map(|native| [native, native.swapped()])
        .map(|dtype| make(dtype).ok().map(Bound::unbind))
        .collect())
}

fn sized_dtype<'py>(class: &Bound<'py, PyAny>, dtype: Dtype) -> PyResult<Bound<'py, PyAny>> {
    let letter = match dtype.name() {
        "str" => 'U',
        "bytes" => 'S',
        _ => 'V',
    };
    let order = if dtype.order == ByteOrder::Swapped { ">" } else { "" };
    class.call1((format!("{order}{letter}{}", dtype.size),))
}

/// Whether NumPy is expected to export an array, from its documentation and `dlpack.c`: native numbers of
/// at most 8 bytes a part, in strides that are multiples of the item size.
fn exportable(tensor: &Tensor, shape: &[i64], strides: &[i64], item_size: usize) -> Exportable {
    if let Some(reason) = exportable_dtype(tensor.dtype) {
        return reason;
    }
    let odd = (shape.iter().zip(strides))
        .any(|(&extent, &stride)| extent > 1 && stride % item_size as i64 != 0);
    if odd && tensor.layout_class() != LayoutClass::SizeZero {
        return Exportable::No("strides are no multiple of the item size");
    }
    Exportable::Yes
}

/// Why arrays of a dtype may be refused; `None` if they are to be exported.
fn exportable_dtype(dtype: Dtype) -> Option<Exportable> {
    match dtype.class() {
        _ if dtype.order == ByteOrder::Swapped => {
            Some(Exportable::No("DLPack has native byte order only"))
        }
        DtypeClass::NonNumeric => Some(Exportable::No("no DLPack type denotes it")),
        DtypeClass::LongDouble => Some(Exportable::No("x87 long double is no IEEE type")),
        DtypeClass::Extended if dtype.name() == "float16" => None,
        // Exported only where `numpy.dtypes.register_dlpack_dtype` knows the type.
        DtypeClass::Extended | DtypeClass::SubByte => Some(Exportable::Unknown),
        _ => None,
    }
}

/// The same memory under another dtype of the same item size.
fn view<'py>(array: &Bound<'py, PyAny>, dtype: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let viewed = array.call_method0(intern!(py, "view"))?;
    viewed.setattr(intern!(py, "dtype"), dtype)?;
    Ok(viewed)
}

fn refused(py: Python<'_>, error: &PyErr) -> Inexpressible {
    Inexpressible(crate::host::interpreter::sentence(py, error).into())
}
