//! Rules of the family VER: what `max_version` changes and what it does not.
//!
//! VER-MINOR-FREE and VER-NONE-BE grant something and have no function.

use super::decision::{Blame, Content, DlDevice, MaxVersion};
use super::pair::{self, content};
use super::words::{by_table, knows, on_pair};
use super::{Context, ErrorClass, Grade, Matter, Of, Outcome, ProbeName, Rule, Verdict, What};
use crate::abi::{DLDataType, DLDataTypeCode};
use crate::case::{DtypeClass, Keyword, Probe, Value};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "VER-NONE-LEGACY", needs: Matter::RESULT, judge: none_legacy },
    Rule { id: "VER-0X", needs: Matter::MAX_VERSION, judge: zero },
    Rule {
        id: "VER-1X-VERSIONED",
        needs: Matter::RESULT.and(Matter::MAX_VERSION),
        judge: one_versioned,
    },
    Rule { id: "VER-CEILING", needs: Matter::RESULT.and(Matter::MAX_VERSION), judge: ceiling },
    Rule { id: "VER-SAME-MAJOR", needs: Matter::ANY, judge: same_major },
    Rule { id: "VER-HIGHER-MAJOR", needs: Matter::ANY, judge: higher_major },
    Rule { id: "VER-OLD-BE", needs: Matter::EXCEPTION.and(Matter::MAX_VERSION), judge: old_be },
    Rule {
        id: "VER-INDEPENDENT",
        needs: Matter::RESULT.and(Matter::COMPARISON),
        judge: independent,
    },
    Rule { id: "VER-NEGATIVE", needs: Matter::MAX_VERSION, judge: negative },
];

/// The class of the case's own `max_version`, where the exporter knows the keyword.
fn own_version(ctx: &Context) -> Option<MaxVersion> {
    let version = ctx.table.classes?.max_version;
    (version == MaxVersion::Absent || knows(ctx, Keyword::MaxVersion)).then_some(version)
}

fn returns_capsule(ctx: &Context) -> bool {
    ctx.seen.export.managed().is_some()
}

fn none_legacy(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::VerNoneLegacy, || {
        own_version(ctx).is_some_and(MaxVersion::is_silent) && returns_capsule(ctx)
    })
}

fn zero(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::Ver0x, || {
        let outcome = &ctx.seen.export;
        let is_refused = outcome.raised().is_some_and(|raised| raised.class == ErrorClass::Buffer);
        own_version(ctx) == Some(MaxVersion::Zero) && (returns_capsule(ctx) || is_refused)
    })
}

fn one_versioned(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::Ver1xVersioned, || {
        own_version(ctx).is_some_and(MaxVersion::is_versioned) && returns_capsule(ctx)
    })
}

fn ceiling(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::VerCeiling, || {
        own_version(ctx).is_some_and(MaxVersion::is_versioned) && returns_capsule(ctx)
    })
}

fn old_be(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::VerOldBe, || {
        own_version(ctx) == Some(MaxVersion::Zero) && ctx.seen.export.raised().is_some()
    })
}

fn negative(ctx: &Context) -> Verdict {
    by_table(ctx, Blame::VerNegative, || {
        let value = ctx.case.call.max_version.value();
        own_version(ctx) == Some(MaxVersion::Malformed)
            && value.is_some_and(|value| value.as_pair().is_some())
    })
}

type Seen<'a> = (Of, &'a Outcome);

fn probe<'a>(ctx: &Context<'a>, probe: Probe) -> Option<Seen<'a>> {
    Some((Of::Probe(ProbeName(probe)), ctx.seen.probe(probe)?))
}

/// The case's own export, if its `max_version` is of one of these classes and the table does not blame it
/// for something else.
fn own_if<'a>(ctx: &Context<'a>, classes: &[MaxVersion]) -> Option<Seen<'a>> {
    let is_meant = own_version(ctx).is_some_and(|version| classes.contains(&version));
    (is_meant && !pair::is_explained(ctx)).then_some((Of::Export, &ctx.seen.export))
}

fn is_refused(outcome: &Outcome) -> bool {
    (outcome.raised()).is_some_and(|raised| {
        !matches!(raised.class, ErrorClass::Memory | ErrorClass::System | ErrorClass::Base)
    })
}

fn same_major(ctx: &Context) -> Verdict {
    let verdict = by_table(ctx, Blame::VerSameMajor, || false);
    if !matches!(verdict, Verdict::Silent) || ctx.seen.further.is_empty() {
        return verdict;
    }
    if !knows(ctx, Keyword::MaxVersion) {
        return Verdict::Silent;
    }
    let outcomes = [
        own_if(ctx, &[MaxVersion::OneZero, MaxVersion::OneMore]),
        probe(ctx, Probe::Version10),
        probe(ctx, Probe::Version11),
        probe(ctx, Probe::Version199),
    ];
    let found = || outcomes.into_iter().flatten();
    let served = found().find(|(_, outcome)| outcome.capsule().is_some());
    let refused = found().find(|(_, outcome)| is_refused(outcome));
    match (served, refused) {
        (Some(served), Some(refused)) => {
            // An exporter may protect a consumer from a code that its minor does not know.
            let is_basic = ctx.case.tensor.dtype.is_standard();
            let grade = if is_basic { Grade::Warning } else { Grade::Info };
            ctx.breaks(grade, || {
                let name = refused.1.raised().map_or("".into(), |raised| raised.name.clone());
                on_pair(ctx, served, refused, name, Blame::VerSameMajor.demand(), &[What::Outcome])
            })
        }
        _ if found().count() > 1 => Verdict::Holds,
        _ => Verdict::Silent,
    }
}

fn higher_major(ctx: &Context) -> Verdict {
    let verdict = by_table(ctx, Blame::VerHigherMajor, || false);
    if !matches!(verdict, Verdict::Silent) || ctx.seen.further.is_empty() {
        return verdict;
    }
    if !knows(ctx, Keyword::MaxVersion) {
        return Verdict::Silent;
    }
    let served = [probe(ctx, Probe::Version199), own_if(ctx, &[MaxVersion::OneMore])];
    let served = served.into_iter().flatten().find(|(_, outcome)| outcome.capsule().is_some());
    let Some(served) = served else {
        return Verdict::Silent;
    };
    let higher = [
        own_if(ctx, &[MaxVersion::Two]),
        probe(ctx, Probe::Version20),
        probe(ctx, Probe::Version1003),
    ];
    let mut verdict = Verdict::Silent;
    for other in higher.into_iter().flatten() {
        if is_refused(other.1) {
            return ctx.breaks(Grade::Violation, || {
                let name = other.1.raised().map_or("".into(), |raised| raised.name.clone());
                on_pair(ctx, served, other, name, Blame::VerHigherMajor.demand(), &[What::Outcome])
            });
        }
        verdict = Verdict::Holds;
    }
    verdict
}

const VERSIONS: [Probe; 6] = [
    Probe::Version10,
    Probe::Version11,
    Probe::Version199,
    Probe::Version20,
    Probe::Version1003,
    Probe::Unversioned,
];

fn independent(ctx: &Context) -> Verdict {
    let verdict = by_table(ctx, Blame::VerIndependent, || false);
    if !matches!(verdict, Verdict::Silent) || ctx.seen.further.is_empty() {
        return verdict;
    }
    let source = &ctx.seen.source;
    if !knows(ctx, Keyword::MaxVersion) || source.shape.contains(&0) {
        return Verdict::Silent;
    }
    let own = (Of::Export, &ctx.seen.export);
    if pair::is_explained(ctx) {
        return Verdict::Silent;
    }
    let mut verdict = Verdict::Silent;
    for other in VERSIONS.into_iter().filter_map(|version| probe(ctx, version)) {
        let Some(found) = change(ctx, own.1, other.1) else {
            continue;
        };
        if let Some((grade, what)) = found {
            let key = match what {
                What::Device => "device",
                What::Shape => "shape",
                What::Dtype => "dtype",
                _ => "memory",
            };
            return ctx.breaks(grade, || {
                let expected = Blame::VerIndependent.demand();
                on_pair(ctx, own, other, key, expected, &[What::Outcome, what])
            });
        }
        verdict = Verdict::Holds;
    }
    refused_kind(ctx).unwrap_or(verdict)
}

/// What differs between two exports apart from kind and flags; `None` when they cannot be compared.
fn change(ctx: &Context, one: &Outcome, other: &Outcome) -> Option<Option<(Grade, What)>> {
    let (one, other) = (one.managed()?, other.managed()?);
    let (a, b) = (one.tensor.as_ref()?, other.tensor.as_ref()?);
    let source = &ctx.seen.source;
    let classes = ctx.table.classes?;
    // One that contradicts the source has a rule of its own: DEV-CONSISTENT, TEN-SHAPE-VALUES, DTY-MATCH.
    let wrong_device =
        classes.dl_device.is_own() && (a.device != ctx.table.own || b.device != ctx.table.own);
    // Of two calls that ask for a device one is not served: DEV-HONOUR, where it is a call of its own.
    let asked = ctx.case.call.dl_device.value().and_then(Value::as_pair);
    let is_passed_over = match asked {
        Some((kind, _)) => {
            [a, b].iter().any(|export| i64::from(export.device.device_type.0) != kind)
        }
        // SIG-MALFORMED-IGNORED.
        None => classes.dl_device == DlDevice::Malformed,
    };
    if a.device != b.device && !wrong_device && !is_passed_over {
        return Some(Some((Grade::Violation, What::Device)));
    }
    let has_due_shape = a.shape == source.shape || b.shape == source.shape;
    if a.shape != b.shape && !has_due_shape {
        return Some(Some((Grade::Violation, What::Shape)));
    }
    let is_old = |dtype: DLDataType| dtype.code.0 <= DLDataTypeCode::COMPLEX.0;
    let dtype = ctx.case.tensor.dtype;
    let has_due_dtype = dtype.info().triple.is_some_and(|due| a.dtype == due || b.dtype == due);
    // DTY-BOOL: the legacy struct may still call it an integer.
    let is_judged = dtype.class() != DtypeClass::Bool && is_old(a.dtype) && is_old(b.dtype);
    if a.dtype != b.dtype && is_judged && !has_due_dtype {
        return Some(Some((Grade::Violation, What::Dtype)));
    }
    // COPY-LEGACY-SILENT, RO-LEGACY: between kinds these may lawfully change the decision.
    let is_free = one.kind != other.kind
        && (!classes.copy.is_silent()
            || source.writable == Some(false)
            || !ctx.seen.exporter.mutable);
    let known = |content: &Content| *content != Content::Unknown;
    if let (Some(a), Some(b)) = (content(ctx, one).filter(known), content(ctx, other).filter(known))
        && a.is_copy() != b.is_copy()
        && !is_free
    {
        return Some(Some((Grade::Warning, What::Memory)));
    }
    Some(None)
}

/// Without `max_version` the call succeeds and every version that was asked for is refused, or the reverse.
fn refused_kind(ctx: &Context) -> Option<Verdict> {
    let classes = ctx.table.classes?;
    let is_judged = classes.max_version.is_silent()
        && classes.is_well_formed()
        // The legacy path has no flag for a copy, no READ_ONLY, and an older word for bool.
        && classes.copy.is_silent()
        && ctx.case.tensor.dtype.is_standard()
        && ctx.case.tensor.dtype.class() != DtypeClass::Bool
        && ctx.seen.source.writable != Some(false)
        && ctx.seen.exporter.mutable;
    let is_refusal = |outcome: &Outcome| {
        outcome.raised().is_some_and(|raised| raised.class == ErrorClass::Buffer)
    };
    let own = (Of::Export, &ctx.seen.export);
    let minors = || VERSIONS[..3].iter().filter_map(|&version| probe(ctx, version));
    let first = minors().next().filter(|_| is_judged)?;
    let is_broken = if returns_capsule(ctx) {
        minors().all(|(_, outcome)| is_refusal(outcome))
    } else {
        is_refusal(own.1) && minors().all(|(_, outcome)| outcome.capsule().is_some())
    };
    is_broken.then(|| {
        ctx.breaks(Grade::Warning, || {
            let expected = Blame::VerIndependent.demand();
            on_pair(ctx, own, first, "BufferError", expected, &[What::Outcome])
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Said, Scene};
    use super::*;
    use crate::abi::DLDevice;
    use crate::case::Keyword::*;
    use crate::case::{Access, Call, Case, Dtype, Tensor};

    const VIOLATION: Said = Said::Breaks(Grade::Violation);
    const WARNING: Said = Said::Breaks(Grade::Warning);
    const INFO: Said = Said::Breaks(Grade::Info);

    fn version(major: i64, minor: i64) -> (Keyword, Value) {
        (MaxVersion, Value::pair(major, minor))
    }

    #[test]
    fn the_kind_follows_max_version() {
        assert_eq!(Scene::plain().said("VER-NONE-LEGACY"), Said::Holds);
        let versioned = Scene::plain().answering(&[version(1, 0)]);
        versioned.assert_only("VER-NONE-LEGACY", Grade::Violation);
        let zero = Scene::of(&[version(0, 8)]);
        assert_eq!(zero.said("VER-0X"), Said::Holds);
        assert_eq!(zero.said("VER-OLD-BE"), Said::Silent);
        assert_eq!(zero.clone().raising(ErrorClass::Buffer).said("VER-0X"), Said::Holds);
        zero.answering(&[version(1, 0)]).assert_only("VER-0X", Grade::Warning);
        let one = Scene::of(&[version(1, 0)]);
        assert_eq!(one.said("VER-1X-VERSIONED"), Said::Holds);
        assert_eq!(one.said("VER-CEILING"), Said::Holds);
        assert_eq!(one.answering(&[]).said("VER-1X-VERSIONED"), INFO);
        let ceiling = |major| {
            let scene = Scene::of(&[version(2, 0)]);
            scene.edit(|it| it.managed().version.as_mut().unwrap().major = major)
        };
        assert_eq!(ceiling(3).said("VER-CEILING"), WARNING);
        assert_eq!(ceiling(2).said("VER-CEILING"), Said::Holds);
    }

    #[test]
    fn an_old_version_is_refused_with_buffer_error() {
        let zero = Scene::of(&[version(0, 0)]);
        assert_eq!(zero.clone().raising(ErrorClass::Buffer).said("VER-OLD-BE"), Said::Holds);
        zero.raising(ErrorClass::Other).assert_only("VER-OLD-BE", Grade::Warning);
    }

    #[test]
    fn every_minor_is_served_alike() {
        let twin = Scene::of(&[version(1, 0)]).with(Probe::Version199);
        assert_eq!(twin.said("VER-SAME-MAJOR"), Said::Holds);
        let refused =
            Scene::of(&[version(1, 0)]).with_raised(Probe::Version199, ErrorClass::Buffer);
        refused.assert_only("VER-SAME-MAJOR", Grade::Warning);
        let probes = Scene::plain()
            .with(Probe::Version199)
            .with_raised(Probe::Version10, ErrorClass::Buffer);
        assert_eq!(probes.said("VER-SAME-MAJOR"), WARNING);
        // An exporter may protect a 1.0 consumer from a code that came with 1.1.
        let bfloat = Tensor { dtype: Dtype::named("bfloat16", 0).unwrap(), ..Tensor::plain() };
        let guarded = Scene::new(bfloat, Call::default())
            .with(Probe::Version199)
            .with_raised(Probe::Version10, ErrorClass::Buffer);
        assert_eq!(guarded.said("VER-SAME-MAJOR"), INFO);
    }

    #[test]
    fn a_higher_major_is_served() {
        let twin = Scene::of(&[version(1, 99)]).with(Probe::Version20).with(Probe::Version1003);
        assert_eq!(twin.said("VER-HIGHER-MAJOR"), Said::Holds);
        for probe in [Probe::Version20, Probe::Version1003] {
            let refused = Scene::of(&[version(1, 99)]).with_raised(probe, ErrorClass::Buffer);
            refused.assert_only("VER-HIGHER-MAJOR", Grade::Violation);
        }
        let own = Scene::of(&[version(2, 0)]).raising(ErrorClass::Value).with(Probe::Version199);
        own.assert_only("VER-HIGHER-MAJOR", Grade::Violation);
        // All are refused for another reason.
        let device = Scene::of(&[version(2, 0), (DlDevice, Value::pair(10, 0))]);
        let device = device.with(Probe::Version199).with(Probe::Version20);
        assert_eq!(device.said("VER-HIGHER-MAJOR"), Said::Silent);
    }

    #[test]
    fn max_version_changes_nothing_else() {
        let one = || Scene::of(&[version(1, 0)]);
        assert_eq!(one().with(Probe::Unversioned).said("VER-INDEPENDENT"), Said::Holds);
        let copies = one().probe_answering(Probe::Unversioned, &[(Copy, Value::bool(true))]);
        assert_eq!(copies.said("VER-INDEPENDENT"), WARNING);
        // Neither contradicts a rule by itself: one ignores the CPU index, the other stamps it.
        let index = Scene::of(&[version(1, 0), (DlDevice, Value::pair(1, 3))]);
        let index = index.answering(&[version(1, 0)]).probe_answering(Probe::Unversioned, &[]);
        let index = index.edit(|it| it.tensor().device = DLDevice::new(1, 3));
        assert_eq!(index.said("VER-INDEPENDENT"), VIOLATION);
        // dpctl: the legacy call passes dl_device over, which is DEV-HONOUR of that call.
        let one_api = Tensor { device: DLDevice::new(14, 0), ..Tensor::plain() };
        let asked = [version(1, 0), (DlDevice, Value::pair(1, 0))];
        let dpctl = Scene::new(one_api, super::super::testing::call(&asked));
        let dpctl = dpctl.probe_answering(Probe::Unversioned, &[]);
        assert_ne!(dpctl.said("VER-INDEPENDENT"), VIOLATION);
        let nearly = "array(shape=(6,), dtype='float32', device=(14, 0)).__dlpack__(max_version=(1, 0), dl_device=(1, np.int64(0)))";
        let nearly: Case = nearly.parse().unwrap();
        let odd = dpctl.edit(|it| it.case.call = nearly.call);
        assert_ne!(odd.said("VER-INDEPENDENT"), VIOLATION);
        let refused = Scene::plain()
            .with_raised(Probe::Version10, ErrorClass::Buffer)
            .with_raised(Probe::Version199, ErrorClass::Buffer);
        refused.assert_only("VER-INDEPENDENT", Grade::Warning);
        let reverse = Scene::plain().raising(ErrorClass::Buffer).with(Probe::Version10);
        reverse.assert_only("VER-INDEPENDENT", Grade::Warning);
        let bool = Tensor { dtype: Dtype::named("bool", 0).unwrap(), ..Tensor::plain() };
        let reverse = Scene::new(bool, Call::default()).raising(ErrorClass::Buffer);
        reverse.with(Probe::Version10).assert_lawful();
    }

    #[test]
    fn max_version_may_change_what_a_legacy_capsule_cannot_say() {
        // JAX and mlx: a copy where the legacy struct could not flag one, on request only.
        let asked = Scene::of(&[version(1, 0), (Copy, Value::bool(false))]);
        let asked = asked.probe_answering(Probe::Unversioned, &[(Copy, Value::bool(true))]);
        assert_eq!(asked.said("VER-INDEPENDENT"), Said::Holds);
        // NumPy: the plain call of a read-only array is refused, the versioned one is fine.
        let array = Tensor { access: Access::ReadOnly, ..Tensor::plain() };
        let numpy = Scene::new(array, super::super::testing::call(&[version(1, 0)]));
        numpy.with(Probe::Unversioned).with(Probe::Plain).assert_lawful();
    }

    #[test]
    fn a_negative_version_is_noted() {
        let negative = Scene::of(&[version(-1, 0)]);
        assert_eq!(negative.said("VER-NEGATIVE"), INFO);
        assert_eq!(negative.raising(ErrorClass::Buffer).said("VER-NEGATIVE"), Said::Holds);
    }
}
