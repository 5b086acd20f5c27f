//! The **mutation score**: of how many judged rules the oracle has been seen to catch a planted fault.
//!
//! Goes in: `planted.tsv`, one line per judged rule: the faults under which it was caught, or why none can be
//! planted. `tests/planted_faults.rs` plants them in the reference exporter, and keeps list, functions and
//! faults in step; a fault of another test is written `TEST:NAME`.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

const TSV: &str = include_str!("planted.tsv");

struct Line {
    faults: Vec<&'static str>,
    reason: Option<&'static str>,
}

static LINES: LazyLock<HashMap<&str, Line>> = LazyLock::new(|| {
    let line = |line: &'static str| {
        let mut cells = line.split('\t').map(|cell| if cell == "-" { "" } else { cell });
        let mut next = || cells.next().unwrap_or_default();
        let (rule, faults, reason) = (next(), next(), next());
        let faults = faults.split(',').filter(|fault| !fault.is_empty()).collect();
        (rule, Line { faults, reason: Some(reason).filter(|reason| !reason.is_empty()) })
    };
    TSV.lines().skip(1).map(line).collect()
});

/// The faults that this rule caught.
pub fn of(rule: &str) -> &'static [&'static str] {
    LINES.get(rule).map_or(&[], |line| &line.faults)
}

/// Why no fault breaks this rule.
pub fn why_none(rule: &str) -> Option<&'static str> {
    LINES.get(rule)?.reason
}

/// How much of the oracle is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Score {
    /// Rules that caught a fault of their own.
    pub caught: usize,
    /// Rules that are judged.
    pub judged: usize,
    pub faults: usize,
}

pub fn score() -> Score {
    let rules = super::rules();
    let caught = rules.iter().filter(|rule| !of(rule.id).is_empty()).count();
    let faults = rules.iter().map(|rule| of(rule.id).len()).sum();
    Score { caught, judged: rules.len(), faults }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { caught, judged, faults } = self;
        let percent = 100 * caught / judged.max(&1);
        write!(
            f,
            "mutation score {percent} %: {caught} of {judged} judged rules catch a planted fault, {faults} faults in all"
        )
    }
}
