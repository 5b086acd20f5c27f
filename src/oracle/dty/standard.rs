//! Whether the types of the array API standard can be exported at all.

use crate::case::{Keyword, LayoutClass, Object, Probe};
use crate::oracle::export::{Asked, evidence, place};
use crate::oracle::{
    Context, ErrorClass, Exportable, Fact, Grade, Knob, Of, Outcome, ProbeName, Setting, Verdict,
    What,
};

/// A plain array of a standard dtype is refused with BufferError by the plain call and by the call that asks
/// for a versioned capsule. Other exceptions are the decision table's.
pub(super) fn all(ctx: &Context) -> Verdict {
    let tensor = &ctx.case.tensor;
    let is_plain = tensor.dtype.is_standard()
        && tensor.object == Object::Array
        && !matches!(ctx.seen.source.exportable, Exportable::No(_))
        && ctx.seen.source.writable != Some(false)
        && ctx.seen.exporter.claims.is_some();
    if !is_plain {
        return Verdict::Silent;
    }
    let is_said_only = |of: Of, keywords: &[Keyword]| {
        keywords.iter().all(|&keyword| ctx.asked(of, keyword) == Asked::Nothing)
    };
    let mut refused: Option<Of> = None;
    let mut refused_versioned = !ctx.seen.exporter.versioned;
    for (of, outcome) in ctx.outcomes() {
        if !is_said_only(of, &[Keyword::Stream, Keyword::DlDevice, Keyword::Copy]) {
            continue;
        }
        if ctx.case.call.extra != Default::default()
            && !matches!(of, Of::Probe(ProbeName(Probe::Plain | Probe::AllNone)))
        {
            continue;
        }
        let is_plain = is_said_only(of, &[Keyword::MaxVersion]);
        match outcome {
            Outcome::Capsule(_) => return Verdict::Holds,
            Outcome::Raised(raised) if raised.class == ErrorClass::Buffer => {
                if is_plain {
                    refused = Some(of);
                } else if matches!(ctx.asked(of, Keyword::MaxVersion), Asked::Pair(1.., _)) {
                    refused_versioned = true;
                }
            }
            _ => {}
        }
    }
    let (Some(of), true) = (refused, refused_versioned) else {
        return Verdict::Silent;
    };
    if !matches!(tensor.layout_class(), LayoutClass::C | LayoutClass::Scalar) {
        return Verdict::Silent;
    }
    let grade = match ctx.profile.setting(Knob::Aat) {
        Setting::Grade(grade) => grade,
        Setting::Off => Grade::Warning,
    };
    ctx.breaks(grade, || {
        let name = tensor.dtype.name();
        let fact = Fact { of, what: What::Outcome, value: "BufferError".into() };
        evidence(
            name,
            format!("an export, because {name} is a dtype of the array API standard"),
            format!("BufferError {}", place(of)),
            [fact],
        )
    })
}
