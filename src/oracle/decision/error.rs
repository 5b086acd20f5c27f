//! The ruling on a call that raised an `Exception`.
//!
//! The table first; what it does not grant is weighed against the standing of the array and the probes,
//! and the rule to blame is the one whose argument explains the refusal.

use super::class::{CopyArg, DlDevice, MaxVersion, Own, Stream};
use super::factor::{self, Effective, Mark, expected};
use super::standing::{Answer, Standing, is_plain};
use super::token::Token;
use super::{Blame, Content, Matter, Word, blamed};
use crate::case::{Arg, Keyword, Probe, Scalar, Value};
use crate::oracle::{ArrayApi, ErrorClass, Grade, Knob};

const VIOLATION: Mark = Some(Grade::Violation);
const WARNING: Mark = Some(Grade::Warning);
const INFO: Mark = Some(Grade::Info);

/// A rule with the most that its row allows, or that no verdict is possible.
enum Cause {
    Is(Blame, Mark),
    /// A probe is missing.
    Unclear,
    /// The refusal is lawful after all.
    Excused,
}

pub(super) fn word(matter: &Matter, class: ErrorClass) -> Word {
    if asks_for_too_much(matter) {
        // Out of memory: whatever the library says of that (EXC-OOM is information).
        return Word::NotJudged;
    }
    // MemoryError is information everywhere (EXC-OOM).
    let Some(token) = Token::of_error(class) else {
        return Word::Lawful;
    };
    if let Some(word) = aat(matter, token) {
        return word;
    }
    let cell = expected(matter.classes);
    let Ok(grade) = settled(matter, cell.grade(token), token) else {
        return Word::NotJudged;
    };
    let Some(grade) = grade else {
        return Word::Lawful;
    };
    if has_bool_in_pair(matter) {
        return Word::NotJudged;
    }
    if let Some(word) = argument(matter, grade) {
        return word;
    }
    let is_refusal = token == Token::Buffer;
    if matter.is_readonly() && matter.is_legacy_due() {
        // RO-LEGACY: the legacy struct cannot say that the array is read-only.
        if is_refusal {
            return Word::Lawful;
        }
        // An exporter that does not mind shows it by the plain call: then an argument is the cause.
        if !matter.answer(Probe::Plain).is_capsule() {
            return not_exportable(matter);
        }
    }
    if matter.classes.dl_device == DlDevice::Same && is_elsewhere(matter) {
        // DEV-CONSISTENT: what the device method calls the array's own is another device.
        return Word::NotJudged;
    }
    match Standing::of(matter.case, matter.seen) {
        Standing::Exportable => {}
        // A copy would have helped, so that it is no question of what can be described (COPY-FALSE-BE).
        _ if matter.classes.dl_device.is_own() && needs_copy(matter) => {}
        Standing::NotExportable if is_refusal => return Word::Lawful,
        Standing::NotExportable if is_foreign(matter) => return one_of_two(matter, token),
        Standing::NotExportable => return not_exportable(matter),
        Standing::Unknown => return Word::NotJudged,
    }
    let is_basic = matter.case.tensor.dtype.is_standard();
    if !is_basic
        && is_refusal
        && !matches!(matter.classes.max_version, MaxVersion::OneMore | MaxVersion::Two)
    {
        // A code or a padding flag that this max_version need not know.
        return Word::Lawful;
    }
    match cause(matter, token) {
        Cause::Is(blame, limit) => {
            // Exporters support a dtype outside the standard for some calls only.
            let limit = if is_basic { limit } else { limit.min(WARNING) };
            blamed(blame, limit)
        }
        Cause::Unclear => Word::NotJudged,
        Cause::Excused => Word::Lawful,
    }
}

/// The plain call exports the array on another device than the device method names.
fn is_elsewhere(matter: &Matter) -> bool {
    let plain = matter.seen.probe(Probe::Plain).and_then(|outcome| outcome.managed());
    plain
        .and_then(|managed| managed.tensor.as_ref())
        .is_some_and(|tensor| tensor.device != matter.own)
}

/// Bytes that no machine of today lends to one copy.
const TOO_MUCH: u64 = 1 << 40;

/// A copy of a virtually huge array is asked for.
fn asks_for_too_much(matter: &Matter) -> bool {
    let source = &matter.seen.source;
    source.size().saturating_mul(source.item_size as u64) >= TOO_MUCH
        && matter.classes.copy == CopyArg::True
}

/// Settles the conditional tokens by their probes; `Err` when the probe is missing.
fn settled(matter: &Matter, plain: Mark, token: Token) -> Result<Mark, ()> {
    if token != Token::Buffer {
        return Ok(plain);
    }
    let cell = expected(matter.classes);
    if cell.grade(Token::BufferIfLegacy).is_none() {
        return match matter.answer(Probe::Plain) {
            _ if is_plain(matter.case) => Ok(None),
            Answer::Raised(ErrorClass::Buffer) => Ok(None),
            Answer::Missing => Err(()),
            _ => Ok(plain),
        };
    }
    if cell.grade(Token::BufferIfMinor) == WARNING {
        return match matter.answer(Probe::Version199) {
            Answer::Capsule(_) => Ok(plain.min(WARNING)),
            Answer::Missing => Err(()),
            _ => Ok(plain),
        };
    }
    Ok(plain)
}

/// Profile aat: the suite tolerates BufferError for copy=False across devices only.
fn aat(matter: &Matter, token: Token) -> Option<Word> {
    let grade = matter.profile.grade(Knob::Aat)?;
    let classes = matter.classes;
    let is_judged = token == Token::Buffer
        && classes.stream == Stream::None
        && matter.case.tensor.dtype.is_standard()
        && !matter.is_readonly()
        && Standing::of(matter.case, matter.seen) == Standing::Exportable;
    if !is_judged {
        return None;
    }
    let version = matter.case.call.max_version.value().and_then(Value::as_pair);
    let blame = match (classes.dl_device, classes.copy, version) {
        (DlDevice::CpuOther, copy, _) if classes.own != Own::Host && copy != CopyArg::False => {
            Blame::DevCpuOffer
        }
        (device, CopyArg::True, _) if device.is_own() => Blame::CopyTrueRefused,
        (device, CopyArg::Absent | CopyArg::None, Some(version)) if device.is_own() => {
            match version {
                (0, 0) => Blame::Ver0x,
                (1, 0) => Blame::VerSameMajor,
                (2, 0) => Blame::VerHigherMajor,
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(Word::Blamed(blame, grade))
}

/// A pair with `True` in it is no value to judge a refusal by.
fn has_bool_in_pair(matter: &Matter) -> bool {
    [&matter.case.call.max_version, &matter.case.call.dl_device].into_iter().any(|arg| {
        matches!(arg, Arg::Given(Value::Seq(_, items))
            if items.iter().any(|item| matches!(item, Scalar::Bool(_))))
    })
}

/// `dl_device` has an `IntEnum` member that the harness made.
fn has_foreign_enum(matter: &Matter) -> bool {
    matches!(&matter.case.call.dl_device, Arg::Given(Value::Seq(_, items))
        if items.iter().any(|item| matches!(item, Scalar::IntEnum(_))))
}

fn not_exportable(matter: &Matter) -> Word {
    // BufferError is recommended since 2022.12 (EXC-NOTEXPORTABLE).
    let exporter = &matter.seen.exporter;
    let is_older = exporter.claims.map_or(!exporter.is_2023(), |claim| claim < ArrayApi::V2022);
    let knob = matter.profile.grade(Knob::BufferErrorMust);
    blamed(Blame::ExcNotexportable, if is_older { knob.min(INFO) } else { knob })
}

/// The call asks for a device that the exporter does not have.
fn is_foreign(matter: &Matter) -> bool {
    matches!(matter.classes.dl_device, DlDevice::UnsupportedOther | DlDevice::UnknownType)
}

/// Data that cannot be exported, for a device that is not there: two reasons to refuse, and one of them is
/// the cause. How the data alone is refused tells which.
fn one_of_two(matter: &Matter, token: Token) -> Word {
    match matter.answer(Probe::Plain) {
        Answer::Raised(ErrorClass::Buffer) => match cause(matter, token) {
            Cause::Is(blame, limit) => blamed(blame, limit),
            Cause::Unclear => Word::NotJudged,
            Cause::Excused => Word::Lawful,
        },
        Answer::Raised(_) => not_exportable(matter),
        _ => Word::NotJudged,
    }
}

/// A refusal that an argument explains which is wrong in itself, whatever the array.
fn argument(matter: &Matter, grade: Grade) -> Option<Word> {
    let classes = matter.classes;
    if classes.stream != Stream::None {
        // With a stream every exception but the rarest is granted.
        let is_cpu = factor::effective(classes) == Effective::Cpu;
        return Some(match grade {
            Grade::Info if is_cpu && classes.dl_device.is_own() => {
                Word::Blamed(Blame::StrCpuErrtype, Grade::Info)
            }
            Grade::Info => Word::Lawful,
            _ => Word::Blamed(Blame::ExcUnexpected, Grade::Warning),
        });
    }
    let is_malformed =
        classes.dl_device == DlDevice::Malformed || classes.max_version == MaxVersion::Malformed;
    is_malformed.then_some(Word::Blamed(Blame::ExcUnexpected, Grade::Warning))
}

/// The rule to blame for a refusal of an exportable array whose arguments all have the right form.
fn cause(matter: &Matter, token: Token) -> Cause {
    let classes = matter.classes;
    let is_refusal = token == Token::Buffer;
    // SIG-ORDER-FREE speaks.
    if matter.answer(Probe::Reordered).is_capsule() {
        return Cause::Unclear;
    }
    // Demoted: VER-OLD-BE is a recommendation, the table has a violation for these.
    if classes.max_version == MaxVersion::Zero
        && !is_refusal
        && !matter.answer(Probe::Unversioned).is_refused()
    {
        // Unless the type says that nobody thought of the version at all (EXC-UNEXPECTED).
        let is_overlooked =
            is_missing_check(matter) && matter.answer(Probe::Unversioned).is_capsule();
        return match is_overlooked {
            true => Cause::Is(Blame::ExcUnexpected, VIOLATION),
            false => Cause::Is(Blame::VerOldBe, WARNING),
        };
    }
    // The same call with another version succeeds, so no other argument is the cause.
    if classes.max_version.is_versioned() && matter.answer(Probe::Version199).is_capsule() {
        match classes.max_version {
            MaxVersion::Two => return Cause::Is(Blame::VerHigherMajor, VIOLATION),
            _ if is_refusal => return Cause::Is(Blame::VerSameMajor, WARNING),
            _ => {}
        }
    }
    // SIG-DEVICE-ENUM warns at most of an enum that is not the exporter's own, whatever device it names.
    if has_foreign_enum(matter) && !classes.dl_device.is_own() && !is_refusal {
        return Cause::Is(Blame::SigDeviceEnum, WARNING);
    }
    match classes.dl_device {
        DlDevice::UnsupportedOther => Cause::Is(Blame::ExcDevice, foreign_device(matter, token)),
        DlDevice::UnknownType => {
            // Demoted: a number outside the array API's list is arguably a wrong argument, and for those
            // EXC-UNEXPECTED warns at most; the table has a violation for AssertionError.
            let grade = expected(classes).grade(token);
            Cause::Is(Blame::ExcDevice, grade.min(WARNING))
        }
        // Demoted: DEV-CPU-ID-OTHER is AMBIGUOUS.
        DlDevice::CpuOther if classes.own == Own::Host => Cause::Is(Blame::DevCpuIdOther, WARNING),
        DlDevice::CpuOther => match classes.copy {
            CopyArg::False => Cause::Is(Blame::ExcNocopyCrossdev, no_copy(matter, token)),
            _ if is_refusal => Cause::Is(Blame::DevCpuOffer, WARNING),
            _ => Cause::Is(Blame::ExcUnexpected, VIOLATION),
        },
        DlDevice::Absent | DlDevice::None | DlDevice::Same | DlDevice::Malformed => {
            copy_cause(matter, token).unwrap_or_else(|| own_cause(matter, is_refusal))
        }
    }
}

/// Types that nobody raises on purpose to refuse an argument. (Some libraries raise RuntimeError for everything.)
fn is_missing_check(matter: &Matter) -> bool {
    const NAMES: [&str; 6] = [
        "AttributeError",
        "KeyError",
        "IndexError",
        "NameError",
        "UnboundLocalError",
        "AssertionError",
    ];
    matter.seen.export.raised().is_some_and(|raised| NAMES.contains(&raised.name.as_ref()))
}

/// ValueError for a copy=False that needs a copy: the first text of 2023.12 had it in one of two places.
fn no_copy(matter: &Matter, token: Token) -> Mark {
    if token != Token::Value {
        return VIOLATION;
    }
    let knob = matter.profile.grade(Knob::ValueErrorNoCopy);
    match matter.seen.exporter.claims {
        Some(ArrayApi::V2023) => knob.min(WARNING),
        _ => knob,
    }
}

fn foreign_device(matter: &Matter, token: Token) -> Mark {
    if matter.classes.copy == CopyArg::False { no_copy(matter, token) } else { VIOLATION }
}

/// copy=False, and the same call with another `copy` succeeds with a copy.
fn needs_copy(matter: &Matter) -> bool {
    let copies = |probe| matter.answer(probe) == Answer::Capsule(Content::Copy);
    matter.classes.copy == CopyArg::False
        && (copies(Probe::CopyNone)
            || matter.answer(Probe::CopyNone).is_refused() && copies(Probe::CopyTrue))
}

/// On the own device: `copy` as the cause; `None` when it is not.
fn copy_cause(matter: &Matter, token: Token) -> Option<Cause> {
    let is_refusal = token == Token::Buffer;
    let without = matter.answer(Probe::CopyNone);
    match matter.classes.copy {
        CopyArg::True => match without {
            // The own device is refused as well; where the copy is refused without it, that is the cause
            // (the device alone is COPY-SAME-DEVICE-NEUTRAL's), unless it is the stream's None that is refused.
            Answer::Raised(_)
                if matter.classes.dl_device != DlDevice::Same
                    || !matter.answer(Probe::NoDevice).is_refused()
                    || matter.case.call.stream.is_given()
                        && !matter.answer(Probe::NoStream).is_refused() =>
            {
                None
            }
            _ if is_refusal => {
                let knob = matter.profile.grade(Knob::CopyTrueRequired);
                Some(Cause::Is(Blame::CopyTrueRefused, knob))
            }
            _ => Some(Cause::Is(Blame::CopyTrueRefused, VIOLATION)),
        },
        CopyArg::False => {
            let is_helped = needs_copy(matter);
            match without {
                Answer::Missing => Some(Cause::Unclear),
                Answer::Capsule(Content::Alias) => {
                    // AA since March 2025 tolerates BufferError for this call without max_version.
                    let is_tolerated = is_refusal && matter.classes.max_version.is_legacy();
                    let grade = if is_tolerated { WARNING } else { VIOLATION };
                    Some(Cause::Is(Blame::CopyFalseConsistent, grade))
                }
                _ if is_helped && is_refusal => Some(Cause::Excused),
                // The exporter itself copies where it may, or only on request.
                _ if is_helped => {
                    let is_asked = without.is_refused();
                    let blame =
                        if is_asked { Blame::CopyFalseBe } else { Blame::ExcCopyImpossible };
                    Some(Cause::Is(blame, no_copy(matter, token)))
                }
                // Alias and copy cannot be told apart (size 0): no verdict on a refusal.
                Answer::Capsule(_) if is_refusal => Some(Cause::Unclear),
                _ => None,
            }
        }
        CopyArg::Absent | CopyArg::None => None,
    }
}

/// On the own device, `copy` aside: the argument without which the same call succeeds.
fn own_cause(matter: &Matter, is_refusal: bool) -> Cause {
    let call = &matter.case.call;
    let classes = matter.classes;
    let succeeds = |probe| matter.answer(probe).is_capsule();
    if classes.dl_device == DlDevice::Same {
        let is_foreign_enum = has_foreign_enum(matter);
        let is_written = is_foreign_enum || call.dl_device.value() == Some(&Value::Own);
        match matter.answer(Probe::OwnDevice) {
            Answer::Capsule(_) if is_written => {
                let grade = if is_foreign_enum { WARNING } else { VIOLATION };
                return Cause::Is(Blame::SigDeviceEnum, grade);
            }
            Answer::Missing if is_written => return Cause::Unclear,
            _ => {}
        }
        if succeeds(Probe::NoDevice) {
            return Cause::Is(Blame::CopySameDeviceNeutral, VIOLATION);
        }
    }
    if call.stream.is_given() && succeeds(Probe::NoStream) {
        return Cause::Is(Blame::StrNone, VIOLATION);
    }
    let serves_legacy = succeeds(Probe::Unversioned) || succeeds(Probe::Plain);
    if classes.max_version.is_versioned() && is_refusal && serves_legacy {
        // Demoted: VER-INDEPENDENT warns of success against BufferError, the table has a violation.
        return Cause::Is(Blame::VerIndependent, WARNING);
    }
    if classes.max_version.is_silent() && succeeds(Probe::Plain) {
        let given = Keyword::ALL.into_iter().filter(|&keyword| call.arg(keyword).is_given());
        let all_silent = Keyword::ALL.into_iter().all(|keyword| call.arg(keyword).is_silent());
        match given.count() {
            4 if all_silent => return Cause::Is(Blame::SigNoneNeutral, VIOLATION),
            1.. if all_silent => return Cause::Is(Blame::SigAbsentIsNone, WARNING),
            _ => {}
        }
    }
    let is_served = matter.seen.further.iter().any(|(_, outcome)| outcome.capsule().is_some());
    if is_refusal && !is_served {
        // No call at all exports it: a producer may say so (DTY-STANDARD-ALL warns of a standard dtype).
        let is_known = matter.answer(Probe::Plain) != Answer::Missing || is_plain(matter.case);
        return if is_known { Cause::Excused } else { Cause::Unclear };
    }
    Cause::Is(Blame::ExcUnexpected, VIOLATION)
}
