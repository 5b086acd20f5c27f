//! **Churn**: memory is allocated where something was perhaps just freed, and filled, so that what is read
//! there is not what was there.

use crate::backend::Backend;
use crate::case::{Contents, Object, Tensor};
use crate::oracle::Source;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// No pattern that an array of a case begins with.
const FILL: u8 = 0xd7;
/// Blocks of each size.
const EACH: usize = 6;
/// Structs of exports with their shapes and strides.
const STRUCTS: std::ops::RangeInclusive<usize> = 48..=272;
/// A larger allocation is the system's own and is gone when it is freed.
const LARGEST: usize = 1 << 17;

/// Blocks of the C library's allocator.
#[derive(Default)]
pub struct Blocks(Vec<Vec<u8>>);

impl Blocks {
    /// Allocates some of every size that an export of this array may have freed.
    pub fn fill(&mut self, source: &Source) {
        for size in sizes(source) {
            self.0.extend((0..EACH).map(|_| vec![FILL; size]));
        }
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// Of structs, and of the array's memory.
fn sizes(source: &Source) -> impl Iterator<Item = usize> {
    let data = source.allocation.as_ref().map(|allocation| allocation.len());
    STRUCTS.step_by(16).chain(data.filter(|&size| size <= LARGEST))
}

/// Arrays that are like this one and hold something else: ordinary ones, since others may lie in memory that they share.
pub fn others(tensor: &Tensor) -> impl Iterator<Item = Tensor> {
    let contents = Contents(FILL ^ tensor.contents.0);
    let other = Tensor { contents, object: Object::Array, ..tensor.clone() };
    std::iter::repeat_n(other, EACH)
}

/// What was allocated, until the life ends.
#[derive(Default)]
pub struct Churned<'py> {
    blocks: Blocks,
    objects: Vec<Bound<'py, PyAny>>,
}

impl<'py> Churned<'py> {
    /// Allocates by every allocator that may have freed something: the C library's, Python's, the array
    /// library's own.
    pub fn fill(
        &mut self,
        py: Python<'py>,
        backend: &dyn Backend,
        tensor: &Tensor,
        source: &Source,
    ) {
        self.blocks.fill(source);
        for size in sizes(source) {
            for _ in 0..EACH {
                // Behind the header of a bytes object, in a block of this size.
                let fill = |bytes: &mut [u8]| {
                    bytes.fill(FILL);
                    Ok(())
                };
                let length = size.saturating_sub(33);
                if let Ok(object) = PyBytes::new_with(py, length, fill) {
                    self.objects.push(object.into_any());
                }
            }
        }
        for other in others(tensor) {
            if let Ok(built) = backend.build(py, &other) {
                self.objects.extend([built.object, built.array, built.owner]);
            }
        }
    }

    pub fn clear(&mut self) {
        self.blocks.clear();
        self.objects.clear();
    }
}
