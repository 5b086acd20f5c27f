//! `dltensor_from_py_object_no_sync`: a view that is complete, right and the producer's.

use super::export::{differences, sound};
use super::{judged, seen, shown};
use crate::oracle::{Context, Grade, Matter, Rule, Verdict, View, What};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "XCH-DLT-VIEW", needs: Matter::EXCHANGE, judge: view },
    Rule { id: "XCH-DLT-LIFETIME", needs: Matter::EXCHANGE, judge: lifetime },
    Rule { id: "XCH-DLT-ALLWRITTEN", needs: Matter::EXCHANGE, judge: written },
];

/// A view that succeeded.
fn success<'a>(ctx: &Context<'a>) -> Option<&'a View> {
    seen(ctx)?.view.as_ref().filter(|view| view.answer.succeeded())
}

fn view(ctx: &Context) -> Verdict {
    judged(success(ctx), |view| {
        if let Some(growth) = view.kept.growth.filter(|growth| growth.abs() >= 0.5) {
            return ctx.breaks(Grade::Violation, || {
                shown(
                    if growth < 0.0 { "sinks" } else { "grows" },
                    "a view that leaves the reference count as it is",
                    format!("{growth:.2} references more with each view"),
                    What::ExchangeViewReferences,
                    format!("{growth:.2}"),
                )
            });
        }
        let Some((tensor, (.., other))) = view.tensor.as_ref().zip(sound(ctx)) else {
            return Verdict::Silent;
        };
        let fields = differences(tensor, other, ctx.seen.source.size());
        let Some(&first) = fields.first() else { return Verdict::Holds };
        ctx.breaks(Grade::Violation, || {
            let list = fields.join(" ");
            shown(
                first,
                "the same tensor as managed_tensor_from_py_object_no_sync describes",
                format!("another {list}"),
                What::ExchangeViewDiffers,
                list,
            )
        })
    })
}

fn lifetime(ctx: &Context) -> Verdict {
    judged(success(ctx).filter(|view| view.tensor.is_some()), |view| {
        ctx.require(view.stays, Grade::Violation, || {
            shown(
                "changes",
                "shape and strides that stay while the object lives and is left alone",
                "other numbers a moment later",
                What::ExchangeStays,
                "False",
            )
        })
    })
}

fn written(ctx: &Context) -> Verdict {
    judged(success(ctx), |view| {
        let Some(&first) = view.unwritten.first() else { return Verdict::Holds };
        // Without axes nobody need look at shape and strides.
        let is_scalar = view.tensor.as_ref().is_some_and(|tensor| tensor.ndim == 0)
            && view.unwritten.iter().all(|field| matches!(*field, "shape" | "strides"));
        let grade = if is_scalar { Grade::Warning } else { Grade::Violation };
        ctx.breaks(grade, || {
            let list = view.unwritten_text();
            shown(
                if is_scalar { "no axes" } else { first },
                "every field of the DLTensor written",
                format!("not written: {list}"),
                What::ExchangeUnwritten,
                list,
            )
        })
    })
}
