//! The faults by themselves: each is a row that can be planted, works as a program, and is gone when another
//! takes its place. That each is caught, and by its rule, dlpack-fuzz tests.

mod common;

use common::{Asked, Given, alone, live_blocks, table};
use dlpack_reference::dlpack::*;
use dlpack_reference::fault::{Plant, Route, faults, freeing, planted};
use std::collections::HashSet;
use std::ffi::{CStr, CString};

fn set(name: &str, value: &str) -> Result<(), String> {
    let (name, value) = (CString::new(name).unwrap(), CString::new(value).unwrap());
    // SAFETY: two C strings; the answer is NULL or one.
    unsafe {
        let wrong = (table().option)(name.as_ptr(), value.as_ptr());
        match wrong.is_null() {
            true => Ok(()),
            false => Err(CStr::from_ptr(wrong).to_str().unwrap().into()),
        }
    }
}

#[test]
fn names_are_unique_and_stories_are_sentences() {
    let mut names = HashSet::new();
    for fault in faults().chain(freeing()) {
        assert!(names.insert(fault.name), "{} twice", fault.name);
        assert!(fault.story.ends_with('.') && fault.story.len() > 16, "{}", fault.story);
        assert!(!fault.also.contains(&fault.rule));
        let is_surface = matches!(fault.plant, Plant::Surface(_));
        assert!(!is_surface || fault.route == Route::Python, "{}", fault.name);
    }
}

#[test]
fn options_are_checked() {
    let _alone = alone();
    assert!(set("fault", "no_such_fault").unwrap_err().contains("no fault"));
    assert!(set("colour", "red").unwrap_err().contains("fault"));
    assert!(set("devices", "some").is_err());
    set("fault", "strides_in_bytes").unwrap();
    assert_eq!(planted().unwrap().name, "strides_in_bytes");
    set("fault", "none").unwrap();
    assert!(planted().is_none());
}

fn arrays() -> Vec<Given> {
    let int8 = DataType::new(code::INT, 8, 1);
    vec![
        Given::floats(&[]),
        Given::floats(&[6]),
        Given::floats(&[2, 3, 4]),
        Given::floats(&[2, 1, 2, 1, 2, 1]),
        Given::floats(&[3, 0]),
        Given::floats(&[3, 4]).strided(&[4, 12], 0, 48),
        Given::floats(&[3, 4]).strided(&[-40, 8], 120, 200),
        Given::floats(&[3, 2]).strided(&[0, 4], 8, 16),
        Given::floats(&[3]).strided(&[5], 0, 14),
        Given::floats(&[3]).read_only(),
        Given::floats(&[]).read_only(),
        Given::new(int8, 1, &[4]).strided(&[-2], 6, 8),
        Given::new(DataType::new(code::BOOL, 8, 1), 1, &[2, 2]),
        Given::new(DataType::new(code::FLOAT4_E2M1FN, 4, 1), 1, &[3, 2]),
        Given::floats(&[3]).on(Device::CUDA),
        Given::floats(&[3]).on(Device::CUDA_MANAGED),
    ]
}

fn calls() -> Vec<Asked> {
    let none = Asked::default();
    let mut calls = Vec::new();
    for max_version in
        [None, Some((0, 8)), Some((1, 0)), Some((1, 99)), Some((2, 0)), Some((-1, 0))]
    {
        for copy in [None, Some(true), Some(false)] {
            calls.push(Asked { max_version, copy, ..none });
            for (kind, id) in [(1, 0), (1, 1), (2, 1), (10, 0), (-1, 0)] {
                let dl_device = Some(Device { kind, id });
                calls.push(Asked { max_version, copy, dl_device, ..none });
            }
        }
        calls.extend([-2, -1, 0, 1, 3].map(|stream| Asked {
            stream: Some(stream),
            max_version,
            ..none
        }));
    }
    calls
}

/// A fault is one thing that differs: nothing crashes, and what it leaves behind is what it says.
#[test]
fn every_fault_works_and_none_leaks_unless_it_says_so() {
    let _alone = alone();
    for fault in faults() {
        set("fault", fault.name).unwrap();
        let before = live_blocks();
        for given in arrays() {
            let array = given.build().unwrap();
            array.device();
            let mut taken = Vec::new();
            for asked in calls() {
                taken.extend(array.export(asked));
                taken.extend(array.export(asked));
            }
            drop(taken);
            array.device();
        }
        let says_so = matches!(fault.plant, Plant::Leave(_));
        assert_eq!(live_blocks() != before, says_so, "{}", fault.name);
    }
    set("fault", "none").unwrap();
}
