//! The export call of a case: every keyword of `__dlpack__` absent or with any value a program can pass.
//!
//! Sources: array API 2025.12 `__dlpack__`; the decision table's input classes (`class.rs`).

use smallvec::SmallVec;

/// The four keywords, in the order of the standard's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Keyword {
    Stream,
    MaxVersion,
    DlDevice,
    Copy,
}

impl Keyword {
    pub const ALL: [Self; 4] = [Self::Stream, Self::MaxVersion, Self::DlDevice, Self::Copy];

    pub fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::MaxVersion => "max_version",
            Self::DlDevice => "dl_device",
            Self::Copy => "copy",
        }
    }
}

/// A value that is no container. Text form in brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// `None`
    None,
    /// `True`, `False`
    Bool(bool),
    /// `7`
    Int(i64),
    /// An integer outside 64 bits: `2**64` or `-2**64`.
    Huge { negative: bool },
    /// A member of an `enum.IntEnum`: `IntEnum(1)`.
    IntEnum(i64),
    /// A member of a plain `enum.Enum`: `Enum(1)`.
    Enum(i64),
    /// An instance of a sub-class of `int`: `Int(1)`.
    IntSubclass(i64),
    /// `numpy.int64`; another library's integer: `np.int64(1)`.
    NumpyInt(i64),
    /// An object with `__index__` only: `Index(1)`.
    Index(i64),
    /// A float of whole or half value: `1.0`; the number counts halves.
    Halves(i32),
    /// `'cpu'` and other words, by number of [`Scalar::WORDS`].
    Str(u8),
    /// `b'1'`
    Bytes,
    /// `object()`
    Object,
}

impl Scalar {
    /// Strings that a caller might pass by mistake; the number in [`Scalar::Str`] counts modulo their count.
    pub const WORDS: [&'static str; 6] = ["", "cpu", "cuda:0", "1", "1.0", "True"];

    /// The number that the scalar is to `operator.index`, if it is one and fits.
    pub fn as_index(&self) -> Option<i64> {
        match *self {
            Self::Bool(value) => Some(i64::from(value)),
            Self::Int(value)
            | Self::IntEnum(value)
            | Self::IntSubclass(value)
            | Self::NumpyInt(value)
            | Self::Index(value) => Some(value),
            _ => None,
        }
    }
}

/// The type of a sequence value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SeqKind {
    /// `(1, 0)`
    Tuple,
    /// `[1, 0]`
    List,
    /// A sub-class of `tuple`, as a named tuple is: `Pair((1, 0))`.
    TupleSubclass,
}

/// A value passed for a keyword.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    Scalar(Scalar),
    Seq(SeqKind, SmallVec<[Scalar; 2]>),
    /// The very object that `__dlpack_device__()` returned: `own`.
    Own,
}

impl Value {
    pub const NONE: Self = Self::Scalar(Scalar::None);

    pub fn int(value: i64) -> Self {
        Self::Scalar(Scalar::Int(value))
    }

    pub fn bool(value: bool) -> Self {
        Self::Scalar(Scalar::Bool(value))
    }

    /// A plain 2-tuple of plain ints.
    pub fn pair(first: i64, second: i64) -> Self {
        Self::Seq(SeqKind::Tuple, SmallVec::from_buf([Scalar::Int(first), Scalar::Int(second)]))
    }

    /// The two numbers of a plain 2-tuple of plain ints or `IntEnum` members: the only form that the
    /// standard gives a meaning to.
    pub fn as_pair(&self) -> Option<(i64, i64)> {
        let Self::Seq(SeqKind::Tuple, items) = self else { return None };
        match items.as_slice() {
            [Scalar::Int(a) | Scalar::IntEnum(a), Scalar::Int(b) | Scalar::IntEnum(b)] => {
                Some((*a, *b))
            }
            _ => None,
        }
    }
}

/// A keyword's argument: left out or given.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Arg {
    #[default]
    Absent,
    Given(Value),
}

impl Arg {
    pub const NONE: Self = Self::Given(Value::NONE);

    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Absent => None,
            Self::Given(value) => Some(value),
        }
    }

    /// Left out or `None`: the two ways to say nothing.
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::Absent | Self::Given(Value::Scalar(Scalar::None)))
    }

    pub fn is_given(&self) -> bool {
        matches!(self, Self::Given(_))
    }
}

/// What the call has beside the four keywords.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum Extra {
    #[default]
    Nothing,
    /// An unknown keyword `foo=1` (SIG-UNKNOWN-KW).
    UnknownKeyword,
    /// `None` as the only positional argument (SIG-KWONLY).
    Positional,
}

/// How the keyword names are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Keys {
    /// Interned strings, as a compiler makes them.
    #[default]
    Interned,
    /// Equal strings made at run time, as `f(**kwargs)` with computed names makes them: an exporter that
    /// compares names by address does not know them.
    Fresh,
}

/// The arguments of one `__dlpack__` call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Call {
    pub stream: Arg,
    pub max_version: Arg,
    pub dl_device: Arg,
    pub copy: Arg,
    pub extra: Extra,
    pub keys: Keys,
    /// Which of the 24 orders of the keywords is used; 0 is the standard's order (SIG-ORDER-FREE).
    pub order: u8,
}

impl Call {
    pub fn arg(&self, keyword: Keyword) -> &Arg {
        match keyword {
            Keyword::Stream => &self.stream,
            Keyword::MaxVersion => &self.max_version,
            Keyword::DlDevice => &self.dl_device,
            Keyword::Copy => &self.copy,
        }
    }

    pub fn arg_mut(&mut self, keyword: Keyword) -> &mut Arg {
        match keyword {
            Keyword::Stream => &mut self.stream,
            Keyword::MaxVersion => &mut self.max_version,
            Keyword::DlDevice => &mut self.dl_device,
            Keyword::Copy => &mut self.copy,
        }
    }

    /// The keywords in the order in which the call passes them: [`Call::order`] modulo 24 as a Lehmer code.
    pub fn keywords(&self) -> [Keyword; 4] {
        let mut left: SmallVec<[Keyword; 4]> = Keyword::ALL.into();
        let mut code = usize::from(self.order % 24);
        let mut ordered = Keyword::ALL;
        for (place, slot) in ordered.iter_mut().enumerate() {
            let choices = 4 - place;
            *slot = left.remove(code % choices);
            code /= choices;
        }
        ordered
    }

    pub fn with(mut self, keyword: Keyword, arg: Arg) -> Self {
        *self.arg_mut(keyword) = arg;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn order_numbers_are_the_24_orders_of_four_keywords() {
        let orders: HashSet<_> =
            (0..24).map(|order| Call { order, ..Call::default() }.keywords()).collect();
        assert_eq!(orders.len(), 24);
        assert_eq!(Call::default().keywords(), Keyword::ALL);
    }
}
