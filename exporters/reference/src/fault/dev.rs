//! Faults of the device (DEV).

use super::{Fault, Plant, Scene, raised_as, refuse};
use crate::arguments::Request;
use crate::array::Access;
use crate::dlpack::Device;
use crate::error::{Cause, Error, Kind};
use crate::plan::{Data, Plan, Struct};

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "read_only_on_no_device",
        "DEV-TYPE-KNOWN",
        "Read-only arrays are on a device type that no header defines.",
        Plant::Disguise(|array| match array.access {
            Access::ReadOnly => Device { kind: 5, id: 0 },
            Access::Writable => array.device,
        }),
    ),
    Fault::new(
        "deep_on_second_cpu",
        "DEV-ID-ZERO",
        "Arrays of more than two axes are on a second CPU.",
        Plant::Disguise(|array| match array.ndim() {
            3.. => Device { kind: 1, id: 1 },
            _ => array.device,
        }),
    ),
    Fault::new(
        "device_index_minus_one",
        "DEV-ID-NONNEG",
        "The index of the device of an empty array is -1, the library's own word for `none`.",
        Plant::Disguise(|array| match array.is_empty() {
            true => Device { kind: 1, id: -1 },
            false => array.device,
        }),
    )
    // A caller who asks for that very index asks for none.
    .also(&["COPY-SAME-DEVICE-NEUTRAL"]),
    Fault::new(
        "device_changes_after_export",
        "DEV-STABLE",
        "The device method answers otherwise once the array was exported.",
        Plant::Method(|array, past| match past.exports {
            0 => array.device,
            _ => Device::CUDA_HOST,
        }),
    ),
    Fault::new(
        "device_of_struct_differs",
        "DEV-CONSISTENT",
        "The struct names another device than the method, unless one is asked for.",
        Plant::Decide(|scene, plan| match (plan, scene.request.dl_device) {
            (Ok(plan), None) => Ok(Plan { device: Device::CUDA, ..plan }),
            (plan, _) => plan,
        }),
    )
    // The device that the method names is not neutral then; if it were, DEV-HONOUR would be broken.
    .also(&["COPY-SAME-DEVICE-NEUTRAL"]),
    Fault::new(
        "dl_device_ignored_legacy",
        "DEV-HONOUR",
        "A device that there is not is taken for the array's own in the legacy path.",
        Plant::Decide(|scene, plan| match plan {
            Err(Error { cause: Cause::OtherDevice, .. }) => match on_own_device(scene) {
                Ok(Plan { kind: Struct::Versioned, .. }) => plan,
                own => own,
            },
            plan => plan,
        }),
    ),
    Fault::new(
        "dl_device_stamped",
        "DEV-HONOUR",
        "An index that there is not is ignored: (2, 1) is answered with the array's own memory.",
        Plant::Decide(|scene, plan| match (plan, scene.request.dl_device) {
            (Err(Error { cause: Cause::OtherDevice, .. }), Some(Device { kind: 2.., id: 1.. })) => {
                on_own_device(scene)
            }
            (plan, _) => plan,
        }),
    ),
    Fault::new(
        "managed_label_kept",
        "DEV-HONOUR-CPU",
        "Managed memory keeps its label when the CPU is asked for.",
        Plant::Decide(|scene, plan| match plan {
            Ok(plan) if plan.data == Data::Shared => {
                Ok(Plan { device: scene.array.device, ..plan })
            }
            plan => plan,
        }),
    )
    .warning()
    .on(Device::CUDA_MANAGED),
    Fault::new(
        "copy_to_the_cpu_refused",
        "DEV-CPU-OFFER",
        "An array on a GPU is not copied to the CPU.",
        Plant::Decide(|scene, plan| match plan {
            Ok(plan) if plan.device != scene.array.device => refuse(Kind::Buffer),
            plan => plan,
        }),
    )
    .warning()
    .on(Device::CUDA),
    Fault::new(
        "cpu_index_runtimeerror",
        "DEV-CPU-ID-OTHER",
        "A second CPU raises RuntimeError.",
        Plant::Decide(|scene, plan| match scene.request.dl_device {
            Some(Device { kind: 1, id: 1.. }) => raised_as(plan, Cause::OtherDevice, Kind::Runtime),
            _ => plan,
        }),
    )
    .warning(),
];

fn on_own_device(scene: &Scene) -> Result<Plan, Error> {
    Plan::of(scene.array, &Request { dl_device: None, ..*scene.request })
}
