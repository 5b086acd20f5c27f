//! The C exchange API of one array's type: the table, and each of its functions on lawful and unlawful input.
#![no_main]

use dlpack_fuzz::case::Case;
use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(
    init: dlpack_fuzz_targets::start_exchange_api(),
    |case: Case| dlpack_fuzz_targets::run_exchange_api(&case)
);
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    dlpack_fuzz_targets::mutate_exchange_api(data, size, max_size, seed)
});
