//! Faults of calls that succeed or fail as a whole, and of what they leave behind (CAP, LIFE, EXC-STATE).
//! Those of the capsule itself are the Python object's.

use super::{Fault, Left, Plant, Route, refuse};
use crate::arguments::Request;
use crate::array::Access;
use crate::dlpack::{DataType, ManagedTensorVersioned, code};
use crate::error::{Cause, Kind};
use crate::export::Export;
use crate::plan::Data;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "deep_export_leaks",
        "CAP-DTOR-UNCONSUMED",
        "Exports of more than three axes keep a reference to the array that nobody gives back.",
        Plant::Leave(|scene, result| {
            (result.is_ok() && scene.array.ndim() > 3).then_some(Left::Reference)
        }),
    )
    .only(Route::Python),
    Fault::new(
        "empty_export_leaks",
        "MGT-DELETER-FREES-ALL",
        "Exports without elements keep a reference to the array that the deleter does not give back.",
        Plant::Leave(|scene, result| {
            (result.is_ok() && scene.array.is_empty()).then_some(Left::Reference)
        }),
    )
    .only(Route::C),
    Fault::new(
        "copy_leaks",
        "MGT-DELETER-FREES-ALL",
        "The deleter of a copy leaves a block of memory behind.",
        Plant::Leave(|scene, result| {
            (result.is_ok() && scene.request.copy == Some(true)).then_some(Left::Block)
        }),
    )
    .only(Route::C),
    Fault::new(
        "refused_device_leaks",
        "CAP-EXC-NO-LEAK",
        "A call that is refused for its device keeps a reference to the array.",
        Plant::Leave(|_, result| match result {
            Err(error) if error.cause == Cause::OtherDevice => Some(Left::Reference),
            _ => None,
        }),
    ),
    Fault::new(
        "refused_copy_leaks",
        "EXC-NO-PARTIAL",
        "The copy is made before the stream is looked at, and forgotten when the call is refused.",
        Plant::Leave(|scene, result| {
            (result.is_err() && scene.request.copy == Some(true)).then_some(Left::Block)
        }),
    )
    .only(Route::C),
    Fault::new(
        "second_live_export_leaks",
        "LIFE-REFCOUNT",
        "An export that repeats the one before keeps a reference that nobody gives back.",
        Plant::Leave(|scene, result| {
            (result.is_ok() && scene.past.is_repeated(scene.request)).then_some(Left::Reference)
        }),
    )
    // A repetition is two equal exports and nothing else.
    .also(&["CAP-DTOR-UNCONSUMED", "MGT-DELETER-FREES-ALL"]),
    Fault::new(
        "second_call_refused",
        "CAP-REPEAT",
        "A call that repeats the one before is refused: the array is exported already.",
        Plant::Decide(|scene, plan| match plan {
            Ok(_) if scene.past.is_repeated(scene.request) => refuse(Kind::Buffer),
            plan => plan,
        }),
    ),
    Fault::new(
        "bool_normalised_in_place",
        "CAP-SOURCE-UNCHANGED",
        "A bool array is exported after each byte of its memory was made 0 or 1.",
        Plant::Alter(|scene, plan, export| {
            let array = scene.array;
            let is_bool = plan.dtype == DataType::new(code::BOOL, 8, 1);
            if is_bool && plan.data == Data::Shared && array.access == Access::Writable {
                // SAFETY: the array's own memory, and the caller runs one call at a time.
                let bytes = unsafe { std::slice::from_raw_parts_mut(array.start(), array.size()) };
                bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
            }
            export
        }),
    ),
    Fault::new(
        "struct_shared",
        "CAP-DISTINCT-STRUCT",
        "Two equal versioned exports that live together are one struct, whose deleter counts.",
        Plant::Alter(|scene, plan, export| {
            let managed = match (&export, plan.data) {
                (Export::Versioned(managed), Data::Shared) => managed,
                _ => return export,
            };
            let shared = share(*managed, scene.request, scene.past.is_repeated(scene.request));
            std::mem::forget(export);
            Export::Versioned(shared)
        }),
    )
    .info(),
    Fault::new(
        "array_lost_after_error",
        "EXC-STATE",
        "After a call that is refused with ValueError every other call on the array is refused.",
        Plant::Decide(|scene, plan| match scene.past.had_value_error {
            true => refuse(Kind::Buffer),
            false => plan,
        }),
    )
    // The same call again is answered otherwise, and that is what repeating means.
    .also(&["CAP-REPEAT"]),
];

/// The struct that is shared, its own deleter, and by how many capsules.
static SHARED: Mutex<Option<Shared>> = Mutex::new(None);

struct Shared {
    managed: NonNull<ManagedTensorVersioned>,
    deleter: Option<unsafe extern "C" fn(*mut ManagedTensorVersioned)>,
    count: usize,
    request: Request,
}

// SAFETY: DLPack lets the deleter be called from any thread.
unsafe impl Send for Shared {}

/// `managed` from now on counts, or is dropped for the one that counts already.
fn share(
    mut managed: NonNull<ManagedTensorVersioned>,
    request: &Request,
    is_repeated: bool,
) -> NonNull<ManagedTensorVersioned> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *shared {
        Some(shared) if is_repeated && shared.request == *request => {
            drop(Export::Versioned(managed));
            shared.count += 1;
            shared.managed
        }
        Some(_) => managed,
        none => {
            // SAFETY: the struct is new, and nobody else has it.
            let deleter = unsafe { managed.as_mut().deleter.replace(delete_shared) };
            *none = Some(Shared { managed, deleter, count: 1, request: *request });
            managed
        }
    }
}

unsafe extern "C" fn delete_shared(_: *mut ManagedTensorVersioned) {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(last) = shared.as_mut() {
        last.count -= 1;
        if last.count == 0
            && let Some(mut last) = shared.take()
        {
            // SAFETY: nobody holds the struct any more.
            unsafe { last.managed.as_mut().deleter = last.deleter };
            drop(Export::Versioned(last.managed));
        }
    }
}
