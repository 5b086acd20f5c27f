//! The **input classes** of a call: what the decision table distinguishes.
//!
//! Goes in: the arguments and the array's own device. Comes out: [`Classes`], or for an argument that no
//! verdict may rest on ([`Unclassed`]) nothing: `True` as a stream, a device pair whose type only some
//! libraries know, a `copy` that is no truth value.

use crate::abi::{DLDevice, DLDeviceType};
use crate::case::{Arg, Call, Scalar, SeqKind, Value};

/// The array's own device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Own {
    /// kDLCPU
    Host,
    /// Device memory that the host cannot read.
    Device,
    /// Host accessible, but not kDLCPU.
    Accessible,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DlDevice {
    Absent,
    None,
    /// The array's own device.
    Same,
    /// `(1, 0)` while the array is elsewhere; `(1, k)` with k > 0 for an array on the CPU.
    CpuOther,
    /// A type of the array API's list, not the array's own.
    UnsupportedOther,
    /// A positive type outside that list.
    UnknownType,
    Malformed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CopyArg {
    Absent,
    None,
    True,
    False,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaxVersion {
    Absent,
    None,
    /// `(0, x)`
    Zero,
    /// `(1, 0)`
    OneZero,
    /// `(1, y)` with y >= 1
    OneMore,
    /// `(m, n)` with m >= 2
    Two,
    Malformed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Absent or `None`.
    None,
    MinusOne,
    Zero,
    OneTwo,
    /// Above 2.
    Pointer,
    /// Below -1.
    Negative,
    /// Not an int.
    Bad,
}

impl Own {
    pub const ALL: [Self; 3] = [Self::Host, Self::Device, Self::Accessible];

    pub fn of(device: DLDevice) -> Self {
        match device.device_type {
            DLDeviceType::CPU => Self::Host,
            // OneAPI memory may or may not be shared; the class that demands less is the safe one.
            kind if kind.is_host_accessible() || kind == DLDeviceType::ONE_API => Self::Accessible,
            _ => Self::Device,
        }
    }

    /// As `decision_table.tsv` writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "H",
            Self::Device => "G",
            Self::Accessible => "A",
        }
    }
}

impl DlDevice {
    pub const ALL: [Self; 7] = [
        Self::Absent,
        Self::None,
        Self::Same,
        Self::CpuOther,
        Self::UnsupportedOther,
        Self::UnknownType,
        Self::Malformed,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::None => "None",
            Self::Same => "same",
            Self::CpuOther => "cpu_other",
            Self::UnsupportedOther => "unsupported_other",
            Self::UnknownType => "unknown_type",
            Self::Malformed => "malformed",
        }
    }

    /// The export stays where the array is.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Absent | Self::None | Self::Same)
    }
}

impl CopyArg {
    pub const ALL: [Self; 4] = [Self::Absent, Self::None, Self::True, Self::False];

    pub fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::None => "None",
            Self::True => "True",
            Self::False => "False",
        }
    }

    pub fn is_silent(self) -> bool {
        matches!(self, Self::Absent | Self::None)
    }

    /// `None` for a value that is neither absent, `None` nor a truth value (COPY-TYPE).
    pub fn of(arg: &Arg) -> Option<Self> {
        Some(match arg {
            Arg::Absent => Self::Absent,
            Arg::Given(Value::Scalar(Scalar::None)) => Self::None,
            Arg::Given(Value::Scalar(Scalar::Bool(true))) => Self::True,
            Arg::Given(Value::Scalar(Scalar::Bool(false))) => Self::False,
            Arg::Given(_) => return None,
        })
    }
}

impl MaxVersion {
    pub const ALL: [Self; 7] = [
        Self::Absent,
        Self::None,
        Self::Zero,
        Self::OneZero,
        Self::OneMore,
        Self::Two,
        Self::Malformed,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::None => "None",
            Self::Zero => "0.x",
            Self::OneZero => "1.0",
            Self::OneMore => "1.y",
            Self::Two => "2.0",
            Self::Malformed => "malformed",
        }
    }

    pub fn is_silent(self) -> bool {
        matches!(self, Self::Absent | Self::None)
    }

    /// A versioned capsule is asked for.
    pub fn is_versioned(self) -> bool {
        matches!(self, Self::OneZero | Self::OneMore | Self::Two)
    }

    /// A legacy capsule is due: absent, `None`, `(0, x)`.
    pub fn is_legacy(self) -> bool {
        matches!(self, Self::Absent | Self::None | Self::Zero)
    }

    pub fn of(arg: &Arg) -> Self {
        match arg {
            Arg::Absent => Self::Absent,
            Arg::Given(Value::Scalar(Scalar::None)) => Self::None,
            Arg::Given(value) => match value.as_pair() {
                // Outside of C's int is malformed: an exporter may lawfully stop at it (VER-NEGATIVE).
                Some((major, minor)) if in_int(major) && in_int(minor) => match (major, minor) {
                    (0, _) => Self::Zero,
                    (1, 0) => Self::OneZero,
                    (1, _) => Self::OneMore,
                    _ => Self::Two,
                },
                _ => Self::Malformed,
            },
        }
    }
}

impl Stream {
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::MinusOne,
        Self::Zero,
        Self::OneTwo,
        Self::Pointer,
        Self::Negative,
        Self::Bad,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::MinusOne => "m1",
            Self::Zero => "zero",
            Self::OneTwo => "one_two",
            Self::Pointer => "ptr",
            Self::Negative => "neg",
            Self::Bad => "bad",
        }
    }

    /// `None` for what Python takes for an int and some exporters do not: no value to judge by.
    pub fn of(arg: &Arg) -> Option<Self> {
        let Arg::Given(value) = arg else {
            return Some(Self::None);
        };
        let Value::Scalar(scalar) = value else {
            return Some(Self::Bad);
        };
        Some(match *scalar {
            Scalar::None => Self::None,
            Scalar::Int(number) => match number {
                -1 => Self::MinusOne,
                0 => Self::Zero,
                1 | 2 => Self::OneTwo,
                3.. => Self::Pointer,
                _ => Self::Negative,
            },
            Scalar::Huge { negative: false } => Self::Pointer,
            Scalar::Huge { negative: true } => Self::Negative,
            Scalar::Bool(_)
            | Scalar::IntEnum(_)
            | Scalar::IntSubclass(_)
            | Scalar::NumpyInt(_)
            | Scalar::Index(_) => return None,
            Scalar::Enum(_)
            | Scalar::Halves(_)
            | Scalar::Str(_)
            | Scalar::Bytes
            | Scalar::Object => Self::Bad,
        })
    }
}

/// A row of the decision table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Classes {
    pub own: Own,
    pub dl_device: DlDevice,
    pub copy: CopyArg,
    pub max_version: MaxVersion,
    pub stream: Stream,
}

/// Why a call has no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unclassed {
    /// `stream` is a value that no verdict may rest on.
    Stream,
    /// `copy` is no truth value (COPY-TYPE).
    Copy,
    /// `(1, k)` with k > 0 for an array that is not on the CPU (DEV-CPU-ID-OTHER).
    CpuIndex,
}

impl Classes {
    /// The row of a call on an array whose device is `own`.
    pub fn of(call: &Call, own: DLDevice) -> Result<Self, Unclassed> {
        let stream = Stream::of(&call.stream).ok_or(Unclassed::Stream)?;
        Ok(Self {
            own: Own::of(own),
            dl_device: device_class(&call.dl_device, own)?,
            copy: CopyArg::of(&call.copy).ok_or(Unclassed::Copy)?,
            max_version: MaxVersion::of(&call.max_version),
            stream: if own.device_type == DLDeviceType::ROCM {
                swap_for_rocm(stream)
            } else {
                stream
            },
        })
    }

    /// No argument is wrong in itself: what fails is not the caller's fault.
    pub fn is_well_formed(self) -> bool {
        self.dl_device.is_own()
            && self.max_version != MaxVersion::Malformed
            && self.stream == Stream::None
    }
}

/// ROCm: 0 is the default stream, 1 and 2 are not allowed (STR-ROCM-VALUES).
fn swap_for_rocm(stream: Stream) -> Stream {
    match stream {
        Stream::Zero => Stream::OneTwo,
        Stream::OneTwo => Stream::Zero,
        other => other,
    }
}

fn in_int(number: i64) -> bool {
    (0..=i64::from(i32::MAX)).contains(&number)
}

/// The device that an argument names, if it has the form that the standard gives a meaning to.
pub fn asked_device(arg: &Arg, own: DLDevice) -> Option<DLDevice> {
    match arg {
        Arg::Given(Value::Own) => Some(own),
        Arg::Given(value) => match value.as_pair()? {
            (kind, id) if kind > 0 && in_int(kind) && in_int(id) => {
                Some(DLDevice::new(kind as i32, id as i32))
            }
            _ => None,
        },
        Arg::Absent => None,
    }
}

fn device_class(arg: &Arg, own: DLDevice) -> Result<DlDevice, Unclassed> {
    match arg {
        Arg::Absent => return Ok(DlDevice::Absent),
        Arg::Given(Value::Scalar(Scalar::None)) => return Ok(DlDevice::None),
        Arg::Given(_) => {}
    }
    let Some(asked) = asked_device(arg, own) else {
        return Ok(DlDevice::Malformed);
    };
    Ok(if asked == own {
        DlDevice::Same
    } else if asked.device_type == DLDeviceType::CPU {
        if asked.device_id > 0 && own.device_type != DLDeviceType::CPU {
            return Err(Unclassed::CpuIndex);
        }
        DlDevice::CpuOther
    } else if asked.device_type.is_array_api() {
        DlDevice::UnsupportedOther
    } else {
        DlDevice::UnknownType
    })
}

/// A malformed pair that an exporter may well take for the pair it resembles (SIG-MALFORMED): a list or a
/// named tuple, numbers of another type, elements too many.
pub fn is_near_miss(arg: &Arg) -> bool {
    let Arg::Given(Value::Seq(kind, items)) = arg else {
        return false;
    };
    let is_number = |scalar: &Scalar| match *scalar {
        Scalar::Enum(_) => true,
        Scalar::Halves(halves) => halves % 2 == 0,
        _ => scalar.as_index().is_some(),
    };
    let has_odd_number = (items.iter())
        .any(|item| !matches!(item, Scalar::Int(_) | Scalar::IntEnum(_)) && is_number(item));
    let is_odd_pair = *kind != SeqKind::Tuple || has_odd_number || items.len() > 2;
    // NumPy reads the major version only, whatever stands behind it (*observed*).
    items.len() >= 2 && is_number(&items[0]) && (is_odd_pair || !is_number(&items[1]))
}

#[cfg(test)]
mod tests;
