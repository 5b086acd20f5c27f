//! `x.__dlpack__(…)` of one array: every keyword, every layout, all rules that need no sequence of events.
#![no_main]

use dlpack_fuzz::case::Case;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(init: dlpack_fuzz_targets::start(), |case: Case| dlpack_fuzz_targets::run(&case));
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    dlpack_fuzz_targets::mutate(data, size, max_size, seed)
});
