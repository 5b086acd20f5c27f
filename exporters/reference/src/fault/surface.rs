//! Faults that only the Python object can have: names and destructors of capsules, the signature, the types
//! of what goes in and out.

use super::{Fault, Life, Plant, Route};
use crate::dlpack::Device;

/// What the Python object does otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    EmptyReturnsNone,
    NameOfVersion,
    NameNull,
    NameUsed,
    NameOfItsOwn,
    VersionedNamedLegacy,
    NoDestructor,
    DestructorIdle,
    DestructorSetsError,
    NoDeviceMethod,
    DeviceList,
    DeviceNumber,
    DeviceTypeWord,
    DeviceTypeEnum,
    DeviceIdNone,
    DeviceIdBool,
    DeviceRaises,
    ImportedForgetsDevice,
    ImportedForgetsReadOnly,
    CopyAnythingIsTrue,
    Positional,
    NoStreamKeyword,
    NoCopyKeyword,
    CopyKeywordValueError,
    UnknownKeywordValueError,
    CopyNoneRefused,
    AllNoneRefused,
    StreamNoneRefused,
    OrderMatters,
    NamesByAddress,
    TuplesLeaked,
    EnumRefused,
    StreamOfAnyType,
    ErrorLeftBehind,
    Life(Life),
}

use Surface::*;

pub(super) const FAULTS: &[Fault] = &[
    row(
        "empty_returns_none",
        "CAP-TYPE",
        "An array without elements is exported as None.",
        EmptyReturnsNone,
    ),
    row(
        "name_of_version",
        "CAP-NAME-KNOWN",
        "A versioned capsule is named after its version.",
        NameOfVersion,
    ),
    row("name_null", "CAP-NAME-KNOWN", "The capsule of a copy has no name.", NameNull),
    row(
        "name_used",
        "CAP-NAME-KNOWN",
        "The capsule of a read-only array has the name of a consumed one.",
        NameUsed,
    ),
    row(
        "name_of_its_own",
        "CAP-NAME-STATIC",
        "Each capsule has a name in a buffer of its own.",
        NameOfItsOwn,
    )
    .info(),
    row(
        "versioned_named_legacy",
        "CAP-STRUCT-MATCHES-NAME",
        "The versioned struct of an array without axes goes out under the name of the legacy one.",
        VersionedNamedLegacy,
    ),
    row(
        "no_destructor",
        "CAP-DTOR-PRESENT",
        "The capsule of a copy has no destructor.",
        NoDestructor,
    ),
    row(
        "destructor_idle",
        "CAP-DTOR-UNCONSUMED",
        "The destructor looks for the name of the other struct: what nobody takes is leaked.",
        DestructorIdle,
    ),
    row(
        "destructor_sets_error",
        "CAP-DTOR-EXC-CLEAN",
        "The destructor asks a versioned capsule for the legacy struct first, and leaves that error set.",
        DestructorSetsError,
    ),
    row("no_device_method", "DEV-BOTH", "There is no __dlpack_device__.", NoDeviceMethod)
        // Whoever calls it finds no method.
        .also(&["DEV-DUNDER-RAISES"]),
    row("device_list", "DEV-TUPLE", "The device is a list.", DeviceList).warning(),
    row(
        "device_number",
        "DEV-TUPLE",
        "The device of an array without axes is its type alone.",
        DeviceNumber,
    ),
    row("device_type_word", "DEV-TYPE-ELEM", "The type of the device is a word.", DeviceTypeWord),
    row(
        "device_type_enum",
        "DEV-TYPE-ELEM",
        "The type of the device is a plain Enum.",
        DeviceTypeEnum,
    )
    .warning(),
    row("device_id_none", "DEV-ID-ELEM", "The index of the device is None.", DeviceIdNone),
    row("device_id_bool", "DEV-ID-ELEM", "The index of the device is False.", DeviceIdBool)
        .warning(),
    row(
        "device_raises",
        "DEV-DUNDER-RAISES",
        "The device of an empty array raises ValueError.",
        DeviceRaises,
    )
    .warning(),
    row(
        "imported_forgets_device",
        "DEV-FOREIGN",
        "An array over imported memory says that it is pinned, whatever the memory is.",
        ImportedForgetsDevice,
    )
    .warning(),
    row(
        "imported_forgets_read_only",
        "RO-REEXPORT",
        "An array over imported memory is writable, whatever its exporter said.",
        ImportedForgetsReadOnly,
    )
    .warning(),
    row(
        "copy_anything_is_true",
        "COPY-TYPE",
        "Any value of copy but None and False makes a copy, also 0.",
        CopyAnythingIsTrue,
    )
    .info(),
    row("positional", "SIG-KWONLY", "The arguments can be given without their names.", Positional)
        .warning(),
    row("no_stream_keyword", "SIG-STREAM", "There is no keyword stream.", NoStreamKeyword),
    row("no_copy_keyword", "SIG-2023", "There is no keyword copy.", NoCopyKeyword),
    row(
        "copy_keyword_valueerror",
        "SIG-OLD-TYPEERROR",
        "The keyword copy is not known, and a value for it raises ValueError.",
        CopyKeywordValueError,
    )
    .warning()
    .also(&["SIG-2023"]),
    row(
        "unknown_keyword_valueerror",
        "SIG-UNKNOWN-KW",
        "An unknown keyword raises ValueError.",
        UnknownKeywordValueError,
    )
    .warning(),
    row(
        "copy_none_refused",
        "SIG-ABSENT-IS-NONE",
        "copy=None is refused next to max_version: leave it out.",
        CopyNoneRefused,
    )
    .warning()
    // The refusal of a call that leaves nothing else to refuse.
    .also(&["EXC-UNEXPECTED"]),
    row(
        "all_none_refused",
        "SIG-NONE-NEUTRAL",
        "max_version=None is refused: leave it out.",
        AllNoneRefused,
    ),
    row(
        "stream_none_refused",
        "STR-NONE",
        "stream=None is refused: leave it out.",
        StreamNoneRefused,
    )
    // So is the call with all four as None.
    .also(&["SIG-NONE-NEUTRAL"]),
    row(
        "order_matters",
        "SIG-ORDER-FREE",
        "dl_device is refused in front of max_version.",
        OrderMatters,
    ),
    row(
        "names_by_address",
        "SIG-ORDER-FREE",
        "Names of keywords that are made at run time are not known.",
        NamesByAddress,
    )
    // A call whose own names are made at run time has nothing to be compared with.
    .also(&["EXC-UNEXPECTED"]),
    row(
        "tuples_leaked",
        "SIG-ARG-UNCHANGED",
        "The tuples that are passed are never given back.",
        TuplesLeaked,
    ),
    row(
        "enum_refused",
        "SIG-DEVICE-ENUM",
        "A device type that is an IntEnum is refused.",
        EnumRefused,
    )
    .warning(),
    row(
        "stream_of_any_type",
        "STR-NONINT",
        "A stream that is no number is taken for None.",
        StreamOfAnyType,
    )
    .warning()
    .on(Device::CUDA),
    row(
        "error_left_behind",
        "EXC-SYSTEMERROR",
        "An error is set although a copy is returned: CPython makes it a SystemError.",
        ErrorLeftBehind,
    ),
];

const fn row(
    name: &'static str,
    rule: &'static str,
    story: &'static str,
    surface: Surface,
) -> Fault {
    Fault::new(name, rule, story, Plant::Surface(surface)).only(Route::Python)
}
