//! Links the interpreter of the chosen environment: its libpython by run path, so that the program finds
//! that one and no other, and the environment's folder as the default of `--env`.

use std::path::Path;
use std::process::Command;

fn main() {
    pyo3_build_config::add_libpython_rpath_link_args();
    println!("cargo:rerun-if-env-changed=PYO3_PYTHON");
    println!("cargo:rerun-if-env-changed=DLPACK_FUZZ_BUILD_ENV");
    let python = std::env::var("PYO3_PYTHON").unwrap_or_else(|_| "python3".into());
    let prefix = Command::new(&python)
        .args(["-c", "import sys; print(sys.prefix)"])
        .output()
        .ok()
        .filter(|out| out.status.success())
        .and_then(|out| String::from_utf8(out.stdout).ok());
    let Some(prefix) = prefix else {
        panic!("dlpack-fuzz: {python} does not run; run scripts/setup first");
    };
    let prefix = prefix.trim();
    println!("cargo:rerun-if-changed={}", Path::new(prefix).join("pyvenv.cfg").display());
    println!("cargo:rustc-env=DLPACK_FUZZ_ENV_DEFAULT={prefix}");
}
