//! The **memory** of arrays and copies, and the count of what is alive.
//!
//! The header of DLPack asks for data at multiples of 256 bytes and notes that nobody is to rely on it. What
//! is allocated here lies as the platform's allocator has it, like that of most libraries.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, Ordering};

/// Of `malloc`: enough for every element type.
const ALIGNMENT: usize = 16;

/// A block of bytes of its own.
#[derive(Debug)]
pub struct Memory {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: it owns its bytes, and all it does with them goes through raw pointers whose users see to it.
unsafe impl Send for Memory {}
// SAFETY: likewise.
unsafe impl Sync for Memory {}

impl Memory {
    /// `size` bytes with nothing in them yet; `None` if there are not so many.
    pub fn new(size: usize) -> Option<Self> {
        let start = match Self::layout(size)? {
            layout if layout.size() == 0 => NonNull::dangling(),
            // SAFETY: the size is not 0.
            layout => NonNull::new(unsafe { alloc(layout) })?,
        };
        count_block(1);
        Some(Self { start, size })
    }

    pub fn holding(contents: &[u8]) -> Option<Self> {
        let memory = Self::new(contents.len())?;
        // SAFETY: both are `contents.len()` bytes, and the memory is new.
        unsafe { memory.start().copy_from_nonoverlapping(contents.as_ptr(), contents.len()) };
        Some(memory)
    }

    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub fn size(&self) -> usize {
        self.size
    }

    fn layout(size: usize) -> Option<Layout> {
        Layout::from_size_align(size, ALIGNMENT).ok()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        count_block(-1);
        match Self::layout(self.size) {
            // SAFETY: allocated with this layout.
            Some(layout) if self.size > 0 => unsafe { dealloc(self.start.as_ptr(), layout) },
            _ => {}
        }
    }
}

static LIVE: AtomicI64 = AtomicI64::new(0);

/// Arrays, blocks of memory and exports that are alive.
pub fn live_blocks() -> i64 {
    LIVE.load(Ordering::Relaxed)
}

/// One more, or one less. Any thread may release, so the count is shared; nothing is ordered by it.
pub fn count_block(change: i64) {
    LIVE.fetch_add(change, Ordering::Relaxed);
}
