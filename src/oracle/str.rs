//! Rules of the family STR: which streams are accepted.
//!
//! Only what the call's outcome shows. The order of work on a device (STR-ORDER, STR-CUDA-VALUES,
//! STR-MINUS1-NOSYNC, STR-CPU-SYNC, STR-NO-OWNERSHIP) needs a device with streams, and STR-OPTIONAL grants
//! something: none of these has a function.

use super::decision::{Blame, Classes, Own, Stream};
use super::words::{by_table, knows};
use super::{Context, Matter, Rule, Verdict};
use crate::abi::DLDeviceType;
use crate::case::{Arg, Keyword, Value};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "STR-NONE", needs: Matter::STREAM, judge: none },
    Rule { id: "STR-CPU-NONE-ONLY", needs: Matter::STREAM, judge: cpu_none_only },
    Rule {
        id: "STR-CPU-ERRTYPE",
        needs: Matter::EXCEPTION.and(Matter::STREAM),
        judge: cpu_errtype,
    },
    Rule {
        id: "STR-CPU-REQUEST",
        needs: Matter::STREAM.and(Matter::ELSEWHERE),
        judge: cpu_request,
    },
    Rule { id: "STR-CUDA-ZERO", needs: Matter::STREAM.and(Matter::ELSEWHERE), judge: cuda_zero },
    Rule {
        id: "STR-ROCM-VALUES",
        needs: Matter::STREAM.and(Matter::ELSEWHERE),
        judge: rocm_values,
    },
    Rule { id: "STR-RANGE", needs: Matter::STREAM.and(Matter::ELSEWHERE), judge: range },
    Rule { id: "STR-NONINT", needs: Matter::STREAM.and(Matter::ELSEWHERE), judge: nonint },
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

#[cfg(test)]
mod tests {
    use super::super::testing::{Said, Scene, call};
    use super::super::{ErrorClass, Grade};
    use crate::abi::DLDevice;
    use crate::case::Keyword::*;
    use crate::case::{Probe, Scalar, Tensor, Value};

    const WARNING: Said = Said::Breaks(Grade::Warning);
    const INFO: Said = Said::Breaks(Grade::Info);

    fn on(device: (i32, i32), stream: i64) -> Scene {
        let array = Tensor { device: DLDevice::new(device.0, device.1), ..Tensor::plain() };
        Scene::new(array, call(&[(Stream, Value::int(stream))]))
    }

    #[test]
    fn none_is_accepted() {
        let twin = Scene::of(&[(Stream, Value::NONE)]).with(Probe::NoStream);
        assert_eq!(twin.said("STR-NONE"), Said::Holds);
        twin.raising(ErrorClass::Type).assert_only("STR-NONE", Grade::Violation);
    }

    #[test]
    fn the_cpu_has_no_streams() {
        let twin = on((1, 0), 1);
        assert_eq!(twin.said("STR-CPU-NONE-ONLY"), Said::Holds);
        assert_eq!(twin.said("STR-CPU-ERRTYPE"), Said::Holds);
        twin.clone().answering(&[]).assert_only("STR-CPU-NONE-ONLY", Grade::Warning);
        assert_eq!(on((1, 0), -1).answering(&[]).said("STR-CPU-NONE-ONLY"), INFO);
        // torch: AssertionError; JAX and NumPy <= 2.4: RuntimeError.
        for class in [ErrorClass::Assertion, ErrorClass::Runtime] {
            assert_eq!(twin.clone().raising(class).said("STR-CPU-ERRTYPE"), INFO);
        }
        let odd = Scene::of(&[(Stream, Value::bool(true))]).answering(&[]);
        odd.assert_lawful();
        assert_eq!(odd.said("STR-CPU-NONE-ONLY"), Said::Silent);
    }

    #[test]
    fn a_stream_for_data_that_is_brought_to_the_cpu_is_noted() {
        let array = Tensor { device: DLDevice::new(2, 0), ..Tensor::plain() };
        let args = [(DlDevice, Value::pair(1, 0)), (Stream, Value::int(1))];
        let twin = Scene::new(array, call(&args));
        assert_eq!(twin.said("STR-CPU-REQUEST"), Said::Holds);
        let ignored = twin.answering(&[(DlDevice, Value::pair(1, 0))]);
        assert_eq!(ignored.said("STR-CPU-REQUEST"), INFO);
        assert_eq!(ignored.said("STR-CPU-NONE-ONLY"), Said::Silent);
    }

    #[test]
    fn cuda_and_rocm_have_values_that_are_not_allowed() {
        for (device, stream, id) in [
            ((2, 0), 0, "STR-CUDA-ZERO"),
            ((10, 0), 1, "STR-ROCM-VALUES"),
            ((2, 0), -2, "STR-RANGE"),
        ] {
            assert_eq!(on(device, stream).said(id), Said::Holds);
            assert_eq!(on(device, stream).answering(&[]).said(id), WARNING);
        }
        let array = Tensor { device: DLDevice::new(2, 0), ..Tensor::plain() };
        let text = Scene::new(array, call(&[(Stream, Value::Scalar(Scalar::Str(1)))]));
        assert_eq!(text.said("STR-NONINT"), Said::Holds);
        assert_eq!(text.answering(&[]).said("STR-NONINT"), WARNING);
        assert_eq!(on((2, 0), 1).said("STR-CUDA-ZERO"), Said::Silent);
    }
}
