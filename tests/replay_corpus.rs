//! Every committed input as a test of its own: it runs, and nothing is accused but what is known.
//!
//! `cargo test --test replay_corpus NAME` runs one. Inputs that are known to end the process on this
//! release of the library are ignored by name; `dlpack-fuzz replay` runs those too, in children.

mod common;

use dlpack_fuzz::case::Case;
use dlpack_fuzz::finding::{Cause, Known, Versions};
use dlpack_fuzz::host::{Detail, Session};
use dlpack_fuzz::oracle::{Grade, Profile, judge};
use libtest_mimic::{Arguments, Failed, Trial};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

thread_local! {
    /// All trials run on the first thread.
    static SUBJECTS: RefCell<Vec<Subject>> = const { RefCell::new(Vec::new()) };
}

/// A lawful exporter and what is known of it.
struct Subject {
    session: Session,
    known: Known,
    versions: Versions,
}

fn main() {
    let mut arguments = Arguments::from_args();
    // One interpreter, one case at a time.
    arguments.test_threads = Some(1);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("DLPACK_FUZZ_PYTHONPATH", root.join("../tests/exporters")) };
    let mut trials = Vec::new();
    for (backend, folders) in [
        ("numpy", &["dunder_dlpack", "lifecycle", "regressions"][..]),
        (&format!("c:{}", common::reference().c.display()), &["c_abi"]),
        ("py:exchange:lawful", &["exchange_api"]),
    ] {
        let subject = Subject::of(backend, &root);
        let place = SUBJECTS.with_borrow(Vec::len);
        for folder in folders {
            let files = files_of(&root.join(folder));
            assert!(!files.is_empty(), "corpus/{folder} is empty: run scripts/minimise {folder}");
            trials.extend(files.into_iter().map(|path| {
                let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
                let case = read(&path);
                let kills = case.as_ref().is_ok_and(|case| subject.kills(case));
                let run = move || SUBJECTS.with_borrow_mut(|all| all[place].run(&case?));
                Trial::test(name, run).with_ignored_flag(kills)
            }));
        }
        SUBJECTS.with_borrow_mut(|all| all.push(subject));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
        .unwrap_or_default();
    files.retain(|path: &PathBuf| path.extension().is_none_or(|extension| extension != "md"));
    files.sort();
    files
}

/// A `.txt` file holds a case's text, any other its bytes.
fn read(path: &Path) -> Result<Case, Failed> {
    let bytes = std::fs::read(path)?;
    if path.extension().is_some_and(|extension| extension == "txt") {
        let text = String::from_utf8(bytes)?;
        return text.trim().parse().map_err(|error| Failed::from(format!("{error}")));
    }
    Ok(Case::decode(&bytes))
}

impl Subject {
    fn of(backend: &str, root: &Path) -> Self {
        let session = common::open(backend, None);
        let known =
            Known::load(&root.join("known"), backend).expect("it is part of the repository");
        Self { versions: session.versions(), session, known }
    }

    fn kills(&self, case: &Case) -> bool {
        self.known.steers(case, &self.versions).is_some()
    }

    fn run(&mut self, case: &Case) -> Result<(), Failed> {
        let Ok(seen) = self.session.run(case, Detail::Full) else { return Ok(()) };
        let profile = Profile::named("spec").expect("the default");
        let judgement = judge(case, &seen, &profile, Grade::Violation);
        let accused = judgement.violations.into_iter().find(|violation| {
            self.known.covers(case, &Cause::from(violation.clone()), &self.versions).is_none()
        });
        match accused {
            None => Ok(()),
            Some(violation) => Err(format!("{case}\n{violation:#?}").into()),
        }
    }
}
