//! The **normal form** of a case: what cannot be built, or costs more than it can show, is brought within
//! limits. Goes in: any case. Comes out: the nearest case within the limits; never a failure.
//!
//! Decoded, generated, mutated and shrunk cases are normal, and a text that is not is refused. Normalising
//! twice changes nothing more.

use super::{
    Arg, Call, Case, Dtype, Keyword, Layout, Object, Scalar, Shape, Strides, Tensor, Value,
};
use std::sync::LazyLock;

/// Axes of an array: the most that any library under test has (NumPy 2; 32 in NumPy 1).
pub const MAX_NDIM: usize = 64;

/// Bytes of an allocation, lead included: filled and compared for every case, so it must cost nothing
/// that one would notice, and still hold more than a page.
pub const MAX_ALLOCATION: usize = 64 << 10;

/// Bytes of an array as its shape counts them, up to which a copy is made in earnest.
pub const MAX_VIRTUAL: u64 = 256 << 10;

/// From here a copy of a broadcast array fails at once, because no user address space has that many bytes;
/// between [`MAX_VIRTUAL`] and this it would really be made, and take seconds or the whole memory.
pub const MIN_HUGE: u64 = 1 << 47;

/// Below this the bytes of an array can be counted in `int64_t`, whoever adds to them: a library that could
/// not build the array at all has nothing to export.
pub const MAX_HUGE: u64 = (1 << 62) - 1;

/// Size of a flexible type: an item of 4 KiB (`str`) shows what a longer one would.
pub const MAX_FLEXIBLE: u16 = 1024;

/// Items of a sequence that is passed for a keyword: "too long" is not longer than this.
pub const MAX_ITEMS: usize = 7;

impl Case {
    /// The nearest case within the limits of this module. Idempotent.
    pub fn normalized(mut self) -> Self {
        self.normalize();
        self
    }

    /// [`Case::normalized`] in place.
    pub fn normalize(&mut self) {
        self.tensor.normalize();
        self.call.normalize();
    }
}

impl Tensor {
    /// The nearest array within the limits of this module. Idempotent. Extents are reduced from the first
    /// axis on, and strides are kept, because a stride is more often the point of a case than an extent.
    pub fn normalized(mut self) -> Self {
        self.normalize();
        self
    }

    pub(super) fn normalize(&mut self) {
        self.dtype = normal_dtype(self.dtype);
        let item = self.dtype.item_size() as u64;
        self.shape.truncate(MAX_NDIM);
        for extent in &mut self.shape {
            *extent = (*extent).max(0);
        }
        // Matrices have two axes and cannot be reshaped to any other number.
        if self.object == Object::Matrix && self.shape.len() != 2 {
            self.object = Object::Array;
        }
        if self.object == Object::Packed && !self.dtype.is_narrow() {
            self.object = Object::Array;
        }
        match &mut self.layout {
            // An array that owns its elements has no more bytes than its allocation.
            Layout::C | Layout::F => reduce(&mut self.shape, item.max(1), MAX_ALLOCATION as u64),
            Layout::Strided { strides, lead } => {
                strides.resize(self.shape.len(), item as i64);
                let room = MAX_ALLOCATION as u64 - u64::from(*lead) - item;
                fit_span(&mut self.shape, strides, room);
                limit_virtual(&mut self.shape, item);
            }
        }
    }
}

impl Call {
    /// The order number is the smallest that gives the same order of the given keywords, so that a call
    /// has one form; words and sequences are within their limits.
    pub(super) fn normalize(&mut self) {
        for keyword in Keyword::ALL {
            if let Arg::Given(value) = self.arg_mut(keyword) {
                value.normalize();
            }
        }
        self.normalize_order();
    }

    /// The smallest order number that passes the given keywords in the same sequence.
    pub(super) fn normalize_order(&mut self) {
        if self.order != 0 {
            let given = Keyword::ALL
                .into_iter()
                .filter(|&keyword| self.arg(keyword).is_given())
                .fold(0, |given, keyword| given | 1 << keyword as usize);
            self.order = SMALLEST_ORDERS[given][usize::from(self.order % 24)];
        }
    }
}

/// By the set of the given keywords (a bit each) and the order: the first of the 24 orders that puts them
/// in the same sequence. A table, because every decoded case asks.
static SMALLEST_ORDERS: LazyLock<[[u8; 24]; 16]> = LazyLock::new(|| {
    std::array::from_fn(|given| {
        let sequence = |order| {
            let keywords = Call { order, ..Call::default() }.keywords();
            keywords.into_iter().filter(move |&keyword| given & 1 << keyword as usize != 0)
        };
        let smallest = |own| (0..own).find(|&order| sequence(order).eq(sequence(own)));
        std::array::from_fn(|order| smallest(order as u8).unwrap_or(order as u8))
    })
});

impl Value {
    fn normalize(&mut self) {
        match self {
            Self::Scalar(scalar) => scalar.normalize(),
            Self::Seq(_, items) => {
                items.truncate(MAX_ITEMS);
                items.iter_mut().for_each(Scalar::normalize);
            }
            Self::Own => {}
        }
    }
}

impl Scalar {
    fn normalize(&mut self) {
        if let Self::Str(word) = self {
            *word %= Self::WORDS.len() as u8;
        }
    }
}

fn normal_dtype(dtype: Dtype) -> Dtype {
    let plain = Dtype::from_row(dtype.row(), dtype.size.min(MAX_FLEXIBLE));
    if dtype.order == super::ByteOrder::Swapped { plain.swapped() } else { plain }
}

/// Makes the view fit into `room` bytes beside one item. An axis whose stride leaves no room for a second
/// element gets the extent 1. Arrays without elements address nothing and keep every stride.
pub(super) fn fit_span(shape: &mut Shape, strides: &Strides, room: u64) {
    if shape.contains(&0) {
        return;
    }
    let mut room = room;
    for (extent, stride) in shape.iter_mut().zip(strides) {
        let step = stride.unsigned_abs();
        if *extent > 1 && step > 0 {
            *extent = (*extent).min((room / step) as i64 + 1);
            room -= (*extent as u64 - 1) * step;
        }
    }
}

/// Keeps the bytes that the shape counts either small enough to be copied or too large to be allocated.
/// Zero extents count as 1: libraries check the product of the others for overflow.
fn limit_virtual(shape: &mut Shape, item: u64) {
    let limit = match virtual_bytes(shape, item.max(1)) {
        // Items without bytes make no copy fail: an exporter would walk over all of them.
        MIN_HUGE.. if item > 0 => MAX_HUGE,
        _ => MAX_VIRTUAL,
    };
    reduce(shape, item.max(1), limit);
}

fn virtual_bytes(shape: &Shape, item: u64) -> u64 {
    shape.iter().fold(item, |bytes, &extent| bytes.saturating_mul(extent.max(1) as u64))
}

/// Reduces extents until the array has at most `limit` bytes, which is at least one item.
fn reduce(shape: &mut Shape, item: u64, limit: u64) {
    let mut bytes = item;
    for extent in shape {
        *extent = (*extent).min((limit / bytes) as i64);
        bytes *= (*extent).max(1) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::SeqKind;
    use smallvec::smallvec;

    fn strided(dtype: Dtype, shape: &[i64], strides: &[i64], lead: u8) -> Tensor {
        Tensor {
            dtype,
            shape: Shape::from_slice(shape),
            layout: Layout::Strided { strides: Strides::from_slice(strides), lead },
            ..Tensor::plain()
        }
    }

    #[test]
    fn plain_and_lawful_oddities_stay_as_they_are() {
        let f32 = Dtype::FLOAT32;
        for tensor in [
            Tensor::plain(),
            strided(f32, &[], &[], 255),
            strided(f32, &[1, 2], &[1 << 60, -7], 3),
            strided(f32, &[0, 5], &[i64::MIN, i64::MAX], 0),
            strided(f32, &[1 << 45, 3], &[0, 4], 0),
            strided(Dtype::named("void", 0).unwrap(), &[4], &[8], 0),
            strided(f32, &[1; 64], &[4; 64], 0),
        ] {
            assert_eq!(tensor.clone().normalized(), tensor);
        }
    }

    #[test]
    fn what_cannot_be_built_or_takes_too_long_is_reduced() {
        let f32 = Dtype::FLOAT32;
        let shape = |tensor: Tensor| tensor.normalized().shape.to_vec();
        // Too many axes, negative extents, too few strides.
        assert_eq!(shape(strided(f32, &[1; 70], &[], 0)), [1; 64]);
        assert_eq!(shape(strided(f32, &[-3], &[4], 0)), [0]);
        // Allocation: 65536 bytes hold 16384 items; a lead of 4 takes one away.
        assert_eq!(shape(strided(f32, &[20_000], &[4], 0)), [16_384]);
        assert_eq!(shape(strided(f32, &[20_000], &[-4], 4)), [16_383]);
        assert_eq!(shape(strided(f32, &[3, 2], &[i64::MIN, 4], 0)), [1, 2]);
        let large = Tensor { shape: smallvec![1 << 40, 1 << 40], ..Tensor::plain() };
        assert_eq!(shape(large), [16_384, 1]);
        // Broadcast: copied in earnest, or impossible, but nothing between.
        assert_eq!(shape(strided(f32, &[1 << 20], &[0], 0)), [1 << 16]);
        assert_eq!(shape(strided(f32, &[i64::MAX], &[0], 0)), [(1 << 60) - 1]);
        // No item size: the number of elements is what an exporter walks over.
        assert_eq!(
            shape(strided(Dtype::named("void", 0).unwrap(), &[1 << 50], &[0], 0)),
            [1 << 18]
        );
    }

    #[test]
    fn a_matrix_has_two_axes() {
        let one = Tensor { object: Object::Matrix, ..Tensor::plain() };
        assert_eq!(one.normalized().object, Object::Array);
        let two = Tensor { object: Object::Matrix, shape: smallvec![2, 3], ..Tensor::plain() };
        assert_eq!(two.normalized().object, Object::Matrix);
    }

    #[test]
    fn a_call_has_one_order_number() {
        let two = Call { stream: Arg::NONE, copy: Arg::NONE, ..Call::default() };
        for order in 0..=255 {
            let before = Call { order, ..two.clone() };
            let mut after = before.clone();
            after.normalize();
            let names = |call: &Call| -> Vec<_> {
                call.keywords().into_iter().filter(|&k| call.arg(k).is_given()).collect()
            };
            assert_eq!(names(&after), names(&before));
            assert!(after.order < 24);
            // Two keywords have two orders.
            let least =
                (0..24).find(|&order| names(&Call { order, ..two.clone() }) == names(&before));
            assert_eq!(Some(after.order), least);
        }
        let mut long = Call {
            copy: Arg::Given(Value::Seq(SeqKind::List, smallvec![Scalar::Str(9); 9])),
            ..two
        };
        long.normalize();
        assert_eq!(long.copy, Arg::Given(Value::Seq(SeqKind::List, smallvec![Scalar::Str(3); 7])));
    }
}
