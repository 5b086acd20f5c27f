//! The allocator and the current stream.

use super::{Subject, state_of, untouched};
use crate::abi::exchange::{DLPackExchangeAPI, ManagedTensorAllocator};
use crate::abi::{DLDataType, DLDevice, DLManagedTensorVersioned, DLTensor};
use crate::case::{Dtype, Shape, Tensor};
use crate::host::{Detail, consumer, errors};
use crate::oracle::{
    Allocation, Answer, DlTensor, Exportable, Kind, Managed, Out, Prototype, Source, Stream,
    UNKNOWN_DEVICE, Wanted,
};
use pyo3::ffi;
use std::ffi::{c_char, c_void};

/// So many bytes are written at most; more would measure the machine.
const MOST_BYTES: u64 = 1 << 20;

/// Devices whose stream is asked for: the host, one that few have, one that nobody has.
const DEVICES: [DLDevice; 3] = [DLDevice::CPU, DLDevice::new(2, 7), UNKNOWN_DEVICE];

/// Asks for every prototype.
///
/// # Safety
/// `api` is the table of the object's type, and the interpreter is attached.
pub unsafe fn allocate(
    subject: &Subject<'_, '_>,
    api: &DLPackExchangeAPI,
    tensor: &Tensor,
) -> Vec<Allocation> {
    let Some(function) = api.managed_tensor_allocator else { return Vec::new() };
    let prototypes = Prototype::ALL.into_iter().filter_map(|it| Some((it, it.wanted(tensor)?)));
    // SAFETY: as the caller says.
    let make = |(prototype, wanted)| unsafe {
        attempt(subject, function, prototype, wanted, |call| call())
    };
    prototypes.map(make).collect()
}

/// The plain prototype, asked for while no thread of Python runs here.
///
/// # Safety
/// As [`allocate`].
pub unsafe fn without_gil(
    subject: &Subject<'_, '_>,
    api: &DLPackExchangeAPI,
    tensor: &Tensor,
) -> Option<Allocation> {
    let function = api.managed_tensor_allocator?;
    let wanted = Prototype::Plain.wanted(tensor)?;
    // SAFETY: the thread's state is saved and put back around a call that touches no object of ours.
    let released = |call: &mut dyn FnMut() -> i32| unsafe {
        let state = ffi::PyEval_SaveThread();
        let code = call();
        ffi::PyEval_RestoreThread(state);
        code
    };
    // SAFETY: as the caller says.
    Some(unsafe { attempt(subject, function, Prototype::Plain, wanted, released) })
}

/// # Safety
/// As [`allocate`].
unsafe fn attempt(
    subject: &Subject<'_, '_>,
    function: ManagedTensorAllocator,
    prototype: Prototype,
    Wanted { dtype, mut shape, device }: Wanted,
    around: impl Fn(&mut dyn FnMut() -> i32) -> i32,
) -> Allocation {
    let mut complaints = 0u32;
    // What must not be read is wrong, but leads nowhere forbidden.
    let mut elsewhere = [-77i64; 64];
    let garbage = prototype == Prototype::Garbage;
    let mut asked = DLTensor {
        data: if garbage { elsewhere.as_mut_ptr().cast() } else { std::ptr::null_mut() },
        device,
        ndim: shape.len() as i32,
        dtype,
        shape: if shape.is_empty() { std::ptr::null_mut() } else { shape.as_mut_ptr() },
        strides: if garbage { elsewhere.as_mut_ptr() } else { std::ptr::null_mut() },
        byte_offset: if garbage { 0xa5a5_a5a5 } else { 0 },
    };
    let mut out: *mut DLManagedTensorVersioned = untouched();
    let context: *mut c_void = (&raw mut complaints).cast();
    // SAFETY: every pointer leads to something of ours that outlives the call.
    let code = around(&mut || unsafe { function(&mut asked, &mut out, context, Some(complain)) });
    let answer = subject.answer(code, out);
    // SAFETY: a success gives a tensor of our own, which is read, filled and deleted once.
    let managed = (answer.succeeded() && answer.out == Out::Set).then(|| unsafe {
        let managed = read(out, &shape, dtype);
        if let Some(tensor) = &managed.tensor
            && (tensor.dtype, &tensor.shape) == (dtype, &shape)
        {
            fill(tensor, managed.flags);
        }
        if let Some(deleter) = (*out).deleter {
            deleter(out);
        }
        errors::take(subject.py, Detail::Brief);
        managed
    });
    Allocation { prototype, dtype, shape, device, answer, complaints, managed }
}

/// SetError: counts its calls.
///
/// # Safety
/// `context` is the one that was handed to the allocator.
unsafe extern "C" fn complain(context: *mut c_void, _kind: *const c_char, _message: *const c_char) {
    // SAFETY: the context is a counter on the caller's stack.
    unsafe { *context.cast::<u32>() += 1 };
}

/// # Safety
/// `owned` is alive.
unsafe fn read(owned: *mut DLManagedTensorVersioned, shape: &Shape, dtype: DLDataType) -> Managed {
    // There is no array to compare with.
    let source = Source {
        shape: shape.clone(),
        strides: Shape::new(),
        item_size: dtype.item_size(),
        address: None,
        allocation: None,
        writable: None,
        exportable: Exportable::Unknown,
        is_special: false,
        values: None,
        unchanged: Ok(()),
    };
    // SAFETY: as the caller says.
    unsafe { consumer::read(owned as usize, Kind::Versioned, &source, Dtype::FLOAT32) }
}

/// Writes every byte of a tensor that is what was asked for: a sanitizer sees memory that is too small.
///
/// # Safety
/// The tensor is alive and was just allocated.
unsafe fn fill(tensor: &DlTensor, flags: u64) {
    let size =
        tensor.shape.iter().fold(1u64, |size, &extent| size.saturating_mul(extent.max(0) as u64));
    let bytes = size.saturating_mul(tensor.dtype.item_size() as u64);
    let Some(first) = tensor.first().filter(|&first| first != 0) else { return };
    if flags & crate::abi::FLAG_READ_ONLY != 0
        || tensor.device != DLDevice::CPU
        || bytes > MOST_BYTES
    {
        return;
    }
    for place in 0..bytes as usize {
        // SAFETY: the allocator promises that many writable bytes.
        unsafe { (first as *mut u8).add(place).write_volatile(0x5a) };
    }
}

/// # Safety
/// As [`allocate`].
pub unsafe fn streams(subject: &Subject<'_, '_>, api: &DLPackExchangeAPI) -> Vec<Stream> {
    let Some(function) = api.current_work_stream else { return Vec::new() };
    DEVICES
        .into_iter()
        .map(|device| {
            let mut out = untouched();
            // SAFETY: `out` is a place of our own.
            let code = unsafe { function(device.device_type, device.device_id, &mut out) };
            let error = errors::take(subject.py, subject.detail);
            Stream { device, answer: Answer { code, error, out: state_of(out) } }
        })
        .collect()
}
