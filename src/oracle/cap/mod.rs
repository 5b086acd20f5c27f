//! **CAP**: the capsule that a call returns, and what becomes of it when it is consumed or dropped.
//!
//! What a consumer does to a capsule (renaming, deleting, releasing in another order) is a life, which the
//! module `lived` judges by the model of ownership; the rules here only ask for their word.

mod release;
mod repeat;

use super::export::{Fault, Layer, Word, evidence, place};
use super::lived;
use super::{
    Capsule, CapsuleName, Context, Evidence, Fact, Grade, Kind, Matter, Of, Outcome, Rule, Verdict,
    What,
};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "CAP-TYPE", needs: Matter::RESULT, judge: capsule_type },
    Rule {
        id: "CAP-NAME-LEGACY",
        needs: Matter::LEGACY,
        judge: |ctx| name_of_kind(ctx, Kind::Legacy),
    },
    Rule {
        id: "CAP-NAME-VERSIONED",
        needs: Matter::VERSIONED,
        judge: |ctx| name_of_kind(ctx, Kind::Versioned),
    },
    Rule { id: "CAP-NAME-KNOWN", needs: Matter::RESULT, judge: name_known },
    Rule {
        id: "CAP-NAME-STATIC",
        needs: Matter::RESULT.and(Matter::COMPARISON),
        judge: name_static,
    },
    Rule { id: "CAP-STRUCT-MATCHES-NAME", needs: Matter::RESULT, judge: struct_matches_name },
    Rule { id: "CAP-DTOR-PRESENT", needs: Matter::RESULT, judge: release::destructor_present },
    Rule { id: "CAP-DTOR-UNCONSUMED", needs: Matter::ANY, judge: release::destructor_unconsumed },
    lived::rule!("CAP-DTOR-CONSUMED"),
    lived::rule!("CAP-DTOR-CONSUMED-LIVE"),
    lived::rule!("CAP-DTOR-REMOVED"),
    lived::rule!("CAP-DTOR-EXC-KEPT"),
    Rule { id: "CAP-DTOR-EXC-CLEAN", needs: Matter::RESULT, judge: release::destructor_clean },
    lived::rule!("CAP-DTOR-EXC-PY"),
    lived::rule!("CAP-INDEPENDENT"),
    Rule {
        id: "CAP-DISTINCT-STRUCT",
        needs: Matter::COMPARISON.and(Matter::RESULT),
        judge: distinct_struct,
    },
    Rule { id: "CAP-EXC-NO-LEAK", needs: Matter::ANY, judge: release::exception_no_leak },
    Rule { id: "CAP-REPEAT", needs: Matter::COMPARISON, judge: repeat::repeat },
    Rule { id: "CAP-SOURCE-UNCHANGED", needs: Matter::ANY, judge: release::source_unchanged },
];

/// As Python writes the name.
fn repr(name: &CapsuleName) -> String {
    match name {
        CapsuleName::Legacy => "b'dltensor'".into(),
        CapsuleName::Versioned => "b'dltensor_versioned'".into(),
        CapsuleName::Null => "None".into(),
        CapsuleName::Other(name) => format!("b'{}'", name.escape_default()),
    }
}

/// A word on every outcome; the first break is put into words.
fn each_outcome<'a>(
    ctx: &Context<'a>,
    word: impl Fn(&'a Outcome) -> Word,
    evidence: impl FnOnce(Of, &'a Outcome) -> Evidence,
) -> Verdict {
    let mut holds = false;
    for (of, outcome) in ctx.outcomes() {
        match word(outcome) {
            Word::Silent => {}
            Word::Holds => holds = true,
            Word::Breaks(grade) => return ctx.breaks(grade, || evidence(of, outcome)),
        }
    }
    if holds { Verdict::Holds } else { Verdict::Silent }
}

/// As [`each_outcome`], of those that are capsules.
fn each_capsule<'a>(
    ctx: &Context<'a>,
    word: impl Fn(&'a Capsule) -> Word,
    evidence: impl FnOnce(Of, &'a Capsule) -> Evidence,
) -> Verdict {
    each_outcome(
        ctx,
        |outcome| outcome.capsule().map_or(Word::Silent, &word),
        |of, outcome| evidence(of, outcome.capsule().expect("only a capsule breaks the rule")),
    )
}

fn capsule_type(ctx: &Context) -> Verdict {
    each_outcome(
        ctx,
        |outcome| match outcome {
            Outcome::Capsule(capsule) => Word::require(capsule.exact, Grade::Violation),
            Outcome::Returned(_) => Word::Breaks(Grade::Violation),
            Outcome::Raised(_) => Word::Silent,
        },
        |of, outcome| {
            let name = match outcome {
                Outcome::Returned(name) => name.as_str(),
                _ => "sub-class of PyCapsule",
            };
            evidence(
                name.to_owned(),
                "a PyCapsule",
                format!("an object of type {name} {}", place(of)),
                [Fact { of, what: What::Outcome, value: name.to_owned() }],
            )
        },
    )
}

/// The name of a struct whose kind is known by other means than the name; any other name than the two is
/// CAP-NAME-KNOWN's.
fn name_of_kind(ctx: &Context, kind: Kind) -> Verdict {
    let (right, wrong) = match kind {
        Kind::Legacy => (CapsuleName::Legacy, CapsuleName::Versioned),
        Kind::Versioned => (CapsuleName::Versioned, CapsuleName::Legacy),
    };
    ctx.each_export(
        |export| match &export.capsule.name {
            _ if export.managed.kind != kind => Word::Silent,
            name if *name == right => Word::Holds,
            name if *name == wrong => Word::Breaks(Grade::Violation),
            _ => Word::Silent,
        },
        |export| {
            let name = repr(&export.capsule.name);
            evidence(
                "name",
                format!("the name {}", repr(&right)),
                format!("the name {name} {}", export.place()),
                [export.fact(What::CapsuleName, name)],
            )
        },
    )
}

fn name_known(ctx: &Context) -> Verdict {
    each_capsule(
        ctx,
        |capsule| {
            let is_known = matches!(capsule.name, CapsuleName::Legacy | CapsuleName::Versioned);
            Word::require(is_known, Grade::Violation)
        },
        |of, capsule| {
            let name = repr(&capsule.name);
            let key = match &capsule.name {
                CapsuleName::Null => "NULL",
                CapsuleName::Other(name) if name.starts_with("used_") => "used",
                _ => "other",
            };
            evidence(
                key,
                "the name dltensor or dltensor_versioned",
                format!("{name} {}", place(of)),
                [Fact { of, what: What::CapsuleName, value: name }],
            )
        },
    )
}

/// Two exports of one kind that live together have names at one address.
fn name_static(ctx: &Context) -> Verdict {
    let mut first: [Option<usize>; 2] = [None; 2];
    let mut compared = false;
    for (of, outcome) in ctx.outcomes() {
        let Some(capsule) = outcome.capsule() else {
            continue;
        };
        let kind = match capsule.name {
            CapsuleName::Legacy => 0,
            CapsuleName::Versioned => 1,
            _ => continue,
        };
        match first[kind] {
            None => first[kind] = Some(capsule.name_address),
            Some(address) if address == capsule.name_address => compared = true,
            Some(_) => {
                return ctx.breaks(Grade::Info, || {
                    evidence(
                        "address",
                        "one buffer for the name of every capsule",
                        format!("another buffer than the first capsule's {}", place(of)),
                        [],
                    )
                });
            }
        }
    }
    if compared { Verdict::Holds } else { Verdict::Silent }
}

fn struct_matches_name(ctx: &Context) -> Verdict {
    ctx.each_fault(
        Fault::OtherStruct,
        |diagnosis| match diagnosis.header {
            // The struct is read by its name there too.
            Layer::Broken(fault) if fault != Fault::OtherStruct => Layer::Sound,
            layer => layer,
        },
        |export| {
            let name = repr(&export.capsule.name);
            let seen = match export.managed.version {
                Some(version) => format!("version ({}, {})", version.major, version.minor),
                None => "another rank than the array's and a type without lanes".into(),
            };
            evidence(
                "struct",
                format!("the struct that the name {name} promises"),
                format!("{seen} {}", export.place()),
                [export.fact(What::CapsuleName, name), export.fact(What::NameFits, "False")],
            )
        },
    )
}

/// Lawful if the deleter counts references; recorded.
fn distinct_struct(ctx: &Context) -> Verdict {
    let exports = ctx.exports();
    let shared = exports.iter().enumerate().find_map(|(place, export)| {
        exports[..place]
            .iter()
            .find(|other| other.capsule.pointer == export.capsule.pointer)
            .map(|_| export)
    });
    match shared {
        Some(export) => ctx.breaks(Grade::Info, || {
            evidence(
                "shared",
                "a struct of its own for every capsule",
                format!("the struct of another capsule {}", export.place()),
                [],
            )
        }),
        None if exports.len() > 1 => Verdict::Holds,
        None => Verdict::Silent,
    }
}

#[cfg(test)]
mod tests;
