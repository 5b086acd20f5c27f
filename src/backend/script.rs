//! A **script** is a backend in Python: one file that says what a library can build, how, and what it
//! knows of the result. Those of `src/backend/*.py` are built in; `py:FILE.py` loads any other.
//!
//! A script has
//!
//! | name | |
//! |---|---|
//! | `statements(d)` | Python text that leaves the array of description `d` in `x`; it may use `block`, the description's memory. It is both run and printed in reproducers. Raises [`Inexpressible`] with the reason |
//! | `facts(x, d)` | what the library knows of `x` without DLPack: a dict, see [`facts`] |
//! | `view(d)` | text of functions that tell in a reproducer what `facts` tells here: `source_view()` gives address, shape, byte strides and item size of `x`, `allocation()` the bounds of its memory. None if left out |
//! | `VERSIONS` | `[(name, version), …]`, the library first |
//! | `DTYPES` | names of element types, as case texts have them |
//! | `OBJECTS` | names of other kinds of array; none if left out |
//! | `DEVICES` | `[(type, id), …]`; the CPU if left out |
//! | `MAX_NDIM` | 64 if left out |
//! | `ORDINARY` | `(dtype, shape)` of an array that it can build, where it has no `float32` of shape `(6,)` |
//! | `SWAPPED` | arrays of swapped bytes exist; `False` if left out |
//! | `CLAIMS` | the newest array API version that the library claims, such as `"2024.12"`; `None` if left out |
//! | `MUTABLE`, `HAS_READONLY` | arrays can be written to; some are read-only. `True`, `False` if left out |
//! | `CHANGES` | operations that change the array `x` in place, by name: `{"reshape": statement, …}` with `reshape` (another shape or other strides), `resize` (more memory) and `freeze` (not writable any more); none if left out |
//! | `LOW_LEVEL` | names of those that are documented as low level or unsafe; none if left out |
//! | `PYTHON_DESTRUCTOR` | the capsule's destructor is Python code; `False` if left out |
//!
//! A script that does not load or lacks a name is an error; an array that cannot be built is
//! [`Inexpressible`].

use super::description::{Description, LazyNumpy, memory_text};
use super::{Backend, Built, Inexpressible, Traits, facts};
use crate::abi::DLDevice;
use crate::case::life::Change;
use crate::case::{ByteOrder, Dtype, MAX_NDIM, Object, Shape, Tensor, VIEW_MARK, Vocabulary};
use crate::host::interpreter::sentence;
use crate::oracle::{ArrayApi, Manner, Source};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};
use pyo3::{ffi, intern};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Kept plans; more are forgotten at once, as they cost little to make again.
const MOST_PLANS: usize = 4096;

/// Of the ordinary array and of each other object, among all that are drawn.
const ARRAY_WEIGHT: u16 = 100;
const OBJECT_WEIGHT: u16 = 5;

struct Script {
    name: String,
    statements: Py<PyAny>,
    facts: Py<PyAny>,
    view: Option<Py<PyAny>>,
    inexpressible: Py<PyAny>,
    compile: Py<PyAny>,
    versions: Vec<(String, String)>,
    traits: Traits,
    vocabulary: Vocabulary,
    changes: Changes,
    numpy: Rc<LazyNumpy>,
    plans: RefCell<HashMap<Tensor, Plan>>,
}

/// How a tensor is built.
#[derive(Clone)]
enum Plan {
    Run { code: Rc<Py<PyAny>>, uses_block: bool },
    Inexpressible(Inexpressible),
}

/// Loads a script from its text.
pub fn open(py: Python<'_>, name: &str, file: &str, text: &str) -> PyResult<Box<dyn Backend>> {
    let module = PyModule::new(py, "dlpack_fuzz_backend")?;
    let globals = module.dict();
    py.run(c"class Inexpressible(Exception): pass", Some(&globals), None)?;
    let builtins = py.import("builtins")?;
    let compile = builtins.getattr("compile")?;
    let code = compile.call1((text, file, "exec"))?;
    builtins.getattr("exec")?.call1((code, &globals))?;
    let needed = |name: &str| {
        (globals.get_item(name)?)
            .ok_or_else(|| PyValueError::new_err(format!("{file} has no `{name}`")))
    };
    Ok(Box::new(Script {
        name: name.into(),
        statements: needed("statements")?.unbind(),
        facts: needed("facts")?.unbind(),
        view: globals.get_item("view")?.map(Bound::unbind),
        inexpressible: needed("Inexpressible")?.unbind(),
        compile: compile.unbind(),
        versions: needed("VERSIONS")?.extract()?,
        traits: traits(&globals)?,
        vocabulary: vocabulary(&globals, needed("DTYPES")?.extract()?)?,
        changes: changes(
            given(&globals, "CHANGES", HashMap::new())?,
            &given(&globals, "LOW_LEVEL", Vec::new())?,
        )?,
        numpy: Rc::default(),
        plans: RefCell::default(),
    }))
}

fn given<'py, T>(globals: &Bound<'py, PyDict>, name: &str, otherwise: T) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
{
    match globals.get_item(name)? {
        Some(value) => value.extract(),
        None => Ok(otherwise),
    }
}

fn traits(globals: &Bound<'_, PyDict>) -> PyResult<Traits> {
    let claims = match globals.get_item("CLAIMS")?.filter(|claims| !claims.is_none()) {
        None => None,
        Some(claims) => Some(match claims.extract::<String>()?.as_str() {
            "2021.12" => ArrayApi::V2021,
            "2022.12" => ArrayApi::V2022,
            "2023.12" => ArrayApi::V2023,
            "2024.12" => ArrayApi::V2024,
            "2025.12" => ArrayApi::V2025,
            other => {
                return Err(PyValueError::new_err(format!("CLAIMS: no array API is {other}")));
            }
        }),
    };
    Ok(Traits {
        claims,
        mutable: given(globals, "MUTABLE", true)?,
        has_readonly: given(globals, "HAS_READONLY", false)?,
        python_destructor: given(globals, "PYTHON_DESTRUCTOR", false)?,
    })
}

/// Operations that change an array in place, each with how it is documented.
pub type Changes = Vec<(Change, String, Manner)>;

/// The statement for a change, if there is one.
pub fn change_of(changes: &Changes, change: Change) -> Option<(&str, Manner)> {
    let known = changes.iter().find(|(known, ..)| *known == change);
    known.map(|(_, statement, manner)| (statement.as_str(), *manner))
}

/// Reads them from a dict.
pub fn changes(statements: HashMap<String, String>, low_level: &[String]) -> PyResult<Changes> {
    (statements.into_iter())
        .map(|(name, statement)| {
            let change = Change::ALL.into_iter().find(|change| change.name() == name);
            let change = change.ok_or_else(|| {
                PyValueError::new_err(format!(
                    "CHANGES: {name:?} is none of reshape, resize and freeze"
                ))
            })?;
            let manner =
                if low_level.contains(&name) { Manner::LowLevel } else { Manner::Ordinary };
            Ok((change, statement, manner))
        })
        .collect()
}

fn vocabulary(globals: &Bound<'_, PyDict>, dtypes: Vec<String>) -> PyResult<Vocabulary> {
    let unknown = |what: &str, name: &str| {
        PyValueError::new_err(format!("{what}: {name:?} is no name of a case text"))
    };
    for name in &dtypes {
        if Dtype::named(name, 0).is_none() {
            return Err(unknown("DTYPES", name));
        }
    }
    let swapped = given(globals, "SWAPPED", false)?;
    let mut objects = vec![(Object::Array, ARRAY_WEIGHT)];
    for name in given(globals, "OBJECTS", Vec::<String>::new())? {
        let object = Object::ALL.iter().find(|object| object.name() == name);
        let object = object.ok_or_else(|| unknown("OBJECTS", &name))?;
        objects.push((*object, OBJECT_WEIGHT));
    }
    let devices = given(globals, "DEVICES", vec![(1, 0)])?;
    let mut ordinary = Tensor::plain();
    if let Some((name, shape)) = given(globals, "ORDINARY", None::<(String, Vec<i64>)>)? {
        ordinary.dtype = Dtype::named(&name, 0).ok_or_else(|| unknown("ORDINARY", &name))?;
        ordinary.shape = Shape::from_vec(shape);
    }
    let everything = Vocabulary::default();
    Ok(Vocabulary {
        dtypes: (everything.dtypes.into_iter())
            .filter(|(dtype, _)| dtypes.iter().any(|name| name == dtype.name()))
            .filter(|(dtype, _)| swapped || dtype.order == ByteOrder::Native)
            .collect(),
        objects,
        max_ndim: given(globals, "MAX_NDIM", MAX_NDIM)?.min(MAX_NDIM),
        surface: everything.surface,
        devices: devices.into_iter().map(|(kind, id)| DLDevice::new(kind, id)).collect(),
        ordinary,
    })
}

impl Script {
    /// Cases may come from elsewhere than from the vocabulary; a script need not reckon with those.
    fn check(&self, tensor: &Tensor) -> Result<(), Inexpressible> {
        let dtype = tensor.dtype;
        let is_known =
            |known: &(Dtype, u16)| known.0.row() == dtype.row() && known.0.order == dtype.order;
        let lacking = if !self.vocabulary.dtypes.iter().any(is_known) {
            format!("arrays of {dtype}")
        } else if !self.vocabulary.objects.iter().any(|known| known.0 == tensor.object) {
            format!("{} arrays", tensor.object.name())
        } else if !self.vocabulary.devices.contains(&tensor.device) {
            format!("arrays on device {}", tensor.device)
        } else if tensor.shape.len() > self.vocabulary.max_ndim {
            format!("arrays of {} axes", tensor.shape.len())
        } else {
            return Ok(());
        };
        Err(Inexpressible(format!("{} has no {lacking}", self.name).into()))
    }

    fn plan(&self, py: Python<'_>, description: &Bound<'_, Description>, tensor: &Tensor) -> Plan {
        if let Some(plan) = self.plans.borrow().get(tensor) {
            return plan.clone();
        }
        let made = || -> PyResult<Plan> {
            let text: String = self.statements.bind(py).call1((description,))?.extract()?;
            let uses_block = uses_block(&text);
            let code = self.compile.bind(py).call1((text, "<statements>", "exec"))?;
            Ok(Plan::Run { code: Rc::new(code.unbind()), uses_block })
        };
        let plan =
            made().unwrap_or_else(|error| Plan::Inexpressible(self.inexpressible(py, &error)));
        self.keep(tensor, plan.clone());
        plan
    }

    fn keep(&self, tensor: &Tensor, plan: Plan) {
        let mut plans = self.plans.borrow_mut();
        if plans.len() >= MOST_PLANS {
            plans.clear();
        }
        plans.insert(tensor.clone(), plan);
    }

    /// The reason; the name of the exception only where the script did not raise it on purpose.
    fn inexpressible(&self, py: Python<'_>, error: &PyErr) -> Inexpressible {
        let on_purpose = error.matches(py, self.inexpressible.bind(py)).unwrap_or(false);
        let reason = if on_purpose { error.value(py).to_string() } else { sentence(py, error) };
        Inexpressible(reason.into())
    }

    fn run<'py>(
        &self,
        code: &Bound<'py, PyAny>,
        block: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = code.py();
        let namespace = PyDict::new(py);
        // Code needs them to import anything.
        namespace.set_item(intern!(py, "__builtins__"), py.import(intern!(py, "builtins"))?)?;
        namespace.set_item(intern!(py, "__name__"), intern!(py, "__main__"))?;
        if let Some(block) = block {
            namespace.set_item(intern!(py, "block"), block)?;
        }
        // SAFETY: `code` is a code object, the namespace a dict.
        unsafe {
            let none = ffi::PyEval_EvalCode(code.as_ptr(), namespace.as_ptr(), namespace.as_ptr());
            Bound::from_owned_ptr_or_err(py, none)?;
        }
        (namespace.get_item(intern!(py, "x"))?)
            .ok_or_else(|| PyValueError::new_err("the statements leave nothing in x"))
    }

    fn facts<'py>(
        &self,
        object: &Bound<'py, PyAny>,
        description: &Bound<'py, PyAny>,
        tensor: &Tensor,
    ) -> PyResult<(Bound<'py, PyDict>, Source)> {
        let stated = self.facts.bind(object.py()).call1((object, description))?;
        let stated = stated.cast_into::<PyDict>()?;
        let source = facts::read(&stated, tensor)?;
        Ok((stated, source))
    }
}

impl Backend for Script {
    fn name(&self) -> &str {
        &self.name
    }

    fn versions(&self, _py: Python<'_>) -> Vec<(String, String)> {
        self.versions.clone()
    }

    fn traits(&self) -> Traits {
        self.traits
    }

    fn vocabulary(&self) -> Vocabulary {
        self.vocabulary.clone()
    }

    fn build<'py>(&self, py: Python<'py>, tensor: &Tensor) -> Result<Built<'py>, Inexpressible> {
        self.check(tensor)?;
        let refused = |error: PyErr| Inexpressible(sentence(py, &error).into());
        let description = Bound::new(py, Description::new(tensor, &self.numpy)).map_err(refused)?;
        let (code, uses_block) = match self.plan(py, &description, tensor) {
            Plan::Run { code, uses_block } => (code, uses_block),
            Plan::Inexpressible(reason) => return Err(reason),
        };
        let block = || description.getattr(intern!(py, "memory"));
        let block = uses_block.then(block).transpose().map_err(refused)?;
        let object = self.run(code.bind(py), block).map_err(|error| {
            let reason = self.inexpressible(py, &error);
            self.keep(tensor, Plan::Inexpressible(reason.clone()));
            reason
        })?;
        if !object.hasattr(intern!(py, "__dlpack__")).unwrap_or(true) {
            return Err(Inexpressible("such an object does not export".into()));
        }
        let array = description.into_any();
        let (stated, source) = (self.facts(&object, &array, tensor))
            .map_err(|error| Inexpressible(format!("facts: {}", sentence(py, &error)).into()))?;
        let owner = facts::owner(&stated, &object).map_err(refused)?;
        Ok(Built { object, array, owner, source })
    }

    fn unchanged(&self, py: Python<'_>, built: &Built<'_>) -> Result<(), Cow<'static, str>> {
        let description = built.array.cast::<Description>().expect("`build` put it there");
        let tensor = description.borrow().tensor().clone();
        let (_, now) = (self.facts(&built.object, &built.array, &tensor))
            .map_err(|error| format!("its facts cannot be had: {}", sentence(py, &error)))?;
        let before = &built.source;
        let same = [
            (now.address == before.address, "the address"),
            (now.shape == before.shape, "the shape"),
            (now.strides == before.strides, "the strides"),
            (now.item_size == before.item_size, "the item size"),
            (now.writable == before.writable, "writability"),
        ];
        match same.iter().find(|(same, _)| !same) {
            None => Ok(()),
            Some((_, what)) => Err(format!("{what} changed").into()),
        }
    }

    fn change(&self, change: Change) -> Option<(&str, Manner)> {
        change_of(&self.changes, change)
    }

    fn source(&self, tensor: &Tensor) -> String {
        Python::attach(|py| {
            let text = || -> PyResult<String> {
                let description = Bound::new(py, Description::new(tensor, &self.numpy))?;
                let mut text: String =
                    self.statements.bind(py).call1((&description,))?.extract()?;
                if uses_block(&text) {
                    text = format!("block = {}\n{text}", memory_text(tensor));
                }
                if let Some(view) = &self.view {
                    text += VIEW_MARK;
                    text += &view.bind(py).call1((description,))?.extract::<String>()?;
                }
                Ok(text)
            };
            text().unwrap_or_else(|error| {
                format!("# there is no such array: {}\n", sentence(py, &error))
            })
        })
    }
}

/// The word stands in the text.
fn uses_block(text: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == "block")
}
