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
//! | 0 | version | 1; 2: the same, and a life follows the payload; any other number is read as 1 until it has a meaning |
//! | 1 | dtype | below 96: row of [`Dtype::TABLE`] (modulo 44 where there is none); above: the 14 usual types are five times as frequent |
//! | 2 | flags | bits 0–1: 3 = read-only; bits 2–4: 7 = swapped bytes; bits 5–7: contents 0 = 7, 1 = zeros, 2 = ones, 3 = NaNs, 7 = payload, else 7 |
//! | 3 | object | below 128: [`Object::ALL`], array where there is none; to 175: array; above: modulo 8 |
//! | 4 | device | to 249: CPU; 250–254: [`DEVICES`]; 255: payload |
//! | 5 | rank | 0: 1; 1: 0; 2–64: that many axes; above: [`layout::RANKS`] |
//! | 6 | layout | 0 and the even ones from 128: C; 1 modulo 4: F; else strided |
//! | 7–10 | stream, max_version, dl_device, copy | below 64: [`argument::ARGS`]; 64: scalar in payload; 65: sequence in payload; else the keyword's [`argument::USUAL`] |
//! | 11 | order | below 24: the order; else 0 |
//! | 12 | extra | bits 0–3: 14 = unknown keyword, 15 = positional; bits 4–7: 14, 15 = fresh names |
//! | 13 | probes | 0: none; 1–32: that one (25–32: [`ExchangeStep`](super::ExchangeStep)); 33–253: two; 254: all; 255: payload |
//!
//! | payload | when | form |
//! |---|---|---|
//! | size | flexible dtype | byte: below 64 itself; 255: u16 follows; else modulo 5 |
//! | contents | flags say so | byte |
//! | device | device is 255 | two i32 |
//! | extents | one per axis | byte: 0 = 6; 1–63 itself; 64 = 0; 254: u16 follows; 255: i64 follows; else [`layout::EXTENTS`] |
//! | lead | strided | byte: below 32 itself; 255: byte follows; else mostly 0 ([`layout::LEADS`]) |
//! | walk | strided | byte: 1 = first axis fastest; other = last axis fastest, with two axes swapped |
//! | strides | strided, one per axis, in the order of the walk | byte: below 16 [`layout::stride_of`]; 253: i8 follows; 254: i16; 255: i64; else [`layout::USUAL_STRIDES`] |
//! | arguments | 64, 65 | scalar: [`argument::read_scalar`]; sequence: byte (bits 0–1 kind, 2–5 length, above 7 = 2), then scalars |
//! | probes | probes is 255 | u32 of bits |
//! | life | version is 2 | two bytes for each step ([`life`](super::life)), to two zeros or the twelfth |
//!
//! Trailing zeros are not written. A byte that `encode` never writes may get a meaning of its own without
//! a new version (an appended dtype or probe); whatever else moves `tests/data/golden_cases.tsv` needs one.

mod argument;
mod layout;

use super::life::{Life, MAX_STEPS, Step};
use super::{Access, ByteOrder, Call, Case, Contents, Dtype, Extra, Keys, Keyword, Layout};
use super::{MAX_ITEMS, MAX_NDIM, Object, Probe, Probes, Tensor};
use crate::abi::DLDevice;
use arbitrary::{Arbitrary, Unstructured};
use argument::{arg_code, read_arg, write_payload};
use layout::{read_shape, read_strided, write_shape, write_strided};

/// The format that this module reads and writes.
pub const FORMAT_VERSION: u8 = 1;
/// The same with a life.
const VERSION_WITH_LIFE: u8 = 2;

/// No encoded case is longer: head, 64 axes with extents and strides of 9 bytes, four sequences, a life, the
/// rest.
pub const MAX_ENCODED: usize = 14 + 16 + 64 * 18 + 4 * (1 + MAX_ITEMS * 10) + 2 * MAX_STEPS;

const HEAD: usize = 14;

/// Rows of [`Dtype::TABLE`] when this version was made; bytes that are no row are read modulo this.
const DTYPE_ROWS: u8 = 44;
const USUAL_DTYPES: u8 = 14;

/// What lies beyond would have no byte.
const _: () = assert!(Dtype::TABLE.len() <= 96 && Object::ALL.len() <= 128);

const DEVICES: [DLDevice; 5] = [
    DLDevice::new(2, 0),
    DLDevice::new(2, 1),
    DLDevice::new(13, 0),
    DLDevice::new(3, 0),
    DLDevice::new(1, 1),
];
impl Case {
    /// The case that these bytes stand for. Total, and without heap blocks up to six axes.
    pub fn decode(bytes: &[u8]) -> Self {
        read_case(&mut Unstructured::new(bytes))
    }

    /// The bytes of the case; those of its normal form if it is not normal.
    pub fn encode(&self) -> Vec<u8> {
        let mut buffer = [0; MAX_ENCODED];
        let length = self.encode_into(&mut buffer).expect("no case is longer than MAX_ENCODED");
        buffer[..length].to_vec()
    }

    /// Writes the bytes to the front of `buffer` and tells how many; `None` if it is too short.
    pub fn encode_into(&self, buffer: &mut [u8]) -> Option<usize> {
        let mut bytes = Writer { buffer, length: 0 };
        write_case(&mut bytes, self)?;
        let written = &bytes.buffer[..bytes.length];
        Some(written.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1))
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
        version,
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
    let access = if flags & 3 == 3 { Access::ReadOnly } else { Access::Writable };
    let contents = read_contents(u, flags >> 5);
    let object = match object {
        // An object that was appended takes the code of its place, which meant an array before.
        0..176 => *Object::ALL.get(usize::from(object)).unwrap_or(&Object::Array),
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
    let tensor = Tensor { object, dtype, shape, layout, access, device, contents };
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
        keys: if extra >> 4 >= 14 { Keys::Fresh } else { Keys::Interned },
        order: if order < 24 { order } else { 0 },
    };
    let mut case = Case::new(tensor, call, read_probes(u, probes));
    if version == VERSION_WITH_LIFE {
        let steps = std::iter::from_fn(|| Step::of_code(read(u))).take(MAX_STEPS);
        case.life = Life::normalized(steps);
    }
    // The values are within their limits as they are read.
    case.tensor.normalize();
    case.call.normalize_order();
    case
}

fn write_case(out: &mut Writer, case: &Case) -> Option<()> {
    let Case { tensor, call, probes, life } = case;
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
    let version = if life.is_empty() { FORMAT_VERSION } else { VERSION_WITH_LIFE };
    out.put(&[version, tensor.dtype.row(), read_only | swapped | contents << 5])?;
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
    write_shape(out, shape)?;
    if let Layout::Strided { strides, lead } = &tensor.layout {
        write_strided(out, shape, strides, *lead, tensor.dtype.item_size() as i64)?;
    }
    for (keyword, code) in Keyword::ALL.into_iter().zip(codes) {
        write_payload(out, call.arg(keyword), code)?;
    }
    if probes_code == 255 {
        out.put(&probes.bits().to_le_bytes())?;
    }
    for step in life.steps() {
        out.put(&step.code())?;
    }
    Some(())
}

fn read_dtype(u: &mut Unstructured, code: u8, flags: u8) -> Dtype {
    let row = match code {
        // A row that was appended takes the code of its place, which meant another one before.
        0..96 if usize::from(code) < Dtype::TABLE.len() => code,
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
    if (flags >> 2) & 7 == 7 { dtype.swapped() } else { dtype }
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

fn read_probes(u: &mut Unstructured, code: u8) -> Probes {
    const PROBES: u8 = 20;
    match code {
        0 => Probes::NONE,
        1..=32 => Probes::from_bits(1 << (code - 1)),
        254 => Probes::ALL,
        255 => Probes::from_bits(u32::from_le_bytes(read(u))),
        _ => [Probe::ALL[usize::from(code % PROBES)], Probe::ALL[usize::from(code / 3 % PROBES)]]
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
        self.buffer.get_mut(self.length..self.length + bytes.len())?.copy_from_slice(bytes);
        self.length += bytes.len();
        Some(())
    }

    /// A code that says that wider numbers follow, and they.
    fn put_wide(&mut self, code: u8, bytes: &[u8]) -> Option<()> {
        self.put(&[code])?;
        self.put(bytes)
    }
}
