//! The layouts of the sweep, by name.

use crate::case::tensor::{Walk, contiguous};
use crate::case::{Dtype, Layout, Shape, Strides, Tensor};

/// A layout by name, for items of any size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    pub(super) name: &'static str,
    shape: &'static [i64],
    order: Order,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    C,
    F,
    /// Strides: for each axis so many items and so many bytes; then the lead.
    View(&'static [(i64, i64)], u8),
    /// The strides of C order, with every second axis the other way around.
    Zigzag,
}

impl Named {
    pub(super) fn of(&self, item: usize) -> (Shape, Layout) {
        let shape = Shape::from_slice(self.shape);
        // Items without bytes have strides of a byte here: the gaps are the point.
        let item = item.max(1);
        let (strides, lead) = match self.order {
            Order::C => return (shape, Layout::C),
            Order::F => return (shape, Layout::F),
            Order::View(steps, lead) => {
                let stride = |&(items, bytes): &(i64, i64)| {
                    items.saturating_mul(item as i64).saturating_add(bytes)
                };
                (steps.iter().map(stride).collect::<Strides>(), lead)
            }
            Order::Zigzag => {
                let mut strides = contiguous(&shape, item, Walk::LastFirst);
                strides.iter_mut().step_by(2).for_each(|stride| *stride = -*stride);
                (strides, 0)
            }
        };
        (shape, Layout::Strided { strides, lead })
    }

    pub(super) fn tensor(&self, dtype: Dtype) -> Tensor {
        let (shape, layout) = self.of(dtype.item_size());
        Tensor { dtype, shape, layout, ..Tensor::plain() }
    }
}

const fn named(name: &'static str, shape: &'static [i64], order: Order) -> Named {
    Named { name, shape, order }
}

/// The layouts of the sweep; the first [`FEW_LAYOUTS`] differ most.
pub(super) const LAYOUTS: [Named; 32] = [
    named("one axis", &[6], Order::C),
    named("gaps", &[3, 2], Order::View(&[(5, 0), (2, 0)], 0)),
    named("no axis", &[], Order::C),
    named("no element", &[0], Order::C),
    named("F order", &[2, 3], Order::F),
    named("two axes", &[2, 3], Order::C),
    named("every other", &[4], Order::View(&[(2, 0)], 0)),
    named("permuted", &[2, 3, 4], Order::View(&[(3, 0), (1, 0), (6, 0)], 0)),
    named("backwards", &[5], Order::View(&[(-1, 0)], 0)),
    named("backwards with gaps", &[3, 4], Order::View(&[(-9, 0), (2, 0)], 0)),
    named("every second axis backwards", &[2, 3, 2], Order::Zigzag),
    named("broadcast", &[4, 3], Order::View(&[(0, 0), (1, 0)], 0)),
    named("broadcast inside", &[3, 4], Order::View(&[(1, 0), (0, 0)], 0)),
    named("one element for all", &[5], Order::View(&[(0, 0)], 0)),
    named("overlap", &[4, 3], Order::View(&[(1, 0), (1, 0)], 0)),
    named("overlap within items", &[4], Order::View(&[(0, 1)], 0)),
    named("odd stride", &[3], Order::View(&[(1, 1)], 0)),
    named("odd strides", &[2, 3], Order::View(&[(4, 2), (1, 1)], 0)),
    named("misaligned", &[6], Order::View(&[(1, 0)], 1)),
    named("misaligned gaps", &[3, 2], Order::View(&[(3, 0), (1, 0)], 7)),
    named("offset", &[6], Order::View(&[(1, 0)], 64)),
    named("offset scalar", &[], Order::View(&[], 16)),
    named("length 1, odd stride", &[1], Order::View(&[(0, 3)], 0)),
    named(
        "length 1, huge strides",
        &[1, 3, 1],
        Order::View(&[(0, 1 << 60), (1, 0), (0, i64::MIN)], 0),
    ),
    named("no element inside", &[3, 0, 2], Order::C),
    named("no element, any strides", &[2, 0], Order::View(&[(0, 1 << 60), (0, -7)], 0)),
    named("no element, F order", &[4, 0], Order::F),
    named("five axes", &[2, 1, 3, 1, 2], Order::F),
    named("33 axes", &[1; 33], Order::C),
    named("64 axes", &FLAT_64, Order::C),
    named("64 axes, one with gaps", &FLAT_64, Order::View(&GAPS_64, 0)),
    named("more bytes than memory", &[1 << 47, 2], Order::View(&[(0, 0), (1, 0)], 0)),
];

const FLAT_64: [i64; 64] = {
    let mut shape = [1; 64];
    shape[40] = 3;
    shape
};

const GAPS_64: [(i64, i64); 64] = [(2, 0); 64];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::LayoutClass;

    #[test]
    fn named_layouts_are_what_their_names_say_for_float32() {
        let class = |name: &str| {
            let layout = LAYOUTS.iter().find(|layout| layout.name == name).expect(name);
            let tensor = layout.tensor(Dtype::FLOAT32);
            assert_eq!(tensor.clone().normalized(), tensor, "{name}");
            tensor.layout_class()
        };
        for (name, due) in [
            ("gaps", LayoutClass::Gaps),
            ("no axis", LayoutClass::Scalar),
            ("offset scalar", LayoutClass::Scalar),
            ("no element, any strides", LayoutClass::SizeZero),
            ("F order", LayoutClass::F),
            ("permuted", LayoutClass::Gaps),
            ("backwards with gaps", LayoutClass::Negative),
            ("every second axis backwards", LayoutClass::Negative),
            ("broadcast inside", LayoutClass::Broadcast),
            ("overlap", LayoutClass::Overlap),
            ("overlap within items", LayoutClass::OddStride),
            ("odd strides", LayoutClass::OddStride),
            ("misaligned gaps", LayoutClass::Misaligned),
            ("64 axes, one with gaps", LayoutClass::Gaps),
            ("more bytes than memory", LayoutClass::Broadcast),
        ] {
            assert_eq!(class(name), due, "{name}");
        }
    }
}
