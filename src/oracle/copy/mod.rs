//! Rules of the family COPY: whose memory an export holds, and whether it says so.
//!
//! Size 0 is exempt throughout: its [`Content`] is unknown. COPY-STREAM needs a device with streams, and
//! COPY-LAYOUT-FREE grants something: neither has a function.

mod alike;
mod export;

pub(super) use alike::{alike, facts_of};

use super::decision::{Blame, Content, CopyArg, DlDevice, Own};
use super::words::{by_table, knows, on_outcome, on_pair};
use super::{
    Context, Elements, Fact, Grade, Kind, Matter, Memory, Of, ProbeName, Rule, Verdict, What,
    WriteThrough,
};
use crate::abi::{FLAG_IS_COPIED, FLAG_READ_ONLY};
use crate::case::{ByteOrder, DtypeClass, Keyword, Probe, Scalar, Value};
use alike::{false_consistent, same_device_neutral};
use export::{Export, each, exports, reach, violation};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "COPY-TRUE-DISTINCT", needs: Matter::RESULT, judge: true_distinct },
    Rule { id: "COPY-TRUE-SOLE", needs: Matter::RESULT.and(Matter::COMPARISON), judge: true_sole },
    Rule { id: "COPY-FLAG-SET", needs: Matter::VERSIONED, judge: flag_set },
    Rule { id: "COPY-FLAG-CLEAR", needs: Matter::VERSIONED, judge: flag_clear },
    Rule { id: "COPY-TRUE-WRITABLE", needs: Matter::VERSIONED, judge: true_writable },
    Rule { id: "COPY-TRUE-REFUSED", needs: Matter::COPY, judge: true_refused },
    Rule { id: "COPY-TRUE-IGNORED", needs: Matter::RESULT, judge: true_ignored },
    Rule { id: "COPY-FALSE-ALIAS", needs: Matter::RESULT, judge: false_alias },
    Rule { id: "COPY-FALSE-BE", needs: Matter::COPY, judge: false_be },
    Rule { id: "COPY-NONE-ALIAS", needs: Matter::RESULT, judge: none_alias },
    Rule {
        id: "COPY-FALSE-CONSISTENT",
        needs: Matter::RESULT.and(Matter::COMPARISON),
        judge: false_consistent,
    },
    Rule { id: "COPY-SAME-DEVICE-NEUTRAL", needs: Matter::COMPARISON, judge: same_device_neutral },
    Rule { id: "COPY-WRITE-THROUGH", needs: Matter::RESULT, judge: write_through },
    Rule { id: "COPY-VALUES", needs: Matter::RESULT, judge: values },
    Rule { id: "COPY-LEGACY-SILENT", needs: Matter::RESULT, judge: legacy_silent },
    Rule { id: "COPY-TYPE", needs: Matter::COPY, judge: odd_type },
];

const MEMORY: &[What] = &[What::Outcome, What::Memory, What::WriteThrough];
const FLAGS: &[What] = &[What::Outcome, What::Memory, What::Flags];

/// The memory of this export is known, and asked for by a keyword that the exporter knows. A repetition
/// that differs is CAP-REPEAT.
fn is_judged(ctx: &Context, export: &Export) -> bool {
    export.content != Content::Unknown
        && knows(ctx, Keyword::Copy)
        && export.of != Of::Probe(ProbeName(Probe::Repeat))
}

fn true_distinct(ctx: &Context) -> Verdict {
    each(
        ctx,
        |export| {
            // An alias outright is COPY-TRUE-IGNORED.
            if !export.asks_copy() || !is_judged(ctx, export) {
                return None;
            }
            violation(matches!(export.content, Content::Overlap | Content::Mapped))
        },
        "shared",
        Blame::CopyTrueDistinct.demand(),
        MEMORY,
    )
}

fn true_ignored(ctx: &Context) -> Verdict {
    each(
        ctx,
        |export| {
            if !export.asks_copy() || !is_judged(ctx, export) {
                return None;
            }
            violation(export.content == Content::Alias)
        },
        "alias",
        Blame::CopyTrueIgnored.demand(),
        MEMORY,
    )
}

fn true_sole(ctx: &Context) -> Verdict {
    if !knows(ctx, Keyword::Copy) || ctx.seen.further.is_empty() {
        return Verdict::Silent;
    }
    // Copies that share the source's memory are the two rules' above.
    let copies = || {
        exports(ctx).filter(|export| {
            export.asks_copy()
                && export.content == Content::Copy
                && export.tensor.device.device_type.has_plain_pointers()
        })
    };
    let mut compared = false;
    for (place, one) in copies().enumerate() {
        let Some((low, high)) = reach(&one) else {
            continue;
        };
        for other in copies().skip(place + 1) {
            let Some((other_low, other_high)) = reach(&other) else {
                continue;
            };
            if one.tensor.device != other.tensor.device {
                continue;
            }
            compared = true;
            if low < other_high && other_low < high {
                return ctx.breaks(Grade::Violation, || {
                    let expected = "two exports with copy=True share no memory with each other";
                    let mut said =
                        on_pair(ctx, one.here(), other.here(), "shared", expected, MEMORY);
                    let value = "True".to_owned();
                    said.facts.push(Fact { of: other.of, what: What::Shares, value });
                    said
                });
            }
        }
    }
    if compared { Verdict::Holds } else { Verdict::Silent }
}

fn flag_set(ctx: &Context) -> Verdict {
    each(
        ctx,
        |export| {
            if !export.is_versioned() || !export.content.is_copy() {
                return None;
            }
            let is_set = export.has_flag(FLAG_IS_COPIED);
            // A copy on another device that the library keeps and shares is no sole property.
            let moved = export.tensor.device != ctx.table.own;
            let is_kept = moved
                && export.copy.is_some_and(CopyArg::is_silent)
                && export.has_flag(FLAG_READ_ONLY);
            Some(match (is_set, is_kept) {
                (true, _) => Ok(()),
                (false, true) => Err(Grade::Warning),
                (false, false) => Err(Grade::Violation),
            })
        },
        "clear",
        "a copy says so: IS_COPIED (flag bit 1) is set",
        FLAGS,
    )
}

fn flag_clear(ctx: &Context) -> Verdict {
    each(
        ctx,
        |export| {
            // With copy=True the alias itself is the fault.
            if !export.is_versioned() || export.content != Content::Alias || export.asks_copy() {
                return None;
            }
            violation(export.has_flag(FLAG_IS_COPIED))
        },
        "set",
        "an alias never carries IS_COPIED (flag bit 1)",
        FLAGS,
    )
}

fn true_writable(ctx: &Context) -> Verdict {
    each(
        ctx,
        |export| {
            if !export.is_versioned() || !export.asks_copy() || !export.content.is_copy() {
                return None;
            }
            Some(if export.has_flag(FLAG_READ_ONLY) { Err(Grade::Warning) } else { Ok(()) })
        },
        "read-only",
        "a fresh copy is not marked READ_ONLY (flag bit 0), even of a read-only array",
        FLAGS,
    )
}

/// The copy keyword of the case's own call, where the exporter knows it and the table has a row.
fn own_copy(ctx: &Context) -> Option<(CopyArg, DlDevice)> {
    let classes = ctx.table.classes?;
    knows(ctx, Keyword::Copy).then_some((classes.copy, classes.dl_device))
}

fn true_refused(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::CopyTrueRefused, || {
        own_copy(ctx).is_some_and(|(copy, device)| copy == CopyArg::True && device.is_own())
    })
}

fn false_alias(ctx: &Context) -> Verdict {
    each(
        ctx,
        |export| {
            let is_judged = export.copy == Some(CopyArg::False)
                && is_judged(ctx, export)
                // What the host cannot read was copied without a doubt: COPY-FALSE-BE.
                && Own::of(ctx.table.own) != Own::Device;
            if !is_judged {
                return None;
            }
            violation(export.content.is_copy())
        },
        "copy",
        Blame::CopyFalseAlias.demand(),
        MEMORY,
    )
}

/// The device is out of the host's reach, or the layout is exported as a copy on request only; a layout
/// that the exporter copies by itself is EXC-COPY-IMPOSSIBLE.
fn false_be(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::CopyFalseBe, || {
        own_copy(ctx).is_some_and(|(copy, device)| {
            let is_far = device == DlDevice::CpuOther && Own::of(ctx.table.own) == Own::Device;
            let is_layout = device.is_own()
                && ctx.seen.export.raised().is_some()
                && ctx.seen.probe(Probe::CopyTrue).is_some_and(|it| it.capsule().is_some());
            copy == CopyArg::False && (is_far || is_layout)
        })
    })
}

fn none_alias(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::CopyNoneAlias, || {
        let is_known = ctx.table.content.is_some_and(|content| content != Content::Unknown);
        let classes = ctx.table.classes;
        is_known && classes.is_some_and(|it| it.copy.is_silent() && it.dl_device.is_own())
    })
}

fn write_through(ctx: &Context) -> Verdict {
    each(
        ctx,
        |export| {
            if !export.content.is_shared() || export.tensor.write_through == WriteThrough::NotTried
            {
                return None;
            }
            // With copy=True the sharing itself is the fault.
            if export.asks_copy() || !ctx.seen.exporter.mutable {
                return None;
            }
            violation(export.tensor.write_through != WriteThrough::Shared)
        },
        "not shared",
        "a write on either side of an alias shows on the other",
        &[What::Outcome, What::Memory, What::WriteThrough],
    )
}

fn values(ctx: &Context) -> Verdict {
    let dtype = ctx.case.tensor.dtype;
    // DTY-SUBBYTE-* and DTY-ENDIAN read these.
    if dtype.class() == DtypeClass::SubByte || dtype.order == ByteOrder::Swapped {
        return Verdict::Silent;
    }
    let source = &ctx.seen.source;
    // What the export changed is no standard to hold the copy to: CAP-SOURCE-UNCHANGED.
    if source.unchanged.is_err() {
        return Verdict::Silent;
    }
    each(
        ctx,
        |export| {
            let tensor = export.tensor;
            // A wrong shape or item size makes every value look wrong: those rules speak.
            let is_judged = tensor.memory == Memory::Distinct
                && tensor.shape == source.shape
                && tensor.dtype.item_size() == source.item_size;
            if !is_judged {
                return None;
            }
            match tensor.elements {
                Elements::Same => Some(Ok(())),
                // NaN payloads, truth values other than 0 and 1: a copy may normalise them.
                Elements::SameValues => Some(Err(Grade::Info)),
                Elements::Differ { .. } => Some(Err(Grade::Violation)),
                Elements::NotRead(_) | Elements::OutOfBounds { .. } => None,
            }
        },
        "values",
        "a copy holds the array's values at the time of the call",
        &[What::Outcome, What::Memory, What::Elements],
    )
}

fn legacy_silent(ctx: &Context) -> Verdict {
    let Some(classes) = ctx.table.classes else {
        return Verdict::Silent;
    };
    let Some(managed) = ctx.seen.export.managed() else {
        return Verdict::Silent;
    };
    if !ctx.table.content.is_some_and(Content::is_copy) {
        return Verdict::Silent;
    }
    // Without max_version there is no other struct; with it a versioned one could have carried the flag.
    let could_tell = managed.kind == Kind::Legacy && classes.max_version.is_versioned();
    ctx.require(!could_tell, Grade::Info, || {
        on_outcome(
            ctx,
            (Of::Export, &ctx.seen.export),
            "legacy",
            "a copy is exported in a versioned capsule where max_version allows it, so that it can be flagged",
            &[What::Outcome, What::CapsuleName, What::Memory],
        )
    })
}

/// The truth value of an odd `copy`; `None` where only Python knows it.
fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Own => Some(true),
        Value::Seq(_, items) => Some(!items.is_empty()),
        Value::Scalar(scalar) => match *scalar {
            Scalar::Int(number) | Scalar::IntEnum(number) => Some(number != 0),
            Scalar::IntSubclass(number) | Scalar::NumpyInt(number) => Some(number != 0),
            Scalar::Huge { .. } | Scalar::Bytes | Scalar::Object => Some(true),
            Scalar::Halves(halves) => Some(halves != 0),
            Scalar::None | Scalar::Bool(_) => None,
            Scalar::Enum(_) | Scalar::Index(_) | Scalar::Str(_) => None,
        },
    }
}

fn odd_type(ctx: &Context) -> Verdict {
    if CopyArg::of(&ctx.case.call.copy).is_some() || !knows(ctx, Keyword::Copy) {
        return Verdict::Silent;
    }
    let Some(truth) = ctx.case.call.copy.value().and_then(truth) else {
        return Verdict::Silent;
    };
    let (Some(managed), Some(content)) = (ctx.seen.export.managed(), ctx.table.content) else {
        return Verdict::Holds;
    };
    let is_flagged = managed.flags & FLAG_IS_COPIED != 0;
    let is_odd = if truth { content == Content::Alias && is_flagged } else { content.is_copy() };
    ctx.require(!is_odd, Grade::Info, || {
        on_outcome(
            ctx,
            (Of::Export, &ctx.seen.export),
            if truth { "true" } else { "false" },
            "a copy argument that is no bool acts by its truth value: no flagged alias when true, no copy when \
             false",
            FLAGS,
        )
    })
}

#[cfg(test)]
mod tests;
