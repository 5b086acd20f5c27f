//! The **witness**: a process beside a fuzz target that runs alone (`cargo fuzz run`), which outlives it and says in
//! which case it ended. libFuzzer tells the input only of an end that it catches; a library may call `_exit`, or
//! somebody may kill the process.
//!
//! Goes in: the journal, before anything is loaded. Comes out, on standard error and only if a case was in flight: the
//! case as text, and the file with its bytes, which is written if libFuzzer has written none.

use dlpack_fuzz::case::Case;
use dlpack_fuzz::host::frames;
use dlpack_fuzz::host::journal::Journal;
use dlpack_fuzz::host::process::signal_name;
use std::collections::HashSet;
use std::ffi::OsString;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::{Path, PathBuf};

/// Sent to the witness by the system when the target is gone.
const GONE: libc::c_int = libc::SIGUSR1;

/// Starts the witness. To be called while the process has one thread.
pub fn stand_by(journal: &Journal) -> std::io::Result<()> {
    let journal = journal.share()?;
    // SAFETY: nothing but plain system calls; the process has one thread, so that its copy is whole.
    unsafe {
        let target = libc::getpid();
        match libc::fork() {
            -1 => Err(std::io::Error::last_os_error()),
            0 => {
                for wish in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
                    libc::signal(wish, libc::SIG_IGN);
                }
                let mut gone = std::mem::zeroed();
                libc::sigemptyset(&mut gone);
                libc::sigaddset(&mut gone, GONE);
                libc::sigprocmask(libc::SIG_BLOCK, &gone, std::ptr::null_mut());
                libc::prctl(libc::PR_SET_PDEATHSIG, GONE);
                let before = artifacts();
                // It may be gone already.
                if libc::getppid() == target {
                    libc::sigwaitinfo(&gone, std::ptr::null_mut());
                }
                testify(&journal, &before);
                // Not by way of the handlers at exit, which are the target's.
                libc::_exit(0)
            }
            _ => Ok(()),
        }
    }
}

/// Writes the case's bytes where libFuzzer writes its artifacts.
pub fn keep(case: &Case) -> std::io::Result<PathBuf> {
    let bytes = case.encode();
    let hash = BuildHasherDefault::<DefaultHasher>::new().hash_one(&bytes);
    let mut path = prefix();
    path.push(format!("case-{hash:016x}"));
    std::fs::write(&path, bytes)?;
    Ok(path.into())
}

fn testify(journal: &Journal, before: &HashSet<PathBuf>) {
    let state = journal.read();
    let signal = journal.trace().map(|trace| trace.signal);
    let is_wished = [Some(libc::SIGINT), Some(libc::SIGTERM)].contains(&signal);
    let Some(case) = state.case.as_ref().filter(|_| state.in_flight() && !is_wished) else {
        return;
    };
    let case = Case::decode(case);
    let program = std::env::current_exe().unwrap_or_default();
    let frames = frames::of(journal, Path::new(""), &program);
    let how = match (signal, frames.first()) {
        (Some(signal), Some(frame)) => format!(", by {} in {frame}", signal_name(signal)),
        (Some(signal), None) => format!(", by {}", signal_name(signal)),
        (None, _) => String::new(),
    };
    eprintln!("dlpack-fuzz: the process ended in this case{how}:\n{case}");
    if !artifacts().is_subset(before) {
        return;
    }
    match keep(&case) {
        Ok(path) => eprintln!("dlpack-fuzz: its bytes are in {}", path.display()),
        Err(error) => eprintln!("dlpack-fuzz: its bytes could not be written: {error}"),
    }
}

/// What libFuzzer puts before the name of an artifact.
fn prefix() -> OsString {
    std::env::args_os()
        .filter_map(|argument| Some(argument.to_str()?.strip_prefix("-artifact_prefix=")?.into()))
        .last()
        .unwrap_or_else(|| "./".into())
}

/// The files that lie there.
fn artifacts() -> HashSet<PathBuf> {
    let prefix = PathBuf::from(prefix());
    // What follows the last slash is the beginning of a name.
    let is_folder = prefix.as_os_str().as_encoded_bytes().ends_with(b"/");
    let folder = if is_folder { Some(prefix.as_path()) } else { prefix.parent() };
    let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok());
    entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
}
