//! Situations in which a naive checker accuses NumPy, which does nothing wrong: the traps of the rule catalogue
//! that NumPy can be put in, one test each. The oracle says nothing, not even a warning.

mod arguments;
mod contents;
mod layout;
mod lifetime;

use dlpack_fuzz::case::{Case, Probe, Probes};
use dlpack_fuzz::host::{Detail, Options, Session};
use dlpack_fuzz::oracle::{ErrorClass, Grade, Observation, Profile, judge};
use std::sync::{Mutex, PoisonError};

/// Live blocks are counted for the whole process: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs every case, alone and with every probe, and demands that nothing is said of it. What was seen with
/// all probes comes back, for the test to prove that the situation was the one it means.
fn silent(texts: &[&str]) -> Vec<Observation> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let options = Options { env: None, backend: "numpy".into() };
    let mut session = Session::open(&options).unwrap_or_else(|error| panic!("{error}"));
    let profile = Profile::named("spec").expect("a built-in profile");
    let mut all = Vec::new();
    for text in texts {
        let case: Case = text.parse().unwrap_or_else(|error| panic!("{text}: {error:?}"));
        for probes in [Probes::NONE, Probes::ALL] {
            let case = Case { probes, ..case.clone() };
            let seen = (session.run(&case, Detail::Brief))
                .unwrap_or_else(|reason| panic!("{case}: {reason:?}"));
            let said = judge(&case, &seen, &profile, Grade::Warning).violations;
            assert!(said.is_empty(), "{case}: {said:#?}");
            if !probes.is_empty() {
                all.push(seen);
            }
        }
    }
    all
}

fn tensor(seen: &Observation, probe: Option<Probe>) -> &dlpack_fuzz::oracle::DlTensor {
    let outcome = probe.map_or(Some(&seen.export), |probe| seen.probe(probe));
    let managed = outcome.and_then(|outcome| outcome.managed());
    managed.and_then(|managed| managed.tensor.as_ref()).expect("the export succeeds")
}

fn raised(seen: &Observation) -> ErrorClass {
    seen.export.raised().expect("the export fails").class
}
