//! Faults that only a life shows: what becomes of an export after the call. In Python they are the object's.

use super::{Fault, Plant, Route, Surface, refuse, set_deleter};
use crate::array::Array;
use crate::dlpack::{ManagedTensor, ManagedTensorVersioned};
use crate::error::Kind;
use crate::export::{Managed, delete};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};

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
    let plant = Plant::Surface(Surface::Life(life));
    Fault::new(name, rule, story, plant).only(Route::Python).in_life()
}

/// Those of an exporter without Python. Nothing here touches memory that is freed, either.
pub(super) const IN_C: &[Fault] = &[
    Fault::new(
        "memory_ends_with_handle",
        "LIFE-OWNER-DROPPED",
        "Letting the array go overwrites its memory, whatever exports there are.",
        Plant::Release(scribble),
    )
    .also(&["LIFE-OWNER-DROPPED-TAKEN"])
    .only(Route::C)
    .in_life(),
    Fault::new(
        "extents_in_common",
        "CAP-INDEPENDENT",
        "The extents of all exports lie in one static buffer, which every deleter clears.",
        Plant::Alter(|scene, _, mut export| {
            if (1..=MOST_EXTENTS).contains(&scene.array.ndim()) {
                for (place, &extent) in EXTENTS.iter().zip(scene.array.shape()) {
                    place.store(extent, Ordering::Relaxed);
                }
                export.tensor().shape = EXTENTS.as_ptr().cast_mut().cast();
                set_deleter(
                    &mut export,
                    delete_extents::<ManagedTensor>,
                    delete_extents::<ManagedTensorVersioned>,
                );
            }
            export
        }),
    )
    .only(Route::C)
    .in_life(),
    Fault::new(
        "deleter_of_its_thread",
        "LIFE-DELETER-NO-GIL",
        "On a thread that has exported nothing the deleter does nothing.",
        Plant::Alter(|_, _, mut export| {
            EXPORTS.set(true);
            set_deleter(
                &mut export,
                delete_here::<ManagedTensor>,
                delete_here::<ManagedTensorVersioned>,
            );
            export
        }),
    )
    // Of another export it runs on a thread that has.
    .also(&["LIFE-REFCOUNT"])
    .only(Route::C)
    .in_life(),
    Fault::new(
        "device_before_export",
        "DEV-ORDER",
        "An array whose device nobody has asked for is not exported.",
        Plant::Decide(|scene, plan| if scene.past.asked { plan } else { refuse(Kind::Buffer) }),
    )
    .only(Route::C)
    .in_life(),
];

/// Overwrites the memory of an array.
fn scribble(array: &Array) {
    for place in 0..array.size() {
        // SAFETY: the array's own memory, which is still there; one call at a time runs.
        unsafe { *array.start().wrapping_add(place) ^= 0xff };
    }
}

const MOST_EXTENTS: usize = 4;

/// Where exports of up to so many axes have their extents.
static EXTENTS: [AtomicI64; MOST_EXTENTS] = [const { AtomicI64::new(0) }; MOST_EXTENTS];

unsafe extern "C" fn delete_extents<M: Managed>(managed: *mut M) {
    EXTENTS.iter().for_each(|extent| extent.store(0, Ordering::Relaxed));
    // SAFETY: as every deleter's.
    unsafe { delete(managed) };
}

thread_local! {
    /// This thread has made an export.
    static EXPORTS: Cell<bool> = const { Cell::new(false) };
}

unsafe extern "C" fn delete_here<M: Managed>(managed: *mut M) {
    if EXPORTS.get() {
        // SAFETY: as every deleter's.
        unsafe { delete(managed) };
    }
}
