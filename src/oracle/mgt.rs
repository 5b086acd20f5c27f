//! **MGT**: the struct around the tensor: version, flags, deleter, alignment.

use super::export::{Asked, Export, Fault, Layer, Word, evidence, flags_with_dtype};
use super::{Context, Fact, Grade, Matter, Of, Route, Rule, Verdict, What, life, lived};
use crate::abi::{
    DLDeviceType, DLPackVersion, FLAG_IS_COPIED, FLAG_READ_ONLY, FLAG_SUBBYTE_PADDED, KNOWN_VERSION,
};
use crate::case::Keyword;

pub(super) const RULES: &[Rule] = &[
    Rule { id: "MGT-VERSION-MAJOR", needs: Matter::VERSIONED, judge: version_major },
    Rule { id: "MGT-VERSION-OWN", needs: Matter::VERSIONED, judge: version_own },
    Rule {
        id: "MGT-VERSION-COVERS",
        needs: Matter::TENSOR.and(Matter::VERSIONED),
        judge: version_covers,
    },
    Rule {
        id: "MGT-VERSION-STABLE",
        needs: Matter::VERSIONED.and(Matter::COMPARISON),
        judge: version_stable,
    },
    Rule { id: "MGT-DELETER-NULL", needs: Matter::TENSOR, judge: deleter_null },
    Rule { id: "MGT-DELETER-FREES-ALL", needs: Matter::RESULT, judge: deleter_frees_all },
    lived::rule!("MGT-DELETER-NO-EXC"),
    lived::rule!("MGT-META-SNAPSHOT"),
    Rule {
        id: "MGT-FLAGS-KNOWN",
        needs: Matter::TENSOR.and(Matter::VERSIONED),
        judge: flags_known,
    },
    Rule {
        id: "MGT-FLAG-SUBBYTE",
        needs: Matter::TENSOR.and(Matter::VERSIONED),
        judge: flag_subbyte,
    },
    Rule { id: "MGT-ALIGNED", needs: Matter::RESULT, judge: aligned },
];

fn text(version: DLPackVersion) -> String {
    format!("({}, {})", version.major, version.minor)
}

fn version_major(ctx: &Context) -> Verdict {
    ctx.each_export(
        |export| match (export.managed.version, export.diagnosis.header) {
            (None, _) | (_, Layer::Broken(Fault::OtherStruct)) => Word::Silent,
            (Some(version), _) => match version.major {
                0 => Word::Breaks(Grade::Violation),
                1 => Word::Holds,
                _ => Word::Breaks(Grade::Info),
            },
        },
        |export| {
            let version = export.managed.version.map_or("None".into(), text);
            evidence(
                if version.starts_with("(0") { "0" } else { "newer" },
                "major version 1, the ABI of every versioned struct so far",
                format!("version {version} {}", export.place()),
                [export.fact(What::Version, version)],
            )
        },
    )
}

/// The version that an export was asked for.
fn request(ctx: &Context, of: Of) -> Option<DLPackVersion> {
    let Asked::Pair(major, minor) = ctx.asked(of, Keyword::MaxVersion) else {
        return None;
    };
    Some(DLPackVersion { major: major.try_into().ok()?, minor: minor.try_into().ok()? })
}

/// The struct's version is unknown and the one that was asked for.
fn is_echo(ctx: &Context, export: &Export) -> bool {
    let version = export.managed.version;
    version > Some(KNOWN_VERSION) && version == request(ctx, export.of)
}

fn version_own(ctx: &Context) -> Verdict {
    // One echo may be chance; two different ones are none.
    let mut echoes = (ctx.exports().iter()).filter(|export| is_echo(ctx, export));
    let first = echoes.next().map(|export| export.managed.version);
    let other = echoes.find(|export| Some(export.managed.version) != first);
    if let Some(other) = other {
        return ctx.breaks(Grade::Violation, || {
            let version = other.managed.version.map_or("None".into(), text);
            let first = first.flatten().map_or("None".into(), text);
            evidence(
                "echo",
                "the exporter's own version whatever is asked for",
                format!("{first} for max_version={first}, and {version} for max_version={version}"),
                [other.fact(What::Version, &version)],
            )
        });
    }
    ctx.each_export(
        |export| match export.managed.version {
            None => Word::Silent,
            Some(DLPackVersion { major: 1, minor }) => {
                Word::require(minor <= KNOWN_VERSION.minor, Grade::Info)
            }
            Some(_) => Word::Silent,
        },
        |export| {
            let version = export.managed.version.map_or("None".into(), text);
            evidence(
                "newer",
                format!("a version up to {}, the newest that is known here", text(KNOWN_VERSION)),
                format!("version {version} {}", export.place()),
                [export.fact(What::Version, &version)],
            )
        },
    )
}

/// The minor version that everything in the tensor is defined in.
fn needed_minor(export: &Export) -> Option<(u32, &'static str)> {
    let tensor = export.tensor()?;
    let code = match tensor.dtype.code.0 {
        7..=17 => (1, "its type code"),
        18 => (4, "its type code"),
        _ => (0, ""),
    };
    let device = if tensor.device.device_type == DLDeviceType::LAST_KNOWN {
        (2, "its device type")
    } else {
        (0, "")
    };
    let flag = if export.has_flag(FLAG_SUBBYTE_PADDED) { (1, "flag bit 2") } else { (0, "") };
    [flag, code, device].into_iter().max_by_key(|(minor, _)| *minor)
}

fn version_covers(ctx: &Context) -> Verdict {
    ctx.each_export(
        |export| match (export.minor(), needed_minor(export)) {
            (Some(minor), Some((needed, _))) if minor < needed => {
                let is_flag = export.has_flag(FLAG_SUBBYTE_PADDED) && minor == 0;
                Word::Breaks(if is_flag { Grade::Warning } else { Grade::Info })
            }
            (Some(_), Some(_)) => Word::Holds,
            _ => Word::Silent,
        },
        |export| {
            let (needed, what) = needed_minor(export).unwrap_or((0, ""));
            let minor = export.minor().unwrap_or_default();
            evidence(
                if export.has_flag(FLAG_SUBBYTE_PADDED) && minor == 0 {
                    "flag bit 2"
                } else {
                    what
                },
                format!("version 1.{needed} or newer, because {what} came with it"),
                format!("version 1.{minor} {}", export.place()),
                [export.fact(What::Version, format!("(1, {minor})"))],
            )
        },
    )
}

/// Among exports that asked for major version 1 or higher.
fn version_stable(ctx: &Context) -> Verdict {
    let mut asked = (ctx.exports().iter()).filter(|export| {
        export.is_versioned() && request(ctx, export.of).is_some_and(|version| version.major >= 1)
    });
    let Some(first) = asked.next() else {
        return Verdict::Silent;
    };
    let mut others = asked.peekable();
    if others.peek().is_none() {
        return Verdict::Silent;
    }
    match others.find(|export| export.managed.version != first.managed.version) {
        None => Verdict::Holds,
        Some(other) => ctx.breaks(Grade::Info, || {
            let [one, two] =
                [first, other].map(|export| export.managed.version.map_or("None".into(), text));
            evidence(
                "differs",
                "one version for every max_version of major 1 or higher",
                format!("version {one} {} and {two} {}", first.place(), other.place()),
                [first.fact(What::Version, &one), other.fact(What::Version, &two)],
            )
        }),
    }
}

/// The arrays of a case live on the heap, so there is something to release.
fn deleter_null(ctx: &Context) -> Verdict {
    ctx.each_export(
        |export| match export.diagnosis.header {
            Layer::Broken(_) => Word::Silent,
            _ => Word::require(export.managed.has_deleter, Grade::Warning),
        },
        |export| {
            evidence(
                "NULL",
                "a deleter, because the array's memory has to be released",
                format!("NULL {}", export.place()),
                [export.fact(What::HasDeleter, "False")],
            )
        },
    )
}

const KNOWN_FLAGS: u64 = FLAG_READ_ONLY | FLAG_IS_COPIED | FLAG_SUBBYTE_PADDED;

fn flags_known(ctx: &Context) -> Verdict {
    ctx.each_export(
        |export| match export.diagnosis.header {
            Layer::Broken(_) => Word::Silent,
            _ if !export.is_versioned() => Word::Silent,
            _ => Word::require(
                export.managed.flags & !KNOWN_FLAGS == 0,
                if export.is_newer() { Grade::Info } else { Grade::Violation },
            ),
        },
        |export| {
            evidence(
                "flags",
                "no flag but the three that DLPack 1.3 defines (bits 0 to 2)",
                format!("flags {:#x} {}", export.managed.flags, export.place()),
                [export.fact(What::Flags, export.managed.flags)],
            )
        },
    )
}

fn flag_subbyte(ctx: &Context) -> Verdict {
    ctx.each_tensor(
        |export, tensor| match export.is_versioned() {
            true => Word::require(
                !export.has_flag(FLAG_SUBBYTE_PADDED) || tensor.dtype.bits < 8,
                Grade::Warning,
            ),
            false => Word::Silent,
        },
        |export, tensor| {
            flags_with_dtype(
                export,
                tensor,
                "flag bit 2",
                "flag bit 2 (sub-byte type padded) only with types narrower than 8 bits",
            )
        },
    )
}

fn aligned(ctx: &Context) -> Verdict {
    ctx.each_fault(
        Fault::Misaligned,
        |diagnosis| diagnosis.header,
        |export| {
            let tensor = export.managed.tensor.as_ref();
            let what = if !export.capsule.pointer.is_multiple_of(8) {
                "struct"
            } else if tensor.is_some_and(|tensor| tensor.shape_pointer % 8 != 0) {
                "shape"
            } else {
                "strides"
            };
            evidence(
                what,
                "pointers that are multiples of 8",
                format!("a pointer to the {what} that is none {}", export.place()),
                [export.fact(What::Aligned, "False")],
            )
        },
    )
}

/// In C every export is deleted by the host. In Python the capsule's destructor does it (CAP-DTOR-UNCONSUMED).
/// Without a life, a deleter is only called on the C route.
fn deleter_frees_all(ctx: &Context) -> Verdict {
    let of_calls = match ctx.seen.exporter.route {
        Route::Python => Verdict::Silent,
        Route::C => frees_all_by_calls(ctx),
    };
    lived::verdict_beside(ctx, "MGT-DELETER-FREES-ALL", of_calls)
}

fn frees_all_by_calls(ctx: &Context) -> Verdict {
    match life::leak(ctx) {
        None => Verdict::Silent,
        Some(life::Leak::None | life::Leak::Once) => Verdict::Holds,
        Some(life::Leak::Whole(per_round)) => ctx.breaks(Grade::Violation, || {
            let exports = life::capsules(ctx);
            evidence(
                "references",
                "a deleter that gives back the reference to the array",
                format!("{per_round:.2} references left behind by {exports} deleted exports"),
                [life::growth_fact(per_round)],
            )
        }),
        Some(life::Leak::Blocks(per_round)) => ctx.breaks(Grade::Violation, || {
            evidence(
                "memory",
                "a deleter that frees all that the export allocated",
                format!("{per_round:.2} blocks of memory left behind by each round of exports"),
                [Fact {
                    of: Of::Export,
                    what: What::MemoryGrowth,
                    value: format!("{per_round:.2}"),
                }],
            )
        }),
        Some(life::Leak::Bytes(per_round)) => ctx.breaks(Grade::Violation, || {
            evidence(
                "heap",
                "a deleter that frees all that the export allocated",
                format!("{per_round:.0} bytes of the heap left behind by each round of exports"),
                [life::heap_fact()],
            )
        }),
        Some(life::Leak::Failing(_) | life::Leak::FailingBlocks | life::Leak::Part(_)) => {
            Verdict::Silent
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::abi::{DLDevice, DLPackVersion};
    use crate::case::{Dtype, Keyword, Probe, Tensor, Value};
    use crate::oracle::testing::{Said, Scene, call};
    use crate::oracle::{Grade, Managed};
    use crate::oracle::{Growth, Route};

    #[test]
    fn a_deleter_that_leaves_something_is_accused_in_c() {
        let id = "MGT-DELETER-FREES-ALL";
        let deleted = |growth: Option<Growth>| {
            versioned().edit(|it| {
                it.seen.exporter.route = Route::C;
                it.seen.ledger.growth = growth;
            })
        };
        let growth =
            |references, blocks| Growth { rounds: 64, references, blocks, argument_references: 0 };
        assert_eq!(deleted(None).said(id), Said::Holds);
        assert_eq!(deleted(Some(growth(1, 1))).said(id), Said::Holds);
        deleted(Some(growth(64, 64))).assert_only(id, Grade::Violation);
        deleted(Some(growth(0, 128))).assert_only(id, Grade::Violation);
        // Static data has no deleter.
        let fixed = deleted(Some(growth(64, 64))).edit(|it| it.capsule().has_destructor = false);
        assert_eq!(fixed.said(id), Said::Silent);
    }

    fn versioned() -> Scene {
        Scene::of(&[(Keyword::MaxVersion, Value::pair(1, 0))])
    }

    fn declares(managed: &mut Managed, major: u32, minor: u32) {
        managed.version = Some(DLPackVersion { major, minor });
    }

    #[test]
    fn the_major_version_is_1() {
        let id = "MGT-VERSION-MAJOR";
        assert_eq!(versioned().said(id), Said::Holds);
        assert_eq!(Scene::plain().said(id), Said::Silent);
        let none = versioned().edit(|it| {
            declares(it.managed(), 0, 0);
            it.managed().tensor = None;
        });
        none.assert_only(id, Grade::Violation);
        let newer = versioned().edit(|it| {
            declares(it.managed(), 2, 0);
            it.managed().tensor = None;
        });
        assert_eq!(newer.said(id), Said::Breaks(Grade::Info));
    }

    #[test]
    fn the_version_is_no_echo() {
        let id = "MGT-VERSION-OWN";
        let scene = versioned().with(Probe::Version199).with(Probe::Version20);
        assert_eq!(scene.said(id), Said::Holds);
        let echoes = scene.edit(|it| {
            declares(it.probe_managed(Probe::Version199), 1, 99);
            declares(it.probe_managed(Probe::Version20), 2, 0);
        });
        assert_eq!(echoes.said(id), Said::Breaks(Grade::Violation));
        // A newer library (P-NEWER), and an answer at a lower request.
        let newer = versioned().with(Probe::Version199).edit(|it| {
            declares(it.managed(), 1, 4);
            declares(it.probe_managed(Probe::Version199), 1, 4);
        });
        assert_eq!(newer.said(id), Said::Breaks(Grade::Info));
        newer.assert_lawful();
        let lower = versioned()
            .with(Probe::Version11)
            .edit(|it| declares(it.probe_managed(Probe::Version11), 1, 1));
        assert_eq!(lower.said(id), Said::Holds);
    }

    #[test]
    fn the_version_covers_what_is_used() {
        let id = "MGT-VERSION-COVERS";
        assert_eq!(versioned().said(id), Said::Holds);
        let float8 = Tensor { dtype: Dtype::named("float8_e5m2", 0).unwrap(), ..Tensor::plain() };
        let old = Scene::new(float8, call(&[(Keyword::MaxVersion, Value::pair(1, 0))]));
        assert_eq!(old.said(id), Said::Breaks(Grade::Info));
        let new = old.clone().edit(|it| declares(it.managed(), 1, 1));
        assert_eq!(new.said(id), Said::Holds);
        let flag = versioned().edit(|it| it.managed().flags = 4);
        assert_eq!(flag.said(id), Said::Breaks(Grade::Warning));
        let device = versioned().edit(|it| it.tensor().device = DLDevice::new(18, 0));
        assert_eq!(device.said(id), Said::Breaks(Grade::Info));
    }

    #[test]
    fn one_version_for_every_request() {
        let id = "MGT-VERSION-STABLE";
        let scene = versioned().with(Probe::Version11);
        assert_eq!(scene.said(id), Said::Holds);
        let follows = scene.edit(|it| declares(it.probe_managed(Probe::Version11), 1, 1));
        assert_eq!(follows.said(id), Said::Breaks(Grade::Info));
        assert_eq!(versioned().said(id), Said::Silent);
        assert_eq!(versioned().with(Probe::Unversioned).said(id), Said::Silent);
    }

    #[test]
    fn heap_data_has_a_deleter() {
        let id = "MGT-DELETER-NULL";
        assert_eq!(Scene::plain().said(id), Said::Holds);
        Scene::plain().edit(|it| it.managed().has_deleter = false).assert_only(id, Grade::Warning);
    }

    #[test]
    fn only_defined_flags_are_set() {
        let id = "MGT-FLAGS-KNOWN";
        assert_eq!(versioned().said(id), Said::Holds);
        assert_eq!(Scene::plain().said(id), Said::Silent);
        versioned().edit(|it| it.managed().flags = 0xdead_0000).assert_only(id, Grade::Violation);
        // A newer minor may have a fourth flag (P-NEWER).
        let newer = versioned().edit(|it| {
            it.managed().flags = 8;
            declares(it.managed(), 1, 4);
        });
        assert_eq!(newer.said(id), Said::Breaks(Grade::Info));
    }

    #[test]
    fn the_padding_flag_is_for_narrow_types() {
        let id = "MGT-FLAG-SUBBYTE";
        assert_eq!(versioned().said(id), Said::Holds);
        let wide = versioned().edit(|it| {
            declares(it.managed(), 1, 1);
            it.managed().flags = 4;
        });
        wide.assert_only(id, Grade::Warning);
        let narrow = wide.edit(|it| it.tensor().dtype.bits = 4);
        assert_eq!(narrow.said(id), Said::Holds);
    }

    #[test]
    fn pointers_are_aligned() {
        let id = "MGT-ALIGNED";
        assert_eq!(Scene::plain().said(id), Said::Holds);
        let faults: [fn(&mut Scene); 3] = [
            |it| it.capsule().pointer += 4,
            |it| it.tensor().shape_pointer += 4,
            |it| it.tensor().strides_pointer += 1,
        ];
        for fault in faults {
            Scene::plain().edit(fault).assert_only(id, Grade::Violation);
        }
        let null = Scene::plain().edit(|it| it.tensor().strides_pointer = 0);
        assert_eq!(null.said(id), Said::Holds);
    }
}
