//! Rules of the family EXC: which exceptions come, and what they leave behind.
//!
//! EXC-NO-CRASH is judged by the parent process, which sees the death. EXC-ARGS, EXC-PRECEDENCE and
//! EXC-ATTRIBUTE grant something. None of these has a function.

use super::decision::{Blame, Content, CopyArg, DlDevice, Own, Standing, Stream};
use super::lived;
use super::pair::content;
use super::words::{by_table, facts_of, knows, on_outcome, on_pair, phrase};
use super::{
    Context, ErrorClass, Evidence, Fact, Grade, Matter, Of, Outcome, ProbeName, Rule, Verdict, What,
};
use crate::case::{Keyword, Probe};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "EXC-CLASS", needs: Matter::EXCEPTION, judge: class },
    Rule { id: "EXC-SYSTEMERROR", needs: Matter::ANY, judge: systemerror },
    Rule { id: "EXC-NOTEXPORTABLE", needs: Matter::EXCEPTION, judge: notexportable },
    Rule { id: "EXC-DEVICE", needs: Matter::EXCEPTION.and(Matter::DL_DEVICE), judge: device },
    Rule {
        id: "EXC-NOCOPY-CROSSDEV",
        needs: Matter::COPY.and(Matter::DL_DEVICE),
        judge: nocopy_crossdev,
    },
    Rule { id: "EXC-COPY-IMPOSSIBLE", needs: Matter::COPY, judge: copy_impossible },
    Rule { id: "EXC-UNEXPECTED", needs: Matter::EXCEPTION, judge: unexpected },
    lived::rule!("EXC-OOM"),
    Rule { id: "EXC-STATE", needs: Matter::EXCEPTION, judge: state },
    Rule { id: "EXC-NO-PARTIAL", needs: Matter::EXCEPTION, judge: no_partial },
];

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
            facts: facts_of(of, outcome, &[What::PendingError]),
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
            facts: [
                facts_of(Of::Export, &ctx.seen.export, &[What::Outcome]),
                vec![Fact { of: Of::Export, what: What::SourceState, value: "changed".into() }],
            ]
            .concat(),
        });
    }
    let Some(plain) = ctx.seen.probe(Probe::Plain) else {
        return Verdict::Holds;
    };
    let class = |outcome: &Outcome| outcome.raised().map(|raised| raised.class);
    let own = class(&ctx.seen.export);
    let again = ctx.seen.probe(Probe::Repeat).and_then(class);
    // The very same call, and the plain one too, are now refused in another way. That the plain call fails says nothing
    // alone: who knows that it would have succeeded before?
    let is_lost = again.is_some()
        && again != own
        && again == class(plain)
        && !matches!(again, Some(ErrorClass::Memory | ErrorClass::Base));
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
    let no_references = ledger.growth.is_none_or(|growth| growth.references == 0);
    if let Some(bytes) = ledger.heap.filter(|&bytes| bytes > 0.0 && no_references) {
        return ctx.breaks(Grade::Violation, || Evidence {
            key: "heap".into(),
            expected: "a call that raises leaves no memory behind".to_owned(),
            seen: format!(
                "{}; {bytes:.0} bytes of the heap more after each round",
                phrase(ctx, Of::Export, &ctx.seen.export)
            ),
            facts: vec![super::life::heap_fact()],
        });
    }
    match (ledger.blocks, ledger.growth) {
        (None, _) => Verdict::Silent,
        (Some(..=0), _) => Verdict::Holds,
        // One block more may be a cache: only growth with the rounds counts (P-BASELINE).
        (Some(_), None) => Verdict::Silent,
        (Some(_), Some(growth)) => {
            // An array that is kept alive keeps its blocks: CAP-EXC-NO-LEAK speaks of that.
            let is_leak = growth.rounds > 0
                && growth.blocks >= growth.rounds as isize
                && growth.references < growth.rounds as isize;
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

#[cfg(test)]
mod tests {
    use super::super::Growth;
    use super::super::testing::{Said, Scene, call};
    use super::*;
    use crate::abi::DLDevice;
    use crate::case::Keyword::*;
    use crate::case::{Call, Dtype, Tensor, Value};

    const VIOLATION: Said = Said::Breaks(Grade::Violation);

    fn versioned() -> (Keyword, Value) {
        (MaxVersion, Value::pair(1, 0))
    }

    /// A call that is refused for a good reason.
    fn refused() -> Scene {
        Scene::of(&[(DlDevice, Value::int(1))])
    }

    #[test]
    fn system_error_and_what_is_no_exception_are_faults_of_any_call() {
        assert_eq!(Scene::plain().said("EXC-SYSTEMERROR"), Said::Holds);
        refused().raising(ErrorClass::System).assert_only("EXC-SYSTEMERROR", Grade::Violation);
        assert_eq!(refused().said("EXC-CLASS"), Said::Holds);
        refused().raising(ErrorClass::Base).assert_only("EXC-CLASS", Grade::Violation);
        let probe = Scene::plain().with_raised(Probe::CopyTrue, ErrorClass::Base);
        assert_eq!(probe.said("EXC-CLASS"), VIOLATION);
        let pending = Scene::plain().edit(|it| it.capsule().error_pending = true);
        pending.assert_only("EXC-SYSTEMERROR", Grade::Violation);
    }

    #[test]
    fn what_cannot_be_described_is_refused_with_buffer_error() {
        let text = Tensor { dtype: Dtype::named("str", 3).unwrap(), ..Tensor::plain() };
        let twin = Scene::new(text, Call::default());
        assert_eq!(twin.said("EXC-NOTEXPORTABLE"), Said::Holds);
        twin.raising(ErrorClass::Type).assert_only("EXC-NOTEXPORTABLE", Grade::Warning);
    }

    #[test]
    fn a_device_that_is_not_there_is_refused_with_buffer_error() {
        let twin = Scene::of(&[(DlDevice, Value::pair(2, 0))]);
        assert_eq!(twin.said("EXC-DEVICE"), Said::Holds);
        // JAX: RuntimeError for a platform that it knows and has not.
        let refused = twin.raising(ErrorClass::Runtime);
        refused.assert_only("EXC-DEVICE", Grade::Violation);
        // Nobody may write to JAX's arrays, and yet the plain call exports them.
        let immutable = refused.edit(|it| it.seen.exporter.mutable = false);
        assert_eq!(immutable.said("EXC-NOTEXPORTABLE"), Said::Breaks(Grade::Warning));
        immutable.with(Probe::Plain).assert_only("EXC-DEVICE", Grade::Violation);
    }

    #[test]
    fn a_wrong_device_method_is_not_the_fault_of_copy() {
        // JAX's second CPU: the method names the first one, so that the pair asks for a move.
        let args = [(DlDevice, Value::pair(1, 0)), (Copy, Value::bool(false))];
        let moved = Scene::of(&args).raising(ErrorClass::Value);
        let moved = moved.probe_answering(Probe::CopyNone, &[(Copy, Value::bool(true))]);
        let moved = moved.with(Probe::Plain);
        assert_eq!(moved.said("EXC-COPY-IMPOSSIBLE"), VIOLATION);
        let elsewhere = moved.edit(|it| {
            it.probe_tensor(Probe::Plain).device = DLDevice::new(1, 1);
        });
        assert_eq!(elsewhere.said("EXC-COPY-IMPOSSIBLE"), Said::Silent);
    }

    /// NumPy before 2.4 looks at the device first; another exporter looks at the dtype first.
    #[test]
    fn of_two_reasons_to_refuse_the_one_that_was_the_cause_is_accused() {
        let text = Tensor { dtype: Dtype::named("str", 3).unwrap(), ..Tensor::plain() };
        let both = Scene::new(text, call(&[(DlDevice, Value::pair(2, 0))]));
        let of = |plain| both.clone().with_raised(Probe::Plain, plain).raising(ErrorClass::Value);
        let by_device = of(ErrorClass::Buffer);
        assert_eq!(by_device.said("EXC-DEVICE"), VIOLATION);
        assert_ne!(by_device.said("EXC-NOTEXPORTABLE"), Said::Breaks(Grade::Warning));
        let by_dtype = of(ErrorClass::Value);
        assert_eq!(by_dtype.said("EXC-NOTEXPORTABLE"), Said::Breaks(Grade::Warning));
        assert_ne!(by_dtype.said("EXC-DEVICE"), VIOLATION);
        // Without the plain call nobody can tell.
        both.raising(ErrorClass::Value).assert_lawful();
    }

    #[test]
    fn a_copy_that_is_not_allowed_is_refused_with_buffer_error() {
        let array = Tensor { device: DLDevice::new(2, 0), ..Tensor::plain() };
        let args = [(DlDevice, Value::pair(1, 0)), (Copy, Value::bool(false))];
        let twin = Scene::new(array, call(&args));
        assert_eq!(twin.said("EXC-NOCOPY-CROSSDEV"), Said::Holds);
        twin.raising(ErrorClass::Value).assert_only("EXC-NOCOPY-CROSSDEV", Grade::Violation);

        let copied = [versioned(), (Copy, Value::bool(true))];
        let layout = Scene::of(&[versioned(), (Copy, Value::bool(false))])
            .probe_answering(Probe::CopyNone, &copied)
            .with_raised(Probe::Version199, ErrorClass::Buffer)
            .edit(|it| it.seen.source.strides[0] = 6);
        let twin = layout.clone().raising(ErrorClass::Buffer);
        assert_eq!(twin.said("EXC-COPY-IMPOSSIBLE"), Said::Holds);
        twin.assert_lawful();
        let other = layout.raising(ErrorClass::Value);
        assert_eq!(other.said("EXC-COPY-IMPOSSIBLE"), VIOLATION);
    }

    #[test]
    fn an_exception_that_nothing_explains() {
        let other = Scene::of(&[versioned()]).raising(ErrorClass::Other);
        other.assert_only("EXC-UNEXPECTED", Grade::Violation);
        assert_eq!(refused().said("EXC-UNEXPECTED"), Said::Holds);
        refused().raising(ErrorClass::Other).assert_only("EXC-UNEXPECTED", Grade::Warning);
        assert_eq!(Scene::plain().said("EXC-UNEXPECTED"), Said::Silent);
        // The key says which argument was not checked.
        let judgement = refused().raising(ErrorClass::Other).judge();
        assert_eq!(judgement.violations[0].evidence.key, "AttributeError dl_device");
    }

    #[test]
    fn an_exception_leaves_the_array_as_it_was() {
        let twin = refused().with(Probe::Plain);
        assert_eq!(twin.said("EXC-STATE"), Said::Holds);
        let changed =
            refused().edit(|it| it.seen.source.unchanged = Err("the shape changed".into()));
        assert_eq!(changed.said("EXC-STATE"), VIOLATION);
        // A type that is never exported, whatever the backend believes: the first call is refused for a keyword.
        let never =
            refused().raising(ErrorClass::Type).with_raised(Probe::Plain, ErrorClass::Runtime);
        assert_eq!(
            never.clone().with_raised(Probe::Repeat, ErrorClass::Type).said("EXC-STATE"),
            Said::Holds
        );
        let lost = never.with_raised(Probe::Repeat, ErrorClass::Runtime);
        assert_eq!(lost.said("EXC-STATE"), VIOLATION);
        // No legacy capsules at all: the plain call never succeeds.
        let never = refused().with_raised(Probe::Plain, ErrorClass::Buffer);
        assert_eq!(never.clone().with(Probe::Repeat).said("EXC-STATE"), Said::Holds);
        let sticks = never.with_raised(Probe::Repeat, ErrorClass::Buffer);
        assert_eq!(sticks.said("EXC-STATE"), VIOLATION);
    }

    #[test]
    fn an_exception_leaves_no_copy_behind() {
        let leak = |blocks, growth| {
            refused().edit(|it| {
                it.seen.ledger.blocks = Some(blocks);
                it.seen.ledger.growth = growth;
            })
        };
        let growth =
            |blocks| Some(Growth { rounds: 100, references: 0, blocks, argument_references: 0 });
        assert_eq!(leak(0, None).said("EXC-NO-PARTIAL"), Said::Holds);
        assert_eq!(leak(1, growth(1)).said("EXC-NO-PARTIAL"), Said::Holds);
        assert_eq!(leak(1, growth(100)).said("EXC-NO-PARTIAL"), VIOLATION);
        let heap = |bytes| leak(0, None).edit(|it| it.seen.ledger.heap = Some(bytes));
        assert_eq!(heap(0.0).said("EXC-NO-PARTIAL"), Said::Holds);
        heap(128.0).assert_only("EXC-NO-PARTIAL", Grade::Violation);
        // Another export succeeded: it may be its leak.
        let other = leak(1, growth(100)).with(Probe::Plain);
        assert_eq!(other.said("EXC-NO-PARTIAL"), Said::Silent);
    }
}
