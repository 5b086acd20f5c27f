//! A **scratch** folder: private, empty, and gone when its owner is dropped.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// A new folder in the system's folder for temporary files.
    pub fn new() -> io::Result<Self> {
        let template = std::env::temp_dir().join("dlpack-fuzz-XXXXXX");
        let template = CString::new(template.as_os_str().as_bytes())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "TMPDIR holds a NUL byte"))?;
        let buffer = template.into_raw();
        // SAFETY: `buffer` is a NUL-terminated string of our own that mkdtemp changes in place, keeping its
        // length; it is taken back exactly once.
        let (made, name) = unsafe {
            let made = !libc::mkdtemp(buffer).is_null();
            (made, CString::from_raw(buffer))
        };
        if !made {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { path: std::ffi::OsString::from_vec(name.into_bytes()).into() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever clears the temporary files.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_folder_is_private_and_goes_with_its_owner() {
        let (first, second) = (Scratch::new().unwrap(), Scratch::new().unwrap());
        assert_ne!(first.path(), second.path());
        std::fs::write(first.path().join("file"), "x").unwrap();
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists() && second.path().exists());
    }
}
