//! An **array**: elements of one type in memory that it owns, and how to step through them.
//!
//! It never changes once it is built, so an export may point at it and needs nothing but a reference. Its
//! layout is NumPy's: strides count bytes and may be anything. What DLPack cannot say of it is refused when
//! it is exported.

use crate::dlpack::{DataType, Device};
use crate::dtype::{ElementType, Storage};
use crate::error::{Cause, Error};
use crate::export::Export;
use crate::memory::{Memory, count_block};
use std::sync::Arc;

/// More than this is not copied, so that a broadcast array (a stride of 0) cannot take the machine down.
const MOST_COPIED: usize = 1 << 26;

/// Whether users may write to an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Writable,
    ReadOnly,
}

/// An array.
#[derive(Debug)]
pub struct Array {
    pub element: ElementType,
    pub device: Device,
    pub access: Access,
    /// The extents, then as many strides: in bytes, for packed elements in elements.
    axes: Box<[i64]>,
    store: Store,
    /// The first element, in bytes from the start of the memory.
    offset: usize,
}

/// Where the memory is from. Dropping it gives the memory back.
#[derive(Debug)]
enum Store {
    Own(Memory),
    /// Another exporter's.
    Imported {
        export: Export,
        start: *mut u8,
        size: usize,
    },
}

// SAFETY: an imported tensor is only read here, and DLPack lets its deleter be called from any thread
// (LIFE-DELETER-NO-GIL).
unsafe impl Send for Array {}
// SAFETY: likewise.
unsafe impl Sync for Array {}

impl Array {
    /// `axes` holds the extents and then the strides; `offset` leads to the first element.
    pub fn new(
        element: ElementType,
        device: Device,
        access: Access,
        axes: Box<[i64]>,
        memory: Memory,
        offset: usize,
    ) -> Arc<Self> {
        count_block(1);
        Arc::new(Self { element, device, access, axes, store: Store::Own(memory), offset })
    }

    /// An array over the memory of another one's export, which lives as long as it. What may not be written
    /// there may not be written here (RO-REEXPORT).
    pub fn import(original: &Arc<Self>, export: Export, access: Access) -> Arc<Self> {
        count_block(1);
        Arc::new(Self {
            element: original.element,
            device: original.device,
            access,
            axes: original.axes.clone(),
            store: Store::Imported { export, start: original.start(), size: original.size() },
            offset: original.offset,
        })
    }

    pub fn ndim(&self) -> usize {
        self.axes.len() / 2
    }

    pub fn shape(&self) -> &[i64] {
        &self.axes[..self.ndim()]
    }

    /// In bytes; in elements where the elements are packed.
    pub fn strides(&self) -> &[i64] {
        &self.axes[self.ndim()..]
    }

    /// Number of elements; saturates where a broadcast array has more than can be counted.
    pub fn count(&self) -> usize {
        if self.is_empty() {
            return 0;
        }
        self.shape().iter().fold(1, |count: usize, &extent| count.saturating_mul(extent as usize))
    }

    pub fn is_empty(&self) -> bool {
        self.shape().contains(&0)
    }

    /// The start of its memory.
    pub fn start(&self) -> *mut u8 {
        match &self.store {
            Store::Own(memory) => memory.start(),
            Store::Imported { start, .. } => *start,
        }
    }

    /// Bytes of its memory, gaps included.
    pub fn size(&self) -> usize {
        match &self.store {
            Store::Own(memory) => memory.size(),
            Store::Imported { size, .. } => *size,
        }
    }

    pub fn first(&self) -> *mut u8 {
        self.start().wrapping_add(self.offset)
    }

    /// The export that it was imported from.
    pub fn imported(&self) -> Option<&Export> {
        match &self.store {
            Store::Own(_) => None,
            Store::Imported { export, .. } => Some(export),
        }
    }

    /// References that are held: by its user, and by the exports that share its memory.
    pub fn references(self: &Arc<Self>) -> usize {
        Arc::strong_count(self)
    }

    /// The distance between neighbours in elements, as DLPack counts; an axis of one element has no
    /// neighbours, and its stride no meaning.
    pub fn has_element_strides(&self) -> bool {
        self.is_empty()
            || self.element.storage == Storage::Packed
            || (self.shape().iter().zip(self.strides())).all(|(&extent, &stride)| {
                extent <= 1 || stride % self.element.item_bytes.max(1) as i64 == 0
            })
    }

    pub fn element_stride(&self, stride: i64) -> i64 {
        match self.element.storage {
            _ if self.is_empty() => 0,
            Storage::Packed => stride,
            _ => stride / self.element.item_bytes.max(1) as i64,
        }
    }

    /// Its elements in memory of their own: row-major, without gaps.
    pub fn copy(&self) -> Result<Memory, Error> {
        let count = self.count();
        let size = self.element.bytes_of(count).filter(|&size| size <= MOST_COPIED);
        let size = size.ok_or(Error::from(Cause::OutOfMemory))?;
        let memory = Memory::new(size).ok_or(Error::from(Cause::OutOfMemory))?;
        match (self.element.storage, self.element.name) {
            _ if size == 0 => {}
            (Storage::Packed, Ok(name)) => self.copy_bits(name, count, &memory),
            _ => self.copy_bytes(count, &memory),
        }
        Ok(memory)
    }

    fn copy_bytes(&self, count: usize, memory: &Memory) {
        let item = self.element.item_bytes;
        let mut place = memory.start();
        if self.is_contiguous() {
            // SAFETY: `count` elements without gaps begin at `first`, and the memory has room for them.
            unsafe { place.copy_from_nonoverlapping(self.first(), count * item) };
            return;
        }
        for step in Steps::over(self.shape(), self.strides()) {
            // SAFETY: the layout addresses nothing outside the array's memory, and the memory has room for
            // `count` elements. Any alignment will do for a copy of bytes.
            unsafe {
                place.copy_from_nonoverlapping(self.first().offset(step as isize), item);
                place = place.add(item);
            }
        }
    }

    fn copy_bits(&self, name: DataType, count: usize, memory: &Memory) {
        let width = name.element_bits();
        // SAFETY: the memory is new and holds `count` elements of that width.
        unsafe { memory.start().write_bytes(0, (count * width).div_ceil(8)) };
        for (place, step) in Steps::over(self.shape(), self.strides()).enumerate() {
            for bit in 0..width {
                let from = step * width as i64 + bit as i64;
                let to = place * width + bit;
                // SAFETY: as for whole bytes; the bit lies in the array's memory, and `to` in the new one.
                unsafe {
                    let byte = *self.first().offset(from.div_euclid(8) as isize);
                    let value = byte >> from.rem_euclid(8) & 1;
                    *memory.start().add(to / 8) |= value << (to % 8);
                }
            }
        }
    }

    /// Row-major without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.is_compact(&mut self.shape().iter().zip(self.strides()).rev())
    }

    /// Column-major without gaps.
    pub fn is_column_major(&self) -> bool {
        self.is_compact(&mut self.shape().iter().zip(self.strides()))
    }

    /// `axes` begins with the axis whose neighbours lie closest together.
    fn is_compact<'a>(&self, axes: &mut dyn Iterator<Item = (&'a i64, &'a i64)>) -> bool {
        let mut due = match self.element.storage {
            Storage::Packed => 1,
            _ => self.element.item_bytes as i64,
        };
        for (&extent, &stride) in axes {
            if extent > 1 && stride != due {
                return false;
            }
            due = due.saturating_mul(extent);
        }
        true
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        count_block(-1);
    }
}

/// The offsets of all elements in row-major order.
struct Steps<'a> {
    shape: &'a [i64],
    strides: &'a [i64],
    index: Vec<i64>,
    offset: Option<i64>,
}

impl<'a> Steps<'a> {
    fn over(shape: &'a [i64], strides: &'a [i64]) -> Self {
        let offset = if shape.contains(&0) { None } else { Some(0) };
        Self { shape, strides, index: vec![0; shape.len()], offset }
    }
}

impl Iterator for Steps<'_> {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        let here = self.offset?;
        let mut next = here;
        for axis in (0..self.shape.len()).rev() {
            // The stride of an axis of one element may be too large to step with.
            if self.shape[axis] > 1 {
                self.index[axis] += 1;
                if self.index[axis] < self.shape[axis] {
                    self.offset = Some(next + self.strides[axis]);
                    return Some(here);
                }
                self.index[axis] = 0;
                next -= self.strides[axis] * (self.shape[axis] - 1);
            }
        }
        self.offset = None;
        Some(here)
    }
}
