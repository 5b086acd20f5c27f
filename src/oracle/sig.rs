//! Rules of the family SIG: which arguments `__dlpack__` takes, and that spelling does not matter.

use super::copy::{alike, facts_of};
use super::decision::{Blame, CopyArg, DlDevice, MaxVersion};
use super::pair::{self, difference, has_no_stream, with_probe};
use super::words::{by_table, knows, on_outcome, on_pair, phrase};
use super::{
    ArrayApi, Context, ErrorClass, Evidence, Fact, Grade, Matter, Of, Outcome, ProbeName, Rule,
    Verdict, What,
};
use crate::case::{Arg, Extra, Keyword, Probe, Scalar, Value};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "SIG-KWONLY", needs: Matter::EXTRA, judge: kwonly },
    Rule { id: "SIG-STREAM", needs: Matter::STREAM, judge: stream },
    Rule { id: "SIG-2023", needs: Matter::ANY, judge: keywords_of_2023 },
    Rule { id: "SIG-OLD-TYPEERROR", needs: Matter::OLDER, judge: old_typeerror },
    Rule { id: "SIG-UNKNOWN-KW", needs: Matter::EXTRA, judge: unknown_kw },
    Rule { id: "SIG-ABSENT-IS-NONE", needs: Matter::COMPARISON, judge: absent_is_none },
    Rule { id: "SIG-NONE-NEUTRAL", needs: Matter::COMPARISON, judge: none_neutral },
    Rule { id: "SIG-ORDER-FREE", needs: Matter::COMPARISON, judge: order_free },
    Rule { id: "SIG-ARG-UNCHANGED", needs: Matter::ANY, judge: arg_unchanged },
    Rule { id: "SIG-MALFORMED", needs: Matter::ANY, judge: malformed },
    Rule { id: "SIG-DEVICE-ENUM", needs: Matter::ANY, judge: device_enum },
    Rule {
        id: "SIG-MALFORMED-IGNORED",
        needs: Matter::COMPARISON.and(Matter::DL_DEVICE),
        judge: malformed_ignored,
    },
];

fn own<'a>(ctx: &Context<'a>) -> (Of, &'a Outcome) {
    (Of::Export, &ctx.seen.export)
}

/// An exception that says nothing of signatures: EXC-CLASS and EXC-SYSTEMERROR have the others.
fn is_apart(class: ErrorClass) -> bool {
    matches!(class, ErrorClass::Memory | ErrorClass::System | ErrorClass::Base)
}

fn kwonly(ctx: &Context) -> Verdict {
    if ctx.case.call.extra != Extra::Positional {
        return Verdict::Silent;
    }
    match ctx.seen.export.raised().map(|raised| raised.class) {
        Some(ErrorClass::Type) => Verdict::Holds,
        Some(class) if is_apart(class) => Verdict::Silent,
        raised => ctx.breaks(Grade::Warning, || {
            let key = if raised.is_some() { "other exception" } else { "accepted" };
            let expected =
                "a positional argument raises TypeError: all parameters are keyword-only";
            on_outcome(ctx, own(ctx), key, expected, &[What::Outcome])
        }),
    }
}

/// `None` for this keyword, which is how a caller finds out whether it exists.
fn passes_none(ctx: &Context, keyword: Keyword) -> bool {
    matches!(ctx.case.call.arg(keyword), Arg::Given(Value::Scalar(Scalar::None)))
}

fn missing(ctx: &Context, keyword: Keyword) -> Verdict {
    if ctx.seen.export.raised().is_none_or(|raised| raised.class != ErrorClass::Type) {
        return Verdict::Silent;
    }
    ctx.breaks(Grade::Violation, || {
        let expected = format!("`{}=None` is accepted", keyword.name());
        on_outcome(ctx, own(ctx), keyword.name(), expected, &[What::Outcome])
    })
}

fn stream(ctx: &Context) -> Verdict {
    match passes_none(ctx, Keyword::Stream) {
        true if knows(ctx, Keyword::Stream) => Verdict::Holds,
        true => missing(ctx, Keyword::Stream),
        false => Verdict::Silent,
    }
}

fn keywords_of_2023(ctx: &Context) -> Verdict {
    if ctx.seen.exporter.claims < Some(ArrayApi::V2023) {
        return Verdict::Silent;
    }
    let mut verdict = Verdict::Silent;
    for keyword in [Keyword::MaxVersion, Keyword::DlDevice, Keyword::Copy] {
        if !passes_none(ctx, keyword) {
            continue;
        }
        if !knows(ctx, keyword) {
            return missing(ctx, keyword);
        }
        verdict = Verdict::Holds;
    }
    verdict
}

fn old_typeerror(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::SigOldTypeerror, || {
        let new = [Keyword::MaxVersion, Keyword::DlDevice, Keyword::Copy];
        new.into_iter().any(|keyword| !knows(ctx, keyword) && ctx.case.call.arg(keyword).is_given())
    })
}

fn unknown_kw(ctx: &Context) -> Verdict {
    let call = &ctx.case.call;
    // One fault only: another wrong argument may come first (EXC-PRECEDENCE).
    let is_single = Keyword::ALL.into_iter().all(|keyword| {
        call.arg(keyword).is_silent() && (knows(ctx, keyword) || !call.arg(keyword).is_given())
    });
    if call.extra != Extra::UnknownKeyword || !is_single {
        return Verdict::Silent;
    }
    let (grade, key) = match ctx.seen.export.raised().map(|raised| raised.class) {
        Some(ErrorClass::Type) => return Verdict::Holds,
        Some(class) if is_apart(class) => return Verdict::Silent,
        Some(_) => (Grade::Warning, "other exception"),
        None => (Grade::Info, "accepted"),
    };
    ctx.breaks(grade, || {
        let expected =
            "an unknown keyword raises TypeError, so that consumers try again without it";
        on_outcome(ctx, own(ctx), key, expected, &[What::Outcome])
    })
}

fn knows_all(ctx: &Context) -> bool {
    ctx.seen.exporter.keywords.iter().all(|&known| known)
}

/// No argument is given, or all four are `None`: SIG-NONE-NEUTRAL compares these two.
fn is_neutral(ctx: &Context) -> Option<Neutral> {
    let call = &ctx.case.call;
    let given = Keyword::ALL.into_iter().filter(|&keyword| call.arg(keyword).is_given()).count();
    let is_silent = Keyword::ALL.into_iter().all(|keyword| call.arg(keyword).is_silent());
    match given {
        _ if !is_silent || call.extra != Extra::Nothing => None,
        0 => Some(Neutral::Plain),
        4 => Some(Neutral::AllNone),
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Neutral {
    Plain,
    AllNone,
}

fn absent_is_none(ctx: &Context) -> Verdict {
    let verdict = by_table(ctx, Blame::SigAbsentIsNone, || false);
    if !matches!(verdict, Verdict::Silent) {
        return verdict;
    }
    if !knows_all(ctx) || is_neutral(ctx).is_some() || ctx.case.call.extra != Extra::Nothing {
        return Verdict::Silent;
    }
    let expected = Blame::SigAbsentIsNone.demand();
    alike(ctx, Probe::NoneForAbsent, Grade::Warning, Keyword::Stream, expected)
}

fn none_neutral(ctx: &Context) -> Verdict {
    let verdict = by_table(ctx, Blame::SigNoneNeutral, || false);
    if !matches!(verdict, Verdict::Silent) {
        return verdict;
    }
    let probe = |probe| Some((Of::Probe(ProbeName(probe)), ctx.seen.probe(probe)?));
    let neutral = is_neutral(ctx);
    let plain = if neutral == Some(Neutral::Plain) { Some(own(ctx)) } else { probe(Probe::Plain) };
    let silent = match neutral {
        Some(Neutral::AllNone) => Some(own(ctx)),
        Some(Neutral::Plain) => probe(Probe::AllNone).or_else(|| probe(Probe::NoneForAbsent)),
        None => probe(Probe::AllNone),
    };
    let (Some(plain), Some(silent)) = (plain, silent) else {
        return Verdict::Silent;
    };
    if !knows_all(ctx) || neutral.is_some() && pair::is_explained(ctx) {
        return Verdict::Silent;
    }
    match difference(ctx, plain.1, silent.1) {
        None => Verdict::Holds,
        Some(difference) => ctx.breaks(Grade::Violation, || {
            let expected = Blame::SigNoneNeutral.demand();
            on_pair(ctx, plain, silent, difference.name(), expected, facts_of(difference))
        }),
    }
}

fn order_free(ctx: &Context) -> Verdict {
    let Some([one, other]) = with_probe(ctx, Probe::Reordered) else {
        return Verdict::Silent;
    };
    match difference(ctx, one.1, other.1) {
        None => Verdict::Holds,
        Some(difference) => ctx.breaks(Grade::Violation, || {
            let expected =
                "the order of the keywords and the identity of their names have no influence";
            on_pair(ctx, one, other, difference.name(), expected, facts_of(difference))
        }),
    }
}

fn arg_unchanged(ctx: &Context) -> Verdict {
    let ledger = &ctx.seen.ledger;
    if ledger.argument_references == 0 {
        return Verdict::Holds;
    }
    // A single difference may be a cache; only growth with the rounds is a leak (P-BASELINE).
    let Some(growth) = ledger.growth else {
        return Verdict::Silent;
    };
    let is_leak = growth.argument_references.unsigned_abs() >= growth.rounds as usize;
    ctx.require(!is_leak || growth.rounds == 0, Grade::Violation, || Evidence {
        key: if growth.argument_references > 0 { "kept" } else { "dropped" }.into(),
        expected: "references of the argument objects are balanced after the call".to_owned(),
        seen: format!(
            "{} references more than before after {} rounds; {}",
            growth.argument_references,
            growth.rounds,
            phrase(ctx, Of::Export, &ctx.seen.export)
        ),
        facts: vec![Fact {
            of: Of::Export,
            what: What::ArgumentReferences,
            value: format!("{:.2}", growth.argument_references as f64 / f64::from(growth.rounds)),
        }],
    })
}

fn malformed(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::SigMalformed, || {
        ctx.table.classes.is_some_and(|classes| {
            classes.dl_device == DlDevice::Malformed && knows(ctx, Keyword::DlDevice)
                || classes.max_version == MaxVersion::Malformed && knows(ctx, Keyword::MaxVersion)
        })
    })
}

fn device_enum(ctx: &Context) -> Verdict {
    let verdict = by_table(ctx, Blame::SigDeviceEnum, || false);
    if !matches!(verdict, Verdict::Silent) || !knows(ctx, Keyword::DlDevice) {
        return verdict;
    }
    let probe = |probe| Some((Of::Probe(ProbeName(probe)), ctx.seen.probe(probe)?));
    let is_own_tuple = ctx.case.call.dl_device.value() == Some(&Value::Own);
    let is_neutral = ctx.case.call.dl_device.is_silent() && !pair::is_explained(ctx);
    let numbers = probe(Probe::OwnDevice).or_else(|| is_neutral.then(|| own(ctx)));
    let Some(numbers) = numbers else {
        return Verdict::Silent;
    };
    // A tuple without a number in it is DEV-TYPE-ELEM or DEV-ID-ELEM; it means no device.
    let is_tuple = ctx.seen.device_before.device().is_some();
    let written = [
        (is_own_tuple && is_tuple && !pair::is_explained(ctx))
            .then(|| (own(ctx), Grade::Violation)),
        probe(Probe::OwnTuple).filter(|_| is_tuple).map(|outcome| (outcome, Grade::Violation)),
        probe(Probe::OwnEnum).map(|outcome| (outcome, Grade::Warning)),
    ];
    let mut verdict = Verdict::Silent;
    for (outcome, grade) in written.into_iter().flatten() {
        match difference(ctx, numbers.1, outcome.1) {
            None => verdict = Verdict::Holds,
            Some(difference) => {
                return ctx.breaks(grade, || {
                    let expected = Blame::SigDeviceEnum.demand();
                    on_pair(
                        ctx,
                        numbers,
                        outcome,
                        difference.name(),
                        expected,
                        facts_of(difference),
                    )
                });
            }
        }
    }
    verdict
}

fn malformed_ignored(ctx: &Context) -> Verdict {
    let verdict = by_table(ctx, Blame::SigMalformedIgnored, || false);
    if !matches!(verdict, Verdict::Silent) {
        return verdict;
    }
    let Some(classes) = ctx.table.classes else {
        return Verdict::Silent;
    };
    let is_judged = classes.dl_device == DlDevice::Malformed
        && has_no_stream(&ctx.table)
        && classes.copy != CopyArg::True
        && knows(ctx, Keyword::DlDevice)
        && knows(ctx, Keyword::MaxVersion);
    let probe = match classes.max_version {
        MaxVersion::Absent | MaxVersion::None => Probe::Version10,
        MaxVersion::OneZero | MaxVersion::OneMore | MaxVersion::Two => Probe::Unversioned,
        // Another argument that may be refused by itself.
        MaxVersion::Zero | MaxVersion::Malformed => return Verdict::Silent,
    };
    let Some([one, other]) = with_probe(ctx, probe).filter(|_| is_judged) else {
        return Verdict::Silent;
    };
    // BufferError is how a legacy capsule is refused, whatever the device.
    let notices = |outcome: &Outcome| {
        (outcome.raised())
            .is_some_and(|raised| !is_apart(raised.class) && raised.class != ErrorClass::Buffer)
    };
    let is_ignored = notices(one.1) && other.1.capsule().is_some();
    ctx.require(!is_ignored, Grade::Warning, || {
        let expected = Blame::SigMalformedIgnored.demand();
        on_pair(ctx, one, other, "max_version", expected, &[What::Outcome])
    })
}

#[cfg(test)]
mod tests;
