//! The crate `dlpack-rs` as an exporter: `safe::pack` and `safe::pack_versioned` make the structs.

#[path = "../../glue.rs"]
mod glue;

use dlpack_rs::ffi::{DLDataType, DLPACK_FLAG_BITMASK_IS_COPIED, DLPACK_FLAG_BITMASK_READ_ONLY};
use dlpack_rs::safe::{TensorInfo, cpu_device, pack, pack_versioned};
use glue::{Export, Table};
use std::ffi::c_void;

static TABLE: Table = Table::new(c"dlpack-rs".as_ptr(), c"0.3.4".as_ptr());

#[unsafe(no_mangle)]
extern "C" fn dlpack_fuzz_backend() -> *const Table {
    &TABLE
}

/// `DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED`; the crate has no alias of its own for it.
const IS_PADDED: u64 = 4;

fn export(export: Export, is_versioned: bool) -> Result<*mut c_void, ()> {
    let dtype =
        DLDataType { code: export.dtype.code, bits: export.dtype.bits, lanes: export.dtype.lanes };
    let info = match export.strides {
        Some(strides) => {
            TensorInfo::strided(export.data, cpu_device(), dtype, export.shape, strides)
        }
        None => TensorInfo::contiguous(export.data, cpu_device(), dtype, export.shape),
    };
    if !is_versioned {
        return Ok(pack(export.keep, info).cast());
    }
    let mut flags = 0;
    for (is_set, flag) in [
        (export.is_read_only, DLPACK_FLAG_BITMASK_READ_ONLY),
        (export.is_copied, DLPACK_FLAG_BITMASK_IS_COPIED),
        (export.is_padded, IS_PADDED),
    ] {
        flags |= if is_set { flag } else { 0 };
    }
    Ok(pack_versioned(export.keep, info, flags).cast())
}
