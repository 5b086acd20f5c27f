//! Faults of the managed tensor (MGT).

use super::{Fault, Plant};
use crate::dlpack::{Version, code, flag};
use crate::plan::Data;

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "version_unwritten",
        "MGT-VERSION-MAJOR",
        "The version of a struct for an array without axes is left at 0.0.",
        Plant::Alter(|scene, _, mut export| {
            if let (0, Some(managed)) = (scene.array.ndim(), export.versioned()) {
                managed.version = Version { major: 0, minor: 0 };
            }
            export
        }),
    ),
    Fault::new(
        "version_echoed",
        "MGT-VERSION-OWN",
        "The struct says the version that was asked for, where that is 1.x or 2.x.",
        Plant::Alter(|scene, _, mut export| {
            if let (Some((major @ 1..=2, minor @ 0..1000)), Some(managed)) =
                (scene.request.max_version, export.versioned())
            {
                managed.version = Version { major: major as u32, minor: minor as u32 };
            }
            export
        }),
    )
    // Of major 2 a reader knows the head only.
    .also(&["VER-CEILING"]),
    Fault::new(
        "version_older_than_type",
        "MGT-VERSION-COVERS",
        "The struct says 1.0 around 8-bit floats, which came with 1.1.",
        Plant::Alter(|_, plan, mut export| {
            if let (code::FLOAT8_E3M4..=code::FLOAT8_E8M0FNU, Some(managed)) =
                (plan.dtype.code, export.versioned())
            {
                managed.version.minor = 0;
            }
            export
        }),
    )
    .info(),
    Fault::new(
        "version_lowered",
        "MGT-VERSION-STABLE",
        "The struct says an older version to a caller who asks for one.",
        Plant::Alter(|scene, plan, mut export| {
            if let (Some((1, minor @ 0..3)), 0..=6, 8.., Some(managed)) =
                (scene.request.max_version, plan.dtype.code, plan.dtype.bits, export.versioned())
            {
                managed.version.minor = minor as u32;
            }
            export
        }),
    )
    .info(),
    Fault::new(
        "deleter_null",
        "MGT-DELETER-NULL",
        "The struct of an array without axes has no deleter: the array keeps it until its own end.",
        Plant::Alter(|scene, _, export| match scene.array.ndim() {
            0 => scene.past.lend(export),
            _ => export,
        }),
    )
    .warning(),
    Fault::new(
        "flags_uninitialised",
        "MGT-FLAGS-KNOWN",
        "The flags of a copy are not set to 0 before the bits are set.",
        Plant::Alter(|_, plan, mut export| {
            if let (Data::Copied, Some(managed)) = (plan.data, export.versioned()) {
                managed.flags |= 0x7f3a_0000_0000;
            }
            export
        }),
    ),
    Fault::new(
        "bool_padded",
        "MGT-FLAG-SUBBYTE",
        "bool goes out with the flag of padded elements, as if it were a type of one bit.",
        Plant::Alter(|_, plan, mut export| {
            if let (code::BOOL, Some(managed)) = (plan.dtype.code, export.versioned()) {
                managed.flags |= flag::IS_SUBBYTE_TYPE_PADDED;
            }
            export
        }),
    )
    .warning(),
    Fault::new(
        "shape_misaligned",
        "MGT-ALIGNED",
        "The shape of more than two axes is packed behind a 4-byte field.",
        Plant::Alter(|scene, _, mut export| {
            if scene.array.ndim() > 2 {
                export.tensor().shape = scene.past.misaligned(scene.array.shape());
            }
            export
        }),
    ),
];
