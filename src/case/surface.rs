//! The C **surface** of a call: the nearest call that is made of numbers only. Goes in: any call. Comes out:
//! one that a struct of numbers can carry; what has no such form is left out. It is drawn from, so that no run
//! is spent on calls that only Python can make.

use super::{Arg, Call, Extra, Keys, Keyword, Scalar, SeqKind, Value};
use smallvec::smallvec;

impl Call {
    /// Spells every argument as C does.
    pub(super) fn spell_in_c(&mut self) {
        (self.extra, self.keys, self.order) = (Extra::Nothing, Keys::Interned, 0);
        for keyword in Keyword::ALL {
            let arg = self.arg_mut(keyword);
            if let Arg::Given(value) = arg
                && *value != Value::NONE
            {
                *arg = in_c(keyword, value).map_or(Arg::Absent, Arg::Given);
            }
        }
    }
}

fn in_c(keyword: Keyword, value: &Value) -> Option<Value> {
    match (keyword, value) {
        (Keyword::Stream, Value::Scalar(scalar)) => scalar.as_index().map(Value::int),
        (Keyword::Copy, Value::Scalar(scalar)) => scalar.as_index().map(|it| Value::bool(it != 0)),
        (Keyword::DlDevice, Value::Own) => Some(Value::Own),
        (Keyword::DlDevice | Keyword::MaxVersion, Value::Seq(_, items)) => {
            let [first, second] = items.as_slice() else { return None };
            let (first, second) = (first.as_index()?, second.as_index()?);
            // A device has 32 bits.
            let fits = keyword == Keyword::MaxVersion
                || [first, second].iter().all(|&number| i32::try_from(number).is_ok());
            let numbers = smallvec![Scalar::Int(first), Scalar::Int(second)];
            fits.then_some(Value::Seq(SeqKind::Tuple, numbers))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::case::Case;

    #[test]
    fn arguments_become_numbers_or_nothing() {
        for (before, after) in [
            ("stream=True, copy=1", "stream=1, copy=True"),
            ("max_version=[1, Int(0)]", "max_version=(1, 0)"),
            ("dl_device=(IntEnum(1), 4294967296)", ""),
            ("dl_device=own, stream='cpu', copy=None", "dl_device=own, copy=None"),
            ("max_version=(1,), foo=1", ""),
        ] {
            let case = |arguments: &str| -> Case {
                let text = format!("array(shape=(6,), dtype='int8').__dlpack__({arguments})");
                text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
            };
            let mut call = case(before).call;
            call.spell_in_c();
            assert_eq!(call, case(after).call, "{before}");
            let once = call.clone();
            call.spell_in_c();
            assert_eq!(call, once);
        }
    }
}
