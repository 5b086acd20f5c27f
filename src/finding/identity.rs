//! The **identity** of a finding: a short text that is the same when the same fault is found again, and
//! another one for another fault. It names the finding's folder.
//!
//! Goes in: the (shrunk) case and the cause. Comes out:
//!
//! - for a broken rule, `<rule>-<evidence key>`, such as `EXC-DEVICE-ValueError`: nothing of the case, so
//!   that shrinking and other concrete values do not change it;
//! - for a death, `CRASH-<death>-<function>-<dtype>-<layout>`, with the exporter's innermost function if it has a name,
//!   and what else the case needs beyond a plain array and
//!   `__dlpack__()`: `CRASH-SIGFPE-void0-strided`, `CRASH-SIGSEGV-float-c-copy`. Nobody says why the process
//!   died, so the classes of the shrunk case stand for the reason; take it after shrinking.

use super::{Cause, Death};
use crate::case::{
    Access, ByteOrder, Case, Dtype, DtypeClass, Extra, Keyword, LayoutClass, Object,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Name of a finding, fit for a folder: ASCII letters, digits and `-_.+`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Identity(String);

impl Identity {
    /// Longest name: a folder's name may have 255 bytes, and reports print it on one line.
    const LIMIT: usize = 100;

    pub fn of(case: &Case, cause: &Cause) -> Self {
        match cause {
            Cause::Violation(violation) => Self::join([&*violation.rule, &*violation.evidence.key]),
            Cause::Crash(crash) => {
                let death = match crash.death {
                    Death::Signal(_) => crash.death.to_string(),
                    Death::Exit(code) => format!("EXIT{code}"),
                    Death::Hang => "HANG".into(),
                    Death::Memory => "MEMORY".into(),
                };
                let function = crash.function().map(str::to_owned);
                let parts = ["CRASH".into(), death].into_iter().chain(function).chain(needs(case));
                Self::join(parts.collect::<Vec<String>>().iter().map(String::as_str))
            }
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Joins the non-empty parts. What a folder's name cannot carry is replaced, and then a hash of the
    /// whole text keeps two such names apart.
    fn join<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let whole: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let whole = whole.join("-");
        let mut name: String =
            whole.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
        if name != whole || name.len() > Self::LIMIT || name.starts_with('.') {
            name.truncate(Self::LIMIT - 9);
            name = format!("{}-{:08x}", name.trim_start_matches('.'), fnv(&whole));
        }
        Self(name)
    }
}

impl TryFrom<String> for Identity {
    type Error = String;

    /// Only names that cannot leave their folder: a report that was read may have been edited.
    fn try_from(name: String) -> Result<Self, String> {
        if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
            return Err(format!("`{name}` is no identity of a finding"));
        }
        Ok(Self(name))
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the case has beyond a plain array and a plain call, in words.
fn needs(case: &Case) -> Vec<String> {
    let tensor = &case.tensor;
    let mut words = vec![dtype_word(tensor.dtype), layout_word(tensor.layout_class()).into()];
    if tensor.object != Object::Array {
        words.push(tensor.object.name().into());
    }
    if tensor.access == Access::ReadOnly {
        words.push("readonly".into());
    }
    for keyword in Keyword::ALL {
        if !case.call.arg(keyword).is_silent() {
            words.push(keyword.name().into());
        }
    }
    match case.call.extra {
        Extra::Nothing => {}
        Extra::UnknownKeyword => words.push("unknown_keyword".into()),
        Extra::Positional => words.push("positional".into()),
    }
    words.extend(case.probes.iter().map(|probe| format!("+{}", probe.name())));
    words.extend(case.probes.steps().map(|step| format!("+{}", step.name())));
    words.extend(case.life.steps().iter().map(|step| step.to_string().replace(' ', "_")));
    words
}

/// The class of a number, the name of anything else; `0` behind a flexible type without bytes.
fn dtype_word(dtype: Dtype) -> String {
    let word = match dtype.class() {
        DtypeClass::Bool => "bool",
        DtypeClass::Integer => "integer",
        DtypeClass::Float => "float",
        DtypeClass::Complex => "complex",
        DtypeClass::SubByte => "subbyte",
        DtypeClass::Extended | DtypeClass::LongDouble | DtypeClass::NonNumeric => dtype.name(),
    };
    let swapped = if dtype.order == ByteOrder::Swapped { "swapped_" } else { "" };
    let empty = if dtype.item_size() == 0 { "0" } else { "" };
    format!("{swapped}{word}{empty}")
}

fn layout_word(class: LayoutClass) -> &'static str {
    match class {
        LayoutClass::Scalar => "scalar",
        LayoutClass::SizeZero => "empty",
        LayoutClass::C => "c",
        LayoutClass::F => "f",
        LayoutClass::Gaps => "strided",
        LayoutClass::Negative => "negative",
        LayoutClass::Broadcast => "broadcast",
        LayoutClass::Overlap => "overlap",
        LayoutClass::OddStride => "oddstride",
        LayoutClass::Misaligned => "misaligned",
    }
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '+')
}

/// FNV-1a, folded to 32 bits: stable across versions of the compiler, unlike the standard hasher.
fn fnv(text: &str) -> u32 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Violation;
    use crate::oracle::{Evidence, Grade};

    fn case(text: &str) -> Case {
        text.parse().unwrap()
    }

    fn broken(rule: &'static str, key: &'static str) -> Cause {
        let evidence =
            Evidence { key: key.into(), expected: "a".into(), seen: "b".into(), facts: vec![] };
        Cause::Violation(Violation { rule: rule.into(), grade: Grade::Violation, evidence })
    }

    fn death(text: &str) -> Cause {
        Cause::from(text.parse::<Death>().unwrap())
    }

    #[test]
    fn a_broken_rule_is_the_same_finding_for_every_case_and_wording() {
        let small = case("array(shape=(6,), dtype='float32').__dlpack__(dl_device=(2, 0))");
        let large = case("array(shape=(2, 3), dtype='int8').__dlpack__(dl_device=(99, 7))");
        let cause = broken("EXC-DEVICE", "ValueError");
        assert_eq!(Identity::of(&small, &cause).as_str(), "EXC-DEVICE-ValueError");
        let Cause::Violation(mut other) = cause.clone() else { unreachable!() };
        other.evidence.seen = "ValueError: device 99".into();
        assert_eq!(Identity::of(&small, &cause), Identity::of(&large, &Cause::Violation(other)));
    }

    #[test]
    fn different_faults_under_one_rule_differ_also_where_a_folder_cannot_say_so() {
        let case = case("array(shape=(6,), dtype='float32').__dlpack__()");
        let of = |key| Identity::of(&case, &broken("EXC-DEVICE", key));
        assert_ne!(of("ValueError"), of("TypeError"));
        assert_ne!(of("a/b"), of("a b"), "both read a_b");
        assert!(of("../../etc").as_str().starts_with("EXC-DEVICE-.._.._etc-"));
        let long: &'static str = Box::leak("k".repeat(300).into_boxed_str());
        assert!(of(long).as_str().len() <= Identity::LIMIT);
        assert_eq!(of("").as_str(), "EXC-DEVICE");
    }

    #[test]
    fn a_crash_is_named_for_its_signal_and_the_classes_of_the_case() {
        for (cause, text, name) in [
            (
                "SIGFPE",
                "array(shape=(4,), dtype='void[0]', strides=(8,)).__dlpack__()",
                "CRASH-SIGFPE-void0-strided",
            ),
            (
                "SIGFPE",
                "array(shape=(9, 2), dtype='void[0]', strides=(48, 8)).__dlpack__(stream=None)",
                "CRASH-SIGFPE-void0-strided",
            ),
            (
                "SIGSEGV",
                "array(shape=(4,), dtype='void[0]', strides=(8,)).__dlpack__()",
                "CRASH-SIGSEGV-void0-strided",
            ),
            (
                "hang",
                "array(shape=(6,), dtype='float32').__dlpack__(copy=True)",
                "CRASH-HANG-float-c-copy",
            ),
            (
                "exit 3",
                "array(shape=(), dtype='swapped int16', object='masked').__dlpack__()",
                "CRASH-EXIT3-swapped_integer-scalar-masked",
            ),
        ] {
            assert_eq!(Identity::of(&case(text), &death(cause)).as_str(), name);
        }
        let Cause::Crash(mut crash) = death("SIGSEGV") else { unreachable!() };
        crash.frames = vec!["to_dlpack+0x3c (_core.so)".into(), "f (b.py:1)".into()];
        let plain = case("array(shape=(), dtype='float32').__dlpack__()");
        let identity = Identity::of(&plain, &Cause::Crash(crash));
        assert_eq!(identity.as_str(), "CRASH-SIGSEGV-to_dlpack-float-scalar");
    }

    #[test]
    fn an_edited_report_cannot_name_another_folder() {
        assert!(serde_json::from_str::<Identity>("\"CRASH-SIGFPE-void0-strided\"").is_ok());
        assert!(serde_json::from_str::<Identity>("\"../escape\"").is_err());
        assert!(serde_json::from_str::<Identity>("\"\"").is_err());
    }
}
