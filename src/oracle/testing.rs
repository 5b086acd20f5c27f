//! A **scene**: a case with what a lawful exporter shows for it, to plant faults in.
//!
//! Goes in: a tensor, a call, probes. Comes out: an [`Observation`] as an exporter of 2023.12 that breaks no
//! rule would leave it (NumPy's choices where the texts give one). A test changes one thing in it and asks
//! what one rule says.

mod lawful;

use super::*;
use crate::abi::*;
use crate::case::{Access, Arg, ByteOrder, Extra, Keyword, Probes, Scalar, Strides, Tensor, Value};
use lawful::strides_in_elements;
use std::borrow::Cow;

/// Address of the source's allocation.
pub(crate) const SOURCE: usize = 0x10_0000;
/// Where the copies lie, one after the other.
const COPIES: usize = 0x20_0000;
/// Distance of two copies.
const STEP: usize = 0x1_0000;
const LEGACY_NAME: usize = 0x900;
const VERSIONED_NAME: usize = 0x920;

/// What a rule said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Silent,
    Holds,
    Breaks(Grade),
}

/// Short for a call with some keywords given.
pub(crate) fn call(args: &[(Keyword, Value)]) -> Call {
    args.iter().fold(Call::default(), |call, (keyword, value)| {
        call.with(*keyword, Arg::Given(value.clone()))
    })
}

/// An exception of that class, under a name that fits.
pub(crate) fn raised(class: ErrorClass) -> Outcome {
    let name = match class {
        ErrorClass::Memory => "MemoryError",
        ErrorClass::Buffer => "BufferError",
        ErrorClass::Type => "TypeError",
        ErrorClass::Overflow => "OverflowError",
        ErrorClass::Value => "ValueError",
        ErrorClass::System => "SystemError",
        ErrorClass::Runtime => "RuntimeError",
        ErrorClass::Assertion => "AssertionError",
        ErrorClass::Other => "AttributeError",
        ErrorClass::Base => "SystemExit",
    };
    Outcome::Raised(Raised { class, name: Cow::Borrowed(name), message: None })
}

#[derive(Clone)]
pub(crate) struct Scene {
    pub case: Case,
    pub seen: Observation,
    pub profile: Profile,
    /// Copies made so far.
    copies: usize,
}

impl Scene {
    /// The plain call of the plain array.
    pub fn plain() -> Self {
        Self::new(Tensor::plain(), Call::default())
    }

    /// A call of the plain array.
    pub fn of(args: &[(Keyword, Value)]) -> Self {
        Self::new(Tensor::plain(), call(args))
    }

    /// A call of any array.
    pub fn new(tensor: Tensor, call: Call) -> Self {
        let item = tensor.dtype.item_size();
        let span = tensor.span();
        let first = SOURCE + tensor.lead() + (-span.low) as usize;
        let end = SOURCE + tensor.lead() + span.bytes() as usize;
        let is_exportable = tensor.dtype.info().triple.is_some()
            && tensor.dtype.order == ByteOrder::Native
            && strides_in_elements(&tensor).is_some();
        let device = tensor.device;
        let exportable = if is_exportable {
            Exportable::Yes
        } else {
            Exportable::No("the dtype has no DLPack code")
        };
        let source = Source {
            shape: tensor.shape.clone(),
            strides: tensor.byte_strides(),
            item_size: item,
            address: Some(first),
            allocation: Some(SOURCE..end.max(SOURCE + 1)),
            writable: Some(tensor.access == Access::Writable),
            exportable,
            is_special: false,
            values: None,
            unchanged: Ok(()),
        };
        let seen = Observation {
            exporter: Exporter {
                route: Route::Python,
                keywords: [true; 4],
                methods: [true; 2],
                claims: Some(ArrayApi::V2024),
                versioned: true,
                mutable: true,
                has_readonly: true,
                python_destructor: false,
            },
            source,
            device_before: device_answer(device),
            device_after: Some(device_answer(device)),
            export: raised(ErrorClass::Other),
            further: Default::default(),
            ledger: Ledger { blocks: Some(0), ..Ledger::default() },
            exchange: None,
            life: None,
        };
        let mut scene = Self {
            case: Case::new(tensor, call, Probes::NONE),
            seen,
            profile: Profile::spec(),
            copies: 0,
        };
        let call = scene.case.call.clone();
        scene.seen.export = scene.lawful(&call);
        scene
    }

    /// Adds a probe with its lawful outcome.
    pub fn with(mut self, probe: Probe) -> Self {
        let own = self.case.tensor.device;
        let call = probe.call(&self.case.call, own);
        let outcome = self.lawful(&call);
        self.case.probes.insert(probe);
        self.seen.further.push((probe, outcome));
        self
    }

    /// Adds a probe that ended in an exception.
    pub fn with_raised(mut self, probe: Probe, class: ErrorClass) -> Self {
        self.case.probes.insert(probe);
        self.seen.further.push((probe, raised(class)));
        self
    }

    /// The case's own export ended in an exception.
    pub fn raising(mut self, class: ErrorClass) -> Self {
        self.seen.export = raised(class);
        self
    }

    /// The case's own export ended as another call would have.
    pub fn answering(mut self, args: &[(Keyword, Value)]) -> Self {
        self.seen.export = self.lawful(&call(args));
        self
    }

    /// The outcome of a probe is as another call would have ended.
    pub fn probe_answering(mut self, probe: Probe, args: &[(Keyword, Value)]) -> Self {
        let outcome = self.lawful(&call(args));
        self.case.probes.insert(probe);
        self.seen.further.push((probe, outcome));
        self
    }

    pub fn under(mut self, profile: &str) -> Self {
        self.profile = profile.parse().unwrap();
        self
    }

    /// Changes anything.
    pub fn edit(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The case's own capsule; panics if it is none.
    pub fn capsule(&mut self) -> &mut Capsule {
        capsule_of(&mut self.seen.export)
    }

    /// The managed tensor of the case's own export.
    pub fn managed(&mut self) -> &mut Managed {
        self.capsule().managed.as_mut().expect("the scene's export is readable")
    }

    /// The tensor of the case's own export.
    pub fn tensor(&mut self) -> &mut DlTensor {
        self.managed().tensor.as_mut().expect("the scene's tensor is readable")
    }

    /// The managed tensor of a probe.
    pub fn probe_managed(&mut self, probe: Probe) -> &mut Managed {
        let found = self.seen.further.iter_mut().find(|(made, _)| *made == probe);
        let (_, outcome) = found.expect("the scene has this probe");
        capsule_of(outcome).managed.as_mut().expect("the probe's export is readable")
    }

    pub fn probe_tensor(&mut self, probe: Probe) -> &mut DlTensor {
        self.probe_managed(probe).tensor.as_mut().expect("the probe's tensor is readable")
    }

    /// Everything that the oracle says.
    pub fn judge(&self) -> Judgement {
        let judgement = judge(&self.case, &self.seen, &self.profile, Grade::Info);
        judgement.violations.iter().for_each(|it| self.assert_binding(it.rule, it.grade));
        judgement
    }

    /// Also in a release build, which has no debug assertions: only what binds an exporter accuses it.
    fn assert_binding(&self, id: &str, grade: Grade) {
        let binds = catalogue::entry(id).is_some_and(|it| it.may_accuse_under(&self.profile));
        assert!(binds || grade < Grade::Violation, "{id} binds nobody and must not accuse");
    }

    /// What one rule says; panics if there is none of that id.
    pub fn said(&self, id: &str) -> Said {
        let rule = rules().iter().find(|rule| rule.id == id);
        let rule = rule.unwrap_or_else(|| panic!("no rule {id} has a function"));
        let context = Context::new(&self.case, &self.seen, &self.profile, Grade::Info);
        let verdict = (rule.judge)(&context);
        let is_asked = Matter::of(&context).has(rule.needs);
        assert!(is_asked || matches!(verdict, Verdict::Silent), "{id} needs less than it says");
        match verdict {
            Verdict::Silent => Said::Silent,
            Verdict::Holds => Said::Holds,
            Verdict::Breaks(grade, evidence) => {
                let evidence = evidence.expect("evidence is asked for from Info upwards");
                assert!(!evidence.key.is_empty() && !evidence.expected.is_empty());
                assert!(!evidence.seen.is_empty(), "{id} says nothing of what was seen");
                self.assert_binding(id, grade);
                Said::Breaks(grade)
            }
        }
    }

    /// Every rule that is broken at this grade or above, as `ID grade`.
    pub fn accused(&self, from: Grade) -> Vec<String> {
        (self.judge().violations.iter())
            .filter(|violation| violation.grade >= from)
            .map(|violation| format!("{} {:?}", violation.rule, violation.grade))
            .collect()
    }

    /// No rule of any family warns or accuses.
    #[track_caller]
    pub fn assert_lawful(&self) {
        let accused = self.accused(Grade::Warning);
        assert!(accused.is_empty(), "{accused:?} on {:?} with {:?}", self.case.call, self.seen);
    }

    /// This rule speaks at this grade, and no other rule does at this grade or above.
    #[track_caller]
    pub fn assert_only(&self, id: &str, grade: Grade) {
        assert_eq!(self.accused(grade), [format!("{id} {grade:?}")]);
    }
}

fn capsule_of(outcome: &mut Outcome) -> &mut Capsule {
    match outcome {
        Outcome::Capsule(capsule) => capsule,
        other => panic!("the scene's outcome is no capsule: {other:?}"),
    }
}

fn device_answer(device: DLDevice) -> DeviceAnswer {
    DeviceAnswer::Pair {
        device,
        container: Container::Tuple,
        type_element: Number::Int,
        id_element: Number::Int,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lawful_exporter_answers_by_the_call() {
        let version = (Keyword::MaxVersion, Value::pair(1, 0));
        let copy = (Keyword::Copy, Value::bool(true));
        assert_eq!(Scene::plain().managed().kind, Kind::Legacy);
        assert_eq!(Scene::of(std::slice::from_ref(&version)).managed().kind, Kind::Versioned);
        let mut copied = Scene::of(&[version, copy]);
        assert_eq!(copied.managed().flags, FLAG_IS_COPIED);
        assert_eq!(copied.tensor().memory, Memory::Distinct);
        assert!(
            Scene::of(&[(Keyword::DlDevice, Value::pair(2, 0))]).seen.export.raised().is_some()
        );
    }
}
