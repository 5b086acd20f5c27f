//! A **share** of the time for cases that are slow: a thousand ordinary ones run while a process is forked or a large
//! heap is collected, and they would starve.

use std::time::{Duration, Instant};

/// Slow cases run at once for as long as this in all: so that one that is run by itself always does.
const GRACE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct Share {
    /// One second in so many.
    part: u32,
    since: Instant,
    spent: Duration,
}

impl Share {
    /// All of the time where libFuzzer merges: an input that does not run would be thrown away.
    pub fn one_in(part: u32) -> Self {
        let merges = std::env::args().any(|argument| argument.starts_with("-merge"));
        Self { part: if merges { 1 } else { part }, since: Instant::now(), spent: Duration::ZERO }
    }

    /// Slow cases have had less than their share.
    pub fn is_left(&self) -> bool {
        self.spent <= GRACE + self.since.elapsed() / self.part
    }

    /// What has run since then was slow.
    pub fn charge(&mut self, since: Instant) {
        self.spent += since.elapsed();
    }
}
