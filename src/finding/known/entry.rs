//! An **entry** is one known finding: what is broken, where it shows, and for which versions.

use super::{Requirement, When};
use crate::case::Case;
use crate::finding::{Cause, Death, Versions};
use serde::Deserialize;
use std::collections::BTreeMap;

/// One known finding.
#[derive(Clone, Debug)]
pub struct Entry {
    pub fault: Fault,
    /// The cases that show it, any of them; none: all cases.
    pub when: Vec<When>,
    /// Requirements on the versions of libraries, all of them.
    pub versions: BTreeMap<String, Requirement>,
    /// Address of the upstream issue.
    pub upstream: Option<String>,
    /// A case that shows it.
    pub example: Case,
    /// The day of the entry, `2026-12-01`.
    pub since: String,
    /// What is wrong, for people.
    pub note: String,
    /// Line of the entry in its file.
    pub line: usize,
}

/// What is known to be broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// This rule; with a key only the fault of that key.
    Rule { rule: String, key: Option<String> },
    /// The process dies like this.
    Crash(Death),
}

/// An entry as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    rule: Option<String>,
    key: Option<String>,
    crash: Option<Death>,
    #[serde(default)]
    when: Vec<When>,
    #[serde(default)]
    versions: BTreeMap<String, Requirement>,
    upstream: Option<String>,
    example: String,
    since: toml::value::Datetime,
    #[serde(default)]
    note: String,
}

impl Entry {
    pub(super) fn new(raw: Raw, line: usize) -> Result<Self, String> {
        let fault = match (raw.rule, raw.crash) {
            (Some(rule), None) => Fault::Rule { rule, key: raw.key },
            (None, Some(death)) if raw.key.is_none() => Fault::Crash(death),
            (None, Some(_)) => return Err("a crash has no `key`".into()),
            _ => return Err("an entry has either `rule` or `crash`".into()),
        };
        let narrow = match &fault {
            Fault::Rule { key: Some(_), .. } => true,
            _ => !raw.when.is_empty() && !raw.when.iter().any(When::is_everything),
        };
        if !narrow {
            return Err(
                "the entry covers every case; add a `key` or a `when` that says more".into()
            );
        }
        let example: Case =
            raw.example.parse().map_err(|error| format!("`{}`: {error}", raw.example))?;
        let entry = Self {
            fault,
            when: raw.when,
            versions: raw.versions,
            upstream: raw.upstream,
            example,
            since: raw.since.to_string(),
            note: raw.note,
            line,
        };
        if !entry.shows(&entry.example) {
            return Err("no `when` of the entry holds for its own example".into());
        }
        Ok(entry)
    }

    /// The entry is about this rule and key, or about this death.
    pub fn is_about(&self, cause: &Cause) -> bool {
        match (&self.fault, cause) {
            (Fault::Rule { rule, key }, Cause::Violation(violation)) => {
                *rule == violation.rule
                    && key.as_ref().is_none_or(|key| *key == violation.evidence.key)
            }
            (Fault::Crash(death), Cause::Crash(crash)) => *death == crash.death,
            _ => false,
        }
    }

    pub(super) fn kills(&self) -> bool {
        matches!(self.fault, Fault::Crash(_))
    }

    /// The case is one of those that show the fault. A process dies of a probe's call as well as of the
    /// case's own.
    pub(super) fn shows(&self, case: &Case) -> bool {
        let holds = |case: &Case| self.when.iter().any(|when| when.holds(case));
        self.when.is_empty()
            || holds(case)
            || self.kills()
                && case.probes.iter().any(|probe| {
                    let call = probe.call(&case.call, case.tensor.device);
                    holds(&Case { call, ..case.clone() })
                })
    }

    /// Every requirement holds; one on a library that took no part does not.
    pub fn applies(&self, versions: &Versions) -> bool {
        self.versions.iter().all(|(library, requirement)| {
            (versions.libraries.iter())
                .any(|(name, version)| name == library && requirement.admits(version))
        })
    }
}
