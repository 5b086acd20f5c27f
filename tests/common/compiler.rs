//! The **C compiler** of the tests: programs and shared objects, with the project's header and the real
//! `dlpack.h` where they are looked for. What it makes is gone with it.

use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Compiler {
    folder: tempfile::TempDir,
}

impl Compiler {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// Compiles a program.
    pub fn program(&self, name: &str, code: &str) -> PathBuf {
        self.run(&self.write(name, code), self.folder.path().join(name), &[])
    }

    /// Compiles a shared object.
    pub fn library(&self, name: &str, code: &str) -> PathBuf {
        self.library_of(name, &self.write(name, code), &[])
    }

    /// Compiles a shared object of this file.
    pub fn library_of(&self, name: &str, source: &Path, flags: &[&str]) -> PathBuf {
        let output = self.folder.path().join(format!("lib{name}.so"));
        self.run(source, output, &[&["-shared", "-fPIC"], flags].concat())
    }

    /// A file that is none of the compiler's.
    pub fn write_as(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, bytes).expect("the folder takes files");
        path
    }

    fn write(&self, name: &str, code: &str) -> PathBuf {
        self.write_as(&format!("{name}.c"), code.as_bytes())
    }

    fn run(&self, source: &Path, output: PathBuf, flags: &[&str]) -> PathBuf {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let status = Command::new("cc")
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2"])
            .args(flags)
            .arg("-I")
            .arg(root.join("include"))
            .arg("-I")
            .arg(dlpack_include())
            .arg(source)
            .arg("-o")
            .arg(&output)
            .status()
            .expect("a C compiler (cc) is there");
        assert!(status.success(), "{} does not compile", source.display());
        output
    }
}

/// The folder with `dlpack/dlpack.h`, in the wheel of apache-tvm-ffi.
pub fn dlpack_include() -> PathBuf {
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("envs/tvm-ffi/lib");
    (std::fs::read_dir(&lib).into_iter().flatten().flatten())
        .map(|python| python.path().join("site-packages/tvm_ffi/include"))
        .find(|include| include.join("dlpack/dlpack.h").is_file())
        .unwrap_or_else(|| panic!("no dlpack.h below {}: run scripts/setup tvm-ffi", lib.display()))
}
