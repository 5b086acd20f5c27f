//! Two exports of one array that should be **alike**, for the rules that compare the case's own call with a
//! probe of it.

use super::MEMORY;
use crate::case::{Keyword, Probe, Scalar, Value};
use crate::oracle::decision::{Blame, Content, CopyArg, DlDevice, MaxVersion};
use crate::oracle::pair::{self, Difference, difference, with_probe};
use crate::oracle::words::{by_table, knows, on_pair};
use crate::oracle::{Context, ErrorClass, Grade, Outcome, Verdict, What};

/// copy=None gives an alias: then copy=False succeeds with the same one. Either may be the case's own.
pub(super) fn false_consistent(ctx: &Context) -> Verdict {
    let by_table = by_table(ctx, Blame::CopyFalseConsistent, || false);
    if !matches!(by_table, Verdict::Silent) {
        return by_table;
    }
    let Some(classes) = ctx.table.classes else {
        return Verdict::Silent;
    };
    let probe = match classes.copy {
        CopyArg::Absent | CopyArg::None => Probe::CopyFalse,
        CopyArg::False => Probe::CopyNone,
        CopyArg::True => return Verdict::Silent,
    };
    let Some([own, other]) = with_probe(ctx, probe) else {
        return Verdict::Silent;
    };
    if !knows(ctx, Keyword::Copy) || !classes.dl_device.is_own() || pair::is_explained(ctx) {
        return Verdict::Silent;
    }
    let (none, strict) = if probe == Probe::CopyNone { (other, own) } else { (own, other) };
    let holds_alias = |outcome: &Outcome| {
        (outcome.managed()).and_then(|managed| pair::content(ctx, managed)) == Some(Content::Alias)
    };
    if !holds_alias(none.1) {
        return Verdict::Silent;
    }
    let grade = match strict.1 {
        // A copy is COPY-FALSE-ALIAS, another object CAP-TYPE.
        Outcome::Capsule(_) if holds_alias(strict.1) => return Verdict::Holds,
        Outcome::Capsule(_) | Outcome::Returned(_) => return Verdict::Silent,
        Outcome::Raised(raised) => match raised.class {
            ErrorClass::Memory | ErrorClass::System | ErrorClass::Base => return Verdict::Silent,
            // AA since March 2025 tolerates BufferError on the legacy path.
            ErrorClass::Buffer if classes.max_version.is_legacy() => Grade::Warning,
            // The malformed argument may be what is refused; Arrow takes `(0,)` for a legacy version.
            _ if classes.max_version == MaxVersion::Malformed => return Verdict::Silent,
            _ => Grade::Violation,
        },
    };
    ctx.breaks(grade, || {
        let name = strict.1.raised().map_or("capsule".into(), |raised| raised.name.clone());
        on_pair(ctx, none, strict, name, Blame::CopyFalseConsistent.demand(), MEMORY)
    })
}

/// dl_device as plain ints against none; the other spellings are SIG-DEVICE-ENUM.
pub(super) fn same_device_neutral(ctx: &Context) -> Verdict {
    let by_table = by_table(ctx, Blame::CopySameDeviceNeutral, || false);
    if !matches!(by_table, Verdict::Silent) {
        return by_table;
    }
    let Some(classes) = ctx.table.classes else {
        return Verdict::Silent;
    };
    let is_plain = ctx.case.call.dl_device.value().is_some_and(|value| {
        matches!(value, Value::Seq(_, items) if items.iter().all(|item| matches!(item, Scalar::Int(_))))
    });
    let probe = match classes.dl_device {
        DlDevice::Absent | DlDevice::None => Probe::OwnDevice,
        DlDevice::Same if is_plain => Probe::NoDevice,
        _ => return Verdict::Silent,
    };
    if !has_own_device(ctx, probe) {
        return Verdict::Silent;
    }
    alike(ctx, probe, Grade::Violation, Keyword::DlDevice, Blame::CopySameDeviceNeutral.demand())
}

/// The device method names a device, and it is the one that the array is on. A meta tensor of torch has
/// none; where the method is wrong, the pair asks for a move (DEV-CONSISTENT).
fn has_own_device(ctx: &Context, probe: Probe) -> bool {
    let Some(own) = ctx.seen.device_before.device() else {
        return false;
    };
    // What was exported without dl_device tells where the array is, or else the case does.
    let unasked =
        if probe == Probe::NoDevice { ctx.seen.probe(probe) } else { Some(&ctx.seen.export) };
    let tensor = unasked.and_then(Outcome::managed).and_then(|managed| managed.tensor.as_ref());
    tensor.map_or(ctx.case.tensor.device, |tensor| tensor.device) == own
}

/// The case's own export and a probe end alike.
pub(in crate::oracle) fn alike(
    ctx: &Context,
    probe: Probe,
    grade: Grade,
    keyword: Keyword,
    expected: &'static str,
) -> Verdict {
    let Some([own, other]) = with_probe(ctx, probe) else {
        return Verdict::Silent;
    };
    if !knows(ctx, keyword) || pair::is_explained(ctx) {
        return Verdict::Silent;
    }
    match difference(ctx, own.1, other.1) {
        None => Verdict::Holds,
        Some(difference) => ctx.breaks(grade, || {
            on_pair(ctx, own, other, difference.name(), expected, facts_of(difference))
        }),
    }
}

pub(in crate::oracle) fn facts_of(difference: Difference) -> &'static [What] {
    match difference {
        Difference::Success | Difference::Exception => &[What::Outcome],
        Difference::Kind => &[What::Outcome, What::CapsuleName],
        Difference::Device => &[What::Outcome, What::Device],
        Difference::Memory => &[What::Outcome, What::Memory],
        Difference::Flags => &[What::Outcome, What::Flags],
    }
}
