//! Runs one case after another in a session, judges each, and stops at the first new violation.

use crate::feedback;
use dlpack_fuzz::case::{self, Case, Rng, Vocabulary, generate};
use dlpack_fuzz::host::{Detail, Options, Session};
use std::cell::RefCell;

thread_local! {
    static VOCABULARY: Vocabulary = Vocabulary::default();
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

/// One mutation in this many is left to libFuzzer, which also tries what no case encodes to.
const BYTES_ONE_IN: u64 = 8;
/// One in this many is a case drawn anew: a corpus must not keep the search near its seeds.
const FRESH_ONE_IN: u64 = 16;

/// Mutates the case that `data[..size]` is; the new size.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut rng = Rng::new(u64::from(seed));
    if rng.chance(1, BYTES_ONE_IN) {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    VOCABULARY.with(|vocabulary| {
        let case = if rng.chance(1, FRESH_ONE_IN) {
            generate(&mut rng, vocabulary)
        } else {
            let mut case = Case::decode(&data[..size]);
            case::mutate(&mut case, &mut rng, vocabulary);
            case
        };
        let room = max_size.min(data.len());
        // A case that does not fit is left to libFuzzer like any other bytes.
        case.encode_into(&mut data[..room])
            .unwrap_or_else(|| libfuzzer_sys::fuzzer_mutate(data, size, max_size))
    })
}
