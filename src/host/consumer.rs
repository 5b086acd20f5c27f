//! The **reading consumer**: walks everything that an export claims and compares it with the source.
//!
//! It is compiled with the harness, so AddressSanitizer checks each of its reads, also in memory that an
//! unmodified wheel allocated. Extents are compared with the source's allocation before a byte is read, so
//! that without a sanitizer a bad stride is an observation and not a crash.

mod walk;

use super::interpreter::has_address_sanitizer;
use crate::abi::{DLManagedTensor, DLManagedTensorVersioned, DLTensor, FLAG_READ_ONLY};
use crate::case::{ByteOrder, Dtype, DtypeClass, Shape, Span};
use crate::oracle::{DlTensor, Elements, Kind, Managed, Memory, Source, WriteThrough};
use walk::Walk;

/// No exporter is known to describe more axes; a larger number means that the struct is another one.
const MOST_AXES: i32 = 1024;

/// Reads the struct behind a capsule.
///
/// # Safety
/// `pointer` came from a live capsule whose name promises `kind`, and `source` is alive.
pub unsafe fn read(pointer: usize, kind: Kind, source: &Source, dtype: Dtype) -> Managed {
    // SAFETY: the name promises the struct; unaligned reads also allow for a misaligned pointer.
    unsafe {
        match kind {
            Kind::Legacy => {
                let managed = (pointer as *const DLManagedTensor).read_unaligned();
                Managed {
                    kind,
                    version: None,
                    flags: 0,
                    has_deleter: managed.deleter.is_some(),
                    tensor: read_tensor(&managed.dl_tensor, source, dtype),
                }
            }
            Kind::Versioned => {
                let head = (pointer as *const [u64; 4]).read_unaligned();
                let version = (pointer as *const crate::abi::DLPackVersion).read_unaligned();
                // Behind `flags` only the layout of major 1 is known.
                let tensor = (version.major == 1)
                    .then(|| {
                        let managed = (pointer as *const DLManagedTensorVersioned).read_unaligned();
                        read_tensor(&managed.dl_tensor, source, dtype)
                    })
                    .flatten();
                Managed {
                    kind,
                    version: Some(version),
                    flags: head[3],
                    has_deleter: head[2] != 0,
                    tensor,
                }
            }
        }
    }
}

/// Reads a tensor alone.
///
/// # Safety
/// As [`read`]; `tensor` was copied out of the struct.
pub unsafe fn read_tensor(tensor: &DLTensor, source: &Source, dtype: Dtype) -> Option<DlTensor> {
    if !(0..=MOST_AXES).contains(&tensor.ndim) {
        return None;
    }
    let axes = tensor.ndim as usize;
    let list = |pointer: *const i64| -> Shape {
        if pointer.is_null() || !pointer.is_aligned() {
            return Shape::new();
        }
        // SAFETY: the struct claims `ndim` entries; where that is false the sanitizer says so.
        unsafe { std::slice::from_raw_parts(pointer, axes) }.into()
    };
    let mut seen = DlTensor {
        data: tensor.data as usize,
        device: tensor.device,
        ndim: tensor.ndim,
        dtype: tensor.dtype,
        shape_pointer: tensor.shape as usize,
        strides_pointer: tensor.strides as usize,
        shape: list(tensor.shape),
        strides: list(tensor.strides),
        byte_offset: tensor.byte_offset,
        elements: Elements::NotRead("not looked at"),
        memory: Memory::Unknown,
        write_through: WriteThrough::NotTried,
    };
    let view = View::of(&seen, source);
    let (memory, elements) = match view {
        Ok(view) => {
            let memory = view.memory(source);
            let elements = if tensor.device.device_type.is_host_accessible() {
                // SAFETY: `compare` checks the view against the source's allocation; other memory is
                // the exporter's own.
                unsafe { view.compare(source, dtype, memory) }
            } else {
                Elements::NotRead("not host memory")
            };
            (memory, elements)
        }
        Err(reason) => (Memory::Unknown, Elements::NotRead(reason)),
    };
    (seen.memory, seen.elements) = (memory, elements);
    Some(seen)
}

/// An export whose addresses can be compared with the source's; its elements only where the host can read them.
struct View<'a> {
    first: usize,
    shape: &'a [i64],
    /// In bytes.
    strides: Shape,
    item_size: usize,
    span: Span,
}

impl<'a> View<'a> {
    fn of(tensor: &'a DlTensor, source: &Source) -> Result<Self, &'static str> {
        if source.size() == 0 {
            return Err("no elements");
        }
        if !tensor.device.device_type.has_plain_pointers() {
            return Err("no plain pointers");
        }
        if tensor.shape != source.shape {
            return Err("the shape is another one");
        }
        let item_size = tensor.dtype.item_size();
        if item_size != source.item_size || !tensor.dtype.bits.is_multiple_of(8) {
            return Err("the item size is another one");
        }
        let first = tensor.first().filter(|&first| first != 0).ok_or("no address")?;
        let item = item_size as i64;
        let strides = if tensor.strides.len() == tensor.shape.len() {
            let wide = tensor.strides.iter().zip(&tensor.shape);
            // The stride of an axis of extent 1 means nothing and may be anything.
            wide.map(|(&stride, &extent)| if extent <= 1 { 0 } else { stride.saturating_mul(item) })
                .collect()
        } else if tensor.strides_pointer == 0 {
            compact(&tensor.shape, item)
        } else {
            return Err("the strides cannot be read");
        };
        let span = Span::of(&tensor.shape, &strides, item_size);
        Ok(Self { first, shape: &tensor.shape, strides, item_size, span })
    }

    fn memory(&self, source: &Source) -> Memory {
        let (Some(address), Some(allocation)) = (source.address, &source.allocation) else {
            return Memory::Unknown;
        };
        if address == self.first {
            return Memory::Alias;
        }
        let (low, high) = self.bounds();
        let disjoint = high <= allocation.start as i128 || low >= allocation.end as i128;
        if disjoint { Memory::Distinct } else { Memory::Overlap }
    }

    /// Lowest and one past the highest addressed byte.
    fn bounds(&self) -> (i128, i128) {
        let first = self.first as i128;
        (first + self.span.low, first + self.span.high)
    }

    /// # Safety
    /// The source is alive; the export's memory is what the exporter says.
    unsafe fn compare(&self, source: &Source, dtype: Dtype, memory: Memory) -> Elements {
        let (address, allocation) = match (source.address, &source.allocation, &source.values) {
            (Some(address), Some(allocation), _) => (address, allocation),
            // SAFETY: as the caller promises; the values have the shape that `of` has checked.
            (_, _, Some(values)) => unsafe {
                return self.compare_with(
                    values.as_ptr() as usize,
                    &compact(self.shape, self.item_size as i64),
                    dtype,
                );
            },
            _ => return Elements::NotRead("the source's address is not known"),
        };
        let (low, high) = self.bounds();
        if memory != Memory::Distinct
            && (low < allocation.start as i128 || high > allocation.end as i128)
        {
            return Elements::OutOfBounds { low, high };
        }
        if let Some(values) = &source.values {
            // SAFETY: the export's bounds were checked above; the values have this very shape.
            return unsafe {
                self.compare_with(
                    values.as_ptr() as usize,
                    &compact(self.shape, self.item_size as i64),
                    dtype,
                )
            };
        }
        let itself = self.first == address
            && dtype.order == ByteOrder::Native
            && self
                .shape
                .iter()
                .zip(&self.strides)
                .zip(&source.strides)
                .all(|((&extent, mine), theirs)| extent <= 1 || mine == theirs);
        if itself && !has_address_sanitizer() {
            // The same bytes, inside the allocation: without a sanitizer reading them tells nothing.
            return Elements::Same;
        }
        // SAFETY: both sides lie inside the spans that were checked above.
        unsafe { self.compare_with(address, &source.strides, dtype) }
    }

    /// # Safety
    /// Every element of this view, and of the same shape at `address` with these strides, can be read.
    unsafe fn compare_with(&self, address: usize, strides: &[i64], dtype: Dtype) -> Elements {
        let mut verdict = Elements::Same;
        let mut walk = Walk::over(self.shape, &self.strides, strides);
        loop {
            let mine = self.first.wrapping_add_signed(walk.offsets.0 as isize);
            let theirs = address.wrapping_add_signed(walk.offsets.1 as isize);
            // SAFETY: as the caller promises.
            let (mine, theirs) = unsafe {
                (
                    std::slice::from_raw_parts(mine as *const u8, self.item_size),
                    std::slice::from_raw_parts(theirs as *const u8, self.item_size),
                )
            };
            if dtype.order == ByteOrder::Swapped || mine != theirs {
                match difference(mine, theirs, dtype) {
                    Difference::None => {}
                    Difference::Representation => verdict = Elements::SameValues,
                    Difference::Value => {
                        return Elements::Differ {
                            index: walk.index(self.shape.len()),
                            expected: native(theirs, dtype),
                            seen: mine.to_vec(),
                        };
                    }
                }
            }
            if !walk.next() {
                return verdict;
            }
        }
    }
}

enum Difference {
    None,
    /// NaN payloads or truth values only.
    Representation,
    Value,
}

fn difference(export: &[u8], source: &[u8], dtype: Dtype) -> Difference {
    let expected = native(source, dtype);
    if export == expected {
        return Difference::None;
    }
    let same = match dtype.class() {
        DtypeClass::Bool => (export[0] != 0) == (source[0] != 0),
        DtypeClass::Float | DtypeClass::Extended => same_float(export, &expected),
        DtypeClass::Complex => {
            let half = export.len() / 2;
            let part = |a: &[u8], b: &[u8]| a == b || same_float(a, b);
            part(&export[..half], &expected[..half]) && part(&export[half..], &expected[half..])
        }
        _ => false,
    };
    if same { Difference::Representation } else { Difference::Value }
}

/// The source's bytes as a native value has them.
fn native(source: &[u8], dtype: Dtype) -> Vec<u8> {
    let mut bytes = source.to_vec();
    if dtype.order == ByteOrder::Swapped {
        let parts = if matches!(dtype.class(), DtypeClass::Complex) { 2 } else { 1 };
        bytes.chunks_mut((source.len() / parts).max(1)).for_each(<[u8]>::reverse);
    }
    bytes
}

/// Both are NaN (a copy may change a NaN's payload, nothing else).
fn same_float(a: &[u8], b: &[u8]) -> bool {
    let nan = |bytes: &[u8]| match *bytes {
        [a, b] => u16::from_le_bytes([a, b]) & 0x7fff > 0x7c00,
        [a, b, c, d] => f32::from_le_bytes([a, b, c, d]).is_nan(),
        [a, b, c, d, e, f, g, h] => f64::from_le_bytes([a, b, c, d, e, f, g, h]).is_nan(),
        _ => false,
    };
    nan(a) && nan(b)
}

/// Strides of a shape without gaps, in row-major order, the last of them `step`.
fn compact(shape: &[i64], mut step: i64) -> Shape {
    let mut strides = Shape::from_elem(0, shape.len());
    for (stride, &extent) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(extent);
    }
    strides
}

/// The bytes of the elements, thinned out as everywhere here, in row-major order.
///
/// # Safety
/// The elements were read by these very numbers, and nothing was freed that should not be.
pub unsafe fn gather(tensor: &DlTensor) -> Vec<u8> {
    let item = tensor.dtype.item_size();
    let strides = match (tensor.strides.len(), tensor.strides_pointer) {
        (0, 0) => compact(&tensor.shape, 1),
        _ => tensor.strides.clone(),
    };
    let bytes: Shape = strides.iter().map(|stride| stride.saturating_mul(item as i64)).collect();
    let (Some(first), false) = (tensor.first(), tensor.shape.contains(&0)) else {
        return Vec::new();
    };
    let mut gathered = Vec::new();
    let mut walk = Walk::over(&tensor.shape, &bytes, &bytes);
    loop {
        let element = first.wrapping_add_signed(walk.offsets.0 as isize);
        // SAFETY: as the caller promises.
        gathered
            .extend_from_slice(unsafe { std::slice::from_raw_parts(element as *const u8, item) });
        if !walk.next() {
            return gathered;
        }
    }
}

/// The marker test: writes one byte of the first element on either side and looks at the other. Restores
/// what it wrote.
///
/// # Safety
/// Export and source are alive, `tensor` and `source` describe them, and nobody else uses the memory.
pub unsafe fn write_through(managed: &mut Managed, source: &Source, dtype: Dtype) {
    let read_only = managed.flags & FLAG_READ_ONLY != 0;
    let Some(tensor) = &mut managed.tensor else { return };
    let (Some(first), Some(address)) = (tensor.first(), source.address) else { return };
    let readable = matches!(tensor.elements, Elements::Same | Elements::SameValues);
    if read_only || source.writable != Some(true) || !readable || source.item_size == 0 {
        return;
    }
    let mark = |byte: u8| match dtype.class() {
        DtypeClass::Bool => u8::from(byte == 0),
        _ => !byte,
    };
    let (export, own) = (first as *mut u8, address as *mut u8);
    // SAFETY: the first element of both sides was read a moment ago, and both sides are writable.
    tensor.write_through = unsafe {
        let shows = |written: *mut u8, read: *mut u8| {
            let (kept, other) = (written.read_volatile(), read.read_volatile());
            let marker = mark(kept);
            written.write_volatile(marker);
            let seen = read.read_volatile();
            written.write_volatile(kept);
            seen == marker && seen != other
        };
        match (shows(export, own), shows(own, export)) {
            (true, true) => WriteThrough::Shared,
            (false, false) => WriteThrough::Separate,
            _ => WriteThrough::OneWay,
        }
    };
}
