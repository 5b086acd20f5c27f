//! The **form** of an array: a tensor of a case in the header's terms.
//!
//! Goes in: the tensor. Comes out: what `build` is to be told, and what follows for the source's facts; or
//! [`Inexpressible`] for what DLPack or C does not have.

use crate::abi::backend;
use crate::abi::{DLDataType, DLDevice};
use crate::backend::Inexpressible;
use crate::case::{Access, ByteOrder, LayoutClass, Object, Span, Strides, Tensor};
use crate::oracle::Exportable;

/// A tensor of a case in the header's terms.
pub struct Form {
    pub flags: u32,
    pub dtype: DLDataType,
    pub strides: Strides,
    pub allocation_size: usize,
    pub offset: usize,
    /// The bytes that are addressed, from the first element on.
    pub low: i128,
    pub high: i128,
    pub exportable: Exportable,
}

impl Form {
    pub fn of(tensor: &Tensor) -> Result<Self, Inexpressible> {
        let refuse = |why: &'static str| Err(Inexpressible(why.into()));
        if !matches!(tensor.object, Object::Array | Object::Packed) {
            return refuse("C has no kinds of arrays but array and packed");
        }
        let Some(dtype) = tensor.dtype.info().triple else {
            return refuse("DLPack has no such type");
        };
        if tensor.dtype.order == ByteOrder::Swapped {
            return refuse("DLPack has native byte order only");
        }
        let strides = tensor.byte_strides();
        let mut flags = if tensor.access == Access::Writable { backend::WRITABLE } else { 0 };
        let (low, high) = if tensor.object == Object::Packed {
            flags |= backend::PACKED;
            let span = Span::of(&tensor.shape, &strides, 1);
            let bits = i128::from(dtype.bits) * i128::from(dtype.lanes);
            if span.low * bits % 8 != 0 {
                return refuse("the first element of a packed array begins a byte");
            }
            (span.low * bits / 8, -(-span.high * bits).div_euclid(8))
        } else {
            let span = tensor.span();
            (span.low, span.high)
        };
        let offset = tensor.lead() + (-low) as usize;
        let item = tensor.dtype.item_size() as i64;
        let is_odd = tensor.layout_class() != LayoutClass::SizeZero
            && (tensor.shape.iter().zip(&strides))
                .any(|(&extent, &stride)| extent > 1 && stride % item.max(1) != 0);
        let exportable = match tensor.dtype.is_standard() {
            _ if is_odd => Exportable::No("strides are no multiple of the item size"),
            true if tensor.device == DLDevice::CPU => Exportable::Yes,
            _ => Exportable::Unknown,
        };
        let allocation_size = offset + high as usize;
        Ok(Self { flags, dtype, strides, allocation_size, offset, low, high, exportable })
    }
}
