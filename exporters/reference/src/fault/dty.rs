//! Faults of the element type (DTY).

use super::{Fault, Plant, Route, Scene, refuse};
use crate::dlpack::{DataType, code, flag};
use crate::dtype::{Storage, Unnamed};
use crate::error::{Cause, Error, Kind};
use crate::export::Export;
use crate::plan::{Data, Plan, Struct};

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "signed_as_unsigned",
        "DTY-MATCH",
        "int8 goes out as uint8 in the legacy struct.",
        Plant::Alter(|_, plan, export| match plan.kind {
            Struct::Legacy => {
                named(export, DataType::new(code::INT, 8, 1), |it| it.code = code::UINT)
            }
            Struct::Versioned => export,
        }),
    ),
    Fault::new(
        "float16_as_bfloat16",
        "DTY-MATCH",
        "float16 goes out as the other format of 16 bits.",
        Plant::Alter(|_, _, export| {
            named(export, DataType::new(code::FLOAT, 16, 1), |it| it.code = code::BFLOAT)
        }),
    ),
    Fault::new(
        "bits_are_bytes",
        "DTY-SIZE",
        "The bits of int64 count bytes.",
        Plant::Alter(|_, _, export| {
            named(export, DataType::new(code::INT, 64, 1), |it| it.bits = 8)
        }),
    ),
    Fault::new(
        "lanes_unwritten",
        "DTY-LANES",
        "The lanes of an array without axes are left at 0.",
        Plant::Alter(|scene, plan, mut export| {
            if scene.array.ndim() == 0 && plan.kind == Struct::Versioned {
                export.tensor().dtype.lanes = 0;
            }
            export
        }),
    ),
    Fault::new(
        "float4_of_eight_bits",
        "DTY-BITS-FIXED",
        "float4 and float6 go out with the bits of their storage.",
        Plant::Alter(|_, plan, mut export| {
            if plan.dtype.code >= code::FLOAT6_E2M3FN && plan.dtype.element_bits() < 8 {
                export.tensor().dtype.bits = 8;
                if let Some(managed) = export.versioned() {
                    managed.flags &= !flag::IS_SUBBYTE_TYPE_PADDED;
                }
            }
            export
        }),
    ),
    Fault::new(
        "bool_as_uint8",
        "DTY-BOOL",
        "bool goes out as uint8 in the versioned struct, if there is more than one axis.",
        Plant::Alter(|scene, plan, export| match (plan.kind, scene.array.ndim()) {
            (Struct::Versioned, 2..) => bool_as_uint8(export),
            _ => export,
        }),
    ),
    Fault::new(
        "bool_as_uint8_legacy",
        "DTY-BOOL",
        "bool goes out as uint8 in the legacy struct, as before 0.8.",
        Plant::Alter(|_, plan, export| match plan.kind {
            Struct::Legacy => bool_as_uint8(export),
            Struct::Versioned => export,
        }),
    )
    .warning(),
    Fault::new(
        "complex_of_one_part",
        "DTY-COMPLEX",
        "The bits of complex64 count one of its parts.",
        Plant::Alter(|_, _, export| {
            named(export, DataType::new(code::COMPLEX, 64, 1), |it| it.bits = 32)
        }),
    ),
    Fault::new(
        "bfloat16_as_float16",
        "DTY-BF16",
        "bfloat16 goes out as the other format of 16 bits.",
        Plant::Alter(|_, _, export| {
            named(export, DataType::new(code::BFLOAT, 16, 1), |it| it.code = code::FLOAT)
        }),
    ),
    Fault::new(
        "float8_formats_mixed_up",
        "DTY-FP8-CODE",
        "e4m3fn goes out as e4m3, which has infinities.",
        Plant::Alter(|_, _, export| {
            let e4m3fn = DataType::new(code::FLOAT8_E4M3FN, 8, 1);
            named(export, e4m3fn, |it| it.code = code::FLOAT8_E4M3)
        }),
    ),
    Fault::new(
        "padding_not_flagged",
        "DTY-SUBBYTE-PADDED",
        "Elements narrower than a byte lie in a byte each, and no flag of an alias says so.",
        Plant::Alter(|_, plan, mut export| {
            if let (Data::Shared, Some(managed)) = (plan.data, export.versioned()) {
                managed.flags &= !flag::IS_SUBBYTE_TYPE_PADDED;
            }
            export
        }),
    ),
    Fault::new(
        "nibbles_swapped",
        "DTY-SUBBYTE-PACK",
        "The copy of packed elements of 4 bits has the first of each pair in the high bits.",
        Plant::Alter(|scene, plan, mut export| {
            let element = scene.array.element;
            let is_nibbles = element.storage == Storage::Packed && plan.dtype.element_bits() == 4;
            if plan.data == Data::Copied && is_nibbles && !scene.array.is_empty() {
                let size = element.bytes_of(scene.array.count()).unwrap_or(0);
                // SAFETY: the copy is as large, and nobody else has it.
                let bytes = unsafe {
                    std::slice::from_raw_parts_mut(export.tensor().data.cast::<u8>(), size)
                };
                bytes.iter_mut().for_each(|byte| *byte = byte.rotate_left(4));
            }
            export
        }),
    )
    .only(Route::C),
    Fault::new(
        "float4_in_pairs",
        "DTY-SUBBYTE-SHAPE",
        "float4 goes out in pairs: two lanes, and half as many on the last axis.",
        Plant::Alter(|scene, plan, mut export| {
            let last = scene.array.shape().last().copied().unwrap_or(1);
            if plan.dtype == DataType::new(code::FLOAT4_E2M1FN, 4, 1) && last > 0 && last % 2 == 0 {
                let tensor = export.tensor();
                tensor.dtype.lanes = 2;
                // SAFETY: there is a last axis, and the export was just made.
                unsafe { *tensor.shape.add(tensor.ndim as usize - 1) = last / 2 };
                if let Some(managed) = export.versioned() {
                    managed.flags &= !flag::IS_SUBBYTE_TYPE_PADDED;
                }
            }
            export
        }),
    )
    .info(),
    Fault::new(
        "code_of_a_newer_header",
        "DTY-CODE-KNOWN",
        "bool goes out with a code that no header defines yet, in a struct that says 1.4.",
        Plant::Alter(|_, plan, mut export| {
            if plan.dtype.code == code::BOOL
                && let Some(managed) = export.versioned()
            {
                managed.version.minor = 4;
                managed.tensor.dtype.code = 19;
            }
            export
        }),
    )
    .info(),
    Fault::new(
        "uint64_refused",
        "DTY-STANDARD-ALL",
        "uint64 is refused, whatever is asked for.",
        Plant::Decide(|_, plan| match plan {
            Ok(plan) if plan.dtype == DataType::new(code::UINT, 64, 1) => refuse(Kind::Buffer),
            plan => plan,
        }),
    )
    .warning(),
    Fault::new(
        "long_double_exported",
        "DTY-FLOAT-IEEE",
        "The padded long double of x86 goes out as a float of 128 bits.",
        Plant::Decide(|scene, plan| {
            named_as(scene, plan, |unnamed| match unnamed {
                Unnamed::LongDouble => Some(DataType::new(code::FLOAT, 128, 1)),
                _ => None,
            })
        }),
    )
    .only(Route::Python),
    Fault::new(
        "bits_truncated",
        "DTY-BITS-TRUNC",
        "A complex of two long doubles goes out, and its 256 bits become 0.",
        Plant::Decide(|scene, plan| {
            named_as(scene, plan, |unnamed| match unnamed {
                Unnamed::ComplexLongDouble => Some(DataType::new(code::COMPLEX, 0, 1)),
                _ => None,
            })
        }),
    )
    .only(Route::Python),
    Fault::new(
        "byte_order_ignored",
        "DTY-ENDIAN",
        "Swapped bytes go out as if they were native.",
        Plant::Decide(|scene, plan| {
            named_as(scene, plan, |unnamed| match unnamed {
                Unnamed::Swapped(native) => Some(native),
                _ => None,
            })
        }),
    )
    .only(Route::Python),
    Fault::new(
        "objects_as_handles",
        "DTY-OPAQUE",
        "Python objects go out as opaque handles.",
        Plant::Decide(|scene, plan| {
            named_as(scene, plan, |unnamed| match unnamed {
                Unnamed::Object => Some(DataType::new(code::OPAQUE_HANDLE, 64, 1)),
                _ => None,
            })
        }),
    )
    .warning()
    .only(Route::Python),
];

/// Changes the type of exports of `dtype`.
fn named(mut export: Export, dtype: DataType, change: fn(&mut DataType)) -> Export {
    if export.tensor().dtype == dtype {
        change(&mut export.tensor().dtype);
    }
    export
}

fn bool_as_uint8(export: Export) -> Export {
    named(export, DataType::new(code::BOOL, 8, 1), |it| it.code = code::UINT)
}

/// Exports what has no name under one.
fn named_as(
    scene: &Scene,
    plan: Result<Plan, Error>,
    name: fn(Unnamed) -> Option<DataType>,
) -> Result<Plan, Error> {
    match (plan, scene.array.element.name.map_err(name)) {
        (Err(Error { cause: Cause::Unnamed, .. }), Err(Some(name))) => {
            Plan::under(Ok(name), scene.array, scene.request)
        }
        (plan, _) => plan,
    }
}
