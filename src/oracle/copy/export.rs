//! An **export** as the rules about memory see it: the capsule, what it holds, what its call said of `copy`.

use crate::abi::FLAG_SUBBYTE_PADDED;
use crate::case::{Probe, Span, Strides};
use crate::oracle::decision::{Content, CopyArg};
use crate::oracle::words::on_outcome;
use crate::oracle::{
    Context, DlTensor, Grade, Kind, Managed, Of, Outcome, ProbeName, Verdict, What,
};

/// One export with a readable tensor, as these rules see it.
#[derive(Clone, Copy)]
pub(super) struct Export<'a> {
    pub of: Of,
    pub outcome: &'a Outcome,
    pub managed: &'a Managed,
    pub tensor: &'a DlTensor,
    pub content: Content,
    /// What the call said of `copy`; `None` for a value that is no truth value.
    pub copy: Option<CopyArg>,
}

impl<'a> Export<'a> {
    pub fn here(&self) -> (Of, &'a Outcome) {
        (self.of, self.outcome)
    }

    pub fn is_versioned(&self) -> bool {
        self.managed.kind == Kind::Versioned
    }

    pub fn has_flag(&self, flag: u64) -> bool {
        self.managed.flags & flag != 0
    }

    pub fn asks_copy(&self) -> bool {
        self.copy == Some(CopyArg::True)
    }
}

pub(super) fn exports<'a>(ctx: &Context<'a>) -> impl Iterator<Item = Export<'a>> {
    let (case, seen, own) = (ctx.case, ctx.seen, ctx.table.own);
    ctx.outcomes().filter_map(move |(of, outcome)| {
        let managed = outcome.managed()?;
        let tensor = managed.tensor.as_ref()?;
        let copy = match of {
            Of::Probe(ProbeName(Probe::Plain)) => Some(CopyArg::Absent),
            Of::Probe(ProbeName(Probe::AllNone | Probe::CopyNone)) => Some(CopyArg::None),
            Of::Probe(ProbeName(Probe::CopyTrue)) => Some(CopyArg::True),
            Of::Probe(ProbeName(Probe::CopyFalse)) => Some(CopyArg::False),
            _ => CopyArg::of(&case.call.copy),
        };
        let content = Content::of(&seen.source, own, tensor);
        Some(Export { of, outcome, managed, tensor, content, copy })
    })
}

/// Asks every export; the gravest break counts, the first among equals.
pub(super) fn each<'a>(
    ctx: &Context<'a>,
    word: impl Fn(&Export<'a>) -> Option<Result<(), Grade>>,
    key: &'static str,
    expected: &'static str,
    facts: &[What],
) -> Verdict {
    let mut worst: Option<(Grade, Export)> = None;
    let mut holds = false;
    for export in exports(ctx) {
        match word(&export) {
            None => {}
            Some(Ok(())) => holds = true,
            Some(Err(grade)) if worst.is_none_or(|(other, _)| grade > other) => {
                worst = Some((grade, export));
            }
            Some(Err(_)) => {}
        }
    }
    match worst {
        Some((grade, export)) => {
            ctx.breaks(grade, || on_outcome(ctx, export.here(), key, expected, facts))
        }
        None if holds => Verdict::Holds,
        None => Verdict::Silent,
    }
}

pub(super) fn violation(is_broken: bool) -> Option<Result<(), Grade>> {
    Some(if is_broken { Err(Grade::Violation) } else { Ok(()) })
}

/// Lowest address and one past the highest of what an export addresses.
pub(super) fn reach(export: &Export) -> Option<(i128, i128)> {
    let tensor = export.tensor;
    let item = tensor.dtype.item_size();
    let bits = i128::from(tensor.dtype.bits) * i128::from(tensor.dtype.lanes);
    if bits < 8
        && !export.has_flag(FLAG_SUBBYTE_PADDED)
        && tensor.strides.len() == tensor.shape.len()
    {
        // Side by side: strides count elements of so many bits.
        let span = Span::of(&tensor.shape, &tensor.strides, 1);
        let first = tensor.first()? as i128;
        let (low, high) = (span.low * bits, span.high * bits);
        return Some((first + low.div_euclid(8), first + (high + 7).div_euclid(8)));
    }
    let strides: Strides = if tensor.strides_pointer == 0 {
        let mut step = item as i64;
        let mut strides = Strides::from_elem(0, tensor.shape.len());
        for (stride, &extent) in strides.iter_mut().zip(&tensor.shape).rev() {
            *stride = step;
            step = step.saturating_mul(extent.max(1));
        }
        strides
    } else {
        tensor.strides.iter().map(|stride| stride.saturating_mul(item as i64)).collect()
    };
    let first = tensor.first()? as i128;
    let span = Span::of(&tensor.shape, &strides, item);
    Some((first + span.low, first + span.high))
}
