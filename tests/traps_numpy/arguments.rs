//! What the call is given.

use super::{raised, silent, tensor};
use dlpack_fuzz::case::Probe;
use dlpack_fuzz::oracle::{ErrorClass, Memory};

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
