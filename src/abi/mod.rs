//! DLPack 1.3 as C sees it: `#[repr(C)]` structs, open newtypes for the numbers, capsule names.
//!
//! Goes in: nothing. Comes out: layouts and constants that the rest names. A number that DLPack does not
//! define is an ordinary value here (`DLDeviceType(99)`), because a fuzzer must be able to see it; hence
//! newtypes and no Rust enums, for which an unknown value is undefined behaviour.
//!
//! Source: `dlpack.h` 1.3 (64-bit layouts). Uses no other module.

pub mod backend;
pub mod exchange;

use std::ffi::{CStr, c_void};
use std::fmt;

/// The newest DLPack version that this program knows; a higher minor turns unknown codes, devices and flag
/// bits into information (precondition P-NEWER).
pub const KNOWN_VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 3 };

/// Capsule name of a `DLManagedTensor` that no consumer has taken.
pub const NAME_LEGACY: &CStr = c"dltensor";
/// Capsule name of a `DLManagedTensorVersioned` that no consumer has taken.
pub const NAME_VERSIONED: &CStr = c"dltensor_versioned";
/// Name that a consumer gives to a legacy capsule when it takes the tensor.
pub const NAME_LEGACY_USED: &CStr = c"used_dltensor";
/// Name that a consumer gives to a versioned capsule when it takes the tensor.
pub const NAME_VERSIONED_USED: &CStr = c"used_dltensor_versioned";

/// `DLPACK_FLAG_BITMASK_READ_ONLY` (1.0).
pub const FLAG_READ_ONLY: u64 = 1;
/// `DLPACK_FLAG_BITMASK_IS_COPIED` (1.0).
pub const FLAG_IS_COPIED: u64 = 2;
/// `DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED` (1.1).
pub const FLAG_SUBBYTE_PADDED: u64 = 4;

/// Version of the struct that carries it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DLPackVersion {
    pub major: u32,
    pub minor: u32,
}

/// `DLDeviceType`, an `int32_t` enumeration in C.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DLDeviceType(pub i32);

impl DLDeviceType {
    pub const CPU: Self = Self(1);
    pub const CUDA: Self = Self(2);
    pub const CUDA_HOST: Self = Self(3);
    pub const OPENCL: Self = Self(4);
    pub const VULKAN: Self = Self(7);
    pub const METAL: Self = Self(8);
    pub const VPI: Self = Self(9);
    pub const ROCM: Self = Self(10);
    pub const ROCM_HOST: Self = Self(11);
    pub const EXT_DEV: Self = Self(12);
    pub const CUDA_MANAGED: Self = Self(13);
    pub const ONE_API: Self = Self(14);
    pub const WEB_GPU: Self = Self(15);
    /// The last type of header 1.3 (kDLTrn).
    pub const LAST_KNOWN: Self = Self(18);

    /// One of the ten types that the array API standard lists since 2023.12.
    pub fn is_array_api(self) -> bool {
        matches!(self.0, 1 | 2 | 3 | 4 | 7 | 8 | 9 | 10 | 13 | 14)
    }

    /// `data` is an address on which the host's pointer arithmetic holds (precondition P-POINTER).
    pub fn has_plain_pointers(self) -> bool {
        matches!(self.0, 1 | 2 | 3 | 10 | 11 | 13 | 14)
    }

    /// The memory can be read by the host without asking a runtime.
    pub fn is_host_accessible(self) -> bool {
        matches!(self.0, 1 | 3 | 11 | 13)
    }

    /// The header's name, or `None` for a number that header 1.3 does not define.
    pub fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            1 => "kDLCPU",
            2 => "kDLCUDA",
            3 => "kDLCUDAHost",
            4 => "kDLOpenCL",
            7 => "kDLVulkan",
            8 => "kDLMetal",
            9 => "kDLVPI",
            10 => "kDLROCM",
            11 => "kDLROCMHost",
            12 => "kDLExtDev",
            13 => "kDLCUDAManaged",
            14 => "kDLOneAPI",
            15 => "kDLWebGPU",
            16 => "kDLHexagon",
            17 => "kDLMAIA",
            18 => "kDLTrn",
            _ => return None,
        })
    }
}

/// Device of a tensor: type and index.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DLDevice {
    pub device_type: DLDeviceType,
    pub device_id: i32,
}

impl DLDevice {
    pub const CPU: Self = Self::new(1, 0);

    pub const fn new(device_type: i32, device_id: i32) -> Self {
        Self { device_type: DLDeviceType(device_type), device_id }
    }
}

impl fmt::Display for DLDevice {
    /// As the Python tuple that it is in a call.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.device_type.0, self.device_id)
    }
}

/// `DLDataTypeCode`, a `uint8_t` in the struct.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DLDataTypeCode(pub u8);

impl DLDataTypeCode {
    pub const INT: Self = Self(0);
    pub const UINT: Self = Self(1);
    pub const FLOAT: Self = Self(2);
    pub const OPAQUE_HANDLE: Self = Self(3);
    pub const BFLOAT: Self = Self(4);
    pub const COMPLEX: Self = Self(5);
    pub const BOOL: Self = Self(6);
    pub const FLOAT8_E3M4: Self = Self(7);
    pub const FLOAT8_E8M0FNU: Self = Self(14);
    pub const FLOAT6_E2M3FN: Self = Self(15);
    pub const FLOAT6_E3M2FN: Self = Self(16);
    /// The last code of header 1.3.
    pub const FLOAT4_E2M1FN: Self = Self(17);

    pub fn is_float8(self) -> bool {
        (Self::FLOAT8_E3M4.0..=Self::FLOAT8_E8M0FNU.0).contains(&self.0)
    }
}

/// Element type: `bits` counts one lane, a complex number's two parts together.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DLDataType {
    pub code: DLDataTypeCode,
    pub bits: u8,
    pub lanes: u16,
}

impl DLDataType {
    pub const fn new(code: u8, bits: u8, lanes: u16) -> Self {
        Self { code: DLDataTypeCode(code), bits, lanes }
    }

    /// Bytes of one unpacked element: `ceil(bits * lanes / 8)` (header 1.3).
    pub fn item_size(self) -> usize {
        (usize::from(self.bits) * usize::from(self.lanes)).div_ceil(8)
    }
}

impl fmt::Display for DLDataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {}, {})", self.code.0, self.bits, self.lanes)
    }
}

/// The tensor itself. `shape` and `strides` count elements and have `ndim` entries.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    pub data: *mut c_void,
    pub device: DLDevice,
    pub ndim: i32,
    pub dtype: DLDataType,
    pub shape: *mut i64,
    pub strides: *mut i64,
    pub byte_offset: u64,
}

/// The struct behind a capsule named `dltensor`.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    pub dl_tensor: DLTensor,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// The struct behind a capsule named `dltensor_versioned`. Fields up to `flags` stay in place across major
/// versions; nothing behind them may be read when `version.major` is not 1.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    pub version: DLPackVersion,
    pub manager_ctx: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    pub flags: u64,
    pub dl_tensor: DLTensor,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{align_of, offset_of, size_of};

    /// The numbers are gcc's for `dlpack.h` 1.3 on x86-64.
    #[test]
    fn layouts_are_those_of_the_c_header() {
        assert_eq!((size_of::<DLPackVersion>(), align_of::<DLPackVersion>()), (8, 4));
        assert_eq!((size_of::<DLDevice>(), align_of::<DLDevice>()), (8, 4));
        assert_eq!((size_of::<DLDataType>(), align_of::<DLDataType>()), (4, 2));
        assert_eq!((size_of::<DLTensor>(), align_of::<DLTensor>()), (48, 8));
        assert_eq!(offset_of!(DLTensor, device), 8);
        assert_eq!(offset_of!(DLTensor, ndim), 16);
        assert_eq!(offset_of!(DLTensor, dtype), 20);
        assert_eq!(offset_of!(DLTensor, shape), 24);
        assert_eq!(offset_of!(DLTensor, strides), 32);
        assert_eq!(offset_of!(DLTensor, byte_offset), 40);
        assert_eq!(size_of::<DLManagedTensor>(), 64);
        assert_eq!(offset_of!(DLManagedTensor, manager_ctx), 48);
        assert_eq!(offset_of!(DLManagedTensor, deleter), 56);
        assert_eq!(size_of::<DLManagedTensorVersioned>(), 80);
        assert_eq!(offset_of!(DLManagedTensorVersioned, manager_ctx), 8);
        assert_eq!(offset_of!(DLManagedTensorVersioned, deleter), 16);
        assert_eq!(offset_of!(DLManagedTensorVersioned, flags), 24);
        assert_eq!(offset_of!(DLManagedTensorVersioned, dl_tensor), 32);
    }
}
