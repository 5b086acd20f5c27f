//! The **blame**: which one rule an outcome breaks that the decision table does not grant (P-ONE-CAUSE),
//! and what that rule demands, in a sentence.

/// A rule that the table can blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blame {
    CopyFalseAlias,
    CopyFalseBe,
    CopyFalseConsistent,
    CopyNoneAlias,
    CopySameDeviceNeutral,
    CopyTrueDistinct,
    CopyTrueIgnored,
    CopyTrueRefused,
    DevCpuIdOther,
    DevCpuOffer,
    DevHonour,
    DevHonourCpu,
    ExcClass,
    ExcCopyImpossible,
    ExcDevice,
    ExcNocopyCrossdev,
    ExcNotexportable,
    ExcSystemerror,
    ExcUnexpected,
    RoLegacy,
    SigAbsentIsNone,
    SigDeviceEnum,
    SigMalformed,
    SigMalformedIgnored,
    SigNoneNeutral,
    SigOldTypeerror,
    StrCpuErrtype,
    StrCpuNoneOnly,
    StrCpuRequest,
    StrCudaZero,
    StrNone,
    StrNonint,
    StrRange,
    StrRocmValues,
    Ver0x,
    Ver1xVersioned,
    VerCeiling,
    VerHigherMajor,
    VerIndependent,
    VerNegative,
    VerNoneLegacy,
    VerOldBe,
    VerSameMajor,
}

impl Blame {
    /// The rule's id in the catalogue.
    pub fn id(self) -> &'static str {
        self.words().0
    }

    /// What the rule demands.
    pub fn demand(self) -> &'static str {
        self.words().1
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::CopyFalseAlias => {
                ("COPY-FALSE-ALIAS", "an export with copy=False shares its memory with the array")
            }
            Self::CopyFalseBe => {
                ("COPY-FALSE-BE", "copy=False raises BufferError where a copy would be needed")
            }
            Self::CopyFalseConsistent => (
                "COPY-FALSE-CONSISTENT",
                "copy=False succeeds where the same call with copy=None shares the array's memory",
            ),
            Self::CopyNoneAlias => (
                "COPY-NONE-ALIAS",
                "without copy=True an export on the array's own device reuses its memory where that is possible",
            ),
            Self::CopySameDeviceNeutral => (
                "COPY-SAME-DEVICE-NEUTRAL",
                "dl_device equal to the array's own device behaves as dl_device left out",
            ),
            Self::CopyTrueDistinct => (
                "COPY-TRUE-DISTINCT",
                "no byte of an export with copy=True is shared with the array",
            ),
            Self::CopyTrueIgnored => {
                ("COPY-TRUE-IGNORED", "copy=True is never ignored: the export is a copy")
            }
            Self::CopyTrueRefused => {
                ("COPY-TRUE-REFUSED", "copy=True on the array's own device gives a copy")
            }
            Self::DevCpuIdOther => {
                ("DEV-CPU-ID-OTHER", "dl_device=(1, k) with k > 0 gives an export or BufferError")
            }
            Self::DevCpuOffer => {
                ("DEV-CPU-OFFER", "an array that is not on the CPU offers dl_device=(1, 0)")
            }
            Self::DevHonour => {
                ("DEV-HONOUR", "a call with dl_device gives an export on that device, or raises")
            }
            Self::DevHonourCpu => {
                ("DEV-HONOUR-CPU", "an export with dl_device=(1, 0) says that it is on kDLCPU")
            }
            Self::ExcClass => ("EXC-CLASS", "what is raised derives from Exception"),
            Self::ExcCopyImpossible => (
                "EXC-COPY-IMPOSSIBLE",
                "copy=False raises BufferError where the array's layout needs a copy",
            ),
            Self::ExcDevice => {
                ("EXC-DEVICE", "a device type that the exporter cannot handle raises BufferError")
            }
            Self::ExcNocopyCrossdev => (
                "EXC-NOCOPY-CROSSDEV",
                "copy=False raises BufferError where the data would have to move to another device",
            ),
            Self::ExcNotexportable => {
                ("EXC-NOTEXPORTABLE", "data that DLPack cannot describe raises BufferError")
            }
            Self::ExcSystemerror => ("EXC-SYSTEMERROR", "no call ends in SystemError"),
            Self::ExcUnexpected => (
                "EXC-UNEXPECTED",
                "a call succeeds or raises BufferError, TypeError or ValueError with a reason that the caller gave",
            ),
            Self::RoLegacy => (
                "RO-LEGACY",
                "a read-only array is not exported in a legacy capsule, which cannot say so",
            ),
            Self::SigAbsentIsNone => {
                ("SIG-ABSENT-IS-NONE", "leaving a keyword out equals passing None for it")
            }
            Self::SigDeviceEnum => (
                "SIG-DEVICE-ENUM",
                "a device type given as an IntEnum member, as __dlpack_device__() may return it, means its number",
            ),
            Self::SigMalformed => (
                "SIG-MALFORMED",
                "a max_version or dl_device that is no 2-tuple of ints raises an exception",
            ),
            Self::SigMalformedIgnored => (
                "SIG-MALFORMED-IGNORED",
                "whether a malformed dl_device is noticed does not depend on max_version",
            ),
            Self::SigNoneNeutral => {
                ("SIG-NONE-NEUTRAL", "passing None for all four keywords equals the plain call")
            }
            Self::SigOldTypeerror => (
                "SIG-OLD-TYPEERROR",
                "an exporter without the keyword answers it with TypeError, so that consumers try again without it",
            ),
            Self::StrCpuErrtype => (
                "STR-CPU-ERRTYPE",
                "a stream on the CPU raises TypeError, ValueError or BufferError",
            ),
            Self::StrCpuNoneOnly => {
                ("STR-CPU-NONE-ONLY", "on the CPU only stream=None is accepted")
            }
            Self::StrCpuRequest => ("STR-CPU-REQUEST", "with dl_device=(1, 0) the stream is None"),
            Self::StrCudaZero => ("STR-CUDA-ZERO", "stream=0 is not allowed on CUDA"),
            Self::StrNone => ("STR-NONE", "stream=None is always accepted"),
            Self::StrNonint => {
                ("STR-NONINT", "a stream that is no int raises TypeError or ValueError")
            }
            Self::StrRange => ("STR-RANGE", "a stream below -1 is invalid"),
            Self::StrRocmValues => ("STR-ROCM-VALUES", "streams 1 and 2 are not supported on ROCm"),
            Self::Ver0x => ("VER-0X", "max_version=(0, x) gives a legacy capsule or BufferError"),
            Self::Ver1xVersioned => {
                ("VER-1X-VERSIONED", "max_version of (1, 0) or above gives a versioned capsule")
            }
            Self::VerCeiling => {
                ("VER-CEILING", "the returned major version is not above the requested one")
            }
            Self::VerHigherMajor => (
                "VER-HIGHER-MAJOR",
                "max_version with a higher major than the exporter's own succeeds as (1, 99) does",
            ),
            Self::VerIndependent => (
                "VER-INDEPENDENT",
                "apart from the kind of struct and its flags, max_version changes nothing",
            ),
            Self::VerNegative => (
                "VER-NEGATIVE",
                "negative or huge numbers in max_version are malformed or very old",
            ),
            Self::VerNoneLegacy => {
                ("VER-NONE-LEGACY", "without max_version the capsule is a legacy one")
            }
            Self::VerOldBe => (
                "VER-OLD-BE",
                "a max_version that is too old raises BufferError and no other exception",
            ),
            Self::VerSameMajor => {
                ("VER-SAME-MAJOR", "every minor version of a supported major is answered alike")
            }
        }
    }
}
