//! **Generation**: a random case of what a vocabulary allows.
//!
//! Each case turns on a few features only: most calls have at most one odd argument, so that a refusal
//! has one cause, and one in four has several, so that their precedence is met too (EXC-PRECEDENCE).
//! A feature that is off has its plain value, so that a fault that needs the plain value is not hidden.

use super::class::{Class, Tone, classes};
use super::pattern::Pattern;
use super::{Access, Arg, Call, Case, Contents, Extra, Keys, Keyword, Layout, Object};
use super::{Probe, Probes, Rng, Scalar, SeqKind, Shape, Surface, Tensor, Value, Vocabulary};
use crate::abi::DLDevice;
use smallvec::SmallVec;

/// Draws a case. It is normal.
pub fn generate(rng: &mut Rng, vocabulary: &Vocabulary) -> Case {
    let tensor =
        if rng.chance(1, 8) { vocabulary.ordinary.clone() } else { draw_tensor(rng, vocabulary) };
    let mut call = if rng.chance(1, 8) { Call::default() } else { draw_call(rng, tensor.device) };
    if vocabulary.surface == Surface::C {
        call.spell_in_c();
    }
    Case::new(tensor, call, draw_probes(rng)).normalized()
}

fn draw_tensor(rng: &mut Rng, vocabulary: &Vocabulary) -> Tensor {
    let mut tensor = Tensor::plain();
    if let Some(dtype) = rng.pick_weighted(&vocabulary.dtypes) {
        tensor.dtype = dtype;
    }
    if let Some(object) = rng.pick_weighted(&vocabulary.objects) {
        tensor.object = object;
    }
    let item = tensor.dtype.item_size();
    (tensor.shape, tensor.layout) = Pattern::draw(rng).fill(rng, vocabulary.max_ndim, item);
    if tensor.object == Object::Matrix && vocabulary.max_ndim >= 2 && tensor.shape.len() != 2 {
        tensor.shape = Shape::from_slice(&[rng.between(1, 3), rng.between(1, 3)]);
        tensor.layout = if rng.chance(1, 4) { Layout::F } else { Layout::C };
    }
    if rng.chance(1, 6) {
        tensor.access = Access::ReadOnly;
    }
    if rng.chance(1, 4) {
        tensor.contents = draw_contents(rng);
    }
    if !vocabulary.devices.is_empty() {
        tensor.device = *rng.pick(&vocabulary.devices);
    }
    tensor
}

pub(super) fn draw_contents(rng: &mut Rng) -> Contents {
    let any = Contents(rng.next_u64() as u8);
    *rng.pick(&[Contents::ZEROS, Contents::ONES, Contents::NANS, Contents(7), any])
}

fn draw_call(rng: &mut Rng, own: DLDevice) -> Call {
    let mut call = Call::default();
    for keyword in Keyword::ALL {
        if rng.chance(3, 4) {
            *call.arg_mut(keyword) = draw_arg(rng, keyword, Tone::Usual, own);
        }
    }
    let odd = match rng.below(20) {
        0..11 => 0,
        11..16 => 1,
        16..18 => 2,
        18 => 3,
        _ => 4,
    };
    // Any set of that many keywords.
    let mut keywords = Keyword::ALL;
    for place in 0..odd {
        let other = place + rng.below(4 - place as u64) as usize;
        keywords.swap(place, other);
        *call.arg_mut(keywords[place]) = draw_arg(rng, keywords[place], Tone::Odd, own);
    }
    match rng.below(48) {
        0 => call.extra = Extra::UnknownKeyword,
        1 => call.extra = Extra::Positional,
        _ => {}
    }
    if rng.chance(1, 16) {
        call.keys = Keys::Fresh;
    }
    if rng.chance(1, 6) {
        call.order = rng.below(24) as u8;
    }
    call
}

/// An argument of a class of that tone, every class equally often; within a class the values of the
/// calibration more often than the others.
pub(super) fn draw_arg(rng: &mut Rng, keyword: Keyword, tone: Tone, own: DLDevice) -> Arg {
    if tone == Tone::Odd && rng.chance(1, 24) {
        return Arg::Given(draw_value(rng));
    }
    // The classes are those of an array on the CPU.
    if keyword == Keyword::DlDevice && own != DLDevice::CPU && rng.chance(1, 3) {
        let (device_type, id) = (i64::from(own.device_type.0), i64::from(own.device_id));
        return Arg::Given(if rng.chance(1, 2) {
            Value::Own
        } else {
            Value::pair(device_type, id)
        });
    }
    let all = classes(keyword);
    let fitting = |class: &&Class| class.tone == tone;
    let count = all.iter().filter(fitting).count() as u64;
    let class = all.iter().filter(fitting).nth(rng.below(count) as usize);
    let class = class.expect("every keyword has usual and odd classes");
    let values = if class.samples.is_empty() || !class.more.is_empty() && rng.chance(1, 3) {
        class.more
    } else {
        class.samples
    };
    rng.pick(values).arg()
}

/// Any value at all: what no table foresaw.
fn draw_value(rng: &mut Rng) -> Value {
    if rng.chance(1, 2) {
        return Value::Scalar(draw_scalar(rng));
    }
    let kind = *rng.pick(&[SeqKind::Tuple, SeqKind::Tuple, SeqKind::List, SeqKind::TupleSubclass]);
    let length = *rng.pick(&[2, 2, 2, 2, 0, 1, 3, 7]);
    Value::Seq(kind, (0..length).map(|_| draw_scalar(rng)).collect::<SmallVec<_>>())
}

pub(super) fn draw_scalar(rng: &mut Rng) -> Scalar {
    let number = draw_number(rng);
    match rng.below(20) {
        0 => Scalar::None,
        1 => Scalar::Bool(number % 2 == 0),
        2 => Scalar::Huge { negative: number % 2 == 0 },
        3 => Scalar::IntEnum(number),
        4 => Scalar::Enum(number),
        5 => Scalar::IntSubclass(number),
        6 => Scalar::NumpyInt(number),
        7 => Scalar::Index(number),
        8 => Scalar::Halves(number as i32),
        9 => Scalar::Str(number.unsigned_abs() as u8),
        10 => Scalar::Bytes,
        11 => Scalar::Object,
        _ => Scalar::Int(number),
    }
}

/// Small numbers, and numbers at the edges of the C types.
pub(super) fn draw_number(rng: &mut Rng) -> i64 {
    match rng.below(8) {
        0..5 => rng.between(-2, 4),
        5 => rng.between(-100, 300),
        6 => {
            let power = 1i64 << rng.pick(&[7, 8, 15, 16, 31, 32, 53, 62]);
            let near = power + rng.between(-1, 1);
            if rng.chance(1, 2) { near } else { -near }
        }
        _ => *rng.pick(&[i64::MAX, i64::MIN, i64::MAX - 1, i64::MIN + 1]),
    }
}

/// Each further export costs as much as a case: one in four cases has any.
fn draw_probes(rng: &mut Rng) -> Probes {
    let count = match rng.below(512) {
        0 => return Probes::ALL,
        1..384 => 0,
        384..480 => 1,
        480..504 => 2,
        _ => 3,
    };
    (0..count).map(|_| *rng.pick(&Probe::ALL)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::class::table_classes;
    use crate::case::sweep::rows;
    use std::collections::{HashMap, HashSet};

    #[test]
    fn every_row_of_the_decision_table_is_drawn() {
        let names: HashMap<(Keyword, Arg), &str> = (Keyword::ALL.into_iter())
            .flat_map(|keyword| table_classes(keyword).iter().map(move |class| (keyword, class)))
            .flat_map(|(keyword, class)| {
                class.all().map(move |sample| ((keyword, sample.arg()), class.name))
            })
            .collect();
        let columns = [Keyword::DlDevice, Keyword::Copy, Keyword::MaxVersion, Keyword::Stream];
        let mut rng = Rng::new(3);
        let mut drawn = HashSet::new();
        for _ in 0..600_000 {
            let call = draw_call(&mut rng, DLDevice::CPU);
            drawn.insert(
                columns.map(|keyword| names.get(&(keyword, call.arg(keyword).clone())).copied()),
            );
        }
        let missed: Vec<_> = rows()
            .map(|row| row.names())
            .filter(|names| !drawn.contains(&names.map(Some)))
            .collect();
        assert!(missed.is_empty(), "{missed:?}");
    }
}
