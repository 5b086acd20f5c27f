//! A **profile** says which side of each contested point the verdict follows (rules.md section 18).

use super::Grade;

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

/// One setting per knob, under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    name: String,
    settings: [Setting; Knob::COUNT],
}

impl Knob {
    pub const COUNT: usize = 21;
}

impl Profile {
    /// The setting of one knob.
    pub fn setting(&self, knob: Knob) -> Setting {
        self.settings[knob as usize]
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}
