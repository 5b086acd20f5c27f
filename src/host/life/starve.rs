//! **Starving**: one allocation of Python's fails while the case's call runs, then the next one (EXC-OOM).
//!
//! Hooks stand before Python's object and memory allocators meanwhile. What a library allocates by itself is
//! not reached.

use super::Host;
use crate::backend::{Built, Inexpressible};
use crate::case::Case;
use crate::host::session::{no_arguments, settle};
use crate::host::{Detail, errors};
use crate::oracle::{ErrorClass, Event, Starved};
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::Cell;
use std::ffi::c_void;

/// A call that needs more allocations is starved in the first ones only.
const MOST_FAILURES: u32 = 40;

pub fn starve(
    host: &Host<'_>,
    py: Python<'_>,
    built: &Built<'_>,
    case: &Case,
) -> Result<Event, Inexpressible> {
    let arguments = (host.exporting.arguments(py, &case.call, None))
        .map_err(|error| no_arguments(py, &error))?;
    let call = || host.exporting.call(py, &built.object, &arguments);
    // What is made once is made now; and what raises anyway says nothing.
    if call().is_none() {
        errors::take(py, Detail::Brief);
        return Ok(Event::Skipped("the call raises"));
    }
    // SAFETY: the owner is alive and the interpreter attached.
    let references = || unsafe { ffi::Py_REFCNT(built.owner.as_ptr()) as isize };
    let hooks = Hooks::install(py);
    let mut starved = Starved::default();
    let mut after_first = 0;
    for round in 0..Starved::ROUNDS {
        starved.failures = 0;
        for place in 0..MOST_FAILURES {
            let (result, failed) = failing(place, call);
            let raised = match &result {
                None => errors::take(py, Detail::Full),
                Some(_) => None,
            };
            drop(result);
            errors::take(py, Detail::Brief);
            if !failed {
                break;
            }
            starved.failures += 1;
            let is_new = |class| starved.raised.iter().all(|known| known.class != class);
            if let Some(raised) = raised.filter(|raised| raised.class != ErrorClass::Memory)
                && is_new(raised.class)
            {
                starved.raised.push(raised);
            }
        }
        if round == 0 {
            settle(py);
            after_first = references();
        }
    }
    settle(py);
    starved.references = references() - after_first;
    drop(hooks);
    Ok(Event::Starved(starved))
}

thread_local! {
    /// Allocations until the one that fails; below 0: none fails.
    static LEFT: Cell<i64> = const { Cell::new(-1) };
}

/// Runs something in which this thread's allocation of that number fails, and tells whether it came to that.
fn failing<T>(place: u32, run: impl Fn() -> T) -> (T, bool) {
    LEFT.set(i64::from(place));
    let result = run();
    let failed = LEFT.replace(-1) < 0;
    (result, failed)
}

/// Whether this allocation is the one.
fn fails() -> bool {
    match LEFT.get() {
        left @ 0.. => {
            LEFT.set(left - 1);
            left == 0
        }
        _ => false,
    }
}

/// Python's allocators with hooks before them, until this is dropped.
struct Hooks([ffi::PyMemAllocatorEx; 2]);

const DOMAINS: [ffi::PyMemAllocatorDomain; 2] =
    [ffi::PyMemAllocatorDomain::PYMEM_DOMAIN_MEM, ffi::PyMemAllocatorDomain::PYMEM_DOMAIN_OBJ];

impl Hooks {
    /// The hooks pass everything on, so that a block may be freed with or without them.
    fn install(_py: Python<'_>) -> Box<Self> {
        // SAFETY: the interpreter is attached, and no other thread uses these two domains meanwhile; the
        // originals stay where they are as long as the hooks are in use.
        unsafe {
            let mut hooks = Box::new(Self(std::mem::zeroed()));
            for (original, domain) in hooks.0.iter_mut().zip(DOMAINS) {
                ffi::PyMem_GetAllocator(domain, original);
                let mut hooked = ffi::PyMemAllocatorEx {
                    ctx: std::ptr::from_mut(original).cast(),
                    malloc: Some(malloc),
                    calloc: Some(calloc),
                    realloc: Some(realloc),
                    free: Some(free),
                };
                ffi::PyMem_SetAllocator(domain, &mut hooked);
            }
            hooks
        }
    }
}

impl Drop for Hooks {
    fn drop(&mut self) {
        for (original, domain) in self.0.iter_mut().zip(DOMAINS) {
            // SAFETY: as in `install`.
            unsafe { ffi::PyMem_SetAllocator(domain, original) };
        }
    }
}

/// # Safety
/// The context is one that [`Hooks::install`] gave.
unsafe fn original<'a>(context: *mut c_void) -> &'a ffi::PyMemAllocatorEx {
    // SAFETY: as the caller promises.
    unsafe { &*context.cast() }
}

extern "C" fn malloc(context: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: Python calls it with the context that it was given.
    let original = unsafe { original(context) };
    match original.malloc {
        Some(malloc) if !fails() => malloc(original.ctx, size),
        _ => std::ptr::null_mut(),
    }
}

extern "C" fn calloc(context: *mut c_void, count: usize, size: usize) -> *mut c_void {
    // SAFETY: as above.
    let original = unsafe { original(context) };
    match original.calloc {
        Some(calloc) if !fails() => calloc(original.ctx, count, size),
        _ => std::ptr::null_mut(),
    }
}

extern "C" fn realloc(context: *mut c_void, block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: as above.
    let original = unsafe { original(context) };
    match original.realloc {
        Some(realloc) if !fails() => realloc(original.ctx, block, size),
        _ => std::ptr::null_mut(),
    }
}

extern "C" fn free(context: *mut c_void, block: *mut c_void) {
    // SAFETY: as above.
    let original = unsafe { original(context) };
    if let Some(free) = original.free {
        free(original.ctx, block);
    }
}
