//! The **weight** of a case: what makes it more complicated than another, in numbers.

use crate::abi::DLDevice;
use crate::case::life::Step;
use crate::case::{Access, Arg, Call, Case, Contents, Dtype, Extra, Keys, Keyword, Layout, Object};
use crate::case::{Scalar, SeqKind, Tensor, Value};

/// How complicated a case is: a total preorder in which fewer things, smaller numbers and usual values come
/// first. The least is `array(shape=(), dtype='float32').__dlpack__()`.
pub fn weight(case: &Case) -> u64 {
    tensor_weight(&case.tensor)
        + call_weight(&case.call)
        + 20 * u64::from(case.probes.bits().count_ones())
        + case.life.steps().iter().map(|step| 30 + step_weight(*step)).sum::<u64>()
}

/// A slot further on, another place or mood: each a little more.
fn step_weight(step: Step) -> u64 {
    let [code, argument] = step.code();
    match step {
        Step::Export(slot, probe) => 2 * slot as u64 + if probe.is_some() { 10 } else { 0 },
        Step::Delete(slot, place) => slot as u64 + 4 * place as u64,
        Step::Drop(slot, mood) => slot as u64 + 4 * mood as u64,
        _ => u64::from(code) / 4 + u64::from(argument),
    }
}

fn tensor_weight(tensor: &Tensor) -> u64 {
    let Tensor { object, dtype, shape, layout, access, device, contents } = tensor;
    let object = if *object == Object::Array { 0 } else { 40 + *object as u64 };
    let swapped = u64::from(*dtype == dtype.swapped() && dtype.has_byte_order());
    let dtype_weight = match *dtype {
        Dtype::FLOAT32 => 0,
        dtype => 10 + plainness(dtype) + number_weight(i64::from(dtype.size)) + 20 * swapped,
    };
    let axes: u64 = shape.iter().map(|&extent| 60 + extent_weight(extent)).sum();
    let layout = match layout {
        Layout::C => 0,
        Layout::F => 10,
        Layout::Strided { strides, lead } => {
            let plain = Tensor { layout: Layout::C, ..tensor.clone() }.byte_strides();
            let gaps = strides.iter().zip(&plain).filter(|(stride, plain)| stride != plain);
            let strides: u64 = gaps.map(|(&stride, _)| 3 + number_weight(stride)).sum();
            20 + strides + if *lead == 0 { 0 } else { 4 + number_weight(i64::from(*lead)) }
        }
    };
    let access = if *access == Access::ReadOnly { 15 } else { 0 };
    let device = if *device == DLDevice::CPU { 0 } else { 50 };
    let contents =
        if *contents == Contents(7) { 0 } else { 4 + number_weight(i64::from(contents.0)) };
    object + dtype_weight + axes + layout + access + device + contents
}

/// The type's row; among those whose items have any size, `void` is the plainest.
fn plainness(dtype: Dtype) -> u64 {
    let row = u64::from(dtype.row());
    if dtype.is_flexible() && dtype.name() != "void" { row + 10 } else { row }
}

/// 1 is less than 2, and an axis that makes the array empty is a special case.
fn extent_weight(extent: i64) -> u64 {
    if extent == 0 { 20 } else { number_weight(extent) }
}

/// Small numbers weigh what they are, larger ones by their bits; a sign a little more.
fn number_weight(number: i64) -> u64 {
    let size = number.unsigned_abs();
    let bits = u64::from(u64::BITS - size.leading_zeros());
    (if bits <= 5 { size } else { 16 + 4 * bits }) + u64::from(number < 0)
}

fn call_weight(call: &Call) -> u64 {
    let arguments: u64 = Keyword::ALL.map(|keyword| arg_weight(call.arg(keyword))).iter().sum();
    let extra = if call.extra == Extra::Nothing { 0 } else { 30 };
    let keys = if call.keys == Keys::Interned { 0 } else { 10 };
    arguments + extra + keys + if call.order == 0 { 0 } else { 5 + u64::from(call.order) }
}

fn arg_weight(arg: &Arg) -> u64 {
    40 + match arg {
        Arg::Absent => return 0,
        Arg::Given(Value::Scalar(scalar)) => scalar_weight(scalar),
        Arg::Given(Value::Own) => 2,
        Arg::Given(Value::Seq(kind, items)) => {
            let kind = if *kind == SeqKind::Tuple { 0 } else { 20 };
            // Two items are what both keywords take; fewer or more are a mistake of their own.
            let length = 30 * items.len().abs_diff(2) as u64;
            5 + kind + length + items.iter().map(scalar_weight).sum::<u64>()
        }
    }
}

fn scalar_weight(scalar: &Scalar) -> u64 {
    match *scalar {
        Scalar::None => 0,
        Scalar::Bool(_) => 1,
        Scalar::Int(number) => 2 + number_weight(number),
        Scalar::Str(word) => 20 + u64::from(word),
        Scalar::Halves(halves) => 30 + number_weight(i64::from(halves)),
        Scalar::IntEnum(number)
        | Scalar::Enum(number)
        | Scalar::IntSubclass(number)
        | Scalar::NumpyInt(number)
        | Scalar::Index(number) => 40 + number_weight(number),
        Scalar::Bytes | Scalar::Object => 60,
        // More than any number that fits.
        Scalar::Huge { .. } => 400,
    }
}
