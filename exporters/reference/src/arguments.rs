//! The **arguments** of `__dlpack__`, as a caller gave them: `None` is an argument that is not given or None.

use crate::dlpack::Device;
use crate::error::{Cause, Error};

/// What a caller asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub stream: Option<i64>,
    pub max_version: Option<(i64, i64)>,
    pub dl_device: Option<Device>,
    pub copy: Option<bool>,
}

impl Request {
    /// Refuses values that mean nothing to an array on `own`. Whether the rest can be served is the
    /// [plan](crate::plan)'s.
    pub fn check(&self, own: Device) -> Result<(), Error> {
        if let Some(stream) = self.stream {
            check_stream(stream, self.dl_device.unwrap_or(own))?;
        }
        match self.max_version {
            Some((major, minor)) if major < 0 || minor < 0 => {
                return Err(Cause::NegativeVersion.into());
            }
            _ => {}
        }
        match self.dl_device {
            Some(device) if device.kind <= 0 || device.id < 0 => Err(Cause::NoDevice.into()),
            _ => Ok(()),
        }
    }
}

/// The array API's table of streams: CUDA has no 0 and ROCm no 1 and 2; -1 asks for no synchronisation on
/// both; a larger number is a handle.
fn check_stream(stream: i64, device: Device) -> Result<(), Error> {
    let exists = match device.kind {
        2 | 13 => stream >= -1 && stream != 0,
        10 => stream >= -1 && stream != 1 && stream != 2,
        _ => return Err(Cause::NoStreams.into()),
    };
    if exists { Ok(()) } else { Err(Cause::NoSuchStream.into()) }
}
