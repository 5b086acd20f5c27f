//! The **oracle** judges an observation by the clauses of the specification.
//!
//! Goes in: a case, what was seen while it ran, and a profile. Comes out: a [`Judgement`]: which rules had
//! something to say, and which were broken, each with a grade and evidence in words. It never runs
//! anything; the same three values always give the same judgement.
//!
//! One file per rule family; a rule is one function with its id in that file's `RULES`. The wording,
//! level and source of every rule are data: [`catalogue`].
//!
//! Preconditions that many rules have in common go by a name:
//!
//! - P-KEYWORD: a rule about a keyword applies only to an exporter that knows it.
//! - P-EXPORTABLE: rules about values, copies, devices and versions need an array that the library exports
//!   at all.
//! - P-POINTER: arithmetic on `data` needs a device with plain addresses, both sides in one address space.
//! - P-ADAPTER: rules about addresses, strides and writability need these from the library without a change
//!   of the array.
//! - P-NEWER: codes, devices and flags of a minor version that this program does not know are recorded, not
//!   judged.
//! - P-BASELINE: a leak is judged by its growth over many rounds, since a single difference may be a cache.
//! - P-ONE-CAUSE: one cause gives one report, under the most specific rule; what another argument of the
//!   same call explains is none.

mod answer;
mod cap;
pub mod catalogue;
mod copy;
pub mod decision;
mod dev;
mod dty;
mod exc;
mod export;
mod life;
mod lived;
mod matter;
mod mgt;
mod observation;
mod pair;
pub mod planted;
mod profile;
mod ro;
mod route;
mod rule;
mod sig;
mod str;
mod ten;
#[cfg(test)]
pub(crate) mod testing;
mod ver;
mod words;
mod xch;

pub use matter::Matter;
pub use observation::*;
pub use profile::{Knob, Profile, Setting, UnknownKnob, UnknownProfile};
pub use rule::{Rule, RuleSet, rules};

use crate::case::{Call, Case, Probe};
use export::Exports;
use std::borrow::Cow;
use std::cell::OnceCell;

/// How serious a break is (the catalogue's column `verdict`).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Seen and recorded: `I`.
    Info,
    /// Departs from a recommendation or from what others do: `W`.
    Warning,
    /// An accusation: `V`.
    Violation,
}

/// What a rule says of one observation.
pub enum Verdict {
    /// Its preconditions are not met: it says nothing.
    Silent,
    /// It was checked and holds.
    Holds,
    /// It is broken. The evidence is `None` below the grade that was asked for.
    Breaks(Grade, Option<Box<Evidence>>),
}

/// Why a rule is broken, for people and for the reproducer.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Evidence {
    /// What tells this fault from another one under the same rule, in a few words without addresses or
    /// case values: part of the finding's identity. Such as `ValueError`, `float16`, `flags`.
    pub key: Cow<'static, str>,
    /// What the clause demands here.
    pub expected: String,
    /// What was seen instead.
    pub seen: String,
    /// The facts that show it: the reproducer prints them and compares.
    pub facts: Vec<Fact>,
}

/// One thing that was seen of one export, in a form that the reproducer can find again.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Fact {
    /// The export: the case's own, or a probe of it (by name).
    pub of: Of,
    pub what: What,
    /// As the reproducer prints it, such as `(1, 0)`, `BufferError`, `3`.
    pub value: String,
}

/// Which export a fact is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Of {
    Export,
    Probe(ProbeName),
    /// The struct that the exchange API's `managed_tensor_from_py_object_no_sync` gave.
    FromPy,
}

/// A probe, serialised by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeName(pub Probe);

impl serde::Serialize for ProbeName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl<'de> serde::Deserialize<'de> for ProbeName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = <Cow<'_, str>>::deserialize(deserializer)?;
        (Probe::ALL.into_iter().find(|probe| probe.name() == name).map(Self))
            .ok_or_else(|| serde::de::Error::custom(format!("no probe is named {name}")))
    }
}

/// A property of an export that plain Python with ctypes can look up.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// `capsule`, or the name of the exception's type, or of the returned object's type.
    Outcome,
    /// The capsule's name, `repr` of bytes or `None`.
    CapsuleName,
    /// `True` if the struct can be the one that the name promises (CAP-STRUCT-MATCHES-NAME).
    NameFits,
    /// `True` or `False`.
    HasDestructor,
    /// `(major, minor)`; `None` in a legacy struct.
    Version,
    /// Decimal.
    Flags,
    /// `True` or `False`.
    HasDeleter,
    /// `(type, id)` of the tensor.
    Device,
    /// `(code, bits, lanes)`.
    Dtype,
    /// Decimal; `out of range` below 0 or above 1024.
    Ndim,
    /// Tuple of ints, or `None` for a NULL pointer.
    Shape,
    /// Tuple of ints in elements, or `None` for a NULL pointer.
    Strides,
    ByteOffset,
    /// `True` if `data` is NULL.
    DataIsNull,
    /// `alias`, `overlap`, `distinct`: the export's memory against the source's.
    Memory,
    /// `True` if the export's memory is in part another export's of the evidence.
    Shares,
    /// `same` or `differ`: the elements against the source's.
    Elements,
    /// `True` if a write through the export shows in the source.
    WriteThrough,
    /// The two numbers that `__dlpack_device__()` answers, `repr` of another answer, or the name of the
    /// exception's type.
    DeviceMethod,
    /// Types of that answer and of its elements, such as `tuple of int and int`.
    DeviceForm,
    /// References of the source that a thousand rounds of the case's calls leave behind, divided by a
    /// thousand.
    ReferenceGrowth,
    /// The same for the objects that are passed as arguments.
    ArgumentReferences,
    /// Name of the exception type that is set after the call although it returned, `True` where the name
    /// is not known, or `None`.
    PendingError,
    /// Alignment of the struct pointer and of shape and strides: `True` if all are multiples of 8.
    Aligned,
    /// `same` or `changed`: the source after the export against before.
    SourceState,
    /// Blocks of memory per round of the case's calls that stay, with two decimals; in C only.
    MemoryGrowth,
    /// `True` if the heap grows with every one of thousands of rounds of the case's calls.
    HeapGrowth,
    /// The process dies; the value is the signal's name.
    Death,
    /// The first living export of a life that is not what it was, and in what, such as `a: elements`.
    LifeChange,
    /// The exception that is set after a release while KeyError was in flight.
    LifeInFlight,
    /// The exception that is set after a release although none was in flight.
    LifeError,
    /// References of the source that each life leaves behind.
    LifeGrowth,
    /// `raises` or `references`: what two threads bring about.
    LifeRace,
    /// How the process ends with the exports: a signal's name, `exit` or `hang`.
    LifeEnd,
    /// What the type holds under `__dlpack_c_exchange_api__`, in the words of [`Attribute`].
    ExchangeAttribute,
    /// `True` if both names of the attribute lead to one table.
    ExchangeOneTable,
    /// `same` or `moved`: the table's address over look-ups on two instances.
    ExchangeLookUps,
    /// `same` or `changed`: the table's bytes after its functions were called.
    ExchangeTable,
    /// `(major, minor)` of the table.
    ExchangeVersion,
    /// Versions of the older tables and where their chain ends, such as `(1, 2), NULL`.
    ExchangeChain,
    /// Names of the functions that are NULL.
    ExchangeNull,
    /// How from_py ended, in the words of [`Answer`].
    ExchangeFromPy,
    /// Fields in which from_py and `__dlpack__` differ; `none`.
    ExchangeDiffers,
    /// References per round of from_py and its deleter.
    ExchangeReferences,
    /// What the deleter of a from_py result leaves: the exception's name, or `None`.
    ExchangeRelease,
    /// `separate`, `same struct` or `disturbs`: a second from_py result.
    ExchangeSecond,
    /// How the view ended.
    ExchangeView,
    /// Fields in which the view and from_py differ; `none`.
    ExchangeViewDiffers,
    /// Fields that the view did not write; `none`.
    ExchangeUnwritten,
    /// `True` if shape and strides of the view stay readable while the object lives.
    ExchangeStays,
    /// References per view.
    ExchangeViewReferences,
    /// One parcel given to to_py, in the words of [`ToPy`].
    ExchangeToPy,
    /// One prototype given to the allocator, in the words of [`Allocation`].
    ExchangeAllocation,
    /// The stream of one device, in the words of [`Stream`].
    ExchangeStream,
}

impl What {
    /// It is about the case's life.
    pub fn is_life(self) -> bool {
        (Self::LifeChange..Self::ExchangeAttribute).contains(&self)
    }

    /// It is about the exchange API itself, and no `__dlpack__` call is needed to see it.
    pub fn is_exchange(self) -> bool {
        self >= Self::ExchangeAttribute
    }
}

/// What a rule function sees.
pub struct Context<'a> {
    pub case: &'a Case,
    pub seen: &'a Observation,
    pub profile: &'a Profile,
    /// The decision table's word on the case's own export, taken once.
    pub table: decision::Ruling,
    /// The exports that ended in a readable struct, each with what is wrong with it.
    exports: Exports<'a>,
    /// What the case's life breaks, once somebody has asked.
    lived: OnceCell<lived::Findings>,
    /// Evidence is put into words from this grade upwards.
    threshold: Grade,
}

impl<'a> Context<'a> {
    pub fn new(
        case: &'a Case,
        seen: &'a Observation,
        profile: &'a Profile,
        threshold: Grade,
    ) -> Self {
        let table = decision::rule(case, seen, profile);
        let exports = export::examine(case, seen);
        Self { case, seen, profile, table, exports, lived: OnceCell::new(), threshold }
    }

    /// What the case's life breaks; nothing if it has none.
    fn lived(&self) -> &lived::Findings {
        self.lived.get_or_init(|| match &self.seen.life {
            Some(life) => lived::examine(self, life),
            None => lived::Findings::default(),
        })
    }

    /// The rule is broken; the words are only made if somebody asked for this grade.
    pub fn breaks(&self, grade: Grade, evidence: impl FnOnce() -> Evidence) -> Verdict {
        Verdict::Breaks(grade, (grade >= self.threshold).then(|| Box::new(evidence())))
    }

    /// `Holds` or `Breaks`.
    pub fn require(
        &self,
        holds: bool,
        grade: Grade,
        evidence: impl FnOnce() -> Evidence,
    ) -> Verdict {
        if holds { Verdict::Holds } else { self.breaks(grade, evidence) }
    }

    /// Every export of the case that ended in a readable managed tensor, the case's own first, with the
    /// call that made it left to [`Context::call_of`].
    pub fn managed(&self) -> impl Iterator<Item = (Of, &'a Managed)> {
        self.outcomes().filter_map(|(of, outcome)| Some((of, outcome.managed()?)))
    }

    /// Every export of the case, its own first.
    pub fn outcomes(&self) -> impl Iterator<Item = (Of, &'a Outcome)> {
        std::iter::once((Of::Export, &self.seen.export)).chain(
            (self.seen.further.iter())
                .map(|(probe, outcome)| (Of::Probe(ProbeName(*probe)), outcome)),
        )
    }

    /// The arguments of one of the exports.
    pub fn call_of(&self, of: Of) -> Call {
        match of {
            Of::Export | Of::FromPy => self.case.call.clone(),
            Of::Probe(ProbeName(probe)) => {
                let own = self.seen.device_before.device().unwrap_or(crate::abi::DLDevice::CPU);
                probe.call(&self.case.call, own)
            }
        }
    }
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Violation {
    pub rule: &'static str,
    pub grade: Grade,
    pub evidence: Evidence,
}

/// The oracle's word on one observation.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// Rules whose preconditions were met.
    pub checked: RuleSet,
    /// Rules that are broken, at any grade.
    pub fired: RuleSet,
    /// The breaks from the asked-for grade upwards, most serious first.
    pub violations: Vec<Violation>,
}

/// Judges what was seen. Breaks below `threshold` are counted in `fired` but not put into words.
pub fn judge(case: &Case, seen: &Observation, profile: &Profile, threshold: Grade) -> Judgement {
    let context = Context::new(case, seen, profile, threshold);
    let mut judgement = Judgement::default();
    let asked = rule::asked(Matter::of(&context), seen.exporter.route);
    #[cfg(test)]
    rule::assert_silent(&context, asked);
    for place in asked.places() {
        let rule = rules()[place];
        match (rule.judge)(&context) {
            Verdict::Silent => {}
            Verdict::Holds => judgement.checked.insert(place),
            Verdict::Breaks(grade, evidence) => {
                debug_assert!(
                    grade < Grade::Violation
                        || catalogue::entry(rule.id).is_none_or(|it| it.may_accuse_under(profile)),
                    "{} binds nobody and must not accuse",
                    rule.id
                );
                judgement.checked.insert(place);
                judgement.fired.insert(place);
                if let Some(evidence) = evidence {
                    judgement.violations.push(Violation {
                        rule: rule.id,
                        grade,
                        evidence: *evidence,
                    });
                }
            }
        }
    }
    judgement.violations.sort_by_key(|violation| std::cmp::Reverse(violation.grade));
    judgement
}
