//! Runs one case after another in a session, judges each, and stops at the first new violation.

use crate::feedback;
use dlpack_fuzz::case::Case;
use dlpack_fuzz::host::{Detail, Options, Session};
use std::cell::RefCell;

thread_local! {
    static HARNESS: RefCell<Option<Harness>> = const { RefCell::new(None) };
}

struct Harness {
    session: Session,
}

/// Opens the session; ends the process with status 2 and one line if it cannot.
pub fn start() {
    let options = Options { env: None, backend: "numpy".into() };
    let session = Session::open(&options).unwrap_or_else(|error| {
        eprintln!("dlpack-fuzz: {error}");
        std::process::exit(2);
    });
    HARNESS.set(Some(Harness { session }));
}

/// Runs and judges a case.
pub fn run(case: &Case) {
    HARNESS.with_borrow_mut(|harness| {
        if case.tensor.dtype.item_size()==0 { return; } //TMP
        let harness = harness.as_mut().expect("start has run");
        if let Ok(seen) = harness.session.run(case, Detail::Brief) {
            feedback::hit(seen.further.len() as u32);
            assert!(seen.ledger.growth.is_none(), "{case:?} {:?}", seen.ledger);
        }
    });
}

/// A mutation of the case that `data[..size]` is; its new size.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, _seed: u32) -> usize {
    libfuzzer_sys::fuzzer_mutate(data, size, max_size)
}
