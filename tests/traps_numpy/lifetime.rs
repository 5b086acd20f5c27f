//! What is left behind, and what may come twice.

use super::{silent, tensor};

#[test]
fn failing_calls_leave_no_reference_behind() {
    for seen in silent(&[
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=7)",
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=(1, 0), dl_device=(2, 0))",
        "array(shape=(5,), dtype='object').__dlpack__(max_version=(1, 0), copy=True)",
        "array(shape=(6,), dtype='float32').__dlpack__(foo=1)",
    ]) {
        assert_eq!((seen.ledger.source_references, seen.ledger.argument_references), (0, 0));
    }
}

#[test]
fn an_imported_array_is_an_array_of_its_own() {
    silent(&[
        "array(shape=(6,), dtype='float32', object='imported').__dlpack__()",
        "array(shape=(6,), dtype='float32', object='imported').__dlpack__(max_version=(1, 0), copy=True)",
    ]);
}

#[test]
fn keyword_names_may_be_made_at_run_time() {
    for seen in silent(&[
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=(1, 0), copy=True, **fresh)",
        "array(shape=(6,), dtype='float32').__dlpack__(copy=False, dl_device=(1, 0), max_version=(1, 0), stream=None, **fresh)",
    ]) {
        tensor(&seen, None);
    }
}
