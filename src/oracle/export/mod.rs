//! An **export** as the rules about structs see it, with what is wrong with it **first**.
//!
//! Goes in: a case and its observation. Comes out: every export that ended in a readable managed tensor,
//! the case's own first, each with a [`Diagnosis`].
//!
//! One fault in a struct shows in many fields that depend on it: with a wrong shape the strides, the
//! addresses and the values look wrong too. Precondition P-ONE-CAUSE asks for one report, so the fields are
//! examined layer by layer, a layer that rests on a broken one is hidden, and a rule speaks only where its
//! own fault is the one that was found. This file is the only place that says what rests on what:
//!
//! ```text
//! header ─┬─ shape ─────┬─ strides ─┬─ values
//!         ├─ dtype ─────┤           │
//!         └─ shape ─── address ─────┘
//! ```
//!
//! A dtype fault hides the strides only if the item size is wrong, since strides count items.

mod asked;
mod diagnosis;

pub(super) use asked::{Asked, Target};
pub(super) use diagnosis::{Diagnosis, Fault, Layer};

use super::{
    Capsule, Context, Evidence, Fact, Grade, Kind, Managed, Memory, Observation, Of, ProbeName,
    Verdict, What,
};
use super::{DlTensor, Outcome};
use crate::abi::{DLDevice, KNOWN_VERSION};
use crate::case::{Case, Keyword};
use asked::asked;
use diagnosis::diagnose;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::fmt;

/// One export that ended in a managed tensor.
#[derive(Clone, Copy)]
pub(super) struct Export<'a> {
    pub of: Of,
    pub capsule: &'a Capsule,
    pub managed: &'a Managed,
    pub diagnosis: Diagnosis,
}

pub(super) type Exports<'a> = SmallVec<[Export<'a>; 6]>;

/// What a rule says of one export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Silent,
    Holds,
    Breaks(Grade),
}

impl Word {
    /// Breaks at this grade unless it holds.
    pub fn require(holds: bool, grade: Grade) -> Self {
        if holds { Self::Holds } else { Self::Breaks(grade) }
    }
}

impl<'a> Context<'a> {
    pub(super) fn exports(&self) -> &[Export<'a>] {
        &self.exports
    }

    /// Asks for a word on every export; the gravest break is put into words, the first among equals.
    pub(super) fn each_export(
        &self,
        word: impl Fn(&Export<'a>) -> Word,
        evidence: impl FnOnce(&Export<'a>) -> Evidence,
    ) -> Verdict {
        let mut worst: Option<(Grade, &Export<'a>)> = None;
        let mut holds = false;
        for export in &self.exports {
            match word(export) {
                Word::Silent => {}
                Word::Holds => holds = true,
                Word::Breaks(grade) => {
                    if worst.is_none_or(|(other, _)| grade > other) {
                        worst = Some((grade, export));
                    }
                }
            }
        }
        match worst {
            Some((grade, export)) => self.breaks(grade, || evidence(export)),
            None if holds => Verdict::Holds,
            None => Verdict::Silent,
        }
    }

    /// As [`Self::each_export`], of the exports whose tensor can be read.
    pub(super) fn each_tensor(
        &self,
        word: impl Fn(&Export<'a>, &'a DlTensor) -> Word,
        evidence: impl FnOnce(&Export<'a>, &'a DlTensor) -> Evidence,
    ) -> Verdict {
        self.each_export(
            |export| export.tensor().map_or(Word::Silent, |tensor| word(export, tensor)),
            |export| {
                evidence(export, export.tensor().expect("only a readable tensor breaks a rule"))
            },
        )
    }

    /// The rule that a fault belongs to: a violation where that fault was found, silent where the layer is
    /// hidden or another fault was found in it.
    pub(super) fn each_fault(
        &self,
        fault: Fault,
        layer: impl Fn(&Diagnosis) -> Layer,
        evidence: impl FnOnce(&Export<'a>) -> Evidence,
    ) -> Verdict {
        self.each_export(
            |export| match layer(&export.diagnosis) {
                Layer::Hidden => Word::Silent,
                Layer::Sound => Word::Holds,
                Layer::Broken(found) if found == fault => Word::Breaks(Grade::Violation),
                Layer::Broken(_) => Word::Silent,
            },
            evidence,
        )
    }

    /// What an export was asked for by one keyword.
    pub(super) fn asked(&self, of: Of, keyword: Keyword) -> Asked {
        asked(self.case, of, keyword)
    }

    /// The device that an export was asked for; the array's own numbers are [`Target::Own`].
    pub(super) fn target(&self, of: Of) -> Target {
        let own = self.seen.device_before.device();
        match self.asked(of, Keyword::DlDevice) {
            Asked::Nothing => Target::Unsaid,
            Asked::Own if own.is_some() => Target::Own,
            Asked::Pair(device, id) => match (i32::try_from(device), i32::try_from(id)) {
                (Ok(device @ 1..), Ok(id @ 0..)) => {
                    let device = DLDevice::new(device, id);
                    if own == Some(device) { Target::Own } else { Target::Device(device) }
                }
                _ => Target::Malformed,
            },
            _ => Target::Malformed,
        }
    }
}

impl<'a> Export<'a> {
    /// The tensor, if the header promises that there is one.
    pub fn tensor(&self) -> Option<&'a DlTensor> {
        (self.diagnosis.header == Layer::Sound).then_some(self.managed.tensor.as_ref()).flatten()
    }

    /// A version that is newer than this program knows: unknown numbers are information (P-NEWER).
    pub fn is_newer(&self) -> bool {
        self.managed.version.is_some_and(|version| version > KNOWN_VERSION)
    }

    pub fn is_versioned(&self) -> bool {
        self.managed.kind == Kind::Versioned
    }

    /// The declared minor version; `None` in a legacy struct.
    pub fn minor(&self) -> Option<u32> {
        self.managed.version.map(|version| version.minor)
    }

    pub fn has_flag(&self, flag: u64) -> bool {
        self.managed.flags & flag != 0
    }

    /// The export's memory is, at least in part, the source's.
    pub fn is_alias(&self) -> bool {
        (self.tensor())
            .is_some_and(|tensor| matches!(tensor.memory, Memory::Alias | Memory::Overlap))
    }

    pub fn fact(&self, what: What, value: impl fmt::Display) -> Fact {
        Fact { of: self.of, what, value: value.to_string() }
    }

    /// `in the export`, `in the probe repeat`: the end of a sentence about what was seen.
    pub fn place(&self) -> String {
        place(self.of)
    }
}

/// Where something was seen, as the end of a sentence.
pub(super) fn place(of: Of) -> String {
    match of {
        Of::Export => "in the export".into(),
        Of::FromPy => "in the result of from_py".into(),
        Of::Probe(ProbeName(probe)) => format!("in the probe {}", probe.name()),
    }
}

pub(super) fn evidence(
    key: impl Into<Cow<'static, str>>,
    expected: impl Into<String>,
    seen: impl Into<String>,
    facts: impl Into<Vec<Fact>>,
) -> Evidence {
    Evidence { key: key.into(), expected: expected.into(), seen: seen.into(), facts: facts.into() }
}

/// Evidence of a flag that the dtype does not go with.
pub(super) fn flags_with_dtype(
    export: &Export,
    tensor: &DlTensor,
    key: &'static str,
    expected: &'static str,
) -> Evidence {
    let flags = export.managed.flags;
    let seen = format!("flags {flags} with dtype {} {}", tensor.dtype, export.place());
    let facts = [export.fact(What::Flags, flags), export.fact(What::Dtype, tensor.dtype)];
    evidence(key, expected, seen, facts)
}

/// `(6,)`, as Python writes a tuple.
pub(super) fn tuple(values: &[i64]) -> String {
    match values {
        [only] => format!("({only},)"),
        _ => {
            let values: Vec<_> = values.iter().map(i64::to_string).collect();
            format!("({})", values.join(", "))
        }
    }
}

/// Finds the exports of an observation and what is wrong with each.
pub(super) fn examine<'a>(case: &Case, seen: &'a Observation) -> Exports<'a> {
    let mut exports = Exports::new();
    let mut add = |of: Of, outcome: &'a Outcome| {
        let Some(capsule) = outcome.capsule() else {
            return;
        };
        let Some(managed) = &capsule.managed else {
            return;
        };
        let diagnosis = diagnose(case, seen, of, capsule, managed);
        exports.push(Export { of, capsule, managed, diagnosis });
    };
    add(Of::Export, &seen.export);
    seen.further.iter().for_each(|(probe, outcome)| add(Of::Probe(ProbeName(*probe)), outcome));
    exports
}
