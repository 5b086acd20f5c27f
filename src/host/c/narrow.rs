//! Reads exported elements that are **narrower than a byte**, which the reading consumer leaves out because a
//! [`Source`] does not say how they lie. The case does.
//!
//! Goes in: the tensor as it was read, and how the source holds its elements. Comes out: the tensor's `memory`
//! and `elements`. What cannot be read stays [`Elements::NotRead`].

use crate::abi::FLAG_SUBBYTE_PADDED;
use crate::case::{Shape, Span};
use crate::oracle::{Elements, Managed, Memory, Source};

/// How elements lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Each in the low bits of a byte of its own.
    Padded,
    /// Side by side, the first in the low bits.
    Packed,
}

/// More elements than this are not compared.
const MOST_ELEMENTS: u64 = 512;

/// Reads and compares the elements of an export.
///
/// # Safety
/// Source and export are alive; the export's memory is what the exporter says, and the source's elements lie in
/// its allocation.
pub unsafe fn read(managed: &mut Managed, source: &Source, bits: u8, lie: Lie) {
    let export_lie =
        if managed.flags & FLAG_SUBBYTE_PADDED != 0 { Lie::Padded } else { Lie::Packed };
    let Some(tensor) = &mut managed.tensor else { return };
    let (Some(first), Some(address), Some(allocation)) =
        (tensor.first(), source.address, &source.allocation)
    else {
        return;
    };
    let is_readable = tensor.dtype.bits == bits
        && tensor.dtype.lanes == 1
        && tensor.shape == source.shape
        && source.size() > 0
        && first != 0
        && tensor.device.device_type.is_host_accessible();
    if !is_readable {
        return;
    }
    let strides = match (tensor.strides.len() == tensor.shape.len(), tensor.strides_pointer) {
        (true, _) => tensor.strides.clone(),
        (false, 0) => {
            let mut step = 1;
            let mut strides = Shape::from_elem(0, tensor.shape.len());
            for (stride, &extent) in strides.iter_mut().zip(&tensor.shape).rev() {
                *stride = step;
                step = step.saturating_mul(extent);
            }
            strides
        }
        (false, _) => return,
    };
    let (low, high) = bounds(first, &tensor.shape, &strides, bits, export_lie);
    let is_outside = high <= allocation.start as i128 || low >= allocation.end as i128;
    tensor.memory = match () {
        () if first == address => Memory::Alias,
        () if is_outside => Memory::Distinct,
        () => Memory::Overlap,
    };
    if export_lie == Lie::Packed && lie == Lie::Padded && tensor.memory == Memory::Alias {
        // The flag is missing (DTY-SUBBYTE-PADDED); read as packed the values would only follow from that.
        return;
    }
    let is_inside = low >= allocation.start as i128 && high <= allocation.end as i128;
    if tensor.memory != Memory::Distinct && !is_inside {
        tensor.elements = Elements::OutOfBounds { low, high };
        return;
    }
    if source.size() > MOST_ELEMENTS {
        return;
    }
    let mut index = Shape::from_elem(0, tensor.shape.len());
    tensor.elements = Elements::Same;
    loop {
        let place = |strides: &[i64]| -> i64 {
            index.iter().zip(strides).map(|(index, stride)| index.wrapping_mul(*stride)).sum()
        };
        // SAFETY: both lie inside the bounds that were checked, or in the export's own memory.
        let (seen, expected) = unsafe {
            (
                element(first, place(&strides), bits, export_lie),
                element(address, place(&source.strides), bits, lie),
            )
        };
        if seen != expected {
            tensor.elements =
                Elements::Differ { index, expected: vec![expected], seen: vec![seen] };
            return;
        }
        if !advance(&mut index, &tensor.shape) {
            return;
        }
    }
}

/// The next index in row-major order; false after the last.
fn advance(index: &mut Shape, shape: &[i64]) -> bool {
    for (place, &extent) in index.iter_mut().zip(shape).rev() {
        *place += 1;
        if *place < extent {
            return true;
        }
        *place = 0;
    }
    false
}

/// Lowest and one past the highest addressed byte.
pub fn bounds(first: usize, shape: &[i64], strides: &[i64], bits: u8, lie: Lie) -> (i128, i128) {
    let Span { low, high } = Span::of(shape, strides, 1);
    let first = first as i128;
    match lie {
        Lie::Padded => (first + low, first + high),
        Lie::Packed => {
            let bits = i128::from(bits);
            (first + (low * bits).div_euclid(8), first - (-high * bits).div_euclid(8))
        }
    }
}

/// # Safety
/// The byte that holds the element can be read.
unsafe fn element(first: usize, place: i64, bits: u8, lie: Lie) -> u8 {
    let mask = ((1u16 << bits) - 1) as u8;
    let (byte, shift) = match lie {
        Lie::Padded => (place, 0),
        // Six bits do not divide a byte: an element may lie in two.
        Lie::Packed => {
            ((place * i64::from(bits)).div_euclid(8), (place * i64::from(bits)).rem_euclid(8))
        }
    };
    let read = |byte: i64| {
        // SAFETY: as the caller promises.
        unsafe { (first.wrapping_add_signed(byte as isize) as *const u8).read_volatile() }
    };
    let mut value = u16::from(read(byte)) >> shift;
    if shift + i64::from(bits) > 8 {
        value |= u16::from(read(byte + 1)) << (8 - shift);
    }
    value as u8 & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_elements_begin_in_the_low_bits() {
        let memory = [0b1010_0001u8, 0b0000_0110];
        let at = memory.as_ptr() as usize;
        // SAFETY: all bits lie in the array.
        let read = |place, bits, lie| unsafe { element(at, place, bits, lie) };
        assert_eq!(
            [read(0, 4, Lie::Packed), read(1, 4, Lie::Packed), read(2, 4, Lie::Packed)],
            [1, 10, 6]
        );
        assert_eq!([read(0, 6, Lie::Packed), read(1, 6, Lie::Packed)], [0b100001, 0b011010]);
        assert_eq!(read(1, 4, Lie::Padded), 6);
        // Backwards from the second byte.
        // SAFETY: as above.
        assert_eq!(unsafe { element(at + 1, -1, 4, Lie::Packed) }, 10);
        assert_eq!(bounds(100, &[3], &[1], 4, Lie::Packed), (100, 102));
        assert_eq!(bounds(100, &[3], &[-2], 4, Lie::Packed), (98, 101));
        assert_eq!(bounds(100, &[3], &[1], 4, Lie::Padded), (100, 103));
    }
}
