//! A **race**: two threads export one array and drop the capsules (LIFE-CONCURRENT).

use super::super::errors;
use crate::host::Detail;
use crate::host::session::settle;
use crate::oracle::{Event, Raced};
use pyo3::ffi;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};

/// Exports of each thread.
const EXPORTS: u32 = 200;

/// Each export is the plain one. The threads let each other run after every call, and wherever the exporter
/// itself releases the GIL.
pub fn race(py: Python<'_>, object: &Bound<'_, PyAny>, owner: &Bound<'_, PyAny>) -> Event {
    if object.call_method0("__dlpack__").is_err() {
        return Event::Skipped("the plain call raises");
    }
    settle(py);
    // SAFETY: the owner is alive and the interpreter attached.
    let references = || unsafe { ffi::Py_REFCNT(owner.as_ptr()) as isize };
    let before = references();
    let raised = AtomicU32::new(0);
    let shared = object.clone().unbind();
    py.detach(|| {
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..EXPORTS {
                        Python::attach(|py| {
                            if shared.bind(py).call_method0("__dlpack__").is_err() {
                                raised.fetch_add(1, Ordering::Relaxed);
                            }
                        });
                        std::thread::yield_now();
                    }
                });
            }
        });
    });
    drop(shared);
    errors::take(py, Detail::Brief);
    settle(py);
    Event::Raced(Raced {
        exports: 2 * EXPORTS,
        raised: raised.into_inner(),
        references: references() - before,
    })
}
