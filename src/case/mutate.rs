//! **Mutation**: one to three small changes of a case, in place. What comes out is normal, and within the
//! vocabulary if the case was.

use super::class::Tone;
use super::generate::{draw_arg, draw_contents, draw_number, draw_scalar};
use super::normal::fit_span;
use super::pattern::{Pattern, wild_stride};
use super::{
    Access, Arg, Call, Case, Dtype, Extra, Keys, Keyword, Layout, MAX_FLEXIBLE, MAX_ITEMS,
};
use super::{Object, Probe, Probes, Rng, Scalar, SeqKind, Surface, Tensor, Value, Vocabulary};
use crate::abi::DLDevice;

/// The longest axis of an ordinary case.
const USUAL_EXTENT: i64 = 6;
/// Elements of an ordinary case.
const USUAL_SIZE: i64 = 64;
/// Bytes that they lie in: filled, copied and compared for every case.
const USUAL_BYTES: u64 = 1 << 10;

/// Changes the case a little. Without heap blocks up to six axes.
pub fn mutate(case: &mut Case, rng: &mut Rng, vocabulary: &Vocabulary) {
    // A corpus collects what is rare, and that is mostly slow: further exports, Python-level sub-classes,
    // large arrays. Most mutations of such a case go on from its plain side.
    if rng.chance(7, 8) {
        thin_out(&mut case.probes, rng);
    }
    if rng.chance(7, 8) {
        case.tensor.object = Object::Array;
    }
    if rng.chance(15, 16) {
        make_small(&mut case.tensor);
    }
    for _ in 0..*rng.pick(&[1, 1, 1, 2, 2, 3]) {
        match rng.below(16) {
            0..2 => change_extent(&mut case.tensor, rng),
            2 => change_axes(&mut case.tensor, rng, vocabulary.max_ndim),
            3..5 => change_stride(&mut case.tensor, rng),
            5 => change_layout(&mut case.tensor, rng, vocabulary.max_ndim),
            6..8 => change_dtype(&mut case.tensor, rng, vocabulary),
            8 => change_array(&mut case.tensor, rng, vocabulary),
            9..12 => redraw_argument(&mut case.call, rng, case.tensor.device),
            12 => tweak_argument(&mut case.call, rng),
            13 => change_call(&mut case.call, rng),
            14 => change_probes(&mut case.probes, rng),
            _ => change_extent(&mut case.tensor, rng),
        }
    }
    if vocabulary.surface == Surface::C {
        case.call.spell_in_c();
    }
    case.normalize();
}

fn change_extent(tensor: &mut Tensor, rng: &mut Rng) {
    if tensor.shape.is_empty() {
        return;
    }
    let axis = rng.below(tensor.shape.len() as u64) as usize;
    let extent = &mut tensor.shape[axis];
    *extent = match rng.below(8) {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => extent.saturating_add(1),
        4 => *extent - 1,
        5 => extent.saturating_mul(2),
        // Large arrays cost a hundred times a small one.
        6 if rng.chance(1, 8) => *rng.pick(&[1000, 1 << 16, 1 << 31, 1 << 47, i64::MAX]),
        6 => *rng.pick(&[15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257]),
        _ => rng.between(0, 9),
    };
}

fn change_axes(tensor: &mut Tensor, rng: &mut Rng, max_ndim: usize) {
    let rank = tensor.shape.len();
    let (axis, other) = (rng.below(rank as u64) as usize, rng.below(rank as u64) as usize);
    let strides = match &mut tensor.layout {
        Layout::Strided { strides, .. } => Some(strides),
        Layout::C | Layout::F => None,
    };
    match rng.below(3) {
        0 if rank < max_ndim => {
            let place = rng.below(rank as u64 + 1) as usize;
            tensor.shape.insert(place, *rng.pick(&[1, 1, 2, 3, 0]));
            if let Some(strides) = strides {
                strides.insert(place, wild_stride(rng, tensor.dtype.item_size() as i64));
            }
        }
        1 if rank > 0 => {
            tensor.shape.remove(axis);
            if let Some(strides) = strides {
                strides.remove(axis);
            }
        }
        2 if rank > 0 => {
            tensor.shape.swap(axis, other);
            if let Some(strides) = strides {
                strides.swap(axis, other);
            }
        }
        _ => {}
    }
}

fn change_stride(tensor: &mut Tensor, rng: &mut Rng) {
    let item = tensor.dtype.item_size() as i64;
    let mut strides = tensor.byte_strides();
    let mut lead = tensor.lead() as u8;
    if strides.is_empty() || rng.chance(1, 8) {
        lead = *rng.pick(&[0, 1, 2, 3, 4, 8, 16, 64, 255]);
    } else {
        let axis = rng.below(strides.len() as u64) as usize;
        let stride = strides[axis];
        strides[axis] = match rng.below(9) {
            0 => 0,
            1 => stride.wrapping_neg(),
            2 => stride.saturating_mul(2),
            3 => stride.saturating_add(item),
            4 => stride.saturating_sub(item),
            5 => stride.saturating_add(rng.between(-1, 1)),
            6 => item,
            7 => 8,
            _ => wild_stride(rng, item),
        };
    }
    tensor.layout = Layout::Strided { strides, lead };
}

fn change_layout(tensor: &mut Tensor, rng: &mut Rng, max_ndim: usize) {
    match rng.below(4) {
        0 => tensor.layout = Layout::C,
        1 => tensor.layout = Layout::F,
        _ => {
            let item = tensor.dtype.item_size();
            (tensor.shape, tensor.layout) = Pattern::draw(rng).fill(rng, max_ndim, item);
        }
    }
}

fn change_dtype(tensor: &mut Tensor, rng: &mut Rng, vocabulary: &Vocabulary) {
    let old = tensor.dtype;
    // Any size of a flexible type is as good as those that the vocabulary lists.
    if old.is_flexible() && rng.chance(1, 2) {
        let size =
            *rng.pick(&[0, 0, 1, 2, 3, old.size.saturating_add(1), old.size / 2, MAX_FLEXIBLE]);
        let resized = Dtype::from_row(old.row(), size);
        tensor.dtype =
            if old == Dtype::from_row(old.row(), old.size) { resized } else { resized.swapped() };
    } else if let Some(dtype) = rng.pick_weighted(&vocabulary.dtypes) {
        tensor.dtype = dtype;
        // Strides stay in proportion half of the time: the same layout of another type.
        let (old_item, item) = (old.item_size() as i64, dtype.item_size() as i64);
        if let Layout::Strided { strides, .. } = &mut tensor.layout
            && old_item > 0
            && rng.chance(1, 2)
        {
            for stride in strides.iter_mut().filter(|stride| **stride % old_item == 0) {
                *stride = (*stride / old_item).saturating_mul(item);
            }
        }
    }
}

fn change_array(tensor: &mut Tensor, rng: &mut Rng, vocabulary: &Vocabulary) {
    match rng.below(4) {
        0 => {
            tensor.access = match tensor.access {
                Access::Writable => Access::ReadOnly,
                Access::ReadOnly => Access::Writable,
            }
        }
        1 => tensor.contents = draw_contents(rng),
        2 if !vocabulary.devices.is_empty() => tensor.device = *rng.pick(&vocabulary.devices),
        _ if rng.chance(1, 2) => tensor.object = Object::Array,
        _ => {
            if let Some(object) = rng.pick_weighted(&vocabulary.objects) {
                tensor.object = object;
            }
        }
    }
}

fn redraw_argument(call: &mut Call, rng: &mut Rng, own: DLDevice) {
    let keyword = *rng.pick(&Keyword::ALL);
    *call.arg_mut(keyword) = match rng.below(6) {
        0 => Arg::Absent,
        1 => Arg::NONE,
        2 | 3 => draw_arg(rng, keyword, Tone::Usual, own),
        _ => draw_arg(rng, keyword, Tone::Odd, own),
    };
}

fn tweak_argument(call: &mut Call, rng: &mut Rng) {
    let first = rng.below(4) as usize;
    let given = (Keyword::ALL.into_iter().cycle().skip(first).take(4))
        .find(|&keyword| !call.arg(keyword).is_silent());
    let Some(keyword) = given else { return };
    let Arg::Given(value) = call.arg_mut(keyword) else {
        return;
    };
    match value {
        Value::Scalar(scalar) => tweak_scalar(scalar, rng),
        Value::Own => *value = Value::pair(1, 0),
        Value::Seq(kind, items) => match rng.below(8) {
            0 => *kind = *rng.pick(&[SeqKind::Tuple, SeqKind::List, SeqKind::TupleSubclass]),
            // Past two items a sequence lies on the heap.
            1 if items.len() < MAX_ITEMS => items.push(draw_scalar(rng)),
            2 => drop(items.pop()),
            3 => items.reverse(),
            _ if items.is_empty() => {}
            _ => {
                let place = rng.below(items.len() as u64) as usize;
                tweak_scalar(&mut items[place], rng);
            }
        },
    }
}

fn tweak_scalar(scalar: &mut Scalar, rng: &mut Rng) {
    let Some(number) = scalar.as_index() else {
        *scalar = draw_scalar(rng);
        return;
    };
    let number = match rng.below(6) {
        0 => number.saturating_add(1),
        1 => number.saturating_sub(1),
        2 => number.saturating_neg(),
        3 => draw_number(rng),
        _ => number,
    };
    *scalar = match rng.below(12) {
        0 => Scalar::IntEnum(number),
        1 => Scalar::IntSubclass(number),
        2 => Scalar::NumpyInt(number),
        3 => Scalar::Index(number),
        4 => draw_scalar(rng),
        _ => Scalar::Int(number),
    };
}

fn change_call(call: &mut Call, rng: &mut Rng) {
    match rng.below(4) {
        0 => call.order = rng.below(24) as u8,
        1 => {
            call.keys = match call.keys {
                Keys::Interned => Keys::Fresh,
                Keys::Fresh => Keys::Interned,
            }
        }
        2 => {
            call.extra = match call.extra {
                Extra::Nothing => rng.pick(&[Extra::UnknownKeyword, Extra::Positional]).clone(),
                _ => Extra::Nothing,
            }
        }
        _ => *call = Call::default(),
    }
}

/// Leaves one of the probes at most, mostly none.
fn thin_out(probes: &mut Probes, rng: &mut Rng) {
    let count = u64::from(probes.bits().count_ones());
    if count > 0 {
        let kept = if rng.chance(3, 4) { count } else { rng.below(count) };
        *probes = probes.iter().skip(kept as usize).take(1).collect();
    }
}

/// Brings the extents and the memory within the usual.
fn make_small(tensor: &mut Tensor) {
    let mut room = USUAL_SIZE;
    for extent in tensor.shape.iter_mut().rev() {
        *extent = (*extent).min(USUAL_EXTENT).min(room.max(1));
        room /= (*extent).max(1);
    }
    if let Layout::Strided { strides, .. } = &tensor.layout
        && strides.len() == tensor.shape.len()
    {
        fit_span(&mut tensor.shape, strides, USUAL_BYTES);
    }
}

fn change_probes(probes: &mut Probes, rng: &mut Rng) {
    if probes.bits().count_ones() > 4 || rng.chance(1, 8) {
        *probes = Probes::NONE;
        return;
    }
    let probe = *rng.pick(&Probe::ALL);
    if probes.contains(probe) { probes.remove(probe) } else { probes.insert(probe) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Vocabulary, generate};

    #[test]
    fn a_mutant_differs_stays_normal_and_within_the_vocabulary() {
        let vocabulary = Vocabulary {
            dtypes: vec![(Dtype::FLOAT32, 1), (Dtype::from_row(5, 0), 1)],
            objects: vec![(Object::Array, 1), (Object::Masked, 1)],
            max_ndim: 3,
            ..Vocabulary::default()
        };
        let mut rng = Rng::new(9);
        let mut same = 0;
        for _ in 0..20_000 {
            let parent = generate(&mut rng, &vocabulary);
            let mut case = parent.clone();
            mutate(&mut case, &mut rng, &vocabulary);
            same += u32::from(case == parent);
            assert_eq!(case.clone().normalized(), case);
            assert!(case.tensor.shape.len() <= 3, "{case}");
            assert!(
                vocabulary.dtypes.iter().any(|(dtype, _)| *dtype == case.tensor.dtype),
                "{case}"
            );
            assert!(
                vocabulary.objects.iter().any(|(object, _)| *object == case.tensor.object),
                "{case}"
            );
        }
        assert!(same < 4_000, "{same} of 20000 mutants are their parents");
    }
}
