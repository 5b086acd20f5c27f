//! Further exports of the same array within one case, for the rules that compare two calls.
//!
//! A probe is a pure function from the case's call to another call ([`Probe::call`]), so that a rule, a
//! report and a reproducer all mean the same one. The runner makes the probes that the case asks for and
//! those that a rule needs to judge a refusal (`BE?legacy` and `BE?minor` in the decision table).

use super::{Arg, Call, ExchangeStep, Extra, Keys, Keyword, Scalar, SeqKind, Value};
use crate::abi::DLDevice;
use smallvec::smallvec;

/// One further export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Probe {
    /// `__dlpack__()`.
    Plain,
    /// The same call again, while the first result lives.
    Repeat,
    /// The same with `max_version=(1, 0)`.
    Version10,
    /// The same with `max_version=(1, 1)`.
    Version11,
    /// The same with `max_version=(1, 99)`.
    Version199,
    /// The same with `max_version=(2, 0)`.
    Version20,
    /// The same with `max_version=(100, 3)`.
    Version1003,
    /// The same without `max_version`.
    Unversioned,
    /// The same with `copy=None`.
    CopyNone,
    /// The same with `copy=True`.
    CopyTrue,
    /// The same with `copy=False`.
    CopyFalse,
    /// The same with `dl_device` = own device as plain ints.
    OwnDevice,
    /// The same with the tuple that `__dlpack_device__()` returned.
    OwnTuple,
    /// The same with own device, its type as an `IntEnum` member.
    OwnEnum,
    /// The same without `dl_device`.
    NoDevice,
    /// The same with `dl_device=(1, 0)`.
    CpuDevice,
    /// Every keyword left out is passed as `None`, and the reverse.
    NoneForAbsent,
    /// The same with the keywords in the reverse order and names made at run time.
    Reordered,
    /// The same without `stream`.
    NoStream,
    /// All four keywords as `None`.
    AllNone,
}

impl Probe {
    /// In the order of the bits of [`Probes`], which is part of the byte format: append only.
    pub const ALL: [Self; 20] = [
        Self::Plain,
        Self::Repeat,
        Self::Version10,
        Self::Version11,
        Self::Version199,
        Self::Version20,
        Self::Version1003,
        Self::Unversioned,
        Self::CopyNone,
        Self::CopyTrue,
        Self::CopyFalse,
        Self::OwnDevice,
        Self::OwnTuple,
        Self::OwnEnum,
        Self::NoDevice,
        Self::CpuDevice,
        Self::NoneForAbsent,
        Self::Reordered,
        Self::NoStream,
        Self::AllNone,
    ];

    /// Name in case texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Repeat => "repeat",
            Self::Version10 => "version-1.0",
            Self::Version11 => "version-1.1",
            Self::Version199 => "version-1.99",
            Self::Version20 => "version-2.0",
            Self::Version1003 => "version-100.3",
            Self::Unversioned => "unversioned",
            Self::CopyNone => "copy-none",
            Self::CopyTrue => "copy-true",
            Self::CopyFalse => "copy-false",
            Self::OwnDevice => "own-device",
            Self::OwnTuple => "own-tuple",
            Self::OwnEnum => "own-enum",
            Self::NoDevice => "no-device",
            Self::CpuDevice => "cpu-device",
            Self::NoneForAbsent => "none-for-absent",
            Self::Reordered => "reordered",
            Self::NoStream => "no-stream",
            Self::AllNone => "all-none",
        }
    }

    /// The call that this probe makes of `call`; `own` is the array's device.
    pub fn call(self, call: &Call, own: DLDevice) -> Call {
        use Keyword::*;
        let own = (i64::from(own.device_type.0), i64::from(own.device_id));
        let version = |major, minor| Arg::Given(Value::pair(major, minor));
        let base = call.clone();
        match self {
            Self::Plain => Call::default(),
            Self::Repeat => base,
            Self::Version10 => base.with(MaxVersion, version(1, 0)),
            Self::Version11 => base.with(MaxVersion, version(1, 1)),
            Self::Version199 => base.with(MaxVersion, version(1, 99)),
            Self::Version20 => base.with(MaxVersion, version(2, 0)),
            Self::Version1003 => base.with(MaxVersion, version(100, 3)),
            Self::Unversioned => base.with(MaxVersion, Arg::Absent),
            Self::CopyNone => base.with(Copy, Arg::NONE),
            Self::CopyTrue => base.with(Copy, Arg::Given(Value::bool(true))),
            Self::CopyFalse => base.with(Copy, Arg::Given(Value::bool(false))),
            Self::OwnDevice => base.with(DlDevice, Arg::Given(Value::pair(own.0, own.1))),
            Self::OwnTuple => base.with(DlDevice, Arg::Given(Value::Own)),
            Self::OwnEnum => base.with(
                DlDevice,
                Arg::Given(Value::Seq(
                    SeqKind::Tuple,
                    smallvec![Scalar::IntEnum(own.0), Scalar::Int(own.1)],
                )),
            ),
            Self::NoDevice => base.with(DlDevice, Arg::Absent),
            Self::CpuDevice => base.with(DlDevice, Arg::Given(Value::pair(1, 0))),
            Self::NoneForAbsent => Keyword::ALL.into_iter().fold(base, |call, keyword| {
                let arg = match call.arg(keyword) {
                    Arg::Absent => Arg::NONE,
                    arg if arg.is_silent() => Arg::Absent,
                    arg => arg.clone(),
                };
                call.with(keyword, arg)
            }),
            Self::Reordered => Call { order: 23 - base.order % 24, keys: Keys::Fresh, ..base },
            Self::NoStream => base.with(Stream, Arg::Absent),
            Self::AllNone => Call {
                stream: Arg::NONE,
                max_version: Arg::NONE,
                dl_device: Arg::NONE,
                copy: Arg::NONE,
                extra: Extra::Nothing,
                ..Call::default()
            },
        }
    }
}

/// A set of probes, and of [`ExchangeStep`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Probes(u32);

/// Probes have the lower bits, in the order of [`Probe::ALL`], steps the upper eight.
const EXCHANGE: u32 = 0xff00_0000;
const _: () = assert!(Probe::ALL.len() <= 24);

impl Probes {
    pub const NONE: Self = Self(0);
    /// Every probe, and no step.
    pub const ALL: Self = Self((1 << Probe::ALL.len()) - 1);

    /// The set with these bits; bits without a meaning are dropped.
    pub fn from_bits(bits: u32) -> Self {
        Self(bits & (Self::ALL.0 | EXCHANGE))
    }

    pub fn bits(self) -> u32 {
        self.0
    }

    pub fn contains(self, probe: Probe) -> bool {
        self.0 & (1 << probe as u32) != 0
    }

    pub fn insert(&mut self, probe: Probe) {
        self.0 |= 1 << probe as u32;
    }

    pub fn remove(&mut self, probe: Probe) {
        self.0 &= !(1 << probe as u32);
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Some step is asked for.
    pub fn asks_exchange(self) -> bool {
        self.0 & EXCHANGE != 0
    }

    pub fn asks(self, step: ExchangeStep) -> bool {
        self.0 & step.bit() != 0
    }

    pub fn ask(&mut self, step: ExchangeStep) {
        self.0 |= step.bit();
    }

    pub fn unask(&mut self, step: ExchangeStep) {
        self.0 &= !step.bit();
    }

    /// The steps that are asked for.
    pub fn steps(self) -> impl Iterator<Item = ExchangeStep> {
        ExchangeStep::ALL.into_iter().filter(move |&step| self.asks(step))
    }

    /// The probes.
    pub fn iter(self) -> impl Iterator<Item = Probe> {
        let mut bits = self.0 & !EXCHANGE;
        std::iter::from_fn(move || {
            let place = bits.trailing_zeros();
            bits &= bits.wrapping_sub(1);
            Probe::ALL.get(place as usize).copied()
        })
    }
}

impl FromIterator<Probe> for Probes {
    fn from_iter<I: IntoIterator<Item = Probe>>(probes: I) -> Self {
        let mut set = Self::NONE;
        probes.into_iter().for_each(|probe| set.insert(probe));
        set
    }
}
