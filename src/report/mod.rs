//! A **report** shows findings: to people in a terminal or an upstream issue, to machines as JSON or JUnit.
//!
//! Goes in: findings, replay lines, counts of rules. Comes out: text. Nothing here runs a case or decides
//! anything, and nothing fails.

pub(crate) mod prose;

use crate::finding::Finding;
pub fn markdown(_: &Finding) -> String {
    String::new()
}
pub fn json(finding: &Finding) -> String {
    serde_json::to_string_pretty(finding).unwrap()
}
