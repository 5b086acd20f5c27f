//! **DEV**: `__dlpack_device__()` and the device in the struct.
//!
//! A device that the call invented says nothing of the exporter: what a device *is* is judged on the device
//! method and on exports without `dl_device` or with the array's own. One cause, one rule: an unknown type
//! before a bad index, and both before a disagreement.

mod method;
mod target;

use super::export::{Word, evidence};
use super::lived;
use super::{
    Container, Context, Evidence, Fact, Grade, Knob, Matter, Number, Of, Rule, Setting, Verdict,
    What,
};
use crate::abi::{DLDevice, DLDeviceType};
use crate::case::Object;

pub(super) const RULES: &[Rule] = &[
    lived::rule!("DEV-ORDER"),
    Rule { id: "DEV-BOTH", needs: Matter::ANY, judge: method::both },
    Rule { id: "DEV-TUPLE", needs: Matter::ANY, judge: method::is_tuple },
    Rule { id: "DEV-TYPE-ELEM", needs: Matter::ANY, judge: method::type_element },
    Rule { id: "DEV-ID-ELEM", needs: Matter::ANY, judge: method::id_element },
    Rule { id: "DEV-TYPE-KNOWN", needs: Matter::ANY, judge: |ctx| number(ctx, Fault::Type) },
    Rule { id: "DEV-ID-ZERO", needs: Matter::ANY, judge: |ctx| number(ctx, Fault::NotZero) },
    Rule { id: "DEV-ID-NONNEG", needs: Matter::ANY, judge: |ctx| number(ctx, Fault::Negative) },
    Rule { id: "DEV-STABLE", needs: Matter::ANY, judge: method::stable },
    Rule { id: "DEV-CONSISTENT", needs: Matter::TENSOR, judge: target::consistent },
    Rule { id: "DEV-HONOUR", needs: Matter::TENSOR, judge: target::honour },
    Rule {
        id: "DEV-HONOUR-CPU",
        needs: Matter::TENSOR.and(Matter::ELSEWHERE),
        judge: target::honour_cpu,
    },
    Rule { id: "DEV-CPU-OFFER", needs: Matter::ELSEWHERE, judge: target::cpu_offer },
    Rule { id: "DEV-CPU-ID-OTHER", needs: Matter::DL_DEVICE, judge: target::cpu_id_other },
    Rule { id: "DEV-DUNDER-RAISES", needs: Matter::ELSEWHERE, judge: method::dunder_raises },
    Rule { id: "DEV-FOREIGN", needs: Matter::ANY, judge: method::foreign },
];

fn method_fact(value: impl ToString) -> Fact {
    Fact { of: Of::Export, what: What::DeviceMethod, value: value.to_string() }
}

/// How the answer is typed, as the reproducer writes it.
fn form_fact(container: Container, elements: [Number; 2]) -> Fact {
    let container = match container {
        Container::Tuple => "tuple",
        Container::TupleSubclass => "tuple sub-class",
        Container::List => "list",
        Container::Other => "other",
    };
    let [one, two] = elements.map(|number| match number {
        Number::Int => "int",
        Number::Bool => "bool",
        Number::IntEnum => "IntEnum",
        Number::Enum => "Enum",
        Number::IntSubclass => "int sub-class",
        Number::Index => "__index__",
    });
    let value = format!("{container} of {one} and {two}");
    Fact { of: Of::Export, what: What::DeviceForm, value }
}

/// What is wrong with the numbers of a device.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    Type,
    Negative,
    NotZero,
}

/// The first fault of a device, with its grade.
fn examine(ctx: &Context, device: DLDevice) -> Option<(Fault, Grade)> {
    if device == DLDevice::CPU {
        return None;
    }
    let DLDeviceType(kind) = device.device_type;
    let aat = match ctx.profile.setting(Knob::Aat) {
        Setting::Grade(grade) if !device.device_type.is_array_api() => Some((Fault::Type, grade)),
        _ => None,
    };
    let fault = match kind {
        ..=0 | 5 | 6 => Some((Fault::Type, Grade::Violation)),
        // The enumeration grows without a new major version.
        19.. => Some((Fault::Type, Grade::Info)),
        _ if device.device_id < 0 => Some((Fault::Negative, Grade::Violation)),
        // A library that has several CPU devices built the array on this one.
        1 if device.device_id > 0 && ctx.case.tensor.device == device => {
            Some((Fault::NotZero, Grade::Warning))
        }
        1 if device.device_id > 0 => Some((Fault::NotZero, Grade::Violation)),
        3 | 11 | 13 if device.device_id > 0 => Some((Fault::NotZero, Grade::Warning)),
        _ => None,
    };
    match (aat, fault) {
        (Some(aat), Some((Fault::Type, grade))) if grade > aat.1 => Some((Fault::Type, grade)),
        (Some(aat), _) => Some(aat),
        (None, fault) => fault,
    }
}

fn number(ctx: &Context, fault: Fault) -> Verdict {
    // What a pass-through type was handed says nothing of it.
    if ctx.case.tensor.object == Object::Imported && ctx.case.tensor.device != DLDevice::CPU {
        return Verdict::Silent;
    }
    let word = |device: DLDevice| match examine(ctx, device) {
        None => Word::Holds,
        Some((found, grade)) if found == fault => Word::Breaks(grade),
        Some(_) => Word::Silent,
    };
    let words = |device: DLDevice, place: String, fact: Fact| -> Evidence {
        let (key, expected) = match fault {
            Fault::Type => ("device type", "a device type that DLPack defines"),
            Fault::Negative => ("device index", "an index that is not negative"),
            Fault::NotZero => {
                ("device index", "index 0, because CPU, pinned and managed memory have no other")
            }
        };
        evidence(key, expected, format!("device {device} {place}"), [fact])
    };
    let method = ctx.seen.device_before.device();
    let said = method.map_or(Word::Silent, word);
    if let (Word::Breaks(grade), Some(device)) = (said, method) {
        return ctx.breaks(grade, || {
            words(device, "from __dlpack_device__()".into(), method_fact(device))
        });
    }
    let exported = ctx.each_tensor(
        |export, tensor| match ctx.target(export.of).is_own() {
            true => word(tensor.device),
            false => Word::Silent,
        },
        |export, tensor| {
            words(tensor.device, export.place(), export.fact(What::Device, tensor.device))
        },
    );
    match (exported, said) {
        (Verdict::Silent, Word::Holds) => Verdict::Holds,
        (exported, _) => exported,
    }
}

#[cfg(test)]
mod tests;
