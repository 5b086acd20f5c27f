//! Rules of the family STR: which streams are accepted (rules.md section 13).
//!
//! Only what the call's outcome shows. The order of work on a device (STR-ORDER, STR-CUDA-VALUES,
//! STR-MINUS1-NOSYNC, STR-CPU-SYNC, STR-NO-OWNERSHIP) needs a device with streams, and STR-OPTIONAL grants
//! something: none of these has a function.

use super::decision::{Blame, Classes, Own, Stream};
use super::words::{by_table, knows};
use super::{Context, Rule, Verdict};
use crate::abi::DLDeviceType;
use crate::case::{Arg, Keyword, Value};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "STR-NONE", judge: none },
    Rule { id: "STR-CPU-NONE-ONLY", judge: cpu_none_only },
    Rule { id: "STR-CPU-ERRTYPE", judge: cpu_errtype },
    Rule { id: "STR-CPU-REQUEST", judge: cpu_request },
    Rule { id: "STR-CUDA-ZERO", judge: cuda_zero },
    Rule { id: "STR-ROCM-VALUES", judge: rocm_values },
    Rule { id: "STR-RANGE", judge: range },
    Rule { id: "STR-NONINT", judge: nonint },
];

/// A stream other than `None` was passed, the exporter knows the keyword, and the table has a row whose
/// device is none that the exporter lacks.
fn given(ctx: &Context) -> Option<Classes> {
    use super::decision::DlDevice;
    let classes = ctx.table.classes?;
    let is_given = classes.stream != Stream::None && knows(ctx, Keyword::Stream);
    let is_somewhere =
        !matches!(classes.dl_device, DlDevice::UnsupportedOther | DlDevice::UnknownType);
    (is_given && is_somewhere).then_some(classes)
}

fn is_on_cpu(classes: Classes) -> bool {
    classes.own == Own::Host
}

/// The stream's domain is that of the array's own device, which is no CPU.
fn is_on_device(classes: Classes) -> bool {
    use super::decision::DlDevice;
    !is_on_cpu(classes) && classes.dl_device != DlDevice::CpuOther
}

fn none(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::StrNone, || {
        ctx.case.call.stream == Arg::Given(Value::NONE)
            && knows(ctx, Keyword::Stream)
            && ctx.seen.export.capsule().is_some()
    })
}

fn cpu_none_only(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::StrCpuNoneOnly, || given(ctx).is_some_and(is_on_cpu))
}

fn cpu_errtype(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::StrCpuErrtype, || {
        given(ctx).is_some_and(is_on_cpu) && ctx.seen.export.raised().is_some()
    })
}

fn cpu_request(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::StrCpuRequest, || {
        given(ctx).is_some_and(|classes| !is_on_cpu(classes) && !is_on_device(classes))
    })
}

fn on_device(ctx: &Context, stream: Stream) -> Option<DLDeviceType> {
    let classes = given(ctx)?;
    (is_on_device(classes) && classes.stream == stream).then_some(ctx.table.own.device_type)
}

fn cuda_zero(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::StrCudaZero, || {
        on_device(ctx, Stream::Zero).is_some_and(|device| device != DLDeviceType::ROCM)
    })
}

fn rocm_values(ctx: &Context) -> Verdict {
    // The table sees ROCm's 1 and 2 in the place of CUDA's 0.
    by_table(ctx, Blame::StrRocmValues, || on_device(ctx, Stream::Zero) == Some(DLDeviceType::ROCM))
}

fn range(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::StrRange, || on_device(ctx, Stream::Negative).is_some())
}

fn nonint(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::StrNonint, || on_device(ctx, Stream::Bad).is_some())
}
