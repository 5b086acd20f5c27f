//! The three **factors** of the decision table (data, kinds, order) and their combination.
//!
//! This file is the table: it says nothing of modifiers, profiles or probes. `tests/decision_table.rs`
//! holds it against all 4116 rows of `decision_table.tsv`.

use super::class::{Classes, CopyArg, DlDevice, MaxVersion, Own, Stream};
use super::token::{Cell, Token, Tokens};
use crate::oracle::Grade;

/// How a capsule is graded by one factor: `None` is lawful.
pub(super) type Mark = Option<Grade>;

const INFO: Mark = Some(Grade::Info);
const WARN: Mark = Some(Grade::Warning);
const FAULT: Mark = Some(Grade::Violation);

/// Factor 1: own device, `dl_device`, `copy`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub alias: Mark,
    pub copy: Mark,
    pub errors: Cell,
}

/// Factor 2: `max_version`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kinds {
    pub legacy: Mark,
    pub versioned: Mark,
    pub errors: Cell,
}

/// Factor 3: `stream` on the effective device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub capsule: Mark,
    pub errors: Cell,
}

fn errors(ok: &[Token], info: &[Token], warn: &[Token]) -> Cell {
    Cell { ok: Tokens::of(ok), info: Tokens::of(info), warn: Tokens::of(warn) }
}

/// The exceptions of a wrong argument: those that Python has for it, and what signals a missing check.
fn malformed() -> Cell {
    Cell {
        ok: Tokens::ARGUMENT_ERRORS,
        info: Tokens::NONE,
        warn: Tokens::of(&[Token::Runtime, Token::Assertion, Token::Other]),
    }
}

pub(super) fn data(classes: Classes) -> Data {
    use Token::*;
    let Classes { own, dl_device, copy, max_version, .. } = classes;
    match dl_device {
        DlDevice::Absent | DlDevice::None | DlDevice::Same => match copy {
            CopyArg::Absent | CopyArg::None => {
                Data { alias: None, copy: WARN, errors: Cell::default() }
            }
            CopyArg::True => Data { alias: FAULT, copy: None, errors: errors(&[], &[], &[Buffer]) },
            CopyArg::False => {
                let refusal: &[Token] = if max_version.is_silent() { &[Buffer] } else { &[] };
                Data { alias: None, copy: FAULT, errors: errors(&[], &[], refusal) }
            }
        },
        DlDevice::CpuOther if own == Own::Host => {
            let errors = errors(&[Buffer], &[], &[Type, Value, Overflow, Runtime]);
            match copy {
                CopyArg::Absent | CopyArg::None => Data { alias: None, copy: WARN, errors },
                CopyArg::True => Data { alias: FAULT, copy: None, errors },
                CopyArg::False => Data { alias: None, copy: FAULT, errors },
            }
        }
        DlDevice::CpuOther => {
            let is_shared = own == Own::Accessible;
            match copy {
                CopyArg::Absent | CopyArg::None => Data {
                    alias: if is_shared { None } else { FAULT },
                    copy: None,
                    errors: errors(&[], &[], &[Buffer]),
                },
                CopyArg::True => {
                    Data { alias: FAULT, copy: None, errors: errors(&[], &[], &[Buffer]) }
                }
                CopyArg::False => Data {
                    alias: if is_shared { None } else { FAULT },
                    copy: FAULT,
                    errors: errors(&[Buffer], &[], &[]),
                },
            }
        }
        DlDevice::UnsupportedOther => {
            Data { alias: FAULT, copy: FAULT, errors: errors(&[Buffer], &[], &[]) }
        }
        DlDevice::UnknownType => Data {
            alias: FAULT,
            copy: FAULT,
            errors: errors(&[Buffer], &[Type, Value, Overflow], &[Runtime, Other]),
        },
        DlDevice::Malformed => Data {
            alias: if copy == CopyArg::True { FAULT } else { WARN },
            copy: if copy == CopyArg::False { FAULT } else { WARN },
            errors: malformed(),
        },
    }
}

pub(super) fn kinds(max_version: MaxVersion) -> Kinds {
    use Token::*;
    match max_version {
        MaxVersion::Absent | MaxVersion::None => {
            Kinds { legacy: None, versioned: FAULT, errors: errors(&[BufferIfLegacy], &[], &[]) }
        }
        MaxVersion::Zero => {
            Kinds { legacy: None, versioned: WARN, errors: errors(&[Buffer], &[], &[]) }
        }
        MaxVersion::OneZero | MaxVersion::OneMore => {
            Kinds { legacy: INFO, versioned: None, errors: errors(&[], &[], &[BufferIfMinor]) }
        }
        MaxVersion::Two => Kinds { legacy: INFO, versioned: None, errors: Cell::default() },
        MaxVersion::Malformed => Kinds { legacy: INFO, versioned: INFO, errors: malformed() },
    }
}

/// Where the data is when the call returns, as far as streams go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effective {
    /// An array that lives on the CPU.
    Cpu,
    /// Another array brought to the CPU by `dl_device`.
    CpuByRequest,
    Cuda,
    /// `dl_device` names a device that the exporter has not.
    Nowhere,
}

pub(super) fn effective(classes: Classes) -> Effective {
    match (classes.own, classes.dl_device) {
        (_, DlDevice::UnsupportedOther | DlDevice::UnknownType) => Effective::Nowhere,
        (Own::Host, _) => Effective::Cpu,
        (_, DlDevice::CpuOther) => Effective::CpuByRequest,
        _ => Effective::Cuda,
    }
}

pub(super) fn order(classes: Classes) -> Order {
    use Token::*;
    if classes.stream == Stream::None {
        return Order { capsule: None, errors: Cell::default() };
    }
    let effective = effective(classes);
    let capsule = match (effective, classes.stream) {
        (Effective::Nowhere, _) => None,
        (Effective::Cpu, Stream::MinusOne) | (Effective::CpuByRequest, _) => INFO,
        (Effective::Cuda, Stream::MinusOne | Stream::OneTwo | Stream::Pointer) => None,
        (Effective::Cpu | Effective::Cuda, _) => WARN,
    };
    let errors = if effective == Effective::Cuda && capsule.is_none() {
        // A lawful stream that the exporter need not support (STR-OPTIONAL).
        errors(&[Buffer, Value], &[Type, Runtime, Assertion, Overflow], &[Other])
    } else {
        Cell {
            ok: Tokens::ARGUMENT_ERRORS,
            info: Tokens::of(&[Runtime, Assertion]),
            warn: Tokens::of(&[Other]),
        }
    };
    Order { capsule, errors }
}

/// The row of the decision table.
pub fn expected(classes: Classes) -> Cell {
    let data = data(classes);
    let kinds = kinds(classes.max_version);
    let order = order(classes);
    let mut cell = data.errors.union(kinds.errors).union(order.errors);
    let plain = cell.grade(Token::Buffer);
    for conditional in [Token::BufferIfLegacy, Token::BufferIfMinor] {
        if plain <= cell.grade(conditional) {
            cell.remove(conditional);
        }
    }
    for (token, kind, content) in [
        (Token::LegacyAlias, kinds.legacy, data.alias),
        (Token::LegacyCopy, kinds.legacy, data.copy),
        (Token::VersionedAlias, kinds.versioned, data.alias),
        (Token::VersionedCopy, kinds.versioned, data.copy),
    ] {
        cell.put(token, kind.max(content).max(order.capsule));
    }
    cell
}
