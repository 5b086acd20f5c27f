//! Every committed input as a test of its own: it runs, and nothing is accused but what is known.
//!
//! `cargo test --test replay_corpus NAME` runs one. Inputs that are known to end the process on this
//! release of the library are ignored by name; `dlpack-fuzz replay` runs those too, in children.

use dlpack_fuzz::case::Case;
use dlpack_fuzz::finding::{Cause, Known};
use dlpack_fuzz::host::{Detail, Options, Session};
use dlpack_fuzz::oracle::{Grade, Profile, judge};
use libtest_mimic::{Arguments, Failed, Trial};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

thread_local! {
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
}

fn main() {
    let mut arguments = Arguments::from_args();
    // One interpreter, one case at a time.
    arguments.test_threads = Some(1);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let known = Known::load(&root.join("known"), "numpy").expect("it is part of the repository");
    let versions = with_session(|session| session.versions());
    let files = ["dunder_dlpack", "regressions"].map(|folder| files_of(&root.join(folder)));
    let trials: Vec<Trial> = (files.into_iter().flatten())
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            let case = read(&path);
            let kills = case.as_ref().is_ok_and(|case| known.steers(case, &versions).is_some());
            Trial::test(name, move || run(&case?)).with_ignored_flag(kills)
        })
        .collect();
    assert!(trials.len() > 100, "the committed seeds are missing: run scripts/minimise");
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

fn run(case: &Case) -> Result<(), Failed> {
    with_session(|session| {
        let Ok(seen) = session.run(case, Detail::Full) else { return Ok(()) };
        let profile = Profile::named("spec").expect("the default");
        let judgement = judge(case, &seen, &profile, Grade::Violation);
        let known = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/known");
        let known =
            Known::load(&known, "numpy").map_err(|error| Failed::from(error.to_string()))?;
        let versions = session.versions();
        let accused = judgement.violations.into_iter().find(|violation| {
            known.covers(case, &Cause::from(violation.clone()), &versions).is_none()
        });
        match accused {
            None => Ok(()),
            Some(violation) => Err(format!("{case}\n{violation:#?}").into()),
        }
    })
}

fn with_session<T>(use_it: impl FnOnce(&mut Session) -> T) -> T {
    SESSION.with_borrow_mut(|session| {
        let options = Options { env: None, backend: "numpy".into() };
        let session =
            session.get_or_insert_with(|| Session::open(&options).expect("scripts/setup has run"));
        use_it(session)
    })
}
