//! The **plan** of an export: everything that is decided before anything is made.
//!
//! Goes in: an array and a [`Request`]. Comes out: which struct, whose memory, which device and flags; or
//! the [`Error`] that refuses it. Nothing is allocated here, so a refusal leaves nothing behind
//! (CAP-EXC-NO-LEAK, EXC-STATE).

use crate::arguments::Request;
use crate::array::{Access, Array};
use crate::dlpack::{DataType, Device, flag};
use crate::dtype::Storage;
use crate::error::{Cause, Error};

/// Which managed tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Struct {
    Legacy,
    Versioned,
}

/// Whose memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    Shared,
    Copied,
}

/// What will be exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub kind: Struct,
    pub data: Data,
    pub device: Device,
    pub dtype: DataType,
    /// For a versioned struct; a legacy one has none.
    pub flags: u64,
}

impl Plan {
    pub fn of(array: &Array, request: &Request) -> Result<Self, Error> {
        Self::under(array.element.name.map_err(|_| Cause::Unnamed.into()), array, request)
    }

    /// With this name for the element type.
    pub(crate) fn under(
        name: Result<DataType, Error>,
        array: &Array,
        request: &Request,
    ) -> Result<Self, Error> {
        request.check(array.device)?;
        let kind = Self::kind(request);
        let (device, data) = Self::data(array, request)?;
        let dtype = name?;
        let is_padded = array.element.storage == Storage::Padded;
        if is_padded && kind == Struct::Legacy {
            return Err(Cause::LegacyPadded.into());
        }
        if data == Data::Shared {
            if !array.has_element_strides() {
                return Err(Cause::OddStrides.into());
            }
            if array.access == Access::ReadOnly && kind == Struct::Legacy {
                return Err(Cause::LegacyReadOnly.into());
            }
        }
        Ok(Self { kind, data, device, dtype, flags: Self::flags(array, data) })
    }

    /// A caller who can take major version 1, or a later one, gets the struct of version 1.
    fn kind(request: &Request) -> Struct {
        match request.max_version {
            Some((1.., _)) => Struct::Versioned,
            _ => Struct::Legacy,
        }
    }

    /// Memory is shared unless a copy is asked for, or is the only way to the device.
    fn data(array: &Array, request: &Request) -> Result<(Device, Data), Error> {
        let device = request.dl_device.unwrap_or(array.device);
        let can_share = device == array.device || array.device.is_host_accessible();
        if device != array.device && device != Device::CPU {
            return Err(Cause::OtherDevice.into());
        }
        match (request.copy, can_share) {
            (Some(true), _) | (None, false) => Ok((device, Data::Copied)),
            (None | Some(false), true) => Ok((device, Data::Shared)),
            (Some(false), false) => Err(Cause::CopyNeeded.into()),
        }
    }

    /// A copy may be written by whoever gets it, whatever the source is (COPY-TRUE-WRITABLE).
    fn flags(array: &Array, data: Data) -> u64 {
        let memory = match (data, array.access) {
            (Data::Copied, _) => flag::IS_COPIED,
            (Data::Shared, Access::ReadOnly) => flag::READ_ONLY,
            (Data::Shared, Access::Writable) => 0,
        };
        let is_padded = array.element.storage == Storage::Padded;
        memory | if is_padded { flag::IS_SUBBYTE_TYPE_PADDED } else { 0 }
    }
}
