//! Shapes and strides in the byte format: the tables of the page above, and the strides relative to those
//! that leave no gap, so that a changed byte keeps what it can of a layout's meaning.

use super::{Writer, byte, read};
use crate::case::{Layout, Shape, Strides};
use arbitrary::Unstructured;

const RANKS: [u8; 16] = [1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 4, 5, 6, 0];
const EXTENTS: [i64; 32] = [
    1,
    2,
    3,
    4,
    5,
    2,
    3,
    1,
    0,
    7,
    8,
    2,
    3,
    4,
    1,
    6,
    2,
    2,
    3,
    3,
    4,
    1,
    5,
    9,
    16,
    33,
    127,
    128,
    255,
    257,
    1000,
    1 << 40,
];
/// Codes of [`stride_of`] for a byte without a meaning of its own: mostly without gaps.
const USUAL_STRIDES: [u8; 16] = [0, 0, 0, 0, 0, 0, 1, 2, 2, 3, 3, 4, 5, 6, 7, 15];
const LEADS: [u8; 8] = [0, 0, 0, 0, 0, 0, 16, 64];

pub(super) fn read_shape(u: &mut Unstructured, rank: u8) -> Shape {
    let rank = match rank {
        0 => 1,
        1 => 0,
        2..=64 => rank,
        _ => RANKS[usize::from(rank % 16)],
    };
    (0..rank).map(|_| read_extent(u)).collect()
}

fn read_extent(u: &mut Unstructured) -> i64 {
    match byte(u) {
        0 => 6,
        code @ 1..64 => i64::from(code),
        64 => 0,
        254 => i64::from(u16::from_le_bytes(read(u))),
        255 => i64::from_le_bytes(read(u)),
        code => EXTENTS[usize::from(code % 32)],
    }
}

pub(super) fn read_strided(u: &mut Unstructured, shape: &Shape, item: i64) -> Layout {
    let lead = match byte(u) {
        lead @ 0..32 => lead,
        255 => byte(u),
        code => LEADS[usize::from(code % 8)],
    };
    let walk = byte(u);
    let mut strides = Strides::from_elem(0, shape.len());
    let mut natural = item;
    for place in 0..shape.len() {
        let axis = walked_axis(walk, place, shape.len());
        strides[axis] = match byte(u) {
            code @ 0..16 => stride_of(code, natural, item),
            253 => i64::from(i8::from_le_bytes(read(u))),
            254 => i64::from(i16::from_le_bytes(read(u))),
            255 => i64::from_le_bytes(read(u)),
            code => stride_of(USUAL_STRIDES[usize::from(code % 16)], natural, item),
        };
        natural = next_natural(natural, shape[axis], strides[axis]);
    }
    Layout::Strided { strides, lead }
}

pub(super) fn write_shape(out: &mut Writer, shape: &[i64]) -> Option<()> {
    shape.iter().try_for_each(|&extent| match extent {
        6 => out.put(&[0]),
        0 => out.put(&[64]),
        1..64 => out.put(&[extent as u8]),
        64..=0xffff => out.put_wide(254, &(extent as u16).to_le_bytes()),
        _ => out.put_wide(255, &extent.to_le_bytes()),
    })
}

pub(super) fn write_strided(
    out: &mut Writer,
    shape: &[i64],
    strides: &[i64],
    lead: u8,
    item: i64,
) -> Option<()> {
    match lead {
        0..32 => out.put(&[lead])?,
        _ => out.put(&[255, lead])?,
    }
    // The walk from the last axis on is as good as any other.
    out.put(&[0])?;
    let mut natural = item;
    for (&extent, &stride) in shape.iter().zip(strides).rev() {
        match (0..16).find(|&code| stride_of(code, natural, item) == stride) {
            Some(code) => out.put(&[code])?,
            None if let Ok(short) = i8::try_from(stride) => {
                out.put_wide(253, &short.to_le_bytes())?
            }
            None if let Ok(short) = i16::try_from(stride) => {
                out.put_wide(254, &short.to_le_bytes())?
            }
            None => out.put_wide(255, &stride.to_le_bytes())?,
        }
        natural = next_natural(natural, extent, stride);
    }
    Some(())
}

/// The axis at a place of a walk: from the last axis to the first, with two places swapped, or the reverse.
fn walked_axis(walk: u8, place: usize, rank: usize) -> usize {
    let walk = usize::from(walk);
    match walk {
        0 => rank - 1 - place,
        1 => place,
        _ => {
            let (one, other) = (walk % rank, walk / 8 % rank);
            let swapped = match place {
                _ if place == one => other,
                _ if place == other => one,
                _ => place,
            };
            rank - 1 - swapped
        }
    }
}

/// The stride of a code. `natural` is the stride that lets the axis follow those before it without a gap.
fn stride_of(code: u8, natural: i64, item: i64) -> i64 {
    match code {
        0 => natural,
        1 => 0,
        2 => -natural,
        3 => natural.saturating_mul(2),
        4 => natural.saturating_add(item),
        5 => natural.saturating_add(1),
        6 => item,
        7 => -item,
        8 => 1,
        9 => 2 * item,
        10 => natural.saturating_mul(-2),
        11 => natural.saturating_sub(1),
        12 => 1 << 60,
        13 => -(1 << 60),
        14 => i64::MAX,
        _ => natural.saturating_mul(3),
    }
}

/// The natural stride of the next axis of the walk: always positive or 0.
fn next_natural(natural: i64, extent: i64, stride: i64) -> i64 {
    if extent > 1 && stride != 0 { stride.saturating_abs().saturating_mul(extent) } else { natural }
}
