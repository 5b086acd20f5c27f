//! Python object to tensor: the owning export and the view.

use super::{Subject, untouched};
use crate::abi::exchange::{DLPackExchangeAPI, ManagedTensorFromPyObjectNoSync};
use crate::abi::{DLManagedTensorVersioned, DLTensor};
use crate::host::{Detail, consumer, errors};
use crate::oracle::{Answer, FromPy, Kept, Kind, Out, Second, View};
use std::ffi::c_int;

/// Rounds before and while references are counted: a cache fills in the first few, a leak grows in all.
const WARM_UP_ROUNDS: u32 = 8;
const ROUNDS: u32 = 64;

type Owned = *mut DLManagedTensorVersioned;

/// # Safety
/// `api` is the table of the object's type.
pub unsafe fn from_py(subject: &Subject<'_, '_>, api: &DLPackExchangeAPI) -> Option<FromPy> {
    let function = api.managed_tensor_from_py_object_no_sync?;
    let before = subject.references();
    // SAFETY: the function is the object's type's; a result is read while it lives and deleted once.
    unsafe {
        let (answer, owned) = export(subject, function);
        let Some(owned) = owned else {
            let kept = kept(subject, before, || {
                let (_, owned) = export(subject, function);
                owned.into_iter().for_each(|owned| release(owned));
            });
            return Some(FromPy {
                answer,
                pointer: 0,
                managed: None,
                second: Second::NotTried,
                kept,
                error_after_release: None,
            });
        };
        let exportee = subject.exportee;
        let managed =
            consumer::read(owned as usize, Kind::Versioned, exportee.source, exportee.dtype);
        let second = second(subject, function, owned, managed.tensor.is_some());
        release(owned);
        let raised = errors::take(subject.py, Detail::Brief);
        let kept = kept(subject, before, || {
            let (_, owned) = export(subject, function);
            owned.into_iter().for_each(|owned| release(owned));
        });
        Some(FromPy {
            answer,
            pointer: owned as usize,
            managed: Some(managed),
            second,
            kept,
            error_after_release: raised.map(|raised| raised.name),
        })
    }
}

/// One export: how it ended, and the struct if it succeeded.
///
/// # Safety
/// As [`from_py`].
unsafe fn export(
    subject: &Subject<'_, '_>,
    function: ManagedTensorFromPyObjectNoSync,
) -> (Answer, Option<Owned>) {
    let mut out = untouched();
    // SAFETY: the object is alive and of the table's type; `out` is a place of our own.
    let code = unsafe { function(subject.object(), &mut out) };
    let answer = subject.answer(code, out);
    let owned = (answer.succeeded() && answer.out == Out::Set).then_some(out);
    (answer, owned)
}

/// # Safety
/// `owned` came from [`export`] and is released once.
unsafe fn release(owned: Owned) {
    // SAFETY: the deleter lies at the same place in every major version.
    unsafe {
        if let Some(deleter) = (*owned).deleter {
            deleter(owned);
        }
    }
}

/// Exports again while `first` lives.
///
/// # Safety
/// As [`from_py`]; `first` lives, and its tensor can be read if `readable` says so.
unsafe fn second(
    subject: &Subject<'_, '_>,
    function: ManagedTensorFromPyObjectNoSync,
    first: Owned,
    readable: bool,
) -> Second {
    // SAFETY: `first` is alive; what is read of it was read before.
    unsafe {
        let content = || {
            let head = (first as *const [u64; 4]).read_unaligned();
            let tensor = readable.then(|| {
                let tensor = (*first).dl_tensor;
                let fields = [tensor.data as usize, tensor.shape as usize, tensor.strides as usize];
                let numbers = [tensor.shape, tensor.strides].map(|it| axes(it, tensor.ndim));
                (fields, tensor.device, tensor.dtype, tensor.byte_offset, numbers)
            });
            (head, tensor)
        };
        let before = content();
        let (_, owned) = export(subject, function);
        match owned {
            None => Second::NotTried,
            Some(owned) if owned == first => Second::SameStruct,
            Some(owned) => {
                release(owned);
                errors::take(subject.py, Detail::Brief);
                if content() == before { Second::Separate } else { Second::Disturbs }
            }
        }
    }
}

/// # Safety
/// `api` is the table of the object's type.
pub unsafe fn view(subject: &Subject<'_, '_>, api: &DLPackExchangeAPI) -> Option<View> {
    let function = api.dltensor_from_py_object_no_sync?;
    let before = subject.references();
    let call = |tensor: &mut DLTensor| -> c_int {
        // SAFETY: the object is alive and of the table's type; the struct is our own.
        unsafe { function(subject.object(), tensor) }
    };
    let mut filled_in = filled();
    let code = call(&mut filled_in);
    let mut answer = subject.answer(code, std::ptr::null_mut::<u8>());
    let unwritten = unwritten(&filled_in);
    // The struct is the out parameter: on failure it matters whether anything was written.
    answer.out = if unwritten.len() == FIELDS.len() { Out::Untouched } else { Out::Set };
    let leads_astray =
        unwritten.iter().any(|&field| filled_in.ndim != 0 || !matches!(field, "shape" | "strides"));
    let mut stays = true;
    let tensor = if answer.succeeded() && !leads_astray {
        let exportee = subject.exportee;
        // SAFETY: the exporter says that this describes the live object, and all of it was written.
        unsafe {
            let tensor = consumer::read_tensor(&filled_in, exportee.source, exportee.dtype);
            if tensor.is_some() {
                stays = holds(&filled_in, || {
                    call(&mut filled());
                    errors::take(subject.py, Detail::Brief);
                });
            }
            tensor
        }
    } else {
        None
    };
    let kept = kept(subject, before, || {
        call(&mut filled());
        errors::take(subject.py, Detail::Brief);
    });
    let unwritten = if answer.succeeded() { unwritten } else { Vec::new() };
    Some(View { answer, tensor, unwritten, stays, kept })
}

const FIELDS: [(&str, usize, usize); 8] = {
    use std::mem::offset_of;
    [
        ("data", offset_of!(DLTensor, data), 8),
        ("device_type", offset_of!(DLTensor, device), 4),
        ("device_id", offset_of!(DLTensor, device) + 4, 4),
        ("ndim", offset_of!(DLTensor, ndim), 4),
        ("dtype", offset_of!(DLTensor, dtype), 4),
        ("shape", offset_of!(DLTensor, shape), 8),
        ("strides", offset_of!(DLTensor, strides), 8),
        ("byte_offset", offset_of!(DLTensor, byte_offset), 8),
    ]
};

/// A struct whose every byte is 0xA5.
pub fn filled() -> DLTensor {
    // SAFETY: every field is an integer or a raw pointer, for which any bytes are a value.
    unsafe { std::mem::transmute([0xa5u8; size_of::<DLTensor>()]) }
}

/// Names of the fields that nobody wrote. No field can have this content: no device, dtype or number of
/// axes is that large, and no address is.
fn unwritten(tensor: &DLTensor) -> Vec<&'static str> {
    // SAFETY: the struct has no padding, and all its bytes are initialised.
    let bytes: [u8; size_of::<DLTensor>()] = unsafe { std::mem::transmute(*tensor) };
    let is_left = |&&(_, start, length): &&(&str, usize, usize)| {
        bytes[start..start + length].iter().all(|&byte| byte == 0xa5)
    };
    FIELDS.iter().filter(is_left).map(|&(name, ..)| name).collect()
}

/// Shape and strides read the same after `work`, and after other blocks came and went.
///
/// # Safety
/// The tensor was read a moment ago.
unsafe fn holds(tensor: &DLTensor, mut work: impl FnMut()) -> bool {
    // SAFETY: as the caller says; where the memory is gone by now, a sanitizer says so.
    let content =
        || unsafe { (axes(tensor.shape, tensor.ndim), axes(tensor.strides, tensor.ndim)) };
    let before = content();
    for length in [1, 2, 3, 4, 6, 8, 12, 16, 32, 64] {
        let blocks: Vec<Vec<i64>> = (0..16).map(|_| vec![0x5a5a_5a5a; length]).collect();
        std::hint::black_box(&blocks);
    }
    work();
    content() == before
}

/// # Safety
/// The pointer is NULL or leads to `ndim` numbers.
unsafe fn axes(pointer: *const i64, ndim: i32) -> Vec<i64> {
    if pointer.is_null() || !pointer.is_aligned() {
        return Vec::new();
    }
    // SAFETY: as the caller says; volatile, because it is read to see whether it changed.
    (0..ndim.max(0) as usize).map(|axis| unsafe { pointer.add(axis).read_volatile() }).collect()
}

/// References that are left now, and what more rounds add to them.
fn kept(subject: &Subject<'_, '_>, before: isize, mut round: impl FnMut()) -> Kept {
    let once = subject.references() - before;
    let growth = (once != 0).then(|| {
        (0..WARM_UP_ROUNDS).for_each(|_| round());
        let start = subject.references();
        (0..ROUNDS).for_each(|_| round());
        (subject.references() - start) as f64 / f64::from(ROUNDS)
    });
    Kept { once, growth }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::DLDevice;
    use crate::host::exchange::state_of;

    #[test]
    fn fields_that_nobody_wrote_are_named() {
        let mut tensor = filled();
        assert_eq!(unwritten(&tensor).len(), FIELDS.len());
        tensor.device = DLDevice::CPU;
        tensor.byte_offset = 0;
        tensor.shape = std::ptr::null_mut();
        assert_eq!(unwritten(&tensor), ["data", "ndim", "dtype", "strides"]);
        assert_eq!(state_of(untouched::<u8>()), Out::Untouched);
    }
}
