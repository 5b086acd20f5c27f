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

/// What was allocated, until the life ends.
#[derive(Default)]
pub struct Churned<'py> {
    blocks: Vec<Vec<u8>>,
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
        let data = source.allocation.as_ref().map(|allocation| allocation.len());
        let sizes = STRUCTS.step_by(16).chain(data.filter(|&size| size <= LARGEST));
        for size in sizes {
            for _ in 0..EACH {
                self.blocks.push(vec![FILL; size]);
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
        // Ordinary arrays: others may lie in memory that they share.
        let contents = Contents(FILL ^ tensor.contents.0);
        let others = Tensor { contents, object: Object::Array, ..tensor.clone() };
        for _ in 0..EACH {
            if let Ok(built) = backend.build(py, &others) {
                self.objects.extend([built.object, built.array, built.owner]);
            }
        }
    }

    pub fn clear(&mut self) {
        self.blocks.clear();
        self.objects.clear();
    }
}
