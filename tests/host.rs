//! The embedded interpreter is the chosen environment's, and a run leaves nothing behind.

use dlpack_fuzz::case::{
    Arg, Call, Case, Dtype, Keyword, Layout, Object, Probes, Shape, Strides, Tensor, Value,
};
use dlpack_fuzz::host::{Detail, Options, Session, interpreter};
use dlpack_fuzz::oracle::{
    Elements, ErrorClass, Ledger, Memory, Observation, Outcome, WriteThrough,
};
use pyo3::prelude::*;
use std::process::Command;

fn numpy() -> Session {
    Session::open(&Options { env: None, backend: "numpy".into() }).expect("scripts/setup has run")
}

fn run(tensor: Tensor, call: Call, probes: Probes) -> Observation {
    numpy().run(&Case::new(tensor, call, probes), Detail::Full).expect("NumPy can build it")
}

#[test]
fn the_interpreter_is_the_environments_and_so_is_numpy() {
    let session = numpy();
    let python = interpreter::python_of(session.env().expect("an interpreter runs"));
    let script = "import sys, numpy; print(sys.prefix, numpy.__version__, sys.version.split()[0])";
    let told = Command::new(python).args(["-c", script]).output().expect("it runs");
    let told = String::from_utf8(told.stdout).expect("text");
    let (prefix, version, file) = Python::attach(|py| {
        let of = |module: &str, name: &str| {
            py.import(module).and_then(|module| module.getattr(name)).expect(name).to_string()
        };
        (of("sys", "prefix"), of("numpy", "__version__"), of("numpy", "__file__"))
    });
    assert_eq!(told.trim(), format!("{prefix} {version} {}", session.versions().python));
    assert!(file.starts_with(&prefix), "{file} is not under {prefix}");
}

#[test]
fn the_program_maps_one_libpython_and_it_is_the_one_it_was_linked_with() {
    numpy();
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux");
    let libraries: std::collections::BTreeSet<&str> = (maps.lines())
        .filter_map(|line| line.split_whitespace().nth(5))
        .filter(|path| path.contains("/libpython3."))
        .collect();
    assert_eq!(libraries.len(), 1, "{libraries:?}");
    let expected = Python::attach(|py| {
        let variables = py.import("sysconfig").expect("stdlib");
        let of =
            |name: &str| variables.call_method1("get_config_var", (name,)).expect(name).to_string();
        format!("{}/{}", of("LIBDIR"), of("INSTSONAME"))
    });
    let canonical = |path: &str| std::fs::canonicalize(path).expect("it is mapped");
    let mapped = libraries.first().expect("one");
    assert_eq!(canonical(mapped), canonical(&expected));
}

#[test]
fn a_plain_export_is_read_in_full_and_leaves_nothing_behind() {
    let seen = run(Tensor::plain(), Call::default(), Probes::ALL);
    let Outcome::Capsule(capsule) = &seen.export else { panic!("{:?}", seen.export) };
    let managed = capsule.managed.as_ref().expect("a known name");
    let tensor = managed.tensor.as_ref().expect("readable");
    assert_eq!(tensor.shape.as_slice(), [6]);
    assert_eq!(tensor.elements, Elements::Same);
    assert_eq!(tensor.memory, Memory::Alias);
    assert_eq!(tensor.write_through, WriteThrough::Shared);
    assert_eq!(seen.ledger, Ledger { blocks: Some(0), heap: Some(0.0), ..Ledger::default() });
    assert_eq!(seen.source.unchanged, Ok(()));
    assert_eq!(seen.further.len(), 20);
}

#[test]
fn a_copy_is_separate_memory_with_the_same_values() {
    let call = Call::default()
        .with(Keyword::Copy, Arg::Given(Value::bool(true)))
        .with(Keyword::MaxVersion, Arg::Given(Value::pair(1, 0)));
    let layout = Layout::Strided { strides: Strides::from_slice(&[-8, 24]), lead: 3 };
    let tensor = Tensor { shape: Shape::from_slice(&[3, 2]), layout, ..Tensor::plain() };
    let seen = run(tensor, call, Probes::NONE);
    let managed = seen.export.managed().expect("a copy");
    let tensor = managed.tensor.as_ref().expect("readable");
    assert_eq!(managed.flags, 2);
    assert_eq!(tensor.memory, Memory::Distinct);
    assert_eq!(tensor.elements, Elements::Same);
    assert_eq!(tensor.write_through, WriteThrough::Separate);
}

#[test]
fn exceptions_are_sorted_by_class() {
    let of = |keyword, value| {
        let call = Call::default().with(keyword, Arg::Given(value));
        let seen = run(Tensor::plain(), call, Probes::NONE);
        seen.export.raised().expect("refused").class
    };
    assert_eq!(of(Keyword::MaxVersion, Value::int(1)), ErrorClass::Type);
    assert_eq!(of(Keyword::DlDevice, Value::int(1)), ErrorClass::Type);
    let object = Tensor { dtype: Dtype::named("object", 0).expect("known"), ..Tensor::plain() };
    let seen = run(object, Call::default(), Probes::NONE);
    assert_eq!(seen.export.raised().expect("refused").class, ErrorClass::Buffer);
}

#[test]
fn every_dtype_and_object_builds_or_says_why_not() {
    let mut session = numpy();
    let mut built = Vec::new();
    for row in 0..Dtype::TABLE.len() as u8 {
        for &object in &Object::ALL[..8] {
            let dtype = Dtype::from_row(row, 3);
            let shape = Shape::from_slice(&[2, 3]);
            let tensor = Tensor { dtype, object, shape, ..Tensor::plain() };
            let case = Case::new(tensor, Call::default(), Probes::NONE);
            match session.run(&case, Detail::Brief) {
                Ok(seen) => {
                    assert_eq!(seen.ledger.source_references, 0, "{} {object:?}", dtype.name());
                    assert_eq!(seen.ledger.blocks, Some(0), "{} {object:?}", dtype.name());
                    built.push((dtype.name(), object));
                }
                Err(reason) => assert!(!reason.0.is_empty()),
            }
        }
    }
    let dtypes: std::collections::BTreeSet<_> = built.iter().map(|(name, _)| name).collect();
    // All but the pair type that only torch has.
    assert_eq!(dtypes.len(), Dtype::TABLE.len() - 1, "{dtypes:?}");
    for &object in &Object::ALL[..8] {
        assert!(built.contains(&("float32", object)), "{object:?}");
    }
}
