//! Exports that are **held**: this program is their consumer and calls each deleter once.

use crate::host::life::held::Deletion;
use crate::oracle::{Kind, Managed};

/// An export whose deleter is still to be called: its struct, and which.
pub type Held = (usize, Kind);

/// The deleter can be called: the struct is the one that its place in the answer promises. What lies at a
/// deleter's place in another struct is no function.
pub fn is_deletable(managed: &Managed) -> bool {
    let is_struct = match managed.version {
        Some(version) => (1..=64).contains(&version.major) && version.minor < 1024,
        None => managed.tensor.as_ref().is_some_and(|tensor| tensor.dtype.lanes > 0),
    };
    managed.has_deleter && is_struct
}

/// Calls each deleter once.
pub fn delete(held: &[Held]) {
    for &(pointer, kind) in held {
        // SAFETY: `is_deletable` has found a deleter; the struct is this program's since the export gave it, and
        // is not touched after this.
        if let Some(deletion) = unsafe { Deletion::of(pointer, kind) } {
            deletion.run();
        }
    }
}
