//! Runs one case after another in a session and judges each.
//!
//! Alone (`cargo fuzz run`), the first new violation is printed and the process panics, so that libFuzzer
//! keeps the input. Under `dlpack-fuzz fuzz`, which names an outbox, it is left there and the run goes on.

use crate::{feedback, share::Share, wanted::Wanted, witness};
use dlpack_fuzz::abi::DLDevice;
use dlpack_fuzz::case::{
    self, Case, ExchangeStep, Life, Probes, Rng, Surface, Vocabulary, generate,
};
use dlpack_fuzz::finding::{Cause, Known, ReproInput, Versions, reproducer};
use dlpack_fuzz::host::journal::Journal;
use dlpack_fuzz::host::outbox::Outbox;
use dlpack_fuzz::host::steering::Steering;
use dlpack_fuzz::host::watch::Watch;
use dlpack_fuzz::host::{Detail, Session};
use dlpack_fuzz::oracle::{Grade, Observation, Profile, Violation, judge};
use dlpack_fuzz::report::{Style, terminal_in};
use dlpack_fuzz::subject::Subject;
use std::cell::RefCell;
use std::os::fd::AsFd;
use std::sync::LazyLock;
use std::time::Instant;

thread_local! {
    static VOCABULARY: RefCell<Vocabulary> = RefCell::default();
    static HARNESS: RefCell<Option<Harness>> = const { RefCell::new(None) };
}

struct Harness {
    session: Session,
    subject: Subject,
    profile: Profile,
    known: Known,
    versions: Versions,
    steering: Steering,
    outbox: Option<Outbox>,
    journal: Journal,
    wanted: Option<Wanted>,
    watch: Watch,
    /// For costly lives.
    share: Share,
    /// Nothing has run yet: libFuzzer and the library install their handlers of signals before the first case.
    is_new: bool,
    /// The case's bytes for the journal.
    bytes: Vec<u8>,
}

/// Opens the session; ends the process with status 2 and one line if it cannot.
pub fn start() {
    let harness = Harness::open().unwrap_or_else(|error| {
        eprintln!("dlpack-fuzz: {error}");
        std::process::exit(2);
    });
    VOCABULARY.set(harness.session.vocabulary());
    HARNESS.set(Some(harness));
}

/// As [`start`], for the target whose matter lives are.
pub fn start_lifecycle() {
    start();
    HARNESS.with_borrow_mut(|harness| {
        harness.as_mut().expect("start has run").share = Share::one_in(COSTLY_ONE_IN_OF_LIVES);
    });
}

/// As [`start`], for the target that runs shared objects only.
pub fn start_c() {
    if Subject::from_env().is_ok_and(|subject| !subject.is_c()) {
        eprintln!("dlpack-fuzz: c_abi runs shared objects: set DLPACK_FUZZ_BACKEND=c:PATH");
        std::process::exit(2);
    }
    start();
}

/// As [`start`], and ends the process likewise if the backend's arrays have no C exchange API.
pub fn start_exchange_api() {
    start();
    HARNESS.with_borrow(|harness| {
        let session = &harness.as_ref().expect("start has run").session;
        if let Err(error) = session.require_exchange_api() {
            eprintln!("dlpack-fuzz: {error}");
            std::process::exit(2);
        }
    });
}

/// As [`run`], of a case that asks for all of the C exchange API if it asks for no part of it.
pub fn run_exchange_api(case: &Case) {
    if case.probes.asks_exchange() {
        return run(case);
    }
    let mut case = case.clone();
    ExchangeStep::USUAL.into_iter().for_each(|step| case.probes.ask(step));
    run(&case);
}

/// Runs and judges a case.
pub fn run(case: &Case) {
    HARNESS.with_borrow_mut(|harness| harness.as_mut().expect("start has run").run(case));
}

impl Harness {
    fn open() -> Result<Self, Box<dyn std::error::Error>> {
        let subject = Subject::from_env()?;
        let outbox = Outbox::from_env().transpose()?;
        let journal = match &outbox {
            Some(outbox) => outbox.journal()?,
            None => {
                let journal = Journal::unnamed()?;
                witness::stand_by(&journal)?;
                journal
            }
        };
        let mut session = Session::open(&subject.options())?;
        let pulse = journal.share()?;
        session.on_pulse(move || pulse.pulse());
        Ok(Self {
            profile: subject.profile()?,
            known: Known::load(&subject.known_folder(), &subject.backend)?,
            versions: session.versions(),
            steering: match &outbox {
                Some(outbox) => Steering::read(&outbox.steer_file())?,
                None => Steering::default(),
            },
            journal,
            outbox,
            wanted: Wanted::from_env().transpose()?,
            watch: Watch::default(),
            share: Share::one_in(COSTLY_ONE_IN),
            is_new: true,
            bytes: vec![0; case::MAX_ENCODED],
            session,
            subject,
        })
    }

    fn run(&mut self, case: &Case) {
        if std::mem::take(&mut self.is_new)
            && let Err(error) = self.leave_trace()
        {
            eprintln!("dlpack-fuzz: a crash will leave no trace: {error}");
        }
        if self.steers(case) {
            return;
        }
        if case.life.is_costly() {
            if self.share.is_left() {
                let since = Instant::now();
                self.run_one(case);
                self.share.charge(since);
            }
            return;
        }
        self.run_one(case);
    }

    fn run_one(&mut self, case: &Case) {
        let length = case.encode_into(&mut self.bytes).unwrap_or(0);
        self.journal.begin(&self.bytes[..length]);
        let seen = self.session.run(case, Detail::Brief);
        let least = self.wanted.as_ref().map_or(Grade::Violation, |wanted| wanted.grade);
        let judgement = seen.ok().map(|seen| {
            let judgement = judge(case, &seen, &self.profile, least);
            feedback::observe(case, &seen, &judgement);
            judgement
        });
        self.journal.end(judgement.as_ref());
        if let Some(wanted) = &mut self.wanted {
            wanted.look_at(case, judgement.as_ref());
            return;
        }
        if judgement.is_some_and(|it| it.violations.iter().any(|it| self.is_news(case, it))) {
            self.tell(case);
        }
        if self.watch.note(case, &self.bytes[..length]) {
            self.search();
        }
    }

    /// From now on a crash says where it was: to the command that started this target, else on standard error.
    fn leave_trace(&self) -> Result<(), Box<dyn std::error::Error>> {
        let stack = match &self.outbox {
            Some(outbox) => std::fs::File::create(outbox.stack_file())?,
            None => std::io::stderr().as_fd().try_clone_to_owned()?.into(),
        };
        Ok(self.session.leave_trace(self.journal.share()?, stack)?)
    }

    /// Ends a batch of the watch, and tells what the case that makes the heap grow breaks, if there is one.
    fn search(&mut self) {
        let suspect = self.watch.look(|bytes| {
            self.journal.repeat(bytes);
            let _ = self.session.run(&Case::decode(bytes), Detail::Brief);
            self.journal.end(None);
        });
        if let Some(case) = suspect {
            self.journal.repeat(&case.encode());
            self.tell(&case);
            self.journal.end(None);
        }
    }

    /// The case is known to kill the process, or has killed one of this session's.
    fn steers(&self, case: &Case) -> bool {
        self.steering.steers(case)
            || !self.subject.ignore_known && self.known.steers(case, &self.versions).is_some()
    }

    /// Neither known nor left before: worth the thousands of rounds that the details take.
    fn is_news(&self, case: &Case, violation: &Violation) -> bool {
        let is_left = self.outbox.as_ref().is_some_and(|outbox| outbox.has_left(violation));
        let is_known = || {
            let cause = Cause::from(violation.clone());
            self.known.covers(case, &cause, &self.versions).is_some()
        };
        !is_left && (self.subject.ignore_known || !is_known())
    }

    /// Runs a case with violations again, for the details, and hands on those that are new.
    fn tell(&mut self, case: &Case) {
        let Ok(seen) = self.session.run(case, Detail::Full) else { return };
        let judgement = judge(case, &seen, &self.profile, Grade::Violation);
        for violation in judgement.violations {
            if !self.is_news(case, &violation) {
                continue;
            }
            match &mut self.outbox {
                Some(outbox) => {
                    if let Err(error) = outbox.leave(case, &violation) {
                        eprintln!(
                            "dlpack-fuzz: a finding could not be left ({error}); it is tried again"
                        );
                    }
                }
                None => self.stop(case, &seen, violation),
            }
        }
    }

    /// Prints the report and panics: libFuzzer writes the artifact.
    fn stop(&mut self, case: &Case, seen: &Observation, violation: Violation) -> ! {
        let rule = violation.rule;
        let cause = Cause::from(violation);
        let mut finding = self.subject.finding(case.clone(), cause, self.versions.clone());
        finding.script = reproducer(&ReproInput {
            case,
            cause: &finding.cause,
            build: &self.session.source(case),
            versions: &self.versions,
            own: seen.device_before.device().unwrap_or(DLDevice::CPU),
        });
        eprintln!("{}", terminal_in(&finding, Style::of(&std::io::stderr())));
        if self.journal.read().in_flight() {
            // It is an earlier case that is run again, and libFuzzer will write the last one.
            self.journal.end(None);
            match witness::keep(case) {
                Ok(path) => eprintln!("dlpack-fuzz: the case's bytes are in {}", path.display()),
                Err(error) => eprintln!("dlpack-fuzz: the case could not be written: {error}"),
            }
        }
        panic!("{rule} is violated; the report is above");
    }
}

/// All mutations are libFuzzer's own: what a search benchmark compares with.
static PLAIN: LazyLock<bool> = LazyLock::new(|| {
    std::env::var_os("DLPACK_FUZZ_PLAIN_MUTATION").is_some_and(|value| !value.is_empty())
});
/// One second in this many may go to costly lives; in their own target one in that many.
const COSTLY_ONE_IN: u32 = 8;
const COSTLY_ONE_IN_OF_LIVES: u32 = 2;
/// One mutation in this many is left to libFuzzer, which also tries what no case encodes to.
const BYTES_ONE_IN: u64 = 8;
/// One in this many is a case drawn anew: a corpus must not keep the search near its seeds.
const FRESH_ONE_IN: u64 = 16;

/// Mutates the case that `data[..size]` is; the new size.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    mutate_and(data, size, max_size, seed, |_, _| {})
}

/// As [`mutate`], and gives a life to few cases: it costs as much as several calls.
pub fn mutate_c(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    mutate_and(data, size, max_size, seed, |case, rng| {
        if rng.chance(1, 8) {
            case::draw_life(&mut case.life, rng);
        } else if rng.chance(7, 8) {
            case.life = Life::default();
        }
    })
}

/// As [`mutate`], and draws which parts of the C exchange API the case asks for.
pub fn mutate_exchange_api(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    mutate_and(data, size, max_size, seed, case::draw_steps)
}

/// As [`mutate`], of a case with a life, whose call and array are mostly left as they are.
pub fn mutate_lifecycle(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    mutate_and(data, size, max_size, seed, |case, rng| {
        if !rng.chance(1, 4) {
            case.probes = Probes::NONE;
        }
        if case.life.is_empty() || rng.chance(7, 8) {
            case::draw_life(&mut case.life, rng);
        }
    })
}

fn mutate_and(
    data: &mut [u8],
    size: usize,
    max_size: usize,
    seed: u32,
    then: impl Fn(&mut Case, &mut Rng),
) -> usize {
    let mut rng = Rng::new(u64::from(seed));
    if *PLAIN || rng.chance(1, BYTES_ONE_IN) {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    VOCABULARY.with_borrow(|vocabulary| {
        let mut case = if rng.chance(1, FRESH_ONE_IN) {
            generate(&mut rng, vocabulary)
        } else {
            let mut case = Case::decode(&data[..size]);
            case::mutate(&mut case, &mut rng, vocabulary);
            case
        };
        then(&mut case, &mut rng);
        if vocabulary.surface == Surface::C {
            case.life.spell_in_c();
        }
        let room = max_size.min(data.len());
        // A case that does not fit is left to libFuzzer like any other bytes.
        case.encode_into(&mut data[..room])
            .unwrap_or_else(|| libfuzzer_sys::fuzzer_mutate(data, size, max_size))
    })
}
