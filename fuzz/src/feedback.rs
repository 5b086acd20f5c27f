//! Extra counters: a wheel has no coverage instrumentation, so the corpus grows by behaviour instead.

use std::cell::UnsafeCell;

/// More cells than behaviours that tell cases apart; libFuzzer clears and scans them all on every run.
pub const CELLS: usize = 4096;

#[repr(transparent)]
struct Counters(UnsafeCell<[u8; CELLS]>);

// SAFETY: libFuzzer runs targets on one thread, and only `hit` and libFuzzer between runs write here.
unsafe impl Sync for Counters {}

/// libFuzzer reads every byte of this section as a counter.
#[used]
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static COUNTERS: Counters = Counters(UnsafeCell::new([0; CELLS]));

/// Marks a behaviour as seen in this run.
pub fn hit(cell: u32) {
    // SAFETY: in bounds, and no reference to the array exists.
    unsafe { COUNTERS.0.get().cast::<u8>().add(cell as usize % CELLS).write_volatile(1) };
}
