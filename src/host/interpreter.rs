//! Starts the interpreter of the chosen environment, once per process.
//!
//! Goes in: the folder of a virtual environment. Comes out: an interpreter whose `sys.prefix` is that
//! folder, so that its site-packages are found and no other's. Everything else in this program only
//! attaches to an interpreter and does not care who started it.

use super::Error;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::IntoRawFd;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

/// The environment this process runs, once it does.
static STARTED: Mutex<Option<PathBuf>> = Mutex::new(None);

/// The environment to use: the one given, else `DLPACK_FUZZ_ENV`, else the one the build was made with.
pub fn environment(given: Option<&Path>) -> PathBuf {
    given.map(Path::to_path_buf).unwrap_or_else(|| {
        std::env::var_os("DLPACK_FUZZ_ENV")
            .map_or_else(|| PathBuf::from(env!("DLPACK_FUZZ_ENV_DEFAULT")), PathBuf::from)
    })
}

/// The interpreter program of an environment.
pub fn python_of(env: &Path) -> PathBuf {
    env.join("bin/python")
}

/// An AddressSanitizer runtime is linked into this process.
pub fn has_address_sanitizer() -> bool {
    static FOUND: LazyLock<bool> = LazyLock::new(|| {
        // SAFETY: dlsym with a NUL-terminated name only looks the symbol up.
        unsafe { !libc::dlsym(libc::RTLD_DEFAULT, c"__asan_init".as_ptr()).is_null() }
    });
    *FOUND
}

/// Starts the interpreter in `env`; does nothing if it runs there already.
pub fn start(env: &Path) -> Result<(), Error> {
    let mut started = STARTED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match started.as_deref() {
        Some(running) if running == env => return Ok(()),
        Some(running) => {
            return Err(Error(format!(
                "the interpreter of {} runs already and a process can have only one; start another \
                 process for {}",
                running.display(),
                env.display()
            )));
        }
        None => {}
    }
    check(env)?;
    // SAFETY: nobody else starts the interpreter (STARTED is locked), and no other thread of this program
    // reads the environment before Python does.
    unsafe {
        if std::env::var_os("OPENBLAS_NUM_THREADS").is_none() {
            // The wheel's thread pool costs time and is of no use to exports.
            std::env::set_var("OPENBLAS_NUM_THREADS", "1");
        }
        if ffi::Py_IsInitialized() == 0 {
            initialize(env)?;
            // Releases the interpreter; from now on every use attaches.
            ffi::PyEval_SaveThread();
        }
    }
    if has_address_sanitizer() {
        Python::attach(fill_free_lists).map_err(|error| Error(format!("Python fails: {error}")))?;
    }
    *started = Some(env.to_path_buf());
    Ok(())
}

/// Fills the lists of spare objects that CPython keeps of its commonest types. While they grow, a run
/// allocates what it does not free, and libFuzzer then looks for leaks, which takes longer than a thousand
/// runs; when they are full, every run is balanced.
fn fill_free_lists(py: Python<'_>) -> PyResult<()> {
    let code = c"
kept = [tuple(range(size)) for size in range(1, 21) for _ in range(2100)]
kept += [[number] for number in range(300)]
kept += [number + 0.5 for number in range(300)]
kept += [{number: number} for number in range(300)]
kept += [dict(a=number) for number in range(300)]
del kept
";
    py.run(code, Some(&pyo3::types::PyDict::new(py)), None)
}

/// The environment exists and is made for the linked interpreter.
fn check(env: &Path) -> Result<(), Error> {
    let python = python_of(env);
    if !python.exists() {
        return Err(Error(format!(
            "no Python environment at {}: run scripts/setup, or name one with --env",
            env.display()
        )));
    }
    let linked = linked_version();
    let minor = linked.splitn(3, '.').take(2).collect::<Vec<_>>().join(".");
    if !env.join(format!("lib/python{minor}")).exists() {
        return Err(Error(format!(
            "{} is no environment for Python {minor}, which this program embeds: make one with \
             `scripts/setup --python python{minor}`, or build again with that environment's interpreter",
            env.display()
        )));
    }
    Ok(())
}

/// Version of the linked libpython, such as `3.11.7`.
pub fn linked_version() -> String {
    // SAFETY: Py_GetVersion returns a static string and may be called before initialisation.
    let version = unsafe { CStr::from_ptr(ffi::Py_GetVersion()) }.to_string_lossy();
    version.split_whitespace().next().unwrap_or_default().to_string()
}

/// # Safety
/// The interpreter must not have been initialised.
unsafe fn initialize(env: &Path) -> Result<(), Error> {
    let executable = CString::new(python_of(env).into_os_string().into_encoded_bytes())
        .map_err(|_| Error("the environment's path holds a NUL byte".into()))?;
    // SAFETY: the calls follow the initialisation order of PEP 587; every struct is initialised by the
    // function that the C API prescribes before it is used.
    unsafe {
        let mut preconfig = std::mem::zeroed::<ffi::PyPreConfig>();
        ffi::PyPreConfig_InitIsolatedConfig(&mut preconfig);
        if has_address_sanitizer() {
            // Python's own pools hide small blocks from the sanitizer and from leak detection.
            preconfig.allocator = PYMEM_ALLOCATOR_MALLOC;
        }
        failed(ffi::Py_PreInitialize(&preconfig))?;

        let mut config = std::mem::zeroed::<ffi::PyConfig>();
        ffi::PyConfig_InitIsolatedConfig(&mut config);
        // libFuzzer and the shell keep their own handlers.
        config.install_signal_handlers = 0;
        config.site_import = 1;
        let set = ffi::PyConfig_SetBytesString(
            &mut config,
            &raw mut config.executable,
            executable.as_ptr(),
        );
        let result = failed(set).and_then(|()| failed(ffi::Py_InitializeFromConfig(&config)));
        ffi::PyConfig_Clear(&mut config);
        result
    }
}

/// `PYMEM_ALLOCATOR_MALLOC` of `cpython/initconfig.h` (stable since 3.8).
const PYMEM_ALLOCATOR_MALLOC: i32 = 3;

fn failed(status: ffi::PyStatus) -> Result<(), Error> {
    // SAFETY: PyStatus is plain data; err_msg is NULL or a static string.
    unsafe {
        if ffi::PyStatus_Exception(status) == 0 {
            return Ok(());
        }
        let message = if status.err_msg.is_null() {
            "no message".into()
        } else {
            CStr::from_ptr(status.err_msg).to_string_lossy()
        };
        Err(Error(format!("Python does not start: {message}")))
    }
}

/// At this signal Python writes to the file where its code is; the file stays open.
pub fn write_stack_at(signal: i32, file: File) -> Result<(), Error> {
    Python::attach(|py| {
        let keywords = [("all_threads", false), ("chain", false)].into_py_dict(py)?;
        let register = py.import("faulthandler")?.getattr("register")?;
        register.call((signal, file.into_raw_fd()), Some(&keywords)).map(drop)
    })
    .map_err(|error| Error(format!("faulthandler cannot be set up: {error}")))
}

/// Turns a Python error at start-up into one sentence.
pub fn sentence(py: Python<'_>, error: &PyErr) -> String {
    let text = error.value(py).to_string();
    format!("{}: {}", error.get_type(py), text.lines().next().unwrap_or_default())
}
