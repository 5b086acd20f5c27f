//! **RO**: READ_ONLY against what the library itself says of the array.
//!
//! A source of which the library has no word (`writable` is `None`) is not judged.

use super::decision::{self, Blame};
use super::export::{Asked, Export, Word, evidence};
use super::lived;
use super::{
    Context, ErrorClass, Fact, Grade, Knob, Matter, Of, Outcome, Rule, Setting, Verdict, What,
};
use crate::abi::FLAG_READ_ONLY;
use crate::case::{Access, DtypeClass, Keyword, Object};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "RO-FLAG-SET",
        needs: Matter::TENSOR.and(Matter::VERSIONED).and(Matter::READ_ONLY),
        judge: flag_set,
    },
    Rule { id: "RO-FLAG-CLEAR", needs: Matter::TENSOR.and(Matter::VERSIONED), judge: flag_clear },
    lived::rule!("RO-STATE"),
    Rule { id: "RO-LEGACY", needs: Matter::READ_ONLY, judge: legacy },
    Rule { id: "RO-LEGACY-COPY", needs: Matter::READ_ONLY, judge: legacy_copy },
    Rule { id: "RO-REEXPORT", needs: Matter::TENSOR, judge: reexport },
    Rule {
        id: "RO-IMMUTABLE-LIB",
        needs: Matter::TENSOR.and(Matter::READ_ONLY),
        judge: immutable_library,
    },
];

/// A versioned struct over the source's own memory: the only place where the flag has a meaning here.
fn is_flagged_alias(ctx: &Context, export: &Export) -> bool {
    export.is_versioned() && ctx.seen.source.size() > 0 && export.is_alias()
}

fn facts(export: &Export) -> [Fact; 2] {
    [export.fact(What::Flags, export.managed.flags), export.fact(What::Memory, "alias")]
}

/// The READ_ONLY bit has this value in every export where it means something.
fn require_flag(ctx: &Context, bit: u64, grade: Grade, expected: &'static str) -> Verdict {
    ctx.each_export(
        |export| match is_flagged_alias(ctx, export) {
            true => Word::require(export.managed.flags & FLAG_READ_ONLY == bit, grade),
            false => Word::Silent,
        },
        |export| {
            let seen = format!("flags {} {}", export.managed.flags, export.place());
            evidence("READ_ONLY", expected, seen, facts(export))
        },
    )
}

fn flag_set(ctx: &Context) -> Verdict {
    if ctx.seen.source.writable != Some(false) {
        return Verdict::Silent;
    }
    let grade = if ctx.seen.exporter.has_readonly { Grade::Violation } else { Grade::Info };
    require_flag(
        ctx,
        FLAG_READ_ONLY,
        grade,
        "READ_ONLY (flag bit 0), because the array is not writable",
    )
}

fn flag_clear(ctx: &Context) -> Verdict {
    if ctx.seen.source.writable != Some(true) || !ctx.seen.exporter.mutable {
        return Verdict::Silent;
    }
    require_flag(ctx, 0, Grade::Warning, "flag bit 0 clear, because the array is writable")
}

/// A legacy struct cannot say that its memory must not be written.
fn legacy(ctx: &Context) -> Verdict {
    let Setting::Grade(grade) = ctx.profile.setting(Knob::ReadonlyLegacy) else {
        return Verdict::Silent;
    };
    if ctx.seen.source.writable != Some(false) || ctx.seen.source.size() == 0 {
        return Verdict::Silent;
    }
    ctx.each_export(
        |export| match ctx.table.word {
            _ if export.is_versioned() || export.tensor().is_none() => Word::Silent,
            // A copy that nobody asked for is no refusal either.
            decision::Word::Blamed(Blame::RoLegacy, grade) if export.of == Of::Export => {
                Word::Breaks(grade)
            }
            _ => Word::require(!export.is_alias(), grade),
        },
        |export| {
            evidence(
                "exported",
                "BufferError, because a legacy struct cannot tell that the array is read-only",
                format!("a legacy capsule {}", export.place()),
                [
                    export.fact(What::Outcome, "capsule"),
                    export.fact(What::CapsuleName, "b'dltensor'"),
                ],
            )
        },
    )
}

/// A refused legacy copy of a read-only array, where the versioned copy is made: the array could be copied.
fn legacy_copy(ctx: &Context) -> Verdict {
    // That elements are padded to bytes a legacy struct cannot say either: DTY-SUBBYTE-PADDED.
    let is_narrow = ctx.case.tensor.dtype.class() == DtypeClass::SubByte;
    if ctx.seen.source.writable != Some(false) || is_narrow {
        return Verdict::Silent;
    }
    let is_copy = |of: Of| {
        ctx.asked(of, Keyword::Copy) == Asked::True
            && ctx.asked(of, Keyword::Stream) == Asked::Nothing
            && ctx.target(of).is_own()
    };
    let mut refused: Option<Of> = None;
    let mut can_copy = false;
    for (of, outcome) in ctx.outcomes().filter(|&(of, _)| is_copy(of)) {
        let is_legacy =
            matches!(ctx.asked(of, Keyword::MaxVersion), Asked::Nothing | Asked::Pair(0, _));
        match outcome {
            Outcome::Capsule(_) if is_legacy => return Verdict::Holds,
            Outcome::Capsule(_) => can_copy = true,
            Outcome::Raised(raised) if is_legacy && raised.class == ErrorClass::Buffer => {
                refused = Some(of)
            }
            _ => {}
        }
    }
    let (Some(of), true) = (refused, can_copy) else {
        return Verdict::Silent;
    };
    ctx.breaks(Grade::Warning, || {
        evidence(
            "refused",
            "a legacy capsule of a copy, which is writable",
            format!("BufferError {}", super::export::place(of)),
            [Fact { of, what: What::Outcome, value: "BufferError".into() }],
        )
    })
}

/// The array was imported from memory that its exporter flagged, and does not say so itself (else
/// RO-FLAG-SET speaks).
fn reexport(ctx: &Context) -> Verdict {
    let tensor = &ctx.case.tensor;
    if tensor.object != Object::Imported || tensor.access != Access::ReadOnly {
        return Verdict::Silent;
    }
    if ctx.seen.source.writable == Some(false) {
        return Verdict::Silent;
    }
    let grade = if ctx.seen.exporter.has_readonly { Grade::Warning } else { Grade::Info };
    require_flag(
        ctx,
        FLAG_READ_ONLY,
        grade,
        "READ_ONLY (flag bit 0), because the array was imported with it",
    )
}

fn immutable_library(ctx: &Context) -> Verdict {
    if ctx.seen.exporter.mutable {
        return Verdict::Silent;
    }
    require_flag(
        ctx,
        FLAG_READ_ONLY,
        Grade::Info,
        "READ_ONLY (flag bit 0), because the library's arrays cannot be written",
    )
}

#[cfg(test)]
mod tests {
    use crate::abi::FLAG_READ_ONLY;
    use crate::case::{Access, Call, Dtype, Keyword, Object, Probe, Shape, Tensor, Value};
    use crate::oracle::testing::{Said, Scene, call};
    use crate::oracle::{ErrorClass, Grade};

    fn readonly() -> Tensor {
        Tensor { access: Access::ReadOnly, ..Tensor::plain() }
    }

    fn versioned(tensor: Tensor) -> Scene {
        Scene::new(tensor, call(&[(Keyword::MaxVersion, Value::pair(1, 0))]))
    }

    #[test]
    fn a_read_only_array_says_so() {
        let id = "RO-FLAG-SET";
        assert_eq!(versioned(readonly()).said(id), Said::Holds);
        let clear = versioned(readonly()).edit(|it| it.managed().flags = 0);
        clear.assert_only(id, Grade::Violation);
        // No word of the library, no elements, a copy: nothing is due.
        let unknown = clear.edit(|it| it.seen.source.writable = None);
        assert_eq!(unknown.said(id), Said::Silent);
        let empty = versioned(Tensor { shape: Shape::from_slice(&[0]), ..readonly() });
        assert_eq!(empty.edit(|it| it.managed().flags = 0).said(id), Said::Silent);
        let args = [(Keyword::MaxVersion, Value::pair(1, 0)), (Keyword::Copy, Value::bool(true))];
        let copy = Scene::new(readonly(), call(&args));
        assert_eq!(copy.said(id), Said::Silent);
        copy.assert_lawful();
        assert_eq!(versioned(Tensor::plain()).said(id), Said::Silent);
    }

    #[test]
    fn a_writable_array_does_not() {
        let id = "RO-FLAG-CLEAR";
        let scene = versioned(Tensor::plain());
        assert_eq!(scene.said(id), Said::Holds);
        let set = scene.edit(|it| it.managed().flags = FLAG_READ_ONLY);
        set.assert_only(id, Grade::Warning);
        // The arrays of JAX cannot be written, whatever an adapter says.
        let immutable = set.edit(|it| it.seen.exporter.mutable = false);
        assert_eq!(immutable.said(id), Said::Silent);
        assert_eq!(immutable.said("RO-IMMUTABLE-LIB"), Said::Holds);
        let clear = immutable.edit(|it| it.managed().flags = 0);
        assert_eq!(clear.said("RO-IMMUTABLE-LIB"), Said::Breaks(Grade::Info));
        assert_eq!(versioned(Tensor::plain()).said("RO-IMMUTABLE-LIB"), Said::Silent);
    }

    #[test]
    fn a_legacy_struct_cannot_say_it() {
        let id = "RO-LEGACY";
        let refused = Scene::new(readonly(), Call::default());
        assert_eq!(refused.said(id), Said::Silent);
        let exported = refused.edit(|it| it.seen.export = Scene::plain().seen.export);
        assert_eq!(exported.said(id), Said::Breaks(Grade::Info));
        assert_eq!(exported.clone().under("lenient").said(id), Said::Silent);
        assert_eq!(exported.under("strict").said(id), Said::Breaks(Grade::Violation));
        let copy = Scene::new(readonly(), call(&[(Keyword::Copy, Value::bool(true))]));
        assert_eq!(copy.said(id), Said::Holds);
        assert_eq!(Scene::plain().said(id), Said::Silent);
    }

    #[test]
    fn a_copy_can_be_exported_by_a_legacy_struct() {
        let id = "RO-LEGACY-COPY";
        let scene = Scene::new(readonly(), call(&[(Keyword::Copy, Value::bool(true))]));
        assert_eq!(scene.said(id), Said::Holds);
        let refused = scene.raising(ErrorClass::Buffer);
        // COPY-TRUE-REFUSED, unless the versioned copy shows that the array can be copied.
        assert_eq!(refused.said(id), Said::Silent);
        assert_eq!(refused.with(Probe::Version10).said(id), Said::Breaks(Grade::Warning));
        // That elements are padded to bytes the legacy struct cannot say either.
        let narrow = Tensor { dtype: Dtype::named("int4", 0).unwrap(), ..readonly() };
        let refused = Scene::new(narrow, call(&[(Keyword::Copy, Value::bool(true))]))
            .raising(ErrorClass::Buffer)
            .with(Probe::Version10);
        assert_eq!(refused.said(id), Said::Silent);
    }

    #[test]
    fn an_imported_flag_is_passed_on() {
        let id = "RO-REEXPORT";
        let tensor = Tensor { object: Object::Imported, ..readonly() };
        let kept = versioned(tensor).edit(|it| it.seen.source.writable = None);
        assert_eq!(kept.said(id), Said::Holds);
        let lost = kept.edit(|it| it.managed().flags = 0);
        assert_eq!(lost.said(id), Said::Breaks(Grade::Warning));
        // The array itself says so: RO-FLAG-SET speaks.
        let known = lost.clone().edit(|it| it.seen.source.writable = Some(false));
        assert_eq!(known.said(id), Said::Silent);
        let no_notion = lost.edit(|it| it.seen.exporter.has_readonly = false);
        assert_eq!(no_notion.said(id), Said::Breaks(Grade::Info));
        assert_eq!(versioned(readonly()).said(id), Said::Silent);
    }
}
