//! **DTY**: the element type of an export (code, bits, lanes) against the array's.
//!
//! [`layer`] finds the one rule that a wrong type breaks, the special before the general (a bool that goes
//! out as an unsigned integer is DTY-BOOL and not DTY-MATCH too); the rules below only put it into words.

mod narrow;
mod standard;

pub(super) use narrow::is_repacked;

use super::export::{self, Export, Layer, Word, evidence};
use super::{
    Context, DlTensor, Elements, Evidence, Exportable, Fact, Grade, Kind, Managed, Matter, Memory,
    Observation, Rule, Verdict, What,
};
use crate::abi::{DLDataType, DLDataTypeCode, KNOWN_VERSION};
use crate::case::{ByteOrder, Case, DtypeClass};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "DTY-CODE-KNOWN", needs: Matter::TENSOR, judge: code_known },
    Rule { id: "DTY-LANES", needs: Matter::TENSOR, judge: lanes },
    Rule { id: "DTY-MATCH", needs: Matter::TENSOR, judge: |ctx| fault(ctx, Fault::Match) },
    Rule { id: "DTY-SIZE", needs: Matter::TENSOR, judge: |ctx| fault(ctx, Fault::Size) },
    Rule {
        id: "DTY-BITS-TRUNC",
        needs: Matter::OTHER_DTYPE,
        judge: |ctx| fault(ctx, Fault::BitsTrunc),
    },
    Rule { id: "DTY-BITS-FIXED", needs: Matter::TENSOR, judge: |ctx| fault(ctx, Fault::BitsFixed) },
    Rule { id: "DTY-BOOL", needs: Matter::TENSOR, judge: |ctx| fault(ctx, Fault::Bool) },
    Rule { id: "DTY-COMPLEX", needs: Matter::TENSOR, judge: |ctx| fault(ctx, Fault::Complex) },
    Rule {
        id: "DTY-FLOAT-IEEE",
        needs: Matter::OTHER_DTYPE,
        judge: |ctx| fault(ctx, Fault::FloatIeee),
    },
    Rule {
        id: "DTY-BF16",
        needs: Matter::TENSOR.and(Matter::OTHER_DTYPE),
        judge: |ctx| fault(ctx, Fault::Bf16),
    },
    Rule {
        id: "DTY-FP8-CODE",
        needs: Matter::TENSOR.and(Matter::OTHER_DTYPE),
        judge: |ctx| fault(ctx, Fault::Fp8Code),
    },
    Rule { id: "DTY-ENDIAN", needs: Matter::OTHER_DTYPE, judge: |ctx| fault(ctx, Fault::Endian) },
    Rule {
        id: "DTY-SUBBYTE-PACK",
        needs: Matter::TENSOR.and(Matter::OTHER_DTYPE),
        judge: narrow::pack,
    },
    Rule {
        id: "DTY-SUBBYTE-PADDED",
        needs: Matter::TENSOR.and(Matter::OTHER_DTYPE),
        judge: narrow::padded,
    },
    Rule {
        id: "DTY-SUBBYTE-SHAPE",
        needs: Matter::TENSOR.and(Matter::OTHER_DTYPE),
        judge: narrow::shape,
    },
    Rule { id: "DTY-OPAQUE", needs: Matter::TENSOR, judge: opaque },
    Rule { id: "DTY-STANDARD-ALL", needs: Matter::ANY, judge: standard::all },
];

/// What is wrong with an exported type; each is the rule of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    NoLanes,
    Match,
    Size,
    BitsTrunc,
    BitsFixed,
    Bool,
    Complex,
    FloatIeee,
    Bf16,
    Fp8Code,
    Endian,
}

/// Long double is IEEE binary128 on AArch64 Linux; elsewhere it is padded x87, double-double or double.
const LONG_DOUBLE_IS_IEEE: bool = cfg!(all(target_arch = "aarch64", target_os = "linux"));

/// Finds what is wrong with the type of an export.
pub(super) fn layer(
    case: &Case,
    seen: &Observation,
    managed: &Managed,
    tensor: &DlTensor,
) -> Layer {
    let (dtype, out, item) = (case.tensor.dtype, tensor.dtype, seen.source.item_size);
    let broken = |fault| Layer::Broken(export::Fault::Dtype(fault));
    if out.lanes == 0 {
        return broken(Fault::NoLanes);
    }
    let is_newer = managed.version.is_some_and(|version| version > KNOWN_VERSION);
    if is_newer && out.code.0 > DLDataTypeCode::FLOAT4_E2M1FN.0 {
        // P-NEWER: DTY-CODE-KNOWN records it.
        return Layer::Hidden;
    }
    if item != dtype.item_size() {
        // The library built another type than the case asked for (JAX without x64).
        return if out.item_size() == item { Layer::Sound } else { broken(Fault::Size) };
    }
    let Some(due) = dtype.info().triple else {
        return match dtype.class() {
            // A library can register such a type with a code; the adapter knows.
            DtypeClass::NonNumeric if seen.source.exportable == Exportable::Yes => Layer::Sound,
            DtypeClass::NonNumeric => broken(Fault::Match),
            _ if item * 8 > usize::from(u8::MAX) => broken(Fault::BitsTrunc),
            _ if LONG_DOUBLE_IS_IEEE && out == DLDataType::new(2, 128, 1) => Layer::Sound,
            _ => broken(Fault::FloatIeee),
        };
    };
    if out == due {
        return match dtype.order {
            ByteOrder::Swapped => broken(Fault::Endian),
            ByteOrder::Native if out.item_size() != item => broken(Fault::Size),
            ByteOrder::Native => Layer::Sound,
        };
    }
    let same_code = out.code == due.code;
    let name = dtype.name();
    broken(match dtype.class() {
        // A legacy consumer from before 0.8 knows bool as an unsigned integer only.
        DtypeClass::Bool if managed.kind == Kind::Versioned || out.code == DLDataTypeCode::UINT => {
            Fault::Bool
        }
        DtypeClass::Complex => Fault::Complex,
        DtypeClass::Extended if name == "complex32" => Fault::Complex,
        DtypeClass::Extended if name == "bfloat16" => Fault::Bf16,
        DtypeClass::Extended if name.starts_with("float8") => {
            if out.code.is_float8() && out.bits != 8 { Fault::BitsFixed } else { Fault::Fp8Code }
        }
        // The unit of a packed type is not defined: one element or a pair.
        DtypeClass::SubByte if same_code && out.bits == due.bits && out.lanes <= 2 => {
            return Layer::Sound;
        }
        DtypeClass::SubByte if same_code && name.starts_with("float") => Fault::BitsFixed,
        DtypeClass::Integer | DtypeClass::Float | DtypeClass::Extended
            if same_code && out.item_size() != item =>
        {
            Fault::Size
        }
        _ => Fault::Match,
    })
}

/// The rule of one fault: where it is found, at its grade; it holds where the type is right, or was refused
/// as is due.
fn fault(ctx: &Context, fault: Fault) -> Verdict {
    if !fault.applies(ctx) {
        return Verdict::Silent;
    }
    if ctx.exports().is_empty() {
        let refusal_is_due = matches!(fault, Fault::BitsTrunc | Fault::FloatIeee | Fault::Endian);
        return if refusal_is_due { Verdict::Holds } else { Verdict::Silent };
    }
    ctx.each_tensor(
        |export, tensor| match export.diagnosis.dtype {
            Layer::Sound => Word::Holds,
            Layer::Broken(export::Fault::Dtype(found)) if found == fault => {
                Word::Breaks(fault.grade(ctx, export, tensor))
            }
            _ => Word::Silent,
        },
        |export, tensor| wrong_type(ctx, fault, export, tensor),
    )
}

impl Fault {
    /// The array's type is one that the rule speaks of.
    fn applies(self, ctx: &Context) -> bool {
        let dtype = ctx.case.tensor.dtype;
        let (class, name) = (dtype.class(), dtype.name());
        match self {
            Self::NoLanes | Self::Match | Self::Size => true,
            Self::BitsTrunc => {
                class == DtypeClass::LongDouble && dtype.item_size() * 8 > usize::from(u8::MAX)
            }
            Self::FloatIeee => {
                class == DtypeClass::LongDouble && dtype.item_size() * 8 <= usize::from(u8::MAX)
            }
            Self::BitsFixed => {
                name.starts_with("float8")
                    || name.starts_with("float6")
                    || name.starts_with("float4")
            }
            Self::Bool => class == DtypeClass::Bool,
            Self::Complex => class == DtypeClass::Complex || name == "complex32",
            Self::Bf16 => name == "bfloat16",
            Self::Fp8Code => name.starts_with("float8"),
            Self::Endian => dtype.order == ByteOrder::Swapped,
        }
    }

    fn grade(self, ctx: &Context, export: &Export, tensor: &DlTensor) -> Grade {
        match self {
            Self::Bool if !export.is_versioned() => Grade::Warning,
            Self::Match if is_storage_label(ctx, tensor) => Grade::Warning,
            Self::Endian if ctx.seen.source.size() == 0 => Grade::Info,
            Self::Endian => match (&tensor.elements, tensor.memory) {
                (_, Memory::Alias | Memory::Overlap) | (Elements::Differ { .. }, _) => {
                    Grade::Violation
                }
                // A copy with native values, or one that cannot be read: only the exception is missing.
                _ => Grade::Warning,
            },
            _ => Grade::Violation,
        }
    }
}

/// A narrow integer that is stored one per byte and labelled as the 8-bit integer: the label tells the
/// storage.
fn is_storage_label(ctx: &Context, tensor: &DlTensor) -> bool {
    let dtype = ctx.case.tensor.dtype;
    dtype.class() == DtypeClass::SubByte
        && ctx.seen.source.item_size == 1
        && dtype
            .info()
            .triple
            .is_some_and(|due| tensor.dtype == DLDataType { bits: 8, lanes: 1, ..due })
}

fn wrong_type(ctx: &Context, fault: Fault, export: &Export, tensor: &DlTensor) -> Evidence {
    let dtype = ctx.case.tensor.dtype;
    let name = dtype.name();
    let expected = match (fault, dtype.info().triple) {
        (Fault::NoLanes, _) => "at least 1 lane".into(),
        (Fault::Endian, _) => {
            format!("an exception, because the array's {name} has non-native byte order")
        }
        (Fault::BitsTrunc, _) => {
            format!("a refusal: {name} has {} bits, and 255 can be told", dtype.item_size() * 8)
        }
        (Fault::FloatIeee, _) => format!("a refusal: {name} is no IEEE format on this platform"),
        (Fault::Size, _) => format!("items of {} bytes for {name}", ctx.seen.source.item_size),
        (_, Some(due)) => format!("dtype {due} for {name}"),
        (_, None) => format!("a refusal: no dtype denotes {name}"),
    };
    let key = if fault == Fault::Endian { "swapped" } else { name };
    evidence(
        key,
        expected,
        format!("dtype {} {}", tensor.dtype, export.place()),
        type_facts(export, tensor),
    )
}

fn type_facts(export: &Export, tensor: &DlTensor) -> [Fact; 2] {
    [export.fact(What::Outcome, "capsule"), export.fact(What::Dtype, tensor.dtype)]
}

/// An unknown code; of a type in the table DTY-MATCH speaks.
fn code_known(ctx: &Context) -> Verdict {
    ctx.each_tensor(
        |export, tensor| match (export.diagnosis.dtype, tensor.dtype.code.0) {
            (Layer::Broken(_), _) => Word::Silent,
            (_, ..=17) => Word::Holds,
            // 18 is defined after 1.3; TVM keeps the codes from 129 for its own types.
            (_, 18 | 129..) => Word::Breaks(Grade::Info),
            _ if export.is_newer() => Word::Breaks(Grade::Info),
            _ => Word::Breaks(Grade::Warning),
        },
        |export, tensor| {
            evidence(
                "unknown code",
                "a code of DLDataTypeCode, 0 to 17 in header 1.3",
                format!("code {} {}", tensor.dtype.code.0, export.place()),
                type_facts(export, tensor),
            )
        },
    )
}

fn lanes(ctx: &Context) -> Verdict {
    ctx.each_tensor(
        |export, tensor| match (export.diagnosis.dtype, tensor.dtype.lanes) {
            (_, 0) => Word::Breaks(Grade::Violation),
            (_, 1) => Word::Holds,
            (Layer::Broken(_), _) => Word::Silent,
            _ => Word::Breaks(Grade::Info),
        },
        |export, tensor| {
            let key = if tensor.dtype.lanes == 0 { "no lanes" } else { "vectors" };
            let seen = format!("{} lanes {}", tensor.dtype.lanes, export.place());
            evidence(key, "1 lane for an array of scalars", seen, type_facts(export, tensor))
        },
    )
}

fn opaque(ctx: &Context) -> Verdict {
    ctx.each_tensor(
        |export, tensor| match export.diagnosis.dtype {
            Layer::Broken(_) => Word::Silent,
            _ => Word::require(tensor.dtype.code != DLDataTypeCode::OPAQUE_HANDLE, Grade::Warning),
        },
        |export, tensor| {
            evidence(
                "opaque handle",
                "a code that tells what the elements are",
                format!("code 3, kDLOpaqueHandle, {}", export.place()),
                type_facts(export, tensor),
            )
        },
    )
}

#[cfg(test)]
mod tests;
