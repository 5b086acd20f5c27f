//! `managed_tensor_to_py_object_no_sync`: what becomes of the tensor that it is given.

use super::{judged, seen, shown};
use crate::oracle::{Context, Grade, Matter, Out, Parcel, Rule, ToPy, Verdict, What};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "XCH-TOPY-STEAL", needs: Matter::EXCHANGE, judge: steal },
    Rule { id: "XCH-TOPY-NEWREF", needs: Matter::EXCHANGE, judge: new_reference },
    Rule { id: "XCH-TOPY-FAIL", needs: Matter::EXCHANGE, judge: failure },
    Rule { id: "XCH-TOPY-NULLDEL", needs: Matter::EXCHANGE, judge: no_deleter },
    Rule { id: "XCH-TOPY-MAJOR", needs: Matter::EXCHANGE, judge: major },
];

fn all<'a>(ctx: &Context<'a>) -> Option<&'a [ToPy]> {
    seen(ctx).map(|exchange| &exchange.to_py[..]).filter(|all| !all.is_empty())
}

fn of<'a>(ctx: &Context<'a>, parcel: Parcel) -> Option<&'a ToPy> {
    all(ctx)?.iter().find(|it| it.parcel == parcel)
}

fn plain_works(ctx: &Context) -> bool {
    of(ctx, Parcel::Plain).is_some_and(|it| it.answer.succeeded())
}

fn steal(ctx: &Context) -> Verdict {
    judged(all(ctx), |all| {
        let is_wrong = |it: &&ToPy| {
            let lives_on = it.object.as_ref().is_some_and(|object| object.references > 1);
            let never = it.parcel != Parcel::NoDeleter
                && it.answer.succeeded()
                && it.answer.out == Out::Set
                && it.deleted == 0
                && !lives_on;
            never || it.deleted > 1
        };
        match all.iter().find(is_wrong) {
            Some(wrong) => ctx.breaks(Grade::Violation, || {
                shown(
                    if wrong.deleted == 0 { "never" } else { "twice" },
                    "the deleter runs once when the new object dies, and never twice",
                    format!("it ran {} times ({})", wrong.deleted, wrong.parcel.name()),
                    What::ExchangeToPy,
                    wrong,
                )
            }),
            None if all.iter().any(|it| it.answer.succeeded()) => Verdict::Holds,
            None => Verdict::Silent,
        }
    })
}

fn new_reference(ctx: &Context) -> Verdict {
    judged(of(ctx, Parcel::Plain).filter(|it| it.answer.succeeded()), |it| {
        let expected = "a new reference to an object of the producer's array type";
        match &it.object {
            None => ctx.breaks(Grade::Violation, || {
                shown("no object", expected, "no object", What::ExchangeToPy, it)
            }),
            Some(object) if !object.fits => ctx.breaks(Grade::Violation, || {
                let seen = format!("a {}", object.type_name);
                shown("type", expected, seen, What::ExchangeToPy, it)
            }),
            // The library may keep its own wrapper.
            Some(object) => ctx.require(object.references == 1, Grade::Info, || {
                let seen = format!("{} references", object.references);
                shown("references", expected, seen, What::ExchangeToPy, it)
            }),
        }
    })
}

/// Either side may own what was refused; more than one deletion is XCH-TOPY-STEAL's.
fn failure(ctx: &Context) -> Verdict {
    judged(all(ctx), |all| {
        let mut failures = all.iter().filter(|it| !it.answer.succeeded()).peekable();
        if failures.peek().is_none() {
            return Verdict::Silent;
        }
        match failures.find(|it| it.deleted == 1) {
            None => Verdict::Holds,
            Some(it) => ctx.breaks(Grade::Info, || {
                shown(
                    "callee",
                    "the caller still owns what was refused (contested)",
                    "the callee ran the deleter",
                    What::ExchangeToPy,
                    it,
                )
            }),
        }
    })
}

fn no_deleter(ctx: &Context) -> Verdict {
    judged(of(ctx, Parcel::NoDeleter).filter(|_| plain_works(ctx)), |it| {
        ctx.require(it.answer.succeeded(), Grade::Violation, || {
            shown(
                "refused",
                "a tensor whose deleter is NULL is taken like any other",
                it.answer.to_string(),
                What::ExchangeToPy,
                it,
            )
        })
    })
}

fn major(ctx: &Context) -> Verdict {
    judged(of(ctx, Parcel::MajorTwo).filter(|_| plain_works(ctx)), |it| {
        ctx.require(!it.answer.succeeded(), Grade::Violation, || {
            shown(
                "accepted",
                "a struct of another major version refused, whose layout nobody knows",
                "it was taken",
                What::ExchangeToPy,
                it,
            )
        })
    })
}
