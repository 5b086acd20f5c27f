//! The **C exchange API**: a table of C functions that a Python array type offers beside `__dlpack__`, so
//! that a consumer needs neither a capsule nor a Python call.
//!
//! Goes in: nothing. Comes out: the table's layout, its function types and the names under which a type
//! holds it. Source: `dlpack.h` 1.3 (the table came with 1.2, the capsule with 1.3). Every function returns
//! 0, or another number (-1) after a failure; a Python exception is set then, but for the allocator, which
//! tells by its callback. All are called with the GIL held.

use super::{DLDeviceType, DLManagedTensorVersioned, DLPackVersion, DLTensor};
use std::ffi::{CStr, c_char, c_int, c_void};

/// Name of the capsule that holds the table (XCH-CAPSULE).
pub const NAME_EXCHANGE: &CStr = c"dlpack_exchange_api";
/// The attribute of the type (1.3).
pub const ATTRIBUTE: &str = "__dlpack_c_exchange_api__";
/// The attribute of 1.2, an int that is the table's address (XCH-OLD-NAME).
pub const ATTRIBUTE_OLD: &str = "__c_dlpack_exchange_api__";

/// The allocator's way to say what went wrong: its context, the name of an exception type, a message.
pub type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// Makes an array of the prototype's dtype, ndim, shape and device; reads nothing else of it.
pub type ManagedTensorAllocator = unsafe extern "C" fn(
    *mut DLTensor,
    *mut *mut DLManagedTensorVersioned,
    *mut c_void,
    Option<SetError>,
) -> c_int;

/// Exports a Python object; the caller owns the result.
pub type ManagedTensorFromPyObjectNoSync =
    unsafe extern "C" fn(*mut c_void, *mut *mut DLManagedTensorVersioned) -> c_int;

/// Makes a Python object of a tensor, which it takes over.
pub type ManagedTensorToPyObjectNoSync =
    unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut *mut c_void) -> c_int;

/// Describes a Python object in a tensor of the caller's; what that points to stays the producer's.
pub type DLTensorFromPyObjectNoSync = unsafe extern "C" fn(*mut c_void, *mut DLTensor) -> c_int;

/// The stream on which the producer works on that device.
pub type CurrentWorkStream = unsafe extern "C" fn(DLDeviceType, i32, *mut *mut c_void) -> c_int;

/// What stays in place across major versions.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLPackExchangeAPIHeader {
    pub version: DLPackVersion,
    /// An older table, or NULL (XCH-PREV).
    pub prev_api: *mut DLPackExchangeAPIHeader,
}

/// The table of major version 1. Only `dltensor_from_py_object_no_sync` may be NULL (XCH-FN-NONNULL).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLPackExchangeAPI {
    pub header: DLPackExchangeAPIHeader,
    pub managed_tensor_allocator: Option<ManagedTensorAllocator>,
    pub managed_tensor_from_py_object_no_sync: Option<ManagedTensorFromPyObjectNoSync>,
    pub managed_tensor_to_py_object_no_sync: Option<ManagedTensorToPyObjectNoSync>,
    pub dltensor_from_py_object_no_sync: Option<DLTensorFromPyObjectNoSync>,
    pub current_work_stream: Option<CurrentWorkStream>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    /// The numbers are gcc's for `dlpack.h` 1.3 on x86-64.
    #[test]
    fn layouts_are_those_of_the_c_header() {
        assert_eq!(size_of::<DLPackExchangeAPIHeader>(), 16);
        assert_eq!(offset_of!(DLPackExchangeAPIHeader, prev_api), 8);
        assert_eq!(size_of::<DLPackExchangeAPI>(), 56);
        let offsets = [
            offset_of!(DLPackExchangeAPI, managed_tensor_allocator),
            offset_of!(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync),
            offset_of!(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync),
            offset_of!(DLPackExchangeAPI, dltensor_from_py_object_no_sync),
            offset_of!(DLPackExchangeAPI, current_work_stream),
        ];
        assert_eq!(offsets, [16, 24, 32, 40, 48]);
    }
}
