//! `dlpack_fuzz_backend.h`, version 1.0: what dlpack-fuzz and a shared object say to each other. The header
//! itself documents every field.

use std::ffi::{c_char, c_void};

pub const MAJOR: u16 = 1;
pub const MINOR: u16 = 0;

pub const WRITABLE: u32 = 1;
pub const PACKED: u32 = 2;

pub const GIVEN_STREAM: u32 = 1;
pub const GIVEN_MAX_VERSION: u32 = 2;
pub const GIVEN_DL_DEVICE: u32 = 4;
pub const GIVEN_COPY: u32 = 8;

pub const BUFFER_ERROR: i32 = 1;
pub const TYPE_ERROR: i32 = 2;
pub const VALUE_ERROR: i32 = 3;
pub const OVERFLOW_ERROR: i32 = 4;
pub const RUNTIME_ERROR: i32 = 5;
pub const MEMORY_ERROR: i32 = 6;
pub const OTHER_ERROR: i32 = 7;

/// `DLPackFuzzArray`
#[repr(C)]
pub struct ArrayDescription {
    pub struct_size: u32,
    pub flags: u32,
    pub dtype: crate::dlpack::DataType,
    pub device: crate::dlpack::Device,
    pub ndim: i32,
    pub item_bytes: u32,
    pub shape: *const i64,
    pub strides: *const i64,
    pub allocation_size: u64,
    pub offset: u64,
    pub contents: *const u8,
}

/// `DLPackFuzzBuilt`
#[repr(C)]
pub struct Built {
    pub struct_size: u32,
    pub reserved: u32,
    pub handle: *mut c_void,
    pub allocation: *const c_void,
    pub allocation_size: u64,
    pub first: *const c_void,
    pub inexpressible: *const c_char,
}

/// `DLPackFuzzCall`
#[repr(C)]
pub struct Call {
    pub struct_size: u32,
    pub given: u32,
    pub stream: i64,
    pub max_version: [i64; 2],
    pub dl_device: crate::dlpack::Device,
    pub copy: i32,
}

/// `DLPackFuzzResult`
#[repr(C)]
pub struct Answer {
    pub struct_size: u32,
    pub error: i32,
    pub versioned: *mut c_void,
    pub legacy: *mut c_void,
    pub message: *const c_char,
}

/// `DLPackFuzzBackend`
#[repr(C)]
pub struct Backend {
    pub struct_size: u32,
    pub major: u16,
    pub minor: u16,
    pub name: *const c_char,
    pub version: *const c_char,
    pub build: unsafe extern "C" fn(*const ArrayDescription, *mut Built) -> i32,
    pub device: unsafe extern "C" fn(*mut c_void) -> crate::dlpack::Device,
    pub export_array: unsafe extern "C" fn(*mut c_void, *const Call, *mut Answer),
    pub release: unsafe extern "C" fn(*mut c_void),
    pub live_blocks: unsafe extern "C" fn() -> i64,
    pub references: unsafe extern "C" fn(*mut c_void) -> i64,
    pub devices: unsafe extern "C" fn(*mut crate::dlpack::Device, u32) -> u32,
    pub dtypes: unsafe extern "C" fn(*mut crate::dlpack::DataType, u32) -> u32,
    pub option: unsafe extern "C" fn(*const c_char, *const c_char) -> *const c_char,
}

// SAFETY: it points at static text and functions.
unsafe impl Sync for Backend {}
