//! Each library whose environment is installed: its script builds what it says it can, the facts it states
//! are those of its memory, and what is known of it is seen again. A library without its environment is
//! skipped, by name.

use dlpack_fuzz::backend;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Cases with what a replay says of them: the rule that is broken, `crash`, or `OK`.
const EXPECTED: &[(&str, &str, &str)] = &[
    ("torch", "array(shape=(2, 3), dtype='float32').__dlpack__(max_version=(1, 0))", "OK"),
    ("torch", "array(shape=(4,), dtype='bfloat16', strides=(6,), lead=2).__dlpack__()", "OK"),
    ("torch", "array(shape=(6,), dtype='float32', object='requires-grad').__dlpack__()", "OK"),
    ("torch", "array(shape=(6,), dtype='complex64', object='conj').__dlpack__()", "OK"),
    // The negative that the view stands for is lost.
    ("torch", "array(shape=(6,), dtype='float32', object='neg').__dlpack__()", "TEN-VALUES"),
    (
        "torch",
        "array(shape=(6,), dtype='float32').__dlpack__(copy=True, max_version=(1, 0))",
        "COPY-FLAG-SET",
    ),
    (
        "torch",
        "array(shape=(6,), dtype='float32').__dlpack__(copy=False, dl_device=(2, 0))",
        "EXC-DEVICE",
    ),
    ("jax", "array(shape=(2, 3), dtype='bfloat16').__dlpack__()", "OK"),
    ("jax", "array(shape=(6,), dtype='float32', object='sharded').__dlpack__()", "OK"),
    (
        "pyarrow",
        "array(shape=(6,), dtype='int16', object='slice').__dlpack__(max_version=(1, 0))",
        "OK",
    ),
    ("pyarrow", "array(shape=(6,), dtype='int16').__dlpack__(max_version=(0,)) + copy-false", "OK"),
    // Its refusal of text is a TypeError, and no missing keyword.
    ("pyarrow", "array(shape=(2,), dtype='float32', object='text').__dlpack__(stream=None)", "OK"),
    ("mlx", "array(shape=(2, 3), dtype='float32', strides=(4, -8)).__dlpack__()", "OK"),
    ("tvm-ffi", "array(shape=(6,), dtype='float32').__dlpack__(copy=True)", "COPY-TRUE-IGNORED"),
    ("nanobind", "array(shape=(6,), dtype='float32', device=(12, 3)).__dlpack__()", "OK"),
    (
        "dpctl",
        "array(shape=(6,), dtype='float32', device=(14, 0)).__dlpack__(dl_device=(1, 0))",
        "DEV-HONOUR",
    ),
    // The extents of an export are the tensor's own.
    ("torch", "array(shape=(6,), dtype='float32').__dlpack__() then reshape", "MGT-META-SNAPSHOT"),
    ("paddle", "array(shape=(6,), dtype='float32').__dlpack__()", "DEV-ID-ELEM"),
    ("numkong", "array(shape=(2, 3), dtype='float6_e2m3fn').__dlpack__(max_version=(1, 0))", "OK"),
    // A pair of bfloat16 poses as a pair of halves.
    ("numkong", "array(shape=(6,), dtype='bcomplex32').__dlpack__()", "DTY-MATCH"),
    ("nanoarrow", "array(shape=(6,), dtype='int16').__dlpack__()", "OK"),
    ("nanoarrow", "array(shape=(6,), dtype='float32').__dlpack__(stream=1)", "CAP-EXC-NO-LEAK"),
    ("max", "array(shape=(2, 3), dtype='bfloat16').__dlpack__(max_version=(1, 0))", "OK"),
    // A slice goes out as if it had no gaps.
    ("max", "array(shape=(3,), dtype='float32', strides=(8,)).__dlpack__()", "TEN-STRIDES-UNIT"),
    ("dali", "array(shape=(2, 3), dtype='float32').__dlpack__(copy=True)", "OK"),
    (
        "dali",
        "array(shape=(6,), dtype='float32').__dlpack__(dl_device=(1, 0))",
        "COPY-SAME-DEVICE-NEUTRAL",
    ),
    // Its two classes of tensors know different keywords.
    ("dali", "array(shape=(6,), dtype='float32', object='wrapper').__dlpack__(copy=True)", "OK"),
    (
        "dali",
        "array(shape=(6,), dtype='float32', object='wrapper').__dlpack__(dl_device=(2, 0))",
        "DEV-HONOUR",
    ),
    ("av", "array(shape=(5, 7, 3), dtype='uint16').__dlpack__()", "OK"),
    ("av", "array(shape=(5, 7), dtype='uint8', object='reversed').__dlpack__()", "OK"),
    ("av", "array(shape=(5, 7), dtype='float16').__dlpack__()", "DTY-MATCH"),
    ("iree", "array(shape=(2, 3), dtype='bfloat16', device=(12, 3)).__dlpack__()", "OK"),
    // Every export loses eleven objects of Python's.
    (
        "tritonclient",
        "array(shape=(6,), dtype='int16', device=(2, 3)).__dlpack__()",
        "CAP-DTOR-UNCONSUMED",
    ),
    ("tritonclient", "array(shape=(6,), dtype='bool').__dlpack__()", "DTY-MATCH"),
    ("open3d", "array(shape=(3, 2), dtype='int16', object='reversed').__dlpack__()", "OK"),
    ("quadrants", "array(shape=(2, 3), dtype='float64').__dlpack__(max_version=(1, 0))", "OK"),
    ("quadrants", "array(shape=(2, 3), dtype='int8').__dlpack__()", "CAP-EXC-NO-LEAK"),
    ("gstaichi", "array(shape=(2, 3), dtype='float32').__dlpack__()", "CAP-DTOR-UNCONSUMED"),
    ("awkward", "array(shape=(3,), dtype='int64', object='reversed').__dlpack__()", "OK"),
    ("ndonnx", "array(shape=(2, 3), dtype='float32').__dlpack__()", "OK"),
    (
        "array-api-strict",
        "array(shape=(6,), dtype='float32', object='sub-device').__dlpack__()",
        "OK",
    ),
    // Values and mask, and the memory of neither.
    (
        "torch",
        "array(shape=(6,), dtype='float32', object='masked').__dlpack__()",
        "TEN-DATA-NONNULL",
    ),
    ("dpnp", "array(shape=(2, 3), dtype='float32', device=(14, 0)).__dlpack__()", "OK"),
    (
        "dpnp",
        "array(shape=(6,), dtype='float32', device=(14, 0), object='tensor').__dlpack__()",
        "OK",
    ),
    (
        "dpnp",
        "array(shape=(6,), dtype='float32', device=(14, 0)).__dlpack__(dl_device=(1, 0))",
        "DEV-HONOUR",
    ),
    ("cuda-core", "array(shape=(2, 3), dtype='complex64').__dlpack__()", "OK"),
    ("cuda-core", "array(shape=(6,), dtype='int8', object='buffer').__dlpack__()", "OK"),
    (
        "cuda-core",
        "array(shape=(6,), dtype='float32').__dlpack__(dl_device=own)",
        "COPY-SAME-DEVICE-NEUTRAL",
    ),
    // The copy is refused as it is without the device: contested.
    ("cuda-core", "array(shape=(6,), dtype='float32').__dlpack__(dl_device=own, copy=True)", "OK"),
    ("warp", "array(shape=(2, 3), dtype='float32', strides=(4, -8)).__dlpack__()", "OK"),
    ("warp", "array(shape=(3, 2), dtype='float32', object='vectors').__dlpack__()", "OK"),
    ("warp", "array(shape=(3,), dtype='float32', strides=(6,)).__dlpack__()", "TEN-STRIDES-UNIT"),
    ("onnxruntime", "array(shape=(2, 3), dtype='float8_e5m2').__dlpack__()", "OK"),
    ("onnxruntime", "array(shape=(6,), dtype='float32', object='text').__dlpack__()", "OK"),
    (
        "onnxruntime",
        "array(shape=(6,), dtype='float32').__dlpack__() then drop source, churn",
        "LIFE-OWNER-DROPPED",
    ),
    (
        "onnxruntime",
        "array(shape=(6,), dtype='float32').__dlpack__() then take a, drop a raising, delete a",
        "CAP-DTOR-EXC-KEPT",
    ),
    ("drjit", "array(shape=(2, 3), dtype='float32', object='lazy').__dlpack__()", "OK"),
    ("drjit", "array(shape=(6,), dtype='float64', object='eager').__dlpack__()", "OK"),
    (
        "kornia-rs",
        "array(shape=(2, 3), dtype='float32').__dlpack__(copy=True)",
        "COPY-TRUE-REFUSED",
    ),
];

/// What is raised where the data would have to move, which standard and libraries disagree on: by profile, in
/// the order of [`PROFILES`].
const ACROSS_DEVICES: [(&str, &str, [&str; 3]); 7] = [
    // ValueError, as the first text of 2023.12 had it.
    (
        "torch",
        "array(shape=(6,), dtype='float32', device=(12, 0)).__dlpack__(dl_device=(1, 0), copy=False)",
        // (The suite knows no device 12 either, and that is told first.)
        ["EXC-NOCOPY-CROSSDEV", "the call raised ValueError", "OK"],
    ),
    (
        "torch",
        "array(shape=(6,), dtype='float32').__dlpack__(dl_device=(2, 0), copy=False)",
        ["EXC-DEVICE", "EXC-DEVICE", "OK"],
    ),
    // BufferError.
    (
        "dpnp",
        "array(shape=(6,), dtype='float32', device=(14, 0)).__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=False)",
        ["OK", "OK", "OK"],
    ),
    (
        "numpy",
        "array(shape=(6,), dtype='float32').__dlpack__(dl_device=(2, 0), copy=False)",
        ["OK", "OK", "OK"],
    ),
    // BufferError where a copy is allowed, or asked for: the suite wants the data.
    (
        "nanobind",
        "array(shape=(6,), dtype='float32', device=(2, 1)).__dlpack__(dl_device=(1, 0))",
        ["OK", "DEV-CPU-OFFER", "OK"],
    ),
    (
        "nanobind",
        "array(shape=(6,), dtype='float32', device=(2, 1)).__dlpack__(dl_device=(1, 0), copy=True)",
        ["OK", "DEV-CPU-OFFER", "OK"],
    ),
    (
        "cuda-core",
        "array(shape=(6,), dtype='float32').__dlpack__(copy=True)",
        ["OK", "COPY-TRUE-REFUSED", "OK"],
    ),
];
const PROFILES: [&str; 3] = ["spec", "aat", "spec-2023.12-first"];

fn environment(library: &str) -> Option<PathBuf> {
    let library = backend::entry(library).map_or(library, |entry| entry.env);
    let env = Path::new(env!("DLPACK_FUZZ_ENV_DEFAULT")).with_file_name(library);
    if env.join("bin/python").exists() {
        return Some(env);
    }
    eprintln!("SKIPPED {library}: no environment; run scripts/setup {library}");
    None
}

fn replay(library: &str, words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_dlpack-fuzz"))
        .args(["replay", "--ignore-known", "--backend", library])
        .args(words)
        .output()
        .expect("the program starts");
    let told = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&told).into_owned()
}

#[test]
fn what_is_known_of_each_library_is_seen_and_nothing_else() {
    for (library, case, expected) in EXPECTED {
        assert_told(library, case, "spec", expected);
    }
}

#[test]
fn an_export_across_devices_is_judged_by_the_profile() {
    for (library, case, expected) in ACROSS_DEVICES {
        for (profile, expected) in PROFILES.into_iter().zip(expected) {
            assert_told(library, case, profile, expected);
        }
    }
}

#[track_caller]
fn assert_told(library: &str, case: &str, profile: &str, expected: &str) {
    if environment(library).is_none() {
        return;
    }
    let told = replay(library, &["--profile", profile, "--case", case]);
    let is_seen = match expected {
        // Nor may it be fine because there is no such array.
        "OK" => told.contains("1 OK") && !told.contains("no such array"),
        rule => told.contains("FAILED") && told.contains(rule),
    };
    assert!(is_seen, "{library}, {case}, {profile}: {expected} expected\n{told}");
}

#[test]
fn every_library_says_what_it_cannot_build() {
    for library in ["torch", "jax", "pyarrow", "mlx", "paddle"] {
        for dtype in ["record", "swapped float32", "int1"] {
            if environment(library).is_some() && (library, dtype) != ("torch", "int1") {
                let case = format!("array(shape=(6,), dtype='{dtype}').__dlpack__()");
                let told = replay(library, &["--case", &case]);
                assert!(told.contains("has no arrays of"), "{library}: {told}");
            }
        }
    }
}

/// Whatever device its arrays are on, a library is asked for what it has.
#[test]
fn a_sweep_asks_a_library_for_what_it_has() {
    for library in ["dpctl", "nanobind", "pyarrow"] {
        let Some(env) = environment(library) else { continue };
        let output = Command::new(env!("CARGO_BIN_EXE_dlpack-fuzz"))
            .args(["check", library, "--runs", "1000", "--json", "--quiet", "--findings"])
            .arg(tempfile::tempdir().expect("a folder").path())
            .arg("--env")
            .arg(env)
            .output()
            .expect("the program starts");
        let report: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("the report is JSON");
        let lawful = report["grades"]["lawful"].as_u64().unwrap_or(0);
        assert!(lawful > 100, "{library}: {lawful} of 1000 cases lawful");
    }
}

#[test]
fn every_backend_has_pins_and_a_cost() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in backend::REGISTRY {
        let pins = root.join("scripts/requirements").join(entry.env).with_extension("txt");
        let text = std::fs::read_to_string(&pins).unwrap_or_else(|_| panic!("{}", pins.display()));
        assert!(text.contains("#: cost ") && text.contains("=="), "{}", pins.display());
    }
}
