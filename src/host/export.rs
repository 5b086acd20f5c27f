//! Makes one `__dlpack__` call and writes down how it ended.

use super::arguments::{Arguments, Maker};
use super::{Detail, consumer, errors};
use crate::abi::DLDevice;
use crate::abi::{NAME_LEGACY, NAME_VERSIONED};
use crate::case::{Call, Dtype};
use crate::oracle::{
    Capsule, CapsuleName, Container, DeviceAnswer, DeviceElement, Kind, Number, Outcome, Raised,
    Source,
};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::ffi::CStr;

/// Interned names and everything else that a call needs and that stays the same.
pub struct Exporting {
    dlpack: Py<PyString>,
    dlpack_device: Py<PyString>,
    maker: Maker,
    enums: [Py<PyAny>; 2],
}

/// An exporter about to be exported.
pub struct Exportee<'a, 'py> {
    pub object: &'a Bound<'py, PyAny>,
    pub source: &'a Source,
    pub dtype: Dtype,
    /// What `__dlpack_device__()` returned.
    pub own: Option<&'a Bound<'py, PyAny>>,
}

/// A call that was made: its outcome, and what must live until the verdict.
pub struct Made<'py> {
    pub outcome: Outcome,
    pub result: Option<Bound<'py, PyAny>>,
    pub arguments: Arguments<'py>,
}

impl Exporting {
    pub fn new(py: Python<'_>) -> PyResult<Self> {
        let enums = py.import("enum")?;
        Ok(Self {
            dlpack: PyString::intern(py, "__dlpack__").unbind(),
            dlpack_device: PyString::intern(py, "__dlpack_device__").unbind(),
            maker: Maker::new(py)?,
            enums: [enums.getattr("IntEnum")?.unbind(), enums.getattr("Enum")?.unbind()],
        })
    }

    /// `object.__dlpack__(…)`. An `Err` is a failure to make the arguments, never the exporter's.
    pub fn export<'py>(
        &self,
        py: Python<'py>,
        exportee: &Exportee<'_, 'py>,
        call: &Call,
        detail: Detail,
    ) -> PyResult<Made<'py>> {
        let arguments = self.arguments(py, call, exportee.own)?;
        let result = self.call(py, exportee.object, &arguments);
        let outcome = match &result {
            None => Outcome::Raised(errors::take(py, detail).unwrap_or(NO_EXCEPTION)),
            Some(result) => {
                // SAFETY: only asks whether an exception is set.
                let error_pending = unsafe { !ffi::PyErr_Occurred().is_null() };
                if error_pending {
                    errors::take(py, Detail::Brief);
                }
                self.look(result, exportee, error_pending)
            }
        };
        Ok(Made { outcome, result, arguments })
    }

    /// The arguments of a call.
    pub fn arguments<'py>(
        &self,
        py: Python<'py>,
        call: &Call,
        own: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Arguments<'py>> {
        self.maker.make(py, call, own)
    }

    /// The bare call; `None` where it raised, and the exception is set.
    #[inline]
    pub fn call<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        arguments: &Arguments<'py>,
    ) -> Option<Bound<'py, PyAny>> {
        let mut stack: SmallVec<[*mut ffi::PyObject; 8]> = SmallVec::new();
        stack.push(object.as_ptr());
        stack.extend(arguments.values.iter().map(|value| value.as_ptr()));
        let names = arguments.names.as_ref().map_or(std::ptr::null_mut(), |names| names.as_ptr());
        // SAFETY: all objects are alive and the interpreter is attached. The stack holds the object, the
        // positional arguments and one value per name, as the vectorcall protocol demands.
        unsafe {
            let result = ffi::PyObject_VectorcallMethod(
                self.dlpack.as_ptr(),
                stack.as_ptr(),
                1 + arguments.positional,
                names,
            );
            Bound::from_owned_ptr_or_opt(py, result)
        }
    }

    fn look(
        &self,
        result: &Bound<'_, PyAny>,
        exportee: &Exportee<'_, '_>,
        error_pending: bool,
    ) -> Outcome {
        let object = result.as_ptr();
        // SAFETY: `object` is alive. A capsule's name is NULL or a string that its maker keeps alive, and
        // GetPointer is asked with the very name the capsule has, so that it sets no exception.
        unsafe {
            if ffi::PyCapsule_CheckExact(object) == 0 {
                return Outcome::Returned(errors::type_name(ffi::Py_TYPE(object)));
            }
            let name = ffi::PyCapsule_GetName(object);
            let pointer = ffi::PyCapsule_GetPointer(object, name) as usize;
            let (name_seen, kind) = match (!name.is_null()).then(|| CStr::from_ptr(name)) {
                None => (CapsuleName::Null, None),
                Some(text) if text == NAME_LEGACY => (CapsuleName::Legacy, Some(Kind::Legacy)),
                Some(text) if text == NAME_VERSIONED => {
                    (CapsuleName::Versioned, Some(Kind::Versioned))
                }
                Some(text) => (CapsuleName::Other(text.to_string_lossy().into_owned()), None),
            };
            let managed =
                kind.map(|kind| consumer::read(pointer, kind, exportee.source, exportee.dtype));
            Outcome::Capsule(Box::new(Capsule {
                exact: true,
                name: name_seen,
                name_address: name as usize,
                has_destructor: ffi::PyCapsule_GetDestructor(object).is_some(),
                pointer,
                managed,
                error_pending,
            }))
        }
    }

    /// `object.__dlpack_device__()`: the answer as data, and the object itself.
    pub fn device<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        detail: Detail,
    ) -> (DeviceAnswer, Option<Bound<'py, PyAny>>) {
        let arguments = [object.as_ptr()];
        // SAFETY: as in `export`, with the object alone on the stack.
        let answer = unsafe {
            let answer = ffi::PyObject_VectorcallMethod(
                self.dlpack_device.as_ptr(),
                arguments.as_ptr(),
                1,
                std::ptr::null_mut(),
            );
            Bound::from_owned_ptr_or_opt(py, answer)
        };
        match answer {
            None => (DeviceAnswer::Raised(errors::take(py, detail).unwrap_or(NO_EXCEPTION)), None),
            Some(answer) => (self.pair(py, &answer), Some(answer)),
        }
    }

    fn pair(&self, py: Python<'_>, answer: &Bound<'_, PyAny>) -> DeviceAnswer {
        let read = || -> Option<DeviceAnswer> {
            let (container, first, second) = if let Ok(tuple) = answer.cast::<PyTuple>() {
                let container = if answer.is_exact_instance_of::<PyTuple>() {
                    Container::Tuple
                } else {
                    Container::TupleSubclass
                };
                (tuple.len() == 2).then_some(())?;
                (container, tuple.get_item(0).ok()?, tuple.get_item(1).ok()?)
            } else {
                let container = if answer.is_instance_of::<PyList>() {
                    Container::List
                } else {
                    Container::Other
                };
                (answer.len().ok()? == 2).then_some(())?;
                (container, answer.get_item(0).ok()?, answer.get_item(1).ok()?)
            };
            let text = || answer.repr().map_or_else(|_| NO_REPR.into(), |text| text.to_string());
            let Some((device_type, type_element)) = self.number(py, &first) else {
                return Some(DeviceAnswer::NoNumber(DeviceElement::Type, text()));
            };
            let Some((device_id, id_element)) = self.number(py, &second) else {
                return Some(DeviceAnswer::NoNumber(DeviceElement::Id, text()));
            };
            let device = DLDevice::new(device_type, device_id);
            Some(DeviceAnswer::Pair { device, container, type_element, id_element })
        };
        let pair = read();
        // Whatever failed above was this program's own look-up.
        errors::take(py, Detail::Brief);
        pair.unwrap_or_else(|| {
            let text = answer.repr().map(|text| text.to_string());
            DeviceAnswer::Malformed(text.unwrap_or_else(|_| NO_REPR.into()))
        })
    }

    fn number(&self, py: Python<'_>, element: &Bound<'_, PyAny>) -> Option<(i32, Number)> {
        let object = element.as_ptr();
        // SAFETY: type checks of a live object.
        let (exact, int, bool) = unsafe {
            (
                ffi::PyLong_CheckExact(object) != 0,
                ffi::PyLong_Check(object) != 0,
                ffi::PyBool_Check(object) != 0,
            )
        };
        let is = |class: &Py<PyAny>| element.is_instance(class.bind(py)).unwrap_or(false);
        let number = match (exact, bool, int) {
            (true, ..) => Number::Int,
            (_, true, _) => Number::Bool,
            (_, _, true) if is(&self.enums[0]) => Number::IntEnum,
            (_, _, true) => Number::IntSubclass,
            _ if is(&self.enums[1]) => {
                let value =
                    element.getattr(pyo3::intern!(py, "value")).ok()?.extract::<i32>().ok()?;
                return Some((value, Number::Enum));
            }
            _ => Number::Index,
        };
        Some((element.extract::<i32>().ok()?, number))
    }
}

/// The capsule's destructor lies in no shared object: it was generated while the program ran, as ctypes and
/// cffi do for a function in Python. `None` without a destructor.
pub fn is_destructor_generated(capsule: &Bound<'_, PyAny>) -> Option<bool> {
    // SAFETY: the object is alive; of a capsule the name is asked for first, so that no exception is set, and
    // dladdr looks up any address.
    unsafe {
        if ffi::PyCapsule_CheckExact(capsule.as_ptr()) == 0 {
            return None;
        }
        let destructor = ffi::PyCapsule_GetDestructor(capsule.as_ptr())?;
        let mut found = std::mem::zeroed();
        Some(libc::dladdr(destructor as *const libc::c_void, &mut found) == 0)
    }
}

/// Stands for an object that does not say what it is.
const NO_REPR: &str = "<no repr>";

/// A NULL result without an exception: what the interpreter itself turns into a SystemError.
const NO_EXCEPTION: Raised = Raised {
    class: crate::oracle::ErrorClass::System,
    name: Cow::Borrowed("SystemError"),
    message: None,
};
