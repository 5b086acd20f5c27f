//! What dropping a capsule leaves behind.

use super::each_capsule;
use crate::oracle::export::{Word, evidence, place};
use crate::oracle::{Context, Fact, Grade, Of, Verdict, What, life, lived};
use std::borrow::Cow;

pub(super) fn destructor_present(ctx: &Context) -> Verdict {
    each_capsule(
        ctx,
        |capsule| {
            // Static data needs neither.
            let has_deleter = capsule.managed.as_ref().is_none_or(|managed| managed.has_deleter);
            Word::require(
                capsule.has_destructor,
                if has_deleter { Grade::Violation } else { Grade::Info },
            )
        },
        |of, _| {
            evidence(
                "NULL",
                "a destructor that releases a capsule nobody consumed",
                format!("no destructor {}", place(of)),
                [Fact { of, what: What::HasDestructor, value: "False".into() }],
            )
        },
    )
}

/// Every capsule of a case's calls is dropped unconsumed.
pub(super) fn destructor_unconsumed(ctx: &Context) -> Verdict {
    lived::verdict_beside(ctx, "CAP-DTOR-UNCONSUMED", unconsumed_by_calls(ctx))
}

fn unconsumed_by_calls(ctx: &Context) -> Verdict {
    match life::leak(ctx) {
        None => Verdict::Silent,
        Some(life::Leak::None | life::Leak::Once) => Verdict::Holds,
        Some(life::Leak::Whole(per_round)) => ctx.breaks(Grade::Violation, || {
            let capsules = life::capsules(ctx);
            evidence(
                "references",
                "a reference count that stays when capsules are dropped",
                format!("{per_round:.2} references of the array left behind by {capsules} dropped capsules"),
                [life::growth_fact(per_round)],
            )
        }),
        Some(life::Leak::Blocks(per_round)) => ctx.breaks(Grade::Violation, || {
            evidence(
                "memory",
                "all memory back when capsules are dropped",
                format!("{per_round:.2} blocks of memory left behind by each round of dropped capsules"),
                [],
            )
        }),
        Some(life::Leak::Bytes(per_round)) => ctx.breaks(Grade::Violation, || {
            evidence(
                "heap",
                "all memory back when capsules are dropped",
                format!("{per_round:.0} bytes of the heap left behind by each round of dropped capsules"),
                [life::heap_fact()],
            )
        }),
        Some(life::Leak::Failing(_) | life::Leak::FailingBlocks | life::Leak::Part(_)) => Verdict::Silent,
    }
}

pub(super) fn destructor_clean(ctx: &Context) -> Verdict {
    lived::verdict_beside(ctx, "CAP-DTOR-EXC-CLEAN", clean_after_calls(ctx))
}

fn clean_after_calls(ctx: &Context) -> Verdict {
    if life::capsules(ctx) == 0 {
        return Verdict::Silent;
    }
    match &ctx.seen.ledger.error_after_release {
        None => Verdict::Holds,
        Some(name) => ctx.breaks(Grade::Violation, || {
            evidence(
                name.clone(),
                "no exception set after a capsule was dropped",
                format!("{name} set"),
                [Fact { of: Of::Export, what: What::PendingError, value: name.clone() }],
            )
        }),
    }
}

pub(super) fn exception_no_leak(ctx: &Context) -> Verdict {
    lived::verdict_beside(ctx, "CAP-EXC-NO-LEAK", no_leak_by_calls(ctx))
}

fn no_leak_by_calls(ctx: &Context) -> Verdict {
    match life::leak(ctx) {
        Some(life::Leak::Failing(per_round)) => ctx.breaks(Grade::Violation, || {
            evidence(
                "references",
                "a reference count that stays when a call raises",
                format!("{per_round:.2} references of the array left behind by each failing call"),
                [life::growth_fact(per_round)],
            )
        }),
        Some(life::Leak::None | life::Leak::Once) if life::raises(ctx) => Verdict::Holds,
        _ => Verdict::Silent,
    }
}

pub(super) fn source_unchanged(ctx: &Context) -> Verdict {
    match &ctx.seen.source.unchanged {
        Ok(()) => Verdict::Holds,
        Err(change) => ctx.breaks(Grade::Violation, || {
            let key = match change {
                Cow::Borrowed(change) => Cow::Borrowed(*change),
                Cow::Owned(_) => "source".into(),
            };
            evidence(
                key,
                "an array that is after its export what it was before",
                change.clone(),
                [Fact { of: Of::Export, what: What::SourceState, value: "changed".into() }],
            )
        }),
    }
}
