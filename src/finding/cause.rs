//! The **cause** of a finding: the rule that is broken, or how the process died.

use crate::case::Case;
use crate::case::life::{Place, Step};
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
    /// The rule that is accused on this case. A death belongs to the last step of the case's life where a rule
    /// speaks of just that; to EXC-NO-CRASH else.
    pub fn rule<'a>(&'a self, case: &Case) -> &'a str {
        match self {
            Self::Violation(violation) => &violation.rule,
            Self::Crash(_) => match case.life.steps().last() {
                Some(Step::Starve) => "EXC-OOM",
                Some(Step::Delete(_, Place::Thread)) => "LIFE-DELETER-PY-THREAD",
                Some(Step::Delete(_, Place::Unlocked | Place::Native)) => "LIFE-DELETER-NO-GIL",
                _ => "EXC-NO-CRASH",
            },
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
            Self::Crash(crash) => Cow::Owned(crash.to_string()),
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
        Self::Crash(Crash { death, frames: Vec::new() })
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
    /// The exporter's functions in which it died, innermost first, such as `to_dlpack+0x3c (_core.so)`; none where
    /// the process left no trace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<String>,
}

impl Crash {
    /// So many innermost frames tell one fault from another: further out all exports look alike.
    const TELLING: usize = 3;

    /// Died in one and the same place: whatever the cases are, this is one fault.
    pub fn is_at(&self, other: &Self) -> bool {
        self.death == other.death && !self.frames.is_empty() && self.site() == other.site()
    }

    /// Died alike: in the same functions where both are known. A loop without end is in any of its functions when
    /// somebody looks.
    pub fn is_like(&self, other: &Self) -> bool {
        if matches!(self.death, Death::Hang | Death::Memory) {
            return self.death == other.death;
        }
        let functions = |crash: &Self| -> Vec<String> {
            crash.site().iter().map(|frame| without_offset(frame)).collect()
        };
        let is_known = !self.frames.is_empty() && !other.frames.is_empty();
        self.death == other.death && (!is_known || functions(self) == functions(other))
    }

    /// The innermost function, if it has a name and is always the same: `to_dlpack`.
    pub fn function(&self) -> Option<&str> {
        if matches!(self.death, Death::Hang | Death::Memory) {
            return None;
        }
        let (name, _) = self.frames.first()?.split_once(" (")?;
        Some(name.split_once("+0x").map_or(name, |(name, _)| name))
    }

    fn site(&self) -> &[String] {
        &self.frames[..self.frames.len().min(Self::TELLING)]
    }
}

/// `to_dlpack (_core.so)` of `to_dlpack+0x3c (_core.so)`: a loop may be left at any of its instructions.
fn without_offset(frame: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_hexdigit();
    match frame.split_once("+0x") {
        Some((name, rest)) if rest.contains(" (") => {
            format!("{name}{}", rest.trim_start_matches(is_part))
        }
        _ => frame.to_owned(),
    }
}

/// In words, with the innermost function: `the process dies by SIGSEGV in crash (mylib.py:26)`.
impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.death.fate())?;
        self.frames.first().map_or(Ok(()), |frame| write!(f, " in {frame}"))
    }
}

/// How a process ended that should not have. Text: `SIGFPE`, `exit 3`, `hang`, `memory`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Death {
    /// By this signal.
    Signal(i32),
    /// With this exit status.
    Exit(i32),
    /// Not at all; it was ended after the time limit.
    Hang,
    /// It was ended when it had taken too much memory.
    Memory,
}

impl Death {
    /// In words: `the process dies by SIGFPE`.
    pub fn fate(self) -> String {
        match self {
            Self::Signal(_) => format!("the process dies by {self}"),
            Self::Exit(code) => format!("the process exits with status {code}"),
            Self::Hang => "the call does not come back".into(),
            Self::Memory => "the process uses up the memory".into(),
        }
    }
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
            Self::Memory => f.write_str("memory"),
        }
    }
}

impl FromStr for Death {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown =
            || format!("`{text}` is no way to die: SIGFPE, `exit 3`, `hang` and `memory` are");
        match text {
            "hang" => return Ok(Self::Hang),
            "memory" => return Ok(Self::Memory),
            _ => {}
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
            (Death::Memory, "memory"),
        ] {
            assert_eq!(death.to_string(), text);
            assert_eq!(text.parse(), Ok(death));
            let json = serde_json::to_string(&death).unwrap();
            assert_eq!(serde_json::from_str::<Death>(&json).unwrap(), death);
        }
        assert!("SIGNONE".parse::<Death>().unwrap_err().contains("`SIGNONE`"));
    }

    #[test]
    fn crashes_are_told_apart_by_where_they_were() {
        let crash = |frames: &[&str]| Crash {
            death: Death::Signal(libc::SIGSEGV),
            frames: frames.iter().map(|frame| frame.to_string()).collect(),
        };
        let one = crash(&["copy+0x3c (a.so)", "export+0x10 (a.so)", "f (b.py:1)", "g (b.py:2)"]);
        let outer = crash(&["copy+0x3c (a.so)", "export+0x10 (a.so)", "f (b.py:1)", "h (b.py:9)"]);
        assert!(one.is_at(&outer) && one.is_like(&outer));
        let later = crash(&["copy+0x44 (a.so)", "export+0x10 (a.so)", "f (b.py:1)"]);
        assert!(!one.is_at(&later) && one.is_like(&later), "one loop");
        let other = crash(&["move+0x3c (a.so)", "export+0x10 (a.so)", "f (b.py:1)"]);
        assert!(!one.is_at(&other) && !one.is_like(&other));
        let line = crash(&["copy+0x3c (a.so)", "export+0x10 (a.so)", "f (b.py:7)"]);
        assert!(!one.is_like(&line), "two lines of Python");
        let stripped = [crash(&["a.so+0x10"]), crash(&["a.so+0x20"])];
        assert!(!stripped[0].is_like(&stripped[1]));
        assert!(!crash(&[]).is_at(&crash(&[])) && crash(&[]).is_like(&one), "nothing is known");
        assert_eq!(one.function(), Some("copy"));
        assert_eq!(stripped[0].function(), None);
        assert_eq!(crash(&["f (b.py:1)"]).function(), Some("f"));
    }

    #[test]
    fn a_death_accuses_the_rule_against_crashes() {
        let cause = Cause::from(Death::Signal(libc::SIGFPE));
        let rule = |life: &str| {
            let text = format!("array(shape=(), dtype='float32').__dlpack__(){life}");
            cause.rule(&text.parse().expect("a case")).to_owned()
        };
        assert_eq!(rule(""), "EXC-NO-CRASH");
        assert_eq!(rule(" then take a, drop a"), "EXC-NO-CRASH");
        assert_eq!(rule(" then starve"), "EXC-OOM");
        assert_eq!(rule(" then take a, delete a on native thread"), "LIFE-DELETER-NO-GIL");
        assert_eq!(rule(" then take a, delete a on thread"), "LIFE-DELETER-PY-THREAD");
        assert_eq!(cause.grade(), Grade::Violation);
        assert_eq!(cause.seen(), "the process dies by SIGFPE");
    }
}
