//! Rules of the family EXC: which exceptions come, and what they leave behind (rules.md section 14).
//!
//! EXC-NO-CRASH is judged by the parent process, which sees the death; an observation is the proof that
//! there was none. EXC-ARGS, EXC-OOM, EXC-PRECEDENCE and EXC-ATTRIBUTE grant something and have no function.

use super::decision::{Blame, Content, CopyArg, DlDevice, Own, Standing, Stream, Word};
use super::pair::content;
use super::words::{by_table, facts_of, knows, on_outcome, on_pair, phrase};
use super::{
    Context, ErrorClass, Evidence, Exportable, Grade, Of, Outcome, ProbeName, Rule, Verdict, What,
};
use crate::case::{Keyword, Probe};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "EXC-NO-CRASH", judge: no_crash },
    Rule { id: "EXC-CLASS", judge: class },
    Rule { id: "EXC-SYSTEMERROR", judge: systemerror },
    Rule { id: "EXC-NOTEXPORTABLE", judge: notexportable },
    Rule { id: "EXC-DEVICE", judge: device },
    Rule { id: "EXC-NOCOPY-CROSSDEV", judge: nocopy_crossdev },
    Rule { id: "EXC-COPY-IMPOSSIBLE", judge: copy_impossible },
    Rule { id: "EXC-UNEXPECTED", judge: unexpected },
    Rule { id: "EXC-STATE", judge: state },
    Rule { id: "EXC-NO-PARTIAL", judge: no_partial },
];

fn no_crash(_: &Context) -> Verdict {
    Verdict::Holds
}

/// The first export that raised an exception of this class.
fn first_of<'a>(ctx: &Context<'a>, class: ErrorClass) -> Option<(Of, &'a Outcome)> {
    (ctx.outcomes())
        .find(|(_, outcome)| outcome.raised().is_some_and(|raised| raised.class == class))
}

fn raises(ctx: &Context) -> bool {
    ctx.seen.export.raised().is_some()
}

fn class(ctx: &Context) -> Verdict {
    match first_of(ctx, ErrorClass::Base) {
        Some(found) => ctx.breaks(Grade::Violation, || {
            let name = found.1.raised().map_or("".into(), |raised| raised.name.clone());
            on_outcome(ctx, found, name, Blame::ExcClass.demand(), &[What::Outcome])
        }),
        None if ctx.outcomes().any(|(_, outcome)| outcome.raised().is_some()) => Verdict::Holds,
        None => Verdict::Silent,
    }
}

fn systemerror(ctx: &Context) -> Verdict {
    if let Some(found) = first_of(ctx, ErrorClass::System) {
        return ctx.breaks(Grade::Violation, || {
            on_outcome(ctx, found, "SystemError", Blame::ExcSystemerror.demand(), &[What::Outcome])
        });
    }
    let pending = (ctx.outcomes())
        .find(|(_, outcome)| outcome.capsule().is_some_and(|capsule| capsule.error_pending));
    match pending {
        Some((of, outcome)) => ctx.breaks(Grade::Violation, || Evidence {
            key: "pending".into(),
            expected: "a call that returns a result leaves no exception set".to_owned(),
            seen: format!("{}, with an exception set", phrase(ctx, of, outcome)),
            facts: facts_of(of, outcome, &[What::Outcome, What::PendingError]),
        }),
        None => Verdict::Holds,
    }
}

fn notexportable(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::ExcNotexportable, || {
        raises(ctx) && Standing::of(ctx.case, ctx.seen) == Standing::NotExportable
    })
}

fn device(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::ExcDevice, || {
        let classes = ctx.table.classes;
        let is_foreign = classes.is_some_and(|classes| {
            matches!(classes.dl_device, DlDevice::UnsupportedOther | DlDevice::UnknownType)
                && classes.stream == Stream::None
        });
        is_foreign && raises(ctx) && knows(ctx, Keyword::DlDevice)
    })
}

fn nocopy_crossdev(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::ExcNocopyCrossdev, || {
        let classes = ctx.table.classes;
        let is_move = classes.is_some_and(|classes| {
            classes.copy == CopyArg::False
                && classes.dl_device == DlDevice::CpuOther
                && classes.own != Own::Host
        });
        is_move && raises(ctx) && knows(ctx, Keyword::Copy)
    })
}

fn copy_impossible(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::ExcCopyImpossible, || {
        let classes = ctx.table.classes;
        let is_asked = classes.is_some_and(|it| it.copy == CopyArg::False && it.dl_device.is_own());
        let copies = |probe| {
            let managed = ctx.seen.probe(probe).and_then(Outcome::managed);
            managed.and_then(|managed| content(ctx, managed)) == Some(Content::Copy)
        };
        is_asked && raises(ctx) && copies(Probe::CopyNone) && knows(ctx, Keyword::Copy)
    })
}

fn unexpected(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::ExcUnexpected, || raises(ctx))
}

/// The array is as usable after a failing call as before it.
fn state(ctx: &Context) -> Verdict {
    if !raises(ctx) {
        return Verdict::Silent;
    }
    // Where another export succeeded it may have been that one: CAP-SOURCE-UNCHANGED.
    let nothing_succeeded = ctx.seen.further.iter().all(|(_, outcome)| outcome.capsule().is_none());
    if let Err(change) = &ctx.seen.source.unchanged
        && nothing_succeeded
    {
        return ctx.breaks(Grade::Violation, || Evidence {
            key: "changed".into(),
            expected: "after an exception the array is unchanged".to_owned(),
            seen: format!("{}; afterwards: {change}", phrase(ctx, Of::Export, &ctx.seen.export)),
            facts: facts_of(Of::Export, &ctx.seen.export, &[What::Outcome]),
        });
    }
    let Some(plain) = ctx.seen.probe(Probe::Plain) else {
        return Verdict::Holds;
    };
    let is_lost = match plain.raised().map(|raised| raised.class) {
        // BufferError may be how every plain call ends (VER-NONE-BE, RO-LEGACY); the others are no word on
        // the array.
        None
        | Some(ErrorClass::Buffer | ErrorClass::Memory | ErrorClass::System | ErrorClass::Base) => {
            false
        }
        // The array is exportable, and the failing call was itself lawful: it alone stands before this.
        Some(_) => {
            ctx.seen.source.exportable == Exportable::Yes
                && ctx.seen.source.writable != Some(false)
                && ctx.table.word == Word::Lawful
        }
    };
    ctx.require(!is_lost, Grade::Violation, || {
        let expected = "after an exception the array can still be exported by the plain call";
        let own = (Of::Export, &ctx.seen.export);
        on_pair(
            ctx,
            own,
            (Of::Probe(ProbeName(Probe::Plain)), plain),
            "lost",
            expected,
            &[What::Outcome],
        )
    })
}

/// Memory that a failing call leaves behind; references of the array are CAP-EXC-NO-LEAK.
fn no_partial(ctx: &Context) -> Verdict {
    // A leak of an export that succeeded is not this rule's.
    if ctx.outcomes().any(|(_, outcome)| outcome.raised().is_none()) {
        return Verdict::Silent;
    }
    let ledger = &ctx.seen.ledger;
    match (ledger.blocks, ledger.growth) {
        (None, _) => Verdict::Silent,
        (Some(..=0), _) => Verdict::Holds,
        // One block more may be a cache: only growth with the rounds counts (P-BASELINE).
        (Some(_), None) => Verdict::Silent,
        (Some(_), Some(growth)) => {
            let is_leak = growth.rounds > 0 && growth.blocks >= growth.rounds as isize;
            ctx.require(!is_leak, Grade::Violation, || Evidence {
                key: "blocks".into(),
                expected: "a call that raises leaves no copy behind".to_owned(),
                seen: format!(
                    "{}; {} blocks of memory more after {} rounds",
                    phrase(ctx, Of::Export, &ctx.seen.export),
                    growth.blocks,
                    growth.rounds
                ),
                facts: facts_of(Of::Export, &ctx.seen.export, &[What::Outcome]),
            })
        }
    }
}
