//! `c:PATH?NAME=VALUE&…`: an exporter in a shared object behind `include/dlpack_fuzz_backend.h`.
//!
//! Goes in: the specification. Comes out: a [`Shared`] object, loaded for as long as the process lives, with
//! its [`Table`] checked, or one [`Error`] that says what is wrong with it. A shared object runs code as soon
//! as it is loaded, so it is first [tried](trial) in a child process that may die or hang of it.

mod trial;

use crate::abi::backend::{ENTRY, Entry, MAJOR, MINOR, Table};
use crate::abi::{DLDataType, DLDevice};
use crate::host::Error;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{CStr, CString, c_char};
use std::mem::{ManuallyDrop, MaybeUninit, offset_of, size_of};
use std::path::{Path, PathBuf};

/// What the name of such a backend begins with.
pub const PREFIX: &str = "c:";

/// Where the shared object is and what it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Absolute: a child may run in another folder.
    pub path: PathBuf,
    pub options: Vec<(String, String)>,
}

/// A loaded shared object.
pub struct Shared {
    pub spec: Spec,
    pub name: String,
    pub version: String,
    /// Its required functions are set.
    pub table: Table,
    /// Never unloaded: what it registered (thread locals, exit handlers) would be left hanging.
    _library: ManuallyDrop<Library>,
}

impl Spec {
    /// Reads what follows [`PREFIX`].
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (path, options) = text.split_once('?').unwrap_or((text, ""));
        if path.is_empty() {
            return Err(Error(
                "c: lacks the shared object: write c:PATH or c:PATH?NAME=VALUE".into(),
            ));
        }
        let options = options.split('&').filter(|option| !option.is_empty()).map(|option| {
            match option.split_once('=') {
                Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
                None => {
                    Err(Error(format!("the option {option} lacks its value: write {option}=VALUE")))
                }
            }
        });
        let path = std::path::absolute(path).map_err(|error| Error(format!("{path}: {error}")))?;
        Ok(Self { path, options: options.collect::<Result<_, _>>()? })
    }
}

/// As it was parsed, with the absolute path.
impl std::fmt::Display for Spec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{PREFIX}{}", self.path.display())?;
        for (place, (name, value)) in self.options.iter().enumerate() {
            write!(f, "{}{name}={value}", if place == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

impl Shared {
    /// Loads the shared object, first in a child.
    pub fn open(spec: Spec) -> Result<Self, Error> {
        if !spec.path.is_file() {
            return Err(Error(format!(
                "there is no file {}: build it, or correct c:PATH",
                spec.path.display()
            )));
        }
        trial::run(&spec.path, || load(&spec).map(drop))?;
        load(&spec)
    }

    /// The devices that arrays can be built on.
    pub fn devices(&self) -> Option<Vec<DLDevice>> {
        // SAFETY: the table is the shared object's word on its own functions.
        self.table.devices.map(|list| unsafe { listed(list) })
    }

    /// The element types that arrays can be built of.
    pub fn dtypes(&self) -> Option<Vec<DLDataType>> {
        // SAFETY: as above.
        self.table.dtypes.map(|list| unsafe { listed(list) })
    }
}

/// More than any library has; what lies beyond is not drawn.
const MOST_LISTED: usize = 512;

/// # Safety
/// The function writes at most as many items as it is given room for.
unsafe fn listed<T: Copy>(list: unsafe extern "C" fn(*mut T, u32) -> u32) -> Vec<T> {
    let mut items = Vec::<T>::with_capacity(MOST_LISTED);
    // SAFETY: there is room for that many, and as many as are counted were written.
    unsafe {
        let count = list(items.as_mut_ptr(), MOST_LISTED as u32) as usize;
        items.set_len(count.min(MOST_LISTED));
    }
    items
}

fn load(spec: &Spec) -> Result<Shared, Error> {
    let path = spec.path.display();
    // SAFETY: its initialisers may do anything, which is what the trial is for.
    let library = unsafe { Library::open(Some(&spec.path), RTLD_NOW | RTLD_LOCAL) };
    let library = library.map_err(|error| {
        Error(format!("{path} cannot be loaded as a shared object: {}", cause(&error, &spec.path)))
    })?;
    let library = ManuallyDrop::new(library);
    // SAFETY: the header declares the symbol with this type.
    let entry = unsafe { library.get::<Entry>(ENTRY.to_bytes_with_nul()) }.map_err(|_| {
        Error(format!(
            "{path} exports no function dlpack_fuzz_backend: define it as include/dlpack_fuzz_backend.h says"
        ))
    })?;
    // SAFETY: it is the shared object's own function.
    let theirs = unsafe { entry() };
    let table = checked(theirs, &path.to_string())?;
    for (name, value) in &spec.options {
        set(&table, name, value)
            .map_err(|why| Error(format!("{path} refuses the option {name}={value}: {why}")))?;
    }
    Ok(Shared {
        spec: spec.clone(),
        // SAFETY: the header says that both are static strings.
        name: unsafe { text(table.name) }.unwrap_or_default(),
        // SAFETY: as above.
        version: unsafe { text(table.version) }.unwrap_or_default(),
        table,
        _library: library,
    })
}

/// The part of the table up to its last required field.
const REQUIRED: usize = offset_of!(Table, live_blocks);

/// Copies the table, as far as its maker knew it, and looks whether everything required is there.
fn checked(theirs: *const Table, path: &str) -> Result<Table, Error> {
    if theirs.is_null() {
        return Err(Error(format!(
            "dlpack_fuzz_backend() of {path} returned NULL: return the table"
        )));
    }
    if !theirs.is_aligned() {
        return Err(Error(format!(
            "dlpack_fuzz_backend() of {path} returned {theirs:?}, which is no table"
        )));
    }
    // SAFETY: every version of the struct begins with these eight bytes.
    let (size, major, minor) = unsafe { ((*theirs).struct_size, (*theirs).major, (*theirs).minor) };
    if major != MAJOR {
        return Err(Error(format!(
            "{path} was made with version {major}.{minor} of dlpack_fuzz_backend.h and this program with \
             {MAJOR}.{MINOR}: compile it with this program's header"
        )));
    }
    let size = size as usize;
    if size < REQUIRED {
        return Err(Error(format!(
            "the table of {path} has {size} bytes, and its required functions take {REQUIRED}: set \
             struct_size to sizeof(DLPackFuzzBackend)"
        )));
    }
    let mut table = MaybeUninit::new(Table::EMPTY);
    // SAFETY: both sides have that many bytes, and all fields are plain numbers and nullable pointers.
    let table = unsafe {
        std::ptr::copy_nonoverlapping(
            theirs.cast::<u8>(),
            table.as_mut_ptr().cast(),
            size.min(size_of::<Table>()),
        );
        table.assume_init()
    };
    let required = [
        ("name", table.name.is_null()),
        ("version", table.version.is_null()),
        ("build", table.build.is_none()),
        ("device", table.device.is_none()),
        ("export_array", table.export_array.is_none()),
        ("release", table.release.is_none()),
    ];
    let missing: Vec<_> =
        required.iter().filter(|(_, is_missing)| *is_missing).map(|(name, _)| *name).collect();
    if !missing.is_empty() {
        return Err(Error(format!(
            "the table of {path} lacks {}: set each of them",
            missing.join(", ")
        )));
    }
    Ok(table)
}

fn set(table: &Table, name: &str, value: &str) -> Result<(), String> {
    let Some(option) = table.option else {
        return Err("it takes no options".into());
    };
    let (Ok(name), Ok(value)) = (CString::new(name), CString::new(value)) else {
        return Err("it holds a NUL byte".into());
    };
    // SAFETY: two strings that live through the call; the answer is NULL or a static string.
    match unsafe { text(option(name.as_ptr(), value.as_ptr())) } {
        None => Ok(()),
        Some(why) => Err(why),
    }
}

/// # Safety
/// NULL or a string that lives during the call.
pub unsafe fn text(string: *const c_char) -> Option<String> {
    if string.is_null() {
        return None;
    }
    // SAFETY: as the caller promises.
    Some(unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned())
}

/// What the dynamic linker says, without the path that it begins with.
fn cause(error: &libloading::Error, path: &Path) -> String {
    let text = std::error::Error::source(error).unwrap_or(error).to_string();
    let text = text.trim_matches('"');
    text.strip_prefix(&format!("{}: ", path.display())).unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_specification_has_a_path_and_options() {
        let spec = Spec::parse("/x/lib.so?fault=a&n=1").unwrap();
        assert_eq!(spec.path, Path::new("/x/lib.so"));
        assert_eq!(spec.options, [("fault".into(), "a".into()), ("n".into(), "1".into())]);
        assert_eq!(spec.to_string(), "c:/x/lib.so?fault=a&n=1");
        assert!(Spec::parse("lib.so").unwrap().path.is_absolute());
        for wrong in ["", "?a=b", "lib.so?a"] {
            assert!(Spec::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_a_shorter_table_does_not_cover_is_not_there() {
        unsafe extern "C" fn none() -> i64 {
            7
        }
        unsafe extern "C" fn build(
            _: *const crate::abi::backend::Array,
            _: *mut crate::abi::backend::Built,
        ) -> i32 {
            1
        }
        unsafe extern "C" fn device(_: *mut std::ffi::c_void) -> DLDevice {
            DLDevice::CPU
        }
        unsafe extern "C" fn export(
            _: *mut std::ffi::c_void,
            _: *const crate::abi::backend::Call,
            _: *mut crate::abi::backend::Answer,
        ) {
        }
        unsafe extern "C" fn release(_: *mut std::ffi::c_void) {}
        let whole = Table {
            struct_size: size_of::<Table>() as u32,
            major: MAJOR,
            name: c"a".as_ptr(),
            version: c"1".as_ptr(),
            build: Some(build),
            device: Some(device),
            export_array: Some(export),
            release: Some(release),
            live_blocks: Some(none),
            ..Table::EMPTY
        };
        assert!(checked(&whole, "x").unwrap().live_blocks.is_some());
        let short = Table { struct_size: REQUIRED as u32, ..whole };
        assert!(checked(&short, "x").unwrap().live_blocks.is_none());
        // A newer minor version may have more fields than are known here.
        let long = Table { struct_size: 4096, minor: 9, ..whole };
        assert!(checked(&long, "x").is_ok());
        let says = |table: Table| checked(&table, "x").unwrap_err().0;
        assert!(says(Table { struct_size: 8, ..whole }).contains("struct_size"));
        assert!(says(Table { major: 2, ..whole }).contains("version 2.0"));
        assert!(says(Table { build: None, release: None, ..whole }).contains("build, release"));
        assert!(checked(std::ptr::null(), "x").unwrap_err().0.contains("NULL"));
    }
}
