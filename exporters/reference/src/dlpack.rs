//! The structs of **DLPack 1.3**, as its C header lays them out.

use std::ffi::c_void;

/// The version that this exporter writes, whatever a caller could take (MGT-VERSION-OWN).
pub const VERSION: Version = Version { major: 1, minor: 3 };

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

/// `DLDevice`. The type is an open number: a header to come may define more.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    pub kind: i32,
    pub id: i32,
}

impl Device {
    pub const CPU: Self = Self { kind: 1, id: 0 };
    pub const CUDA: Self = Self { kind: 2, id: 0 };
    pub const CUDA_HOST: Self = Self { kind: 3, id: 0 };
    pub const ROCM: Self = Self { kind: 10, id: 0 };
    pub const CUDA_MANAGED: Self = Self { kind: 13, id: 0 };

    /// The CPU can read and write its memory.
    pub fn is_host_accessible(self) -> bool {
        matches!(self.kind, 1 | 3 | 11 | 13)
    }
}

/// `DLDataTypeCode`.
pub mod code {
    pub const INT: u8 = 0;
    pub const UINT: u8 = 1;
    pub const FLOAT: u8 = 2;
    pub const OPAQUE_HANDLE: u8 = 3;
    pub const BFLOAT: u8 = 4;
    pub const COMPLEX: u8 = 5;
    pub const BOOL: u8 = 6;
    pub const FLOAT8_E3M4: u8 = 7;
    pub const FLOAT8_E4M3: u8 = 8;
    pub const FLOAT8_E4M3FN: u8 = 10;
    pub const FLOAT8_E8M0FNU: u8 = 14;
    pub const FLOAT6_E2M3FN: u8 = 15;
    pub const FLOAT6_E3M2FN: u8 = 16;
    pub const FLOAT4_E2M1FN: u8 = 17;
}

/// `DLDataType`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataType {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}

impl DataType {
    pub const fn new(code: u8, bits: u8, lanes: u16) -> Self {
        Self { code, bits, lanes }
    }

    /// Bits of one element, all its lanes.
    pub fn element_bits(self) -> usize {
        usize::from(self.bits) * usize::from(self.lanes)
    }
}

/// `DLTensor`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    pub data: *mut c_void,
    pub device: Device,
    pub ndim: i32,
    pub dtype: DataType,
    pub shape: *mut i64,
    /// In elements.
    pub strides: *mut i64,
    /// In bytes.
    pub byte_offset: u64,
}

/// `DLManagedTensor`, the legacy struct: no version, no flags.
#[repr(C)]
#[derive(Debug)]
pub struct ManagedTensor {
    pub tensor: Tensor,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut ManagedTensor)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
#[derive(Debug)]
pub struct ManagedTensorVersioned {
    pub version: Version,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut ManagedTensorVersioned)>,
    pub flags: u64,
    pub tensor: Tensor,
}

/// The bits of `flags`; all others are 0 (MGT-FLAGS-KNOWN).
pub mod flag {
    pub const READ_ONLY: u64 = 1;
    pub const IS_COPIED: u64 = 2;
    pub const IS_SUBBYTE_TYPE_PADDED: u64 = 4;
}

/// Names of the capsules: static, as a capsule keeps the pointer only (CAP-NAME-STATIC).
pub const NAME: &std::ffi::CStr = c"dltensor";
pub const NAME_VERSIONED: &std::ffi::CStr = c"dltensor_versioned";
