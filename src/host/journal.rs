//! The **journal**: one page of shared memory in which a child says what it is doing, so that its parent
//! knows which case killed it, and how far it has come while it lives.
//!
//! Goes in: the bytes of the case before it runs, the judgement after it. Comes out: a [`Snapshot`], at any
//! time, also after the writer is gone. It costs the writer a few nanoseconds per case: relaxed stores to
//! mapped memory, no system call. There is one writer; its words are ordered by a sequence number (a
//! seqlock), so that a reader never takes half of one case and half of the next.

use super::trace::{self, Trace};
use crate::oracle::{Grade, Judgement, RuleSet};
use memmap2::MmapMut;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::atomic::{
    AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, fence,
};

/// `DLPKJRN` and the layout's version.
const MAGIC: u64 = u64::from_be_bytes(*b"DLPKJRN\x02");
/// The longest case that is kept; libFuzzer's default for `-max_len`.
pub const CASE_MAX: usize = 4096;
/// As many rules as a [`RuleSet`] holds.
const RULES_MAX: usize = 256;

/// Both sides of the mapping.
pub struct Journal {
    map: MmapMut,
    file: File,
}

/// What the journal said at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Cases begun; the last one is in flight if this is more than `done`.
    pub begun: u64,
    pub done: u64,
    /// Violations that were put into words.
    pub findings: u64,
    /// Signs of life within a case that takes long because it is repeated.
    pub pulses: u64,
    /// Cases by the gravest grade that was seen in them: none, info, warning, violation.
    pub grades: [u64; 4],
    pub checked: RuleSet,
    pub fired: RuleSet,
    /// What the last case was begun with: its place in a sweep and its bytes. The bytes are missing only
    /// if the writer was killed while it wrote them.
    pub place: u64,
    pub case: Option<Vec<u8>>,
}

impl Snapshot {
    /// A case was begun and not ended.
    pub fn in_flight(&self) -> bool {
        self.begun > self.done
    }

    /// There is a case that a death in a stretch from this place on is put down to: the one in flight, or the last one,
    /// which may have left the process broken. Only that case's death alone convicts it.
    pub fn has_suspect(&self, from: u64) -> bool {
        self.in_flight() || self.begun > 0 && self.place >= from
    }

    /// Differs from an earlier one of the same writer if that has come further since.
    pub fn progress(&self) -> (u64, u64) {
        (self.done, self.pulses)
    }
}

/// How often one rule was checked and fired, by its place in `oracle::rules()`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    pub checked: Vec<u64>,
    pub fired: Vec<u64>,
}

/// All numbers are in native order: both sides run on one machine.
#[repr(C)]
struct Page {
    magic: AtomicU64,
    sequence: AtomicU64,
    begun: AtomicU64,
    done: AtomicU64,
    findings: AtomicU64,
    pulses: AtomicU64,
    grades: [AtomicU64; 4],
    checked: [AtomicU64; 4],
    fired: [AtomicU64; 4],
    checks: [AtomicU64; RULES_MAX],
    fires: [AtomicU64; RULES_MAX],
    // Under the sequence number:
    place: AtomicU64,
    length: AtomicU64,
    case: [AtomicU64; CASE_MAX / 8],
    // Written by a handler of signals:
    trace: trace::Page,
}

impl Journal {
    /// Makes the file, all zeros, in place of one that may be there.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
        file.set_len(size_of::<Page>() as u64)?;
        // A hole in a full disk would be a SIGBUS at the first store, so ask for the blocks now.
        // SAFETY: the descriptor is open; the call touches no memory of this process.
        let refused = unsafe {
            libc::posix_fallocate(
                std::os::fd::AsRawFd::as_raw_fd(&file),
                0,
                size_of::<Page>() as i64,
            )
        };
        if refused != 0 {
            return Err(io::Error::from_raw_os_error(refused));
        }
        let journal = Self::map(file)?;
        journal.page().magic.store(MAGIC, Release);
        Ok(journal)
    }

    /// Maps a file that [`Journal::create`] made, counts and all.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() != size_of::<Page>() as u64 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "no journal, or one of another build",
            ));
        }
        let journal = Self::map(file)?;
        if journal.page().magic.load(Acquire) != MAGIC {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "no journal, or one of another build",
            ));
        }
        Ok(journal)
    }

    /// One without a file, for this process and those that it forks.
    pub fn unnamed() -> io::Result<Self> {
        // SAFETY: the name is NUL-terminated; the descriptor is new and becomes the file's own.
        let file = unsafe {
            let descriptor = libc::memfd_create(c"journal".as_ptr(), libc::MFD_CLOEXEC);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            <File as std::os::fd::FromRawFd>::from_raw_fd(descriptor)
        };
        file.set_len(size_of::<Page>() as u64)?;
        let journal = Self::map(file)?;
        journal.page().magic.store(MAGIC, Release);
        Ok(journal)
    }

    /// Another mapping of the same page.
    pub fn share(&self) -> io::Result<Self> {
        Self::map(self.file.try_clone()?)
    }

    fn map(file: File) -> io::Result<Self> {
        // SAFETY: every access goes through the atomics of `Page`, for which a change by the other process
        // is an ordinary event. Nobody truncates the file while it is mapped.
        let map = unsafe { MmapMut::map_mut(&file)? };
        Ok(Self { map, file })
    }

    fn page(&self) -> &Page {
        debug_assert!(self.map.len() >= size_of::<Page>());
        // SAFETY: the mapping is at least a `Page` long (checked when it was made), page-aligned, and any
        // bytes are a valid `Page`; it lives as long as `self`.
        unsafe { &*self.map.as_ptr().cast::<Page>() }
    }

    /// Notes the case that is about to run; bytes past [`CASE_MAX`] are cut off.
    pub fn begin(&mut self, case: &[u8]) {
        self.begin_at(0, case);
    }

    /// The same, for the case at a place of a sweep.
    pub fn begin_at(&mut self, place: u64, case: &[u8]) {
        self.write(place, case, 1);
    }

    /// The same, for a case that was counted before; the place stays the last one's, where a sweep goes on.
    pub fn repeat(&mut self, case: &[u8]) {
        let page = self.page();
        page.done.store(page.begun.load(Relaxed).saturating_sub(1), Relaxed);
        // The counts come to no more than before, and yet it goes on.
        self.pulse();
        self.write(page.place.load(Relaxed), case, 0);
    }

    /// Notes a sign of life.
    pub fn pulse(&self) {
        add(&self.page().pulses, 1);
    }

    fn write(&mut self, place: u64, case: &[u8], more: u64) {
        let page = self.page();
        let case = &case[..case.len().min(CASE_MAX)];
        let sequence = page.sequence.load(Relaxed);
        page.sequence.store(sequence | 1, Relaxed);
        fence(Release);
        page.place.store(place, Relaxed);
        page.length.store(case.len() as u64, Relaxed);
        let (words, rest) = case.as_chunks::<8>();
        for (slot, word) in page.case.iter().zip(words) {
            slot.store(u64::from_ne_bytes(*word), Relaxed);
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            page.case[words.len()].store(u64::from_ne_bytes(word), Relaxed);
        }
        page.begun.store(page.begun.load(Relaxed) + more, Relaxed);
        page.sequence.store((sequence | 1) + 1, Release);
    }

    /// Notes that the case is over and what was said of it; `None` for one that was not run to its end
    /// (not expressible).
    pub fn end(&mut self, judgement: Option<&Judgement>) {
        let page = self.page();
        if let Some(judgement) = judgement {
            add_words(&page.checked, judgement.checked);
            add_words(&page.fired, judgement.fired);
            let grade = match judgement.violations.first().map(|violation| violation.grade) {
                None => 0,
                Some(Grade::Info) => 1,
                Some(Grade::Warning) => 2,
                Some(Grade::Violation) => 3,
            };
            add(&page.grades[grade], 1);
            add(&page.findings, judgement.violations.len() as u64);
        }
        page.done.store(page.begun.load(Relaxed), Release);
    }

    /// Counts each rule of a judgement. Dearer than [`Journal::end`], so the fuzz targets leave it out.
    pub fn count(&mut self, judgement: &Judgement) {
        let page = self.page();
        add_each(&page.checks, judgement.checked);
        add_each(&page.fires, judgement.fired);
    }

    /// What was counted by [`Journal::count`] for the first `rules` rules.
    pub fn counts(&self, rules: usize) -> Counts {
        let page = self.page();
        let take = |counts: &[AtomicU64]| {
            counts[..rules].iter().map(|count| count.load(Relaxed)).collect()
        };
        Counts { checked: take(&page.checks), fired: take(&page.fires) }
    }

    /// Where the writer was when a signal ended it.
    pub fn trace(&self) -> Option<Trace> {
        self.page().trace.read()
    }

    /// The trace is written to its end.
    pub fn has_whole_trace(&self) -> bool {
        self.page().trace.is_whole()
    }

    /// The trace's part of the page, for a handler of signals: the mapping stays for ever.
    pub fn trace_page(self) -> &'static trace::Page {
        let page = std::ptr::from_ref(self.page());
        // Neither unmapped nor closed from here on; there is no block on the heap that could be lost.
        std::mem::forget(self);
        // SAFETY: the mapping is as `page` has it, and stays.
        unsafe { &(*page).trace }
    }

    /// Forgets that a case is in flight, and the trace: after the writer died and before the next one starts.
    pub fn settle(&mut self) {
        let page = self.page();
        page.trace.clear();
        page.done.store(page.begun.load(Relaxed), Release);
    }

    /// The state at this moment; cheap but for the case's bytes.
    pub fn read(&self) -> Snapshot {
        let page = self.page();
        let mut snapshot = Snapshot {
            done: page.done.load(Acquire),
            findings: page.findings.load(Relaxed),
            pulses: page.pulses.load(Relaxed),
            grades: page.grades.each_ref().map(|count| count.load(Relaxed)),
            checked: RuleSet::from_words(page.checked.each_ref().map(|word| word.load(Relaxed))),
            fired: RuleSet::from_words(page.fired.each_ref().map(|word| word.load(Relaxed))),
            begun: page.begun.load(Relaxed),
            ..Snapshot::default()
        };
        // A live writer is inside `begin` for some nanoseconds of each case; a dead one stays there.
        for _ in 0..1000 {
            let before = page.sequence.load(Acquire);
            if before & 1 == 0 {
                let length = (page.length.load(Relaxed) as usize).min(CASE_MAX);
                let mut case = Vec::with_capacity(length.next_multiple_of(8));
                for slot in &page.case[..length.div_ceil(8)] {
                    case.extend_from_slice(&slot.load(Relaxed).to_ne_bytes());
                }
                case.truncate(length);
                let place = page.place.load(Relaxed);
                let begun = page.begun.load(Relaxed);
                fence(Acquire);
                if page.sequence.load(Relaxed) == before {
                    snapshot.place = place;
                    snapshot.begun = begun;
                    snapshot.case = Some(case);
                    break;
                }
            }
            std::hint::spin_loop();
        }
        snapshot
    }
}

/// There is one writer, so a load and a store do what a locked addition would, at a tenth of its price.
fn add(counter: &AtomicU64, more: u64) {
    if more > 0 {
        counter.store(counter.load(Relaxed) + more, Relaxed);
    }
}

fn add_words(words: &[AtomicU64; 4], set: RuleSet) {
    for (word, more) in words.iter().zip(set.words()) {
        let old = word.load(Relaxed);
        if old | more != old {
            word.store(old | more, Relaxed);
        }
    }
}

fn add_each(counts: &[AtomicU64; RULES_MAX], set: RuleSet) {
    for (place, word) in set.words().into_iter().enumerate() {
        let mut word = word;
        while word != 0 {
            add(&counts[64 * place + word.trailing_zeros() as usize], 1);
            word &= word - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn journal() -> (tempfile::TempDir, Journal, Journal) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let writer = Journal::create(&path).unwrap();
        let reader = Journal::open(&path).unwrap();
        (dir, writer, reader)
    }

    #[test]
    fn the_case_in_flight_is_read_by_the_other_side() {
        let (_dir, mut writer, reader) = journal();
        assert!(!reader.read().in_flight());
        for length in [0, 1, 7, 8, 9, 63, 64, CASE_MAX] {
            let case: Vec<u8> = (0..length).map(|place| place as u8 ^ 0x5a).collect();
            writer.begin_at(length as u64, &case);
            let seen = reader.read();
            assert!(seen.in_flight());
            assert_eq!((seen.place, seen.case.as_deref()), (length as u64, Some(&case[..])));
            writer.end(None);
            assert!(!reader.read().in_flight());
        }
        writer.begin(&[1; CASE_MAX + 9]);
        assert_eq!(reader.read().case, Some(vec![1; CASE_MAX]));
    }

    #[test]
    fn a_death_between_two_cases_is_put_down_to_the_last_one_of_the_stretch() {
        let at = |begun, done, place| Snapshot { begun, done, place, ..Snapshot::default() };
        assert!(at(3, 2, 7).has_suspect(9), "in flight");
        assert!(at(3, 3, 9).has_suspect(9));
        assert!(!at(3, 3, 7).has_suspect(9), "of the stretch before");
        assert!(!at(0, 0, 0).has_suspect(0));
    }

    #[test]
    fn a_case_that_is_repeated_counts_once_and_keeps_the_place() {
        let (_dir, mut writer, reader) = journal();
        writer.begin_at(7, b"first");
        writer.end(None);
        let before = reader.read();
        writer.repeat(b"again");
        let seen = reader.read();
        assert!(seen.in_flight() && seen.case.as_deref() == Some(b"again"));
        assert_eq!((seen.place, seen.begun), (7, before.begun));
        writer.end(None);
        let after = reader.read();
        assert!(!after.in_flight() && after.done == before.done);
        assert_ne!(after.progress(), before.progress());
    }

    #[test]
    fn rules_grades_and_counts_add_up_over_cases() {
        let (_dir, mut writer, reader) = journal();
        for place in [3, 200, 3] {
            let mut judgement = Judgement::default();
            judgement.checked.insert(place);
            writer.begin(b"x");
            writer.count(&judgement);
            writer.end(Some(&judgement));
        }
        let seen = reader.read();
        assert_eq!((seen.begun, seen.done, seen.grades), (3, 3, [3, 0, 0, 0]));
        assert!(seen.checked.contains(3) && seen.checked.contains(200) && seen.checked.len() == 2);
        assert!(seen.fired.is_empty());
        assert_eq!((reader.counts(201).checked[3], reader.counts(201).checked[200]), (2, 1));
    }

    #[test]
    fn a_reader_never_sees_parts_of_two_cases() {
        let (_dir, mut writer, reader) = journal();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..200_000_u64 {
                    let length = 1 + (round % 90) as usize;
                    writer.begin_at(round, &vec![round as u8; length]);
                    writer.end(None);
                }
                over.store(true, Relaxed);
            });
            while !over.load(Relaxed) {
                let seen = reader.read();
                let Some(case) = seen.case.filter(|case| !case.is_empty()) else { continue };
                assert_eq!(case, vec![seen.place as u8; 1 + (seen.place % 90) as usize]);
            }
        });
    }

    #[test]
    fn a_file_that_is_no_journal_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        std::fs::write(&path, "short").unwrap();
        assert!(Journal::open(&path).is_err());
        std::fs::write(&path, vec![0; size_of::<Page>()]).unwrap();
        assert!(Journal::open(&path).is_err());
    }
}
