//! Element types by the names that array libraries use, with the DLPack triple that denotes each.
//!
//! Source: `DLDataTypeCode` in `dlpack.h` 1.3.

use crate::abi::DLDataType;

/// Byte order of an element type. An item of one byte has no byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    Native,
    Swapped,
}

/// What a type is to the rules: which triple is due and whether a refusal is lawful.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DtypeClass {
    /// bool of the array API standard.
    Bool,
    /// Signed or unsigned integer of the standard (or an alias of one, such as `longlong`).
    Integer,
    /// float32, float64.
    Float,
    /// complex64, complex128.
    Complex,
    /// A type DLPack can name that the standard lacks (float16, bfloat16, fp8, complex32).
    Extended,
    /// Narrower than a byte (int4, float4, float6).
    SubByte,
    /// `long double` and its complex: x87 and double-double must be refused.
    LongDouble,
    /// No number at all (object, text, bytes, void, records, dates): a refusal is due.
    NonNumeric,
}

/// A row of the table of types.
#[derive(Debug)]
pub struct DtypeInfo {
    /// Name in case texts; also NumPy's or ml_dtypes' name where one exists.
    pub name: &'static str,
    pub class: DtypeClass,
    /// Bytes of one item as libraries store it; 0 where [`Dtype::size`] says it.
    pub item_size: u8,
    /// The triple that denotes the type, or `None` where DLPack cannot name it.
    pub triple: Option<DLDataType>,
    /// Items are padding-free numbers, so any bytes are a value (false: fill with zeros only).
    pub any_bytes: bool,
}

/// An element type: a row of [`Dtype::TABLE`], its byte order, and a size for the flexible ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dtype {
    row: u8,
    pub order: ByteOrder,
    /// Length of `str` (code points), `bytes` and `void` (bytes); 0 and ignored for every other type.
    pub size: u16,
}

impl Dtype {
    /// Every type a case can name. The position is part of the byte format: append only.
    pub const TABLE: &'static [DtypeInfo] = {
        use DtypeClass::*;
        const fn row(
            name: &'static str,
            class: DtypeClass,
            item_size: u8,
            triple: Option<(u8, u8, u16)>,
            any_bytes: bool,
        ) -> DtypeInfo {
            let triple = match triple {
                Some((code, bits, lanes)) => Some(DLDataType::new(code, bits, lanes)),
                None => None,
            };
            DtypeInfo { name, class, item_size, triple, any_bytes }
        }
        &[
            row("float32", Float, 4, Some((2, 32, 1)), true),
            row("bool", Bool, 1, Some((6, 8, 1)), true),
            row("int8", Integer, 1, Some((0, 8, 1)), true),
            row("int16", Integer, 2, Some((0, 16, 1)), true),
            row("int32", Integer, 4, Some((0, 32, 1)), true),
            row("int64", Integer, 8, Some((0, 64, 1)), true),
            row("uint8", Integer, 1, Some((1, 8, 1)), true),
            row("uint16", Integer, 2, Some((1, 16, 1)), true),
            row("uint32", Integer, 4, Some((1, 32, 1)), true),
            row("uint64", Integer, 8, Some((1, 64, 1)), true),
            row("float64", Float, 8, Some((2, 64, 1)), true),
            row("complex64", Complex, 8, Some((5, 64, 1)), true),
            row("complex128", Complex, 16, Some((5, 128, 1)), true),
            row("float16", Extended, 2, Some((2, 16, 1)), true),
            row("longlong", Integer, 8, Some((0, 64, 1)), true),
            row("ulonglong", Integer, 8, Some((1, 64, 1)), true),
            row("longdouble", LongDouble, 16, None, true),
            row("clongdouble", LongDouble, 32, None, true),
            row("object", NonNumeric, 8, None, false),
            row("str", NonNumeric, 0, None, true),
            row("bytes", NonNumeric, 0, None, true),
            row("void", NonNumeric, 0, None, true),
            row("record", NonNumeric, 12, None, true),
            row("datetime64", NonNumeric, 8, None, true),
            row("timedelta64", NonNumeric, 8, None, true),
            row("vstr", NonNumeric, 16, None, false),
            row("bfloat16", Extended, 2, Some((4, 16, 1)), true),
            row("float8_e3m4", Extended, 1, Some((7, 8, 1)), true),
            row("float8_e4m3", Extended, 1, Some((8, 8, 1)), true),
            row("float8_e4m3b11fnuz", Extended, 1, Some((9, 8, 1)), true),
            row("float8_e4m3fn", Extended, 1, Some((10, 8, 1)), true),
            row("float8_e4m3fnuz", Extended, 1, Some((11, 8, 1)), true),
            row("float8_e5m2", Extended, 1, Some((12, 8, 1)), true),
            row("float8_e5m2fnuz", Extended, 1, Some((13, 8, 1)), true),
            row("float8_e8m0fnu", Extended, 1, Some((14, 8, 1)), true),
            row("float6_e2m3fn", SubByte, 1, Some((15, 6, 1)), true),
            row("float6_e3m2fn", SubByte, 1, Some((16, 6, 1)), true),
            row("float4_e2m1fn", SubByte, 1, Some((17, 4, 1)), true),
            row("int4", SubByte, 1, Some((0, 4, 1)), true),
            row("uint4", SubByte, 1, Some((1, 4, 1)), true),
            row("int2", SubByte, 1, Some((0, 2, 1)), true),
            row("uint2", SubByte, 1, Some((1, 2, 1)), true),
            row("complex32", Extended, 4, Some((5, 32, 1)), true),
            row("float4_e2m1fn_x2", SubByte, 1, Some((17, 4, 2)), true),
            row("int1", SubByte, 1, Some((0, 1, 1)), true),
            row("uint1", SubByte, 1, Some((1, 1, 1)), true),
            row("bcomplex32", Extended, 4, Some((18, 32, 1)), true),
        ]
    };

    /// The type at a position of [`Self::TABLE`] (modulo its length), in native order.
    pub fn from_row(row: u8, size: u16) -> Self {
        let row = row % Self::TABLE.len() as u8;
        let flexible = Self::TABLE[usize::from(row)].item_size == 0;
        Self { row, order: ByteOrder::Native, size: if flexible { size } else { 0 } }
    }

    /// The type of that name in native order; `size` counts for flexible types only.
    pub fn named(name: &str, size: u16) -> Option<Self> {
        let row = Self::TABLE.iter().position(|info| info.name == name)?;
        Some(Self::from_row(row as u8, size))
    }

    pub const FLOAT32: Self = Self { row: 0, order: ByteOrder::Native, size: 0 };

    /// The same type with swapped bytes; itself where an item has no byte order.
    pub fn swapped(mut self) -> Self {
        if self.has_byte_order() {
            self.order = ByteOrder::Swapped;
        }
        self
    }

    pub fn row(self) -> u8 {
        self.row
    }

    pub fn info(self) -> &'static DtypeInfo {
        &Self::TABLE[usize::from(self.row)]
    }

    pub fn name(self) -> &'static str {
        self.info().name
    }

    pub fn class(self) -> DtypeClass {
        self.info().class
    }

    /// `str`, `bytes`, `void`: the case says how long an item is.
    pub fn is_flexible(self) -> bool {
        self.info().item_size == 0
    }

    /// More than one byte per number, so that the order of bytes means something.
    pub fn has_byte_order(self) -> bool {
        match self.name() {
            "str" => self.size > 0,
            "object" | "bytes" | "void" | "record" | "vstr" => false,
            name => self.info().item_size > 1 && !name.contains("float4") && name != "bfloat16",
        }
    }

    /// Bytes of one item in memory; may be 0 (`void` of size 0).
    pub fn item_size(self) -> usize {
        match self.info().item_size {
            0 if self.name() == "str" => 4 * usize::from(self.size),
            0 => usize::from(self.size),
            fixed => usize::from(fixed),
        }
    }

    /// One element takes less than a byte.
    pub fn is_narrow(self) -> bool {
        let triple = self.info().triple;
        triple.is_some_and(|it| usize::from(it.bits) * usize::from(it.lanes) < 8)
    }

    /// A dtype of the array API standard in native order: what every exporter is expected to take.
    pub fn is_standard(self) -> bool {
        use DtypeClass::*;
        self.order == ByteOrder::Native && matches!(self.class(), Bool | Integer | Float | Complex)
    }
}
