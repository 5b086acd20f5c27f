//! Turns a case's [`Call`] into Python arguments.
//!
//! Every name is interned once and every tuple of keyword names is kept, so that a run allocates only what
//! it frees: the leak detection inside libFuzzer's loop stays free only as long as that holds. Containers
//! are made fresh for every call, so that a reference the exporter keeps shows in their count.

use crate::case::{Arg, Call, Extra, Keys, Keyword, Scalar, SeqKind, Value};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyModule, PyString, PyTuple};
use smallvec::SmallVec;

/// Classes for the odd values of a call; the reproducer spells the same ones.
const CLASSES: &std::ffi::CStr = c"
import enum

class Device(enum.IntEnum):
    pass

class Plain(enum.Enum):
    pass

class Int(int):
    pass

class Pair(tuple):
    pass

class Index:
    __slots__ = ('value',)
    def __init__(self, value):
        self.value = value
    def __index__(self):
        return self.value

def int_enum(value):
    member = int.__new__(Device, value)
    member._name_, member._value_ = 'member', value
    return member

def plain_enum(value):
    member = object.__new__(Plain)
    member._name_, member._value_ = 'member', value
    return member

try:
    from numpy import int64 as numpy_int
except ImportError:
    numpy_int = Int
";

/// Makers of argument objects.
pub struct Maker {
    int_enum: Py<PyAny>,
    plain_enum: Py<PyAny>,
    int_subclass: Py<PyAny>,
    numpy_int: Py<PyAny>,
    index: Py<PyAny>,
    pair: Py<PyAny>,
    huge: [Py<PyAny>; 2],
    words: Vec<Py<PyAny>>,
    bytes: Py<PyAny>,
    object: Py<PyAny>,
    /// Tuples of keyword names, by [`shape_of`].
    names: Vec<Py<PyTuple>>,
}

/// The arguments of one call, alive until the results are released.
pub struct Arguments<'py> {
    /// Positional ones first, then the keyword values in the order of `names`.
    pub values: SmallVec<[Bound<'py, PyAny>; 6]>,
    pub positional: usize,
    /// `None` when no keyword is passed.
    pub names: Option<Bound<'py, PyTuple>>,
    /// One bit per value: a container made for this call, to which nobody else has a reference yet.
    fresh: u8,
}

impl Arguments<'_> {
    /// References to the fresh containers that somebody else holds.
    pub fn foreign_references(&self) -> isize {
        (self.values.iter().enumerate())
            .filter(|(place, _)| self.fresh & 1 << place != 0)
            // SAFETY: the object is alive and the interpreter attached, as the Bound proves.
            .map(|(_, value)| unsafe { ffi::Py_REFCNT(value.as_ptr()) } as isize - 1)
            .sum()
    }
}

impl Maker {
    pub fn new(py: Python<'_>) -> PyResult<Self> {
        let classes = PyModule::from_code(
            py,
            CLASSES,
            c"dlpack_fuzz_arguments.py",
            c"dlpack_fuzz_arguments",
        )?;
        let class = |name: &str| classes.getattr(name).map(Bound::unbind);
        let two_to_64 = 2i32.into_pyobject(py)?.into_any().pow(64, py.None())?;
        let minus = two_to_64.neg()?;
        let words = Scalar::WORDS
            .iter()
            .map(|word| PyString::intern(py, word).into_any().unbind())
            .collect();
        Ok(Self {
            int_enum: class("int_enum")?,
            plain_enum: class("plain_enum")?,
            int_subclass: class("Int")?,
            numpy_int: class("numpy_int")?,
            index: class("Index")?,
            pair: class("Pair")?,
            huge: [two_to_64.unbind(), minus.unbind()],
            words,
            bytes: pyo3::types::PyBytes::new(py, b"1").into_any().unbind(),
            object: py.import("builtins")?.getattr("object")?.call0()?.unbind(),
            names: (0..SHAPES).map(|shape| interned_names(py, shape)).collect::<PyResult<_>>()?,
        })
    }

    /// The arguments of `call`; `own` is the object that `__dlpack_device__()` returned.
    pub fn make<'py>(
        &self,
        py: Python<'py>,
        call: &Call,
        own: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Arguments<'py>> {
        let mut values = SmallVec::new();
        let mut fresh = 0;
        let positional = usize::from(call.extra == Extra::Positional);
        if positional == 1 {
            values.push(py.None().into_bound(py));
        }
        for keyword in call.keywords() {
            if let Arg::Given(value) = call.arg(keyword) {
                if let Value::Seq(_, items) = value
                    && !items.is_empty()
                {
                    // CPython has one empty tuple for all.
                    fresh |= 1 << values.len();
                }
                values.push(self.value(py, value, own)?);
            }
        }
        if call.extra == Extra::UnknownKeyword {
            values.push(1i32.into_pyobject(py)?.into_any());
        }
        let names = (values.len() > positional).then(|| self.names(py, call)).transpose()?;
        Ok(Arguments { values, positional, names, fresh })
    }

    fn names<'py>(&self, py: Python<'py>, call: &Call) -> PyResult<Bound<'py, PyTuple>> {
        if call.keys == Keys::Fresh {
            let fresh = names_of(call).map(|name| PyString::new(py, name));
            return PyTuple::new(py, fresh.collect::<SmallVec<[_; 5]>>());
        }
        Ok(self.names[shape_of(call)].bind(py).clone())
    }

    fn value<'py>(
        &self,
        py: Python<'py>,
        value: &Value,
        own: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match value {
            Value::Scalar(scalar) => self.scalar(py, scalar),
            Value::Own => Ok(own.cloned().unwrap_or_else(|| py.None().into_bound(py))),
            Value::Seq(kind, items) => {
                let items = (items.iter().map(|item| self.scalar(py, item)))
                    .collect::<PyResult<SmallVec<[_; 2]>>>()?;
                match kind {
                    SeqKind::Tuple => Ok(PyTuple::new(py, items)?.into_any()),
                    SeqKind::List => Ok(pyo3::types::PyList::new(py, items)?.into_any()),
                    SeqKind::TupleSubclass => self.pair.bind(py).call1((PyTuple::new(py, items)?,)),
                }
            }
        }
    }

    fn scalar<'py>(&self, py: Python<'py>, scalar: &Scalar) -> PyResult<Bound<'py, PyAny>> {
        let made = |class: &Py<PyAny>, value: i64| class.bind(py).call1((value,));
        Ok(match scalar {
            Scalar::None => py.None().into_bound(py),
            Scalar::Bool(value) => pyo3::types::PyBool::new(py, *value).to_owned().into_any(),
            Scalar::Int(value) => value.into_pyobject(py)?.into_any(),
            Scalar::Huge { negative } => self.huge[usize::from(*negative)].bind(py).clone(),
            Scalar::IntEnum(value) => made(&self.int_enum, *value)?,
            Scalar::Enum(value) => made(&self.plain_enum, *value)?,
            Scalar::IntSubclass(value) => made(&self.int_subclass, *value)?,
            Scalar::NumpyInt(value) => made(&self.numpy_int, *value)?,
            Scalar::Index(value) => made(&self.index, *value)?,
            Scalar::Halves(value) => (f64::from(*value) / 2.0).into_pyobject(py)?.into_any(),
            Scalar::Str(word) => self.words[usize::from(*word) % self.words.len()].bind(py).clone(),
            Scalar::Bytes => self.bytes.bind(py).clone(),
            Scalar::Object => self.object.bind(py).clone(),
        })
    }
}

/// The names that a call passes, in its order.
fn names_of(call: &Call) -> impl Iterator<Item = &'static str> {
    let given: SmallVec<[Keyword; 4]> =
        call.keywords().into_iter().filter(|keyword| call.arg(*keyword).is_given()).collect();
    let unknown = (call.extra == Extra::UnknownKeyword).then_some("foo");
    given.into_iter().map(Keyword::name).chain(unknown)
}

/// Numbers that [`shape_of`] gives: 24 orders of 5 bits.
const SHAPES: usize = 24 << 5;

/// What decides the tuple of names: which keywords are given, the order, an unknown one.
fn shape_of(call: &Call) -> usize {
    let given = Keyword::ALL.iter().enumerate().fold(0, |bits, (place, keyword)| {
        bits | usize::from(call.arg(*keyword).is_given()) << place
    });
    let unknown = usize::from(call.extra == Extra::UnknownKeyword);
    given | unknown << 4 | usize::from(call.order % 24) << 5
}

/// The tuple of interned names for a number of [`shape_of`].
fn interned_names(py: Python<'_>, shape: usize) -> PyResult<Py<PyTuple>> {
    let mut call = Call { order: (shape >> 5) as u8, ..Call::default() };
    for (place, keyword) in Keyword::ALL.into_iter().enumerate() {
        if shape & 1 << place != 0 {
            *call.arg_mut(keyword) = Arg::NONE;
        }
    }
    if shape & 1 << 4 != 0 {
        call.extra = Extra::UnknownKeyword;
    }
    let interned: Vec<_> = names_of(&call).map(|name| PyString::intern(py, name)).collect();
    Ok(PyTuple::new(py, interned)?.unbind())
}
