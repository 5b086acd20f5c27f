//! The **rule catalogue**: wording, level, source and state of every rule, as data.
//!
//! Goes in: `catalogue.tsv`, one line per rule in the order of the specification's topics. Comes out:
//! [`all`] and [`entry`]. A rule has a function in [`rules`](super::rules), or a reason why no observation
//! can show it; `tests/catalogue.rs` holds the two against each other.
//!
//! The cells speak the language of the rest: *violation*, *warning* and *info* are the grades; inputs
//! `versioned` and `legacy` are calls that return that capsule; `-` is an empty cell. The source cell names
//! texts by short names that [`source_legend`] resolves.

use super::{Grade, Knob, Profile, Setting};
use std::collections::HashMap;
use std::sync::LazyLock;

const TSV: &str = include_str!("catalogue.tsv");
const COLUMNS: [&str; 10] = [
    "id",
    "family",
    "level",
    "since",
    "statement",
    "check",
    "verdict",
    "inputs",
    "source",
    "knobs",
];

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub id: &'static str,
    /// The part of the id before the first dash: what the rule is about.
    pub family: &'static str,
    /// Such as `MUST` or `SHOULD (treated as MUST)`; see [`Entry::obligation`].
    pub level: &'static str,
    /// The version of DLPack or of the array API that brought it.
    pub since: &'static str,
    /// One sentence that can be understood alone.
    pub statement: &'static str,
    /// How an observation shows whether it holds.
    pub check: &'static str,
    /// The grade of a break, with its exceptions.
    pub verdict: &'static str,
    /// The calls that it speaks of.
    pub inputs: &'static str,
    /// Where the rule comes from, and examples.
    pub source: &'static str,
    /// Names of the knobs that touch it, separated by commas; empty for none.
    pub knobs: &'static str,
    pub state: State,
}

/// Whether the oracle can see the rule broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Judged,
    /// It has no function, for this reason.
    NotObservable(&'static str),
}

/// How strong a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obligation {
    /// A source says must.
    Must,
    /// A source recommends it.
    Should,
    /// A source allows it: the rule is listed so that nothing fires.
    May,
    /// Follows from the C ABI, from CPython's contract, or from a must.
    Derived,
    /// Sources disagree or are silent; the grade is a choice, and most such rules have a knob.
    Ambiguous,
}

impl Entry {
    pub fn obligation(&self) -> Obligation {
        match self.level {
            level if level.starts_with("MUST") => Obligation::Must,
            level if level.starts_with("SHOULD") => Obligation::Should,
            level if level.starts_with("MAY") => Obligation::May,
            level if level.starts_with("AMBIGUOUS") => Obligation::Ambiguous,
            _ => Obligation::Derived,
        }
    }

    /// A break of this rule may be graded as a violation under the profile `spec`: something binds the
    /// exporter. A recommendation and a contested point do so where the level says for what.
    pub fn may_accuse(&self) -> bool {
        match self.obligation() {
            Obligation::Must | Obligation::Derived => true,
            // What is contested or recommended may be one part of the rule only (COPY-TRUE-REFUSED).
            Obligation::Should | Obligation::Ambiguous => self.level.contains("MUST"),
            Obligation::May => false,
        }
    }

    /// As [`Self::may_accuse`], under a profile that may have chosen the stricter side of a contested point.
    pub fn may_accuse_under(&self, profile: &Profile) -> bool {
        let is_violation = |knob| profile.setting(knob) == Setting::Grade(Grade::Violation);
        // The test suite of the array API turns many recommendations into duties.
        self.may_accuse()
            || is_violation(Knob::Aat)
            || self.knob_names().any(|name| Knob::named(name).is_ok_and(is_violation))
    }

    /// Names of the knobs that touch the rule.
    pub fn knob_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.knobs.split(',').filter(|name| !name.is_empty())
    }

    /// The texts that the source cell names, each with its full reference.
    pub fn references(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        let source = self.source;
        let mut taken: Vec<&str> = Vec::new();
        LEGEND.into_iter().filter(move |(tag, _)| {
            // `array API draft` does not name `array API` too; the longer names come first.
            let is_new = source.match_indices(tag).any(|(at, _)| {
                !taken.iter().any(|longer| {
                    source
                        .match_indices(longer)
                        .any(|(start, _)| (start..start + longer.len()).contains(&at))
                })
            });
            if is_new {
                taken.push(tag);
            }
            is_new
        })
    }
}

/// Every rule, in the catalogue's order.
pub fn all() -> &'static [Entry] {
    static ALL: LazyLock<Vec<Entry>> = LazyLock::new(|| {
        let mut lines = TSV.lines();
        let header: Vec<_> = lines.next().unwrap_or_default().split('\t').collect();
        assert_eq!(header, COLUMNS, "the catalogue's columns are fixed");
        lines.map(parse).collect()
    });
    &ALL
}

/// The rule of that id.
pub fn entry(id: &str) -> Option<&'static Entry> {
    static PLACES: LazyLock<HashMap<&str, &Entry>> =
        LazyLock::new(|| all().iter().map(|entry| (entry.id, entry)).collect());
    PLACES.get(id).copied()
}

/// What the rules of a family are about; empty for a family that there is not.
pub fn family_title(family: &str) -> &'static str {
    FAMILIES.into_iter().find(|(name, _)| *name == family).map_or("", |(_, title)| title)
}

/// The full reference of a short name in a source cell.
pub fn source_legend(tag: &str) -> Option<&'static str> {
    LEGEND.into_iter().find(|(short, _)| *short == tag).map(|(_, long)| long)
}

/// Every rule without a function, with its reason.
pub fn not_observable() -> impl Iterator<Item = (&'static str, &'static str)> {
    NOT_OBSERVABLE.into_iter().flat_map(|(reason, ids)| ids.iter().map(move |&id| (id, reason)))
}

fn parse(line: &'static str) -> Entry {
    let mut cells = line.split('\t').map(|cell| if cell == "-" { "" } else { cell });
    let mut next = || cells.next().expect("every line of the catalogue has ten cells");
    let id = next();
    let [family, level, since, statement, check, verdict, inputs, source, knobs] =
        std::array::from_fn(|_| next());
    let is_judged = super::rules().iter().any(|rule| rule.id == id);
    let reason = not_observable().find(|(other, _)| *other == id).map(|(_, reason)| reason);
    let state = match reason {
        Some(reason) if !is_judged => State::NotObservable(reason),
        _ => State::Judged,
    };
    Entry { id, family, level, since, statement, check, verdict, inputs, source, knobs, state }
}

const FAMILIES: [(&str, &str); 13] = [
    ("CAP", "the capsule"),
    ("MGT", "the managed tensor"),
    ("TEN", "the tensor"),
    ("DTY", "element types"),
    ("DEV", "devices"),
    ("COPY", "copies"),
    ("RO", "read-only memory"),
    ("LIFE", "lifetimes"),
    ("SIG", "the signature"),
    ("VER", "versions"),
    ("STR", "streams"),
    ("EXC", "exceptions"),
    ("XCH", "the C exchange API"),
];

/// Longer names before the shorter ones that they begin with.
const LEGEND: [(&str, &str); 10] = [
    ("dlpack.h 1.3", "dmlc/dlpack include/dlpack/dlpack.h, tag v1.3"),
    ("dlpack.h 1.1", "dmlc/dlpack include/dlpack/dlpack.h, version 1.1"),
    ("DLPack Python specification", "dmlc/dlpack docs/source/python_spec.rst"),
    (
        "array API from_dlpack",
        "data-apis/array-api src/array_api_stubs/_2025_12/creation_functions.py, from_dlpack",
    ),
    (
        "array API data interchange",
        "data-apis/array-api spec/2025.12/design_topics/data_interchange.rst",
    ),
    (
        "array API copy keyword",
        "data-apis/array-api spec/2025.12/design_topics/copies_views_and_mutation.rst",
    ),
    (
        "array API draft",
        "data-apis/array-api src/array_api_stubs/_draft/array_object.py and spec/draft/design_topics/data_interchange.rst",
    ),
    (
        "array API 20",
        "data-apis/array-api src/array_api_stubs of that year's version, array_object.py",
    ),
    ("array-api-tests", "data-apis/array-api-tests array_api_tests/test_dlpack.py"),
    (
        "array API",
        "data-apis/array-api src/array_api_stubs/_2025_12/array_object.py, __dlpack__ and __dlpack_device__",
    ),
];

const DEATH: &str =
    "whoever breaks it ends or hangs the process, which is reported as EXC-NO-CRASH";
const GPU: &str = "needs a device with streams";
const NEVER: &str = "an allowance: it is listed so that nothing fires";
const UNDEFINED: &str = "nothing is specified, so nothing can break it";

/// Rules without a function, by the reason why.
const NOT_OBSERVABLE: [(&str, &[&str]); 14] = [
    (DEATH, &["MGT-DELETER-SELF", "MGT-DELETER-NO-UNWIND", "LIFE-DELETER-GIL-HELD"]),
    ("off by default: most exporters free through these fields", &["MGT-DELETER-FIELDS-CHANGED"]),
    (
        "needs a thread that asks for the GIL while the interpreter ends",
        &["LIFE-DELETER-FINALIZING"],
    ),
    (
        GPU,
        &[
            "COPY-STREAM",
            "STR-CPU-SYNC",
            "STR-CUDA-VALUES",
            "STR-NO-OWNERSHIP",
            "STR-ORDER",
            "STR-MINUS1-NOSYNC",
            "XCH-NOSYNC",
        ],
    ),
    (
        NEVER,
        &[
            "MGT-CTX-OPAQUE",
            "MGT-LEGACY-DEPRECATED",
            "TEN-STRIDES-SIZE1",
            "TEN-STRIDES-SIZE0",
            "COPY-LAYOUT-FREE",
            "VER-MINOR-FREE",
            "STR-OPTIONAL",
            "VER-NONE-BE",
            "EXC-PRECEDENCE",
            "EXC-ATTRIBUTE",
            "XCH-OPTIONAL",
            "XCH-DLT-OPTIONAL",
        ],
    ),
    (UNDEFINED, &["LIFE-SUBINTERP"]),
    ("a crash ends the process: the parent reports it under this rule", &["EXC-NO-CRASH"]),
    (
        "what leaves a C function ends the process and is reported as EXC-NO-CRASH",
        &["XCH-NOEXCEPT"],
    ),
    ("binds the caller: no function is given an object of another type", &["XCH-FROMPY-TYPE"]),
    ("what it does not grant is reported as EXC-UNEXPECTED", &["EXC-ARGS"]),
    ("a crash ends the process and is reported as EXC-NO-CRASH", &["TEN-DATA-SIZE0-SAFE"]),
    ("needs a look-up of the protection of memory pages", &["RO-MEMORY"]),
    ("needs a view and its base on a device whose data is a handle", &["TEN-BYTEOFFSET-USE"]),
    (
        "the exception of the refusal is judged as EXC-NOTEXPORTABLE, an export at all as DTY-MATCH",
        &["DTY-NOT-EXPORTABLE"],
    ),
];
