//! The call of a case as Python, and the names it needs.

use crate::case::{Arg, Call, Extra, Keys, Scalar, SeqKind, Value};
use std::collections::BTreeSet;

/// What a call begins with.
pub const CALLEE: &str = "x.__dlpack__";

/// A call as an expression on `x`, such as `x.__dlpack__(copy=True)`.
pub fn call(call: &Call, needs: &mut Needs) -> String {
    let mut arguments = vec![];
    if call.extra == Extra::Positional {
        arguments.push("None".to_string());
    }
    let named = call.keywords().into_iter().filter_map(|keyword| match call.arg(keyword) {
        Arg::Absent => None,
        Arg::Given(value) => Some((keyword.name(), self::value(value, needs))),
    });
    let mut named: Vec<_> = named.collect();
    if call.extra == Extra::UnknownKeyword {
        named.push(("foo", "1".into()));
    }
    match call.keys {
        Keys::Fresh if !named.is_empty() => {
            needs.0.insert("fresh");
            let pairs: Vec<_> =
                named.iter().map(|(name, value)| format!("fresh(\"{name}\"): {value}")).collect();
            arguments.push(format!("**{{{}}}", pairs.join(", ")));
        }
        _ => arguments.extend(named.iter().map(|(name, value)| format!("{name}={value}"))),
    }
    format!("{CALLEE}({})", arguments.join(", "))
}

/// Names that an expression uses: parts of the template, `np` and `own`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs(pub BTreeSet<&'static str>);

fn value(value: &Value, needs: &mut Needs) -> String {
    match value {
        Value::Scalar(scalar) => self::scalar(scalar, needs),
        Value::Own => {
            needs.0.insert("own");
            "own".into()
        }
        Value::Seq(kind, items) => {
            let words: Vec<_> = items.iter().map(|item| scalar(item, needs)).collect();
            let tuple = match words.as_slice() {
                [one] => format!("({one},)"),
                _ => format!("({})", words.join(", ")),
            };
            match kind {
                SeqKind::Tuple => tuple,
                SeqKind::List => format!("[{}]", words.join(", ")),
                SeqKind::TupleSubclass => {
                    needs.0.insert("Pair");
                    format!("Pair({tuple})")
                }
            }
        }
    }
}

fn scalar(scalar: &Scalar, needs: &mut Needs) -> String {
    let mut made = |name: &'static str, number: i64| {
        needs.0.insert(name);
        format!("{name}({number})")
    };
    match *scalar {
        Scalar::None => "None".into(),
        Scalar::Bool(true) => "True".into(),
        Scalar::Bool(false) => "False".into(),
        Scalar::Int(number) => number.to_string(),
        Scalar::Huge { negative: false } => "2**64".into(),
        Scalar::Huge { negative: true } => "-2**64".into(),
        Scalar::IntEnum(number) => made("IntEnum", number),
        Scalar::Enum(number) => made("Enum", number),
        Scalar::IntSubclass(number) => made("Int", number),
        Scalar::NumpyInt(number) => {
            needs.0.insert("np");
            format!("np.int64({number})")
        }
        Scalar::Index(number) => made("Index", number),
        // Halves have one digit behind the point; `{:?}` writes it also for whole numbers.
        Scalar::Halves(halves) => format!("{:?}", f64::from(halves) / 2.0),
        Scalar::Str(word) => {
            format!("'{}'", Scalar::WORDS[usize::from(word) % Scalar::WORDS.len()])
        }
        Scalar::Bytes => "b'1'".into(),
        Scalar::Object => "object()".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Case;

    #[test]
    fn every_kind_of_argument_is_python() {
        for (text, python, names) in [
            ("", "", &[][..]),
            ("copy=True, stream=-1", "copy=True, stream=-1", &[]),
            ("None", "None", &[]),
            ("dl_device=own, foo=1", "dl_device=own, foo=1", &["own"]),
            (
                "dl_device=(IntEnum(1), np.int64(0))",
                "dl_device=(IntEnum(1), np.int64(0))",
                &["IntEnum", "np"],
            ),
            (
                "max_version=Pair((Index(1), Int(0)))",
                "max_version=Pair((Index(1), Int(0)))",
                &["Index", "Int", "Pair"],
            ),
            (
                "max_version=[2**64, -2**64], stream=Enum(1)",
                "max_version=[2**64, -2**64], stream=Enum(1)",
                &["Enum"],
            ),
            ("copy=1.5, stream='cpu', dl_device=()", "copy=1.5, stream='cpu', dl_device=()", &[]),
            (
                "max_version=(1,), copy=object(), stream=b'1'",
                "max_version=(1,), copy=object(), stream=b'1'",
                &[],
            ),
        ] {
            let text = format!("array(shape=(6,), dtype='float32').__dlpack__({text})");
            let case: Case = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            let mut needs = Needs::default();
            assert_eq!(call(&case.call, &mut needs), format!("x.__dlpack__({python})"));
            assert_eq!(needs.0.into_iter().collect::<Vec<_>>(), names, "{text}");
        }
    }

    #[test]
    fn names_made_at_run_time_stay_so() {
        let case: Case =
            "array(shape=(6,), dtype='float32').__dlpack__(copy=True)".parse().unwrap();
        let made = Call { keys: Keys::Fresh, ..case.call };
        let mut needs = Needs::default();
        assert_eq!(call(&made, &mut needs), "x.__dlpack__(**{fresh(\"copy\"): True})");
        assert!(needs.0.contains("fresh"));
        assert_eq!(
            call(&Call { keys: Keys::Fresh, ..Call::default() }, &mut needs),
            "x.__dlpack__()"
        );
    }
}
