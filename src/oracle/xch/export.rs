//! `managed_tensor_from_py_object_no_sync`: its struct, against `__dlpack__`, and who owns it.

use super::structure::faults;
use super::{fact, judged, seen, shown};
use crate::abi::FLAG_READ_ONLY;
use crate::oracle::export::evidence;
use crate::oracle::{
    Context, DlTensor, ErrorClass, FromPy, Grade, Kind, Knob, Managed, Matter, Memory, Outcome,
    Rule, Second, Verdict, What,
};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "XCH-FROMPY-STRUCT", needs: Matter::EXCHANGE, judge: structure },
    Rule { id: "XCH-FROMPY-EQUIV", needs: Matter::EXCHANGE, judge: equivalent },
    Rule { id: "XCH-FROMPY-OWNED", needs: Matter::EXCHANGE, judge: owned },
    Rule { id: "XCH-FROMPY-BE", needs: Matter::EXCHANGE, judge: buffer_error },
    Rule { id: "XCH-FROMPY-GUARDS", needs: Matter::EXCHANGE, judge: guards },
];

fn from_py<'a>(ctx: &Context<'a>) -> Option<&'a FromPy> {
    seen(ctx)?.from_py.as_ref()
}

fn structure(ctx: &Context) -> Verdict {
    judged(from_py(ctx).and_then(|it| Some((it, it.managed.as_ref()?))), |(from_py, managed)| {
        let faults = faults(ctx, from_py, managed);
        let Some(fault) = faults.into_iter().next() else { return Verdict::Holds };
        ctx.breaks(Grade::Violation, || {
            let mut evidence = fault.evidence;
            if fault.rule != "XCH-FROMPY-STRUCT" {
                evidence.key = format!("{} {}", fault.rule, evidence.key).into();
            }
            evidence
        })
    })
}

/// The owning export, if its struct is sound in itself.
pub(super) fn sound<'a>(ctx: &Context<'a>) -> Option<(&'a FromPy, &'a Managed, &'a DlTensor)> {
    let from_py = from_py(ctx)?;
    let managed = from_py.managed.as_ref()?;
    let tensor = managed.tensor.as_ref()?;
    faults(ctx, from_py, managed).is_empty().then_some((from_py, managed, tensor))
}

/// The fields in which two descriptions of one tensor differ.
pub(super) fn differences(one: &DlTensor, other: &DlTensor, size: u64) -> Vec<&'static str> {
    let mut fields = Vec::new();
    let mut compare = |name, equal: bool| {
        if !equal {
            fields.push(name);
        }
    };
    // Pinned and managed memory may be called the host's (DEV-CONSISTENT).
    let is_pinned_as_cpu = |a: &DlTensor, b: &DlTensor| {
        matches!(a.device.device_type.0, 3 | 11 | 13) && b.device.device_type.0 == 1
    };
    let pinned = is_pinned_as_cpu(one, other) || is_pinned_as_cpu(other, one);
    compare("device", one.device == other.device || pinned);
    compare("dtype", one.dtype == other.dtype);
    compare("ndim", one.ndim == other.ndim);
    compare("shape", one.shape == other.shape);
    if size > 0 && one.shape == other.shape {
        let strides = |tensor: &DlTensor| {
            let wide = tensor.strides.iter().zip(&tensor.shape).filter(|(_, extent)| **extent > 1);
            wide.map(|(stride, _)| *stride).collect::<Vec<_>>()
        };
        compare("strides", strides(one) == strides(other));
        compare("address", one.first() == other.first());
    }
    fields
}

/// The memory of both is the source's, or nobody knows.
fn same_memory(one: &DlTensor, other: &DlTensor) -> bool {
    let is_alias = |tensor: &DlTensor| matches!(tensor.memory, Memory::Alias | Memory::Overlap);
    let is_unknown = |tensor: &DlTensor| tensor.memory == Memory::Unknown;
    is_alias(one) && is_alias(other) || is_unknown(one) && is_unknown(other)
}

fn equivalent(ctx: &Context) -> Verdict {
    let reference = || {
        let managed = seen(ctx)?.reference.as_ref()?.managed()?;
        Some((managed, managed.tensor.as_ref()?))
    };
    let Some(((_, managed, tensor), (reference, other))) = sound(ctx).zip(reference()) else {
        return Verdict::Silent;
    };
    if !same_memory(tensor, other) {
        return Verdict::Silent;
    }
    let mut fields = differences(tensor, other, ctx.seen.source.size());
    let flags = reference.kind == Kind::Versioned;
    if flags && (managed.flags ^ reference.flags) & FLAG_READ_ONLY != 0 {
        fields.push("read-only");
    }
    let Some(&first) = fields.first() else { return Verdict::Holds };
    ctx.breaks(Grade::Violation, || {
        let list = fields.join(" ");
        shown(
            first,
            "the same tensor as __dlpack__ describes",
            format!("another {list}"),
            What::ExchangeDiffers,
            list,
        )
    })
}

fn owned(ctx: &Context) -> Verdict {
    judged(from_py(ctx), |from_py| {
        let grows = from_py.kept.growth.filter(|growth| growth.abs() >= 0.5);
        if let Some(growth) = grows
            && from_py.second != Second::SameStruct
        {
            let what = What::ExchangeReferences;
            return ctx.breaks(Grade::Violation, || {
                shown(
                    if growth < 0.0 { "sinks" } else { "grows" },
                    "a reference count that stays when the result is released",
                    format!("{growth:.2} references more with each export and release"),
                    what,
                    format!("{growth:.2}"),
                )
            });
        }
        let second = |key, grade, text: &str| {
            ctx.breaks(grade, || {
                let expected = "a struct for each caller, who releases it alone";
                shown(key, expected, text, What::ExchangeSecond, key)
            })
        };
        match from_py.second {
            Second::Disturbs => {
                return second(
                    "disturbs",
                    Grade::Violation,
                    "the first result changes when the second is released",
                );
            }
            // A struct that counts its owners would be lawful.
            Second::SameStruct => {
                return second("same struct", Grade::Warning, "the first result once more");
            }
            Second::NotTried | Second::Separate => {}
        }
        match (&from_py.error_after_release, ctx.profile.setting(Knob::DeleterExc).grade()) {
            (Some(name), Some(grade)) => ctx.breaks(grade, || {
                shown(
                    "exception",
                    "no exception after the deleter",
                    format!("{name} is set"),
                    What::ExchangeRelease,
                    name,
                )
            }),
            _ if from_py.managed.is_none() && from_py.kept.once == 0 => Verdict::Silent,
            _ => Verdict::Holds,
        }
    })
}

fn buffer_error(ctx: &Context) -> Verdict {
    judged(from_py(ctx), |from_py| {
        let Some(raised) = &from_py.answer.error else { return Verdict::Silent };
        if from_py.answer.succeeded() || raised.class == ErrorClass::Memory {
            return Verdict::Silent;
        }
        let Some(grade) = ctx.profile.setting(Knob::BufferErrorMust).grade() else {
            return Verdict::Silent;
        };
        ctx.require(raised.class == ErrorClass::Buffer, grade, || {
            evidence(
                raised.name.clone(),
                "BufferError for data that cannot be described, if possible",
                raised.name.clone(),
                [fact(What::ExchangeFromPy, &from_py.answer)],
            )
        })
    })
}

/// One way refuses what the other exports.
fn guards(ctx: &Context) -> Verdict {
    let Some((from_py, reference)) =
        from_py(ctx).zip(seen(ctx).and_then(|it| it.reference.as_ref()))
    else {
        return Verdict::Silent;
    };
    let (seen, key) = match (from_py.answer.succeeded(), reference) {
        (true, Outcome::Raised(raised)) => {
            (format!("from_py exports what __dlpack__ refuses with {}", raised.name), "exports")
        }
        (false, Outcome::Capsule(_)) => {
            ("from_py refuses what __dlpack__ exports".into(), "refuses")
        }
        _ => return Verdict::Holds,
    };
    let facts = [fact(What::ExchangeFromPy, &from_py.answer)];
    ctx.breaks(Grade::Info, || evidence(key, "one answer on both ways", seen, facts))
}
