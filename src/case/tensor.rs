//! The array of a case: element type, shape, layout in memory, writability, contents, device.

use super::Dtype;
use crate::abi::DLDevice;
use smallvec::SmallVec;
use std::sync::OnceLock;

/// Extents, one per axis; none is negative. Six axes fit without a heap block.
pub type Shape = SmallVec<[i64; 6]>;
/// Distances in **bytes** between neighbours, one per axis; any number is allowed on an axis of extent ≤ 1
/// or in an array of size 0.
pub type Strides = SmallVec<[i64; 6]>;

/// Declares [`Object`]: variants, names in case texts, and their docs.
macro_rules! objects {
    ($($(#[doc = $doc:literal])+ $variant:ident $name:literal,)+) => {
        /// What carries the elements. One that a backend does not know is "not expressible" there.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Object {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Object {
            /// In the order of the byte format: append only.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// As case texts and backends written in Python have it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

objects! {
    /// The library's ordinary array.
    Array "array",
    /// A sub-class of it that adds nothing.
    Subclass "subclass",
    /// `numpy.matrix` and the like: a sub-class with other semantics (two axes only).
    Matrix "matrix",
    /// A masked array (no element masked): more than its memory.
    Masked "masked",
    /// A record array.
    Record "recarray",
    /// A field of a structured array: strides wider than the item, as the library itself makes them.
    Field "field",
    /// An array over a file mapping.
    Memmap "memmap",
    /// An array over memory the library imported from another exporter.
    Imported "imported",
    /// An array of a type narrower than a byte whose elements lie side by side, the first in the low bits. Its
    /// strides count elements.
    Packed "packed",
    /// Part of a computation that is differentiated.
    Grad "requires-grad",
    /// A result of such a computation.
    GradResult "grad-result",
    /// A learnable parameter.
    Parameter "parameter",
    /// A view that stands for the complex conjugate of its memory.
    Conj "conj",
    /// A view that stands for the negative of its memory.
    Neg "neg",
    /// Coordinates and values, no strided memory.
    Sparse "sparse",
    /// Sparse in compressed rows.
    SparseRows "sparse-csr",
    /// In a layout of a vendor's library.
    Opaque "opaque-layout",
    /// Shape and dtype without memory.
    Meta "meta",
    /// Poses as an array of a device, without memory.
    Fake "fake",
    /// An object of a wrapping class that forwards to an inner array.
    Wrapper "wrapper",
    /// Integers with a scale that stand for reals.
    Quantised "quantised",
    /// A list of arrays under one name.
    Nested "nested",
    /// A view that the library's own broadcasting made: strides of zero.
    Broadcast "broadcast",
    /// A view behind the start of its storage.
    Slice "slice",
    /// A view from the end backwards, made by the library's own means.
    Reversed "reversed",
    /// Its axes permuted by the library's own means.
    Transposed "transposed",
    /// Outside of the recording of gradients.
    Inference "inference",
    /// Its memory was taken away: resized to nothing.
    Resized "resized",
    /// In memory that processes share.
    Shared "shared",
    /// In page-locked memory.
    Pinned "pinned",
    /// In the memory of a host that a device reaches.
    HostMemory "host-memory",
    /// Its buffer was freed.
    Deleted "deleted",
    /// Its buffer was given away to a computation.
    Donated "donated",
    /// Spread over several devices.
    Sharded "sharded",
    /// The same on several devices.
    Replicated "replicated",
    /// A placeholder inside a traced function.
    Traced "traced",
    /// A placeholder inside a differentiated function.
    Differentiated "differentiated",
    /// A placeholder inside a vectorised function.
    Batched "batched",
    /// A key of a random number generator.
    Key "key",
    /// A mutable variable.
    Variable "variable",
    /// Text.
    Text "text",
    /// A handle to something else.
    Resource "resource",
    /// A value of any type.
    Variant "variant",
    /// Rows of different lengths.
    Ragged "ragged",
    /// Some elements are missing.
    Nulls "nulls",
    /// Has room for missing elements; none is missing.
    Nullable "nullable",
    /// An extension type around a storage array.
    Extension "extension",
    /// Several pieces under one name.
    Chunked "chunked",
    /// An array of more than one axis where the ordinary one has one.
    Tensor "tensor",
    /// One bit per truth value.
    Bits "bits",
    /// Values with a dictionary.
    Dictionary "dictionary",
    /// A scalar of the library where it is no array of rank 0.
    Scalar "scalar",
    /// Not computed yet.
    Lazy "lazy",
    /// Still being computed on another queue.
    Pending "pending",
    /// A result of the library's own computation.
    Computed "computed",
    /// Made for reading only by the library's own means.
    Frozen "frozen",
    /// A buffer without a type of its own.
    Buffer "buffer",
    /// A vector of short vectors.
    Vectors "vectors",
    /// An array over memory that another library owns.
    Borrowed "borrowed",
    /// Of a mode of the library that computes at once, where the ordinary array waits to be asked.
    Eager "eager",
    /// On a device that DLPack has no number for: a part of another, or the library's own label.
    SubDevice "sub-device",
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    Writable,
    ReadOnly,
}

/// Where the elements lie.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Row-major without gaps, in memory that the array itself owns.
    C,
    /// Column-major without gaps, in memory that the array itself owns.
    F,
    /// A view into a larger allocation.
    Strided {
        /// Bytes per step, one per axis.
        strides: Strides,
        /// Bytes of the allocation before the lowest addressed byte; odd values misalign the elements.
        lead: u8,
    },
}

/// What a layout is, as far as behaviour may depend on it (used by feedback cells and reports).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum LayoutClass {
    Scalar,
    SizeZero,
    C,
    F,
    /// Positive strides with gaps or permuted axes.
    Gaps,
    Negative,
    /// A zero stride on an axis longer than 1.
    Broadcast,
    /// Elements share bytes without a zero stride.
    Overlap,
    /// A stride on an axis longer than 1 is no multiple of the item size.
    OddStride,
    /// The first element is not aligned to its item size.
    Misaligned,
}

/// What fills the allocation, gaps included. A number: see [`Contents::byte`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Contents(pub u8);

impl Contents {
    pub const ZEROS: Self = Self(0);
    pub const ONES: Self = Self(1);
    /// Little-endian float32/float64 signalling NaNs and other values that a conversion would change.
    pub const NANS: Self = Self(2);

    /// Fills `memory` with this pattern.
    pub fn fill(self, memory: &mut [u8]) {
        match self {
            Self::ZEROS => memory.fill(0),
            Self::ONES => memory.fill(0xff),
            Self::NANS => {
                const PATTERN: [u8; 8] = [0x01, 0x00, 0xa0, 0x7f, 0x00, 0x00, 0xf4, 0x7f];
                for (byte, value) in memory.iter_mut().zip(PATTERN.iter().cycle()) {
                    *byte = *value;
                }
            }
            Self(seed) => {
                // No allocation of a case is longer (`MAX_ALLOCATION`); a backend may ask for more.
                for part in memory.chunks_mut(KEPT_BYTES) {
                    part.copy_from_slice(&numbers(seed)[..part.len()]);
                }
            }
        }
    }
}

/// Bytes after which a seed's numbers begin anew.
const KEPT_BYTES: usize = 64 << 10;

/// The numbers of a seed, made once because nearly all cases are filled with them: splitmix64, so that every
/// byte differs between seeds, and neighbours differ.
fn numbers(seed: u8) -> &'static [u8] {
    static NUMBERS: [OnceLock<Box<[u8]>>; 256] = [const { OnceLock::new() }; 256];
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    NUMBERS[usize::from(seed)].get_or_init(|| {
        let number = |place: u64| {
            let mut z = STEP.wrapping_mul(u64::from(seed) + 1 + place);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ (z >> 31)).to_le_bytes()
        };
        (0..KEPT_BYTES as u64 / 8).flat_map(number).collect()
    })
}

/// The bytes that a view addresses, relative to its first element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Offset of the lowest addressed byte (≤ 0).
    pub low: i128,
    /// Offset one past the highest addressed byte (≥ 0).
    pub high: i128,
}

impl Span {
    /// The span of `shape` and byte `strides`; empty when no element exists. Axes of extent ≤ 1 do not
    /// count, whatever their stride.
    pub fn of(shape: &[i64], strides: &[i64], item_size: usize) -> Self {
        let mut span = Self { low: 0, high: item_size as i128 };
        for (&extent, &stride) in shape.iter().zip(strides) {
            if extent <= 0 {
                return Self { low: 0, high: 0 };
            }
            let reach = i128::from(extent - 1) * i128::from(stride);
            if reach < 0 { span.low += reach } else { span.high += reach }
        }
        span
    }

    pub fn bytes(self) -> i128 {
        self.high - self.low
    }
}

/// The array to build.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tensor {
    pub object: Object,
    pub dtype: Dtype,
    pub shape: Shape,
    pub layout: Layout,
    pub access: Access,
    /// The device to build it on; CPU unless the backend has others.
    pub device: DLDevice,
    pub contents: Contents,
}

impl Tensor {
    /// The array that the decision table is calibrated on: six float32 in a row.
    pub fn plain() -> Self {
        Self {
            object: Object::Array,
            dtype: Dtype::FLOAT32,
            shape: Shape::from_slice(&[6]),
            layout: Layout::C,
            access: Access::Writable,
            device: DLDevice::CPU,
            contents: Contents(7),
        }
    }

    /// Number of elements; saturates where it does not fit.
    pub fn size(&self) -> u64 {
        if self.shape.contains(&0) {
            return 0;
        }
        self.shape.iter().fold(1u64, |size, &extent| size.saturating_mul(extent as u64))
    }

    /// Byte strides of the layout, one per axis. Contiguous layouts saturate instead of overflowing.
    pub fn byte_strides(&self) -> Strides {
        match &self.layout {
            Layout::C => contiguous(&self.shape, self.dtype.item_size(), Walk::LastFirst),
            Layout::F => contiguous(&self.shape, self.dtype.item_size(), Walk::FirstFirst),
            Layout::Strided { strides, .. } => strides.clone(),
        }
    }

    pub fn span(&self) -> Span {
        Span::of(&self.shape, &self.byte_strides(), self.dtype.item_size())
    }

    /// Bytes before the lowest addressed byte of the allocation.
    pub fn lead(&self) -> usize {
        match self.layout {
            Layout::Strided { lead, .. } => usize::from(lead),
            _ => 0,
        }
    }

    pub fn layout_class(&self) -> LayoutClass {
        let item = self.dtype.item_size() as i64;
        if self.size() == 0 {
            return LayoutClass::SizeZero;
        }
        if self.shape.is_empty() {
            return LayoutClass::Scalar;
        }
        let Layout::Strided { strides, lead } = &self.layout else {
            return if self.layout == Layout::C { LayoutClass::C } else { LayoutClass::F };
        };
        let mut long: SmallVec<[(i64, i64); 6]> = (self.shape.iter().copied())
            .zip(strides.iter().copied())
            .filter(|&(extent, _)| extent > 1)
            .collect();
        let alignment = item.clamp(1, 16);
        let first = i128::from(*lead) - self.span().low;
        if long.iter().any(|&(_, stride)| stride == 0) {
            LayoutClass::Broadcast
        } else if item > 0 && long.iter().any(|&(_, stride)| stride % item != 0) {
            LayoutClass::OddStride
        } else if first % i128::from(alignment) != 0 {
            LayoutClass::Misaligned
        } else if long.iter().any(|&(_, stride)| stride < 0) {
            LayoutClass::Negative
        } else {
            long.sort_by_key(|&(_, stride)| stride);
            let mut reach = item;
            for &(extent, stride) in &long {
                if stride < reach {
                    return LayoutClass::Overlap;
                }
                reach = stride.saturating_mul(extent - 1).saturating_add(reach);
            }
            if *strides == contiguous(&self.shape, item as usize, Walk::LastFirst) {
                LayoutClass::C
            } else {
                LayoutClass::Gaps
            }
        }
    }
}

/// Which axis of a contiguous array lies closest together.
pub(super) enum Walk {
    LastFirst,
    FirstFirst,
}

/// Byte strides without gaps; they saturate where they do not fit.
pub(super) fn contiguous(shape: &[i64], item_size: usize, walk: Walk) -> Strides {
    let mut strides = Strides::from_elem(0, shape.len());
    let mut step = item_size as i64;
    for position in 0..shape.len() {
        let axis = match walk {
            Walk::LastFirst => shape.len() - 1 - position,
            Walk::FirstFirst => position,
        };
        strides[axis] = step;
        step = step.saturating_mul(shape[axis].max(1));
    }
    strides
}

/// Stands between the Python statements that build an array and the functions that tell of it.
pub const VIEW_MARK: &str = "# (what the library tells of it)\n";
