//! The arguments of a call as a C struct.
//!
//! Goes in: a [`Call`] of a case. Comes out: the header's struct, or [`Inexpressible`] for what only Python has:
//! values of other types, unknown and positional arguments, names and their order. A number that is out of
//! range or unlawful is a number.

use crate::abi::DLDevice;
use crate::abi::backend;
use crate::backend::Inexpressible;
use crate::case::{Arg, Call, Extra, Keys, Scalar, SeqKind, Value};
use std::borrow::Cow;
use std::mem::size_of;

/// The call with the array's own device in the place of `own`.
pub fn arguments(call: &Call, own: DLDevice) -> Result<backend::Call, Inexpressible> {
    if call.extra != Extra::Nothing {
        return refuse("unknown and positional arguments are Python's");
    }
    if call.keys != Keys::Interned || call.order != 0 {
        return refuse("the names of arguments and their order are Python's");
    }
    let mut made = backend::Call {
        struct_size: size_of::<backend::Call>() as u32,
        given: 0,
        stream: 0,
        max_version: [0; 2],
        dl_device: DLDevice::new(0, 0),
        copy: 0,
    };
    if let Some(value) = said(&call.stream) {
        let Value::Scalar(Scalar::Int(stream)) = *value else {
            return refuse("C has a number as stream");
        };
        (made.given, made.stream) = (made.given | backend::GIVEN_STREAM, stream);
    }
    if let Some(value) = said(&call.max_version) {
        let Some((major, minor)) = pair(value) else {
            return refuse("C has two numbers as max_version");
        };
        made.given |= backend::GIVEN_MAX_VERSION;
        made.max_version = [major, minor];
    }
    if let Some(value) = said(&call.dl_device) {
        made.given |= backend::GIVEN_DL_DEVICE;
        made.dl_device = match (value, pair(value)) {
            (Value::Own, _) => own,
            (_, Some((device_type, id))) => match (device_type.try_into(), id.try_into()) {
                (Ok(device_type), Ok(id)) => DLDevice::new(device_type, id),
                _ => return refuse("C has numbers of 32 bits as dl_device"),
            },
            _ => return refuse("C has two numbers as dl_device"),
        };
    }
    if let Some(value) = said(&call.copy) {
        let Value::Scalar(Scalar::Bool(copy)) = *value else {
            return refuse("C has a truth value as copy");
        };
        (made.given, made.copy) = (made.given | backend::GIVEN_COPY, i32::from(copy));
    }
    Ok(made)
}

/// What is neither left out nor `None`.
fn said(arg: &Arg) -> Option<&Value> {
    arg.value().filter(|value| **value != Value::NONE)
}

fn pair(value: &Value) -> Option<(i64, i64)> {
    let Value::Seq(SeqKind::Tuple, items) = value else { return None };
    match items.as_slice() {
        [Scalar::Int(first), Scalar::Int(second)] => Some((*first, *second)),
        _ => None,
    }
}

fn refuse<T>(why: &'static str) -> Result<T, Inexpressible> {
    Err(Inexpressible(Cow::Borrowed(why)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;

    fn made(text: &str) -> Result<backend::Call, Inexpressible> {
        let text = format!("array(shape=(6,), dtype='float32').__dlpack__({text})");
        let case: Case = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        arguments(&case.call, DLDevice::new(2, 1))
    }

    #[test]
    fn numbers_are_passed_whatever_they_are() {
        let call = made("stream=-7, max_version=(-1, 4294967296), dl_device=(99, -1), copy=False")
            .unwrap();
        assert_eq!((call.given, call.stream, call.max_version), (15, -7, [-1, 1 << 32]));
        assert_eq!((call.dl_device, call.copy), (DLDevice::new(99, -1), 0));
        assert_eq!(made("copy=True").unwrap().copy, 1);
        assert_eq!(made("dl_device=own").unwrap().dl_device, DLDevice::new(2, 1));
        for silent in ["", "stream=None, max_version=None, dl_device=None, copy=None"] {
            assert_eq!(made(silent).unwrap().given, 0);
        }
    }

    #[test]
    fn what_is_pythons_is_not_expressible() {
        for text in [
            "foo=1",
            "None",
            "stream='cpu'",
            "stream=True",
            "stream=2**64",
            "copy=1",
            "copy=own",
            "max_version=[1, 0]",
            "max_version=(1,)",
            "max_version=Pair((1, 0))",
            "dl_device=(IntEnum(1), 0)",
            "dl_device=(4294967296, 0)",
            "dl_device=1",
        ] {
            assert!(made(text).is_err(), "{text}");
        }
    }
}
