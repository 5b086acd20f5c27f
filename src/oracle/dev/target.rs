//! The device in the struct against the one that was asked for.

use super::{examine, method_fact};
use crate::abi::{DLDevice, DLDeviceType};
use crate::case::Keyword;
use crate::oracle::decision::{self, Blame};
use crate::oracle::export::{Asked, Export, Target, Word, evidence, place};
use crate::oracle::{
    Context, DlTensor, ErrorClass, Fact, Grade, Knob, Of, Outcome, Setting, Verdict, What,
};

fn device_facts(export: &Export, tensor: &DlTensor, own: Option<DLDevice>) -> Vec<Fact> {
    let mut facts = vec![export.fact(What::Device, tensor.device)];
    facts.extend(own.map(method_fact));
    facts
}

pub(super) fn consistent(ctx: &Context) -> Verdict {
    let Some(own) = ctx.seen.device_before.device() else {
        return Verdict::Silent;
    };
    let as_cpu = ctx.profile.setting(Knob::PinnedAsCpu);
    ctx.each_tensor(
        |export, tensor| {
            if ctx.target(export.of) != Target::Unsaid {
                return Word::Silent;
            }
            if tensor.device == own {
                return Word::Holds;
            }
            let is_pinned = matches!(own.device_type.0, 3 | 11 | 13);
            match (is_pinned && tensor.device.device_type == DLDeviceType::CPU, as_cpu) {
                // An impossible device has its own rules.
                _ if examine(ctx, tensor.device)
                    .is_some_and(|(_, grade)| grade == Grade::Violation) =>
                {
                    Word::Silent
                }
                (true, Setting::Grade(grade)) => Word::Breaks(grade),
                (true, Setting::Off) => Word::Holds,
                (false, _) => Word::Breaks(Grade::Violation),
            }
        },
        |export, tensor| {
            evidence(
                "device",
                format!("device {own}, the answer of __dlpack_device__()"),
                format!("device {} {}", tensor.device, export.place()),
                device_facts(export, tensor, Some(own)),
            )
        },
    )
}

pub(super) fn honour(ctx: &Context) -> Verdict {
    let own = ctx.seen.device_before.device();
    let wanted = |of: Of| match ctx.target(of) {
        Target::Own => own,
        Target::Device(device) => Some(device),
        Target::Unsaid | Target::Malformed => None,
    };
    ctx.each_tensor(
        |export, tensor| {
            let Some(wanted) = wanted(export.of) else {
                return Word::Silent;
            };
            let is_cpu = wanted.device_type == DLDeviceType::CPU;
            let is_lawful = tensor.device == wanted
                // DEV-CPU-ID-OTHER
                || is_cpu && wanted.device_id > 0 && tensor.device == DLDevice::CPU
                // DEV-HONOUR-CPU
                || ctx.target(export.of) == Target::Device(DLDevice::CPU)
                    && matches!(tensor.device.device_type.0, 3 | 11 | 13);
            match ctx.table.word {
                // The right label on memory that is elsewhere.
                decision::Word::Blamed(Blame::DevHonour, grade) if export.of == Of::Export => {
                    Word::Breaks(grade)
                }
                _ => Word::require(is_lawful, Grade::Violation),
            }
        },
        |export, tensor| {
            let wanted = wanted(export.of).unwrap_or(DLDevice::CPU);
            let seen = if tensor.device == wanted {
                format!("that label on the array's own memory {}", export.place())
            } else {
                format!("device {} {}", tensor.device, export.place())
            };
            evidence(
                "device",
                format!("device {wanted}, as dl_device={wanted} asks, or BufferError"),
                seen,
                device_facts(export, tensor, None),
            )
        },
    )
}

pub(super) fn honour_cpu(ctx: &Context) -> Verdict {
    let setting = ctx.profile.setting(Knob::CpuLabel);
    ctx.each_tensor(
        |export, tensor| match (ctx.target(export.of), tensor.device.device_type.0, setting) {
            (Target::Device(DLDevice::CPU), 1, _) => Word::Holds,
            (Target::Device(DLDevice::CPU), 3 | 11 | 13, Setting::Grade(grade)) => {
                Word::Breaks(grade)
            }
            _ => Word::Silent,
        },
        |export, tensor| {
            evidence(
                "label",
                "device (1, 0), as dl_device=(1, 0) asks",
                format!(
                    "device {}, whose memory the CPU can read, {}",
                    tensor.device,
                    export.place()
                ),
                device_facts(export, tensor, None),
            )
        },
    )
}

/// An exporter on another device that refuses to copy to the CPU, asked for nothing else.
pub(super) fn cpu_offer(ctx: &Context) -> Verdict {
    let Some(own) = ctx.seen.device_before.device() else {
        return Verdict::Silent;
    };
    if own.device_type == DLDeviceType::CPU {
        return Verdict::Silent;
    }
    let asks_for_copy = |of: Of| {
        ctx.target(of) == Target::Device(DLDevice::CPU)
            && matches!(ctx.asked(of, Keyword::Copy), Asked::Nothing | Asked::True)
            && ctx.asked(of, Keyword::Stream) == Asked::Nothing
    };
    let grade = match ctx.profile.setting(Knob::Aat) {
        Setting::Grade(grade) => grade,
        Setting::Off => Grade::Warning,
    };
    let mut offers = false;
    for (of, outcome) in ctx.outcomes().filter(|&(of, _)| asks_for_copy(of)) {
        match outcome {
            Outcome::Capsule(_) => offers = true,
            Outcome::Raised(raised) if raised.class == ErrorClass::Buffer => {
                let grade = match ctx.table.word {
                    _ if of != Of::Export => grade,
                    decision::Word::Blamed(Blame::DevCpuOffer, grade) => grade,
                    // Another rule explains the refusal.
                    _ => continue,
                };
                return ctx.breaks(grade, || {
                    let fact = Fact { of, what: What::Outcome, value: "BufferError".into() };
                    evidence(
                        "refused",
                        "a copy to the CPU for dl_device=(1, 0)",
                        format!("BufferError {}", place(of)),
                        [fact, method_fact(own)],
                    )
                });
            }
            _ => {}
        }
    }
    if offers { Verdict::Holds } else { Verdict::Silent }
}

/// Recorded, whatever the answer is; what the decision table makes of another exception is a warning.
pub(super) fn cpu_id_other(ctx: &Context) -> Verdict {
    let is_asked = matches!(
        ctx.target(Of::Export),
        Target::Device(device) if device.device_type == DLDeviceType::CPU && device.device_id > 0
    );
    if !is_asked {
        return Verdict::Silent;
    }
    let grade = match (ctx.table.word, &ctx.seen.export) {
        (decision::Word::Blamed(Blame::DevCpuIdOther, grade), _) => grade,
        (_, Outcome::Raised(raised)) if raised.class != ErrorClass::Buffer => {
            return Verdict::Silent;
        }
        _ => Grade::Info,
    };
    ctx.breaks(grade, || {
        let value = match &ctx.seen.export {
            Outcome::Capsule(_) => "capsule".into(),
            Outcome::Returned(name) => name.clone(),
            Outcome::Raised(raised) => raised.name.clone().into_owned(),
        };
        evidence(
            value.clone(),
            "BufferError, or an export on device (1, 0) or on the one that was asked for",
            format!("{value} {}", place(Of::Export)),
            [Fact { of: Of::Export, what: What::Outcome, value }],
        )
    })
}
