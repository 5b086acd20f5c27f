//! A **child process**: how it is started so that it cannot outlive or disturb its parent, and how it ended.
//!
//! Goes in: a [`Command`] before it is spawned. Comes out: a [`Death`] when it ends other than orderly.
//! A child that cannot be started is the caller's `io::Error`.

use std::fmt;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How a child ended while it had a case in hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Death {
    /// By a signal, such as `SIGFPE`.
    Signal(i32),
    /// By `exit`, which a library may call with any status, 0 included.
    Exit(i32),
    /// It gave no sign of life for this long and was killed.
    Hang(Duration),
    /// It took more memory than it may and was killed.
    Memory,
}

impl Death {
    pub fn of(status: ExitStatus) -> Self {
        match status.signal() {
            Some(signal) => Self::Signal(signal),
            None => Self::Exit(status.code().unwrap_or(-1)),
        }
    }
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(signal) => f.write_str(&signal_name(*signal)),
            Self::Exit(code) => write!(f, "exit status {code}"),
            Self::Hang(limit) => write!(f, "no answer within {} s", limit.as_secs_f32()),
            Self::Memory => f.write_str("too much memory"),
        }
    }
}

/// `SIGFPE` for 8; `signal 99` for one without a name here.
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGSYS => "SIGSYS",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

/// Makes the child end with its parent, keeps the terminal's Ctrl-C away from it (the parent decides when
/// it ends), and lets it leave no core file: a session may see thousands of crashes.
///
/// The trap: Linux ends the child when the *thread* that spawned it ends, so spawn from a thread that
/// outlives the child.
pub fn tether(command: &mut Command) -> &mut Command {
    // SAFETY: the closure runs between fork and exec and calls async-signal-safe functions only.
    unsafe {
        command.pre_exec(|| {
            libc::setpgid(0, 0);
            #[cfg(target_os = "linux")]
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &none);
            Ok(())
        })
    }
}

/// From now on this process dies of a bad access by the signal itself. Rust's runtime makes an abort of a
/// stack that is used up, and a finding would name another death than a plain interpreter shows.
pub fn die_by_the_signal() {
    for fatal in [libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: the default action runs no code of this process.
        unsafe { libc::signal(fatal, libc::SIG_DFL) };
    }
}

/// Bytes of memory that the child occupies; 0 once it is gone. (A limit of the system's own would count what a
/// library maps and never touches, which is more than the machine has.)
pub fn resident(child: &Child) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}

/// Sends a signal to the child; one that is gone already is no error.
pub fn signal(child: &Child, signal: i32) {
    // SAFETY: kill touches no memory of this process. The child was not waited for by anybody else, so
    // its number is still its own.
    unsafe { libc::kill(child.id() as libc::pid_t, signal) };
}

/// Waits for the end of a child for at most this long.
pub fn wait_until(child: &mut Child, deadline: Instant) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// What a child that was given a time said and how it ended.
#[derive(Clone, Debug)]
pub struct Ended {
    pub stdout: String,
    pub stderr: String,
    /// `Err` when the time was up and it was killed.
    pub status: Result<ExitStatus, Duration>,
}

/// Runs a command to its end, at most for `limit`; both outputs are read as text, broken UTF-8 replaced.
pub fn run_within(command: &mut Command, limit: Duration) -> std::io::Result<Ended> {
    tether(command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let status = match wait_until(&mut child, Instant::now() + limit)? {
        Some(status) => Ok(status),
        None => {
            signal(&child, libc::SIGKILL);
            child.wait()?;
            Err(limit)
        }
    };
    let text = |thread: thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&thread.join().unwrap_or_default()).into_owned()
    };
    Ok(Ended { stdout: text(stdout), stderr: text(stderr), status })
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // A pipe that breaks has said all that it will say.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

/// The last bytes that a child wrote to its standard error: all that is kept of what may be gigabytes.
#[derive(Clone, Debug, Default)]
pub struct LastWords(Arc<Mutex<Vec<u8>>>);

impl LastWords {
    /// Room for a sanitizer's report with its stacks.
    const KEPT: usize = 64 * 1024;

    /// Reads the pipe to its end on a thread of its own; `each` sees every line.
    pub fn listen(
        pipe: impl Read + Send + 'static,
        mut each: impl FnMut(&str) + Send + 'static,
    ) -> Self {
        let words = Self::default();
        let kept = words.0.clone();
        thread::spawn(move || {
            use std::io::BufRead;
            let mut pipe = std::io::BufReader::new(pipe);
            let mut line = Vec::new();
            loop {
                line.clear();
                match pipe.read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => break,
                    Ok(_) => {}
                }
                each(String::from_utf8_lossy(&line).trim_end());
                let mut kept = kept.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                kept.extend_from_slice(&line);
                if kept.len() > 2 * Self::KEPT {
                    let surplus = kept.len() - Self::KEPT;
                    kept.drain(..surplus);
                }
            }
        });
        words
    }

    pub fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        String::from_utf8_lossy(&kept).into_owned()
    }
}

static INTERRUPTS: AtomicU32 = AtomicU32::new(0);

/// From now on Ctrl-C (and a polite `kill`) is a wish that [`is_interrupted`] reports; the third one ends
/// the program at once.
pub fn catch_interrupts() {
    extern "C" fn note(signal: libc::c_int) {
        if INTERRUPTS.fetch_add(1, Ordering::Relaxed) >= 2 {
            // SAFETY: _exit is async-signal-safe.
            unsafe { libc::_exit(128 + signal) };
        }
    }
    let handler = note as extern "C" fn(libc::c_int);
    for wish in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler touches an atomic only.
        unsafe { libc::signal(wish, handler as libc::sighandler_t) };
    }
}

/// Somebody wants the program to end.
pub fn is_interrupted() -> bool {
    INTERRUPTS.load(Ordering::Relaxed) > 0
}

/// Somebody has said so twice: also what tidies up is to be cut short.
pub fn is_urgent() -> bool {
    INTERRUPTS.load(Ordering::Relaxed) > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_death_names_the_signal_or_the_exit_status() {
        let status = |script| shell(script).status().unwrap();
        assert_eq!(Death::of(status("kill -FPE $$")).to_string(), "SIGFPE");
        assert_eq!(Death::of(status("exit 0")), Death::Exit(0));
        assert_eq!(Death::of(status("exit 9")).to_string(), "exit status 9");
    }

    #[test]
    fn a_child_that_takes_too_long_is_killed_and_its_words_are_kept() {
        let limit = Duration::from_millis(200);
        let started = Instant::now();
        let ended = run_within(&mut shell("echo out; echo err >&2; exec sleep 60"), limit).unwrap();
        assert!(started.elapsed() < Duration::from_secs(30));
        assert_eq!(ended.status, Err(limit));
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("out\n", "err\n"));
    }

    #[test]
    fn last_words_keep_the_end_of_a_long_speech() {
        let speech = format!("{}\nend\n", "x\n".repeat(LastWords::KEPT * 2));
        let (sender, receiver) = std::sync::mpsc::channel();
        let words = LastWords::listen(std::io::Cursor::new(speech), move |line| {
            if line == "end" {
                sender.send(()).unwrap();
            }
        });
        receiver.recv_timeout(Duration::from_secs(10)).unwrap();
        // The line is announced before it is kept.
        let deadline = Instant::now() + Duration::from_secs(10);
        while !words.text().ends_with("end\n") && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(words.text().ends_with("end\n"));
        assert!(words.text().len() <= 2 * LastWords::KEPT);
    }
}
