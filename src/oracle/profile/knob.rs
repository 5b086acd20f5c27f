//! A **knob** is a contested point of the texts: its question, who reads it how, and the grade of its break
//! under each profile.

use crate::oracle::Grade;
use std::fmt;
use std::str::FromStr;

/// A contested point that can be set by name (`--knob NAME=VALUE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Knob {
    NoneMeansLegacy,
    MaxVersionCeiling,
    RequireVersioned,
    CopyTrueRequired,
    ValueErrorNoCopy,
    BufferErrorMust,
    CpuLabel,
    PinnedAsCpu,
    CpuStream,
    LegacyNullStrides,
    NullDataSize0,
    Align256,
    NegativeStrides,
    ReadonlyLegacy,
    DeleterExc,
    Finalized,
    ConsumerWrites,
    Finalizing,
    StrictArgs,
    AllocNogil,
    Aat,
}

/// What a knob is set to: the grade of the break it governs, or off (nothing is said).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    Off,
    Grade(Grade),
}

/// A contested point: its words and the settings under `spec`, `strict` and `lenient`.
pub(super) struct Row {
    name: &'static str,
    question: &'static str,
    sides: &'static str,
    pub(super) spec: Setting,
    pub(super) strict: Setting,
    pub(super) lenient: Setting,
}

pub(super) const OFF: Setting = Setting::Off;
pub(super) const I: Setting = Setting::Grade(Grade::Info);
pub(super) const W: Setting = Setting::Grade(Grade::Warning);
pub(super) const V: Setting = Setting::Grade(Grade::Violation);

const fn row(
    name: &'static str,
    [spec, strict, lenient]: [Setting; 3],
    question: &'static str,
    sides: &'static str,
) -> Row {
    Row { name, question, sides, spec, strict, lenient }
}

/// In the order of [`Knob`].
pub(super) const TABLE: [Row; Knob::COUNT] = [
    row(
        "none_means_legacy",
        [V, V, W],
        "versioned capsule without max_version",
        "the array API's notes list only legacy or BufferError, and a caller from 2021.12 knows only `dltensor`; \
         against: that logic is called recommended",
    ),
    row(
        "max_version_ceiling",
        [W, V, I],
        "returned major above the requested one",
        "the letter permits a different version and makes the consumer verify; recommended logic: older or \
         BufferError",
    ),
    row(
        "require_versioned",
        [I, W, OFF],
        "legacy capsule although max_version >= (1, 0)",
        "the letter allows it; DLPack's Python text says that versioned should be used; mlx and TensorFlow live \
         on it",
    ),
    row(
        "copy_true_required",
        [W, V, OFF],
        "BufferError for copy=True on the own device",
        "the array API: \"must always copy\", and its test suite requires it; CuPy, nanobind and tvm-ffi refuse",
    ),
    row(
        "valueerror_nocopy",
        [V, V, W],
        "ValueError instead of BufferError for an impossible copy=False",
        "the first text of 2023.12 and torch, CuPy, JAX: ValueError; the array API since 2025-02 and its test \
         suite: BufferError (a library that claims 2023.12 only is warned at most)",
    ),
    row(
        "buffererror_must",
        [W, V, I],
        "another exception than BufferError for data that cannot be described",
        "the array API says should; its author wanted must (PR #498)",
    ),
    row(
        "cpu_label",
        [W, V, OFF],
        "dl_device=(1, 0) answered with pinned or managed memory under its own device type",
        "CuPy: in the spirit; the letter: the device must match",
    ),
    row(
        "pinned_as_cpu",
        [W, V, I],
        "the device method says pinned, the capsule says CPU",
        "torch does so and consumers work around it; the text says should",
    ),
    row(
        "cpu_stream",
        [W, V, OFF],
        "a stream other than None accepted on the CPU",
        "the letter: only None; torch's default is -1 (information at most below `V`), others ignore the value",
    ),
    row(
        "legacy_null_strides",
        [I, W, OFF],
        "NULL strides in a legacy capsule or with a minor below 2",
        "DLPack's Python text and headers before 1.2 allow it; headers from 1.2 forbid it without naming the \
         struct",
    ),
    row(
        "null_data_size0",
        [I, W, OFF],
        "data that is not NULL although the size is 0",
        "the header: should be NULL; arrow's and NumPy's developers call that pointless",
    ),
    row(
        "align256",
        [OFF, I, OFF],
        "data aligned to 256 bytes",
        "the header demands it in one sentence and says in a note that nobody does (dlpack#99 is open)",
    ),
    row(
        "negative_strides",
        [I, I, OFF],
        "export of negative strides",
        "the texts are silent; some consumers break",
    ),
    row(
        "readonly_legacy",
        [I, V, OFF],
        "a read-only array exported in a legacy capsule, which cannot say so",
        "NumPy refuses with BufferError; JAX and nanobind export",
    ),
    row(
        "deleter_exc",
        [W, V, I],
        "a deleter called directly leaves a Python exception",
        "never decided (a TODO in NumPy and in older DLPack texts)",
    ),
    row(
        "finalized",
        [W, V, I],
        "a deleter after the interpreter's end crashes",
        "only the comment of an example in DLPack's Python text speaks of it",
    ),
    row(
        "consumer_writes",
        [OFF, I, OFF],
        "the consumer modified fields of the struct before the deleter",
        "the texts are silent",
    ),
    row(
        "finalizing",
        [I, W, OFF],
        "a deleter during the interpreter's end",
        "the texts are silent; depends on CPython",
    ),
    row(
        "strict_args",
        [I, W, OFF],
        "argument values that nearly have the right form are accepted",
        "the texts are silent",
    ),
    row(
        "alloc_nogil",
        [OFF, I, OFF],
        "the C allocator called without the GIL",
        "a note of the header suggests it; no rule",
    ),
    row(
        "aat",
        [OFF, OFF, OFF],
        "behave like array-api-tests",
        "a list of ten device types; BufferError only for copy=False across devices",
    ),
];

impl Knob {
    pub const COUNT: usize = 21;

    /// In the order of the table of contested points.
    pub const ALL: [Self; Self::COUNT] = [
        Self::NoneMeansLegacy,
        Self::MaxVersionCeiling,
        Self::RequireVersioned,
        Self::CopyTrueRequired,
        Self::ValueErrorNoCopy,
        Self::BufferErrorMust,
        Self::CpuLabel,
        Self::PinnedAsCpu,
        Self::CpuStream,
        Self::LegacyNullStrides,
        Self::NullDataSize0,
        Self::Align256,
        Self::NegativeStrides,
        Self::ReadonlyLegacy,
        Self::DeleterExc,
        Self::Finalized,
        Self::ConsumerWrites,
        Self::Finalizing,
        Self::StrictArgs,
        Self::AllocNogil,
        Self::Aat,
    ];

    /// Name on the command line and in the rule catalogue.
    pub fn name(self) -> &'static str {
        TABLE[self as usize].name
    }

    /// What is contested.
    pub fn question(self) -> &'static str {
        TABLE[self as usize].question
    }

    /// Who reads it how.
    pub fn sides(self) -> &'static str {
        TABLE[self as usize].sides
    }

    pub fn named(name: &str) -> Result<Self, UnknownKnob> {
        (Self::ALL.into_iter().find(|knob| knob.name() == name))
            .ok_or_else(|| UnknownKnob { asked: name.to_owned(), of: Part::Knob })
    }
}

impl Setting {
    /// The grade, or `None` for off.
    pub fn grade(self) -> Option<Grade> {
        match self {
            Self::Off => None,
            Self::Grade(grade) => Some(grade),
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Grade(Grade::Info) => "I",
            Self::Grade(Grade::Warning) => "W",
            Self::Grade(Grade::Violation) => "V",
        })
    }
}

impl FromStr for Setting {
    type Err = ();

    /// `V`, `W`, `I`, `off`; `ok` is `off`.
    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "V" | "v" => Ok(V),
            "W" | "w" => Ok(W),
            "I" | "i" => Ok(I),
            "off" | "ok" => Ok(OFF),
            _ => Err(()),
        }
    }
}

/// A `knob=value` text that says nothing: which part of it is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKnob {
    pub asked: String,
    pub(super) of: Part,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Form,
    Knob,
    Value,
}

impl fmt::Display for UnknownKnob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let asked = &self.asked;
        match self.of {
            Part::Form => {
                write!(f, "`{asked}` is not of the form KNOB=VALUE, such as `align256=I`")
            }
            Part::Knob => {
                let names: Vec<_> = Knob::ALL.into_iter().map(Knob::name).collect();
                write!(f, "no knob is named `{asked}`; there are {}", names.join(", "))
            }
            Part::Value => write!(
                f,
                "`{asked}` is no value of a knob; there are V (violation), W (warning), I (information) and off"
            ),
        }
    }
}

impl std::error::Error for UnknownKnob {}
