//! A **walk** over the elements of two views of one shape.

use crate::case::Shape;
use smallvec::SmallVec;

/// More elements than this are sampled: enough for every stride to matter, few enough to stay fast.
const MOST_ELEMENTS: i64 = 512;

/// Steps through the indices of a shape, evenly thinned to at most [`MOST_ELEMENTS`], and keeps the byte
/// offsets of both sides. Axes of extent 1 do not take part.
pub struct Walk {
    axes: SmallVec<[Axis; 6]>,
    pub offsets: (i64, i64),
}

struct Axis {
    number: usize,
    index: i64,
    last: i64,
    /// Indices per move.
    step: i64,
    strides: (i64, i64),
}

impl Walk {
    /// `shape` has no zero extent.
    pub fn over(shape: &[i64], mine: &[i64], theirs: &[i64]) -> Self {
        let mut axes: SmallVec<[Axis; 6]> = (shape.iter().zip(mine).zip(theirs).enumerate())
            .filter(|(_, ((extent, _), _))| **extent > 1)
            .map(|(number, ((&extent, &mine), &theirs))| Axis {
                number,
                index: 0,
                last: extent - 1,
                step: 1,
                strides: (mine, theirs),
            })
            .collect();
        let visits = |axes: &[Axis]| {
            axes.iter().fold(1i64, |count, axis| count.saturating_mul(axis.last / axis.step + 1))
        };
        while visits(&axes) > MOST_ELEMENTS {
            if let Some(longest) = axes.iter_mut().max_by_key(|axis| axis.last / axis.step) {
                longest.step *= 2;
            }
        }
        Self { axes, offsets: (0, 0) }
    }

    /// Moves to the next index; false after the last one. The last axis moves first.
    pub fn next(&mut self) -> bool {
        for axis in self.axes.iter_mut().rev() {
            let moves = if axis.index + axis.step <= axis.last { axis.step } else { -axis.index };
            axis.index += moves;
            self.offsets.0 = self.offsets.0.wrapping_add(moves.wrapping_mul(axis.strides.0));
            self.offsets.1 = self.offsets.1.wrapping_add(moves.wrapping_mul(axis.strides.1));
            if moves > 0 {
                return true;
            }
        }
        false
    }

    pub fn index(&self, ndim: usize) -> Shape {
        let mut index = Shape::from_elem(0, ndim);
        self.axes.iter().for_each(|axis| index[axis.number] = axis.index);
        index
    }
}
