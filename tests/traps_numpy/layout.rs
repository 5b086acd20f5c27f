//! Shape, strides, addresses.

use super::{raised, silent, tensor};
use dlpack_fuzz::case::Probe;
use dlpack_fuzz::oracle::{Elements, ErrorClass, Memory};

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
