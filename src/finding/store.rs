//! The **store** keeps findings on disk, one folder each: `<dir>/<backend>/<identity>/`.
//!
//! | file | what |
//! |---|---|
//! | `case.txt` | the case as text |
//! | `case.bin` | its bytes: an input of the fuzz target |
//! | `report.md` | the report for people, fit for an upstream issue |
//! | `report.json` | the whole [`Finding`] |
//! | `repro.py` | the stand-alone reproducer, if there is one |
//!
//! Every file appears whole or not at all (written beside its place, then renamed), `report.json` last: a
//! folder with it is complete. Two sessions may share a store; who saves the same identity later replaces
//! the same file names and loses nothing else. A disk that takes no more is one [`Error`].

use super::{Error, Finding, Identity};
use crate::report;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Findings under one folder.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

impl Store {
    /// The store in `dir`, which is made if it is missing.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, Error> {
        let dir = dir.into();
        fs::create_dir_all(&dir).map_err(|error| failed(&dir, &error))?;
        Ok(Self { dir })
    }

    /// Where a finding lies or would lie.
    pub fn folder(&self, backend: &str, identity: &Identity) -> PathBuf {
        // A backend may be named `py:MODULE:FUNCTION` or by a path.
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        let backend: String =
            backend.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect();
        let backend = if backend.starts_with('.') { format!("_{backend}") } else { backend };
        self.dir.join(backend).join(identity.as_str())
    }

    /// A complete finding of this identity is there, from this session or an earlier one.
    pub fn contains(&self, backend: &str, identity: &Identity) -> bool {
        self.folder(backend, identity).join("report.json").is_file()
    }

    /// Writes the finding and returns its folder.
    pub fn save(&self, finding: &Finding) -> Result<PathBuf, Error> {
        let folder = self.folder(&finding.backend, &finding.identity);
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            write_whole(&path, bytes).map_err(|error| failed(&path, &error))
        };
        fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
        write("case.txt", format!("{}\n", finding.case).as_bytes())?;
        write("case.bin", &finding.case.encode())?;
        write("report.md", report::markdown(finding).as_bytes())?;
        if !finding.script.is_empty() {
            write("repro.py", finding.script.as_bytes())?;
        }
        write("report.json", report::json(finding).as_bytes())?;
        Ok(folder)
    }

    /// Every complete finding, by backend and identity. A report that does not read (from another version
    /// of this program, or edited) is an error in its place.
    pub fn list(&self) -> Result<Vec<Result<Finding, Error>>, Error> {
        let mut reports = vec![];
        for backend in folders(&self.dir)? {
            for folder in folders(&backend)? {
                let path = folder.join("report.json");
                if path.is_file() {
                    reports.push(read(&path));
                }
            }
        }
        Ok(reports)
    }
}

/// The folders in `dir`, sorted.
fn folders(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(dir).map_err(|error| failed(dir, &error))?;
    let mut folders: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    Ok(folders)
}

fn read(path: &Path) -> Result<Finding, Error> {
    let text = fs::read_to_string(path).map_err(|error| failed(path, &error))?;
    serde_json::from_str(&text).map_err(|error| Error(format!("{}: {error}", path.display())))
}

/// Writes beside the place and renames: readers see the old file or the new one. The name in between is
/// unique per process and call, so that two sessions never write into one file.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().expect("the path ends in a file name").to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}.{call}", std::process::id()));
    let written = fs::File::create(&beside)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        // The error that counts is the first one; a left-over is hidden by its dot.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn failed(path: &Path, error: &io::Error) -> Error {
    let what = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "the disk is full; the finding was not saved".to_string()
        }
        _ => error.to_string(),
    };
    Error(format!("{}: {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Death, Versions};

    fn crash(shape: &str) -> Finding {
        let text = format!("array(shape={shape}, dtype='void[0]', strides=(8,)).__dlpack__()");
        let cause = Death::Signal(libc::SIGFPE).into();
        Finding::new("numpy", "spec", text.parse().unwrap(), cause, Versions::default())
    }

    #[test]
    fn a_finding_reads_back_as_it_was_saved() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path().join("findings")).unwrap();
        let finding = Finding { script: "print()\n".into(), ..crash("(4,)") };
        assert!(!store.contains("numpy", &finding.identity));
        let folder = store.save(&finding).unwrap();
        assert_eq!(folder, dir.path().join("findings/numpy/CRASH-SIGFPE-void0-strided"));
        assert!(store.contains("numpy", &finding.identity));
        let mut names: Vec<_> = (fs::read_dir(&folder).unwrap())
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, ["case.bin", "case.txt", "report.json", "report.md", "repro.py"]);
        assert_eq!(store.list().unwrap(), [Ok(finding.clone())]);
        let text = fs::read_to_string(folder.join("case.txt")).unwrap();
        assert_eq!(text.trim_end().parse(), Ok(finding.case));
    }

    #[test]
    fn two_sessions_on_one_folder_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for session in 0..4 {
                let dir = dir.path();
                scope.spawn(move || {
                    let store = Store::open(dir).unwrap();
                    for round in 0..20 {
                        let mut finding = crash(&format!("({},)", 2 + round));
                        store.save(&finding).unwrap();
                        finding.backend = format!("own{session}");
                        store.save(&finding).unwrap();
                    }
                });
            }
        });
        let store = Store::open(dir.path()).unwrap();
        let findings = store.list().unwrap();
        assert_eq!(findings.len(), 5);
        assert!(findings.iter().all(Result::is_ok));
        let left = fs::read_dir(store.folder("numpy", &crash("(4,)").identity)).unwrap().count();
        assert_eq!(left, 4, "nothing is left beside the files");
    }

    #[test]
    fn a_report_that_does_not_read_is_named_and_hides_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        store.save(&crash("(4,)")).unwrap();
        let broken = dir.path().join("numpy/A");
        fs::create_dir_all(&broken).unwrap();
        fs::write(broken.join("report.json"), "{").unwrap();
        fs::create_dir_all(dir.path().join("numpy/incomplete")).unwrap();
        let findings = store.list().unwrap();
        assert_eq!(findings.len(), 2);
        assert!(findings[0].as_ref().unwrap_err().0.contains("numpy/A/report.json"));
        assert!(findings[1].is_ok());
    }

    #[test]
    fn a_place_that_cannot_be_written_is_one_error_with_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Store::open(file.join("findings")).unwrap_err();
        assert!(error.0.contains("file/findings: "), "{error}");
        let full = failed(Path::new("a/report.md"), &io::ErrorKind::StorageFull.into());
        assert_eq!(full.0, "a/report.md: the disk is full; the finding was not saved");
        assert_eq!(
            write_whole(Path::new("/dev/full/x"), b"x").unwrap_err().kind(),
            io::ErrorKind::NotADirectory
        );
    }

    #[test]
    fn a_backend_named_by_a_path_stays_inside_the_store() {
        let store = Store { dir: "findings".into() };
        let identity = crash("(4,)").identity;
        assert_eq!(
            store.folder("py:../a.py:make", &identity),
            Path::new("findings/py_.._a.py_make/CRASH-SIGFPE-void0-strided")
        );
        assert!(store.folder("../..", &identity).starts_with("findings/_.._.."));
    }
}
