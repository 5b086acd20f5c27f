//! The **cause** of a finding: the rule that is broken, or how the process died.

use crate::oracle::{self, Evidence, Grade};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// Why a case is a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    Violation(Violation),
    Crash(Crash),
}

impl Cause {
    /// The rule that is accused: EXC-NO-CRASH for a death.
    pub fn rule(&self) -> &str {
        match self {
            Self::Violation(violation) => &violation.rule,
            Self::Crash(_) => "EXC-NO-CRASH",
        }
    }

    /// How serious it is; a death is always a violation.
    pub fn grade(&self) -> Grade {
        match self {
            Self::Violation(violation) => violation.grade,
            Self::Crash(_) => Grade::Violation,
        }
    }

    /// What the clause demands here, in words.
    pub fn expected(&self) -> Cow<'_, str> {
        match self {
            Self::Violation(violation) => Cow::Borrowed(&violation.evidence.expected),
            Self::Crash(_) => Cow::Borrowed("the call returns or raises an exception"),
        }
    }

    /// What was seen instead, in words.
    pub fn seen(&self) -> Cow<'_, str> {
        match self {
            Self::Violation(violation) => Cow::Borrowed(&violation.evidence.seen),
            Self::Crash(crash) => Cow::Owned(match &crash.death {
                Death::Signal(_) => format!("the process dies by {}", crash.death),
                Death::Exit(code) => format!("the process exits with status {code}"),
                Death::Hang => "the call does not come back".into(),
            }),
        }
    }
}

impl From<oracle::Violation> for Cause {
    fn from(violation: oracle::Violation) -> Self {
        Self::Violation(violation.into())
    }
}

impl From<Death> for Cause {
    fn from(death: Death) -> Self {
        Self::Crash(Crash { death })
    }
}

/// A broken rule, like [`oracle::Violation`], but also read back from disk: a report may name a rule that
/// the catalogue no longer has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    pub rule: Cow<'static, str>,
    pub grade: Grade,
    pub evidence: Evidence,
}

impl From<oracle::Violation> for Violation {
    fn from(violation: oracle::Violation) -> Self {
        Self {
            rule: Cow::Borrowed(violation.rule),
            grade: violation.grade,
            evidence: violation.evidence,
        }
    }
}

/// The process that ran the case ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crash {
    pub death: Death,
}

/// How a process ended that should not have. Text: `SIGFPE`, `exit 3`, `hang`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Death {
    /// By this signal.
    Signal(i32),
    /// With this exit status.
    Exit(i32),
    /// Not at all; it was ended after the time limit.
    Hang,
}

/// The signals that a case can die of; others are written as `SIG<number>`.
const SIGNALS: [(i32, &str); 12] = [
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGALRM, "SIGALRM"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGINT, "SIGINT"),
    (libc::SIGKILL, "SIGKILL"),
    (libc::SIGPIPE, "SIGPIPE"),
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGTERM, "SIGTERM"),
    (libc::SIGTRAP, "SIGTRAP"),
];

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Signal(number) => match SIGNALS.iter().find(|signal| signal.0 == number) {
                Some((_, name)) => f.write_str(name),
                None => write!(f, "SIG{number}"),
            },
            Self::Exit(code) => write!(f, "exit {code}"),
            Self::Hang => f.write_str("hang"),
        }
    }
}

impl FromStr for Death {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("`{text}` is no way to die: SIGFPE, `exit 3` and `hang` are");
        if text == "hang" {
            return Ok(Self::Hang);
        }
        if let Some(code) = text.strip_prefix("exit ") {
            return code.parse().map(Self::Exit).map_err(|_| unknown());
        }
        if let Some((number, _)) = SIGNALS.iter().find(|signal| signal.1 == text) {
            return Ok(Self::Signal(*number));
        }
        (text.strip_prefix("SIG").and_then(|number| number.parse().ok()))
            .map(Self::Signal)
            .ok_or_else(unknown)
    }
}

impl Serialize for Death {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Death {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_death_reads_back_from_its_text() {
        for (death, text) in [
            (Death::Signal(libc::SIGFPE), "SIGFPE"),
            (Death::Signal(libc::SIGSEGV), "SIGSEGV"),
            (Death::Signal(63), "SIG63"),
            (Death::Exit(-1), "exit -1"),
            (Death::Hang, "hang"),
        ] {
            assert_eq!(death.to_string(), text);
            assert_eq!(text.parse(), Ok(death));
            let json = serde_json::to_string(&death).unwrap();
            assert_eq!(serde_json::from_str::<Death>(&json).unwrap(), death);
        }
        assert!("SIGNONE".parse::<Death>().unwrap_err().contains("`SIGNONE`"));
    }

    #[test]
    fn a_death_accuses_the_rule_against_crashes() {
        let cause = Cause::from(Death::Signal(libc::SIGFPE));
        assert_eq!(cause.rule(), "EXC-NO-CRASH");
        assert_eq!(cause.grade(), Grade::Violation);
        assert_eq!(cause.seen(), "the process dies by SIGFPE");
    }
}
