//! The **trial**: loading a shared object in a forked child, so that an initialiser that crashes, exits or
//! hangs is one error and not the end of this program.

use crate::host::Error;
use crate::host::process::signal_name;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long loading may take: large libraries need a second or two, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(10);

/// First byte of what the child says.
const LOADED: u8 = b'+';
const REFUSED: u8 = b'-';

/// Runs `load` in a child of its own; the error is the child's or tells how it ended.
pub fn run(path: &Path, load: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    let failed = |what: &str| {
        let error = std::io::Error::last_os_error();
        Error(format!("{} cannot be tried: {what}: {error}", path.display()))
    };
    let mut ends = [0; 2];
    // SAFETY: the array has room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(failed("pipe"));
    }
    // SAFETY: both were just opened and belong to nobody else.
    let [read, write] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    // SAFETY: the child runs `load` only and leaves by `_exit`. Where this process has more threads, glibc
    // makes the allocator and the dynamic linker usable in the child.
    match unsafe { libc::fork() } {
        ..0 => Err(failed("fork")),
        0 => {
            drop(read);
            in_child(File::from(write), load)
        }
        child => {
            drop(write);
            let told = listen(File::from(read), child);
            let status = reap(child);
            verdict(path, told, status)
        }
    }
}

fn in_child(mut parent: File, load: impl FnOnce() -> Result<(), Error>) -> ! {
    // SAFETY: plain calls on this child's own state: it goes with its parent, leaves no core file, dies by its
    // signals whatever handlers were set, and its noise goes nowhere.
    unsafe {
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        for signal in
            [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT, libc::SIGALRM]
        {
            libc::signal(signal, libc::SIG_DFL);
        }
        let nowhere = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        if nowhere >= 0 {
            libc::dup2(nowhere, 1);
            libc::dup2(nowhere, 2);
        }
    }
    let message = match load() {
        Ok(()) => vec![LOADED],
        Err(Error(why)) => [&[REFUSED], why.as_bytes()].concat(),
    };
    let _ = parent.write_all(&message);
    // SAFETY: no handler of the parent's runs in the child.
    unsafe { libc::_exit(0) }
}

/// What the child says until it ends; `None` when its time is over, and then it is killed.
fn listen(mut pipe: File, child: libc::pid_t) -> Option<Vec<u8>> {
    let deadline = Instant::now() + LIMIT;
    let mut told = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut waiting = libc::pollfd { fd: pipe.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor of our own.
        let ready = unsafe { libc::poll(&mut waiting, 1, left.as_millis() as i32) };
        if ready == 0 {
            // SAFETY: the child was not waited for yet, so that its number is its own.
            unsafe { libc::kill(child, libc::SIGKILL) };
            return None;
        }
        if ready > 0 {
            match pipe.read(&mut buffer) {
                Ok(0) | Err(_) => return Some(told),
                Ok(count) => told.extend_from_slice(&buffer[..count]),
            }
        }
    }
}

fn reap(child: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: a child of this process that nobody else waits for. An interrupted wait is made again.
    while unsafe { libc::waitpid(child, &mut status, 0) } < 0
        && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
    {}
    status
}

fn verdict(path: &Path, told: Option<Vec<u8>>, status: i32) -> Result<(), Error> {
    let path = path.display();
    let Some(told) = told else {
        return Err(Error(format!(
            "{path} was still loading after {} s: an initialiser or dlpack_fuzz_backend() hangs",
            LIMIT.as_secs()
        )));
    };
    match told.split_first() {
        Some((&LOADED, _)) => Ok(()),
        Some((&REFUSED, why)) => Err(Error(String::from_utf8_lossy(why).into_owned())),
        _ => {
            let end = if libc::WIFSIGNALED(status) {
                format!("dies by {}", signal_name(libc::WTERMSIG(status)))
            } else {
                format!("exits with status {}", libc::WEXITSTATUS(status))
            };
            Err(Error(format!(
                "{path} {end} while it is loaded: an initialiser or dlpack_fuzz_backend() is at fault"
            )))
        }
    }
}
