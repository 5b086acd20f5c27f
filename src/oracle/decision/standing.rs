//! The **standing** of an array: whether the library exports it at all (precondition P-EXPORTABLE), and the
//! probes that settle what a refusal means.

use super::class::{Classes, CopyArg, DlDevice, Stream};
use super::factor::expected;
use super::token::Token;
use super::{Content, Matter};
use crate::abi::DLDevice;
use crate::case::{Case, Extra, Keyword, Probe, Probes};
use crate::oracle::{ErrorClass, Exportable, Observation, Outcome};

/// Whether an array can be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The adapter says so, or some call gave a capsule.
    Exportable,
    /// The adapter says so, or the plain call and the call with `dl_device=(1, 0)` both raise.
    NotExportable,
    /// Nobody knows: nothing may be blamed on the exporter for a refusal.
    Unknown,
}

impl Standing {
    pub fn of(case: &Case, seen: &Observation) -> Self {
        match seen.source.exportable {
            Exportable::Yes => return Self::Exportable,
            Exportable::No(_) => return Self::NotExportable,
            Exportable::Unknown => {}
        }
        // A copy that was asked for proves nothing for a call that did not, and none at all for a call that
        // forbade it: only the layout may be the problem.
        let copy = CopyArg::of(&case.call.copy);
        let own = seen.device_before.device().unwrap_or(case.tensor.device);
        let is_proof = |probe: Option<Probe>, outcome: &Outcome| {
            let tensor = outcome.managed().and_then(|managed| managed.tensor.as_ref());
            let is_copy = tensor.is_some_and(|it| Content::of(&seen.source, own, it).is_copy());
            outcome.capsule().is_some()
                && match copy {
                    Some(CopyArg::True) => true,
                    Some(CopyArg::False) => probe != Some(Probe::CopyTrue) && !is_copy,
                    _ => {
                        probe != Some(Probe::CopyTrue)
                            && !(probe == Some(Probe::CopyFalse) && is_copy)
                    }
                }
        };
        if is_proof(None, &seen.export)
            || seen.further.iter().any(|(probe, outcome)| is_proof(Some(*probe), outcome))
        {
            return Self::Exportable;
        }
        let plain = answer(seen, Probe::Plain).is_refused() || is_plain(case);
        // A read-only array may lawfully be refused by both of these calls (RO-LEGACY).
        let is_readonly = seen.source.writable == Some(false) || !seen.exporter.mutable;
        if plain && answer(seen, Probe::CpuDevice).is_refused() && !is_readonly {
            Self::NotExportable
        } else {
            Self::Unknown
        }
    }
}

/// How a probe ended, as far as the table cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Missing,
    Capsule(Content),
    Raised(ErrorClass),
    /// Returned what is no capsule.
    Other,
}

impl Answer {
    pub fn is_capsule(self) -> bool {
        matches!(self, Self::Capsule(_))
    }

    pub fn is_refused(self) -> bool {
        matches!(self, Self::Raised(_))
    }
}

fn answer(seen: &Observation, probe: Probe) -> Answer {
    match seen.probe(probe) {
        None => Answer::Missing,
        Some(Outcome::Raised(raised)) => Answer::Raised(raised.class),
        Some(Outcome::Returned(_)) => Answer::Other,
        Some(Outcome::Capsule(capsule)) => {
            let tensor = capsule.managed.as_ref().and_then(|managed| managed.tensor.as_ref());
            let own = seen.device_before.device().unwrap_or(DLDevice::CPU);
            Answer::Capsule(
                tensor.map_or(Content::Unknown, |tensor| Content::of(&seen.source, own, tensor)),
            )
        }
    }
}

impl Matter<'_> {
    pub(super) fn answer(&self, probe: Probe) -> Answer {
        answer(self.seen, probe)
    }
}

/// The call has no argument at all.
pub(super) fn is_plain(case: &Case) -> bool {
    let call = &case.call;
    call.extra == Extra::Nothing
        && !(call.stream.is_given()
            || call.max_version.is_given()
            || call.dl_device.is_given()
            || call.copy.is_given())
}

/// The probes without which [`rule`](super::rule) cannot tell what this outcome means. Empty for nearly
/// every outcome: a capsule that is due, an exception that the arguments explain.
pub fn probes_to_settle(case: &Case, own: DLDevice, outcome: &Outcome) -> Probes {
    let none = Probes::NONE;
    let Ok(classes) = Classes::of(&case.call, own) else {
        return none;
    };
    let needed: &[Probe] = match outcome {
        Outcome::Returned(_) => &[],
        Outcome::Capsule(capsule) => {
            let memory = capsule.managed.as_ref().and_then(|managed| managed.tensor.as_ref());
            let is_copy =
                memory.is_some_and(|tensor| tensor.memory == crate::oracle::Memory::Distinct);
            match classes.dl_device {
                DlDevice::Malformed => &[Probe::Version10, Probe::Unversioned],
                _ if classes.copy.is_silent() && is_copy => &[Probe::CopyFalse],
                _ => &[],
            }
        }
        Outcome::Raised(raised) => {
            let Some(token) = Token::of_error(raised.class) else {
                return none;
            };
            let cell = expected(classes);
            if cell.grade(token).is_none() || classes.stream != Stream::None {
                return none;
            }
            return refusal(classes, case);
        }
    };
    needed.iter().copied().collect()
}

fn refusal(classes: Classes, case: &Case) -> Probes {
    let mut probes: Probes = [Probe::Plain, Probe::CpuDevice].into_iter().collect();
    let mut add = |more: &[Probe]| more.iter().for_each(|&probe| probes.insert(probe));
    if classes.max_version.is_versioned() {
        add(&[Probe::Version199, Probe::Unversioned]);
    } else if !classes.max_version.is_silent() {
        add(&[Probe::Unversioned]);
    }
    match classes.copy {
        CopyArg::False => add(&[Probe::CopyNone, Probe::CopyTrue]),
        CopyArg::True => add(&[Probe::CopyNone]),
        CopyArg::Absent | CopyArg::None => {}
    }
    if classes.dl_device == DlDevice::Same {
        add(&[Probe::NoDevice, Probe::OwnDevice]);
    }
    if case.call.stream.is_given() {
        add(&[Probe::NoStream]);
    }
    if Keyword::ALL.into_iter().filter(|&keyword| case.call.arg(keyword).is_given()).count() > 1 {
        add(&[Probe::Reordered]);
    }
    probes
}
