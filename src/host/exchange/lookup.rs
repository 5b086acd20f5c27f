//! Finds the table of a type, reads it, and looks again later.

use super::Subject;
use crate::abi::DLPackVersion;
use crate::abi::exchange::{
    ATTRIBUTE, ATTRIBUTE_OLD, DLPackExchangeAPI, DLPackExchangeAPIHeader, NAME_EXCHANGE,
};
use crate::host::{Detail, errors};
use crate::oracle::{Attribute, ChainEnd, Exchange, Function, LookUps, Table};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use std::ffi::CStr;
use std::io::Read;
use std::os::fd::{FromRawFd, IntoRawFd};

/// The chain of older tables is followed this far (XCH-PREV).
const MOST_TABLES: usize = 16;
/// Objects that come and go so that memory that was freed gets another content.
const CHURN: usize = 64;

/// The table of the type that was met first, as it was then.
pub struct Remembered {
    names: [Py<PyString>; 2],
    first: Option<First>,
}

struct First {
    kind: Py<PyType>,
    address: usize,
    bytes: Bytes,
}

/// The words of a table; those that its version does not promise are 0.
type Bytes = [u64; size_of::<DLPackExchangeAPI>() / 8];

impl Remembered {
    pub fn new(py: Python<'_>) -> Self {
        Self {
            names: [ATTRIBUTE, ATTRIBUTE_OLD].map(|name| PyString::intern(py, name).unbind()),
            first: None,
        }
    }

    /// The type has an API under one of the names, in whatever form.
    pub fn has_api(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> bool {
        let found = self.names.iter().any(|name| {
            object.get_type().hasattr(name.bind(py)).unwrap_or(false)
                || object.hasattr(name.bind(py)).unwrap_or(false)
        });
        errors::take(py, Detail::Brief);
        found
    }

    /// Looks the type up and reads its table; `None` where there is none that can be called.
    pub fn find(
        &mut self,
        subject: &Subject<'_, '_>,
        seen: &mut Exchange,
    ) -> Option<DLPackExchangeAPI> {
        let Found { attribute, old, alive } = self.look_up(subject);
        let old_form = !matches!(attribute, Attribute::Capsule { .. });
        let address = if old_form { old.address() } else { attribute.address() };
        (seen.attribute, seen.old) = (attribute, old);
        let address = address.filter(|&address| address != 0)?;
        let kind = subject.exportee.object.get_type();
        let is_known = self.first.as_ref().is_some_and(|it| it.kind.is(&kind));
        let first_read = alive.or_else(|| self.read(address));
        churn();
        let second_read = self.read(address);
        let (Some(bytes), true) = (first_read, first_read == second_read) else {
            // The capsule is gone, and the table with it: nothing in it may be called.
            seen.table = Some(Table {
                is_old_form: old_form,
                version: version_of(&first_read.unwrap_or_default()),
                older: Vec::new(),
                chain_end: ChainEnd::Unreadable,
                present: None,
                look_ups: LookUps::Gone,
                changed: false,
            });
            return None;
        };
        if !is_known {
            self.first = Some(First { kind: kind.unbind(), address, bytes });
        }
        let (older, chain_end, callable) = follow(address, &bytes);
        let api = callable.map(|bytes| {
            // SAFETY: the words were read from a table of major version 1: NULL or functions.
            unsafe { std::mem::transmute::<Bytes, DLPackExchangeAPI>(bytes) }
        });
        seen.table = Some(Table {
            is_old_form: old_form,
            version: version_of(&bytes),
            older,
            chain_end,
            present: callable.map(|bytes| Function::ALL.map(|it| bytes[2 + it as usize] != 0)),
            look_ups: self.compare(address),
            changed: false,
        });
        api
    }

    /// After the calls: another look-up, and the table's bytes against those of the first reading.
    pub fn look_again(&self, subject: &Subject<'_, '_>, seen: &mut Exchange) {
        let Found { attribute, old, .. } = self.look_up(subject);
        let (Some(table), Some(first)) = (&mut seen.table, &self.first) else { return };
        let again = if table.is_old_form { old.address() } else { attribute.address() };
        if table.look_ups == LookUps::Same {
            table.look_ups = again.map_or(LookUps::Gone, |address| self.compare(address));
        }
        table.changed =
            table.look_ups == LookUps::Same && self.read(first.address) != Some(first.bytes);
    }

    fn compare(&self, address: usize) -> LookUps {
        match &self.first {
            Some(first) if first.address != address => match self.read(first.address) {
                Some(bytes) if bytes == first.bytes => LookUps::Moved,
                _ => LookUps::Gone,
            },
            _ => LookUps::Same,
        }
    }

    /// As [`read`], without asking the kernel again for the table that was met first.
    fn read(&self, address: usize) -> Option<Bytes> {
        match &self.first {
            // SAFETY: it was read there before. A table lives for ever (XCH-STATIC), and one that does
            // not was in the heap.
            Some(first) if first.address == address => Some(unsafe { words(address) }),
            _ => read(address),
        }
    }

    fn look_up(&self, subject: &Subject<'_, '_>) -> Found {
        let mut alive = None;
        let [attribute, old] = self.names.each_ref().map(|name| {
            attribute(subject, name.bind(subject.py), |address| {
                alive = alive.or_else(|| self.read(address));
            })
        });
        Found { attribute, old, alive }
    }
}

/// What a type holds under both names, and the table as it was while its capsule lived.
struct Found {
    attribute: Attribute,
    old: Attribute,
    alive: Option<Bytes>,
}

/// `look` sees the pointer of a capsule with the right name while the capsule lives.
fn attribute(
    subject: &Subject<'_, '_>,
    name: &Bound<'_, PyString>,
    look: impl FnOnce(usize),
) -> Attribute {
    let object = subject.exportee.object;
    // SAFETY: all objects are alive and the interpreter is attached; the reference is owned. A capsule's
    // name is NULL or a string that its maker keeps alive.
    unsafe {
        let kind = ffi::Py_TYPE(object.as_ptr());
        let value = ffi::PyObject_GetAttr(kind.cast(), name.as_ptr());
        let Some(value) = Bound::from_owned_ptr_or_opt(subject.py, value) else {
            let raised = errors::take(subject.py, subject.detail);
            return match raised {
                Some(raised) if raised.name != "AttributeError" => Attribute::Raised(raised),
                _ => {
                    let on_instance = object.hasattr(name).unwrap_or(false);
                    Attribute::Absent { on_instance }
                }
            };
        };
        if ffi::PyCapsule_CheckExact(value.as_ptr()) != 0 {
            let name = ffi::PyCapsule_GetName(value.as_ptr());
            let pointer = ffi::PyCapsule_GetPointer(value.as_ptr(), name) as usize;
            let name = (!name.is_null()).then(|| CStr::from_ptr(name));
            if name == Some(NAME_EXCHANGE) {
                look(pointer);
            }
            let name = name.map(|name| name.to_string_lossy().into_owned());
            return Attribute::Capsule { name, pointer };
        }
        if ffi::PyLong_Check(value.as_ptr()) != 0 {
            let address = ffi::PyLong_AsVoidPtr(value.as_ptr()) as usize;
            errors::take(subject.py, Detail::Brief);
            return Attribute::Int(address);
        }
        let type_name = errors::type_name(ffi::Py_TYPE(value.as_ptr()));
        match value.get_type().hasattr("__get__").unwrap_or(false) {
            true => Attribute::Descriptor(type_name),
            false => Attribute::Other(type_name),
        }
    }
}

/// Versions of the older tables, where the chain ends, and the first table of major version 1.
fn follow(address: usize, bytes: &Bytes) -> (Vec<DLPackVersion>, ChainEnd, Option<Bytes>) {
    let mut callable = (version_of(bytes).major == 1).then_some(*bytes);
    let mut met = vec![address];
    let mut older = Vec::new();
    let mut next = bytes[1] as usize;
    let end = loop {
        if next == 0 {
            break ChainEnd::Null;
        }
        if met.contains(&next) {
            break ChainEnd::Cycle;
        }
        if met.len() > MOST_TABLES {
            break ChainEnd::TooLong;
        }
        let Some(table) = read(next) else { break ChainEnd::Unreadable };
        older.push(version_of(&table));
        if callable.is_none() && version_of(&table).major == 1 {
            callable = Some(table);
        }
        met.push(next);
        next = table[1] as usize;
    };
    (older, end, callable)
}

fn version_of(bytes: &Bytes) -> DLPackVersion {
    DLPackVersion { major: bytes[0] as u32, minor: (bytes[0] >> 32) as u32 }
}

/// The table at an address; `None` where there is no memory.
fn read(address: usize) -> Option<Bytes> {
    let header = size_of::<DLPackExchangeAPIHeader>();
    if !address.is_multiple_of(align_of::<DLPackExchangeAPI>()) || !is_readable(address, header) {
        return None;
    }
    // SAFETY: the bytes were found to be readable, and the address is aligned.
    let major = unsafe { (address as *const u32).read_volatile() };
    if major == 1 && !is_readable(address, size_of::<DLPackExchangeAPI>()) {
        return None;
    }
    // SAFETY: as above; major version 1 promises a whole table.
    Some(unsafe { words(address) })
}

/// # Safety
/// There is a table at the address.
unsafe fn words(address: usize) -> Bytes {
    let mut bytes = Bytes::default();
    let table = address as *const u64;
    // SAFETY: as the caller says; volatile, because it is read to see whether it changed.
    unsafe {
        bytes[0] = table.read_volatile();
        let count = if version_of(&bytes).major == 1 { bytes.len() } else { 2 };
        for (place, word) in bytes.iter_mut().enumerate().take(count).skip(1) {
            *word = table.add(place).read_volatile();
        }
    }
    bytes
}

/// Asks the kernel, which answers EFAULT where a plain read would end the process.
fn is_readable(address: usize, length: usize) -> bool {
    let mut ends = [0; 2];
    // SAFETY: `write` reads through a pointer that may be wild and then fails; the descriptors are owned.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return false;
        }
        let mut reader = std::fs::File::from_raw_fd(ends[0]);
        let writer = std::fs::File::from_raw_fd(ends[1]).into_raw_fd();
        let written = libc::write(writer, address as *const libc::c_void, length);
        libc::close(writer);
        let mut rest = Vec::new();
        let _ = reader.read_to_end(&mut rest);
        written == length as isize
    }
}

/// Overwrites memory that was freed a moment ago, as ordinary work would.
fn churn() {
    for _ in 0..2 {
        let blocks: Vec<Box<Bytes>> = (0..CHURN).map(|_| Box::new([!0; 7])).collect();
        std::hint::black_box(&blocks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    struct Header(u32, u32, usize);

    fn chain(first: &Header) -> (Vec<(u32, u32)>, ChainEnd) {
        let address = first as *const Header as usize;
        let mut bytes = Bytes::default();
        (bytes[0], bytes[1]) = (u64::from(first.0) | u64::from(first.1) << 32, first.2 as u64);
        let (older, end, _) = follow(address, &bytes);
        (older.iter().map(|version| (version.major, version.minor)).collect(), end)
    }

    #[test]
    fn a_chain_is_followed_to_its_end() {
        let oldest = Header(3, 0, 0);
        let older = Header(4, 2, &raw const oldest as usize);
        let newest = Header(5, 0, &raw const older as usize);
        assert_eq!(chain(&newest), (vec![(4, 2), (3, 0)], ChainEnd::Null));
        let mut ring = Box::new(Header(3, 0, 0));
        ring.2 = &raw const *ring as usize;
        assert_eq!(chain(&Header(4, 0, ring.2)), (vec![(3, 0)], ChainEnd::Cycle));
        assert_eq!(chain(&Header(4, 0, 64)), (vec![], ChainEnd::Unreadable));
        assert_eq!(chain(&Header(4, 0, newest.2 + 1)), (vec![], ChainEnd::Unreadable));
        let mut links: Vec<Header> = (0..40).map(|_| Header(3, 0, 0)).collect();
        for place in 0..39 {
            links[place].2 = &raw const links[place + 1] as usize;
        }
        let (older, end) = chain(&links[0]);
        assert_eq!((older.len(), end), (MOST_TABLES, ChainEnd::TooLong));
    }

    #[test]
    fn memory_that_cannot_be_read_is_told_and_not_touched() {
        let word = 7u64;
        assert!(is_readable(&raw const word as usize, 8));
        assert!(!is_readable(4096, 16));
        assert_eq!(read(4096), None);
    }
}
