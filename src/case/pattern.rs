//! A **pattern** is a way to lay out an array that has caused real bugs: the generator draws one and fills
//! it with numbers.

use super::tensor::{Walk, contiguous};
use super::{Layout, Rng, Shape, Strides};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pattern {
    C,
    F,
    Scalar,
    /// Positive strides with gaps, as slicing with a step makes them.
    Sliced,
    /// Axes in another order than memory.
    Permuted,
    Negative,
    /// Zero strides.
    Broadcast,
    /// Elements that share bytes, as sliding windows do.
    Overlap,
    /// Strides that are no multiple of the item size, as packed records make them.
    OddStride,
    /// A first element at an odd address.
    Misaligned,
    /// Axes of length 1 with any stride.
    LengthOne,
    /// No elements, any strides.
    SizeZero,
    /// More axes than most code reserves room for.
    ManyAxes,
    /// A shape that counts more bytes than any memory has.
    HugeBroadcast,
    /// Every stride drawn for itself.
    Mixed,
}

impl Pattern {
    pub(super) const WEIGHTS: [(Self, u16); 15] = [
        (Self::C, 24),
        (Self::F, 8),
        (Self::Scalar, 5),
        (Self::Sliced, 10),
        (Self::Permuted, 6),
        (Self::Negative, 7),
        (Self::Broadcast, 7),
        (Self::Overlap, 5),
        (Self::OddStride, 5),
        (Self::Misaligned, 5),
        (Self::LengthOne, 7),
        (Self::SizeZero, 8),
        (Self::ManyAxes, 4),
        (Self::HugeBroadcast, 3),
        (Self::Mixed, 5),
    ];

    pub(super) fn draw(rng: &mut Rng) -> Self {
        rng.pick_weighted(&Self::WEIGHTS).unwrap_or(Self::C)
    }

    /// A shape of at most `max_ndim` axes and its layout, for items of that many bytes.
    pub(super) fn fill(self, rng: &mut Rng, max_ndim: usize, item: usize) -> (Shape, Layout) {
        // Items without bytes still have strides in this pattern: any number is one.
        let item = item.max(1) as i64;
        let shape = self.shape(rng, max_ndim);
        if shape.is_empty() {
            return (shape, Layout::C);
        }
        let mut strides = contiguous(&shape, item as usize, Walk::LastFirst);
        let mut lead = *rng.pick(&[0, 0, 0, 0, 0, 0, 16, 64]);
        let any = |rng: &mut Rng| rng.below(shape.len() as u64) as usize;
        match self {
            Self::C | Self::Scalar => return (shape, Layout::C),
            Self::F => return (shape, Layout::F),
            Self::Sliced => spread(rng, &shape, &mut strides, item),
            Self::Permuted => permute(rng, &shape, &mut strides, item),
            Self::Negative => {
                if rng.chance(1, 3) {
                    spread(rng, &shape, &mut strides, item);
                }
                let sure = any(rng);
                for (axis, stride) in strides.iter_mut().enumerate() {
                    if axis == sure || rng.chance(1, 2) {
                        *stride = -*stride;
                    }
                }
            }
            Self::Broadcast | Self::HugeBroadcast => {
                let sure = if self == Self::HugeBroadcast { 0 } else { any(rng) };
                strides = packed(&shape, item, sure);
                strides[sure] = 0;
                if rng.chance(1, 3) {
                    strides[any(rng)] = 0;
                }
            }
            Self::Overlap => {
                let axis = any(rng);
                strides[axis] = item * rng.between(1, 2);
                if shape.len() == 1 && item > 1 {
                    strides[axis] = rng.between(1, item - 1);
                }
            }
            Self::OddStride => {
                let axis = any(rng);
                strides[axis] += rng.between(1, (item - 1).max(1));
            }
            Self::Misaligned => {
                lead = rng.between(1, (item - 1).clamp(1, 15)) as u8;
                if rng.chance(1, 3) {
                    spread(rng, &shape, &mut strides, item);
                }
            }
            Self::LengthOne | Self::SizeZero => {
                if rng.chance(1, 4) {
                    let layout = if rng.chance(1, 2) { Layout::C } else { Layout::F };
                    return (shape, layout);
                }
                let empty = shape.contains(&0);
                for (&extent, stride) in shape.iter().zip(&mut strides) {
                    if extent == 1 || empty && rng.chance(2, 3) {
                        *stride = wild_stride(rng, item);
                    }
                }
            }
            Self::ManyAxes => match rng.below(4) {
                0 => return (shape, Layout::C),
                1 => return (shape, Layout::F),
                2 => permute(rng, &shape, &mut strides, item),
                _ => spread(rng, &shape, &mut strides, item),
            },
            Self::Mixed => {
                for stride in &mut strides {
                    *stride = match rng.below(4) {
                        0 => *stride,
                        1 => item * rng.between(-3, 3),
                        2 => rng.between(-2 * item, 2 * item),
                        _ => wild_stride(rng, item),
                    };
                }
            }
        }
        (shape, Layout::Strided { strides, lead })
    }

    fn shape(self, rng: &mut Rng, max_ndim: usize) -> Shape {
        if self == Self::Scalar || max_ndim == 0 {
            return Shape::new();
        }
        let least = if self == Self::Permuted { 2 } else { 1 };
        let rank = match self {
            Self::ManyAxes if rng.chance(1, 2) => *rng.pick(&[9, 32, 33, 64]),
            Self::ManyAxes => rng.between(7, 64) as usize,
            _ => (*rng.pick(&[1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 4, 5, 6])).max(least),
        }
        .min(max_ndim);
        let mut shape: Shape = (0..rank)
            .map(|_| match self {
                Self::ManyAxes => *rng.pick(&[1, 1, 1, 1, 1, 1, 1, 2]),
                Self::LengthOne => *rng.pick(&[1, 1, 2, 3, 4]),
                _ if rank == 1 => *rng.pick(&[2, 3, 4, 5, 6, 6, 7, 8, 17, 33, 100, 257, 1000]),
                _ => *rng.pick(&[1, 2, 2, 3, 3, 4, 5, 7]),
            })
            .collect();
        let axis = rng.below(rank as u64) as usize;
        match self {
            Self::LengthOne => shape[axis] = 1,
            Self::SizeZero => shape[axis] = 0,
            Self::HugeBroadcast => shape[0] = *rng.pick(&[1 << 47, 1 << 50, 1 << 55, i64::MAX]),
            // So that the pattern shows: an axis of length 1 has no stride to speak of.
            _ if self != Self::ManyAxes && shape[axis] == 1 => shape[axis] = 2,
            _ => {}
        }
        shape
    }
}

/// A stride for an axis where none counts, and where it counts a trap.
pub(super) fn wild_stride(rng: &mut Rng, item: i64) -> i64 {
    const WILD: [i64; 12] =
        [0, 1, -1, 3, 7, 12, 1 << 31, 1 << 60, -(1 << 60), (1 << 60) + 1, i64::MAX, i64::MIN];
    if rng.chance(1, 4) { item * rng.between(-4, 4) } else { *rng.pick(&WILD) }
}

/// C order with gaps: at least one axis steps over more than it holds.
fn spread(rng: &mut Rng, shape: &Shape, strides: &mut Strides, item: i64) {
    let sure = rng.below(shape.len() as u64) as usize;
    let mut step = item;
    for axis in (0..shape.len()).rev() {
        if axis == sure || rng.chance(1, 4) {
            step = if rng.chance(1, 2) {
                step.saturating_mul(rng.between(2, 3))
            } else {
                step.saturating_add(item * rng.between(1, 4))
            };
        }
        strides[axis] = step;
        step = step.saturating_mul(shape[axis].max(1));
    }
}

/// No gaps, but the axes lie in memory in a random order.
fn permute(rng: &mut Rng, shape: &Shape, strides: &mut Strides, item: i64) {
    let mut axes: Shape = (0..shape.len() as i64).collect();
    for place in (1..axes.len()).rev() {
        axes.swap(place, rng.below(place as u64 + 1) as usize);
    }
    let mut step = item;
    for axis in axes {
        strides[axis as usize] = step;
        step = step.saturating_mul(shape[axis as usize].max(1));
    }
}

/// C order without gaps, as if the axis `without` were not there.
fn packed(shape: &Shape, item: i64, without: usize) -> Strides {
    let mut rest = shape.clone();
    rest[without] = 1;
    contiguous(&rest, item as usize, Walk::LastFirst)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Dtype, LayoutClass, Tensor};

    #[test]
    fn patterns_make_the_layouts_that_they_are_named_for() {
        let due = [
            (Pattern::C, LayoutClass::C),
            (Pattern::F, LayoutClass::F),
            (Pattern::Scalar, LayoutClass::Scalar),
            (Pattern::Sliced, LayoutClass::Gaps),
            (Pattern::Permuted, LayoutClass::Gaps),
            (Pattern::Negative, LayoutClass::Negative),
            (Pattern::Broadcast, LayoutClass::Broadcast),
            (Pattern::Overlap, LayoutClass::Overlap),
            (Pattern::OddStride, LayoutClass::OddStride),
            (Pattern::Misaligned, LayoutClass::Misaligned),
            (Pattern::SizeZero, LayoutClass::SizeZero),
            (Pattern::HugeBroadcast, LayoutClass::Broadcast),
        ];
        let mut rng = Rng::new(5);
        for (pattern, class) in due {
            let made = (0..1000).filter(|_| {
                let (shape, layout) = pattern.fill(&mut rng, 64, 4);
                let tensor = Tensor { dtype: Dtype::FLOAT32, shape, layout, ..Tensor::plain() };
                tensor.normalized().layout_class() == class
            });
            let made = made.count();
            assert!(made > 400, "{pattern:?} makes {class:?} {made} times in 1000");
        }
    }

    #[test]
    fn no_pattern_has_more_axes_than_allowed() {
        let mut rng = Rng::new(6);
        for max_ndim in [0, 1, 2, 5, 32] {
            for (pattern, _) in Pattern::WEIGHTS {
                for item in [0, 1, 4, 16] {
                    let (shape, layout) = pattern.fill(&mut rng, max_ndim, item);
                    assert!(shape.len() <= max_ndim);
                    if let Layout::Strided { strides, .. } = layout {
                        assert_eq!(strides.len(), shape.len());
                    }
                }
            }
        }
    }
}
