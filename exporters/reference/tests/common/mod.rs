//! The exporter through its C table, as dlpack-fuzz sees it.
#![allow(dead_code, reason = "each test takes what it needs")]

use dlpack_reference::backend::dlpack_fuzz_backend;
use dlpack_reference::dlpack::*;
use dlpack_reference::header::*;
use std::ffi::{CStr, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counts and faults are the process's: one test at a time.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn table() -> &'static Backend {
    // SAFETY: the table is static.
    unsafe { &*dlpack_fuzz_backend() }
}

pub fn live_blocks() -> i64 {
    // SAFETY: always allowed.
    unsafe { (table().live_blocks)() }
}

/// An array to build: row-major float32, writable, on the CPU, unless it is changed.
#[derive(Clone, Debug)]
pub struct Given {
    pub flags: u32,
    pub dtype: DataType,
    pub item: u32,
    pub device: Device,
    pub shape: Vec<i64>,
    /// In bytes; in elements if packed.
    pub strides: Vec<i64>,
    pub offset: u64,
    pub contents: Vec<u8>,
}

impl Given {
    pub fn new(dtype: DataType, item: u32, shape: &[i64]) -> Self {
        let mut strides = vec![0; shape.len()];
        let mut step = i64::from(item);
        for axis in (0..shape.len()).rev() {
            strides[axis] = step;
            step *= shape[axis].max(1);
        }
        // What has more is broadcast, and gets its memory from `strided`.
        let contents = (0..step.min(1 << 16)).map(|place| (place * 7 + 3) as u8).collect();
        let (flags, device, shape) = (WRITABLE, Device::CPU, shape.to_vec());
        Self { flags, dtype, item, device, shape, strides, offset: 0, contents }
    }

    pub fn floats(shape: &[i64]) -> Self {
        Self::new(DataType::new(code::FLOAT, 32, 1), 4, shape)
    }

    pub fn strided(mut self, strides: &[i64], offset: u64, size: usize) -> Self {
        self.strides = strides.to_vec();
        self.offset = offset;
        self.contents = (0..size).map(|place| (place * 7 + 3) as u8).collect();
        self
    }

    pub fn read_only(mut self) -> Self {
        self.flags &= !WRITABLE;
        self
    }

    pub fn packed(mut self) -> Self {
        self.flags |= PACKED;
        self
    }

    pub fn on(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    pub fn build(&self) -> Result<Handle, &'static str> {
        let description = ArrayDescription {
            struct_size: size_of::<ArrayDescription>() as u32,
            flags: self.flags,
            dtype: self.dtype,
            device: self.device,
            ndim: self.shape.len() as i32,
            item_bytes: self.item,
            shape: self.shape.as_ptr(),
            strides: self.strides.as_ptr(),
            allocation_size: self.contents.len() as u64,
            offset: self.offset,
            contents: self.contents.as_ptr(),
        };
        let mut built = Built {
            struct_size: size_of::<Built>() as u32,
            reserved: 0,
            handle: std::ptr::null_mut(),
            allocation: std::ptr::null(),
            allocation_size: 0,
            first: std::ptr::null(),
            inexpressible: std::ptr::null(),
        };
        // SAFETY: the description's pointers lead to what it says.
        match unsafe { (table().build)(&description, &mut built) } {
            0 => Ok(Handle { built }),
            // SAFETY: set where there is no array.
            _ => Err(unsafe { CStr::from_ptr(built.inexpressible) }.to_str().unwrap()),
        }
    }
}

pub struct Handle {
    pub built: Built,
}

impl Handle {
    pub fn device(&self) -> Device {
        // SAFETY: not released yet.
        unsafe { (table().device)(self.built.handle) }
    }

    pub fn references(&self) -> i64 {
        // SAFETY: not released yet.
        unsafe { (table().references)(self.built.handle) }
    }

    pub fn export(&self, call: Asked) -> Result<Taken, (i32, &'static str)> {
        let mut answer = Answer {
            struct_size: size_of::<Answer>() as u32,
            error: -1,
            versioned: std::ptr::null_mut(),
            legacy: std::ptr::null_mut(),
            message: std::ptr::null(),
        };
        // SAFETY: not released yet, and both structs are alive.
        unsafe { (table().export_array)(self.built.handle, &call.call(), &mut answer) };
        match (answer.versioned.is_null(), answer.legacy.is_null()) {
            (false, true) => Ok(Taken::Versioned(answer.versioned.cast())),
            (true, false) => Ok(Taken::Legacy(answer.legacy.cast())),
            (true, true) => {
                assert_ne!(answer.error, 0);
                // SAFETY: an error has a message.
                Err((answer.error, unsafe { CStr::from_ptr(answer.message) }.to_str().unwrap()))
            }
            (false, false) => panic!("both structs"),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: only once.
        unsafe { (table().release)(self.built.handle) }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    pub stream: Option<i64>,
    pub max_version: Option<(i64, i64)>,
    pub dl_device: Option<Device>,
    pub copy: Option<bool>,
}

impl Asked {
    pub fn versioned() -> Self {
        Self { max_version: Some((1, 3)), ..Self::default() }
    }

    pub fn copy(self) -> Self {
        Self { copy: Some(true), ..self }
    }

    fn call(self) -> Call {
        let bit = |given: bool, bit: u32| if given { bit } else { 0 };
        let (major, minor) = self.max_version.unwrap_or((99, 99));
        Call {
            struct_size: size_of::<Call>() as u32,
            given: bit(self.stream.is_some(), GIVEN_STREAM)
                | bit(self.max_version.is_some(), GIVEN_MAX_VERSION)
                | bit(self.dl_device.is_some(), GIVEN_DL_DEVICE)
                | bit(self.copy.is_some(), GIVEN_COPY),
            // What is not given must not be looked at.
            stream: self.stream.unwrap_or(77),
            max_version: [major, minor],
            dl_device: self.dl_device.unwrap_or(Device { kind: 77, id: 77 }),
            copy: self.copy.map_or(77, i32::from),
        }
    }
}

/// A managed tensor that was taken.
#[derive(Debug)]
pub enum Taken {
    Legacy(*mut ManagedTensor),
    Versioned(*mut ManagedTensorVersioned),
}

impl Taken {
    pub fn pointer(&self) -> *mut c_void {
        match self {
            Self::Legacy(managed) => managed.cast(),
            Self::Versioned(managed) => managed.cast(),
        }
    }

    pub fn tensor(&self) -> &Tensor {
        // SAFETY: alive until it is dropped.
        unsafe {
            match self {
                Self::Legacy(managed) => &(**managed).tensor,
                Self::Versioned(managed) => &(**managed).tensor,
            }
        }
    }

    pub fn flags(&self) -> u64 {
        match self {
            Self::Legacy(_) => panic!("a legacy struct has no flags"),
            // SAFETY: alive until it is dropped.
            Self::Versioned(managed) => unsafe { (**managed).flags },
        }
    }

    pub fn shape(&self) -> Vec<i64> {
        self.numbers(self.tensor().shape)
    }

    pub fn strides(&self) -> Vec<i64> {
        self.numbers(self.tensor().strides)
    }

    fn numbers(&self, first: *const i64) -> Vec<i64> {
        match self.tensor().ndim {
            0 => Vec::new(),
            // SAFETY: so many numbers, the struct says.
            ndim => unsafe { std::slice::from_raw_parts(first, ndim as usize) }.to_vec(),
        }
    }

    /// Every element's bits in row-major order, read by what the struct itself says; `width` bits apart.
    pub fn elements(&self, width: usize) -> Vec<u128> {
        let tensor = self.tensor();
        let first = tensor.data.cast::<u8>().wrapping_add(tensor.byte_offset as usize);
        let bits = tensor.dtype.element_bits();
        offsets(&self.shape(), &self.strides())
            .map(|offset| {
                (0..bits).fold(0, |value, bit| {
                    let place = offset * width as i64 + bit as i64;
                    // SAFETY: inside of what the struct says.
                    let byte = unsafe { *first.wrapping_offset(place.div_euclid(8) as isize) };
                    value | u128::from(byte >> place.rem_euclid(8) & 1) << bit
                })
            })
            .collect()
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // SAFETY: only once.
        unsafe {
            match self {
                Self::Legacy(managed) => {
                    (**managed).deleter.into_iter().for_each(|delete| delete(*managed))
                }
                Self::Versioned(managed) => {
                    (**managed).deleter.into_iter().for_each(|delete| delete(*managed))
                }
            }
        }
    }
}

/// Row-major, of every index.
pub fn offsets(shape: &[i64], strides: &[i64]) -> impl Iterator<Item = i64> + use<> {
    let (shape, strides) = (shape.to_vec(), strides.to_vec());
    let count: i64 = shape.iter().product();
    (0..count).map(move |number| {
        let mut rest = number;
        (0..shape.len()).rev().fold(0, |offset, axis| {
            let index = rest % shape[axis];
            rest /= shape[axis];
            offset + if shape[axis] > 1 { index * strides[axis] } else { 0 }
        })
    })
}
