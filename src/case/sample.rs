//! A **sample** is a concrete argument in a form that fits a table: the byte format has one table of them,
//! the generator and the sweep have one per keyword and input class of the decision table.

use super::{Arg, Scalar, SeqKind, Value};
use smallvec::SmallVec;

/// A concrete argument.
#[derive(Clone, Debug)]
pub(super) enum Sample {
    Absent,
    Own,
    One(Scalar),
    /// A plain tuple of two plain ints.
    Pair(i64, i64),
    Seq(SeqKind, &'static [Scalar]),
}

impl Sample {
    pub(super) const NONE: Self = Self::One(Scalar::None);

    pub(super) const fn int(value: i64) -> Self {
        Self::One(Scalar::Int(value))
    }

    pub(super) const fn bool(value: bool) -> Self {
        Self::One(Scalar::Bool(value))
    }

    pub(super) fn arg(&self) -> Arg {
        Arg::Given(match self {
            Self::Absent => return Arg::Absent,
            Self::Own => Value::Own,
            Self::One(scalar) => Value::Scalar(*scalar),
            Self::Pair(first, second) => Value::pair(*first, *second),
            Self::Seq(kind, items) => Value::Seq(*kind, SmallVec::from_slice(items)),
        })
    }

    pub(super) fn is(&self, arg: &Arg) -> bool {
        match (self, arg) {
            (Self::Absent, Arg::Absent) | (Self::Own, Arg::Given(Value::Own)) => true,
            (Self::One(scalar), Arg::Given(Value::Scalar(given))) => scalar == given,
            (Self::Pair(first, second), Arg::Given(Value::Seq(SeqKind::Tuple, items))) => {
                matches!(items.as_slice(), [Scalar::Int(a), Scalar::Int(b)] if a == first && b == second)
            }
            (Self::Seq(kind, items), Arg::Given(Value::Seq(given_kind, given))) => {
                kind == given_kind && *items == given.as_slice()
            }
            _ => false,
        }
    }
}
