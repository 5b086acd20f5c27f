//! Arguments of a call in the byte format: one byte for those of a table, a payload for any other.

use super::{Writer, byte, read};
use crate::case::sample::Sample;
use crate::case::{Arg, Keyword, MAX_ITEMS, Scalar, SeqKind, Value};
use arbitrary::Unstructured;
use smallvec::SmallVec;

/// Arguments with a byte of their own. Append only; the place is the byte, up to 63.
const ARGS: &[Sample] = {
    use SeqKind::*;
    &[
        Sample::Absent,
        Sample::NONE,
        Sample::bool(true),
        Sample::bool(false),
        Sample::Own,
        Sample::Pair(1, 0),
        Sample::Pair(1, 1),
        Sample::Pair(1, 2),
        Sample::Pair(1, 3),
        Sample::Pair(1, 99),
        Sample::Pair(2, 0),
        Sample::Pair(100, 3),
        Sample::Pair(0, 0),
        Sample::Pair(0, 5),
        Sample::Pair(0, 8),
        Sample::Pair(2, 1),
        Sample::Pair(3, 0),
        Sample::Pair(10, 0),
        Sample::Pair(13, 0),
        Sample::Pair(5, 0),
        Sample::Pair(99, 0),
        Sample::Pair(-1, 0),
        Sample::Pair(1, -1),
        Sample::Seq(Tuple, &[Scalar::IntEnum(1), Scalar::Int(0)]),
        Sample::Seq(Tuple, &[Scalar::IntEnum(2), Scalar::Int(0)]),
        Sample::int(-1),
        Sample::int(0),
        Sample::int(1),
        Sample::int(2),
        Sample::int(3),
        Sample::int(-2),
        Sample::int(1 << 31),
        Sample::int(i64::MAX),
        Sample::int(i64::MIN),
        Sample::One(Scalar::Huge { negative: false }),
        Sample::One(Scalar::Huge { negative: true }),
        Sample::One(Scalar::Str(1)),
        Sample::One(Scalar::Str(3)),
        Sample::One(Scalar::Halves(2)),
        Sample::One(Scalar::Halves(3)),
        Sample::One(Scalar::Object),
        Sample::One(Scalar::Bytes),
        Sample::Seq(List, &[Scalar::Int(1), Scalar::Int(0)]),
        Sample::Seq(TupleSubclass, &[Scalar::Int(1), Scalar::Int(0)]),
        Sample::Seq(Tuple, &[Scalar::Int(1)]),
        Sample::Seq(Tuple, &[Scalar::Int(1), Scalar::Int(0), Scalar::Int(0)]),
        Sample::Seq(Tuple, &[]),
        Sample::One(Scalar::IntEnum(1)),
        Sample::One(Scalar::Enum(1)),
        Sample::One(Scalar::IntSubclass(1)),
        Sample::One(Scalar::NumpyInt(1)),
        Sample::One(Scalar::Index(1)),
        Sample::Seq(Tuple, &[Scalar::Halves(2), Scalar::Halves(0)]),
        Sample::Seq(Tuple, &[Scalar::None, Scalar::None]),
    ]
};
const ARG_SCALAR: u8 = 64;
const ARG_SEQUENCE: u8 = 65;

/// What a byte without a meaning of its own stands for, keyword by keyword: places in [`ARGS`], mostly
/// absent or lawful, now and then odd.
const USUAL: [[u8; 24]; 4] = [
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 25, 25, 26, 27, 28, 29, 30, 36],
    [0, 0, 0, 0, 0, 0, 0, 1, 1, 5, 5, 5, 5, 5, 6, 6, 8, 9, 10, 11, 12, 14, 44, 42],
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 5, 5, 5, 4, 4, 23, 6, 15, 10, 17, 20, 21],
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 27, 36],
];

/// Numbers at the edges, at bytes 200 and up of a number.
const EDGES: [i64; 14] = [
    i64::MAX,
    i64::MIN,
    i32::MAX as i64,
    i32::MIN as i64,
    1 << 31,
    -(1 << 31) - 1,
    1 << 32,
    u32::MAX as i64,
    -(1 << 32),
    255,
    256,
    -128,
    1 << 53,
    1 << 62,
];

pub(super) fn read_arg(u: &mut Unstructured, code: u8, keyword: Keyword) -> Arg {
    let place = match code {
        ARG_SCALAR => return Arg::Given(Value::Scalar(read_scalar(u))),
        ARG_SEQUENCE => return Arg::Given(read_sequence(u)),
        code if usize::from(code) < ARGS.len() => code,
        code => USUAL[keyword as usize][usize::from(code % 24)],
    };
    ARGS[usize::from(place)].arg()
}

pub(super) fn arg_code(arg: &Arg) -> u8 {
    match ARGS.iter().position(|sample| sample.is(arg)) {
        Some(place) => place as u8,
        None if matches!(arg, Arg::Given(Value::Seq(..))) => ARG_SEQUENCE,
        None => ARG_SCALAR,
    }
}

fn read_sequence(u: &mut Unstructured) -> Value {
    let code = byte(u);
    let kind = match code & 3 {
        1 => SeqKind::List,
        2 => SeqKind::TupleSubclass,
        _ => SeqKind::Tuple,
    };
    let length = match (code >> 2) & 15 {
        length @ 0..8 => length,
        _ => 2,
    };
    Value::Seq(kind, (0..length).map(|_| read_scalar(u)).collect::<SmallVec<_>>())
}

/// A scalar: one byte for small numbers and words, a number behind it for the others.
fn read_scalar(u: &mut Unstructured) -> Scalar {
    let code = match byte(u) {
        code @ 0..40 => code,
        code if code & 4 == 0 => code % 3,
        code => code % 40,
    };
    match code {
        16 => Scalar::Int(-1),
        17 => Scalar::Int(-2),
        18 => Scalar::Int(99),
        19 => Scalar::Int(100),
        20 => Scalar::None,
        21 => Scalar::Bool(true),
        22 => Scalar::Bool(false),
        23 => Scalar::Huge { negative: false },
        24 => Scalar::Huge { negative: true },
        25 => Scalar::Bytes,
        26 => Scalar::Object,
        27..33 => Scalar::Str(code - 27),
        33 => Scalar::Int(read_number(u)),
        34 => Scalar::IntEnum(read_number(u)),
        35 => Scalar::Enum(read_number(u)),
        36 => Scalar::IntSubclass(read_number(u)),
        37 => Scalar::NumpyInt(read_number(u)),
        38 => Scalar::Index(read_number(u)),
        39 => Scalar::Halves(read_number(u) as i32),
        small => Scalar::Int(i64::from(small)),
    }
}

fn write_scalar(out: &mut Writer, scalar: &Scalar) -> Option<()> {
    let (code, number) = match *scalar {
        Scalar::Int(small @ 0..16) => (small as u8, None),
        Scalar::Int(-1) => (16, None),
        Scalar::Int(-2) => (17, None),
        Scalar::Int(99) => (18, None),
        Scalar::Int(100) => (19, None),
        Scalar::None => (20, None),
        Scalar::Bool(true) => (21, None),
        Scalar::Bool(false) => (22, None),
        Scalar::Huge { negative: false } => (23, None),
        Scalar::Huge { negative: true } => (24, None),
        Scalar::Bytes => (25, None),
        Scalar::Object => (26, None),
        Scalar::Str(word) => (27 + word % 6, None),
        Scalar::Int(value) => (33, Some(value)),
        Scalar::IntEnum(value) => (34, Some(value)),
        Scalar::Enum(value) => (35, Some(value)),
        Scalar::IntSubclass(value) => (36, Some(value)),
        Scalar::NumpyInt(value) => (37, Some(value)),
        Scalar::Index(value) => (38, Some(value)),
        Scalar::Halves(halves) => (39, Some(i64::from(halves))),
    };
    out.put(&[code])?;
    number.map_or(Some(()), |number| write_number(out, number))
}

fn read_number(u: &mut Unstructured) -> i64 {
    match byte(u) {
        code @ 0..200 if code % 2 == 0 => i64::from(code / 2),
        code @ 0..200 => -i64::from(code / 2) - 1,
        255 => i64::from_le_bytes(read(u)),
        code => EDGES[usize::from(code - 200) % EDGES.len()],
    }
}

fn write_number(out: &mut Writer, number: i64) -> Option<()> {
    match number {
        0..100 => out.put(&[2 * number as u8]),
        -100..0 => out.put(&[(-2 * number - 1) as u8]),
        _ => match EDGES.iter().position(|&edge| edge == number) {
            Some(place) => out.put(&[200 + place as u8]),
            None => out.put_wide(255, &number.to_le_bytes()),
        },
    }
}

/// What follows for an argument of that code: nothing for those of the table.
pub(super) fn write_payload(out: &mut Writer, arg: &Arg, code: u8) -> Option<()> {
    match arg {
        Arg::Given(Value::Scalar(scalar)) if code == ARG_SCALAR => write_scalar(out, scalar),
        Arg::Given(Value::Seq(kind, items)) if code == ARG_SEQUENCE => {
            let length = items.len().min(MAX_ITEMS);
            out.put(&[*kind as u8 | (length as u8) << 2])?;
            items[..length].iter().try_for_each(|item| write_scalar(out, item))
        }
        _ => Some(()),
    }
}
