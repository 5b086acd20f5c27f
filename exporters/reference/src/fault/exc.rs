//! Faults of exceptions, and of malformed arguments (EXC, SIG).

use super::{Fault, Plant, Route, raised_as, refuse};
use crate::arguments::Request;
use crate::dlpack::Device;
use crate::error::{Cause, Error, Kind};
use crate::plan::{Data, Plan};

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "odd_strides_typeerror",
        "EXC-NOTEXPORTABLE",
        "A layout that cannot be shared raises TypeError, unless copy=False asks for just that.",
        Plant::Decide(|scene, plan| match scene.request.copy {
            Some(false) => plan,
            _ => raised_as(plan, Cause::OddStrides, Kind::Type),
        }),
    )
    .warning(),
    Fault::new(
        "unnamed_type_notimplemented",
        "EXC-NOTEXPORTABLE",
        "A type that DLPack cannot name raises NotImplementedError.",
        Plant::Decide(|_, plan| raised_as(plan, Cause::Unnamed, Kind::NotImplemented)),
    )
    .warning()
    .only(Route::Python),
    Fault::new(
        "device_valueerror",
        "EXC-DEVICE",
        "A device type that the exporter does not have raises ValueError.",
        Plant::Decide(|_, plan| raised_as(plan, Cause::OtherDevice, Kind::Value)),
    ),
    Fault::new(
        "rocm_runtimeerror",
        "EXC-DEVICE",
        "The backend for ROCm is asked for and is missing: RuntimeError.",
        Plant::Decide(|scene, plan| match scene.request.dl_device {
            Some(Device { kind: 10, .. }) => raised_as(plan, Cause::OtherDevice, Kind::Runtime),
            _ => plan,
        }),
    ),
    Fault::new(
        "move_without_copy_valueerror",
        "EXC-NOCOPY-CROSSDEV",
        "copy=False raises ValueError for an array on a GPU that is wanted on the CPU.",
        Plant::Decide(|_, plan| raised_as(plan, Cause::CopyNeeded, Kind::Value)),
    )
    .on(Device::CUDA),
    Fault::new(
        "odd_strides_copied",
        "EXC-COPY-IMPOSSIBLE",
        "A layout that cannot be shared is copied, and copy=False then raises ValueError.",
        Plant::Decide(|scene, plan| match (plan, scene.request.copy) {
            (Err(Error { cause: Cause::OddStrides, .. }), None) => {
                Plan::of(scene.array, &Request { copy: Some(true), ..*scene.request })
            }
            (plan, _) => raised_as(plan, Cause::OddStrides, Kind::Value),
        }),
    ),
    Fault::new(
        "negative_device_runtimeerror",
        "EXC-UNEXPECTED",
        "A device index below 0 is looked up and not found: RuntimeError.",
        Plant::Decide(|scene, plan| match scene.request.dl_device {
            Some(Device { kind: 1.., .. }) => raised_as(plan, Cause::NoDevice, Kind::Runtime),
            _ => plan,
        }),
    )
    .warning(),
    Fault::new(
        "negative_device_taken",
        "SIG-MALFORMED",
        "A device type of 0 or less is taken for the array's own device.",
        Plant::Decide(|scene, plan| match plan {
            Err(Error { cause: Cause::NoDevice, .. }) => {
                Plan::of(scene.array, &Request { dl_device: None, ..*scene.request })
            }
            plan => plan,
        }),
    )
    .warning(),
    Fault::new(
        "negative_device_ignored_legacy",
        "SIG-MALFORMED-IGNORED",
        "A device that is none is only noticed when max_version is given.",
        Plant::Decide(|scene, plan| match (plan, scene.request.max_version) {
            (Err(Error { cause: Cause::NoDevice, .. }), None) => {
                Plan::of(scene.array, &Request { dl_device: None, ..*scene.request })
            }
            (plan, _) => plan,
        }),
    )
    .warning(),
    Fault::new(
        "copy_of_five_axes_panics",
        "EXC-CLASS",
        "The copy of more than four axes ends in a panic, which PyO3 raises as no Exception.",
        Plant::Decide(|scene, plan| match plan {
            Ok(Plan { data: Data::Copied, .. }) if scene.array.ndim() > 4 => refuse(Kind::Base),
            plan => plan,
        }),
    )
    .only(Route::Python),
];
