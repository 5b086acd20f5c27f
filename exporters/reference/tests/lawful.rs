//! The exporter without a fault: what it exports is what was built, what it refuses is refused as is due, and
//! everything comes back.

mod common;

use common::{Asked, Given, Taken, alone, live_blocks, offsets, table};
use dlpack_reference::dlpack::*;
use dlpack_reference::header::*;

/// One of each layout that can be shared.
fn layouts() -> Vec<Given> {
    vec![
        Given::floats(&[]),
        Given::floats(&[6]),
        Given::floats(&[2, 3, 4]),
        Given::floats(&[1; 64]),
        Given::floats(&[3, 4]).strided(&[4, 12], 0, 48),
        Given::floats(&[3, 4]).strided(&[-40, 8], 120, 200),
        Given::floats(&[5]).strided(&[-4], 17, 32),
        Given::floats(&[3, 1 << 20, 2]).strided(&[8, 0, 4], 0, 24),
        Given::floats(&[1, 3]).strided(&[1 << 60, 4], 0, 12),
        Given::floats(&[3]).strided(&[4], 1, 13),
        Given::new(DataType::new(code::FLOAT, 32, 4), 16, &[2, 3]),
        Given::new(DataType::new(code::FLOAT4_E2M1FN, 4, 1), 1, &[3, 2]),
        Given::new(DataType::new(code::INT, 2, 1), 1, &[3, 3]).packed().strided(&[3, 1], 1, 4),
        Given::new(DataType::new(code::FLOAT6_E2M3FN, 6, 1), 1, &[3, 2]).packed().strided(
            &[-1, 3],
            3,
            8,
        ),
    ]
}

fn width(given: &Given) -> usize {
    if given.flags & PACKED != 0 { given.dtype.element_bits() } else { given.item as usize * 8 }
}

/// What the elements are, by the description alone.
fn elements(given: &Given) -> Vec<u128> {
    let unit = if given.flags & PACKED != 0 { given.dtype.element_bits() } else { 8 };
    offsets(&given.shape, &given.strides)
        .map(|offset| {
            (0..given.dtype.element_bits()).fold(0, |value, bit| {
                let place = given.offset as i64 * 8 + offset * unit as i64 + bit as i64;
                let byte = given.contents[(place / 8) as usize];
                value | u128::from(byte >> (place % 8) & 1) << bit
            })
        })
        .collect()
}

#[test]
fn exports_what_was_built_in_place() {
    let _alone = alone();
    let before = live_blocks();
    for given in layouts() {
        let array = given.build().unwrap();
        let taken = array.export(Asked::versioned()).unwrap();
        let tensor = taken.tensor();
        assert_eq!(tensor.data.cast_const(), array.built.first, "{given:?}");
        assert_eq!((tensor.dtype, tensor.device), (given.dtype, Device::CPU));
        assert_eq!(taken.shape(), given.shape);
        if given.shape.iter().product::<i64>() < 1 << 16 {
            assert_eq!(taken.elements(width(&given)), elements(&given), "{given:?}");
        }
        let is_padded = given.dtype.element_bits() < 8 && given.flags & PACKED == 0;
        assert_eq!(taken.flags(), if is_padded { flag::IS_SUBBYTE_TYPE_PADDED } else { 0 });
        assert_eq!(array.references(), 2);
        drop(taken);
        assert_eq!(array.references(), 1);
    }
    assert_eq!(live_blocks(), before);
}

#[test]
fn copies_are_row_major_and_their_own() {
    let _alone = alone();
    let before = live_blocks();
    for given in layouts() {
        if given.shape.iter().product::<i64>() >= 1 << 16 {
            continue;
        }
        let array = given.build().unwrap();
        let taken = array.export(Asked::versioned().copy()).unwrap();
        assert_ne!(taken.tensor().data.cast_const(), array.built.first);
        assert_eq!(taken.flags() & !flag::IS_SUBBYTE_TYPE_PADDED, flag::IS_COPIED);
        assert_eq!(taken.elements(width(&given)), elements(&given), "{given:?}");
        assert_eq!(array.references(), 1);
        drop(array); // the copy outlives it
        assert_eq!(taken.elements(width(&given)), elements(&given));
    }
    assert_eq!(live_blocks(), before);
}

#[test]
fn an_export_outlives_its_array() {
    let _alone = alone();
    let before = live_blocks();
    let given = Given::floats(&[2, 3]);
    let array = given.build().unwrap();
    let (one, other) = (array.export(Asked::versioned()), array.export(Asked::default()));
    let (one, other) = (one.unwrap(), other.unwrap());
    drop(array);
    assert!(matches!(other, Taken::Legacy(_)));
    drop(other);
    assert_eq!(one.elements(32), elements(&given));
    drop(one);
    assert_eq!(live_blocks(), before);
}

#[test]
fn the_deleter_works_on_another_thread() {
    let _alone = alone();
    let before = live_blocks();
    let taken = Given::floats(&[3]).build().unwrap().export(Asked::versioned()).unwrap();
    let pointer = taken.pointer() as usize;
    std::mem::forget(taken);
    std::thread::spawn(move || drop(Taken::Versioned(pointer as *mut _))).join().unwrap();
    assert_eq!(live_blocks(), before);
}

#[test]
fn no_elements_means_no_address_and_any_strides() {
    let _alone = alone();
    for given in [Given::floats(&[3, 0]), Given::floats(&[0, 2]).strided(&[3, 1 << 40], 0, 0)] {
        let array = given.build().unwrap();
        for asked in [Asked::versioned(), Asked::versioned().copy(), Asked::default()] {
            let taken = array.export(asked).unwrap();
            assert!(taken.tensor().data.is_null());
            assert_eq!((taken.shape(), taken.strides()), (given.shape.clone(), vec![0, 0]));
        }
    }
}

#[test]
fn without_axes_there_is_no_shape() {
    let _alone = alone();
    let taken = Given::floats(&[]).build().unwrap().export(Asked::versioned()).unwrap();
    assert!(taken.tensor().shape.is_null() && taken.tensor().strides.is_null());
}

#[test]
fn the_struct_is_the_one_the_caller_can_take() {
    let _alone = alone();
    let array = Given::floats(&[3]).build().unwrap();
    let ask = |version| array.export(Asked { max_version: version, ..Asked::default() });
    for version in [None, Some((0, 0)), Some((0, 8))] {
        assert!(matches!(ask(version), Ok(Taken::Legacy(_))));
    }
    for version in [(1, 0), (1, 3), (1, 1 << 40), (2, 0), (100, 3)] {
        let taken = ask(Some(version)).unwrap();
        let Taken::Versioned(managed) = &taken else { panic!("{version:?}") };
        // SAFETY: `taken` is alive.
        assert_eq!(unsafe { (**managed).version }, VERSION);
    }
    for version in [(-1, 0), (1, -1), (i64::MIN, 0)] {
        assert_eq!(ask(Some(version)).unwrap_err().0, VALUE_ERROR);
    }
}

#[test]
fn read_only_memory_is_flagged_or_refused() {
    let _alone = alone();
    let array = Given::floats(&[3]).read_only().build().unwrap();
    assert_eq!(array.export(Asked::versioned()).unwrap().flags(), flag::READ_ONLY);
    assert_eq!(array.export(Asked::versioned().copy()).unwrap().flags(), flag::IS_COPIED);
    assert_eq!(array.export(Asked::default()).unwrap_err().0, BUFFER_ERROR);
    assert!(array.export(Asked::default().copy()).is_ok());
}

#[test]
fn what_dlpack_cannot_say_is_a_buffer_error() {
    let _alone = alone();
    let odd = Given::floats(&[3]).strided(&[5], 0, 14).build().unwrap();
    for copy in [None, Some(false)] {
        let asked = Asked { copy, ..Asked::versioned() };
        assert_eq!(odd.export(asked).unwrap_err().0, BUFFER_ERROR);
    }
    assert!(odd.export(Asked::versioned().copy()).is_ok());
    let padded = Given::new(DataType::new(code::INT, 4, 1), 1, &[3]).build().unwrap();
    assert_eq!(padded.export(Asked::default()).unwrap_err().0, BUFFER_ERROR);
    let huge = Given::floats(&[1 << 40]).strided(&[0], 0, 4).build().unwrap();
    assert!(huge.export(Asked::versioned()).is_ok());
    assert_eq!(huge.export(Asked::versioned().copy()).unwrap_err().0, MEMORY_ERROR);
}

#[test]
fn devices_and_streams_are_answered_by_the_rules() {
    let _alone = alone();
    let cpu = Given::floats(&[3]).build().unwrap();
    let to = |kind, id| Asked { dl_device: Some(Device { kind, id }), ..Asked::versioned() };
    assert!(cpu.export(to(1, 0)).is_ok());
    for (kind, id) in [(1, 1), (2, 0), (3, 0), (99, 0)] {
        assert_eq!(cpu.export(to(kind, id)).unwrap_err().0, BUFFER_ERROR);
    }
    for (kind, id) in [(0, 0), (-1, 0), (1, -1)] {
        assert_eq!(cpu.export(to(kind, id)).unwrap_err().0, VALUE_ERROR);
    }
    let stream = |stream| Asked { stream: Some(stream), ..Asked::versioned() };
    assert_eq!(cpu.export(stream(-1)).unwrap_err().0, VALUE_ERROR);

    let cuda = Given::floats(&[3]).on(Device::CUDA).build().unwrap();
    assert!(cuda.built.first.is_null() && cuda.device() == Device::CUDA);
    assert_eq!(cuda.export(Asked::versioned()).unwrap().tensor().device, Device::CUDA);
    let moved = cuda.export(to(1, 0)).unwrap();
    assert_eq!((moved.tensor().device, moved.flags()), (Device::CPU, flag::IS_COPIED));
    let no_copy = Asked { copy: Some(false), ..to(1, 0) };
    assert_eq!(cuda.export(no_copy).unwrap_err().0, BUFFER_ERROR);
    for (number, is_taken) in [(-1, true), (0, false), (1, true), (2, true), (3, true), (-2, false)]
    {
        assert_eq!(cuda.export(stream(number)).is_ok(), is_taken, "{number}");
    }
    let rocm = Given::floats(&[3]).on(Device::ROCM).build().unwrap();
    for (number, is_taken) in [(-1, true), (0, true), (1, false), (2, false), (3, true)] {
        assert_eq!(rocm.export(stream(number)).is_ok(), is_taken, "{number}");
    }
    let managed = Given::floats(&[3]).on(Device::CUDA_MANAGED).build().unwrap();
    let shared = managed.export(to(1, 0)).unwrap();
    assert_eq!(shared.tensor().data.cast_const(), managed.built.first);
    assert_eq!(shared.tensor().device, Device::CPU);
}

#[test]
fn every_offered_type_can_be_built_and_no_other() {
    let _alone = alone();
    let mut types = [DataType::new(0, 0, 0); 64];
    // SAFETY: there is room for 64.
    let count = unsafe { (table().dtypes)(types.as_mut_ptr(), 64) } as usize;
    assert!(count < 64);
    for &dtype in &types[..count] {
        let item = dtype.element_bits().div_ceil(8) as u32;
        assert!(Given::new(dtype, item, &[2]).build().is_ok(), "{dtype:?}");
    }
    for code in 0..=17 {
        assert!(types[..count].iter().any(|it| it.code == code) || code == code::OPAQUE_HANDLE);
    }
    for (code, bits, lanes) in
        [(3, 64, 1), (18, 32, 1), (2, 8, 1), (6, 1, 1), (0, 32, 0), (17, 8, 1)]
    {
        let dtype = DataType::new(code, bits, lanes);
        let item = dtype.element_bits().div_ceil(8).max(1) as u32;
        assert!(Given::new(dtype, item, &[2]).build().is_err(), "{dtype:?}");
    }
    assert!(Given::floats(&[1; 65]).build().is_err());
}
