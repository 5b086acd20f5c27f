//! Tensor to Python object: **parcels** that the host makes, with a deleter that counts.

use super::{Subject, untouched};
use crate::abi::exchange::DLPackExchangeAPI;
use crate::abi::{
    DLDataType, DLDevice, DLManagedTensorVersioned, DLPackVersion, DLTensor, KNOWN_VERSION,
};
use crate::host::{Detail, errors};
use crate::oracle::{Imported, Out, Parcel, ToPy, UNKNOWN_CODE, UNKNOWN_DEVICE};
use pyo3::ffi;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};

/// Parcels whose memory is kept for late readers and late deleter calls.
const KEPT: usize = 64;
const LENGTH: usize = 6;
thread_local! {
    static POST: RefCell<VecDeque<Box<Packed>>> = const { RefCell::new(VecDeque::new()) };
}

/// A tensor with all that it points to, at a fixed address.
struct Packed {
    managed: DLManagedTensorVersioned,
    shape: [i64; 1],
    strides: [i64; 1],
    data: [f32; LENGTH],
    deleted: AtomicU32,
}

/// Hands every parcel over.
///
/// # Safety
/// `api` is the table of the object's type, and the interpreter is attached.
pub unsafe fn to_py(subject: &Subject<'_, '_>, api: &DLPackExchangeAPI) -> Vec<ToPy> {
    let Some(function) = api.managed_tensor_to_py_object_no_sync else { return Vec::new() };
    Parcel::ALL
        .into_iter()
        .map(|parcel| {
            let mut packed = pack(parcel);
            let mut out = untouched();
            // SAFETY: the tensor and everything in it live in `packed`, which outlives the object.
            let code = unsafe { function(&mut packed.managed, &mut out) };
            let answer = subject.answer(code, out);
            let arrived = answer.succeeded() && answer.out == Out::Set;
            // SAFETY: a success gives a reference of our own.
            let object = arrived.then(|| unsafe { unpack(subject, out.cast()) });
            if object.is_some()
                && packed.deleted.load(Ordering::SeqCst) == 0
                && parcel != Parcel::NoDeleter
            {
                // What frees lazily gets its chance.
                // SAFETY: the interpreter is attached.
                unsafe { ffi::PyGC_Collect() };
            }
            errors::take(subject.py, Detail::Brief);
            let deleted = packed.deleted.load(Ordering::SeqCst);
            POST.with_borrow_mut(|post| {
                post.push_back(packed);
                if post.len() > KEPT {
                    post.pop_front();
                }
            });
            ToPy { parcel, answer, object, deleted }
        })
        .collect()
}

/// Looks at the object and lets it die.
///
/// # Safety
/// `object` is an owned reference.
unsafe fn unpack(subject: &Subject<'_, '_>, object: *mut ffi::PyObject) -> Imported {
    // SAFETY: the object is alive until its reference is given back.
    unsafe {
        let (made, wanted) = (ffi::Py_TYPE(object), ffi::Py_TYPE(subject.exportee.object.as_ptr()));
        // The array of the case may be of a sub-class, such as a parameter, of what the table makes.
        let fits = ffi::PyType_IsSubtype(made, wanted) != 0
            || ffi::PyType_IsSubtype(wanted, made) != 0 && made != &raw mut ffi::PyBaseObject_Type;
        let type_name = errors::type_name(made);
        let references = ffi::Py_REFCNT(object) as isize;
        ffi::Py_DECREF(object);
        Imported { type_name, fits, references }
    }
}

fn pack(parcel: Parcel) -> Box<Packed> {
    let mut dtype = DLDataType::new(2, 32, 1);
    let mut device = DLDevice::CPU;
    let mut version = DLPackVersion { minor: KNOWN_VERSION.minor, ..KNOWN_VERSION };
    let mut deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)> = Some(count);
    match parcel {
        Parcel::Plain => {}
        Parcel::NoDeleter => deleter = None,
        Parcel::MajorTwo => version = DLPackVersion { major: 2, minor: 0 },
        Parcel::UnknownDtype => dtype = DLDataType::new(UNKNOWN_CODE, 32, 1),
        Parcel::UnknownDevice => device = UNKNOWN_DEVICE,
    }
    let mut packed = Box::new(Packed {
        managed: DLManagedTensorVersioned {
            version,
            manager_ctx: std::ptr::null_mut(),
            deleter,
            flags: 0,
            dl_tensor: DLTensor {
                data: std::ptr::null_mut(),
                device,
                ndim: 1,
                dtype,
                shape: std::ptr::null_mut(),
                strides: std::ptr::null_mut(),
                byte_offset: 0,
            },
        },
        shape: [LENGTH as i64],
        strides: [1],
        data: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        deleted: AtomicU32::new(0),
    });
    packed.managed.manager_ctx = (&raw mut packed.deleted).cast();
    packed.managed.dl_tensor.data = packed.data.as_mut_ptr().cast();
    packed.managed.dl_tensor.shape = packed.shape.as_mut_ptr();
    packed.managed.dl_tensor.strides = packed.strides.as_mut_ptr();
    packed
}

/// The deleter of every parcel. The memory stays, so that a second call is counted and harms nobody.
///
/// # Safety
/// `tensor` is a parcel's.
unsafe extern "C" fn count(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: the context is the parcel's counter, which lives as long as the parcel.
    unsafe { (*(*tensor).manager_ctx.cast::<AtomicU32>()).fetch_add(1, Ordering::SeqCst) };
}
