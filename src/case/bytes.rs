//! **Bytes ⇄ case**, format version 1. Every byte string is a case: a string that ends early goes on in
//! zeros, and a byte that [`Case::encode`] never writes has a meaning too. `decode(encode(c)) == c` for
//! every normal case (see [`Case::normalized`]).
//!
//! A fixed **head** comes first, so that a changed byte there changes one thing only; the **payload**
//! follows with what the head calls for, in the order of this table. Zeros everywhere are
//! `array(shape=(6,), dtype='float32').__dlpack__()`. Numbers of several bytes are little-endian.
//!
//! | place | byte | meaning |
//! |---|---|---|
//! | 0 | version | 1; any other number is read as 1 until it has a meaning |
//! | 1 | dtype | below 96: row of [`Dtype::TABLE`] (modulo 44); above: the 14 usual types are five times as frequent |
//! | 2 | flags | bits 0–1: 3 = read-only; bits 2–4: 7 = swapped bytes; bits 5–7: contents 0 = 7, 1 = zeros, 2 = ones, 3 = NaNs, 7 = payload, else 7 |
//! | 3 | object | below 8: [`Object::ALL`]; to 175: array; above: modulo 8 |
//! | 4 | device | to 249: CPU; 250–254: [`DEVICES`]; 255: payload |
//! | 5 | rank | 0: 1; 1: 0; 2–64: that many axes; above: [`RANKS`] |
//! | 6 | layout | 0 and the even ones from 128: C; 1 modulo 4: F; else strided |
//! | 7–10 | stream, max_version, dl_device, copy | below 64: [`ARGS`]; 64: scalar in payload; 65: sequence in payload; else the keyword's [`USUAL`] |
//! | 11 | order | below 24: the order; else 0 |
//! | 12 | extra | bits 0–3: 14 = unknown keyword, 15 = positional; bits 4–7: 14, 15 = fresh names |
//! | 13 | probes | 0: none; 1–32: that one; 33–253: two; 254: all; 255: payload |
//!
//! | payload | when | form |
//! |---|---|---|
//! | size | flexible dtype | byte: below 64 itself; 255: u16 follows; else modulo 5 |
//! | contents | flags say so | byte |
//! | device | device is 255 | two i32 |
//! | extents | one per axis | byte: 0 = 6; 1–63 itself; 64 = 0; 254: u16 follows; 255: i64 follows; else [`EXTENTS`] |
//! | lead | strided | byte: below 32 itself; 255: byte follows; else mostly 0 ([`LEADS`]) |
//! | walk | strided | byte: 1 = first axis fastest; other = last axis fastest, with two axes swapped |
//! | strides | strided, one per axis, in the order of the walk | byte: below 16 [`stride_of`]; 253: i8 follows; 254: i16; 255: i64; else [`USUAL_STRIDES`] |
//! | arguments | 64, 65 | scalar: [`read_scalar`]; sequence: byte (bits 0–1 kind, 2–5 length, above 7 = 2), then scalars |
//! | probes | probes is 255 | u32 of bits |
//!
//! Trailing zeros are not written. A byte that `encode` never writes may get a meaning of its own without
//! a new version (an appended dtype or probe); whatever else moves `tests/data/golden_cases.tsv` needs one.

use super::sample::Sample;
use super::{Access, Arg, ByteOrder, Call, Case, Contents, Dtype, Extra, Keys, Keyword};
use super::{Layout, Object, Probe, Probes, Scalar, SeqKind, Shape, Strides, Tensor, Value};
use super::{MAX_ITEMS, MAX_NDIM};
use crate::abi::DLDevice;
use arbitrary::{Arbitrary, Unstructured};
use smallvec::SmallVec;

/// The format that this module reads and writes.
pub const FORMAT_VERSION: u8 = 1;

/// No encoded case is longer: head, 64 axes with extents and strides of 9 bytes, four sequences, the rest.
pub const MAX_ENCODED: usize = 14 + 16 + 64 * 18 + 4 * (1 + MAX_ITEMS * 10);

const HEAD: usize = 14;

/// Rows of [`Dtype::TABLE`] when this version was made; bytes above are read modulo this.
const DTYPE_ROWS: u8 = 44;
const USUAL_DTYPES: u8 = 14;

const DEVICES: [DLDevice; 5] = [
    DLDevice::new(2, 0),
    DLDevice::new(2, 1),
    DLDevice::new(13, 0),
    DLDevice::new(3, 0),
    DLDevice::new(1, 1),
];
const RANKS: [u8; 16] = [1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 4, 5, 6, 0];
const EXTENTS: [i64; 32] = [
    1,
    2,
    3,
    4,
    5,
    2,
    3,
    1,
    0,
    7,
    8,
    2,
    3,
    4,
    1,
    6,
    2,
    2,
    3,
    3,
    4,
    1,
    5,
    9,
    16,
    33,
    127,
    128,
    255,
    257,
    1000,
    1 << 40,
];
/// Codes of [`stride_of`] for a byte without a meaning of its own: mostly without gaps.
const USUAL_STRIDES: [u8; 16] = [0, 0, 0, 0, 0, 0, 1, 2, 2, 3, 3, 4, 5, 6, 7, 15];
const LEADS: [u8; 8] = [0, 0, 0, 0, 0, 0, 16, 64];

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
    [
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 25, 25, 26, 27, 28, 29, 30, 36,
    ],
    [
        0, 0, 0, 0, 0, 0, 0, 1, 1, 5, 5, 5, 5, 5, 6, 6, 8, 9, 10, 11, 12, 14, 44, 42,
    ],
    [
        0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 5, 5, 5, 4, 4, 23, 6, 15, 10, 17, 20, 21,
    ],
    [
        0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 27, 36,
    ],
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

impl Case {
    /// The case that these bytes stand for. Total, and without heap blocks up to six axes.
    pub fn decode(bytes: &[u8]) -> Self {
        read_case(&mut Unstructured::new(bytes))
    }

    /// The bytes of the case; those of its normal form if it is not normal.
    pub fn encode(&self) -> Vec<u8> {
        let mut buffer = [0; MAX_ENCODED];
        let length = self
            .encode_into(&mut buffer)
            .expect("no case is longer than MAX_ENCODED");
        buffer[..length].to_vec()
    }

    /// Writes the bytes to the front of `buffer` and tells how many; `None` if it is too short.
    pub fn encode_into(&self, buffer: &mut [u8]) -> Option<usize> {
        let mut bytes = Writer { buffer, length: 0 };
        write_case(&mut bytes, self)?;
        let written = &bytes.buffer[..bytes.length];
        Some(
            written
                .iter()
                .rposition(|&byte| byte != 0)
                .map_or(0, |last| last + 1),
        )
    }
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(read_case(u))
    }

    fn arbitrary_take_rest(u: Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(Self::decode(u.take_rest()))
    }

    fn size_hint(_depth: usize) -> (usize, Option<usize>) {
        (0, Some(MAX_ENCODED))
    }
}

fn read_case(u: &mut Unstructured) -> Case {
    let [
        _version,
        dtype,
        flags,
        object,
        device,
        rank,
        layout,
        arguments @ ..,
        order,
        extra,
        probes,
    ]: [u8; HEAD] = read(u);
    let dtype = read_dtype(u, dtype, flags);
    let access = if flags & 3 == 3 {
        Access::ReadOnly
    } else {
        Access::Writable
    };
    let contents = read_contents(u, flags >> 5);
    let object = match object {
        8..176 => Object::Array,
        code => Object::ALL[usize::from(code % 8)],
    };
    let device = match device {
        0..250 => DLDevice::CPU,
        255 => DLDevice::new(i32::from_le_bytes(read(u)), i32::from_le_bytes(read(u))),
        code => DEVICES[usize::from(code - 250)],
    };
    let shape = read_shape(u, rank);
    let layout = match layout {
        0 => Layout::C,
        code if code % 4 == 1 => Layout::F,
        code if code >= 128 && code % 2 == 0 => Layout::C,
        _ => read_strided(u, &shape, dtype.item_size() as i64),
    };
    let tensor = Tensor {
        object,
        dtype,
        shape,
        layout,
        access,
        device,
        contents,
    };
    let [stream, max_version, dl_device, copy] = arguments;
    let call = Call {
        stream: read_arg(u, stream, Keyword::Stream),
        max_version: read_arg(u, max_version, Keyword::MaxVersion),
        dl_device: read_arg(u, dl_device, Keyword::DlDevice),
        copy: read_arg(u, copy, Keyword::Copy),
        extra: match extra & 15 {
            14 => Extra::UnknownKeyword,
            15 => Extra::Positional,
            _ => Extra::Nothing,
        },
        keys: if extra >> 4 >= 14 {
            Keys::Fresh
        } else {
            Keys::Interned
        },
        order: if order < 24 { order } else { 0 },
    };
    Case {
        tensor,
        call,
        probes: read_probes(u, probes),
    }
    .normalized()
}

fn write_case(out: &mut Writer, case: &Case) -> Option<()> {
    let Case {
        tensor,
        call,
        probes,
    } = case;
    let swapped = u8::from(tensor.dtype.order == ByteOrder::Swapped) * (7 << 2);
    let read_only = u8::from(tensor.access == Access::ReadOnly) * 3;
    let contents = match tensor.contents.0 {
        7 => 0,
        seed @ ..3 => seed + 1,
        _ => 7,
    };
    let device = match DEVICES.iter().position(|&device| device == tensor.device) {
        _ if tensor.device == DLDevice::CPU => 0,
        Some(place) => 250 + place as u8,
        None => 255,
    };
    let shape = &tensor.shape[..tensor.shape.len().min(MAX_NDIM)];
    let extra = match call.extra {
        Extra::Nothing => 0,
        Extra::UnknownKeyword => 14,
        Extra::Positional => 15,
    };
    let probes_code = match probes.bits() {
        0 => 0,
        bits if bits.is_power_of_two() => bits.trailing_zeros() as u8 + 1,
        _ if *probes == Probes::ALL => 254,
        _ => 255,
    };
    out.put(&[
        FORMAT_VERSION,
        tensor.dtype.row(),
        read_only | swapped | contents << 5,
    ])?;
    out.put(&[tensor.object as u8, device])?;
    out.put(&[match shape.len() {
        0 => 1,
        1 => 0,
        rank => rank as u8,
    }])?;
    out.put(&[match tensor.layout {
        Layout::C => 0,
        Layout::F => 1,
        Layout::Strided { .. } => 2,
    }])?;
    let codes = Keyword::ALL.map(|keyword| arg_code(call.arg(keyword)));
    out.put(&codes)?;
    let fresh = u8::from(call.keys == Keys::Fresh) * (15 << 4);
    out.put(&[call.order % 24, extra | fresh, probes_code])?;

    if tensor.dtype.is_flexible() {
        match tensor.dtype.size {
            size @ ..64 => out.put(&[size as u8])?,
            size => out.put_wide(255, &size.to_le_bytes())?,
        }
    }
    if contents == 7 {
        out.put(&[tensor.contents.0])?;
    }
    if device == 255 {
        out.put(&tensor.device.device_type.0.to_le_bytes())?;
        out.put(&tensor.device.device_id.to_le_bytes())?;
    }
    for &extent in shape {
        match extent {
            6 => out.put(&[0])?,
            0 => out.put(&[64])?,
            1..64 => out.put(&[extent as u8])?,
            64..=0xffff => out.put_wide(254, &(extent as u16).to_le_bytes())?,
            _ => out.put_wide(255, &extent.to_le_bytes())?,
        }
    }
    if let Layout::Strided { strides, lead } = &tensor.layout {
        match *lead {
            0..32 => out.put(&[*lead])?,
            _ => out.put(&[255, *lead])?,
        }
        write_strides(out, shape, strides, tensor.dtype.item_size() as i64)?;
    }
    for (keyword, code) in Keyword::ALL.into_iter().zip(codes) {
        match call.arg(keyword) {
            Arg::Given(Value::Scalar(scalar)) if code == ARG_SCALAR => write_scalar(out, scalar)?,
            Arg::Given(Value::Seq(kind, items)) if code == ARG_SEQUENCE => {
                let length = items.len().min(MAX_ITEMS);
                out.put(&[*kind as u8 | (length as u8) << 2])?;
                items[..length]
                    .iter()
                    .try_for_each(|item| write_scalar(out, item))?;
            }
            _ => {}
        }
    }
    if probes_code == 255 {
        out.put(&probes.bits().to_le_bytes())?;
    }
    Some(())
}

fn read_dtype(u: &mut Unstructured, code: u8, flags: u8) -> Dtype {
    let row = match code {
        0..96 => code % DTYPE_ROWS,
        _ => (code - 96) % USUAL_DTYPES,
    };
    let plain = Dtype::from_row(row, 0);
    let size = match plain.is_flexible().then(|| byte(u)) {
        None => 0,
        Some(size @ 0..64) => u16::from(size),
        Some(255) => u16::from_le_bytes(read(u)),
        Some(size) => u16::from(size % 5),
    };
    let dtype = Dtype::from_row(row, size);
    if (flags >> 2) & 7 == 7 {
        dtype.swapped()
    } else {
        dtype
    }
}

fn read_contents(u: &mut Unstructured, code: u8) -> Contents {
    match code {
        1 => Contents::ZEROS,
        2 => Contents::ONES,
        3 => Contents::NANS,
        7 => Contents(byte(u)),
        _ => Contents(7),
    }
}

fn read_shape(u: &mut Unstructured, rank: u8) -> Shape {
    let rank = match rank {
        0 => 1,
        1 => 0,
        2..=64 => rank,
        _ => RANKS[usize::from(rank % 16)],
    };
    (0..rank).map(|_| read_extent(u)).collect()
}

fn read_extent(u: &mut Unstructured) -> i64 {
    match byte(u) {
        0 => 6,
        code @ 1..64 => i64::from(code),
        64 => 0,
        254 => i64::from(u16::from_le_bytes(read(u))),
        255 => i64::from_le_bytes(read(u)),
        code => EXTENTS[usize::from(code % 32)],
    }
}

fn read_strided(u: &mut Unstructured, shape: &Shape, item: i64) -> Layout {
    let lead = match byte(u) {
        lead @ 0..32 => lead,
        255 => byte(u),
        code => LEADS[usize::from(code % 8)],
    };
    let walk = byte(u);
    let mut strides = Strides::from_elem(0, shape.len());
    let mut natural = item;
    for place in 0..shape.len() {
        let axis = walked_axis(walk, place, shape.len());
        strides[axis] = match byte(u) {
            code @ 0..16 => stride_of(code, natural, item),
            253 => i64::from(i8::from_le_bytes(read(u))),
            254 => i64::from(i16::from_le_bytes(read(u))),
            255 => i64::from_le_bytes(read(u)),
            code => stride_of(USUAL_STRIDES[usize::from(code % 16)], natural, item),
        };
        natural = next_natural(natural, shape[axis], strides[axis]);
    }
    Layout::Strided { strides, lead }
}

fn write_strides(out: &mut Writer, shape: &[i64], strides: &[i64], item: i64) -> Option<()> {
    out.put(&[0])?;
    let mut natural = item;
    for (&extent, &stride) in shape.iter().zip(strides).rev() {
        match (0..16).find(|&code| stride_of(code, natural, item) == stride) {
            Some(code) => out.put(&[code])?,
            None if let Ok(short) = i8::try_from(stride) => {
                out.put_wide(253, &short.to_le_bytes())?
            }
            None if let Ok(short) = i16::try_from(stride) => {
                out.put_wide(254, &short.to_le_bytes())?
            }
            None => out.put_wide(255, &stride.to_le_bytes())?,
        }
        natural = next_natural(natural, extent, stride);
    }
    Some(())
}

/// The axis at a place of a walk: from the last axis to the first, with two places swapped, or the reverse.
fn walked_axis(walk: u8, place: usize, rank: usize) -> usize {
    let walk = usize::from(walk);
    match walk {
        0 => rank - 1 - place,
        1 => place,
        _ => {
            let (one, other) = (walk % rank, walk / 8 % rank);
            let swapped = match place {
                _ if place == one => other,
                _ if place == other => one,
                _ => place,
            };
            rank - 1 - swapped
        }
    }
}

/// The stride of a code. `natural` is the stride that lets the axis follow those before it without a gap.
fn stride_of(code: u8, natural: i64, item: i64) -> i64 {
    match code {
        0 => natural,
        1 => 0,
        2 => -natural,
        3 => natural.saturating_mul(2),
        4 => natural.saturating_add(item),
        5 => natural.saturating_add(1),
        6 => item,
        7 => -item,
        8 => 1,
        9 => 2 * item,
        10 => natural.saturating_mul(-2),
        11 => natural.saturating_sub(1),
        12 => 1 << 60,
        13 => -(1 << 60),
        14 => i64::MAX,
        _ => natural.saturating_mul(3),
    }
}

/// The natural stride of the next axis of the walk: always positive or 0.
fn next_natural(natural: i64, extent: i64, stride: i64) -> i64 {
    if extent > 1 && stride != 0 {
        stride.saturating_abs().saturating_mul(extent)
    } else {
        natural
    }
}

fn read_arg(u: &mut Unstructured, code: u8, keyword: Keyword) -> Arg {
    let place = match code {
        ARG_SCALAR => return Arg::Given(Value::Scalar(read_scalar(u))),
        ARG_SEQUENCE => return Arg::Given(read_sequence(u)),
        code if usize::from(code) < ARGS.len() => code,
        code => USUAL[keyword as usize][usize::from(code % 24)],
    };
    ARGS[usize::from(place)].arg()
}

fn arg_code(arg: &Arg) -> u8 {
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
    Value::Seq(
        kind,
        (0..length).map(|_| read_scalar(u)).collect::<SmallVec<_>>(),
    )
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

fn read_probes(u: &mut Unstructured, code: u8) -> Probes {
    const PROBES: u8 = 20;
    match code {
        0 => Probes::NONE,
        1..=32 => Probes::from_bits(1 << (code - 1)),
        254 => Probes::ALL,
        255 => Probes::from_bits(u32::from_le_bytes(read(u))),
        _ => [
            Probe::ALL[usize::from(code % PROBES)],
            Probe::ALL[usize::from(code / 3 % PROBES)],
        ]
        .into_iter()
        .collect(),
    }
}

/// The next byte; 0 after the end.
fn byte(u: &mut Unstructured) -> u8 {
    u.bytes(1).map_or(0, |bytes| bytes[0])
}

/// The next bytes; zeros after the end.
fn read<const N: usize>(u: &mut Unstructured) -> [u8; N] {
    let mut bytes = [0; N];
    // `fill_buffer` fills up with zeros and has no failure.
    let _ = u.fill_buffer(&mut bytes);
    bytes
}

struct Writer<'a> {
    buffer: &'a mut [u8],
    length: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) -> Option<()> {
        self.buffer
            .get_mut(self.length..self.length + bytes.len())?
            .copy_from_slice(bytes);
        self.length += bytes.len();
        Some(())
    }

    /// A code that says that wider numbers follow, and they.
    fn put_wide(&mut self, code: u8, bytes: &[u8]) -> Option<()> {
        self.put(&[code])?;
        self.put(bytes)
    }
}
