//! What a call **asks** for, as far as the struct rules care.

use crate::abi::DLDevice;
use crate::case::{Arg, Case, Keyword, Probe, Scalar, Value};
use crate::oracle::{Of, ProbeName};

/// What one keyword of a call says, as far as the struct rules care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::oracle) enum Asked {
    /// Left out or `None`.
    Nothing,
    True,
    False,
    Pair(i64, i64),
    /// The exporter's own device.
    Own,
    /// A value that the standard gives no meaning to.
    Odd,
}

/// The device that an export is to end on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::oracle) enum Target {
    Unsaid,
    Own,
    Device(DLDevice),
    Malformed,
}

impl Target {
    /// The array's own device: what the exporter chose, not what the call invented.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Unsaid | Self::Own)
    }
}

/// As [`Probe::call`] would make it, without making the call.
pub(super) fn asked(case: &Case, of: Of, keyword: Keyword) -> Asked {
    let written = || match case.call.arg(keyword) {
        Arg::Absent => Asked::Nothing,
        Arg::Given(Value::Own) => Asked::Own,
        Arg::Given(Value::Scalar(Scalar::None)) => Asked::Nothing,
        Arg::Given(Value::Scalar(Scalar::Bool(true))) => Asked::True,
        Arg::Given(Value::Scalar(Scalar::Bool(false))) => Asked::False,
        Arg::Given(value) => value.as_pair().map_or(Asked::Odd, |(a, b)| Asked::Pair(a, b)),
    };
    let Of::Probe(ProbeName(probe)) = of else {
        return written();
    };
    match (probe, keyword) {
        (Probe::Plain | Probe::AllNone, _) => Asked::Nothing,
        (Probe::Version10, Keyword::MaxVersion) => Asked::Pair(1, 0),
        (Probe::Version11, Keyword::MaxVersion) => Asked::Pair(1, 1),
        (Probe::Version199, Keyword::MaxVersion) => Asked::Pair(1, 99),
        (Probe::Version20, Keyword::MaxVersion) => Asked::Pair(2, 0),
        (Probe::Version1003, Keyword::MaxVersion) => Asked::Pair(100, 3),
        (Probe::Unversioned, Keyword::MaxVersion)
        | (Probe::CopyNone, Keyword::Copy)
        | (Probe::NoDevice, Keyword::DlDevice)
        | (Probe::NoStream, Keyword::Stream) => Asked::Nothing,
        (Probe::CopyTrue, Keyword::Copy) => Asked::True,
        (Probe::CopyFalse, Keyword::Copy) => Asked::False,
        (Probe::OwnDevice | Probe::OwnTuple | Probe::OwnEnum, Keyword::DlDevice) => Asked::Own,
        (Probe::CpuDevice, Keyword::DlDevice) => Asked::Pair(1, 0),
        _ => written(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Call, SeqKind};
    use crate::oracle::testing::Scene;

    /// What a finished call says, by the same words.
    fn said(call: &Call, keyword: Keyword, own: (i64, i64)) -> Asked {
        match call.arg(keyword).value() {
            None => Asked::Nothing,
            Some(Value::Own) => Asked::Own,
            Some(Value::Scalar(Scalar::None)) => Asked::Nothing,
            Some(Value::Scalar(Scalar::Bool(value))) => {
                if *value {
                    Asked::True
                } else {
                    Asked::False
                }
            }
            Some(value) => match value.as_pair() {
                Some(pair) if pair == own && keyword == Keyword::DlDevice => Asked::Own,
                Some((a, b)) => Asked::Pair(a, b),
                None => Asked::Odd,
            },
        }
    }

    #[test]
    fn what_a_probe_asks_is_what_its_call_says() {
        let own = DLDevice::new(2, 1);
        let odd = Value::Seq(SeqKind::List, [Scalar::Int(1), Scalar::Int(0)].into_iter().collect());
        let calls = [
            Call::default(),
            Call {
                stream: Arg::Given(Value::int(-1)),
                max_version: Arg::Given(Value::pair(3, 7)),
                dl_device: Arg::Given(Value::pair(10, 0)),
                copy: Arg::Given(Value::bool(false)),
                ..Call::default()
            },
            Call {
                max_version: Arg::NONE,
                dl_device: Arg::Given(odd),
                copy: Arg::Given(Value::bool(true)),
                ..Call::default()
            },
        ];
        for call in calls {
            let mut scene = Scene::plain();
            scene.case.call = call.clone();
            for probe in Probe::ALL {
                let made = probe.call(&call, own);
                for keyword in Keyword::ALL {
                    assert_eq!(
                        asked(&scene.case, Of::Probe(ProbeName(probe)), keyword),
                        said(&made, keyword, (2, 1)),
                        "{probe:?} {keyword:?} {call:?}"
                    );
                }
            }
        }
    }
}
