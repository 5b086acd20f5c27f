//! The **end of the interpreter**, in a child process (LIFE-CAPSULE-AT-EXIT, LIFE-DELETER-FINALIZED).
//!
//! The child is a fork of this process. What it holds stays in module globals or in its hands; it ends the
//! interpreter, then runs the deleters that are due, and ends. Another child does the same after it has
//! released everything: where that one does not end well either, the export is not to blame. A fork has no
//! other threads than this one, which some libraries mind: a child that fails is tried again, and both words
//! count only if they are the same each time.

use super::export::Export;
use crate::backend::Built;
use crate::oracle::{Ended, Event, Passing, Stage};
use pyo3::ffi;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The end of an interpreter takes a tenth of a second, with large libraries one.
const LIMIT: Duration = Duration::from_secs(10);
/// How often a failure has to show.
const TIMES: usize = 3;

pub fn exit<'py>(
    py: Python<'py>,
    exports: &mut [Option<Export<'py>>; 4],
    built: &Option<Built<'py>>,
) -> Event {
    let capsules = exports.iter().flatten().filter(|export| export.is_unconsumed()).count();
    let structs = exports.iter().flatten().filter(|export| export.is_due()).count();
    let with = agreed(|| {
        child(py, |stage| {
            keep(py, exports, built);
            finalize(stage);
            for export in exports.iter_mut().flatten() {
                if let Some(deletion) = export.deletion() {
                    deletion.run();
                }
            }
        })
    });
    let without = match with {
        Some(Passing::Clean) => Some(Passing::Clean),
        Some(_) => agreed(|| {
            child(py, |stage| {
                for export in exports.iter_mut().flatten() {
                    if let Some(deletion) = export.deletion() {
                        deletion.run();
                    }
                    export.capsule = None;
                }
                finalize(stage);
            })
        }),
        None => None,
    };
    match (without, with) {
        (Some(without), Some(with)) => Event::Ended(Ended {
            without,
            with,
            capsules: capsules as u32,
            structs: structs as u32,
        }),
        _ => Event::Skipped("the child ends now well, now badly, or cannot be made"),
    }
}

/// What a child says each time; one clean end is enough.
fn agreed(mut run: impl FnMut() -> Option<Passing>) -> Option<Passing> {
    let first = run()?;
    if first == Passing::Clean {
        return Some(first);
    }
    (1..TIMES).all(|_| run() == Some(first)).then_some(first)
}

/// Puts what is held where it stays until the interpreter ends.
fn keep(py: Python<'_>, exports: &mut [Option<Export<'_>>; 4], built: &Option<Built<'_>>) {
    let Ok(main) = py.import("__main__") else { return };
    for (place, export) in exports.iter_mut().flatten().enumerate() {
        if let Some(capsule) = export.capsule.take() {
            let _ = main.setattr(format!("capsule{place}"), capsule);
        }
    }
    if let Some(built) = built {
        let _ = main.setattr("x", &built.object);
    }
}

fn finalize(stage: &AtomicU32) {
    // SAFETY: the child has only this thread, and it is attached; nothing attaches afterwards.
    unsafe { ffi::Py_FinalizeEx() };
    stage.store(1, Ordering::SeqCst);
}

/// Runs something in a fork of this process and waits for it; `None` if there can be no fork.
fn child(py: Python<'_>, run: impl FnOnce(&AtomicU32)) -> Option<Passing> {
    let stage = Shared::new()?;
    // SAFETY: the interpreter is attached, and Python is told of the fork before and after it. The child
    // leaves by `_exit`.
    unsafe {
        ffi::PyOS_BeforeFork();
        let id = libc::fork();
        if id == 0 {
            ffi::PyOS_AfterFork_Child();
            alone();
            run(stage.number());
            libc::_exit(0);
        }
        ffi::PyOS_AfterFork_Parent();
        if id < 0 {
            return None;
        }
        Some(py.detach(|| wait(id, &stage)))
    }
}

/// The child is nobody's fuzzer: what kills it is the system's business, and nobody reads its words.
fn alone() {
    // SAFETY: async-signal-safe functions, in a process with one thread.
    unsafe {
        for signal in
            [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGFPE, libc::SIGILL, libc::SIGALRM]
        {
            libc::signal(signal, libc::SIG_DFL);
        }
        let callback = libc::dlsym(libc::RTLD_DEFAULT, c"__sanitizer_set_death_callback".as_ptr());
        if !callback.is_null() {
            let set: extern "C" fn(Option<extern "C" fn()>) = std::mem::transmute(callback);
            set(None);
        }
        let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY);
        libc::dup2(nowhere, 1);
        libc::dup2(nowhere, 2);
        // No core file of what is expected to die.
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
    }
}

fn wait(id: i32, stage: &Shared) -> Passing {
    let start = Instant::now();
    let reached = || match stage.number().load(Ordering::SeqCst) {
        0 => Stage::Finalizing,
        _ => Stage::Finalized,
    };
    loop {
        let mut status = 0;
        // SAFETY: `id` is our child, which nobody else waits for.
        let ended = unsafe { libc::waitpid(id, &mut status, libc::WNOHANG) };
        if ended == id {
            return match status {
                0 => Passing::Clean,
                _ if libc::WIFSIGNALED(status) => {
                    Passing::Died(name(libc::WTERMSIG(status)), reached())
                }
                _ => Passing::Died("exit", reached()),
            };
        }
        if start.elapsed() > LIMIT || ended < 0 {
            // SAFETY: as above.
            unsafe {
                libc::kill(id, libc::SIGKILL);
                libc::waitpid(id, &mut status, 0);
            }
            return Passing::Hung(reached());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn name(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGILL => "SIGILL",
        _ => "another signal",
    }
}

/// A number that parent and child both see.
struct Shared(*mut libc::c_void);

// SAFETY: the number is atomic.
unsafe impl Sync for Shared {}

impl Shared {
    fn new() -> Option<Self> {
        // SAFETY: a new mapping that nobody else knows.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<AtomicU32>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        (start != libc::MAP_FAILED).then_some(Self(start))
    }

    fn number(&self) -> &AtomicU32 {
        // SAFETY: the mapping is as large, aligned to a page and zeros at first.
        unsafe { &*self.0.cast() }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: made by `new` with this size.
        unsafe { libc::munmap(self.0, size_of::<AtomicU32>()) };
    }
}
