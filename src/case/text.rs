//! **Case → text**: a case reads as the Python call that it is. [`parse`](super::ParseError) is the way
//! back, and `text.parse() == case` for every normal case.
//!
//! ```text
//! array(shape=(2, 3), dtype='float32').__dlpack__(max_version=(1, 0), copy=True)
//! array(shape=(4,), dtype='void[0]', strides=(8,)).__dlpack__()
//! array(shape=(), dtype='swapped int16', writable=False, contents=2, object='masked').__dlpack__(stream=-1, dl_device=own) + repeat, version-1.99
//! array(shape=(6,), dtype='float32').__dlpack__() then take a, drop source, churn, read a
//! ```
//!
//! Of the array everything but shape and dtype is left out where it is as in [`Tensor::plain`]: `order='F'`
//! or `strides=(…)` with `lead=…` in bytes, `writable=False`, `contents=…`, `object='…'`, `device=(…)`.
//! A positional `None` comes first in the call, `foo=1` (the unknown keyword) and `**fresh` (names made at
//! run time) last; keywords stand in the order in which they are passed. Probes and exchange steps follow
//! behind ` + `, the steps of a life behind ` then `.

use super::{Access, Arg, ByteOrder, Call, Case, Contents, Dtype, ExchangeStep, Extra, Keys};
use super::{Layout, Object, Probe, Probes, Scalar, SeqKind, Tensor, Value};
use crate::abi::DLDevice;
use std::fmt::{self, Display, Formatter, Write};

/// The integer that fits no 64 bits.
pub(super) const HUGE: &str = "2**64";

impl Display for Case {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "{}.__dlpack__({})", self.tensor, self.call)?;
        if !self.probes.is_empty() {
            write!(f, " + {}", self.probes)?;
        }
        if !self.life.is_empty() {
            write!(f, " then {}", self.life)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Case {
    /// The text form: it is what `cargo fuzz` and failing tests print.
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        Display::fmt(self, f)
    }
}

impl Display for Tensor {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "array(shape={}, dtype='{}'", Tuple(&self.shape), self.dtype)?;
        match &self.layout {
            Layout::C => {}
            Layout::F => f.write_str(", order='F'")?,
            Layout::Strided { strides, lead } => {
                write!(f, ", strides={}", Tuple(strides))?;
                if *lead != 0 {
                    write!(f, ", lead={lead}")?;
                }
            }
        }
        if self.access == Access::ReadOnly {
            f.write_str(", writable=False")?;
        }
        if self.contents != Contents(7) {
            write!(f, ", contents={}", self.contents.0)?;
        }
        if self.object != Object::Array {
            write!(f, ", object='{}'", self.object.name())?;
        }
        if self.device != DLDevice::CPU {
            write!(f, ", device={}", self.device)?;
        }
        f.write_char(')')
    }
}

impl Display for Dtype {
    /// The name, with `swapped` before it and the size behind it: `swapped str[3]`.
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        if self.order == ByteOrder::Swapped {
            f.write_str("swapped ")?;
        }
        f.write_str(self.name())?;
        if self.is_flexible() {
            write!(f, "[{}]", self.size)?;
        }
        Ok(())
    }
}

impl Display for Call {
    /// What stands between the brackets.
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let mut separator = "";
        let mut next = |f: &mut Formatter| f.write_str(std::mem::replace(&mut separator, ", "));
        if self.extra == Extra::Positional {
            next(f)?;
            f.write_str("None")?;
        }
        for keyword in self.keywords() {
            if let Arg::Given(value) = self.arg(keyword) {
                next(f)?;
                write!(f, "{}={value}", keyword.name())?;
            }
        }
        if self.extra == Extra::UnknownKeyword {
            next(f)?;
            f.write_str("foo=1")?;
        }
        if self.keys == Keys::Fresh {
            next(f)?;
            f.write_str("**fresh")?;
        }
        Ok(())
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Self::Scalar(scalar) => Display::fmt(scalar, f),
            Self::Seq(SeqKind::Tuple, items) => Display::fmt(&Tuple(items), f),
            Self::Seq(SeqKind::TupleSubclass, items) => write!(f, "Pair({})", Tuple(items)),
            Self::Seq(SeqKind::List, items) => {
                f.write_char('[')?;
                list(f, items)?;
                f.write_char(']')
            }
            Self::Own => f.write_str("own"),
        }
    }
}

impl Display for Scalar {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match *self {
            Self::None => f.write_str("None"),
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Huge { negative: false } => f.write_str(HUGE),
            Self::Huge { negative: true } => write!(f, "-{HUGE}"),
            Self::IntEnum(value) => write!(f, "IntEnum({value})"),
            Self::Enum(value) => write!(f, "Enum({value})"),
            Self::IntSubclass(value) => write!(f, "Int({value})"),
            Self::NumpyInt(value) => write!(f, "np.int64({value})"),
            Self::Index(value) => write!(f, "Index({value})"),
            Self::Halves(halves) => {
                let sign = if halves < 0 { "-" } else { "" };
                let (whole, half) = (halves.unsigned_abs() / 2, halves.unsigned_abs() % 2 * 5);
                write!(f, "{sign}{whole}.{half}")
            }
            Self::Str(word) => {
                write!(f, "'{}'", Self::WORDS[usize::from(word) % Self::WORDS.len()])
            }
            Self::Bytes => f.write_str("b'1'"),
            Self::Object => f.write_str("object()"),
        }
    }
}

impl Display for Probes {
    /// Names with commas between; `all` for every probe.
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let all = self.iter().count() == Probe::ALL.len();
        let probes = self.iter().filter(|_| !all).map(Probe::name);
        let names = all.then_some("all").into_iter().chain(probes);
        for (place, name) in names.chain(self.steps().map(ExchangeStep::name)).enumerate() {
            if place > 0 {
                f.write_str(", ")?;
            }
            f.write_str(name)?;
        }
        Ok(())
    }
}

/// A Python tuple.
struct Tuple<'a, T>(&'a [T]);

impl<T: Display> Display for Tuple<'_, T> {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_char('(')?;
        list(f, self.0)?;
        f.write_str(if self.0.len() == 1 { ",)" } else { ")" })
    }
}

fn list<T: Display>(f: &mut Formatter, items: &[T]) -> fmt::Result {
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            f.write_str(", ")?;
        }
        Display::fmt(item, f)?;
    }
    Ok(())
}
