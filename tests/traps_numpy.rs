//! Situations in which a naive checker accuses NumPy, which does nothing wrong: the traps of the rule catalogue
//! that NumPy can be put in, one test each. The oracle says nothing, not even a warning.

use dlpack_fuzz::case::{Case, Probe, Probes};
use dlpack_fuzz::host::{Detail, Options, Session};
use dlpack_fuzz::oracle::{Elements, ErrorClass, Grade, Memory, Observation, Profile, judge};
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

// Contents.

#[test]
fn signalling_nans_are_compared_by_their_bytes() {
    for seen in silent(&[
        "array(shape=(8,), dtype='float32', contents=2).__dlpack__()",
        "array(shape=(8,), dtype='float64', contents=2).__dlpack__(max_version=(1, 0))",
        "array(shape=(8,), dtype='complex64', contents=2).__dlpack__()",
    ]) {
        assert_eq!(tensor(&seen, None).elements, Elements::Same);
    }
}

#[test]
fn a_copy_may_change_the_payload_of_a_nan() {
    silent(&[
        "array(shape=(8,), dtype='float32', contents=2).__dlpack__(copy=True)",
        "array(shape=(4,), dtype='float32', strides=(8,), contents=2).__dlpack__(copy=True)",
        "array(shape=(8,), dtype='float16', contents=2).__dlpack__(max_version=(1, 0), copy=True)",
        "array(shape=(8,), dtype='float64', contents=2).__dlpack__(copy=True)",
        "array(shape=(3,), dtype='complex128', strides=(32,), contents=2).__dlpack__(copy=True)",
    ]);
}

#[test]
fn truth_values_may_be_other_bytes_than_0_and_1() {
    silent(&[
        "array(shape=(9,), dtype='bool').__dlpack__()",
        "array(shape=(9,), dtype='bool', contents=1).__dlpack__(max_version=(1, 0))",
        "array(shape=(9,), dtype='bool').__dlpack__(copy=True)",
        "array(shape=(4,), dtype='bool', strides=(2,), contents=1).__dlpack__(copy=True)",
    ]);
}

#[test]
fn a_masked_array_means_more_than_its_memory() {
    silent(&[
        "array(shape=(6,), dtype='float32', object='masked').__dlpack__()",
        "array(shape=(6,), dtype='float32', object='masked').__dlpack__(max_version=(1, 0), copy=True)",
    ]);
}

#[test]
fn a_subclass_is_compared_by_its_memory() {
    silent(&[
        "array(shape=(6,), dtype='float32', object='subclass').__dlpack__()",
        "array(shape=(2, 3), dtype='float32', object='matrix').__dlpack__()",
        "array(shape=(2, 3), dtype='float32', object='matrix').__dlpack__(copy=True)",
    ]);
}

// Shape, strides, addresses.

#[test]
fn the_stride_of_an_axis_of_length_1_means_nothing() {
    for seen in silent(&[
        "array(shape=(1, 4), dtype='float32', strides=(1152921504606846976, 4)).__dlpack__()",
        "array(shape=(1,), dtype='float64', strides=(1152921504606846976,)).__dlpack__(max_version=(1, 0))",
        "array(shape=(1, 4), dtype='float32', strides=(-1152921504606846976, 4)).__dlpack__()",
        "array(shape=(1, 4), dtype='float32', strides=(0, 4)).__dlpack__(max_version=(1, 0))",
    ]) {
        assert_eq!(tensor(&seen, None).elements, Elements::Same);
    }
}

#[test]
fn the_stride_of_an_axis_of_length_1_need_not_be_a_multiple_of_the_item() {
    for seen in silent(&[
        "array(shape=(1,), dtype='float32', strides=(3,)).__dlpack__()",
        "array(shape=(4, 1), dtype='int32', strides=(4, 7)).__dlpack__(max_version=(1, 0))",
        "array(shape=(1,), dtype='float64', object='field').__dlpack__()",
    ]) {
        assert_eq!(tensor(&seen, None).elements, Elements::Same);
    }
}

#[test]
fn with_an_extent_of_0_every_stride_is_arbitrary() {
    silent(&[
        "array(shape=(0,), dtype='float32').__dlpack__()",
        "array(shape=(0, 3), dtype='float32', strides=(96, 8)).__dlpack__(max_version=(1, 0))",
        "array(shape=(3, 0), dtype='float32', strides=(-4, 96)).__dlpack__()",
        "array(shape=(2, 0, 3), dtype='float32', order='F').__dlpack__(max_version=(1, 0))",
    ]);
}

#[test]
fn an_empty_array_may_start_anywhere_and_may_be_a_copy_or_none() {
    for seen in silent(&[
        "array(shape=(0,), dtype='float32').__dlpack__(copy=True)",
        "array(shape=(2, 0, 3), dtype='float32', strides=(4, 4, 4)).__dlpack__(max_version=(1, 0), copy=True)",
        "array(shape=(0,), dtype='float64', strides=(8,), lead=16).__dlpack__(max_version=(1, 0), copy=False)",
        "array(shape=(0,), dtype='float64', strides=(8,), lead=1).__dlpack__()",
        "array(shape=(0,), dtype='float64', writable=False).__dlpack__(max_version=(1, 0))",
    ]) {
        assert_eq!(tensor(&seen, None).memory, Memory::Unknown);
    }
}

#[test]
fn an_array_without_axes_may_have_no_shape() {
    for seen in silent(&[
        "array(shape=(), dtype='float32').__dlpack__()",
        "array(shape=(), dtype='int16').__dlpack__(max_version=(1, 0), copy=True)",
        "array(shape=(), dtype='complex128', strides=(), lead=3).__dlpack__(max_version=(1, 0))",
    ]) {
        assert_eq!(tensor(&seen, None).ndim, 0);
    }
}

#[test]
fn the_first_element_need_not_have_the_lowest_address() {
    for seen in silent(&[
        "array(shape=(5,), dtype='int32', strides=(-4,)).__dlpack__()",
        "array(shape=(3, 2), dtype='int32', strides=(-8, 4)).__dlpack__(max_version=(1, 0))",
        "array(shape=(3, 2), dtype='int32', strides=(8, -4)).__dlpack__(max_version=(1, 0), copy=False)",
        "array(shape=(2, 2, 2), dtype='uint8', strides=(-4, -2, -1)).__dlpack__(copy=True)",
    ]) {
        assert_eq!(tensor(&seen, None).elements, Elements::Same);
    }
}

#[test]
fn a_broadcast_array_may_be_larger_than_memory() {
    for seen in silent(&[
        // 2**48 bytes: copy=True, also as a probe, ends in MemoryError.
        "array(shape=(281474976710656,), dtype='uint8', strides=(0,)).__dlpack__(max_version=(1, 0))",
        "array(shape=(1048576, 1048576, 1024), dtype='float64', strides=(0, 0, 0)).__dlpack__()",
    ]) {
        let copied = seen.probe(Probe::CopyTrue).expect("was made");
        assert_eq!(copied.raised().map(|raised| raised.class), Some(ErrorClass::Memory));
    }
    for seen in silent(&[
        "array(shape=(281474976710656,), dtype='uint8', strides=(0,)).__dlpack__(copy=True)",
        "array(shape=(281474976710656,), dtype='uint8', strides=(0,), writable=False).__dlpack__(copy=True)",
    ]) {
        assert_eq!(raised(&seen), ErrorClass::Memory);
    }
}

#[test]
fn elements_may_be_misaligned() {
    for seen in silent(&[
        "array(shape=(4,), dtype='float64', strides=(8,), lead=1).__dlpack__()",
        "array(shape=(4,), dtype='complex128', strides=(16,), lead=3).__dlpack__(max_version=(1, 0))",
        "array(shape=(4,), dtype='int16', strides=(-2,), lead=1).__dlpack__(copy=True)",
    ]) {
        assert_eq!(tensor(&seen, None).elements, Elements::Same);
    }
}

#[test]
fn a_copy_may_have_other_strides_than_its_source() {
    for seen in silent(&[
        "array(shape=(2, 3, 4), dtype='float64', order='F').__dlpack__(max_version=(1, 0), copy=True)",
        "array(shape=(4,), dtype='int32', strides=(12,)).__dlpack__(copy=True)",
        "array(shape=(4,), dtype='int32', strides=(5,)).__dlpack__(max_version=(1, 0), copy=True)",
    ]) {
        assert_eq!(tensor(&seen, None).memory, Memory::Distinct);
    }
}

#[test]
fn strides_that_cannot_be_expressed_are_refused() {
    for seen in silent(&[
        "array(shape=(4,), dtype='int32', strides=(5,)).__dlpack__()",
        "array(shape=(4,), dtype='int32', strides=(5,)).__dlpack__(max_version=(1, 0), copy=False)",
        "array(shape=(4, 2), dtype='float64', strides=(20, 8)).__dlpack__(max_version=(2, 0))",
    ]) {
        assert_eq!(raised(&seen), ErrorClass::Buffer);
    }
}

#[test]
fn any_number_of_axes_that_the_library_has_is_exported() {
    let ones = "1, ".repeat(63);
    let case = format!("array(shape=({ones}3), dtype='float32').__dlpack__(max_version=(1, 0))");
    for seen in silent(&[&case]) {
        assert_eq!(tensor(&seen, None).ndim, 64);
    }
}

#[test]
fn a_block_that_was_freed_may_come_back_as_the_next_copy() {
    // Copies of small arrays, and a probe for each: all live together, so no two may share memory.
    for seen in silent(&[
        "array(shape=(2,), dtype='uint8').__dlpack__(copy=True)",
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=(1, 0), copy=True)",
    ]) {
        let again = tensor(&seen, Some(Probe::Repeat)).first();
        assert_ne!(tensor(&seen, None).first(), again);
    }
}

// Write-through.

#[test]
fn one_write_may_show_at_several_indices() {
    silent(&[
        "array(shape=(4,), dtype='int16', strides=(0,)).__dlpack__()",
        "array(shape=(4,), dtype='int16', strides=(0,)).__dlpack__(max_version=(1, 0), copy=True)",
        "array(shape=(4, 4), dtype='int32', strides=(4, 4)).__dlpack__()",
        "array(shape=(4, 4), dtype='int32', strides=(4, -4)).__dlpack__(copy=True)",
        "array(shape=(3, 3), dtype='float32', strides=(0, 4)).__dlpack__(max_version=(1, 0))",
    ]);
}

#[test]
fn the_marker_differs_from_every_content() {
    silent(&[
        "array(shape=(3,), dtype='bool', contents=0).__dlpack__()",
        "array(shape=(3,), dtype='bool', contents=1).__dlpack__()",
        "array(shape=(3,), dtype='uint8', contents=1).__dlpack__(copy=True)",
        "array(shape=(3,), dtype='float16', contents=2).__dlpack__(max_version=(1, 0))",
        "array(shape=(3,), dtype='float16', contents=2).__dlpack__(copy=True)",
    ]);
}

#[test]
fn read_only_memory_is_never_written() {
    silent(&[
        "array(shape=(6,), dtype='float32', writable=False).__dlpack__(max_version=(1, 0))",
        "array(shape=(6,), dtype='float32', writable=False, object='memmap').__dlpack__(max_version=(1, 0))",
        "array(shape=(6,), dtype='float32', object='memmap').__dlpack__()",
        "array(shape=(4, 2), dtype='float32', strides=(0, 4), writable=False).__dlpack__(max_version=(1, 0))",
    ]);
}

// Arguments.

#[test]
fn a_device_type_may_be_a_subclass_of_int() {
    for seen in silent(&[
        "array(shape=(6,), dtype='float32').__dlpack__(dl_device=(IntEnum(1), 0))",
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=(1, 0), dl_device=(IntEnum(1), 0))",
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=(IntEnum(1), 0))",
    ]) {
        assert_eq!(tensor(&seen, None).memory, Memory::Alias);
    }
    silent(&[
        "array(shape=(6,), dtype='float32').__dlpack__(dl_device=(Int(1), 0))",
        "array(shape=(6,), dtype='float32').__dlpack__(dl_device=(np.int64(1), 0))",
        "array(shape=(6,), dtype='float32').__dlpack__(dl_device=(True, False))",
        "array(shape=(6,), dtype='float32').__dlpack__(dl_device=(IntEnum(2), 0))",
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=(True, 0))",
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=(Int(1), Int(0)))",
    ]);
}

#[test]
fn a_pair_may_be_a_subclass_of_tuple() {
    silent(&[
        "array(shape=(6,), dtype='float32').__dlpack__(dl_device=Pair((1, 0)))",
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=Pair((1, 0)))",
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=Pair((0, 8)), dl_device=Pair((2, 0)))",
    ]);
}

#[test]
fn true_is_no_stream_and_no_verdict() {
    silent(&[
        "array(shape=(6,), dtype='float32').__dlpack__(stream=True)",
        "array(shape=(6,), dtype='float32').__dlpack__(stream=True, max_version=(1, 0), copy=True)",
    ]);
}

#[test]
fn of_two_bad_arguments_either_may_be_named() {
    silent(&[
        "array(shape=(6,), dtype='float32').__dlpack__(stream=1, dl_device=(2, 0))",
        "array(shape=(6,), dtype='float32').__dlpack__(stream='cpu', max_version=7)",
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=(), dl_device=(2, 0))",
        "array(shape=(6,), dtype='float32').__dlpack__(stream=-2, max_version=[1, 0], dl_device='cpu', copy='1')",
        "array(shape=(5,), dtype='object').__dlpack__(stream=1, dl_device=(10, 0), copy=False)",
        "array(shape=(6,), dtype='float32').__dlpack__(dl_device=(2, 0), foo=1)",
        "array(shape=(6,), dtype='float32').__dlpack__(None, stream=1)",
    ]);
}

#[test]
fn a_device_that_the_harness_invented_is_not_the_librarys() {
    for seen in silent(&[
        "array(shape=(6,), dtype='float32').__dlpack__(dl_device=(99, 0))",
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=(1, 0), dl_device=(1, -1))",
        "array(shape=(6,), dtype='float32').__dlpack__(dl_device=(1, 7), copy=False)",
        "array(shape=(6,), dtype='float32').__dlpack__(dl_device=(5, 0), copy=True)",
        "array(shape=(6,), dtype='float32').__dlpack__(dl_device=(0, 0))",
    ]) {
        raised(&seen);
    }
}

#[test]
fn an_old_version_may_still_be_made() {
    silent(&[
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=(0, 0))",
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=(0, 8), copy=True)",
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=(-1, 0))",
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=(2**64, 0))",
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=(1, -2**64))",
    ]);
}

#[test]
fn a_read_only_array_is_refused_without_a_version_and_exported_with_one() {
    for seen in silent(&[
        "array(shape=(6,), dtype='float32', writable=False).__dlpack__()",
        "array(shape=(6,), dtype='float32', writable=False).__dlpack__(max_version=(0, 8))",
        "array(shape=(6,), dtype='bool', writable=False).__dlpack__(copy=False)",
    ]) {
        assert_eq!(raised(&seen), ErrorClass::Buffer);
        assert_eq!(tensor(&seen, Some(Probe::Version10)).memory, Memory::Alias);
    }
    silent(&[
        "array(shape=(6,), dtype='float32', writable=False).__dlpack__(copy=True)",
        "array(shape=(6,), dtype='float32', writable=False).__dlpack__(max_version=(1, 0), copy=True)",
        "array(shape=(6,), dtype='float32', writable=False).__dlpack__(max_version=(1, 0), copy=False)",
    ]);
}

#[test]
fn an_odd_copy_value_is_recorded_only() {
    silent(&[
        "array(shape=(6,), dtype='float32').__dlpack__(copy=1)",
        "array(shape=(6,), dtype='float32').__dlpack__(copy=0)",
        "array(shape=(6,), dtype='float32').__dlpack__(max_version=(1, 0), copy=2.0)",
        "array(shape=(6,), dtype='float32').__dlpack__(copy='cpu')",
        "array(shape=(6,), dtype='float32').__dlpack__(copy=[1, 0])",
        "array(shape=(6,), dtype='float32').__dlpack__(copy=Index(1))",
    ]);
}

#[test]
fn a_type_that_cannot_be_described_is_refused_whatever_else_is_asked() {
    for seen in silent(&[
        "array(shape=(5,), dtype='object').__dlpack__()",
        "array(shape=(5,), dtype='str[3]').__dlpack__(max_version=(1, 0))",
        "array(shape=(5,), dtype='datetime64').__dlpack__(copy=True)",
        "array(shape=(5,), dtype='record').__dlpack__(copy=False)",
        "array(shape=(5,), dtype='longdouble').__dlpack__()",
        "array(shape=(5,), dtype='clongdouble').__dlpack__(max_version=(1, 0))",
        "array(shape=(5,), dtype='void[0]').__dlpack__()",
        "array(shape=(5,), dtype='void[8]').__dlpack__(max_version=(2, 0))",
        "array(shape=(5,), dtype='swapped float64').__dlpack__()",
        "array(shape=(0,), dtype='swapped int16').__dlpack__(max_version=(1, 0))",
    ]) {
        assert_eq!(raised(&seen), ErrorClass::Buffer);
    }
}

// Lifetime and counts.

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
