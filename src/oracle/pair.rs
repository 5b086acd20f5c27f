//! A **pair** of outcomes that the specification wants alike: what differs between them.
//!
//! Goes in: two outcomes of one array. Comes out: the first [`Difference`], most telling first, as the
//! metamorphic rules read it (outcome class, kind, device, flags, memory).

use super::decision::{Content, Ruling, Stream};
use super::{Context, ErrorClass, Managed, Of, Outcome, ProbeName};
use crate::case::{Keys, Probe};

/// What tells two outcomes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Difference {
    /// One is a capsule, the other is not.
    Success,
    /// Two exceptions of different classes.
    Exception,
    Kind,
    Device,
    /// One aliases the source, the other does not, or they alias at different addresses.
    Memory,
    Flags,
}

impl Difference {
    /// For the key of a finding.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "outcome",
            Self::Exception => "exception",
            Self::Kind => "kind",
            Self::Device => "device",
            Self::Memory => "memory",
            Self::Flags => "flags",
        }
    }
}

/// The first difference of two outcomes, or `None` where they are alike.
pub(super) fn difference(ctx: &Context, one: &Outcome, other: &Outcome) -> Option<Difference> {
    // These have rules of their own, or say nothing (MemoryError).
    let is_apart = |outcome: &Outcome| {
        (outcome.raised()).is_some_and(|raised| {
            let is_name = raised.class == ErrorClass::Type && ctx.case.call.keys == Keys::Fresh;
            // Names made at run time that the exporter does not know: SIG-ORDER-FREE.
            is_name
                || matches!(
                    raised.class,
                    ErrorClass::Memory | ErrorClass::System | ErrorClass::Base
                )
        })
    };
    match (one, other) {
        _ if is_apart(one) || is_apart(other) => None,
        (Outcome::Capsule(a), Outcome::Capsule(b)) => match (&a.managed, &b.managed) {
            (Some(a), Some(b)) => managed_difference(ctx, a, b),
            // What could not be read has rules of its own.
            _ => None,
        },
        (Outcome::Raised(a), Outcome::Raised(b)) => {
            // With a wrong argument any of several exceptions may come (EXC-PRECEDENCE).
            let is_judged = ctx.table.classes.is_some_and(|classes| classes.is_well_formed());
            (is_judged && a.class != b.class).then_some(Difference::Exception)
        }
        (Outcome::Returned(_), Outcome::Returned(_)) => None,
        _ => Some(Difference::Success),
    }
}

fn managed_difference(ctx: &Context, one: &Managed, other: &Managed) -> Option<Difference> {
    if one.kind != other.kind {
        return Some(Difference::Kind);
    }
    let (Some(a), Some(b)) = (&one.tensor, &other.tensor) else {
        return None;
    };
    if a.device != b.device {
        // One of them is not where the array is: DEV-CONSISTENT or DEV-HONOUR.
        let is_own = ctx.table.classes.is_some_and(|classes| classes.dl_device.is_own());
        return (!is_own).then_some(Difference::Device);
    }
    if let (Some(a), Some(b)) = (content(ctx, one), content(ctx, other))
        && a != Content::Unknown
        && b != Content::Unknown
        && a != b
    {
        return Some(Difference::Memory);
    }
    // Size 0 is exempt: both settings of IS_COPIED are seen there.
    let is_empty = ctx.seen.source.shape.contains(&0);
    (!is_empty && one.flags != other.flags).then_some(Difference::Flags)
}

/// What an export holds; `None` without a readable tensor.
pub(super) fn content(ctx: &Context, managed: &Managed) -> Option<Content> {
    let tensor = managed.tensor.as_ref()?;
    Some(Content::of(&ctx.seen.source, ctx.table.own, tensor))
}

/// The case's own export and one of its probes.
pub(super) fn with_probe<'a>(ctx: &Context<'a>, probe: Probe) -> Option<[(Of, &'a Outcome); 2]> {
    let other = ctx.seen.probe(probe)?;
    Some([(Of::Export, &ctx.seen.export), (Of::Probe(ProbeName(probe)), other)])
}

/// The case's own export is blamed for something else than the pair would be: one cause, one report
/// (P-ONE-CAUSE).
pub(super) fn is_explained(ctx: &Context) -> bool {
    let is_reordered = || {
        ctx.seen.export.raised().is_some()
            && ctx.seen.probe(Probe::Reordered).is_some_and(|outcome| outcome.capsule().is_some())
    };
    ctx.table.accuses().is_some() || is_reordered()
}

/// The stream of the case asks for nothing.
pub(super) fn has_no_stream(table: &Ruling) -> bool {
    table.classes.is_some_and(|classes| classes.stream == Stream::None)
}
