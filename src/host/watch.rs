//! A **watch** over the heap while cases run: which case leaves memory behind that nobody counts.
//!
//! Goes in: every case that was run, but for those with a life. Comes out, after a batch over which the heap grew, the case that makes it
//! grow, found by running halves of the batch again; whether it is a leak is for the session to measure and for
//! the oracle to say. Caches grow too: each search that finds nothing makes the next one rarer.

use super::heap;
use crate::case::{Case, MAX_ENCODED};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Cases between two readings: a leak of every tenth case is then far above what stays by chance.
const BATCH: usize = 4096;
/// Bytes of a batch; most cases have less than a hundred.
const ROOM: usize = 1 << 20;
/// The time between two readings, where cases are slow.
const INTERVAL: Duration = Duration::from_secs(2);
/// Cases between two looks at the clock.
const TICK: usize = 64;
/// What may stay behind a batch by chance: spare blocks of the allocator, names, tables.
const CHANCE: i64 = 1024;
/// The smallest block there is.
const BLOCK: i64 = 16;
/// At most this many batches are passed over after a search in vain.
const LONGEST_REST: u32 = 64;

#[derive(Debug)]
pub struct Watch {
    /// The cases' bytes in a row, and where each ends. Both have their room from the start: libFuzzer looks for leaks
    /// after every run that allocates what it does not free.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Live bytes when the batch began.
    level: Option<i64>,
    began: Instant,
    /// LeakSanitizer has found something that it will find for ever.
    has_lost: bool,
    /// Batches to pass over, and how many it will be the next time.
    rest: u32,
    next_rest: u32,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            bytes: Vec::with_capacity(ROOM),
            ends: Vec::with_capacity(BATCH),
            level: None,
            began: Instant::now(),
            has_lost: false,
            rest: 0,
            next_rest: 1,
        }
    }
}

impl Watch {
    /// Takes a case that was run, by its bytes; whether the batch is at its end. A case with a life is not run again
    /// in a search: its threads, collections and children keep memory for a while, which hides what is lost.
    pub fn note(&mut self, case: &Case, bytes: &[u8]) -> bool {
        if !case.life.is_empty() {
            return false;
        }
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
        let is_full = self.ends.len() == BATCH || self.bytes.len() + MAX_ENCODED > ROOM;
        is_full || self.ends.len().is_multiple_of(TICK) && self.began.elapsed() >= INTERVAL
    }

    /// Ends the batch: the case that makes the heap grow, if it grew. `run` runs a case of the batch again.
    pub fn look(&mut self, mut run: impl FnMut(&[u8])) -> Option<Case> {
        let before = self.level;
        let mut found = None;
        if let Some(before) = before {
            let is_lost = self.finds_lost_blocks();
            let grown = heap::live_bytes().map_or(0, |after| after - before);
            if is_lost || self.rest == 0 && grown > CHANCE {
                found = self.search(&mut run);
                self.rest = self.next_rest;
                self.next_rest = (2 * self.next_rest).min(LONGEST_REST);
            } else {
                self.rest = self.rest.saturating_sub(1);
            }
        }
        self.bytes.clear();
        self.ends.clear();
        self.level = heap::live_bytes();
        self.began = Instant::now();
        found
    }

    /// LeakSanitizer finds something for the first time.
    fn finds_lost_blocks(&mut self) -> bool {
        let is_lost = !self.has_lost && heap::has_lost_blocks();
        self.has_lost |= is_lost;
        is_lost
    }

    /// Halves the batch as long as a half leaves something behind, and takes the half that leaves more.
    fn search(&self, run: &mut impl FnMut(&[u8])) -> Option<Case> {
        let case = |number: usize| {
            let start = if number == 0 { 0 } else { self.ends[number - 1] };
            &self.bytes[start..self.ends[number]]
        };
        let mut growth = |cases: Range<usize>| {
            let before = heap::live_bytes();
            cases.for_each(|number| run(case(number)));
            heap::live_bytes().zip(before).map_or(0, |(after, before)| after - before)
        };
        let mut suspects = 0..self.ends.len();
        // Once for what is kept by whoever meets a case for the first time.
        growth(suspects.clone());
        if growth(suspects.clone()) < BLOCK {
            return None;
        }
        while suspects.len() > 1 {
            let middle = suspects.start + suspects.len() / 2;
            let halves = [suspects.start..middle, middle..suspects.end];
            let grown = halves.each_ref().map(|half| growth(half.clone()));
            if grown[0].max(grown[1]) < BLOCK {
                return None;
            }
            let [one, other] = halves;
            suspects = if grown[0] >= grown[1] { one } else { other };
        }
        suspects.next().map(|number| Case::decode(case(number)))
    }
}
