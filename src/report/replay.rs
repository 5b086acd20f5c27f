//! The answers of a replay, one line per input.

use super::prose::ascii;
use serde::Serialize;
use std::fmt;

/// What replaying one input came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Answer {
    /// No rule is broken and nothing died, and nothing else was expected.
    Ok,
    /// A finding that no longer shows.
    Fixed,
    /// A finding, and none that is known.
    Failed,
    /// A known finding.
    Known,
    /// The example of an entry of the known findings, which still shows.
    Still,
    /// The example of an entry of the known findings, which no longer shows: the entry is to be deleted.
    #[serde(rename = "FIXED")]
    Outdated,
    /// The example of an entry of the known findings, of which this environment says nothing.
    #[serde(rename = "NOT RUNNABLE")]
    NotRunnable,
    /// It could not be replayed: not readable, not expressible.
    Error,
}

impl Answer {
    /// Somebody has to act on it.
    pub fn fails(self) -> bool {
        matches!(self, Self::Failed | Self::Outdated)
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Fixed | Self::Outdated => "FIXED",
            Self::Failed => "FAILED",
            Self::Known => "KNOWN",
            Self::Still => "STILL",
            Self::NotRunnable => "NOT RUNNABLE",
            Self::Error => "ERROR",
        }
    }
}

/// One input of a replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplayLine {
    /// The path, or the case's text if it was given as such.
    pub name: String,
    pub answer: Answer,
    /// The case as text, if the input could be read.
    pub case: Option<String>,
    /// The finding, if there is one, and its rule.
    pub identity: Option<String>,
    pub rule: Option<String>,
    /// In a sentence: what was seen, or why it could not be replayed. May be empty.
    pub detail: String,
}

impl ReplayLine {
    pub fn new(name: impl Into<String>, answer: Answer) -> Self {
        let detail = String::new();
        Self { name: name.into(), answer, case: None, identity: None, rule: None, detail }
    }
}

impl fmt::Display for ReplayLine {
    /// `FAILED corpus/x.bin: EXC-DEVICE-ValueError: ValueError instead of BufferError`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<6} {}", self.answer.word(), ascii(&self.name))?;
        let words = self.identity.iter().map(String::as_str).chain([self.detail.as_str()]);
        for word in words.filter(|word| !word.is_empty()) {
            write!(f, ": {}", ascii(word).replace('\n', " "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_line() {
        assert_eq!(ReplayLine::new("a.bin", Answer::Fixed).to_string(), "FIXED  a.bin");
        let failed = ReplayLine {
            identity: Some("EXC-DEVICE-ValueError".into()),
            detail: "ValueError\ninstead of BufferError".into(),
            ..ReplayLine::new("b.bin", Answer::Failed)
        };
        assert_eq!(
            failed.to_string(),
            "FAILED b.bin: EXC-DEVICE-ValueError: ValueError instead of BufferError"
        );
    }
}
