//! One export of an array of a shared object behind `dlpack_fuzz_backend.h`, and for some what becomes of others,
//! without an interpreter.
#![no_main]

use dlpack_fuzz::case::Case;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(init: dlpack_fuzz_targets::start_c(), |case: Case| dlpack_fuzz_targets::run(&case));
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    dlpack_fuzz_targets::mutate_c(data, size, max_size, seed)
});
