//! What becomes of one array and of its exports: taken, dropped, deleted in any order and from any thread.
#![no_main]

use dlpack_fuzz::case::Case;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(
    init: dlpack_fuzz_targets::start_lifecycle(),
    |case: Case| dlpack_fuzz_targets::run(&case)
);
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    dlpack_fuzz_targets::mutate_lifecycle(data, size, max_size, seed)
});
