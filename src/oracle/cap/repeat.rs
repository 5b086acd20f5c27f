//! Two equal calls while both results live.

use super::repr;
use crate::case::Probe;
use crate::oracle::export::{evidence, tuple};
use crate::oracle::{
    Context, ErrorClass, Fact, Grade, Memory, Of, Outcome, ProbeName, Verdict, What,
};

/// Two equal calls, both results alive.
pub(super) fn repeat(ctx: &Context) -> Verdict {
    let Some(second) = ctx.seen.probe(Probe::Repeat) else {
        return Verdict::Silent;
    };
    let first = &ctx.seen.export;
    let out_of_memory =
        |outcome: &Outcome| outcome.raised().is_some_and(|r| r.class == ErrorClass::Memory);
    if out_of_memory(first) || out_of_memory(second) {
        return Verdict::Silent;
    }
    let Some((what, one, two)) = difference(first, second) else {
        return Verdict::Holds;
    };
    ctx.breaks(Grade::Violation, || {
        let (one, two) = (one(), two());
        evidence(
            key_of(what),
            format!("the same as the first time: {one}"),
            format!("{two} the second time"),
            [
                Fact { of: Of::Export, what, value: one },
                Fact { of: Of::Probe(ProbeName(Probe::Repeat)), what, value: two },
            ],
        )
    })
}

type Text<'a> = Box<dyn Fn() -> String + 'a>;

/// The first thing that must be the same in two equal calls and is not.
fn difference<'a>(one: &'a Outcome, two: &'a Outcome) -> Option<(What, Text<'a>, Text<'a>)> {
    fn differs<'a, T: PartialEq + 'a>(
        what: What,
        (one, two): (T, T),
        text: impl Fn(&T) -> String + Copy + 'a,
    ) -> Option<(What, Text<'a>, Text<'a>)> {
        (one != two).then(|| {
            (what, Box::new(move || text(&one)) as Text, Box::new(move || text(&two)) as Text)
        })
    }
    let class = |outcome: &Outcome| match outcome {
        Outcome::Capsule(_) => None,
        Outcome::Returned(_) => Some(None),
        Outcome::Raised(raised) => Some(Some(raised.class)),
    };
    if class(one) != class(two) {
        let text = |outcome: &'a Outcome| Box::new(move || outcome_name(outcome)) as Text;
        return Some((What::Outcome, text(one), text(two)));
    }
    let (one, two) = (one.capsule()?, two.capsule()?);
    differs(What::CapsuleName, (&one.name, &two.name), |name| repr(name)).or_else(|| {
        let (one, two) =
            (one.managed.as_ref()?.tensor.as_ref()?, two.managed.as_ref()?.tensor.as_ref()?);
        differs(What::Device, (one.device, two.device), |device| device.to_string())
            .or_else(|| differs(What::Dtype, (one.dtype, two.dtype), |dtype| dtype.to_string()))
            .or_else(|| differs(What::Shape, (&one.shape, &two.shape), |shape| tuple(shape)))
            .or_else(|| {
                let known = one.memory != Memory::Unknown && two.memory != Memory::Unknown;
                known
                    .then(|| differs(What::Memory, (one.memory, two.memory), memory_name))
                    .flatten()
            })
    })
}

fn memory_name(memory: &Memory) -> String {
    match memory {
        Memory::Unknown => "unknown",
        Memory::Alias => "alias",
        Memory::Overlap => "overlap",
        Memory::Distinct => "distinct",
    }
    .into()
}

fn outcome_name(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Capsule(_) => "capsule".into(),
        Outcome::Returned(name) => name.clone(),
        Outcome::Raised(raised) => raised.name.clone().into_owned(),
    }
}

fn key_of(what: What) -> &'static str {
    match what {
        What::Outcome => "outcome",
        What::CapsuleName => "kind",
        What::Device => "device",
        What::Dtype => "dtype",
        What::Shape => "shape",
        _ => "memory",
    }
}
