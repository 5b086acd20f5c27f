//! **LIFE**: what stays behind once everything is released, and what lives as long as an export does.
//! Most of it takes a life to see, which the module `lived` judges; this one judges the calls alone.
//!
//! A count that is off after one case may be a cache; only growth over many rounds is a leak (P-BASELINE).
//! [`leak`] says which rule a leak belongs to, so that it is reported once: a call that raises
//! (CAP-EXC-NO-LEAK), capsules that release nothing (CAP-DTOR-UNCONSUMED), or anything between
//! (LIFE-REFCOUNT). Memory of failing calls is EXC-NO-PARTIAL's.

use super::export::evidence;
use super::lived;
use super::{Context, Fact, Grade, Matter, Of, Outcome, ProbeName, Rule, Verdict, What};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "LIFE-REFCOUNT", needs: Matter::ANY, judge: refcount },
    lived::rule!("LIFE-OWNER-DROPPED"),
    lived::rule!("LIFE-OWNER-DROPPED-TAKEN"),
    lived::rule!("LIFE-OWNER-PINNED"),
    lived::rule!("LIFE-DELETER-ONCE"),
    lived::rule!("LIFE-DELETER-PY-THREAD"),
    lived::rule!("LIFE-DELETER-NO-GIL"),
    lived::rule!("LIFE-DELETER-FINALIZED"),
    lived::rule!("LIFE-CAPSULE-AT-EXIT"),
    lived::rule!("LIFE-CYCLE"),
    lived::rule!("LIFE-CONCURRENT"),
];

/// What stays behind; numbers are per round, which is the case's export and its probes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Leak {
    None,
    /// Off after the case, and not growing.
    Once,
    /// At least one reference for each capsule.
    Whole(f64),
    /// Blocks of memory without references.
    Blocks(f64),
    /// Bytes of the heap that no other count knows of.
    Bytes(f64),
    /// References of calls that all raise.
    Failing(f64),
    /// Memory of calls that all raise.
    FailingBlocks,
    /// Another number of references; below 0 if more were released than taken.
    Part(f64),
}

/// `None` where a capsule without a destructor explains everything (CAP-DTOR-PRESENT), and where the calls of
/// the round that raise may be what leaks, or the others: a case of its own tells of either.
pub(super) fn leak(ctx: &Context) -> Option<Leak> {
    let (mut capsules, mut failing) = (0, 0);
    for outcome in repeated(ctx) {
        match outcome {
            Outcome::Capsule(capsule) if !capsule.has_destructor => return None,
            Outcome::Capsule(_) => capsules += 1,
            _ => failing += 1,
        }
    }
    let ledger = &ctx.seen.ledger;
    let bytes = ledger.heap.filter(|&bytes| bytes > 0.0).and_then(|bytes| {
        let raises = repeated(ctx).any(|outcome| outcome.raised().is_some());
        match (capsules > 0, raises) {
            (true, false) => Some(Leak::Bytes(bytes)),
            (false, _) => Some(Leak::FailingBlocks),
            // Either call may be the one; a case that makes only one of them says which.
            (true, true) => None,
        }
    });
    let Some(growth) = ledger.growth else {
        if let Some(bytes) = bytes {
            return Some(bytes);
        }
        // Without repetition nothing is confirmed.
        let is_off =
            ledger.source_references != 0 || ledger.blocks.is_some_and(|blocks| blocks != 0);
        return Some(if is_off { Leak::Once } else { Leak::None });
    };
    let rounds = f64::from(growth.rounds.max(1));
    let per_round = |count: isize| count as f64 / rounds;
    // Half of the rounds: a leak on every call is far above it, a cache that fills up far below.
    let grows = |count: isize| per_round(count).abs() >= 0.5;
    Some(if grows(growth.references) {
        let references = per_round(growth.references);
        if capsules == 0 {
            Leak::Failing(references)
        } else if failing > 0 {
            return None;
        } else if references + 0.5 >= f64::from(capsules) {
            Leak::Whole(references)
        } else {
            Leak::Part(references)
        }
    } else if growth.blocks > 0 && grows(growth.blocks) {
        if capsules == 0 { Leak::FailingBlocks } else { Leak::Blocks(per_round(growth.blocks)) }
    } else if let Some(bytes) = bytes {
        bytes
    } else {
        Leak::Once
    })
}

/// The exports that one round of the repetition makes: the case's own and the probes that it asks for, not
/// those that the host added to judge a refusal.
fn repeated<'a>(ctx: &Context<'a>) -> impl Iterator<Item = &'a Outcome> {
    let asked = ctx.case.probes;
    let is_repeated = move |of| match of {
        Of::Export => true,
        Of::FromPy => false,
        Of::Probe(ProbeName(probe)) => asked.contains(probe),
    };
    (ctx.outcomes()).filter(move |(of, _)| is_repeated(*of)).map(|(_, outcome)| outcome)
}

/// How many capsules one round makes.
pub(super) fn capsules(ctx: &Context) -> usize {
    repeated(ctx).filter(|outcome| outcome.capsule().is_some()).count()
}

/// Some call of the case raises.
pub(super) fn raises(ctx: &Context) -> bool {
    ctx.outcomes().any(|(_, outcome)| outcome.raised().is_some())
}

pub(super) fn growth_fact(per_round: f64) -> Fact {
    Fact { of: Of::Export, what: What::ReferenceGrowth, value: format!("{per_round:.2}") }
}

pub(super) fn heap_fact() -> Fact {
    Fact { of: Of::Export, what: What::HeapGrowth, value: "True".into() }
}

fn refcount(ctx: &Context) -> Verdict {
    lived::verdict_beside(ctx, "LIFE-REFCOUNT", refcount_of_calls(ctx))
}

fn refcount_of_calls(ctx: &Context) -> Verdict {
    match leak(ctx) {
        Some(Leak::None) => Verdict::Holds,
        Some(Leak::Part(per_round)) => ctx.breaks(Grade::Violation, || {
            evidence(
                if per_round < 0.0 { "sinks" } else { "grows" },
                "a reference count that stays when everything is released",
                format!(
                    "a count that changes by {per_round:.2} with each round of {} exports",
                    capsules(ctx)
                ),
                [growth_fact(per_round)],
            )
        }),
        Some(Leak::Once) if ctx.seen.ledger.source_references != 0 => {
            ctx.breaks(Grade::Info, || {
                evidence(
                    "offset",
                    "a reference count that stays when everything is released",
                    format!(
                        "{} references left behind once, and no growth",
                        ctx.seen.ledger.source_references
                    ),
                    [],
                )
            })
        }
        Some(Leak::Once) => Verdict::Holds,
        _ => Verdict::Silent,
    }
}
