//! What a fault remembers of the array at hand: earlier calls, and memory that it keeps for them.

use crate::arguments::Request;
use crate::dlpack::{ManagedTensor, ManagedTensorVersioned};
use crate::error::{Error, Kind};
use crate::export::Export;
use crate::memory::Memory;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// The past of the array that was built last.
#[derive(Debug, Default)]
pub struct Past {
    pub exports: usize,
    /// Somebody has asked for the device.
    pub asked: bool,
    /// The last call.
    pub last: Option<Request>,
    /// Some call was refused with ValueError.
    pub had_value_error: bool,
    /// The copy that all exports share.
    pub copy: Option<Memory>,
    kept: Vec<Kept>,
}

/// Memory that exports point into.
#[derive(Debug)]
#[expect(dead_code, reason = "held, not read")]
enum Kept {
    Memory(Memory),
    Numbers(Box<[u64]>),
    Struct(Lent),
}

/// The deleter of a struct that was handed out without it; it is called in the end all the same.
#[derive(Debug)]
enum Lent {
    Legacy(NonNull<ManagedTensor>, Deleter<ManagedTensor>),
    Versioned(NonNull<ManagedTensorVersioned>, Deleter<ManagedTensorVersioned>),
}

type Deleter<M> = Option<unsafe extern "C" fn(*mut M)>;

// SAFETY: what it points to is its own; DLPack lets a deleter be called from any thread.
unsafe impl Send for Past {}

static PAST: Mutex<Option<Past>> = Mutex::new(None);

/// Ends the past: another array begins.
pub fn forget() {
    // What is dropped here may be deleted by this very module.
    let past = PAST.lock().unwrap_or_else(PoisonError::into_inner).take();
    drop(past);
}

pub(super) fn with<T>(act: impl FnOnce(&mut Past) -> T) -> T {
    let mut past = PAST.lock().unwrap_or_else(PoisonError::into_inner);
    act(past.get_or_insert_default())
}

impl Past {
    pub(super) fn note(&mut self, request: &Request, result: &Result<Export, Error>) {
        self.last = Some(*request);
        match result {
            Ok(_) => self.exports += 1,
            Err(error) => self.had_value_error |= error.kind == Kind::Value,
        }
    }

    /// The call at hand is the one before, again.
    pub(super) fn is_repeated(&self, request: &Request) -> bool {
        self.last.as_ref() == Some(request)
    }

    pub(super) fn keep(&mut self, memory: Memory) {
        self.kept.push(Kept::Memory(memory));
    }

    /// A place for so many numbers, half a number off their alignment.
    pub(super) fn misaligned(&mut self, numbers: &[i64]) -> *mut i64 {
        let mut room = vec![0u64; numbers.len() + 1].into_boxed_slice();
        let place = room.as_mut_ptr().cast::<u8>().wrapping_add(4);
        // SAFETY: the room is one number longer than what is written into it.
        unsafe {
            place.copy_from_nonoverlapping(numbers.as_ptr().cast(), size_of_val(numbers));
        }
        self.kept.push(Kept::Numbers(room));
        place.cast()
    }

    /// The same export without a deleter: its struct lives as long as the array.
    pub(super) fn lend(&mut self, export: Export) -> Export {
        let mut export = export;
        let lent = match &mut export {
            // SAFETY: the struct is alive, and nobody else has it yet.
            Export::Legacy(it) => Lent::Legacy(*it, unsafe { it.as_mut().deleter.take() }),
            // SAFETY: likewise.
            Export::Versioned(it) => Lent::Versioned(*it, unsafe { it.as_mut().deleter.take() }),
        };
        self.kept.push(Kept::Struct(lent));
        export
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        match self {
            Self::Legacy(managed, deleter) => {
                // SAFETY: without a deleter nobody could release the struct.
                unsafe { managed.as_mut().deleter = *deleter };
                drop(Export::Legacy(*managed));
            }
            Self::Versioned(managed, deleter) => {
                // SAFETY: likewise.
                unsafe { managed.as_mut().deleter = *deleter };
                drop(Export::Versioned(*managed));
            }
        }
    }
}
