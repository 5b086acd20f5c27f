//! A **trace**: where a process was when a signal ended it, written by the dying process itself.
//!
//! Goes in: a page of shared memory ([`install`]). Comes out, on the other side of it, a [`Trace`]: the signal, and
//! for each frame the module and the place in its file; [`frames`](super::frames) puts names to them. Where the
//! Python code was is told by Python's `faulthandler`, into a file. A process that ends without a signal leaves no
//! trace, and neither does one whose handlers were stolen.
//!
//! The handler runs in a process that may be broken in any way. It allocates nothing, takes no lock but the
//! unwinder's, writes to memory that is mapped, and what it needs of `/proc` it reads by system calls. If it dies
//! itself, the system ends the process by the same signal.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

/// The innermost frames that are kept: an exporter's own lie below those of libc and of the interpreter.
const FRAMES: usize = 32;
/// The longest path of a module that is kept whole.
const PATH: usize = 256;

/// The page's part in shared memory; all zeros is no trace.
#[repr(C)]
pub struct Page {
    signal: AtomicU64,
    is_whole: AtomicU64,
    length: AtomicU64,
    frames: [Cell; FRAMES],
}

#[repr(C)]
struct Cell {
    offset: AtomicU64,
    path: [AtomicU64; PATH / 8],
}

/// What a process left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    pub signal: i32,
    /// Innermost first: a module's file and a place in it. Code without a file is left out.
    pub places: Vec<(PathBuf, u64)>,
}

impl Page {
    /// `None` while there is none; what a dead process left half done is given as far as it goes.
    pub fn read(&self) -> Option<Trace> {
        let signal = self.signal.load(Acquire);
        let length = (self.length.load(Acquire) as usize).min(FRAMES);
        let places = self.frames[..length].iter().filter_map(|cell| {
            let bytes: Vec<u8> =
                cell.path.iter().flat_map(|word| word.load(Relaxed).to_ne_bytes()).collect();
            let text = bytes.split(|byte| *byte == 0).next().filter(|text| !text.is_empty())?;
            let path = PathBuf::from(String::from_utf8_lossy(text).into_owned());
            Some((path, cell.offset.load(Relaxed)))
        });
        (signal != 0).then(|| Trace { signal: signal as i32, places: places.collect() })
    }

    pub fn is_whole(&self) -> bool {
        self.is_whole.load(Acquire) != 0
    }

    /// Forgets it, for the next process.
    pub fn clear(&self) {
        self.length.store(0, Relaxed);
        self.is_whole.store(0, Relaxed);
        self.signal.store(0, Release);
    }
}

/// The signals that a fault raises.
const FATAL: [libc::c_int; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGABRT,
    libc::SIGSYS,
    libc::SIGTRAP,
];
/// What a parent sends to a child that does not come back, before it ends it.
pub const WHERE: libc::c_int = libc::SIGQUIT;
/// Somebody wants the process to end; that is noted and nothing else.
const WISHES: [libc::c_int; 2] = [libc::SIGINT, libc::SIGTERM];
/// Room for the unwinder and for a piece of `/proc/self/maps`, also when the stack is used up.
const STACK: usize = 512 * 1024;

static PAGE: AtomicPtr<Page> = AtomicPtr::new(std::ptr::null_mut());
/// The signal that makes `faulthandler` write; 0 if it was not asked to.
static PYTHON: AtomicU32 = AtomicU32::new(0);
/// By place in `FATAL` and `WISHES`, who handled the signal before.
static BEFORE: OnceLock<[libc::sigaction; FATAL.len() + WISHES.len()]> = OnceLock::new();

/// From now on a signal that ends this process leaves a trace in the page, and then does what it did before. To be
/// called once, on the thread that runs the cases, after everybody else has installed handlers: a handler that a
/// library installed when it was imported is then behind this one.
pub fn install(page: &'static Page) {
    if !PAGE.swap(std::ptr::from_ref(page).cast_mut(), AcqRel).is_null() {
        return;
    }
    // SAFETY: plain system calls on memory of this process; the stack is never freed. `backtrace` is called once
    // here because its first call loads the unwinder.
    unsafe {
        let room = libc::mmap(
            std::ptr::null_mut(),
            STACK,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        if room != libc::MAP_FAILED {
            let stack = libc::stack_t { ss_sp: room, ss_flags: 0, ss_size: STACK };
            libc::sigaltstack(&stack, std::ptr::null_mut());
        }
        let mut frame = [std::ptr::null_mut(); 1];
        libc::backtrace(frame.as_mut_ptr(), 1);
        let mut before: [libc::sigaction; FATAL.len() + WISHES.len()] = std::mem::zeroed();
        for (signal, before) in FATAL.into_iter().chain(WISHES).zip(&mut before) {
            libc::sigaction(signal, std::ptr::null(), before);
        }
        let _ = BEFORE.set(before);
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        for signal in FATAL.into_iter().chain(WISHES) {
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
        libc::sigaction(WHERE, &action, std::ptr::null_mut());
    }
}

/// The signal at which Python is to write where its code is; see [`install`].
pub fn python_signal() -> libc::c_int {
    let signal = libc::SIGRTMIN() + 7;
    PYTHON.store(signal as u32, Relaxed);
    signal
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: `install` has stored a page that lives for ever.
    let page = unsafe { &*PAGE.load(Acquire) };
    let is_first = page.signal.compare_exchange(0, signal as u64, AcqRel, Relaxed).is_ok();
    if is_first && !WISHES.contains(&signal) {
        // SAFETY: the context is the kernel's; this is a signal handler on a stack of its own.
        unsafe { record(page, context) };
        let python = PYTHON.load(Relaxed) as libc::c_int;
        if python != 0 && is_handled(python) {
            // SAFETY: async-signal-safe; the handler is faulthandler's, which is made for broken processes.
            unsafe { libc::raise(python) };
        }
        page.is_whole.store(1, Release);
    }
    let place = FATAL.iter().chain(&WISHES).position(|known| *known == signal);
    if let (Some(place), Some(before)) = (place, BEFORE.get()) {
        // SAFETY: this is the handler of the signal.
        unsafe { hand_on(&before[place], signal, info, context) };
    }
}

/// `faulthandler` may have been told to stop, as by Python itself when it gives up (`Py_FatalError`): then the signal
/// would end the process under its own name.
fn is_handled(signal: libc::c_int) -> bool {
    // SAFETY: async-signal-safe; zeros are a `sigaction`.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut now) == 0
            && now.sa_sigaction != libc::SIG_DFL
    }
}

/// Does what the signal did before.
///
/// # Safety
/// In the handler of the signal, with its arguments.
unsafe fn hand_on(
    before: &libc::sigaction,
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    type Long = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
    type Short = extern "C" fn(libc::c_int);
    // SAFETY: the handlers are called as `sigaction` says they are to be; both other calls are async-signal-safe.
    unsafe {
        match before.sa_sigaction {
            libc::SIG_IGN => {}
            libc::SIG_DFL => {
                libc::signal(signal, libc::SIG_DFL);
                // It is blocked now and comes when this handler returns, unless the fault comes again first.
                libc::raise(signal);
            }
            long if before.sa_flags & libc::SA_SIGINFO != 0 => {
                std::mem::transmute::<usize, Long>(long)(signal, info, context)
            }
            short => std::mem::transmute::<usize, Short>(short)(signal),
        }
    }
}

/// Writes the frames of the thread that was interrupted.
///
/// # Safety
/// In a signal handler, with its context.
unsafe fn record(page: &Page, context: *const libc::c_void) {
    const DEPTH: usize = 2 * FRAMES;
    let mut stack = [std::ptr::null_mut(); DEPTH];
    // SAFETY: the array has that many elements. The unwinder was loaded by `install`.
    let length = unsafe { libc::backtrace(stack.as_mut_ptr(), DEPTH as libc::c_int) };
    let stack = stack.map(|frame| frame as u64);
    let stack = &stack[..(length.max(0) as usize).min(DEPTH)];
    // SAFETY: the context is the kernel's.
    let (place, top) = unsafe { interrupted(context) };
    let mut frames = [0; FRAMES];
    match stack.iter().position(|frame| *frame == place) {
        // Below lie the frames of the handler itself. What was called ends before the address of return.
        Some(first) => {
            for (number, (frame, found)) in frames.iter_mut().zip(&stack[first..]).enumerate() {
                *frame = found.saturating_sub(u64::from(number > 0));
            }
        }
        // A jump to nowhere: nobody can unwind that, but it was a call.
        None => frames[..2].copy_from_slice(&[place, top.saturating_sub(1)]),
    }
    page.length.store(FRAMES as u64, Release);
    look_up(&frames, page);
}

/// Where the code was, and what lies on top of its stack: the address of return if it was at a function's start.
///
/// # Safety
/// The context is that of a signal.
unsafe fn interrupted(context: *const libc::c_void) -> (u64, u64) {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the caller's word. The stack may be used up or nowhere, so its top is asked of the system, which
    // answers an error and no signal.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        {
            let registers = &(*context).uc_mcontext.gregs;
            let mut top = 0u64;
            let here = libc::iovec { iov_base: (&raw mut top).cast(), iov_len: 8 };
            let there = libc::iovec {
                iov_base: registers[libc::REG_RSP as usize] as *mut libc::c_void,
                iov_len: 8,
            };
            libc::process_vm_readv(libc::getpid(), &here, 1, &there, 1, 0);
            (registers[libc::REG_RIP as usize] as u64, top)
        }
        #[cfg(target_arch = "aarch64")]
        {
            let machine = &(*context).uc_mcontext;
            (machine.pc, machine.regs[30])
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            let _ = context;
            (0, 0)
        }
    }
}

/// Finds the module of each frame in `/proc/self/maps`.
fn look_up(frames: &[u64; FRAMES], page: &Page) {
    // SAFETY: async-signal-safe calls on a descriptor and a buffer of this function's own.
    unsafe {
        let maps = libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if maps < 0 {
            return;
        }
        let mut buffer = [0u8; 8192];
        let mut filled = 0;
        loop {
            let room = &mut buffer[filled..];
            let read = libc::read(maps, room.as_mut_ptr().cast(), room.len());
            if read <= 0 {
                break;
            }
            filled += read as usize;
            let mut start = 0;
            while let Some(length) = buffer[start..filled].iter().position(|byte| *byte == b'\n') {
                match_line(&buffer[start..start + length], frames, page);
                start += length + 1;
            }
            // A line that is longer than the buffer is no module's.
            if start == 0 && filled == buffer.len() {
                break;
            }
            buffer.copy_within(start..filled, 0);
            filled -= start;
        }
        libc::close(maps);
    }
}

/// `55d0-55d8 r-xp 00002000 08:01 1234   /path`
fn match_line(line: &[u8], frames: &[u64; FRAMES], page: &Page) {
    let Some(slash) = line.iter().position(|byte| *byte == b'/') else { return };
    let mut words = line.split(|byte| matches!(byte, b' ' | b'-'));
    let (Some(start), Some(end)) = (words.next().and_then(hex), words.next().and_then(hex)) else {
        return;
    };
    // The permissions may hold a dash themselves.
    let offset = line.split(|byte| *byte == b' ').nth(2).and_then(hex).unwrap_or(0);
    for (cell, frame) in page.frames.iter().zip(frames) {
        if !(start..end).contains(frame) {
            continue;
        }
        let path = &line[slash..];
        let path = &path[..path.len().min(PATH - 1)];
        for (place, word) in cell.path.iter().enumerate() {
            let mut bytes = [0; 8];
            for (to, from) in bytes.iter_mut().zip(path.iter().skip(8 * place)) {
                *to = *from;
            }
            word.store(u64::from_ne_bytes(bytes), Relaxed);
        }
        cell.offset.store(frame - start + offset, Relaxed);
    }
}

fn hex(word: &[u8]) -> Option<u64> {
    word.iter().try_fold(0u64, |number, byte| {
        let digit = (*byte as char).to_digit(16)?;
        number.checked_mul(16)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_found_in_its_module() {
        // SAFETY: all zeros is a page without a trace.
        let page: Box<Page> = unsafe { Box::new(std::mem::zeroed()) };
        let mut frames = [0; FRAMES];
        frames[1] = 0x7f00_1234;
        let line = b"7f000000-7f002000 r-xp 00003000 08:01 4711                /lib/a b.so";
        match_line(line, &frames, &page);
        match_line(b"7f000000-7f002000 rw-p 00000000 00:00 0", &frames, &page);
        assert_eq!(page.read(), None);
        page.signal.store(11, Relaxed);
        page.length.store(FRAMES as u64, Relaxed);
        let trace = page.read().unwrap();
        assert_eq!(trace.signal, 11);
        assert_eq!(trace.places, [(PathBuf::from("/lib/a b.so"), 0x4234)]);
        page.clear();
        assert_eq!(page.read(), None);
    }
}
