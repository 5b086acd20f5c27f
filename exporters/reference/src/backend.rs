//! The **backend**: the exporter behind `dlpack_fuzz_backend.h`, as the shared object exports it.
//!
//! Goes in: descriptions of arrays and of calls. Comes out: managed tensors and errors. A handle is one
//! reference to an [`Array`]. Options: `fault=NAME` plants a [fault](crate::fault), `fault=none` none;
//! `devices=all` lets arrays claim to be on a GPU, in host memory that nobody is told of.
//!
//! Every `extern "C"` function is free of panics; were there one, the process would end here and not unwind
//! into C (MGT-DELETER-NO-UNWIND).

use crate::arguments::Request;
use crate::array::{Access, Array};
use crate::dlpack::{DataType, Device, code};
use crate::dtype::element_type;
use crate::error::Kind;
use crate::export::Export;
use crate::fault;
use crate::header::*;
use crate::memory::{self, Memory};
use std::ffi::{CStr, c_char, c_void};
use std::mem::ManuallyDrop;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

static TABLE: Backend = Backend {
    struct_size: size_of::<Backend>() as u32,
    major: MAJOR,
    minor: MINOR,
    name: c"dlpack-reference".as_ptr(),
    version: c"0.1.0".as_ptr(),
    build,
    device,
    export_array,
    release,
    live_blocks,
    references,
    devices,
    dtypes,
    option,
};

#[unsafe(no_mangle)]
pub extern "C" fn dlpack_fuzz_backend() -> *const Backend {
    &TABLE
}

/// NumPy's limit, and the largest that is known.
const MOST_AXES: usize = 64;

/// # Safety
/// The header's contract, as for all functions of the table.
unsafe extern "C" fn build(description: *const ArrayDescription, built: *mut Built) -> i32 {
    // SAFETY: the caller's structs, alive for this call.
    let (description, built) = unsafe { (&*description, &mut *built) };
    // SAFETY: the description's pointers lead to what it says.
    match unsafe { array_of(description) } {
        Ok(array) => {
            let is_known = description.device.is_host_accessible();
            built.allocation = if is_known { array.start().cast() } else { null() };
            built.allocation_size = if is_known { array.size() as u64 } else { 0 };
            built.first = if is_known { array.first().cast() } else { null() };
            built.inexpressible = null();
            built.handle = Arc::into_raw(array).cast_mut().cast();
            0
        }
        Err(reason) => {
            built.handle = null_mut();
            built.inexpressible = reason.as_ptr();
            1
        }
    }
}

/// # Safety
/// The pointers of the description lead to as much as it says.
unsafe fn array_of(description: &ArrayDescription) -> Result<Arc<Array>, &'static CStr> {
    let element = element_type(
        description.dtype,
        description.item_bytes as usize,
        description.flags & PACKED != 0,
    )?;
    let ndim = usize::try_from(description.ndim).unwrap_or(usize::MAX);
    if ndim > MOST_AXES {
        return Err(c"an array has at most 64 axes");
    }
    if !DEVICES.contains(&description.device) {
        return Err(c"there are no arrays on that device");
    }
    let mut axes = Vec::with_capacity(2 * ndim);
    let mut contents: &[u8] = &[];
    // SAFETY: `ndim` numbers each and `allocation_size` bytes, the caller says; NULL where there are none.
    unsafe {
        if ndim > 0 {
            axes.extend_from_slice(std::slice::from_raw_parts(description.shape, ndim));
            axes.extend_from_slice(std::slice::from_raw_parts(description.strides, ndim));
        }
        if description.allocation_size > 0 {
            let size = description.allocation_size as usize;
            contents = std::slice::from_raw_parts(description.contents, size);
        }
    }
    let memory = Memory::holding(contents).ok_or(c"there is not enough memory")?;
    let access =
        if description.flags & WRITABLE != 0 { Access::Writable } else { Access::ReadOnly };
    let offset = description.offset as usize;
    let array = Array::new(element, description.device, access, axes.into(), memory, offset);
    Ok(fault::built(array))
}

/// The reference that a handle is, without taking it.
///
/// # Safety
/// `handle` is from [`build`] and was not released.
unsafe fn borrow(handle: *mut c_void) -> ManuallyDrop<Arc<Array>> {
    // SAFETY: `build` made it with `into_raw`, and the copy is never dropped.
    ManuallyDrop::new(unsafe { Arc::from_raw(handle.cast::<Array>()) })
}

/// # Safety
/// As [`borrow`].
unsafe extern "C" fn device(handle: *mut c_void) -> Device {
    // SAFETY: the same.
    let array = unsafe { borrow(handle) };
    fault::device(&array)
}

/// # Safety
/// As [`borrow`]; the caller's structs are alive for this call.
unsafe extern "C" fn export_array(handle: *mut c_void, call: *const Call, answer: *mut Answer) {
    // SAFETY: the same.
    let (array, call, answer) = unsafe { (borrow(handle), &*call, &mut *answer) };
    (answer.versioned, answer.legacy) = (null_mut(), null_mut());
    (answer.error, answer.message) = (0, null());
    let outcome = fault::export(&array, &request_of(call));
    if outcome.left == Some(fault::Left::Reference) {
        std::mem::forget((*array).clone());
    }
    match outcome.result {
        Ok(export @ Export::Legacy(_)) => answer.legacy = export.into_raw(),
        Ok(export @ Export::Versioned(_)) => answer.versioned = export.into_raw(),
        Err(error) => {
            answer.error = kind_of(error.kind);
            answer.message = error.cause.message().as_ptr();
        }
    }
}

fn request_of(call: &Call) -> Request {
    let given = |flag| call.given & flag != 0;
    Request {
        stream: given(GIVEN_STREAM).then_some(call.stream),
        max_version: given(GIVEN_MAX_VERSION).then_some(call.max_version.into()),
        dl_device: given(GIVEN_DL_DEVICE).then_some(call.dl_device),
        copy: given(GIVEN_COPY).then_some(call.copy != 0),
    }
}

fn kind_of(kind: Kind) -> i32 {
    match kind {
        Kind::Buffer => BUFFER_ERROR,
        Kind::Type => TYPE_ERROR,
        Kind::Value => VALUE_ERROR,
        Kind::Overflow => OVERFLOW_ERROR,
        Kind::Runtime | Kind::NotImplemented => RUNTIME_ERROR,
        Kind::Memory => MEMORY_ERROR,
        _ => OTHER_ERROR,
    }
}

/// # Safety
/// As [`borrow`]; the handle is not used again.
unsafe extern "C" fn release(handle: *mut c_void) {
    // SAFETY: this is the reference that `build` gave.
    let array = unsafe { Arc::from_raw(handle.cast::<Array>()) };
    fault::released(&array);
}

unsafe extern "C" fn live_blocks() -> i64 {
    memory::live_blocks()
}

/// # Safety
/// As [`borrow`].
unsafe extern "C" fn references(handle: *mut c_void) -> i64 {
    // SAFETY: the same.
    unsafe { borrow(handle) }.references() as i64
}

/// Whether arrays on devices other than the CPU are offered.
static ALL_DEVICES: AtomicBool = AtomicBool::new(false);

/// Those that arrays can claim to be on; [`devices`] offers the first, unless more are asked for.
const DEVICES: [Device; 5] =
    [Device::CPU, Device::CUDA, Device::ROCM, Device::CUDA_HOST, Device::CUDA_MANAGED];

/// # Safety
/// There is room for `room` devices.
unsafe extern "C" fn devices(list: *mut Device, room: u32) -> u32 {
    let of_fault = fault::planted().and_then(|fault| fault.device);
    let is_offered = |device: &Device| {
        *device == Device::CPU || of_fault == Some(*device) || ALL_DEVICES.load(Ordering::Relaxed)
    };
    // SAFETY: the same.
    unsafe { write_list(DEVICES.into_iter().filter(is_offered), list, room) }
}

/// Every type of DLPack 1.3 in one lane, and vectors of the usual ones.
fn types() -> impl Iterator<Item = DataType> {
    let plain = [
        (code::BOOL, &[8][..]),
        (code::INT, &[8, 16, 32, 64, 4, 2, 1]),
        (code::UINT, &[8, 16, 32, 64, 4, 2, 1]),
        (code::FLOAT, &[16, 32, 64]),
        (code::BFLOAT, &[16]),
        (code::COMPLEX, &[32, 64, 128]),
        (code::FLOAT6_E2M3FN, &[6]),
        (code::FLOAT6_E3M2FN, &[6]),
        (code::FLOAT4_E2M1FN, &[4]),
    ];
    let vectors = [(code::FLOAT, 32, 4), (code::UINT, 8, 4), (code::FLOAT4_E2M1FN, 4, 2)];
    let of_bits = |(code, bits): (u8, &'static [u8])| {
        bits.iter().map(move |&bits| DataType::new(code, bits, 1))
    };
    plain
        .into_iter()
        .flat_map(of_bits)
        .chain((code::FLOAT8_E3M4..=code::FLOAT8_E8M0FNU).map(|code| DataType::new(code, 8, 1)))
        .chain(vectors.map(|(code, bits, lanes)| DataType::new(code, bits, lanes)))
}

/// # Safety
/// There is room for `room` types.
unsafe extern "C" fn dtypes(list: *mut DataType, room: u32) -> u32 {
    // SAFETY: the same.
    unsafe { write_list(types(), list, room) }
}

/// Writes what there is room for, and answers how many there are.
///
/// # Safety
/// There is room for `room` items.
unsafe fn write_list<T>(items: impl Iterator<Item = T>, list: *mut T, room: u32) -> u32 {
    let mut count = 0;
    for item in items {
        if count < room {
            // SAFETY: fewer than `room` were written before.
            unsafe { list.add(count as usize).write(item) };
        }
        count += 1;
    }
    count
}

/// # Safety
/// Both are C strings.
unsafe extern "C" fn option(name: *const c_char, value: *const c_char) -> *const c_char {
    // SAFETY: the same.
    let (name, value) = unsafe { (CStr::from_ptr(name), CStr::from_ptr(value)) };
    let wrong = match (name.to_bytes(), value.to_str()) {
        (b"fault", Ok(fault)) => match fault::plant(fault) {
            Ok(()) => return null(),
            Err(fault::Unknown) => {
                c"no fault has that name: exporters/reference/src/fault lists them"
            }
        },
        (b"devices", Ok(which @ ("all" | "cpu"))) => {
            ALL_DEVICES.store(which == "all", Ordering::Relaxed);
            return null();
        }
        (b"devices", _) => c"devices is `all` or `cpu`",
        _ => c"the options are `fault` and `devices`",
    };
    wrong.as_ptr()
}
