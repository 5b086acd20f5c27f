//! The **backend header** `include/dlpack_fuzz_backend.h`, version 1.0, as Rust sees it: what a shared object
//! exports to be fuzzed.
//!
//! Goes in: nothing. Comes out: layouts; who owns what and for how long is said in the header. Function
//! pointers are `Option`s, because a table that lacks one is an input here. `tests/layouts.rs` compares every
//! field with a C compiler.

use super::{DLDataType, DLDevice};
use std::ffi::{c_char, c_void};

/// The header that this program is made with.
pub const MAJOR: u16 = 1;
pub const MINOR: u16 = 0;

/// The one symbol of a shared object: [`Entry`].
pub const ENTRY: &std::ffi::CStr = c"dlpack_fuzz_backend";

/// `dlpack_fuzz_backend()`.
pub type Entry = unsafe extern "C" fn() -> *const Table;

/// Flags of [`Array`].
pub const WRITABLE: u32 = 1;
pub const PACKED: u32 = 2;

/// `DLPackFuzzArray`: the array to build.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Array {
    pub struct_size: u32,
    pub flags: u32,
    pub dtype: DLDataType,
    pub device: DLDevice,
    pub ndim: i32,
    pub item_bytes: u32,
    pub shape: *const i64,
    /// In bytes; in elements for a packed array.
    pub strides: *const i64,
    pub allocation_size: u64,
    pub offset: u64,
    pub contents: *const u8,
}

/// `DLPackFuzzBuilt`: what was built.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Built {
    pub struct_size: u32,
    pub reserved: u32,
    pub handle: *mut c_void,
    pub allocation: *const c_void,
    pub allocation_size: u64,
    pub first: *const c_void,
    pub inexpressible: *const c_char,
}

/// Bits of [`Call::given`].
pub const GIVEN_STREAM: u32 = 1;
pub const GIVEN_MAX_VERSION: u32 = 2;
pub const GIVEN_DL_DEVICE: u32 = 4;
pub const GIVEN_COPY: u32 = 8;

/// `DLPackFuzzCall`: the arguments of an export.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub struct_size: u32,
    pub given: u32,
    pub stream: i64,
    pub max_version: [i64; 2],
    pub dl_device: DLDevice,
    pub copy: i32,
}

/// Values of [`Answer::error`].
pub const BUFFER_ERROR: i32 = 1;
pub const TYPE_ERROR: i32 = 2;
pub const VALUE_ERROR: i32 = 3;
pub const OVERFLOW_ERROR: i32 = 4;
pub const RUNTIME_ERROR: i32 = 5;
pub const MEMORY_ERROR: i32 = 6;
pub const OTHER_ERROR: i32 = 7;

/// `DLPackFuzzResult`: what an export gave.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    pub struct_size: u32,
    pub error: i32,
    pub versioned: *mut c_void,
    pub legacy: *mut c_void,
    pub message: *const c_char,
}

/// `DLPackFuzzBackend`: the table.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Table {
    pub struct_size: u32,
    pub major: u16,
    pub minor: u16,
    pub name: *const c_char,
    pub version: *const c_char,
    pub build: Option<unsafe extern "C" fn(*const Array, *mut Built) -> i32>,
    pub device: Option<unsafe extern "C" fn(*mut c_void) -> DLDevice>,
    pub export_array: Option<unsafe extern "C" fn(*mut c_void, *const Call, *mut Answer)>,
    pub release: Option<unsafe extern "C" fn(*mut c_void)>,
    pub live_blocks: Option<unsafe extern "C" fn() -> i64>,
    pub references: Option<unsafe extern "C" fn(*mut c_void) -> i64>,
    pub devices: Option<unsafe extern "C" fn(*mut DLDevice, u32) -> u32>,
    pub dtypes: Option<unsafe extern "C" fn(*mut DLDataType, u32) -> u32>,
    pub option: Option<unsafe extern "C" fn(*const c_char, *const c_char) -> *const c_char>,
}

impl Table {
    /// A table that offers nothing; what a shorter table of an older header does not cover stays like this.
    pub const EMPTY: Self = Self {
        struct_size: 0,
        major: 0,
        minor: 0,
        name: std::ptr::null(),
        version: std::ptr::null(),
        build: None,
        device: None,
        export_array: None,
        release: None,
        live_blocks: None,
        references: None,
        devices: None,
        dtypes: None,
        option: None,
    };
}
