//! What the elements are, and what writing to one shows.

use super::{silent, tensor};
use dlpack_fuzz::oracle::Elements;

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
