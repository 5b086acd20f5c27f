//! The **heap**: how many bytes of this process are allocated and not freed, by the allocators' own counts.
//!
//! Nothing goes in; a number comes out, or `None` where no allocator counts. One reading says little (spare
//! blocks are kept, caches fill up); the difference of two, taken around thousands of equal calls, says whether
//! each call leaves something behind ([`Slope`]).

use pyo3::ffi;
use std::ffi::CStr;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Live bytes: AddressSanitizer's count where it is linked in, else glibc's, and what Python keeps in its own
/// pools. The interpreter, if there is one, is attached.
pub fn live_bytes() -> Option<i64> {
    type Count = unsafe extern "C" fn() -> usize;
    type Blocks = unsafe extern "C" fn() -> ffi::Py_ssize_t;
    type Info = unsafe extern "C" fn() -> libc::mallinfo2;
    static SANITIZER: LazyLock<Option<Count>> =
        // SAFETY: the symbol, where it exists, is this function of the sanitizers' interface.
        LazyLock::new(|| unsafe { symbol(c"__sanitizer_get_current_allocated_bytes") });
    static GLIBC: LazyLock<Option<Info>> =
        // SAFETY: as glibc declares it since 2.33.
        LazyLock::new(|| unsafe { symbol(c"mallinfo2") });
    static PYTHON: LazyLock<Option<Blocks>> =
        // SAFETY: as CPython declares it; `sys.getallocatedblocks` calls it.
        LazyLock::new(|| unsafe { symbol(c"_Py_GetAllocatedBlocks") });
    if let Some(count) = *SANITIZER {
        // SAFETY: it takes nothing; Python's pools are off in such a build.
        return Some(unsafe { count() } as i64);
    }
    // SAFETY: it takes nothing.
    let info = GLIBC.map(|info| unsafe { info() })?;
    // SAFETY: asking is always allowed; without an interpreter there are no pools.
    let has_pools = unsafe { ffi::Py_IsInitialized() } != 0;
    // SAFETY: the interpreter runs and is attached.
    let blocks = PYTHON.filter(|_| has_pools).map_or(0, |count| unsafe { count() });
    Some((info.uordblks + info.hblkhd) as i64 + POOL_BLOCK * blocks as i64)
}

/// LeakSanitizer, where it is linked in, finds blocks that nothing points to. It finds them again at each call,
/// and prints them.
pub fn has_lost_blocks() -> bool {
    type Check = unsafe extern "C" fn() -> i32;
    static CHECK: LazyLock<Option<Check>> =
        // SAFETY: the symbol, where it exists, is this function of the sanitizers' interface.
        LazyLock::new(|| unsafe { symbol(c"__lsan_do_recoverable_leak_check") });
    // SAFETY: it takes nothing and stops the other threads by itself.
    CHECK.is_some_and(|check| unsafe { check() } != 0)
}

/// The least that a block of Python's pools holds: their arenas are mapped, and no other count has them.
const POOL_BLOCK: i64 = 16;

/// # Safety
/// A symbol of this name, where one is loaded, is a function of type `F`.
unsafe fn symbol<F: Copy>(name: &CStr) -> Option<F> {
    // SAFETY: dlsym with a NUL-terminated name only looks the symbol up.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // SAFETY: a function pointer is as wide as a pointer, and the caller vouches for its type.
    (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
}

/// What a glance takes: enough for a leak of [`LEAST`] bytes to be seen above what stays by chance.
const GLANCE: u32 = 256;
/// Caches of thousands of entries are full after this many rounds (P-BASELINE).
const WARM_UP: u32 = 5_000;
/// A leak grows alike in each of these stretches; a table that doubles now and then grows in one of them.
const STRETCHES: usize = 4;
const STRETCH: u32 = 5_000;
/// The least growth that is called one, in bytes per round: half of the smallest block that malloc gives away.
const LEAST: f64 = 12.0;
/// The most: what leaves more behind shows it with smaller arrays too, without filling the machine's memory.
const MOST: f64 = 16_384.0;
/// What is slower is not confirmed, and then nobody is accused.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long it is waited for what another thread frees.
const REST: Duration = Duration::from_secs(2);
/// Between two signs of life.
const PULSE: u32 = 64;

/// Measures the growth of the heap over rounds of calls.
pub struct Slope<'a> {
    /// Called now and then, so that a watchdog does not take a long measurement for a hang.
    pub pulse: &'a dyn Fn(),
    /// Frees what is freed late.
    pub settle: &'a dyn Fn(),
    /// Waits, and lets other threads work meanwhile.
    pub wait: &'a dyn Fn(Duration),
}

impl Slope<'_> {
    /// Bytes that each round leaves behind; 0 if the heap does not grow, or not in every stretch alike; `None`
    /// where nothing is counted. Most exporters are let go after [`GLANCE`] rounds.
    pub fn of<E>(&self, mut round: impl FnMut() -> Result<(), E>) -> Result<Option<f64>, E> {
        let mut run = |count: u32, deadline: Instant| {
            for number in 0..count {
                round()?;
                if number % PULSE == 0 {
                    (self.pulse)();
                    if Instant::now() >= deadline {
                        return Ok(false);
                    }
                }
            }
            Ok(true)
        };
        let deadline = Instant::now() + PATIENCE;
        let Some(_) = live_bytes() else { return Ok(None) };
        run(GLANCE / 4, deadline)?;
        let before = live_bytes();
        run(GLANCE, deadline)?;
        let glance = live_bytes().zip(before).map_or(0, |(after, before)| after - before);
        if !(LEAST..MOST).contains(&(glance as f64 / f64::from(GLANCE))) {
            return Ok(Some(0.0));
        }
        let mut is_whole = run(WARM_UP, deadline)?;
        (self.settle)();
        let start = live_bytes().unwrap_or_default();
        let mut before = start;
        let mut slopes = [0.0; STRETCHES];
        for slope in &mut slopes {
            is_whole &= run(STRETCH, deadline)?;
            (self.settle)();
            let after = live_bytes().unwrap_or_default();
            *slope = (after - before) as f64 / f64::from(STRETCH);
            before = after;
        }
        let slope = if is_whole { verdict(slopes) } else { 0.0 };
        let stays = slope > 0.0 && self.stays(start, slope);
        Ok(Some(if stays { slope } else { 0.0 }))
    }

    /// Most of what was left behind is still there after a rest: a queue that another thread works off gets shorter.
    fn stays(&self, start: i64, slope: f64) -> bool {
        let deadline = Instant::now() + REST;
        let most = (slope * (STRETCHES as f64) * f64::from(STRETCH) / 2.0) as i64;
        while Instant::now() < deadline {
            (self.wait)(REST / 20);
            (self.pulse)();
        }
        (self.settle)();
        live_bytes().is_some_and(|now| now - start > most)
    }
}

/// The mean of the stretches if all grow, none more than twice as much as another.
fn verdict(slopes: [f64; STRETCHES]) -> f64 {
    let least = slopes.iter().copied().fold(f64::INFINITY, f64::min);
    let most = slopes.iter().copied().fold(0.0, f64::max);
    if least < LEAST || most > 2.0 * least {
        return 0.0;
    }
    slopes.iter().sum::<f64>() / STRETCHES as f64
}

#[cfg(test)]
mod tests {
    use super::verdict;

    #[test]
    fn growth_counts_where_it_is_alike_in_every_stretch() {
        assert_eq!(verdict([130.0, 128.0, 132.0, 130.0]), 130.0);
        assert_eq!(verdict([130.0, 130.0, 0.0, 0.0]), 0.0, "a cache that is full");
        assert_eq!(verdict([26.0, 0.0, 52.0, 0.0]), 0.0, "a table that doubles");
        assert_eq!(verdict([400.0, 100.0, 100.0, 100.0]), 0.0);
        assert_eq!(verdict([0.5; 4]), 0.0);
    }
}
