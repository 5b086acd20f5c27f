//! What an array becomes when a fault is planted that only Python can show ([`Surface`]): the same methods,
//! with a signature that takes anything, and one step that differs.

use crate::arguments::{Argument, request};
use crate::array::export;
use crate::capsule::{self, capsule, name_of};
use dlpack_reference::arguments::Request;
use dlpack_reference::array::{Access, Array as Inner};
use dlpack_reference::dlpack::{NAME, NAME_VERSIONED};
use dlpack_reference::export::Export;
use dlpack_reference::fault::{self, Surface};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PyString, PyTuple};
use std::ffi::{CStr, CString, c_char};
use std::sync::Arc;

const KEYWORDS: [&str; 4] = ["stream", "max_version", "dl_device", "copy"];

/// An array with a fault.
#[pyclass(frozen, module = "dlpack_reference")]
pub struct Faulty {
    pub inner: Arc<Inner>,
    pub surface: Surface,
}

#[pymethods]
impl Faulty {
    #[pyo3(signature = (*positional, **named))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        positional: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let faulty = slf.get();
        let mut given = faulty.sort(positional, named)?;
        given.take_own_device(slf)?;
        let request = given.request(faulty.surface)?;
        let export = export(slf.as_any(), &faulty.inner, &request)?;
        faulty.hand_over(slf, export, &request)
    }

    fn __dlpack_device__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let device = fault::device(&self.inner);
        let (kind, id) = (device.kind, device.id);
        Ok(match self.surface {
            Surface::DeviceList => PyList::new(py, [kind, id])?.into_any(),
            Surface::DeviceNumber if self.inner.ndim() == 0 => kind.into_pyobject(py)?.into_any(),
            Surface::DeviceTypeWord => ("cpu", id).into_pyobject(py)?.into_any(),
            Surface::DeviceTypeEnum => {
                (device_enum(py)?.call1((kind,))?, id).into_pyobject(py)?.into_any()
            }
            Surface::DeviceIdNone => (kind, py.None()).into_pyobject(py)?.into_any(),
            Surface::DeviceIdBool => (kind, id != 0).into_pyobject(py)?.into_any(),
            Surface::DeviceRaises if self.inner.is_empty() => {
                return Err(PyValueError::new_err("an empty array is on no device"));
            }
            _ => (kind, id).into_pyobject(py)?.into_any(),
        })
    }
}

/// The arguments by keyword, as they were given: `None` is not given.
#[derive(Default)]
struct Given<'py> {
    values: [Option<Bound<'py, PyAny>>; 4],
}

impl Faulty {
    /// What Python does for a signature.
    fn sort<'py>(
        &self,
        positional: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Given<'py>> {
        let mut given = Given::default();
        if !positional.is_empty() && self.surface != Surface::Positional {
            return Err(PyTypeError::new_err("__dlpack__() takes keyword arguments only"));
        }
        for (place, value) in positional.iter().enumerate() {
            *given.values.get_mut(place).ok_or(PyTypeError::new_err("too many arguments"))? =
                Some(value);
        }
        for (name, value) in named.into_iter().flatten() {
            let place = self.place_of(&name, &value)?;
            let is_late = place == 1 && given.values[2].is_some();
            if self.surface == Surface::OrderMatters && is_late {
                return Err(PyBufferError::new_err("max_version must be known before dl_device"));
            }
            given.values[place] = Some(value);
        }
        Ok(given)
    }

    fn place_of(&self, name: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
        let unknown = || {
            let text = format!("__dlpack__() got an unexpected keyword argument {name}");
            match self.surface {
                Surface::UnknownKeywordValueError => PyValueError::new_err(text),
                Surface::CopyKeywordValueError if !value.is_none() => PyValueError::new_err(text),
                _ => PyTypeError::new_err(text),
            }
        };
        let place = KEYWORDS.iter().position(|known| match self.surface {
            Surface::NamesByAddress => name.is(PyString::intern(name.py(), known)),
            _ => name.eq(known).unwrap_or(false),
        });
        match (place, self.surface) {
            (Some(0), Surface::NoStreamKeyword) => Err(unknown()),
            (Some(3), Surface::NoCopyKeyword | Surface::CopyKeywordValueError) => Err(unknown()),
            (Some(place), _) => Ok(place),
            (None, Surface::CopyKeywordValueError) => Err(PyTypeError::new_err("unknown keyword")),
            (None, _) => Err(unknown()),
        }
    }

    /// A capsule with the export, or what is returned in its place.
    fn hand_over<'py>(
        &self,
        slf: &Bound<'py, Self>,
        export: Export,
        request: &Request,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let is_versioned = matches!(export, Export::Versioned(_));
        let is_copy = request.copy == Some(true);
        let lawful: Destructor = capsule::destructor;
        let (name, destructor): (*const c_char, Option<Destructor>) = match self.surface {
            Surface::EmptyReturnsNone if self.inner.is_empty() => {
                return Ok(py.None().into_bound(py));
            }
            Surface::NameOfVersion if is_versioned => (c"dltensor_v1".as_ptr(), Some(any_name)),
            Surface::NameNull if is_copy => (std::ptr::null(), Some(any_name)),
            Surface::NameUsed if self.inner.access == Access::ReadOnly && is_versioned => {
                (c"used_dltensor_versioned".as_ptr(), Some(any_name))
            }
            Surface::NameOfItsOwn => (CString::from(name_of(&export)).into_raw(), Some(own_name)),
            Surface::VersionedNamedLegacy if is_versioned && self.inner.ndim() == 0 => {
                (NAME.as_ptr(), Some(any_name))
            }
            Surface::NoDestructor if is_copy => (name_of(&export).as_ptr(), None),
            Surface::DestructorIdle => {
                // What the destructor does not give back.
                // SAFETY: one reference more, of a live object.
                unsafe { ffi::Py_IncRef(slf.as_ptr()) };
                (name_of(&export).as_ptr(), Some(idle))
            }
            Surface::DestructorSetsError if is_versioned => {
                (name_of(&export).as_ptr(), Some(wrong_name_first))
            }
            _ => (name_of(&export).as_ptr(), Some(lawful)),
        };
        let capsule = capsule::named(py, export, name, destructor)?;
        if matches!(destructor, Some(it) if it as usize == any_name as *const () as usize) {
            // By the name alone the destructor could not know the struct.
            let kind = if is_versioned { 2 } else { 1 };
            // SAFETY: a live capsule; the context is a number to it.
            unsafe { ffi::PyCapsule_SetContext(capsule.as_ptr(), kind as *mut _) };
        }
        if self.surface == Surface::ErrorLeftBehind && is_copy {
            // SAFETY: sets an exception, and the interpreter is attached.
            unsafe { ffi::PyErr_SetNone(ffi::PyExc_MemoryError) };
        }
        Ok(capsule)
    }
}

/// `enum.Enum` with the types of devices that there are.
fn device_enum(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = || {
        let members =
            [("CPU", 1), ("CUDA", 2), ("CUDA_HOST", 3), ("ROCM", 10), ("CUDA_MANAGED", 13)];
        Ok(py.import("enum")?.getattr("Enum")?.call1(("Device", members.to_vec()))?.unbind())
    };
    CLASS.get_or_try_init(py, make).map(|class| class.bind(py))
}

impl<'py> Given<'py> {
    /// Whatever the device method answers is the array's own device, however odd it is.
    fn take_own_device(&mut self, slf: &Bound<'py, Faulty>) -> PyResult<()> {
        let is_odd = matches!(
            slf.get().surface,
            Surface::DeviceList
                | Surface::DeviceNumber
                | Surface::DeviceTypeWord
                | Surface::DeviceTypeEnum
                | Surface::DeviceIdNone
                | Surface::DeviceIdBool
        );
        if let Some(device) = self.values[2].as_ref().filter(|_| is_odd)
            && device.eq(slf.get().__dlpack_device__(slf.py())?)?
        {
            self.values[2] = None;
        }
        Ok(())
    }
    fn request(self, surface: Surface) -> PyResult<Request> {
        let given_none = |place: usize| self.values[place].as_ref().is_some_and(|it| it.is_none());
        let mut values = [0, 1, 2, 3].map(|place: usize| {
            self.values[place].as_ref().filter(|value| !value.is_none()).cloned()
        });
        match surface {
            // Not in front of a device that is refused anyway, and otherwise.
            Surface::StreamNoneRefused
                if given_none(0)
                    && values[2].as_ref().is_none_or(|it| it.eq((1, 0)).unwrap_or(false)) =>
            {
                return Err(PyValueError::new_err("None is no stream"));
            }
            Surface::AllNoneRefused if given_none(1) => {
                return Err(PyBufferError::new_err("None is no version"));
            }
            Surface::CopyNoneRefused if given_none(3) && values[1].is_some() => {
                return Err(PyBufferError::new_err("copy is True or False"));
            }
            Surface::TuplesLeaked => {
                for value in values.iter().flatten().filter(|it| it.is_instance_of::<PyTuple>()) {
                    // SAFETY: one reference more, of a live object.
                    unsafe { ffi::Py_IncRef(value.as_ptr()) };
                }
            }
            Surface::EnumRefused => {
                if let Some(device) = &values[2]
                    && let Ok(device) = device.cast::<PyTuple>()
                {
                    let class = device.py().import("enum")?.getattr("IntEnum")?;
                    for element in device {
                        if element.is_instance(&class)? {
                            return Err(PyBufferError::new_err("the device type must be an int"));
                        }
                    }
                }
            }
            Surface::StreamOfAnyType => {
                values[0] = values[0].take().filter(|stream| stream.is_instance_of::<PyInt>());
            }
            Surface::CopyAnythingIsTrue => {
                values[3] = values[3].take().map(|copy| match copy.is_instance_of::<PyBool>() {
                    true => copy,
                    false => PyBool::new(copy.py(), true).to_owned().into_any(),
                });
            }
            _ => {}
        }
        let [stream, max_version, dl_device, copy] = &values;
        request(stream.as_ref(), max_version.as_ref(), dl_device.as_ref(), copy.as_ref())
    }
}

type Destructor = unsafe extern "C" fn(*mut ffi::PyObject);

/// Deletes what a capsule of any name holds; its context tells the struct.
unsafe extern "C" fn any_name(capsule: *mut ffi::PyObject) {
    // SAFETY: made by `hand_over`, with a context, and nobody took the struct.
    unsafe {
        let kind = ffi::PyCapsule_GetContext(capsule) as usize;
        let name = if kind == 2 { NAME_VERSIONED } else { dlpack_reference::dlpack::NAME };
        ffi::PyCapsule_SetName(capsule, name.as_ptr());
        capsule::destructor(capsule);
    }
}

/// Deletes, and frees the name.
unsafe extern "C" fn own_name(capsule: *mut ffi::PyObject) {
    // SAFETY: made by `hand_over` with a name from `CString::into_raw`, in one of the two spellings.
    unsafe {
        let own = ffi::PyCapsule_GetName(capsule).cast_mut();
        let is_versioned = CStr::from_ptr(own) == NAME_VERSIONED;
        let name = if is_versioned { NAME_VERSIONED } else { NAME };
        ffi::PyCapsule_SetName(capsule, name.as_ptr());
        drop(CString::from_raw(own));
        capsule::destructor(capsule);
    }
}

unsafe extern "C" fn idle(_: *mut ffi::PyObject) {}

/// Asks for the legacy struct before it looks at the name.
unsafe extern "C" fn wrong_name_first(capsule: *mut ffi::PyObject) {
    // SAFETY: a capsule about to die; the wrong name gives NULL and sets an exception.
    unsafe {
        ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr());
        capsule::destructor(capsule);
    }
}

/// An array without `__dlpack_device__`.
#[pyclass(frozen, module = "dlpack_reference")]
pub struct NoDevice {
    pub inner: Arc<Inner>,
}

#[pymethods]
impl NoDevice {
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Argument<'_, 'py>,
        max_version: Argument<'_, 'py>,
        dl_device: Argument<'_, 'py>,
        copy: Argument<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request = request(stream, max_version, dl_device, copy)?;
        capsule(slf.py(), export(slf.as_any(), &slf.get().inner, &request)?)
    }
}
