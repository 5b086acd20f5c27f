//! `py:MODULE:FUNCTION`: the example of the README runs as it stands there, facts are taken at their word,
//! and mistakes are told.

use std::path::Path;
use std::process::{Command, Output};

/// A library that the example could mean: it has three dtypes, and its arrays export through NumPy.
const MYLIB: &str = "
import numpy as np

class Array:
    def __init__(self, inner):
        self.inner = inner
        self.address = inner.__array_interface__['data'][0]

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self.inner.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

def frombuffer(memory, dtype, shape):
    if dtype not in ('float32', 'int16', 'bool'):
        raise TypeError('mylib has no ' + dtype)
    return Array(np.frombuffer(memory, dtype).reshape(shape))
";

/// Runs the tool with these modules beside each other.
fn run(modules: &[(&str, &str)], words: &[&str]) -> (Output, String) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in modules {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let output = Command::new(env!("CARGO_BIN_EXE_dlpack-fuzz"))
        .args(words)
        .env("DLPACK_FUZZ_PYTHONPATH", dir.path())
        .env("DLPACK_FUZZ_FINDINGS", dir.path().join("findings"))
        .output()
        .unwrap();
    let told = [&output.stdout[..], &output.stderr[..]].concat();
    let told = String::from_utf8_lossy(&told).into_owned();
    (output, told)
}

fn example() -> String {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let start = readme.find("# my_backend.py").expect("the README has the example");
    let example = readme[start..].split("```").next().unwrap().to_owned();
    assert!(example.lines().count() <= 10, "ten lines, it says");
    example
}

#[test]
fn the_example_of_the_readme_checks_a_library() {
    let example = example();
    let modules = [("my_backend.py", &*example), ("mylib.py", MYLIB)];
    let (output, told) =
        run(&modules, &["check", "py:my_backend:build", "--runs", "60000", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.contains("lawful"), "{told}");
}

#[test]
fn a_fault_of_the_example_is_found_by_its_facts_and_shown_without_this_project() {
    let example = example();
    // Another place than the array's is exported.
    let faulty =
        MYLIB.replace("return self.inner.__dlpack__(", "return self.inner[1:].__dlpack__(");
    let modules = [("my_backend.py", &*example), ("mylib.py", &*faulty)];
    let case = "array(shape=(6,), dtype='int16').__dlpack__()";
    let backend = ["--backend", "py:my_backend:build"];
    let (output, told) = run(&modules, &[&["repro", "--run", case][..], &backend].concat());
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("description = SimpleNamespace("), "{told}");
    assert!(told.contains("x = my_backend.build(description)\nx = source = x[0]"), "{told}");
    assert!(told.contains("confirmed"), "{told}");
    // And the lawful library shows nothing.
    let modules = [("my_backend.py", &*example), ("mylib.py", MYLIB)];
    let (output, told) = run(&modules, &[&["repro", "--run", case][..], &backend].concat());
    assert_eq!(output.status.code(), Some(0), "{told}");
}

#[test]
fn what_a_library_does_not_have_is_told_with_its_reason() {
    let example = example();
    let modules = [("my_backend.py", &*example), ("mylib.py", MYLIB)];
    let case = "array(shape=(6,), dtype='complex64').__dlpack__()";
    let (_, told) = run(&modules, &["replay", "--case", case, "--backend", "py:my_backend:build"]);
    assert!(told.contains("mylib has no complex64"), "{told}");
}

#[test]
fn a_misspelt_fact_is_an_error_and_not_passed_over() {
    let module = "
def build(d):
    return d.numpy, {'adress': 1}
";
    let (output, told) = run(&[("typo.py", module)], &["check", "py:typo:build", "--runs", "10"]);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("no fact is named adress"), "{told}");
}

#[test]
fn a_description_says_what_the_case_says() {
    let module = "
def build(d):
    if d.shape == (2, 3):
        assert d.strides == (40, -8) and d.dtype == 'complex64' and d.triple == (5, 64, 1), d.strides
        assert d.itemsize == 8 and d.byteorder == 'swapped' and d.order is None and not d.writable
        assert d.object == 'sparse' and d.device == (2, 1) and d.memory is d.memory
        assert len(d.memory) == 40 + 16 + 8 + 3 and d.offset == 16 + 3, (len(d.memory), d.offset)
        assert type(d.memory) is bytearray and d.memory[:8] == bytes(8)
        raise ValueError('as it should be')
    return d.numpy
";
    let case = "array(shape=(2, 3), dtype='swapped complex64', strides=(40, -8), lead=3, writable=False, \
                contents=0, object='sparse', device=(2, 1)).__dlpack__()";
    let (_, told) =
        run(&[("check.py", module)], &["replay", "--case", case, "--backend", "py:check:build"]);
    assert!(told.contains("as it should be"), "{told}");
}
