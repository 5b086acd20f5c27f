//! **Evidence** in words: how one outcome looks, and the facts that the reproducer compares.

use super::decision::{Blame, Content, DlDevice, MaxVersion, Stream, Word};
use super::{
    Capsule, CapsuleName, Context, Elements, Evidence, Fact, Kind, Memory, Of, Outcome, ProbeName,
    Verdict, What, WriteThrough,
};
use crate::case::Keyword;
use std::borrow::Cow;

/// A rule that is a row of the decision table: broken where the table blames it, else it holds where it
/// `applies`.
pub(super) fn by_table(ctx: &Context, blame: Blame, applies: impl FnOnce() -> bool) -> Verdict {
    match ctx.table.word {
        Word::Blamed(blamed, grade) if blamed == blame => {
            ctx.breaks(grade, || of_blame(ctx, blame))
        }
        Word::NotJudged => Verdict::Silent,
        _ if applies() => Verdict::Holds,
        _ => Verdict::Silent,
    }
}

/// What the table says of the case's own export.
fn of_blame(ctx: &Context, blame: Blame) -> Evidence {
    let outcome = &ctx.seen.export;
    let facts: &[What] = match outcome {
        Outcome::Capsule(_) => match blame {
            Blame::CopyFalseAlias
            | Blame::CopyFalseBe
            | Blame::CopyNoneAlias
            | Blame::CopyTrueDistinct
            | Blame::CopyTrueIgnored => &[What::Outcome, What::Memory, What::WriteThrough],
            Blame::DevHonour | Blame::DevHonourCpu => &[What::Outcome, What::Device],
            Blame::VerCeiling => &[What::Outcome, What::CapsuleName, What::Version],
            _ => &[What::Outcome, What::CapsuleName],
        },
        _ => &[What::Outcome],
    };
    Evidence {
        key: key(ctx, blame),
        expected: blame.demand().to_owned(),
        seen: phrase(ctx, Of::Export, outcome),
        facts: facts_of(Of::Export, outcome, facts),
    }
}

fn key(ctx: &Context, blame: Blame) -> Cow<'static, str> {
    let argument = || match ctx.table.classes {
        Some(classes) if blame == Blame::ExcUnexpected || blame == Blame::SigMalformed => {
            match (classes.dl_device, classes.max_version, classes.stream) {
                (DlDevice::Malformed, ..) => " dl_device",
                (_, MaxVersion::Malformed, _) => " max_version",
                (_, _, stream) if stream != Stream::None => " stream",
                _ => "",
            }
        }
        _ => "",
    };
    match &ctx.seen.export {
        Outcome::Raised(raised) => match argument() {
            "" => raised.name.clone(),
            argument => format!("{}{argument}", raised.name).into(),
        },
        Outcome::Returned(_) => "no capsule".into(),
        Outcome::Capsule(capsule) => match blame {
            Blame::CopyFalseAlias
            | Blame::CopyFalseBe
            | Blame::CopyNoneAlias
            | Blame::CopyTrueDistinct
            | Blame::CopyTrueIgnored => content_key(ctx.table.content).into(),
            Blame::DevHonour | Blame::DevHonourCpu => "device".into(),
            Blame::SigMalformed => format!("accepted{}", argument()).into(),
            Blame::StrCpuNoneOnly
            | Blame::StrCpuRequest
            | Blame::StrCudaZero
            | Blame::StrNonint
            | Blame::StrRange
            | Blame::StrRocmValues => ctx.table.classes.map_or("", |it| it.stream.name()).into(),
            _ => kind_key(capsule).into(),
        },
    }
}

fn content_key(content: Option<Content>) -> &'static str {
    match content {
        Some(Content::Alias) => "alias",
        Some(Content::Overlap) => "overlap",
        Some(Content::Mapped) => "mapped",
        Some(Content::Copy) => "copy",
        Some(Content::Unknown) | None => "unknown",
    }
}

fn kind_key(capsule: &Capsule) -> &'static str {
    match capsule.managed.as_ref().map(|managed| managed.kind) {
        Some(Kind::Legacy) => "legacy",
        Some(Kind::Versioned) => "versioned",
        None => "capsule",
    }
}

/// `raised ValueError`, `returned a versioned capsule on device (1, 0) holding a copy, flags 2`.
pub(super) fn phrase(ctx: &Context, of: Of, outcome: &Outcome) -> String {
    let subject = match of {
        Of::Export => "the call".to_owned(),
        Of::FromPy => "from_py".to_owned(),
        Of::Probe(ProbeName(probe)) => format!("the probe {}", probe.name()),
    };
    match outcome {
        Outcome::Raised(raised) => format!("{subject} raised {}", raised.name),
        Outcome::Returned(name) => format!("{subject} returned an object of type {name}"),
        Outcome::Capsule(capsule) => {
            let mut text = format!("{subject} returned a {} capsule", kind_key(capsule));
            let Some(managed) = &capsule.managed else {
                return text;
            };
            if let Some(tensor) = &managed.tensor {
                let content = Content::of(&ctx.seen.source, ctx.table.own, tensor);
                text += &format!(" on device {} holding {}", tensor.device, content.phrase());
            }
            if managed.kind == Kind::Versioned {
                text += &format!(", flags {}", managed.flags);
            }
            text
        }
    }
}

/// The facts of one outcome; those that it has not are left out.
pub(super) fn facts_of(of: Of, outcome: &Outcome, whats: &[What]) -> Vec<Fact> {
    (whats.iter())
        .filter_map(|&what| Some(Fact { of, what, value: value(outcome, what)? }))
        .collect()
}

fn value(outcome: &Outcome, what: What) -> Option<String> {
    if what == What::Outcome {
        return Some(match outcome {
            Outcome::Capsule(_) => "capsule".to_owned(),
            Outcome::Returned(name) => name.clone(),
            Outcome::Raised(raised) => raised.name.to_string(),
        });
    }
    let capsule = outcome.capsule()?;
    let tensor = || outcome.managed()?.tensor.as_ref();
    Some(match what {
        What::CapsuleName => match &capsule.name {
            CapsuleName::Legacy => "b'dltensor'".to_owned(),
            CapsuleName::Versioned => "b'dltensor_versioned'".to_owned(),
            CapsuleName::Null => "None".to_owned(),
            CapsuleName::Other(name) => format!("b'{name}'"),
        },
        What::Version => (outcome.managed()?.version)
            .map_or("None".to_owned(), |version| format!("({}, {})", version.major, version.minor)),
        What::Flags => outcome.managed()?.flags.to_string(),
        What::Device => tensor()?.device.to_string(),
        What::Dtype => tensor()?.dtype.to_string(),
        What::Memory => match tensor()?.memory {
            Memory::Alias => "alias".to_owned(),
            Memory::Overlap => "overlap".to_owned(),
            Memory::Distinct => "distinct".to_owned(),
            Memory::Unknown => return None,
        },
        What::Elements => match tensor()?.elements {
            Elements::Same => "same".to_owned(),
            Elements::Differ { .. } => "differ".to_owned(),
            _ => return None,
        },
        What::WriteThrough => match tensor()?.write_through {
            WriteThrough::Shared => "True".to_owned(),
            WriteThrough::Separate => "False".to_owned(),
            WriteThrough::NotTried | WriteThrough::OneWay => return None,
        },
        What::PendingError => if capsule.error_pending { "True" } else { "None" }.to_owned(),
        _ => return None,
    })
}

/// Evidence of one outcome.
pub(super) fn on_outcome(
    ctx: &Context,
    (of, outcome): (Of, &Outcome),
    key: impl Into<Cow<'static, str>>,
    expected: impl Into<String>,
    facts: &[What],
) -> Evidence {
    Evidence {
        key: key.into(),
        expected: expected.into(),
        seen: phrase(ctx, of, outcome),
        facts: facts_of(of, outcome, facts),
    }
}

/// Evidence of two outcomes that should be alike.
pub(super) fn on_pair(
    ctx: &Context,
    first: (Of, &Outcome),
    second: (Of, &Outcome),
    key: impl Into<Cow<'static, str>>,
    expected: impl Into<String>,
    facts: &[What],
) -> Evidence {
    let mut all = facts_of(first.0, first.1, facts);
    all.extend(facts_of(second.0, second.1, facts));
    Evidence {
        key: key.into(),
        expected: expected.into(),
        seen: format!("{}; {}", phrase(ctx, first.0, first.1), phrase(ctx, second.0, second.1)),
        facts: all,
    }
}

/// The exporter's type knows this keyword (P-KEYWORD).
pub(super) fn knows(ctx: &Context, keyword: Keyword) -> bool {
    ctx.seen.exporter.keywords[keyword as usize]
}
