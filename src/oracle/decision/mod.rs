//! The **decision table**: how a call may end, by the classes of its arguments.
//!
//! Goes in: a case, its observation, a profile. Comes out: a [`Ruling`] on the case's own export: lawful,
//! or the one rule to blame and its grade, or nothing where no verdict may be based on what was seen. The
//! ruling is taken once per judgement; the rules that are rows of the table only ask it.
//!
//! The pure table is [`expected`], for an array that the library exports; [`rule`] adds what other arrays
//! and exporters change in it (the modifiers), the knobs, and one principle: where
//! a rule's row in the catalogue says less than the table (SHOULD and AMBIGUOUS never give a violation),
//! the row wins. These places are marked `demoted`.

mod blame;
mod capsule;
mod class;
mod content;
mod error;
mod factor;
mod standing;
mod token;

pub use blame::Blame;
pub use class::{
    Classes, CopyArg, DlDevice, MaxVersion, Own, Stream, Unclassed, asked_device, is_near_miss,
};
pub use content::Content;
pub use factor::expected;
pub use standing::{Standing, probes_to_settle};
pub use token::{Cell, Token, Tokens};

use super::{ErrorClass, Grade, Observation, Outcome, Profile};
use crate::abi::DLDevice;
use crate::case::{Case, Extra, Keys, Keyword, Value};

/// The table's word on one outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// No verdict may be based on this call, or a probe that would be needed is missing.
    NotJudged,
    /// As the specification has it; also what is only worth a note that no rule claims.
    Lawful,
    Blamed(Blame, Grade),
}

/// The decision table's word on a case's own export.
#[derive(Clone, Copy, Debug)]
pub struct Ruling {
    pub word: Word,
    /// The row of the table; `None` when the call has none.
    pub classes: Option<Classes>,
    /// The array's own device.
    pub own: DLDevice,
    /// What the capsule holds; `None` when the call returned no readable tensor.
    pub content: Option<Content>,
}

impl Ruling {
    /// The rule to blame at a warning or worse.
    pub fn accuses(&self) -> Option<Blame> {
        match self.word {
            Word::Blamed(blame, Grade::Warning | Grade::Violation) => Some(blame),
            _ => None,
        }
    }
}

/// What the parts of a ruling look at.
#[derive(Clone, Copy)]
struct Matter<'a> {
    case: &'a Case,
    seen: &'a Observation,
    profile: &'a Profile,
    own: DLDevice,
    classes: Classes,
}

impl Matter<'_> {
    /// A library that says of the array, or of all its arrays, that nobody may write to them.
    fn is_readonly(&self) -> bool {
        self.seen.source.writable == Some(false) || !self.seen.exporter.mutable
    }

    /// The call asks for a legacy capsule, or the exporter has no other.
    fn is_legacy_due(&self) -> bool {
        self.classes.max_version.is_legacy()
            || self.classes.max_version.is_versioned() && !self.seen.exporter.versioned
    }
}

/// Blames a rule at a grade that may be off.
fn blamed(blame: Blame, grade: Option<Grade>) -> Word {
    grade.map_or(Word::Lawful, |grade| Word::Blamed(blame, grade))
}

/// The table's word on the case's own export.
pub fn rule(case: &Case, seen: &Observation, profile: &Profile) -> Ruling {
    let own = seen.device_before.device().unwrap_or(case.tensor.device);
    let managed = seen.export.managed();
    let content = (managed.and_then(|managed| managed.tensor.as_ref()))
        .map(|tensor| Content::of(&seen.source, own, tensor));
    let mut ruling = Ruling { word: Word::NotJudged, classes: None, own, content };
    match seen.export.raised().map(|raised| raised.class) {
        // Whatever the row says (EXC-CLASS).
        Some(ErrorClass::System) => {
            ruling.word = Word::Blamed(Blame::ExcSystemerror, Grade::Violation);
            return ruling;
        }
        Some(ErrorClass::Base) => {
            ruling.word = Word::Blamed(Blame::ExcClass, Grade::Violation);
            return ruling;
        }
        _ => {}
    }
    let asks_own = case.call.dl_device.value() == Some(&Value::Own);
    if case.call.extra != Extra::Nothing || asks_own && seen.device_before.device().is_none() {
        return ruling;
    }
    if case.call.keys == Keys::Fresh && raises(&seen.export, ErrorClass::Type) {
        // An exporter that knows keyword names by address: SIG-ORDER-FREE, where they are known otherwise.
        return ruling;
    }
    if let Some(word) = unknown_keyword(case, seen) {
        ruling.word = word;
        return ruling;
    }
    let Ok(classes) = Classes::of(&case.call, own) else {
        return ruling;
    };
    ruling.classes = Some(classes);
    // Devices other than CUDA and ROCm agree on other objects as streams: only None counts.
    if classes.stream != Stream::None
        && factor::effective(classes) == factor::Effective::Cuda
        && !matches!(own.device_type.0, 2 | 10 | 13)
    {
        return ruling;
    }
    let matter = Matter { case, seen, profile, own, classes };
    ruling.word = match &seen.export {
        // CAP-TYPE speaks of it.
        Outcome::Returned(_) => Word::NotJudged,
        Outcome::Capsule(_) => match managed {
            Some(managed) => capsule::word(&matter, managed, content.unwrap_or(Content::Unknown)),
            // CAP-NAME-KNOWN speaks of it.
            None => Word::NotJudged,
        },
        Outcome::Raised(raised) => error::word(&matter, raised.class),
    };
    ruling
}

fn raises(outcome: &Outcome, class: ErrorClass) -> bool {
    outcome.raised().is_some_and(|raised| raised.class == class)
}

/// P-KEYWORD: a keyword that the exporter does not know is answered with TypeError and no rule of that
/// keyword applies. `None` when every given keyword is known.
fn unknown_keyword(case: &Case, seen: &Observation) -> Option<Word> {
    let unknown = (Keyword::ALL.into_iter())
        .zip(seen.exporter.keywords)
        .find(|&(keyword, known)| !known && case.call.arg(keyword).is_given());
    let (keyword, _) = unknown?;
    Some(match &seen.export {
        Outcome::Raised(raised)
            if matches!(raised.class, ErrorClass::Type | ErrorClass::Memory) =>
        {
            Word::Lawful
        }
        // SIG-STREAM speaks of an exporter without `stream`; a stream may be refused before the keyword is.
        _ if keyword == Keyword::Stream || !case.call.stream.is_silent() => Word::NotJudged,
        _ => Word::Blamed(Blame::SigOldTypeerror, Grade::Warning),
    })
}

#[cfg(test)]
mod tests;
