//! A **when** is one table of a known finding: the cases for which it shows. What it does not name may be
//! anything; what it names as a list may be any of the list.
//!
//! The keyword lists hold for one of the case's calls, its own or a probe's. A word is the argument's text
//! in a case (`False`, `(1, 0)`, `own`), or one of these classes:
//!
//! | word | argument |
//! |---|---|
//! | `absent` | left out |
//! | `silent` | left out or `None` |
//! | `falsy` | a number or container that is false in Python (not `None`, not text) |
//! | `truthy` | a value that is true in Python (no text) |
//! | `like (1, 0)` | a tuple or a sub-class of one whose items are these numbers to `operator.index` |
//! | `version` | such a tuple of two whose first item is any number |
//! | `version 1` | the same with a first number of 1 or more |

use crate::case::{
    Access, Arg, Call, Case, Dtype, Extra, Keyword, Layout, LayoutClass, Object, Scalar, SeqKind,
    Tensor, Value,
};
use serde::Deserialize;

/// A predicate over cases, compiled when it is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// `float32`, `swapped int16`, `void[0]` (this size), `void` (any size).
    dtypes: Vec<DtypeWord>,
    /// Bytes of one item.
    item_size: Option<usize>,
    layouts: Vec<LayoutWord>,
    /// Row-major without gaps as NumPy's flag has it, see [`is_row_major`].
    row_major: Option<bool>,
    writable: Option<bool>,
    /// Names of `Object`.
    objects: Vec<ObjectWord>,
    /// `nothing`, `unknown-keyword`, `positional`.
    extra: Vec<ExtraWord>,
    stream: Vec<ArgWord>,
    max_version: Vec<ArgWord>,
    dl_device: Vec<ArgWord>,
    copy: Vec<ArgWord>,
}

impl When {
    /// It names nothing, so that every case meets it.
    pub fn is_everything(&self) -> bool {
        self.dtypes.is_empty()
            && self.item_size.is_none()
            && self.layouts.is_empty()
            && self.row_major.is_none()
            && self.writable.is_none()
            && self.objects.is_empty()
            && self.extra.is_empty()
            && Keyword::ALL.iter().all(|&keyword| self.words(keyword).is_empty())
    }

    /// The case meets it: its array, and one of its calls.
    pub fn holds(&self, case: &Case) -> bool {
        self.holds_for_array(&case.tensor)
            && (self.holds_for_call(&case.call)
                || (case.probes.iter().chain(case.life.probes()))
                    .any(|probe| self.holds_for_call(&probe.call(&case.call, case.tensor.device))))
    }

    /// Rows of `Dtype::TABLE` that can meet it, one bit each.
    pub(super) fn rows(&self) -> [u64; 4] {
        let mut rows = [0; 4];
        for row in 0..Dtype::TABLE.len() {
            let info = &Dtype::TABLE[row];
            let named = self.dtypes.is_empty()
                || self.dtypes.iter().any(|word| usize::from(word.dtype.row()) == row);
            let sized = (self.item_size)
                .is_none_or(|size| info.item_size == 0 || usize::from(info.item_size) == size);
            if named && sized {
                rows[row / 64] |= 1 << (row % 64);
            }
        }
        rows
    }

    fn holds_for_array(&self, tensor: &Tensor) -> bool {
        // The dtype first: it sorts out nearly every case.
        (self.dtypes.is_empty() || self.dtypes.iter().any(|word| word.is(tensor.dtype)))
            && self.item_size.is_none_or(|size| has_item_size(tensor.dtype, size))
            && self.writable.is_none_or(|yes| yes == (tensor.access == Access::Writable))
            && (self.objects.is_empty() || self.objects.iter().any(|word| word.0 == tensor.object))
            && self.row_major.is_none_or(|yes| yes == is_row_major(tensor))
            && (self.layouts.is_empty() || {
                let class = tensor.layout_class();
                self.layouts.iter().any(|word| word.0 == class)
            })
    }

    fn holds_for_call(&self, call: &Call) -> bool {
        (self.extra.is_empty() || self.extra.iter().any(|word| word.0 == call.extra))
            && Keyword::ALL.iter().all(|&keyword| {
                let words = self.words(keyword);
                words.is_empty() || words.iter().any(|word| word.is(call.arg(keyword)))
            })
    }

    fn words(&self, keyword: Keyword) -> &[ArgWord] {
        match keyword {
            Keyword::Stream => &self.stream,
            Keyword::MaxVersion => &self.max_version,
            Keyword::DlDevice => &self.dl_device,
            Keyword::Copy => &self.copy,
        }
    }
}

/// `dtype.item_size() == size`, but most dtypes are told apart without looking at their names.
fn has_item_size(dtype: Dtype, size: usize) -> bool {
    match (dtype.is_flexible(), dtype.size, size) {
        (false, ..) => usize::from(dtype.info().item_size) == size,
        (true, 0, _) | (true, _, 0) => usize::from(dtype.size) == size,
        _ => dtype.item_size() == size,
    }
}

/// Row-major without gaps as NumPy's flag `C_CONTIGUOUS` has it: axes of extent 1 do not count, and an
/// array without elements always is. An array made in Fortran order with two axes longer than 1 is not,
/// even where its items have no bytes and all its strides are 0: NumPy sets the flag by the order. A field
/// of a structured array has gaps wherever it has two elements.
fn is_row_major(tensor: &Tensor) -> bool {
    let long = tensor.shape.iter().filter(|&&extent| extent > 1).count();
    if tensor.size() == 0 || long == 0 {
        return true;
    }
    if tensor.object == Object::Field {
        return false;
    }
    match &tensor.layout {
        Layout::C => true,
        Layout::F => long < 2,
        Layout::Strided { strides, .. } => {
            let mut step = tensor.dtype.item_size() as i64;
            tensor.shape.iter().zip(strides).rev().filter(|&(&extent, _)| extent > 1).all(
                |(&extent, &stride)| {
                    let due = step;
                    step = step.saturating_mul(extent);
                    stride == due
                },
            )
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct DtypeWord {
    dtype: Dtype,
    any_size: bool,
}

impl DtypeWord {
    fn is(self, dtype: Dtype) -> bool {
        self.dtype == dtype
            || self.any_size && (self.dtype.row(), self.dtype.order) == (dtype.row(), dtype.order)
    }
}

impl TryFrom<String> for DtypeWord {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let read = || {
            let (swapped, name) = match text.strip_prefix("swapped ") {
                Some(name) => (true, name),
                None => (false, text.as_str()),
            };
            let (name, size) = match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
                Some((name, size)) => (name, Some(size.parse().ok()?)),
                None => (name, None),
            };
            // A text has a byte order only where it has a length.
            let dtype = Dtype::named(name, size.unwrap_or(1))?;
            if size.is_some() && !dtype.is_flexible() || swapped && !dtype.has_byte_order() {
                return None;
            }
            let dtype = if swapped { dtype.swapped() } else { dtype };
            Some(Self { dtype, any_size: size.is_none() })
        };
        read().ok_or_else(|| format!("`{text}` is no dtype of a case"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct LayoutWord(LayoutClass);

impl TryFrom<String> for LayoutWord {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Ok(Self(match text.as_str() {
            "scalar" => LayoutClass::Scalar,
            "empty" => LayoutClass::SizeZero,
            "c" => LayoutClass::C,
            "f" => LayoutClass::F,
            "gaps" => LayoutClass::Gaps,
            "negative" => LayoutClass::Negative,
            "broadcast" => LayoutClass::Broadcast,
            "overlap" => LayoutClass::Overlap,
            "odd-stride" => LayoutClass::OddStride,
            "misaligned" => LayoutClass::Misaligned,
            _ => return Err(format!("`{text}` is no layout")),
        }))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct ObjectWord(Object);

impl TryFrom<String> for ObjectWord {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        (Object::ALL.iter().copied().find(|object| object.name() == text).map(Self))
            .ok_or_else(|| format!("`{text}` is no object of a case"))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct ExtraWord(Extra);

impl TryFrom<String> for ExtraWord {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Ok(Self(match text.as_str() {
            "nothing" => Extra::Nothing,
            "unknown-keyword" => Extra::UnknownKeyword,
            "positional" => Extra::Positional,
            _ => return Err(format!("`{text}` is no extra of a call")),
        }))
    }
}

/// A class of arguments; see the table above.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
enum ArgWord {
    Absent,
    Silent,
    Falsy,
    Truthy,
    Like(Vec<i64>),
    Version { least: i64 },
    Exactly(Value),
}

/// Whether Python takes the argument for true; `None` for `None`, text, and an argument that is left out.
fn truth(arg: &Arg) -> Option<bool> {
    match arg.value()? {
        Value::Scalar(Scalar::None | Scalar::Str(_)) => None,
        Value::Scalar(Scalar::Halves(halves)) => Some(*halves != 0),
        // An object without a length or a truth of its own is true, whatever its number.
        Value::Scalar(
            Scalar::Index(_)
            | Scalar::Object
            | Scalar::Bytes
            | Scalar::Huge { .. }
            | Scalar::Enum(_),
        ) => Some(true),
        Value::Scalar(scalar) => scalar.as_index().map(|number| number != 0),
        Value::Seq(_, items) => Some(!items.is_empty()),
        Value::Own => Some(true),
    }
}

impl ArgWord {
    fn is(&self, arg: &Arg) -> bool {
        match self {
            Self::Absent => !arg.is_given(),
            Self::Silent => arg.is_silent(),
            Self::Falsy => truth(arg) == Some(false),
            Self::Truthy => truth(arg) == Some(true),
            Self::Like(numbers) => tuple_items(arg).is_some_and(|items| {
                items.len() == numbers.len()
                    && items
                        .iter()
                        .zip(numbers)
                        .all(|(item, number)| item.as_index() == Some(*number))
            }),
            Self::Version { least } => match tuple_items(arg) {
                Some([major, _]) => major.as_index().is_some_and(|major| major >= *least),
                _ => false,
            },
            Self::Exactly(value) => arg.value() == Some(value),
        }
    }
}

fn tuple_items(arg: &Arg) -> Option<&[Scalar]> {
    match arg.value()? {
        Value::Seq(SeqKind::Tuple | SeqKind::TupleSubclass, items) => Some(items),
        _ => None,
    }
}

impl TryFrom<String> for ArgWord {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Ok(match text.as_str() {
            "absent" => Self::Absent,
            "silent" => Self::Silent,
            "falsy" => Self::Falsy,
            "truthy" => Self::Truthy,
            "version" => Self::Version { least: i64::MIN },
            "version 1" => Self::Version { least: 1 },
            _ => match text.strip_prefix("like ") {
                None => Self::Exactly(value(&text)?),
                Some(numbers) => {
                    let value = value(numbers)?;
                    let Value::Seq(SeqKind::Tuple, items) = &value else {
                        return Err(format!("`{numbers}` is no tuple of numbers"));
                    };
                    let numbers = items.iter().map(Scalar::as_index).collect::<Option<_>>();
                    Self::Like(numbers.ok_or_else(|| format!("`{text}`: an item is no number"))?)
                }
            },
        })
    }
}

/// The value that this text is in a case: read as an argument of one, so that there is one notation.
fn value(text: &str) -> Result<Value, String> {
    let case: Result<Case, _> =
        format!("array(shape=(6,), dtype='float32').__dlpack__(copy={text})").parse();
    (case.ok().and_then(|case| case.call.copy.value().cloned()))
        .ok_or_else(|| format!("`{text}` is no argument of a case and no class of arguments"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_sizes_are_those_of_the_dtype() {
        for row in 0..Dtype::TABLE.len() as u8 {
            for length in [0, 1, 4, 16] {
                let dtype = Dtype::from_row(row, length);
                for size in [0, 1, 2, 4, 8, 12, 16, 32, 64] {
                    assert_eq!(has_item_size(dtype, size), dtype.item_size() == size, "{dtype:?}");
                }
            }
        }
    }

    #[test]
    fn a_dtype_without_a_size_is_any_size_and_with_one_this_size() {
        let word = |text: &str| DtypeWord::try_from(text.to_string()).unwrap();
        let void = |size| Dtype::named("void", size).unwrap();
        assert!(word("void").is(void(0)) && word("void").is(void(4)));
        assert!(word("void[0]").is(void(0)) && !word("void[0]").is(void(4)));
        let int16 = Dtype::named("int16", 0).unwrap();
        assert!(word("swapped int16").is(int16.swapped()) && !word("swapped int16").is(int16));
        assert!(!word("int16").is(int16.swapped()));
        for text in ["int16[2]", "swapped int8", "void[x]", "float33"] {
            assert!(DtypeWord::try_from(text.to_string()).is_err(), "{text}");
        }
    }
}
