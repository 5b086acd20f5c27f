//! Faults of copies and of read-only memory (COPY, RO).

use super::ten::flip;
use super::{Fault, Plant, Scene, raised_as, refuse};
use crate::arguments::Request;
use crate::array::{Access, Array};
use crate::dlpack::flag;
use crate::dtype::Storage;
use crate::error::{Cause, Error, Kind};
use crate::plan::{Data, Plan, Struct};

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "copy_true_ignored_contiguous",
        "COPY-TRUE-IGNORED",
        "copy=True of a row-major array gives an alias, flagged as a copy.",
        Plant::Decide(|scene, plan| match plan {
            Ok(plan) if is_writable_here(scene, &plan) && scene.array.is_contiguous() => {
                Ok(Plan { data: Data::Shared, ..plan })
            }
            plan => plan,
        }),
    ),
    Fault::new(
        "copy_true_ignored_legacy",
        "COPY-TRUE-IGNORED",
        "copy=True gives an alias if no max_version is given.",
        Plant::Decide(|scene, plan| match plan {
            Ok(plan)
                if scene.request.max_version.is_none()
                    && is_writable_here(scene, &plan)
                    && scene.array.has_element_strides() =>
            {
                Ok(Plan { data: Data::Shared, ..plan })
            }
            plan => plan,
        }),
    ),
    Fault::new(
        "copy_of_zeros_shared",
        "COPY-TRUE-DISTINCT",
        "Memory that is all zeros is not copied; arrays that run backwards are turned around for it.",
        Plant::Alter(|scene, plan, mut export| {
            let array = scene.array;
            // SAFETY: the array's own memory, and the caller runs one call at a time.
            let bytes = unsafe { std::slice::from_raw_parts(array.start(), array.size()) };
            let is_same = is_writable_here(scene, plan)
                && array.has_element_strides()
                && bytes.iter().all(|&byte| byte == 0);
            if plan.data == Data::Copied && is_same {
                flip(array, export.tensor());
            }
            export
        }),
    ),
    Fault::new(
        "copies_shared",
        "COPY-TRUE-SOLE",
        "All copies of an array are one copy.",
        Plant::Alter(|scene, plan, mut export| {
            if plan.data == Data::Copied && !scene.array.is_empty() {
                if scene.past.copy.is_none() {
                    scene.past.copy = scene.array.copy().ok();
                }
                if let Some(copy) = &scene.past.copy {
                    export.tensor().data = copy.start().cast();
                }
            }
            export
        }),
    ),
    Fault::new(
        "copy_of_columns_not_flagged",
        "COPY-FLAG-SET",
        "The copy of a column-major array is not flagged as one.",
        Plant::Decide(|scene, plan| match plan {
            Ok(plan) if is_column_major(scene.array) => {
                Ok(Plan { flags: plan.flags & !flag::IS_COPIED, ..plan })
            }
            plan => plan,
        }),
    ),
    Fault::new(
        "alias_flagged",
        "COPY-FLAG-CLEAR",
        "Any value of copy but None sets the flag of copies.",
        Plant::Decide(|scene, plan| match plan {
            Ok(plan) if scene.request.copy.is_some() => {
                Ok(Plan { flags: plan.flags | flag::IS_COPIED, ..plan })
            }
            plan => plan,
        }),
    ),
    Fault::new(
        "copy_of_read_only_is_read_only",
        "COPY-TRUE-WRITABLE",
        "The copy of a read-only array is said to be read-only.",
        Plant::Decide(|scene, plan| match plan {
            Ok(plan) if scene.array.access == Access::ReadOnly => {
                Ok(Plan { flags: plan.flags | flag::READ_ONLY, ..plan })
            }
            plan => plan,
        }),
    )
    .warning(),
    Fault::new(
        "copy_of_gaps_refused",
        "COPY-TRUE-REFUSED",
        "copy=True is refused with BufferError for an array with gaps.",
        Plant::Decide(|scene, plan| match plan {
            Ok(Plan { data: Data::Copied, .. }) if has_gaps(scene.array) => refuse(Kind::Buffer),
            plan => plan,
        }),
    )
    .warning(),
    Fault::new(
        "copy_of_scalar_not_implemented",
        "COPY-TRUE-REFUSED",
        "copy=True is not implemented for arrays without axes.",
        Plant::Decide(|scene, plan| match plan {
            Ok(Plan { data: Data::Copied, .. }) if scene.array.ndim() == 0 => {
                refuse(Kind::NotImplemented)
            }
            plan => plan,
        }),
    ),
    Fault::new(
        "copy_false_copies_gaps",
        "COPY-FALSE-ALIAS",
        "copy=False copies an array with gaps, and says so in the flags.",
        Plant::Decide(|scene, plan| match plan {
            Ok(plan) if scene.request.copy == Some(false) && has_gaps(scene.array) => {
                Ok(copied(plan))
            }
            plan => plan,
        }),
    ),
    Fault::new(
        "copy_false_valueerror",
        "COPY-FALSE-BE",
        "copy=False raises ValueError for a layout that only a copy can have.",
        Plant::Decide(|scene, plan| match scene.request.copy {
            Some(false) => raised_as(plan, Cause::OddStrides, Kind::Value),
            _ => plan,
        }),
    ),
    Fault::new(
        "columns_always_copied",
        "COPY-NONE-ALIAS",
        "A column-major array is copied though nobody asks for it.",
        Plant::Decide(|scene, plan| match plan {
            Ok(plan) if scene.request.copy.is_none() && is_column_major(scene.array) => {
                Ok(copied(plan))
            }
            plan => plan,
        }),
    ),
    Fault::new(
        "copy_false_wants_contiguous",
        "COPY-FALSE-CONSISTENT",
        "copy=False is refused for an array with gaps, though copy=None shares it.",
        Plant::Decide(|scene, plan| match plan {
            Ok(plan)
                if scene.request.copy == Some(false)
                    && plan.kind == Struct::Versioned
                    && has_gaps(scene.array) =>
            {
                refuse(Kind::Buffer)
            }
            plan => plan,
        }),
    ),
    Fault::new(
        "own_device_refused",
        "COPY-SAME-DEVICE-NEUTRAL",
        "dl_device is refused without max_version, even the array's own.",
        Plant::Decide(|scene, plan| match (scene.request.dl_device, scene.request.max_version) {
            (Some(_), None) if plan.is_ok() => refuse(Kind::Buffer),
            _ => plan,
        }),
    ),
    Fault::new(
        "copy_of_columns_transposed",
        "COPY-VALUES",
        "The copy of a column-major array has its bytes in the old order and strides for the new one.",
        Plant::Alter(|scene, plan, mut export| {
            if plan.data == Data::Copied && is_column_major(scene.array) {
                let size = scene.array.count() * scene.array.element.item_bytes;
                let data = export.tensor().data.cast::<u8>();
                // SAFETY: elements without gaps begin at `first`, and the copy is as large.
                unsafe { data.copy_from_nonoverlapping(scene.array.first(), size) };
            }
            export
        }),
    ),
    Fault::new(
        "copies_are_legacy",
        "COPY-LEGACY-SILENT",
        "A copy goes out in a legacy struct, whatever the caller could take.",
        Plant::Decide(|scene, plan| match plan {
            Ok(plan)
                if plan.data == Data::Copied && scene.array.element.storage == Storage::Whole =>
            {
                Ok(Plan { kind: Struct::Legacy, ..plan })
            }
            plan => plan,
        }),
    )
    .info(),
    Fault::new(
        "scalar_read_only_lost",
        "RO-FLAG-SET",
        "An alias of a read-only array without axes is not flagged.",
        Plant::Decide(|scene, plan| match plan {
            Ok(plan) if scene.array.ndim() == 0 => {
                Ok(Plan { flags: plan.flags & !flag::READ_ONLY, ..plan })
            }
            plan => plan,
        }),
    ),
    Fault::new(
        "scalar_always_read_only",
        "RO-FLAG-CLEAR",
        "Writability is only asked for when there are axes: without, every alias is read-only.",
        Plant::Decide(|scene, plan| match plan {
            Ok(plan) if scene.array.ndim() == 0 && plan.data == Data::Shared => {
                Ok(Plan { flags: plan.flags | flag::READ_ONLY, ..plan })
            }
            plan => plan,
        }),
    )
    .warning(),
    Fault::new(
        "read_only_exported_legacy",
        "RO-LEGACY",
        "A read-only array goes out in a legacy struct, which cannot say so.",
        Plant::Decide(|scene, plan| match plan {
            Err(Error { cause: Cause::LegacyReadOnly, .. }) => {
                // All else is decided as for a versioned struct.
                let request = Request { max_version: Some((1, 0)), ..*scene.request };
                let plan = Plan::of(scene.array, &request)?;
                Ok(Plan { kind: Struct::Legacy, ..plan })
            }
            plan => plan,
        }),
    )
    .info(),
    Fault::new(
        "read_only_legacy_copy_refused",
        "RO-LEGACY-COPY",
        "A legacy copy of a read-only array is refused as if it were the array.",
        Plant::Decide(|scene, plan| match plan {
            Ok(Plan { data: Data::Copied, kind: Struct::Legacy, .. })
                if scene.array.access == Access::ReadOnly =>
            {
                refuse(Kind::Buffer)
            }
            plan => plan,
        }),
    )
    .warning(),
];

/// What is made of it stays on its device, and no flag of a read-only array is lost.
fn is_writable_here(scene: &Scene, plan: &Plan) -> bool {
    scene.array.access == Access::Writable && plan.device == scene.array.device
}

fn is_column_major(array: &Array) -> bool {
    array.is_column_major() && !array.is_contiguous() && !array.is_empty()
}

/// Some stride is none of an array without gaps.
fn has_gaps(array: &Array) -> bool {
    !array.is_empty() && !array.is_contiguous() && !array.is_column_major()
}

fn copied(plan: Plan) -> Plan {
    Plan { data: Data::Copied, flags: plan.flags & !flag::READ_ONLY | flag::IS_COPIED, ..plan }
}
