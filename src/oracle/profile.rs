//! A **profile** says which side of each contested point the verdict follows.
//!
//! Goes in: the name of a profile and `knob=value` texts. Comes out: one [`Setting`] per [`Knob`], which is
//! the grade of the break that the knob governs. A name that does not exist is an error that lists those
//! that do.

use super::Grade;
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
struct Row {
    name: &'static str,
    question: &'static str,
    sides: &'static str,
    spec: Setting,
    strict: Setting,
    lenient: Setting,
}

const OFF: Setting = Setting::Off;
const I: Setting = Setting::Grade(Grade::Info);
const W: Setting = Setting::Grade(Grade::Warning);
const V: Setting = Setting::Grade(Grade::Violation);

const fn row(
    name: &'static str,
    [spec, strict, lenient]: [Setting; 3],
    question: &'static str,
    sides: &'static str,
) -> Row {
    Row { name, question, sides, spec, strict, lenient }
}

/// In the order of [`Knob`].
const TABLE: [Row; Knob::COUNT] = [
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

/// No profile has that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProfile {
    pub asked: String,
}

impl fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no profile is named `{}`; there are {}", self.asked, Profile::NAMES.join(", "))
    }
}

impl std::error::Error for UnknownProfile {}

/// A `knob=value` text that says nothing: which part of it is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKnob {
    pub asked: String,
    of: Part,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
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

/// One setting per knob, under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    name: &'static str,
    settings: [Setting; Knob::COUNT],
}

impl Profile {
    pub const NAMES: [&'static str; 5] = ["spec", "strict", "lenient", "aat", "spec-2023.12-first"];

    /// The default: what the texts bind an exporter to.
    pub fn spec() -> Self {
        Self { name: "spec", settings: std::array::from_fn(|place| TABLE[place].spec) }
    }

    /// The profile of that name.
    pub fn named(name: &str) -> Result<Self, UnknownProfile> {
        let name = (Self::NAMES.into_iter().find(|known| *known == name))
            .ok_or_else(|| UnknownProfile { asked: name.to_owned() })?;
        let mut profile = Self { name, ..Self::spec() };
        match name {
            "strict" => profile.settings = std::array::from_fn(|place| TABLE[place].strict),
            "lenient" => profile.settings = std::array::from_fn(|place| TABLE[place].lenient),
            "aat" => profile.settings[Knob::Aat as usize] = V,
            // The first text of 2023.12 said ValueError in one of two places (array-api PR #887).
            "spec-2023.12-first" => profile.settings[Knob::ValueErrorNoCopy as usize] = W,
            _ => {}
        }
        Ok(profile)
    }

    /// Turns one knob by a text such as `align256=I`.
    pub fn set(&mut self, text: &str) -> Result<(), UnknownKnob> {
        let unknown = |asked: &str, of| UnknownKnob { asked: asked.to_owned(), of };
        let (name, value) = text.split_once('=').ok_or_else(|| unknown(text, Part::Form))?;
        let knob = Knob::named(name.trim())?;
        let value = value.trim();
        self.settings[knob as usize] = value.parse().map_err(|()| unknown(value, Part::Value))?;
        Ok(())
    }

    /// The setting of one knob.
    pub fn setting(&self, knob: Knob) -> Setting {
        self.settings[knob as usize]
    }

    /// The grade that one knob is set to; `None` for off.
    pub fn grade(&self, knob: Knob) -> Option<Grade> {
        self.setting(knob).grade()
    }

    /// The name without the knobs that were turned; [`Display`](fmt::Display) gives these too.
    pub fn name(&self) -> &str {
        self.name
    }

    /// The knobs that are set otherwise than the profile of this name sets them.
    pub fn turned(&self) -> impl Iterator<Item = (Knob, Setting)> {
        let origin = Self::named(self.name).expect("a profile's name is one of NAMES");
        (Knob::ALL.into_iter())
            .filter(move |&knob| self.setting(knob) != origin.setting(knob))
            .map(|knob| (knob, self.setting(knob)))
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self::spec()
    }
}

impl fmt::Display for Profile {
    /// `spec`, or `spec align256=I` with the knobs that were turned; [`FromStr`] reads it back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.turned().try_for_each(|(knob, setting)| write!(f, " {}={setting}", knob.name()))
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let mut profile =
            Self::named(words.next().unwrap_or("spec")).map_err(|error| error.to_string())?;
        words.try_for_each(|word| profile.set(word)).map_err(|error| error.to_string())?;
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knobs_stand_at_their_own_place() {
        for (place, knob) in Knob::ALL.into_iter().enumerate() {
            assert_eq!(knob as usize, place);
            assert_eq!(Knob::named(knob.name()), Ok(knob));
        }
    }

    #[test]
    fn profiles_differ_where_section_18_says_so() {
        let named = |name| Profile::named(name).unwrap();
        assert_eq!(named("spec").setting(Knob::CopyTrueRequired), W);
        assert_eq!(named("strict").setting(Knob::CopyTrueRequired), V);
        assert_eq!(named("lenient").setting(Knob::CopyTrueRequired), OFF);
        assert_eq!(named("strict").setting(Knob::ReadonlyLegacy), V);
        assert_eq!(named("aat").setting(Knob::Aat), V);
        assert_eq!(named("spec").setting(Knob::ValueErrorNoCopy), V);
        assert_eq!(named("spec-2023.12-first").setting(Knob::ValueErrorNoCopy), W);
        assert_eq!(named("spec"), Profile::default());
    }

    #[test]
    fn a_turned_knob_is_written_and_read_back() {
        let mut profile = Profile::named("lenient").unwrap();
        profile.set("align256=I").unwrap();
        profile.set("cpu_stream = ok").unwrap();
        assert_eq!(profile.to_string(), "lenient align256=I");
        assert_eq!(profile.to_string().parse(), Ok(profile));
    }

    #[test]
    fn errors_list_what_exists() {
        let error = Profile::named("pedantic").unwrap_err().to_string();
        assert!(error.contains("`pedantic`") && error.contains("spec-2023.12-first"), "{error}");
        let error = |text| Profile::spec().set(text).unwrap_err().to_string();
        assert!(error("align=I").contains("align256"));
        assert!(error("align256=9").contains("`9`"));
        assert!(error("align256").contains("KNOB=VALUE"));
    }
}
