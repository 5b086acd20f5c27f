//! What the exporters made of Rust crates have in common: the header `dlpack_fuzz_backend.h` and an array in host
//! memory to export. Each crate includes this file and adds its `export`, which is the part under test.
//!
//! An array is reference-counted. An export keeps what it needs in a [`Keep`], which the crate's deleter must drop.

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Device {
    pub kind: i32,
    pub id: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct DType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

#[repr(C)]
pub struct Wanted {
    struct_size: u32,
    flags: u32,
    dtype: DType,
    device: Device,
    ndim: i32,
    item_bytes: u32,
    shape: *const i64,
    strides: *const i64,
    allocation_size: u64,
    offset: u64,
    contents: *const u8,
}

#[repr(C)]
pub struct Built {
    struct_size: u32,
    reserved: u32,
    handle: *const Array,
    allocation: *const c_void,
    allocation_size: u64,
    first: *const c_void,
    inexpressible: *const c_char,
}

#[repr(C)]
pub struct Call {
    struct_size: u32,
    given: u32,
    stream: i64,
    max_version: [i64; 2],
    dl_device: Device,
    copy: i32,
}

#[repr(C)]
pub struct Answer {
    struct_size: u32,
    error: i32,
    versioned: *mut c_void,
    legacy: *mut c_void,
    message: *const c_char,
}

#[repr(C)]
pub struct Table {
    struct_size: u32,
    major: u16,
    minor: u16,
    name: *const c_char,
    version: *const c_char,
    build: unsafe extern "C" fn(*const Wanted, *mut Built) -> i32,
    device: unsafe extern "C" fn(*const Array) -> Device,
    export_array: unsafe extern "C" fn(*const Array, *const Call, *mut Answer),
    release: unsafe extern "C" fn(*const Array),
    live_blocks: unsafe extern "C" fn() -> i64,
    references: unsafe extern "C" fn(*const Array) -> i64,
    devices: Option<unsafe extern "C" fn()>,
    dtypes: Option<unsafe extern "C" fn()>,
    option: Option<unsafe extern "C" fn()>,
}

// SAFETY: it points to static strings and functions only.
unsafe impl Sync for Table {}

impl Table {
    pub const fn new(name: *const c_char, version: *const c_char) -> Self {
        Self {
            struct_size: size_of::<Self>() as u32,
            major: 1,
            minor: 0,
            name,
            version,
            build,
            device,
            export_array,
            release,
            live_blocks,
            references,
            devices: None,
            dtypes: None,
            option: None,
        }
    }
}

static LIVE: AtomicI64 = AtomicI64::new(0);

/// Counts one thing that is alive.
struct Alive;

impl Alive {
    fn new() -> Self {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An array in host memory.
pub struct Array {
    _alive: Alive,
    pub dtype: DType,
    item_bytes: usize,
    pub shape: Vec<i64>,
    /// In elements.
    pub strides: Vec<i64>,
    pub is_writable: bool,
    has_odd_stride: bool,
    memory: Vec<u8>,
    offset: usize,
}

/// What an export keeps alive.
pub struct Keep {
    _alive: Alive,
    _array: Option<Arc<Array>>,
    _copy: Option<Vec<u8>>,
}

/// What an export is made of.
pub struct Export {
    pub keep: Keep,
    pub data: *mut c_void,
    pub dtype: DType,
    pub shape: Vec<i64>,
    /// In elements; `None`: the elements lie in row-major order without gaps.
    pub strides: Option<Vec<i64>>,
    pub is_copied: bool,
    pub is_read_only: bool,
    pub is_padded: bool,
}

impl Array {
    fn is_narrow(&self) -> bool {
        u32::from(self.dtype.bits) * u32::from(self.dtype.lanes) < 8
    }

    /// Number of elements, unless it is beyond what memory can hold.
    fn size(&self) -> Option<usize> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        let size = self
            .shape
            .iter()
            .try_fold(1usize, |size, &extent| size.checked_mul(extent as usize))?;
        size.checked_mul(self.item_bytes).filter(|&bytes| bytes < 1 << 40)?;
        Some(size)
    }

    fn is_compact(&self) -> bool {
        let mut step = 1i64;
        self.shape.iter().zip(&self.strides).rev().all(|(&extent, &stride)| {
            let fits = extent <= 1 || stride == step;
            step = step.saturating_mul(extent);
            fits
        })
    }

    /// The elements in row-major order without gaps.
    fn compact(&self) -> Option<Vec<u8>> {
        let size = self.size()?;
        let mut copy = Vec::with_capacity(size * self.item_bytes);
        let mut index = vec![0i64; self.shape.len()];
        for _ in 0..size {
            let at: i64 =
                index.iter().zip(&self.strides).map(|(index, stride)| index * stride).sum();
            let start = (self.offset as i64 + at * self.item_bytes as i64) as usize;
            copy.extend_from_slice(&self.memory[start..start + self.item_bytes]);
            for (place, &extent) in index.iter_mut().zip(&self.shape).rev() {
                *place += 1;
                if *place < extent {
                    break;
                }
                *place = 0;
            }
        }
        Some(copy)
    }
}

unsafe extern "C" fn build(wanted: *const Wanted, built: *mut Built) -> i32 {
    // SAFETY: the header says that both are valid during the call.
    let (wanted, built) = unsafe { (&*wanted, &mut *built) };
    if (wanted.device.kind, wanted.device.id) != (1, 0) || wanted.flags & 2 != 0 {
        built.inexpressible = c"there is host memory only, with a byte for each element".as_ptr();
        return 1;
    }
    let numbers = |pointer: *const i64| match wanted.ndim {
        0 => Vec::new(),
        // SAFETY: there are `ndim` of them.
        ndim => unsafe { std::slice::from_raw_parts(pointer, ndim as usize) }.to_vec(),
    };
    let (shape, mut strides) = (numbers(wanted.shape), numbers(wanted.strides));
    let item = i64::from(wanted.item_bytes);
    let is_empty = shape.contains(&0);
    let has_odd_stride = !is_empty
        && shape.iter().zip(&strides).any(|(&extent, &stride)| extent > 1 && stride % item != 0);
    strides.iter_mut().for_each(|stride| *stride /= item);
    // SAFETY: that many bytes are there.
    let contents =
        unsafe { std::slice::from_raw_parts(wanted.contents, wanted.allocation_size as usize) };
    let array = Arc::new(Array {
        _alive: Alive::new(),
        dtype: wanted.dtype,
        item_bytes: wanted.item_bytes as usize,
        shape,
        strides,
        is_writable: wanted.flags & 1 != 0,
        has_odd_stride,
        memory: contents.to_vec(),
        offset: wanted.offset as usize,
    });
    built.allocation = array.memory.as_ptr().cast();
    built.allocation_size = array.memory.len() as u64;
    built.first = array.memory.as_ptr().wrapping_add(array.offset).cast();
    built.handle = Arc::into_raw(array);
    0
}

unsafe extern "C" fn device(_: *const Array) -> Device {
    Device { kind: 1, id: 0 }
}

unsafe extern "C" fn release(handle: *const Array) {
    // SAFETY: the handle is `build`'s and is released once.
    drop(unsafe { Arc::from_raw(handle) });
}

unsafe extern "C" fn live_blocks() -> i64 {
    LIVE.load(Ordering::Relaxed)
}

unsafe extern "C" fn references(handle: *const Array) -> i64 {
    // SAFETY: the handle is `build`'s and not yet released; the count stays as it was.
    unsafe {
        let array = Arc::from_raw(handle);
        let count = Arc::strong_count(&array) as i64;
        let _ = Arc::into_raw(array);
        count
    }
}

const BUFFER_ERROR: i32 = 1;
const VALUE_ERROR: i32 = 3;
const MEMORY_ERROR: i32 = 6;

unsafe extern "C" fn export_array(handle: *const Array, call: *const Call, answer: *mut Answer) {
    // SAFETY: all three are valid during the call; the handle's own reference stays with its owner.
    let (array, call, answer) = unsafe {
        Arc::increment_strong_count(handle);
        (Arc::from_raw(handle), &*call, &mut *answer)
    };
    let mut fail = |error: i32, message: &'static std::ffi::CStr| {
        (answer.error, answer.message) = (error, message.as_ptr());
    };
    let is_given = |bit: u32| call.given & bit != 0;
    let is_versioned = is_given(2) && call.max_version[0] >= 1;
    if is_given(2) && call.max_version.iter().any(|&number| number < 0) {
        return fail(VALUE_ERROR, c"max_version is negative");
    }
    if is_given(1) {
        return fail(VALUE_ERROR, c"host memory has no streams: stream must be None");
    }
    if is_given(4) && (call.dl_device.kind, call.dl_device.id) != (1, 0) {
        return fail(BUFFER_ERROR, c"the array can be exported to (1, 0) only");
    }
    if array.has_odd_stride {
        return fail(BUFFER_ERROR, c"DLPack counts strides in elements");
    }
    let is_copied = is_given(8) && call.copy != 0;
    let is_read_only = !is_copied && !array.is_writable;
    if !is_versioned && (is_read_only || array.is_narrow()) {
        return fail(BUFFER_ERROR, c"the legacy struct has no flags: max_version=(1, 0) is needed");
    }
    let copy = if is_copied { array.compact() } else { None };
    if is_copied && copy.is_none() {
        return fail(MEMORY_ERROR, c"no memory for a copy");
    }
    let data = match &copy {
        _ if array.size() == Some(0) => std::ptr::null(),
        Some(copy) => copy.as_ptr(),
        None => array.memory[array.offset..].as_ptr(),
    };
    let export = Export {
        data: data.cast_mut().cast(),
        dtype: array.dtype,
        shape: array.shape.clone(),
        strides: (!is_copied && !array.is_compact()).then(|| array.strides.clone()),
        is_copied,
        is_read_only,
        is_padded: array.is_narrow(),
        keep: Keep {
            _alive: Alive::new(),
            _array: (!is_copied).then(|| array.clone()),
            _copy: copy,
        },
    };
    match crate::export(export, is_versioned) {
        Ok(tensor) if is_versioned => answer.versioned = tensor,
        Ok(tensor) => answer.legacy = tensor,
        Err(()) => fail(BUFFER_ERROR, c"the crate refuses to describe it"),
    }
}
