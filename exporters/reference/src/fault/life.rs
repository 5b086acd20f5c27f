//! Faults that only a life shows: what becomes of an export after the call, which is the Python object's.

use super::{Fault, Plant, Route, Surface};

/// What goes wrong in the life of an export. Each export holds a reference to the Python object, and the
/// deleter gives it back; that alone is lawful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    ConsumedReleasedAgain,
    ConsumedReset,
    CapsuleHoldsArray,
    ErrorCleared,
    ErrorReplaced,
    SiblingsReset,
    DeleterLeaks,
    DeleterSetsError,
    ShapeOfArray,
    FlagsOfArray,
    MemoryMoved,
    MemoryOfObject,
    MemoryOfCapsule,
    DeleterReleasesTwice,
    DeleterMindsThread,
    DeleterWithoutState,
    OneCallAtATime,
    AbortsWhileEnding,
    AbortsAfterEnd,
    MemoryErrorReplaced,
    DeviceFirst,
}

use Life::*;

pub(super) const FAULTS: &[Fault] = &[
    row(
        "consumed_released_again",
        "CAP-DTOR-CONSUMED",
        "The destructor gives back the reference to the array also when a consumer has taken the struct.",
        ConsumedReleasedAgain,
    )
    // What is released before the deleter runs is found by whoever runs that.
    .also(&["CAP-DTOR-CONSUMED-LIVE", "LIFE-DELETER-ONCE"]),
    row(
        "consumed_reset",
        "CAP-DTOR-CONSUMED-LIVE",
        "The destructor of a consumed capsule clears the data pointer of the struct.",
        ConsumedReset,
    )
    // The struct may be freed by then, and another one lie there.
    .also(&["CAP-DTOR-CONSUMED"]),
    row(
        "capsule_holds_array",
        "CAP-DTOR-REMOVED",
        "The reference to the array is the capsule's: without the destructor nobody gives it back.",
        CapsuleHoldsArray,
    )
    .warning(),
    row(
        "error_cleared",
        "CAP-DTOR-EXC-KEPT",
        "The destructor clears whatever exception is set.",
        ErrorCleared,
    ),
    row(
        "error_replaced",
        "CAP-DTOR-EXC-KEPT",
        "The destructor of a consumed capsule asks for its pointer under the old name, and that error stays.",
        ErrorReplaced,
    )
    .also(&["CAP-DTOR-EXC-CLEAN"]),
    row(
        "siblings_reset",
        "CAP-INDEPENDENT",
        "Deleting one export clears the data pointer of all others of the array.",
        SiblingsReset,
    ),
    row(
        "deleter_leaks",
        "MGT-DELETER-FREES-ALL",
        "The destructor gives back the reference to the array, the deleter alone does not.",
        DeleterLeaks,
    )
    .also(&["LIFE-REFCOUNT", "LIFE-DELETER-NO-GIL", "LIFE-DELETER-PY-THREAD"]),
    row(
        "deleter_sets_error",
        "MGT-DELETER-NO-EXC",
        "The deleter leaves an exception set.",
        DeleterSetsError,
    )
    // A capsule that nobody took runs the deleter, too.
    .also(&["CAP-DTOR-EXC-CLEAN", "CAP-DTOR-EXC-KEPT"])
    .warning(),
    row(
        "shape_of_array",
        "MGT-META-SNAPSHOT",
        "The extents of an export are the array's own, which change with it.",
        ShapeOfArray,
    ),
    row(
        "flags_of_array",
        "RO-STATE",
        "Making the array read-only makes its versioned exports read-only.",
        FlagsOfArray,
    ),
    row(
        "memory_moved",
        "LIFE-OWNER-PINNED",
        "Growing the array frees the memory that an export still has.",
        MemoryMoved,
    ),
    row(
        "memory_of_object",
        "LIFE-OWNER-DROPPED",
        "The memory ends with the Python object, whatever exports there are.",
        MemoryOfObject,
    )
    .also(&["LIFE-OWNER-DROPPED-TAKEN"]),
    row(
        "memory_of_capsule",
        "LIFE-OWNER-DROPPED-TAKEN",
        "What keeps the memory alive is the capsule, not the struct that a consumer has taken out of it.",
        MemoryOfCapsule,
    ),
    row(
        "deleter_releases_twice",
        "LIFE-DELETER-ONCE",
        "The deleter gives back two references to the array.",
        DeleterReleasesTwice,
    ),
    row(
        "deleter_minds_thread",
        "LIFE-DELETER-PY-THREAD",
        "On another Python thread than the one that made the export the deleter does nothing.",
        DeleterMindsThread,
    ),
    row(
        "deleter_without_state",
        "LIFE-DELETER-NO-GIL",
        "On a thread that Python does not know the deleter does nothing.",
        DeleterWithoutState,
    ),
    row(
        "one_call_at_a_time",
        "LIFE-CONCURRENT",
        "A call that comes while another one has released the GIL is refused.",
        OneCallAtATime,
    )
    .warning(),
    row(
        "aborts_while_ending",
        "LIFE-CAPSULE-AT-EXIT",
        "The destructor aborts when the interpreter is ending.",
        AbortsWhileEnding,
    ),
    row(
        "aborts_after_end",
        "LIFE-DELETER-FINALIZED",
        "The deleter aborts when the interpreter has ended.",
        AbortsAfterEnd,
    )
    // A capsule that nobody took may be dropped as late.
    .also(&["LIFE-CAPSULE-AT-EXIT"])
    .warning(),
    row(
        "memory_error_replaced",
        "EXC-OOM",
        "Without memory for a small object a SystemError is raised.",
        MemoryErrorReplaced,
    ),
    row(
        "device_first",
        "DEV-ORDER",
        "The export is refused as long as nobody has asked for the device.",
        DeviceFirst,
    ),
];

const fn row(name: &'static str, rule: &'static str, story: &'static str, life: Life) -> Fault {
    Fault::new(name, rule, story, Plant::Surface(Surface::Life(life))).only(Route::Python)
}
