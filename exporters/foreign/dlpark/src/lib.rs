//! The crate `dlpark` as an exporter: `metadata::Dynamic` makes the structs, with compact strides of its own where
//! the elements lie without gaps.

#[path = "../../glue.rs"]
mod glue;

use dlpark::ffi::{
    DLDataType, DLDataTypeCode, DLDevice, DLManagedTensor, DLManagedTensorVersioned,
};
use dlpark::metadata::Dynamic;
use dlpark::{DlpackFlags, ManagedTensorBase};
use glue::{Export, Table};
use std::ffi::c_void;

static TABLE: Table = Table::new(c"dlpark".as_ptr(), c"0.10.0".as_ptr());

#[unsafe(no_mangle)]
extern "C" fn dlpack_fuzz_backend() -> *const Table {
    &TABLE
}

fn export(export: Export, is_versioned: bool) -> Result<*mut c_void, ()> {
    if is_versioned {
        describe::<DLManagedTensorVersioned>(export)
    } else {
        describe::<DLManagedTensor>(export)
    }
}

fn describe<M: ManagedTensorBase>(export: Export) -> Result<*mut c_void, ()> {
    let flags = [
        (export.is_read_only, DlpackFlags::READ_ONLY),
        (export.is_copied, DlpackFlags::IS_COPIED),
        (export.is_padded, DlpackFlags::IS_SUBBYTE_TYPE_PADDED),
    ];
    let flags = (flags.into_iter())
        .filter(|(is_set, _)| *is_set)
        .fold(DlpackFlags::empty(), |all, (_, flag)| all | flag);
    let keep = Box::new(export.keep);
    let made = match export.strides {
        Some(strides) => Dynamic::new(export.shape, strides).initialize_as::<M>(keep),
        None => Dynamic::compact(export.shape).initialize_as::<M>(keep),
    };
    let mut made = made.map_err(drop)?;
    made.set_data(export.data);
    made.set_device(DLDevice::CPU);
    made.set_dtype(DLDataType {
        code: DLDataTypeCode(export.dtype.code),
        bits: export.dtype.bits,
        lanes: export.dtype.lanes,
    });
    // SAFETY: the legacy struct has no flags; a copy is new and belongs to nobody else.
    unsafe { made.set_flags_unchecked(flags) };
    // SAFETY: `keep` holds the memory that `data`, shape and strides describe.
    Ok(unsafe { made.finish() }.into_raw().cast())
}
