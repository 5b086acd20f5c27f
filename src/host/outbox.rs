//! An **outbox**: the folder in which a fuzz target leaves what it found for the command that started it.
//!
//! Its path is the target's `DLPACK_FUZZ_SESSION`. It holds the `journal`, `steer.toml` (which cases to go
//! round, in the form of a file of known findings; read once, at the start) and `pending/`, one file
//! per fault with the case and the violation. A fault that is there already is not written again.
//! A file that cannot be written (full disk) is tried again with the next case that shows the fault.

use super::journal::Journal;
use super::worker::Found;
use crate::case::Case;
use crate::oracle::Violation;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

pub const VARIABLE: &str = "DLPACK_FUZZ_SESSION";

/// The target's side.
pub struct Outbox {
    folder: PathBuf,
    /// Hashes of what is in `pending/`.
    sent: HashSet<u64>,
}

impl Outbox {
    /// The folder that the environment names; `None`: the target runs on its own.
    pub fn from_env() -> Option<io::Result<Self>> {
        std::env::var_os(VARIABLE).map(|folder| Self::open(Path::new(&folder)))
    }

    pub fn open(folder: &Path) -> io::Result<Self> {
        let sent = std::fs::read_dir(folder.join("pending"))?
            .filter_map(|entry| {
                let name = entry.ok()?.file_name();
                u64::from_str_radix(name.to_str()?.strip_suffix(".json")?, 16).ok()
            })
            .collect();
        Ok(Self { folder: folder.to_owned(), sent })
    }

    /// The page that the command made.
    pub fn journal(&self) -> io::Result<Journal> {
        Journal::open(&self.folder.join("journal"))
    }

    /// Where the session's own rules for going round crashes lie; the file may be missing.
    pub fn steer(folder: &Path) -> PathBuf {
        folder.join("steer.toml")
    }

    /// The file for Python's part of a trace.
    pub fn stack(folder: &Path) -> PathBuf {
        folder.join("stack")
    }

    pub fn stack_file(&self) -> PathBuf {
        Self::stack(&self.folder)
    }

    pub fn steer_file(&self) -> PathBuf {
        Self::steer(&self.folder)
    }

    /// The same fault was left before.
    pub fn has_left(&self, violation: &Violation) -> bool {
        self.sent.contains(&fault(violation))
    }

    /// Leaves a violation for the command, unless the fault was left before.
    pub fn leave(&mut self, case: &Case, violation: &Violation) -> io::Result<()> {
        if self.has_left(violation) {
            return Ok(());
        }
        let fault = fault(violation);
        let found = Found { case: case.to_string(), broken: violation.clone().into() };
        // Under another name first, so that the reader never sees half a file.
        let half = self.folder.join(format!("{fault:016x}.half"));
        std::fs::write(&half, serde_json::to_vec(&found)?)?;
        std::fs::rename(&half, pending(&self.folder).join(format!("{fault:016x}.json")))?;
        self.sent.insert(fault);
        Ok(())
    }
}

/// The command's side: makes an empty outbox in an existing folder and gives its journal.
pub fn prepare(folder: &Path) -> io::Result<Journal> {
    std::fs::create_dir_all(pending(folder))?;
    Journal::create(&folder.join("journal"))
}

/// The command's side: what was left and is not in `seen` yet, which it is then.
pub fn collect(folder: &Path, seen: &mut HashSet<PathBuf>) -> io::Result<Vec<Found>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(pending(folder))? {
        let path = entry?.path();
        if !seen.contains(&path) {
            all.push(serde_json::from_slice(&std::fs::read(&path)?)?);
            seen.insert(path);
        }
    }
    Ok(all)
}

fn pending(folder: &Path) -> PathBuf {
    folder.join("pending")
}

/// FNV-1a over rule and key: what the finding's identity will be made of.
fn fault(violation: &Violation) -> u64 {
    (violation.rule.bytes().chain([0]).chain(violation.evidence.key.bytes()))
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{Evidence, Grade};

    fn violation(key: &'static str) -> Violation {
        let evidence =
            Evidence { key: key.into(), expected: "a".into(), seen: "b".into(), facts: Vec::new() };
        Violation { rule: crate::oracle::rules()[0].id, grade: Grade::Violation, evidence }
    }

    #[test]
    fn each_fault_is_left_once_and_collected_once_also_over_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        prepare(dir.path()).unwrap();
        let case = Case::decode(&[]);
        let mut seen = HashSet::new();
        for _ in 0..2 {
            let mut outbox = Outbox::open(dir.path()).unwrap();
            outbox.leave(&case, &violation("one")).unwrap();
            outbox.leave(&case, &violation("two")).unwrap();
        }
        let mut keys: Vec<_> = (collect(dir.path(), &mut seen).unwrap().into_iter())
            .map(|found| found.broken.violation().unwrap().evidence.key.into_owned())
            .collect();
        keys.sort();
        assert_eq!(keys, ["one", "two"]);
        assert!(collect(dir.path(), &mut seen).unwrap().is_empty());
    }
}
