//! The ruling on a call that returned a capsule.
//!
//! Three factors grade it, each with a rule of its own; the worst is to blame. A capsule on another device
//! than the one asked for is nothing but that.

use super::class::{CopyArg, DlDevice, MaxVersion, Own, Stream, asked_device, is_near_miss};
use super::factor::{self, Effective, Mark};
use super::standing::Answer;
use super::{Blame, Content, Matter, Word, blamed};
use crate::abi::{DLDevice, DLDeviceType};
use crate::case::{ByteOrder, Keyword, Probe};
use crate::oracle::{ErrorClass, Exportable, Grade, Kind, Knob, Managed};

const VIOLATION: Mark = Some(Grade::Violation);
const WARNING: Mark = Some(Grade::Warning);
const INFO: Mark = Some(Grade::Info);

/// A rule and the grade at which one factor blames it; `None` where the factor finds nothing.
type Charge = Option<(Blame, Grade)>;

fn charge(blame: Blame, grade: Mark) -> Charge {
    grade.map(|grade| (blame, grade))
}

pub(super) fn word(matter: &Matter, managed: &Managed, content: Content) -> Word {
    let device = managed.tensor.as_ref().map(|tensor| tensor.device);
    let on_request = match device.map_or(Place::Asked, |device| place(matter, device)) {
        Place::Asked => None,
        Place::Exact => Some(reclassified(matter.classes.copy)),
        Place::Other(blame, grade) => return blamed(blame, grade),
        Place::Charged(charge) => match charge {
            Some((blame, grade)) => return Word::Blamed(blame, grade),
            None => None,
        },
    };
    let charges = [
        kind_charge(matter, managed, content),
        data_charge(matter, content, on_request),
        stream_charge(matter),
    ];
    // The first among equals: the kind is what a consumer sees first.
    let worst = charges.into_iter().flatten().fold(None, |worst: Charge, next| match worst {
        Some(found) if found.1 >= next.1 => Some(found),
        _ => Some(next),
    });
    worst.map_or(Word::Lawful, |(blame, grade)| Word::Blamed(blame, grade))
}

/// Where the capsule says it is, against what was asked.
enum Place {
    /// Nothing asked, or as asked: the factors hold.
    Asked,
    /// Exactly on a device that the table takes for foreign: the exporter has it after all.
    Exact,
    Other(Blame, Mark),
    /// Tolerated by a knob if the grade is off.
    Charged(Charge),
}

fn place(matter: &Matter, device: DLDevice) -> Place {
    let asked = asked_device(&matter.case.call.dl_device, matter.own);
    let is_exact = asked == Some(device);
    let is_cpu_like = matches!(device.device_type.0, 3 | 11 | 13);
    match (matter.classes.dl_device, matter.classes.own) {
        // Without dl_device DEV-CONSISTENT speaks; a malformed one names no device.
        (DlDevice::Absent | DlDevice::None | DlDevice::Malformed, _) => Place::Asked,
        (DlDevice::Same, _) if is_exact => Place::Asked,
        (DlDevice::CpuOther, Own::Host) if is_exact => Place::Exact,
        // The index is ignored: DEV-CPU-ID-OTHER takes note.
        (DlDevice::CpuOther, Own::Host) if device.device_type == DLDeviceType::CPU => Place::Asked,
        (DlDevice::CpuOther, Own::Device | Own::Accessible) if is_exact => Place::Asked,
        (DlDevice::CpuOther, Own::Device | Own::Accessible) if is_cpu_like => {
            Place::Charged(charge(Blame::DevHonourCpu, matter.profile.grade(Knob::CpuLabel)))
        }
        (DlDevice::UnsupportedOther | DlDevice::UnknownType, _) if is_exact => Place::Exact,
        _ => Place::Other(Blame::DevHonour, VIOLATION),
    }
}

/// Factor 1 for a device that turned out to be supported: for (alias, copy).
fn reclassified(copy: CopyArg) -> (Mark, Mark) {
    match copy {
        CopyArg::Absent | CopyArg::None => (None, None),
        CopyArg::True => (VIOLATION, None),
        CopyArg::False => (None, VIOLATION),
    }
}

fn kind_charge(matter: &Matter, managed: &Managed, content: Content) -> Charge {
    let profile = matter.profile;
    let max_version = matter.classes.max_version;
    match managed.kind {
        Kind::Legacy => {
            // Where a versioned capsule was due, the note on the kind stands beside it.
            let read_only = (matter.is_readonly() && content.is_shared())
                .then(|| charge(Blame::RoLegacy, profile.grade(Knob::ReadonlyLegacy)))
                .flatten();
            let kind = match max_version {
                MaxVersion::Malformed => malformed_version_charge(matter),
                MaxVersion::OneZero | MaxVersion::OneMore | MaxVersion::Two => {
                    // An exporter without versioned capsules does so lawfully, unless the knob asks
                    // for more than a note.
                    let grade = profile.grade(Knob::RequireVersioned);
                    let is_noted = matter.seen.exporter.versioned || grade > INFO;
                    is_noted.then(|| charge(Blame::Ver1xVersioned, grade)).flatten()
                }
                MaxVersion::Absent | MaxVersion::None | MaxVersion::Zero => None,
            };
            match (read_only, kind) {
                (Some(first), Some(second)) if second.1 > first.1 => kind,
                (None, _) => kind,
                _ => read_only,
            }
        }
        Kind::Versioned => match max_version {
            MaxVersion::Absent | MaxVersion::None => {
                charge(Blame::VerNoneLegacy, profile.grade(Knob::NoneMeansLegacy))
            }
            MaxVersion::Zero => charge(Blame::Ver0x, profile.grade(Knob::MaxVersionCeiling)),
            MaxVersion::Malformed => malformed_version_charge(matter),
            MaxVersion::OneZero | MaxVersion::OneMore | MaxVersion::Two => {
                let asked = matter.case.call.max_version.value().and_then(|value| value.as_pair());
                let returned = managed.version.map_or(0, |version| i64::from(version.major));
                (asked.is_some_and(|(major, _)| returned > major))
                    .then(|| charge(Blame::VerCeiling, profile.grade(Knob::MaxVersionCeiling)))
                    .flatten()
            }
        },
    }
}

/// A capsule although `max_version` is malformed. Demoted: the row of SIG-MALFORMED warns of a value that
/// is no near miss, the table takes note; the milder counts.
fn malformed_version_charge(matter: &Matter) -> Charge {
    let arg = &matter.case.call.max_version;
    if arg.value().is_some_and(|value| value.as_pair().is_some()) {
        charge(Blame::VerNegative, INFO)
    } else if is_near_miss(arg) {
        charge(Blame::SigMalformed, matter.profile.grade(Knob::StrictArgs))
    } else {
        charge(Blame::SigMalformed, INFO)
    }
}

fn data_charge(matter: &Matter, content: Content, on_request: Option<(Mark, Mark)>) -> Charge {
    let classes = matter.classes;
    let factor = factor::data(classes);
    let (alias, copy) = on_request.unwrap_or((factor.alias, factor.copy));
    let mark = match content {
        Content::Copy => copy,
        Content::Alias | Content::Overlap | Content::Mapped => alias,
        // Size 0 and the like: what either of them may do, this may.
        Content::Unknown => alias.min(copy),
    };
    let grade = mark?;
    let is_fault = grade == Grade::Violation;
    match (classes.dl_device, classes.copy) {
        (_, CopyArg::True) if is_fault => match content {
            Content::Overlap | Content::Mapped => charge(Blame::CopyTrueDistinct, mark),
            _ => charge(Blame::CopyTrueIgnored, mark),
        },
        // Memory that the host cannot read has no lawful form on the CPU without a copy.
        (DlDevice::CpuOther, CopyArg::False) if classes.own == Own::Device => {
            charge(Blame::CopyFalseBe, mark)
        }
        (_, CopyArg::False) if is_fault => charge(Blame::CopyFalseAlias, mark),
        (DlDevice::Malformed, _) => malformed_device_charge(matter),
        (DlDevice::CpuOther, _) if is_fault => charge(Blame::DevHonour, mark),
        // DEV-CPU-ID-OTHER: an alias and a copy on (1, k) are both lawful. Demoted: the table warns.
        (DlDevice::CpuOther, _) => None,
        _ => none_alias_charge(matter),
    }
}

/// COPY-NONE-ALIAS: a copy that nobody asked for.
fn none_alias_charge(matter: &Matter) -> Charge {
    let source = &matter.seen.source;
    let item = source.item_size as i64;
    let is_fractional = (source.shape.iter().zip(&source.strides))
        .any(|(&extent, &stride)| extent > 1 && (item == 0 || stride % item != 0));
    let is_swapped = matter.case.tensor.dtype.order == ByteOrder::Swapped;
    // Neither has a form without a copy; DTY-ENDIAN speaks of the second.
    if is_fractional || is_swapped || matches!(source.exportable, Exportable::No(_)) {
        return None;
    }
    let shares = matter.answer(Probe::CopyFalse) == Answer::Capsule(Content::Alias);
    charge(Blame::CopyNoneAlias, if shares { VIOLATION } else { WARNING })
}

/// A capsule although `dl_device` is malformed.
fn malformed_device_charge(matter: &Matter) -> Charge {
    let other = match matter.classes.max_version.is_silent() {
        true => Probe::Version10,
        false => Probe::Unversioned,
    };
    // BufferError is how a legacy capsule is refused, whatever the device.
    let knows_version = matter.seen.exporter.keywords[Keyword::MaxVersion as usize];
    let is_noticed =
        matches!(matter.answer(other), Answer::Raised(class) if class != ErrorClass::Buffer);
    if knows_version && is_noticed && matter.classes.stream == Stream::None {
        return charge(Blame::SigMalformedIgnored, WARNING);
    }
    let is_near = is_near_miss(&matter.case.call.dl_device);
    let grade = if is_near { matter.profile.grade(Knob::StrictArgs) } else { WARNING };
    charge(Blame::SigMalformed, grade)
}

fn stream_charge(matter: &Matter) -> Charge {
    let classes = matter.classes;
    let grade = factor::order(classes).capsule?;
    match factor::effective(classes) {
        Effective::Cpu => {
            let knob = matter.profile.grade(Knob::CpuStream);
            // -1 is torch's default and asks for nothing: a note, unless the letter is asked for.
            let is_mild = classes.stream == Stream::MinusOne && knob < VIOLATION;
            charge(Blame::StrCpuNoneOnly, if is_mild { knob.min(INFO) } else { knob })
        }
        Effective::CpuByRequest => charge(Blame::StrCpuRequest, Some(grade)),
        Effective::Cuda => {
            let is_rocm = matter.own.device_type == DLDeviceType::ROCM;
            let blame = match classes.stream {
                Stream::Negative => Blame::StrRange,
                Stream::Bad => Blame::StrNonint,
                _ if is_rocm => Blame::StrRocmValues,
                _ => Blame::StrCudaZero,
            };
            charge(blame, Some(grade))
        }
        Effective::Nowhere => None,
    }
}
