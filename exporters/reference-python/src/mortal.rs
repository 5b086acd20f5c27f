//! What an array becomes when a fault is planted that only the **life** of its exports shows: each export holds
//! a reference to the Python object, and its struct has a deleter of this module, which knows it by its address.
//!
//! Nothing here touches memory that is freed: where a real exporter would, the memory is overwritten or the
//! pointer cleared while it still lives, so that a run without a sanitizer shows the same every time.

use crate::arguments::{Argument, request};
use crate::array::export;
use crate::capsule::{self, name_of};
use dlpack_reference::array::Array as Inner;
use dlpack_reference::dlpack::{ManagedTensor, ManagedTensorVersioned, Tensor, flag};
use dlpack_reference::export::Export;
use dlpack_reference::fault::Life;
use pyo3::exceptions::{PyBufferError, PySystemError};
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::CStr;
use std::process::abort;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// How such an array changes in place.
pub const CHANGES: [(&str, &str); 3] =
    [("reshape", "x.reshape_()"), ("resize", "x.resize_()"), ("freeze", "x.freeze_()")];

/// An array with a fault in the life of its exports.
#[pyclass(frozen, module = "dlpack_reference")]
pub struct Mortal {
    inner: Arc<Inner>,
    life: Life,
    /// Somebody has asked for the device.
    asked: AtomicBool,
    /// A call is under way.
    busy: AtomicBool,
}

/// An export that was not deleted yet.
struct Entry {
    life: Life,
    /// The Python object, and the array's memory, as addresses.
    owner: usize,
    memory: (usize, usize),
    thread: ThreadId,
    is_versioned: bool,
    deleter: usize,
    /// The capsule that held it was dropped after a consumer took the struct, and the Python object ended.
    lost: [bool; 2],
}

static LIVE: Mutex<Option<HashMap<usize, Entry>>> = Mutex::new(None);

/// By the address of the struct.
fn live() -> MutexGuard<'static, Option<HashMap<usize, Entry>>> {
    let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
    live.get_or_insert_default();
    live
}

/// Does something with every living export of an object.
fn of_owner(owner: usize, mut act: impl FnMut(usize, &Entry)) {
    for (pointer, entry) in live().iter_mut().flatten() {
        if entry.owner == owner {
            act(*pointer, entry);
        }
    }
}

#[pymethods]
impl Mortal {
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Argument<'_, 'py>,
        max_version: Argument<'_, 'py>,
        dl_device: Argument<'_, 'py>,
        copy: Argument<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, mortal) = (slf.py(), slf.get());
        let request = request(stream, max_version, dl_device, copy)?;
        match mortal.life {
            Life::DeviceFirst if !mortal.asked.load(Ordering::Relaxed) => {
                return Err(PyBufferError::new_err("the device is not known yet"));
            }
            Life::OneCallAtATime => {
                if mortal.busy.swap(true, Ordering::SeqCst) {
                    return Err(PyBufferError::new_err("another call is under way"));
                }
                // Long enough for any other thread to come.
                py.detach(|| thread::sleep(Duration::from_micros(50)));
                mortal.busy.store(false, Ordering::SeqCst);
            }
            // SAFETY: the interpreter is attached; a block that was not given is not freed.
            Life::MemoryErrorReplaced => unsafe {
                let block = ffi::PyMem_Malloc(16);
                if block.is_null() {
                    return Err(PySystemError::new_err("there is no object"));
                }
                ffi::PyMem_Free(block);
            },
            _ => {}
        }
        let export = export(slf.as_any(), &mortal.inner, &request)?;
        hand_over(slf, export)
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        self.asked.store(true, Ordering::Relaxed);
        (self.inner.device.kind, self.inner.device.id)
    }

    /// Another shape, in place.
    fn reshape_(slf: &Bound<'_, Self>) {
        if slf.get().life == Life::ShapeOfArray {
            of_owner(slf.as_ptr() as usize, |pointer, entry| {
                // SAFETY: the struct lives, and the interpreter is attached.
                let tensor = unsafe { tensor(pointer, entry.is_versioned) };
                if tensor.ndim > 0 {
                    // SAFETY: there is a first extent.
                    unsafe { *tensor.shape += 1 };
                }
            });
        }
    }

    /// More memory.
    fn resize_(slf: &Bound<'_, Self>) {
        if slf.get().life == Life::MemoryMoved {
            slf.get().scribble();
        }
    }

    /// Not writable any more.
    fn freeze_(slf: &Bound<'_, Self>) {
        if slf.get().life == Life::FlagsOfArray {
            of_owner(slf.as_ptr() as usize, |pointer, entry| {
                if entry.is_versioned {
                    let managed = pointer as *mut ManagedTensorVersioned;
                    // SAFETY: the struct lives, and the interpreter is attached.
                    unsafe { (*managed).flags |= flag::READ_ONLY };
                }
            });
        }
    }
}

impl Entry {
    /// Loses one of the two that keep its memory alive.
    fn lose(&mut self, which: usize) {
        self.lost[which] = true;
        if self.life == Life::MemoryOfCapsule && self.lost == [true; 2] {
            scribble(self.memory.0, self.memory.1);
        }
    }
}

impl Mortal {
    pub fn new(inner: Arc<Inner>, life: Life) -> Self {
        Self { inner, life, asked: AtomicBool::new(false), busy: AtomicBool::new(false) }
    }

    /// As if the memory had been freed and used again.
    fn scribble(&self) {
        scribble(self.inner.start() as usize, self.inner.size());
    }
}

impl Drop for Mortal {
    fn drop(&mut self) {
        match self.life {
            Life::MemoryOfObject => self.scribble(),
            Life::MemoryOfCapsule => {
                let start = self.inner.start() as usize;
                for entry in live().iter_mut().flatten().map(|(_, entry)| entry) {
                    if entry.memory.0 == start {
                        entry.lose(1);
                    }
                }
            }
            _ => {}
        }
    }
}

fn scribble(start: usize, size: usize) {
    for place in 0..size {
        let byte = (start + place) as *mut u8;
        // SAFETY: the array's own memory, which its exports keep alive; one call at a time runs.
        unsafe { *byte = !*byte };
    }
}

/// # Safety
/// The struct at the address lives and is of that kind.
unsafe fn tensor<'a>(pointer: usize, is_versioned: bool) -> &'a mut Tensor {
    // SAFETY: as the caller promises.
    unsafe {
        match is_versioned {
            true => &mut (*(pointer as *mut ManagedTensorVersioned)).tensor,
            false => &mut (*(pointer as *mut ManagedTensor)).tensor,
        }
    }
}

fn hand_over<'py>(slf: &Bound<'py, Mortal>, mut export: Export) -> PyResult<Bound<'py, PyAny>> {
    let mortal = slf.get();
    let name = name_of(&export);
    let (pointer, is_versioned, deleter) = match &mut export {
        Export::Legacy(managed) => {
            // SAFETY: the export is ours.
            let old = unsafe { managed.as_mut() }.deleter.replace(delete);
            (managed.as_ptr() as usize, false, old.map(|old| old as usize))
        }
        Export::Versioned(managed) => {
            // SAFETY: likewise.
            let old = unsafe { managed.as_mut() }.deleter.replace(delete_versioned);
            (managed.as_ptr() as usize, true, old.map(|old| old as usize))
        }
    };
    let entry = Entry {
        life: mortal.life,
        owner: slf.as_ptr() as usize,
        memory: (mortal.inner.start() as usize, mortal.inner.size()),
        thread: thread::current().id(),
        is_versioned,
        deleter: deleter.expect("every export has a deleter"),
        lost: [false; 2],
    };
    live().get_or_insert_default().insert(pointer, entry);
    // SAFETY: one reference more, of a live object.
    let hold = || unsafe { ffi::Py_IncRef(slf.as_ptr()) };
    match mortal.life {
        Life::MemoryOfObject | Life::MemoryOfCapsule => {}
        // Taken below: the capsule's destructor gives it back.
        Life::CapsuleHoldsArray | Life::DeleterLeaks => {}
        // The deleter gives it back, also if there will be no capsule.
        _ => hold(),
    }
    let capsule = capsule::named(slf.py(), export, name.as_ptr(), Some(destroy))?;
    if matches!(mortal.life, Life::CapsuleHoldsArray | Life::DeleterLeaks) {
        hold();
    }
    // SAFETY: a live capsule; its context is the export's address, also once a consumer has the struct.
    unsafe {
        ffi::PyCapsule_SetContext(
            capsule.as_ptr(),
            Box::into_raw(Box::new(Context {
                pointer,
                life: mortal.life,
                owner: slf.as_ptr() as usize,
            }))
            .cast(),
        )
    };
    Ok(capsule)
}

/// What a capsule knows by itself.
struct Context {
    pointer: usize,
    life: Life,
    owner: usize,
}

unsafe extern "C" fn destroy(capsule: *mut ffi::PyObject) {
    // SAFETY: made by `hand_over` with this context.
    let context = unsafe { Box::from_raw(ffi::PyCapsule_GetContext(capsule).cast::<Context>()) };
    // SAFETY: the capsule is about to die, and has a name.
    let name = unsafe { CStr::from_ptr(ffi::PyCapsule_GetName(capsule)) };
    let is_consumed = name.to_bytes().starts_with(b"used_");
    // SAFETY: the interpreter is attached.
    unsafe {
        match context.life {
            Life::ErrorCleared => ffi::PyErr_Clear(),
            Life::ErrorReplaced if is_consumed => {
                ffi::PyCapsule_GetPointer(capsule, c"dltensor".as_ptr());
            }
            Life::AbortsWhileEnding if is_ending() => abort(),
            Life::ConsumedReleasedAgain if is_consumed => {
                ffi::Py_DecRef(context.owner as *mut ffi::PyObject);
            }
            Life::CapsuleHoldsArray => {
                ffi::Py_DecRef(context.owner as *mut ffi::PyObject);
            }
            Life::DeleterLeaks if !is_consumed => {
                ffi::Py_DecRef(context.owner as *mut ffi::PyObject);
            }
            _ => {}
        }
    }
    if is_consumed {
        if let Some(entry) = live().get_or_insert_default().get_mut(&context.pointer) {
            entry.lose(0);
            if context.life == Life::ConsumedReset {
                // SAFETY: the struct lives.
                unsafe { tensor(context.pointer, entry.is_versioned).data = std::ptr::null_mut() };
            }
        }
        return;
    }
    BY_CAPSULE.set(true);
    // SAFETY: nobody took the struct.
    unsafe { capsule::destructor(capsule) };
    BY_CAPSULE.set(false);
}

thread_local! {
    /// The deleter is run by the capsule's destructor.
    static BY_CAPSULE: Cell<bool> = const { Cell::new(false) };
}

unsafe extern "C" fn delete(managed: *mut ManagedTensor) {
    release(managed as usize);
}

unsafe extern "C" fn delete_versioned(managed: *mut ManagedTensorVersioned) {
    release(managed as usize);
}

fn release(pointer: usize) {
    let entry = live().get_or_insert_default().remove(&pointer).expect("deleted once");
    // SAFETY: asks only.
    let (is_over, has_state) =
        unsafe { (ffi::Py_IsInitialized() == 0, !ffi::PyGILState_GetThisThreadState().is_null()) };
    let gives_back = match entry.life {
        Life::AbortsAfterEnd if is_over => abort(),
        _ if is_over => 0,
        Life::MemoryOfObject | Life::MemoryOfCapsule => 0,
        Life::CapsuleHoldsArray | Life::DeleterLeaks => 0,
        Life::DeleterReleasesTwice if !BY_CAPSULE.get() => 2,
        Life::DeleterWithoutState if !has_state => 0,
        Life::DeleterMindsThread if has_state && entry.thread != thread::current().id() => 0,
        _ => 1,
    };
    if entry.life == Life::SiblingsReset {
        of_owner(entry.owner, |other, it| {
            // SAFETY: the struct lives.
            unsafe { tensor(other, it.is_versioned).data = std::ptr::null_mut() };
        });
    }
    if !is_over {
        // SAFETY: the interpreter has not ended; the references are the export's.
        unsafe {
            let state = ffi::PyGILState_Ensure();
            for _ in 0..gives_back {
                ffi::Py_DecRef(entry.owner as *mut ffi::PyObject);
            }
            if entry.life == Life::DeleterSetsError {
                ffi::PyErr_SetNone(ffi::PyExc_RuntimeError);
            }
            ffi::PyGILState_Release(state);
        }
    }
    // SAFETY: the deleter that the struct came with, run once.
    unsafe {
        match entry.is_versioned {
            true => {
                let deleter: unsafe extern "C" fn(*mut ManagedTensorVersioned) =
                    std::mem::transmute(entry.deleter);
                deleter(pointer as *mut ManagedTensorVersioned);
            }
            false => {
                let deleter: unsafe extern "C" fn(*mut ManagedTensor) =
                    std::mem::transmute(entry.deleter);
                deleter(pointer as *mut ManagedTensor);
            }
        }
    }
}

/// The interpreter is ending, or so far gone that `sys` is not there any more.
///
/// # Safety
/// The interpreter is attached.
unsafe fn is_ending() -> bool {
    // SAFETY: as the caller promises; `GetObject` gives a borrowed reference.
    unsafe {
        let ask = ffi::PySys_GetObject(c"is_finalizing".as_ptr());
        if ask.is_null() {
            return true;
        }
        // Nothing may be called with an exception in flight.
        let in_flight = PyErr::take(Python::assume_attached());
        let answer = ffi::PyObject_CallObject(ask, std::ptr::null_mut());
        let is_ending = answer.is_null() || ffi::PyObject_IsTrue(answer) != 0;
        ffi::Py_XDECREF(answer);
        if let Some(error) = in_flight {
            error.restore(Python::assume_attached());
        }
        is_ending
    }
}
