//! What all fuzz targets share: the harness they run cases in, the feedback they give to libFuzzer and the
//! mutator. This crate is the only place that knows libFuzzer.

mod feedback;
mod harness;
mod share;
mod wanted;
mod witness;

pub use harness::{mutate, mutate_c, mutate_exchange_api, mutate_lifecycle};
pub use harness::{run, run_exchange_api};
pub use harness::{start, start_c, start_exchange_api, start_lifecycle};

/// What AddressSanitizer is to do unless `ASAN_OPTIONS` says otherwise: a huge virtual array must end in
/// MemoryError and not in an abort, and a small quarantine keeps the process at a fifth of the memory.
#[unsafe(no_mangle)]
extern "C" fn __asan_default_options() -> *const std::ffi::c_char {
    c"allocator_may_return_null=1:quarantine_size_mb=16".as_ptr()
}
