//! The two methods, and the form of what `__dlpack_device__()` answers.

use super::method_fact;
use crate::case::Object;
use crate::oracle::export::evidence;
use crate::oracle::{
    Container, Context, DeviceAnswer, DeviceElement, ErrorClass, Grade, Number, Verdict,
};

pub(super) fn both(ctx: &Context) -> Verdict {
    let [dlpack, device] = ctx.seen.exporter.methods;
    ctx.require(dlpack == device, Grade::Violation, || {
        let missing = if dlpack { "__dlpack_device__" } else { "__dlpack__" };
        evidence(missing, "both methods or neither", format!("a type without {missing}"), [])
    })
}

pub(super) fn is_tuple(ctx: &Context) -> Verdict {
    let (grade, key) = match &ctx.seen.device_before {
        DeviceAnswer::Pair { container: Container::Tuple, .. } => return Verdict::Holds,
        DeviceAnswer::Pair { container: Container::TupleSubclass, .. } => {
            (Grade::Info, "tuple sub-class")
        }
        DeviceAnswer::Pair { container: Container::List, .. } => (Grade::Warning, "list"),
        DeviceAnswer::Pair { container: Container::Other, .. } => (Grade::Violation, "other"),
        DeviceAnswer::Malformed(_) => (Grade::Violation, "malformed"),
        // DEV-TYPE-ELEM, DEV-ID-ELEM
        DeviceAnswer::NoNumber(..) => return Verdict::Silent,
        DeviceAnswer::Raised(_) => return Verdict::Silent,
    };
    ctx.breaks(grade, || {
        let seen = match &ctx.seen.device_before {
            DeviceAnswer::Malformed(text) => text.clone(),
            _ => format!("a {key} with two elements"),
        };
        evidence(
            key,
            "a tuple of two numbers from __dlpack_device__()",
            seen.clone(),
            [method_fact(seen)],
        )
    })
}

pub(super) fn type_element(ctx: &Context) -> Verdict {
    let expected = "a device type that operator.index takes: an int or an IntEnum member";
    // A word or None is no device type to anyone; contested is the Enum only.
    if let Some(verdict) = no_number(ctx, DeviceElement::Type, expected) {
        return verdict;
    }
    let DeviceAnswer::Pair { type_element, device, .. } = &ctx.seen.device_before else {
        return Verdict::Silent;
    };
    ctx.require(*type_element != Number::Enum, Grade::Warning, || {
        evidence("Enum", expected, "a member of a plain Enum", [method_fact(device)])
    })
}

pub(super) fn id_element(ctx: &Context) -> Verdict {
    let expected = "an int as the device's index";
    if let Some(verdict) = no_number(ctx, DeviceElement::Id, expected) {
        return verdict;
    }
    let DeviceAnswer::Pair { id_element, device, .. } = &ctx.seen.device_before else {
        return Verdict::Silent;
    };
    let (grade, key) = match id_element {
        Number::Int | Number::IntEnum | Number::IntSubclass => return Verdict::Holds,
        Number::Bool => (Grade::Warning, "bool"),
        Number::Index => (Grade::Warning, "object with __index__"),
        Number::Enum => (Grade::Violation, "member of a plain Enum"),
    };
    ctx.breaks(grade, || evidence(key, expected, format!("a {key}"), [method_fact(device)]))
}

/// This element of the answer is no number.
fn no_number(ctx: &Context, element: DeviceElement, expected: &'static str) -> Option<Verdict> {
    match &ctx.seen.device_before {
        DeviceAnswer::NoNumber(which, text) if *which == element => {
            Some(ctx.breaks(Grade::Violation, || {
                evidence("no number", expected, text.clone(), [method_fact(text)])
            }))
        }
        _ => None,
    }
}

fn answer(answer: &DeviceAnswer) -> String {
    match answer {
        DeviceAnswer::Pair { device, .. } => device.to_string(),
        DeviceAnswer::NoNumber(_, text) | DeviceAnswer::Malformed(text) => text.clone(),
        DeviceAnswer::Raised(raised) => raised.name.clone().into_owned(),
    }
}

pub(super) fn stable(ctx: &Context) -> Verdict {
    let Some(after) = &ctx.seen.device_after else {
        return Verdict::Silent;
    };
    let before = &ctx.seen.device_before;
    let is_same = match (before, after) {
        (DeviceAnswer::Pair { device: one, .. }, DeviceAnswer::Pair { device: two, .. }) => {
            one == two
        }
        (DeviceAnswer::Raised(one), DeviceAnswer::Raised(two)) => one.class == two.class,
        // The repr of an object may hold its address.
        (DeviceAnswer::Malformed(_), DeviceAnswer::Malformed(_)) => true,
        (DeviceAnswer::NoNumber(one, _), DeviceAnswer::NoNumber(two, _)) => one == two,
        _ => false,
    };
    ctx.require(is_same, Grade::Violation, || {
        evidence(
            "changes",
            format!("{} from __dlpack_device__(), as before the exports", answer(before)),
            answer(after),
            [method_fact(answer(before))],
        )
    })
}

pub(super) fn dunder_raises(ctx: &Context) -> Verdict {
    let DeviceAnswer::Raised(raised) = &ctx.seen.device_before else {
        return Verdict::Silent;
    };
    let is_lawful = matches!(raised.class, ErrorClass::Buffer | ErrorClass::Memory);
    ctx.require(is_lawful, Grade::Warning, || {
        evidence(
            raised.name.clone(),
            "a pair of numbers, or BufferError, from __dlpack_device__()",
            raised.name.clone(),
            [method_fact(&raised.name)],
        )
    })
}

/// The case says which device the imported memory is on.
pub(super) fn foreign(ctx: &Context) -> Verdict {
    let original = ctx.case.tensor.device;
    let (Object::Imported, Some(own)) = (ctx.case.tensor.object, ctx.seen.device_before.device())
    else {
        return Verdict::Silent;
    };
    ctx.require(own == original, Grade::Warning, || {
        evidence(
            "device",
            format!("device {original}, where the imported memory is"),
            format!("device {own} from __dlpack_device__()"),
            [method_fact(own)],
        )
    })
}
