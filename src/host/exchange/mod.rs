//! Tries the **C exchange API** of an array's type and writes down what it shows.
//!
//! Goes in: the array and the steps that the case asks for. Comes out: an [`Exchange`], or `None` where no
//! step is asked for: then nothing is looked up. Whatever a function does is part of the answer. Trap: a
//! function that unwinds or reads wild memory ends the process, and the parent reports it.

mod allocate;
mod convert;
mod import;
mod lookup;

use super::export::{Exportee, Exporting};
use super::{Detail, errors};
use crate::abi::exchange::DLPackExchangeAPI;
use crate::case::{Arg, Call, Case, ExchangeStep, Keyword, Value};
use crate::oracle::{Answer, Exchange, Exporter, Function, Out, Pending};
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};

pub use lookup::Remembered;

/// An array whose type's API is tried.
pub struct Subject<'a, 'py> {
    pub py: Python<'py>,
    pub exportee: &'a Exportee<'a, 'py>,
    /// The object whose reference count an export takes and gives back.
    pub owner: &'a Bound<'py, PyAny>,
    pub detail: Detail,
}

/// Takes every step that the case asks for.
pub fn observe(
    subject: &Subject<'_, '_>,
    case: &Case,
    exporting: &Exporting,
    exporter: &Exporter,
    remembered: &mut Remembered,
) -> Option<Box<Exchange>> {
    if !case.probes.asks_exchange() {
        return None;
    }
    let mut seen = Exchange::default();
    let Some(api) = remembered.find(subject, &mut seen) else {
        return Some(Box::new(seen));
    };
    let asks = |step| case.probes.asks(step);
    if asks(ExchangeStep::FromPy) || asks(ExchangeStep::View) {
        seen.reference = reference(subject, exporting, exporter);
        // SAFETY: the table was read a moment ago, and the object is of the type that has it.
        seen.from_py = unsafe { convert::from_py(subject, &api) };
    }
    if asks(ExchangeStep::View) {
        // SAFETY: as above.
        seen.view = unsafe { convert::view(subject, &api) };
    }
    if asks(ExchangeStep::ToPy) {
        // SAFETY: as above; the interpreter is attached.
        seen.to_py = unsafe { import::to_py(subject, &api) };
    }
    if asks(ExchangeStep::Allocate) {
        // SAFETY: as above.
        seen.allocations = unsafe { allocate::allocate(subject, &api, &case.tensor) };
    }
    if asks(ExchangeStep::Stream) {
        // SAFETY: as above.
        seen.streams = unsafe { allocate::streams(subject, &api) };
    }
    if asks(ExchangeStep::Pending) {
        // SAFETY: as above.
        seen.pending = unsafe { pending(subject, &api) };
    }
    if asks(ExchangeStep::AllocateNoGil) {
        // SAFETY: as above; that the GIL is not held is what is tried.
        seen.without_gil = unsafe { allocate::without_gil(subject, &api, &case.tensor) };
    }
    remembered.look_again(subject, &mut seen);
    Some(Box::new(seen))
}

/// What `__dlpack__` makes of the same object.
fn reference(
    subject: &Subject<'_, '_>,
    exporting: &Exporting,
    exporter: &Exporter,
) -> Option<crate::oracle::Outcome> {
    let plain = Call::default();
    let call = match exporter.keywords[1] {
        true => plain.with(Keyword::MaxVersion, Arg::Given(Value::pair(1, 99))),
        false => plain,
    };
    let made = exporting.export(subject.py, subject.exportee, &call, subject.detail).ok()?;
    let outcome = made.outcome;
    drop((made.result, made.arguments));
    errors::take(subject.py, Detail::Brief);
    Some(outcome)
}

impl Subject<'_, '_> {
    fn object(&self) -> *mut c_void {
        self.exportee.object.as_ptr().cast()
    }

    /// References of the owner and of the exporter.
    fn references(&self) -> isize {
        let (object, owner) = (self.exportee.object.as_ptr(), self.owner.as_ptr());
        // SAFETY: both are alive and the interpreter is attached.
        unsafe {
            let other = if object == owner { 0 } else { ffi::Py_REFCNT(object) as isize };
            ffi::Py_REFCNT(owner) as isize + other
        }
    }

    /// The number that a function returned, with what else it left.
    fn answer<T>(&self, code: c_int, out: *mut T) -> Answer {
        let error = errors::take(self.py, self.detail);
        Answer { code, error, out: state_of(out) }
    }
}

/// What an out parameter holds before a call: no pointer that an exporter could have.
fn untouched<T>() -> *mut T {
    UNTOUCHED as *mut T
}

const UNTOUCHED: usize = 0xa5a5_a5a5_a5a5_a5a5;

fn state_of<T>(out: *mut T) -> Out {
    match out as usize {
        0 => Out::Null,
        UNTOUCHED => Out::Untouched,
        _ => Out::Set,
    }
}

/// Every function once more, with an exception in flight.
///
/// # Safety
/// `api` is the table of the object's type.
unsafe fn pending(subject: &Subject<'_, '_>, api: &DLPackExchangeAPI) -> Vec<Pending> {
    let mut seen = Vec::new();
    let mut watch = |function: Option<Function>, call: &mut dyn FnMut() -> c_int| {
        let mut code = 0;
        let fate = errors::in_flight(subject.py, || code = call());
        seen.push(Pending { function, code, fate });
        code == 0
    };
    // SAFETY: each function gets what it gets without an exception, too.
    unsafe {
        if let Some(from_py) = api.managed_tensor_from_py_object_no_sync {
            let mut out = untouched();
            if watch(Some(Function::FromPy), &mut || from_py(subject.object(), &mut out))
                && state_of(out) == Out::Set
                && let Some(deleter) = (*out).deleter
            {
                watch(None, &mut || {
                    deleter(out);
                    0
                });
            }
        }
        if let Some(view) = api.dltensor_from_py_object_no_sync {
            let mut tensor = convert::filled();
            watch(Some(Function::View), &mut || view(subject.object(), &mut tensor));
        }
        if let Some(stream) = api.current_work_stream {
            let mut out = untouched();
            let cpu = crate::abi::DLDeviceType::CPU;
            watch(Some(Function::Stream), &mut || stream(cpu, 0, &mut out));
        }
    }
    seen
}
