//! A **finding** is a violation or a crash with an identity that stays the same when it is found again.
//!
//! Goes in: a case, the [`Cause`] that the oracle or a child's death gave, and the [`Versions`] of the
//! parts. Comes out: a [`Finding`], which [`Store`] keeps on disk with its case, its report and its
//! reproducer. A [`Known`] finding is data: fuzzing goes on past it. What does not work here (a full disk,
//! a broken TOML file) is an [`Error`] of one sentence; a reproducer that shows nothing is an answer
//! ([`Reproduced`]) and no error.

mod cause;
mod confirm;
mod identity;
mod known;
mod python;
mod reproducer;
mod store;

pub use crate::host::{Error, Versions};
pub use cause::{Cause, Crash, Death, Violation};
pub use confirm::{Limits, confirm};
pub use identity::Identity;
pub use known::{Entry, Fault, Known, Requirement, When};
pub use reproducer::{ReproInput, reproducer};
pub use store::Store;

use crate::case::Case;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What was found, and everything a report says of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Name of its folder under `findings/<backend>/`.
    pub identity: Identity,
    /// The backend, as `--backend` names it.
    pub backend: String,
    /// The profile by which it was judged, with its knobs.
    pub profile: String,
    /// The case, shrunk if there was time to; its text in JSON.
    #[serde(with = "case_text")]
    pub case: Case,
    pub cause: Cause,
    pub versions: Versions,
    /// Whether the reproducer shows it in a fresh interpreter.
    pub reproduced: Reproduced,
    /// The stand-alone Python script; empty if none was made.
    pub script: String,
    /// The command line that shows it again in the same environment, by the same profile; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub again: String,
}

impl Finding {
    /// The rule that is accused.
    pub fn rule(&self) -> &str {
        self.cause.rule(&self.case)
    }

    /// A finding that has no reproducer yet.
    pub fn new(
        backend: impl Into<String>,
        profile: impl Into<String>,
        case: Case,
        cause: Cause,
        versions: Versions,
    ) -> Self {
        Self {
            identity: Identity::of(&case, &cause),
            backend: backend.into(),
            profile: profile.into(),
            case,
            cause,
            versions,
            reproduced: Reproduced::NotTried,
            script: String::new(),
            again: String::new(),
        }
    }
}

/// What running the reproducer in a fresh interpreter showed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reproduced {
    /// Not run.
    #[default]
    NotTried,
    /// The script shows the fault.
    Confirmed,
    /// The script ran and the fault did not show.
    NotShown,
    /// The script could not decide, for this reason.
    Failed(String),
}

impl fmt::Display for Reproduced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotTried => f.write_str("not run"),
            Self::Confirmed => f.write_str("confirmed in a fresh interpreter"),
            Self::NotShown => f.write_str("not shown in a fresh interpreter"),
            Self::Failed(reason) => write!(f, "undecided: {reason}"),
        }
    }
}

/// A case in JSON is its text.
pub(crate) mod case_text {
    use crate::case::Case;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(case: &Case, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(case)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Case, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|error| D::Error::custom(format!("`{text}`: {error}")))
    }
}
