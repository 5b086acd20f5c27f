//! The input **classes** of each keyword, which are the decision table's columns, as lists of concrete
//! arguments for an array that lives on the CPU. The generator, the mutator and the sweep take their values
//! from here. Which class a value really is, the oracle's decision table says on its own: this is the other
//! side of that test.

use super::sample::Sample::{self, Absent, Own, Pair};
use super::{Keyword, Scalar, SeqKind};

/// How a class of arguments stands to the specification, for the generator's frequencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    /// What a sensible caller passes to an exporter of CPU arrays.
    Usual,
    /// Lawful values that cannot be served, and values without a meaning.
    Odd,
}

/// A class of arguments of one keyword.
#[derive(Debug)]
pub(super) struct Class {
    /// As `decision_table.tsv` names it; `other` where the table has no such class.
    pub name: &'static str,
    pub tone: Tone,
    /// The values that the table is calibrated with.
    pub samples: &'static [Sample],
    /// Further values in or near the class.
    pub more: &'static [Sample],
}

impl Class {
    /// Every value, those of the calibration first.
    pub(super) fn all(&self) -> impl Iterator<Item = &'static Sample> + use<> {
        self.samples.iter().chain(self.more)
    }
}

/// The classes of a keyword: those of the decision table in its order, then `other`.
pub(super) fn classes(keyword: Keyword) -> &'static [Class] {
    match keyword {
        Keyword::Stream => STREAM,
        Keyword::MaxVersion => MAX_VERSION,
        Keyword::DlDevice => DL_DEVICE,
        Keyword::Copy => COPY,
    }
}

/// The classes that the decision table has.
pub(super) fn table_classes(keyword: Keyword) -> &'static [Class] {
    match classes(keyword) {
        [table @ .., last] if last.name == "other" => table,
        all => all,
    }
}

const fn class(
    name: &'static str,
    tone: Tone,
    samples: &'static [Sample],
    more: &'static [Sample],
) -> Class {
    Class { name, tone, samples, more }
}

const fn one(scalar: Scalar) -> Sample {
    Sample::One(scalar)
}

const fn int(value: i64) -> Sample {
    Sample::int(value)
}

const fn tuple(items: &'static [Scalar]) -> Sample {
    Sample::Seq(SeqKind::Tuple, items)
}

const CPU: Scalar = Scalar::Str(1);
const HUGE: Scalar = Scalar::Huge { negative: false };
const MINUS_HUGE: Scalar = Scalar::Huge { negative: true };
const PAST_INT32: i64 = 1 << 31;
const BELOW_INT32: i64 = -(1 << 31) - 1;

const STREAM: &[Class] = &[
    class("none", Tone::Usual, &[Absent, Sample::NONE], &[]),
    class(
        "m1",
        Tone::Usual,
        &[int(-1)],
        &[one(Scalar::IntSubclass(-1)), one(Scalar::NumpyInt(-1)), one(Scalar::IntEnum(-1))],
    ),
    class("zero", Tone::Odd, &[int(0)], &[one(Scalar::Bool(false)), one(Scalar::IntEnum(0))]),
    class(
        "one_two",
        Tone::Odd,
        &[int(1), int(2)],
        &[one(Scalar::Bool(true)), one(Scalar::IntSubclass(1)), one(Scalar::NumpyInt(2))],
    ),
    class("ptr", Tone::Odd, &[int(3), int(1 << 40)], &[int(i64::MAX), one(HUGE)]),
    class("neg", Tone::Odd, &[int(-2), int(-5)], &[int(i64::MIN), one(MINUS_HUGE)]),
    class(
        "bad",
        Tone::Odd,
        &[one(CPU), one(Scalar::Halves(3))],
        &[
            one(Scalar::Object),
            one(Scalar::Bytes),
            one(Scalar::Str(3)),
            one(Scalar::Halves(2)),
            one(Scalar::Enum(1)),
            one(Scalar::Index(1)),
            tuple(&[]),
            Pair(1, 0),
            Sample::Seq(SeqKind::List, &[Scalar::Int(1)]),
            Own,
        ],
    ),
];

const MAX_VERSION: &[Class] = &[
    class("absent", Tone::Usual, &[Absent], &[]),
    class("None", Tone::Usual, &[Sample::NONE], &[]),
    class(
        "0.x",
        Tone::Usual,
        &[Pair(0, 0), Pair(0, 8)],
        &[Pair(0, 5), Pair(0, 99), Pair(0, PAST_INT32)],
    ),
    class("1.0", Tone::Usual, &[Pair(1, 0)], &[tuple(&[Scalar::IntEnum(1), Scalar::IntEnum(0)])]),
    class(
        "1.y",
        Tone::Usual,
        &[Pair(1, 1), Pair(1, 99)],
        &[Pair(1, 2), Pair(1, 3), Pair(1, PAST_INT32)],
    ),
    class(
        "2.0",
        Tone::Usual,
        &[Pair(2, 0), Pair(100, 3)],
        &[Pair(2, 1), Pair(3, 0), Pair(PAST_INT32 - 1, 0), Pair(PAST_INT32, 0)],
    ),
    class(
        "malformed",
        Tone::Odd,
        &[
            one(CPU),
            tuple(&[Scalar::Int(1)]),
            tuple(&[Scalar::Int(1), Scalar::Int(0), Scalar::Int(0)]),
            int(1),
        ],
        &[
            Sample::Seq(SeqKind::List, &[Scalar::Int(1), Scalar::Int(0)]),
            Sample::Seq(SeqKind::TupleSubclass, &[Scalar::Int(1), Scalar::Int(0)]),
            Sample::Seq(SeqKind::TupleSubclass, &[]),
            tuple(&[]),
            Pair(-1, 0),
            Pair(1, -1),
            Pair(i64::MIN, 0),
            tuple(&[HUGE, Scalar::Int(0)]),
            tuple(&[Scalar::Int(1), HUGE]),
            tuple(&[MINUS_HUGE, Scalar::Int(0)]),
            tuple(&[Scalar::Halves(2), Scalar::Halves(0)]),
            tuple(&[Scalar::None, Scalar::None]),
            tuple(&[Scalar::Bool(true), Scalar::Bool(false)]),
            tuple(&[Scalar::Str(3), Scalar::Str(0)]),
            tuple(&[Scalar::IntSubclass(1), Scalar::Int(0)]),
            tuple(&[Scalar::NumpyInt(1), Scalar::NumpyInt(0)]),
            tuple(&[Scalar::Index(1), Scalar::Index(0)]),
            tuple(&[Scalar::Enum(1), Scalar::Int(0)]),
            one(Scalar::Str(4)),
            one(Scalar::Halves(2)),
            one(Scalar::Bool(true)),
            one(Scalar::Bytes),
            one(Scalar::Object),
            one(Scalar::IntEnum(1)),
            one(HUGE),
            Own,
        ],
    ),
];

const DL_DEVICE: &[Class] = &[
    class("absent", Tone::Usual, &[Absent], &[]),
    class("None", Tone::Usual, &[Sample::NONE], &[]),
    class(
        "same",
        Tone::Usual,
        &[Own, Pair(1, 0), tuple(&[Scalar::IntEnum(1), Scalar::Int(0)])],
        &[tuple(&[Scalar::IntEnum(1), Scalar::IntEnum(0)])],
    ),
    class("cpu_other", Tone::Odd, &[Pair(1, 1), Pair(1, 7)], &[Pair(1, PAST_INT32 - 1)]),
    class(
        "unsupported_other",
        Tone::Odd,
        &[Pair(2, 0), Pair(3, 0), Pair(4, 0), Pair(8, 0), Pair(10, 0), Pair(13, 0), Pair(14, 1)],
        &[
            Pair(2, 1),
            Pair(7, 0),
            Pair(9, 0),
            Pair(2, 99),
            tuple(&[Scalar::IntEnum(2), Scalar::Int(0)]),
        ],
    ),
    class(
        "unknown_type",
        Tone::Odd,
        &[Pair(5, 0), Pair(17, 0), Pair(99, 0)],
        &[Pair(6, 0), Pair(11, 0), Pair(12, 0), Pair(18, 0), Pair(19, 0), Pair(PAST_INT32 - 1, 0)],
    ),
    class(
        "malformed",
        Tone::Odd,
        &[
            one(CPU),
            tuple(&[Scalar::Int(1)]),
            Pair(0, 0),
            Pair(-1, 0),
            Pair(1, -1),
            Pair(PAST_INT32, 0),
            Sample::Seq(SeqKind::List, &[Scalar::Int(1), Scalar::Int(0)]),
        ],
        &[
            Sample::Seq(SeqKind::TupleSubclass, &[Scalar::Int(1), Scalar::Int(0)]),
            tuple(&[]),
            tuple(&[Scalar::Int(1), Scalar::Int(0), Scalar::Int(0)]),
            tuple(&[Scalar::Int(1), HUGE]),
            tuple(&[HUGE, Scalar::Int(0)]),
            Pair(1, PAST_INT32),
            Pair(BELOW_INT32, 0),
            Pair((1 << 32) + 1, 0),
            Pair(1, 1 << 32),
            Pair(i64::MAX, i64::MIN),
            tuple(&[Scalar::Halves(2), Scalar::Halves(0)]),
            tuple(&[Scalar::Bool(true), Scalar::Bool(false)]),
            tuple(&[Scalar::Str(1), Scalar::Int(0)]),
            tuple(&[Scalar::None, Scalar::None]),
            tuple(&[Scalar::Int(1), Scalar::None]),
            tuple(&[Scalar::IntSubclass(1), Scalar::Int(0)]),
            tuple(&[Scalar::NumpyInt(1), Scalar::NumpyInt(0)]),
            tuple(&[Scalar::Index(1), Scalar::Index(0)]),
            tuple(&[Scalar::Enum(1), Scalar::Int(0)]),
            one(Scalar::Str(2)),
            int(1),
            one(Scalar::Bool(true)),
            one(Scalar::Halves(2)),
            one(Scalar::IntEnum(1)),
            one(Scalar::Object),
        ],
    ),
];

const COPY: &[Class] = &[
    class("absent", Tone::Usual, &[Absent], &[]),
    class("None", Tone::Usual, &[Sample::NONE], &[]),
    class("True", Tone::Usual, &[Sample::bool(true)], &[]),
    class("False", Tone::Usual, &[Sample::bool(false)], &[]),
    class(
        "other",
        Tone::Odd,
        &[],
        &[
            int(1),
            int(0),
            int(2),
            int(-1),
            one(HUGE),
            one(Scalar::Halves(2)),
            one(Scalar::Halves(0)),
            one(Scalar::Str(5)),
            one(Scalar::Str(0)),
            one(Scalar::IntEnum(1)),
            one(Scalar::Enum(1)),
            one(Scalar::IntSubclass(0)),
            one(Scalar::NumpyInt(1)),
            one(Scalar::Index(1)),
            one(Scalar::Bytes),
            one(Scalar::Object),
            tuple(&[]),
            Pair(1, 0),
            Sample::Seq(SeqKind::List, &[Scalar::Bool(true)]),
            Own,
        ],
    ),
];
