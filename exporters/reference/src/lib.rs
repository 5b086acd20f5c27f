//! A **lawful exporter** of DLPack 1.3, to read and to copy.
//!
//! It holds arrays of every element type, layout, device label and writability that DLPack can describe (and
//! of some that it cannot), and exports them by the rules of the header 1.3 and of `__dlpack__` in the Python
//! array API 2025.12. Read it in this order:
//!
//! 1. [`array`]: what is exported. It never changes, so an export may point into it.
//! 2. [`arguments`]: what a caller asks for, and what makes no sense.
//! 3. [`plan`]: the decisions, all before anything is made.
//! 4. [`export`]: the managed tensor and its deleter, one block of memory.
//!
//! [`error`] says what is refused with which exception, [`dtype`] and [`memory`] are what arrays are made
//! of, [`dlpack`] is the C header. [`backend`] is the C interface of [`header`] by which dlpack-fuzz runs the exporter; the
//! crate `dlpack-reference-python` puts the same code behind `__dlpack__`.
//!
//! [`fault`] is the opposite of all this: for every rule a way to break it, as real exporters did. None is
//! planted unless somebody asks, and no file above knows of them.

pub mod arguments;
pub mod array;
pub mod backend;
pub mod dlpack;
pub mod dtype;
pub mod error;
pub mod export;
pub mod fault;
pub mod header;
pub mod memory;
pub mod plan;

/// Exports an array: the plan, then what was planned.
pub fn export(
    array: &std::sync::Arc<array::Array>,
    request: &arguments::Request,
) -> Result<export::Export, error::Error> {
    let plan = plan::Plan::of(array, request)?;
    export::Export::make(array, &plan)
}
