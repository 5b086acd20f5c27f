//! What was **noted**: a rule that a case breaks in a way that accuses nobody.

use crate::case::Case;
use crate::finding::Violation;
use serde::{Deserialize, Serialize};

/// A broken rule below a violation, with the simplest case that was met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// Its text in JSON.
    #[serde(with = "crate::finding::case_text")]
    pub case: Case,
    #[serde(flatten)]
    pub violation: Violation,
}
