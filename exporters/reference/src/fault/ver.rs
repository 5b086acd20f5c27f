//! Faults of versions and streams (VER, STR).

use super::{Fault, Plant, Route, raised_as, refuse};
use crate::arguments::Request;
use crate::dlpack::{Device, Version, code};
use crate::error::{Cause, Error, Kind};
use crate::plan::{Data, Plan, Struct};

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "versioned_unasked",
        "VER-NONE-LEGACY",
        "A copy goes out in the versioned struct, which can say so, though nobody asked for it.",
        Plant::Decide(|scene, plan| match (plan, scene.request.max_version) {
            (Ok(plan), None) if plan.data == Data::Copied => {
                Ok(Plan { kind: Struct::Versioned, ..plan })
            }
            (plan, _) => plan,
        }),
    ),
    Fault::new(
        "versioned_for_0x",
        "VER-0X",
        "The versioned struct goes to callers who can take 0.x: any max_version means that.",
        Plant::Decide(|scene, plan| match (plan, scene.request.max_version) {
            (Ok(plan), Some((0, _))) => Ok(Plan { kind: Struct::Versioned, ..plan }),
            (plan, _) => plan,
        }),
    )
    .warning(),
    Fault::new(
        "scalar_always_legacy",
        "VER-1X-VERSIONED",
        "Arrays without axes go out in the legacy struct.",
        Plant::Decide(|scene, plan| match plan {
            Ok(plan) if scene.array.ndim() == 0 => Ok(Plan { kind: Struct::Legacy, ..plan }),
            plan => plan,
        }),
    )
    .info(),
    Fault::new(
        "version_two",
        "VER-CEILING",
        "The struct says 2.0 to callers who can take 1.1 and later.",
        Plant::Alter(|scene, _, mut export| {
            if let (Some((1, 1..)), Some(managed)) = (scene.request.max_version, export.versioned())
            {
                managed.version = Version { major: 2, minor: 0 };
            }
            export
        }),
    )
    .warning(),
    Fault::new(
        "newer_minor_refused",
        "VER-SAME-MAJOR",
        "A caller who can take a newer minor version is refused.",
        Plant::Decide(|scene, plan| match scene.request.max_version {
            Some((1, 4..)) if plan.is_ok() => refuse(Kind::Buffer),
            _ => plan,
        }),
    )
    .warning(),
    Fault::new(
        "newer_major_refused",
        "VER-HIGHER-MAJOR",
        "A caller who can take major version 2 is refused.",
        Plant::Decide(|scene, plan| match scene.request.max_version {
            Some((2.., _)) if plan.is_ok() => refuse(Kind::Buffer),
            _ => plan,
        }),
    ),
    Fault::new(
        "old_version_valueerror",
        "VER-OLD-BE",
        "A caller who can take (0, 8) at most is refused by the wrong exception.",
        Plant::Decide(|scene, plan| match scene.request.max_version {
            Some((0, 8..)) if plan.is_ok() => refuse(Kind::Value),
            _ => plan,
        }),
    )
    .warning(),
    Fault::new(
        "old_version_attributeerror",
        "EXC-UNEXPECTED",
        "A caller who can take (0, 8) at most runs into a missing branch.",
        Plant::Decide(|scene, plan| match scene.request.max_version {
            Some((0, 8..)) if plan.is_ok() => refuse(Kind::Attribute),
            _ => plan,
        }),
    )
    // The C header has no kind for it: a missing branch cannot be told from an error of the library's own.
    .only(Route::Python),
    Fault::new(
        "complex_legacy_only",
        "VER-INDEPENDENT",
        "complex128 is refused in the versioned struct.",
        Plant::Decide(|_, plan| match plan {
            Ok(plan)
                if plan.kind == Struct::Versioned
                    && (plan.dtype.code, plan.dtype.bits) == (code::COMPLEX, 128) =>
            {
                refuse(Kind::Buffer)
            }
            plan => plan,
        }),
    )
    .warning(),
    Fault::new(
        "negative_version_taken",
        "VER-NEGATIVE",
        "A negative max_version is taken for an old one.",
        Plant::Decide(|scene, plan| match plan {
            Err(Error { cause: Cause::NegativeVersion, .. }) => {
                Plan::of(scene.array, &Request { max_version: None, ..*scene.request })
            }
            plan => plan,
        }),
    )
    .info(),
    Fault::new(
        "stream_ignored",
        "STR-CPU-NONE-ONLY",
        "A stream handle on the CPU is ignored.",
        Plant::Decide(|scene, plan| match (plan, scene.request.stream) {
            (Err(Error { cause: Cause::NoStreams, .. }), Some(3..)) => without_stream(scene),
            (plan, _) => plan,
        }),
    )
    .warning(),
    Fault::new(
        "stream_runtimeerror",
        "STR-CPU-ERRTYPE",
        "A stream on the CPU raises RuntimeError.",
        Plant::Decide(|_, plan| raised_as(plan, Cause::NoStreams, Kind::Runtime)),
    )
    .info(),
    Fault::new(
        "stream_to_the_cpu_ignored",
        "STR-CPU-REQUEST",
        "A stream is ignored if dl_device asks for the CPU.",
        Plant::Decide(|scene, plan| match (plan, scene.request.dl_device) {
            (Err(Error { cause: Cause::NoStreams, .. }), Some(Device::CPU))
                if scene.array.device != Device::CPU =>
            {
                without_stream(scene)
            }
            (plan, _) => plan,
        }),
    )
    .info()
    .on(Device::CUDA),
    Fault::new(
        "cuda_stream_zero_taken",
        "STR-CUDA-ZERO",
        "stream=0 is taken for the default stream of CUDA.",
        Plant::Decide(|scene, plan| match (plan, scene.request.stream) {
            (Err(Error { cause: Cause::NoSuchStream, .. }), Some(0)) => without_stream(scene),
            (plan, _) => plan,
        }),
    )
    .warning()
    .on(Device::CUDA),
    Fault::new(
        "rocm_stream_one_taken",
        "STR-ROCM-VALUES",
        "stream=1 is taken for the default stream of ROCm, as on CUDA.",
        Plant::Decide(|scene, plan| match (plan, scene.request.stream) {
            (Err(Error { cause: Cause::NoSuchStream, .. }), Some(1)) => without_stream(scene),
            (plan, _) => plan,
        }),
    )
    .warning()
    .on(Device::ROCM),
    Fault::new(
        "stream_below_minus_one_taken",
        "STR-RANGE",
        "Any negative stream is taken for -1.",
        Plant::Decide(|scene, plan| match (plan, scene.request.stream) {
            (Err(Error { cause: Cause::NoSuchStream, .. }), Some(..-1)) => without_stream(scene),
            (plan, _) => plan,
        }),
    )
    .warning()
    .on(Device::CUDA),
];

fn without_stream(scene: &super::Scene) -> Result<Plan, Error> {
    Plan::of(scene.array, &Request { stream: None, ..*scene.request })
}
