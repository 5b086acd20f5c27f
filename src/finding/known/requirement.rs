//! A **requirement** on a version: `>=1.22`, `>=1.26.4, <2.6`, `==2.3.5`. All its parts must hold.
//!
//! Versions are compared number by number (`2.10` > `2.9`, `2.0` = `2`); a pre-release comes before its
//! release (`2.5.0rc1` < `2.5.0`). A version that does not begin with a number meets no requirement.

use serde::Deserialize;
use std::cmp::Ordering;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Requirement(Vec<(Relation, Version)>);

impl Requirement {
    pub fn admits(&self, version: &str) -> bool {
        let Some(version) = Version::parse(version) else {
            return false;
        };
        self.0.iter().all(|(relation, bound)| relation.holds(version.order(bound)))
    }
}

impl TryFrom<String> for Requirement {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let part = |part: &str| {
            let part = part.trim();
            let (relation, rest) = Relation::ALL
                .iter()
                .find_map(|(sign, relation)| Some((*relation, part.strip_prefix(sign)?)))?;
            Some((relation, Version::parse(rest.trim())?))
        };
        (text.split(',').map(part).collect::<Option<Vec<_>>>())
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no requirement; `>=1.22` and `>=1.26.4, <2.6` are"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    AtLeast,
    AtMost,
    Equal,
    Different,
    Above,
    Below,
}

impl Relation {
    /// Signs of two letters before those of one.
    const ALL: [(&'static str, Self); 6] = [
        (">=", Self::AtLeast),
        ("<=", Self::AtMost),
        ("==", Self::Equal),
        ("!=", Self::Different),
        (">", Self::Above),
        ("<", Self::Below),
    ];

    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::AtLeast => order.is_ge(),
            Self::AtMost => order.is_le(),
            Self::Equal => order.is_eq(),
            Self::Different => order.is_ne(),
            Self::Above => order.is_gt(),
            Self::Below => order.is_lt(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Version {
    numbers: Vec<u64>,
    pre_release: bool,
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        // A local label (`2.4.6+cu12`) says nothing of the order.
        let text = text.split('+').next()?;
        let (mut numbers, mut rest) = (vec![], text);
        loop {
            let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
            let Ok(number) = rest[..end].parse() else {
                break;
            };
            numbers.push(number);
            rest = &rest[end..];
            match rest.strip_prefix('.') {
                Some(more) if more.starts_with(|letter: char| letter.is_ascii_digit()) => {
                    rest = more
                }
                _ => break,
            }
        }
        let pre_release = ["a", "b", "rc", ".dev", "dev"].iter().any(|sign| rest.starts_with(sign));
        let known = rest.is_empty() || pre_release || rest.starts_with(".post");
        (!numbers.is_empty() && known).then_some(Self { numbers, pre_release })
    }

    fn order(&self, other: &Self) -> Ordering {
        let length = self.numbers.len().max(other.numbers.len());
        let padded = |version: &Self| {
            let mut numbers = version.numbers.clone();
            numbers.resize(length, 0);
            numbers
        };
        (padded(self).cmp(&padded(other))).then(other.pre_release.cmp(&self.pre_release))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(requirement: &str, version: &str) -> bool {
        Requirement::try_from(requirement.to_string()).unwrap().admits(version)
    }

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        for (requirement, yes, no) in [
            (">=1.22", "1.22.0", "1.21.6"),
            (">=1.22", "2.0.0", "1.9"),
            ("> 2.9", "2.10", "2.9.0"),
            ("==2.3.5", "2.3.5", "2.3.50"),
            ("==2", "2.0.0", "2.0.1"),
            ("!=2.3", "2.3.1", "2.3.0"),
            (">=1.26.4, <2.6", "2.5.5", "2.6.0"),
            (">=1.26.4, <2.6", "1.26.4", "1.26.3"),
            ("<=2.4.6", "2.4.6+local", "2.4.6.1"),
            ("<2.5.0", "2.5.0rc1", "2.5.0"),
            (">=2.5", "2.5.0.post1", "2.5.0.dev0"),
        ] {
            assert!(admits(requirement, yes), "{requirement} {yes}");
            assert!(!admits(requirement, no), "{requirement} {no}");
        }
        assert!(!admits(">=0", "unknown"));
    }

    #[test]
    fn what_is_no_requirement_is_an_error() {
        for text in ["", "2.0", "~=2.0", ">=", ">=x", ">=1,", "=1"] {
            assert!(Requirement::try_from(text.to_string()).is_err(), "{text}");
        }
    }
}
