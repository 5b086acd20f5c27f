//! An **arena**: where a case is run again, to see whether it still shows a fault, and to shrink it.

use super::{At, Failure};
use dlpack_fuzz::case::{self, Case};
use dlpack_fuzz::finding::{Cause, Crash, Death, Violation};
use dlpack_fuzz::host::outbox;
use dlpack_fuzz::host::process;
use dlpack_fuzz::host::scratch::Scratch;
use dlpack_fuzz::host::worker::{Answer, Fatality, Worker};
use dlpack_fuzz::oracle::{Evidence, Grade};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Where a case runs.
pub enum Arena<'a> {
    /// A worker: exact, and fast while nothing dies.
    Worker(&'a mut Worker),
    /// The fuzz target itself, one process per case: for what only a sanitizer sees.
    Target(&'a Target),
}

/// A built fuzz target.
#[derive(Clone, Debug)]
pub struct Target {
    pub binary: PathBuf,
    /// What is tested, as [`Subject::variables`](super::options::Subject::variables) tells it.
    pub variables: Vec<(&'static str, OsString)>,
}

/// Violations of one case, or the way in which it killed.
pub fn causes(arena: &mut Arena, case: &Case) -> Result<Vec<Cause>, Failure> {
    match arena {
        Arena::Worker(worker) => match worker.judge(case, Grade::Violation)? {
            Answer::Judged(judgement) => {
                Ok(judgement.violations.into_iter().map(Cause::from).collect())
            }
            Answer::Inexpressible(_) => Ok(Vec::new()),
            Answer::Died(fatality) => {
                own_defect(case, &fatality.last_words)?;
                Ok(vec![crash(&fatality)])
            }
        },
        Arena::Target(target) => target.causes(case),
    }
}

/// The case shows the fault again: the same rule by the same key, or the same death.
pub fn shows(arena: &mut Arena, case: &Case, fault: &Cause) -> Result<bool, Failure> {
    if let (Arena::Worker(worker), Cause::Crash(Crash { death: Death::Hang, .. })) =
        (&mut *arena, fault)
    {
        let answer = worker.judge_once(case, Grade::Violation)?;
        return Ok(matches!(answer, Answer::Died(death) if is_same(&crash(&death), fault)));
    }
    Ok(causes(arena, case)?.iter().any(|cause| is_same(cause, fault)))
}

/// The same fault, whatever the case.
pub fn is_same(one: &Cause, other: &Cause) -> bool {
    match (one, other) {
        (Cause::Violation(one), Cause::Violation(other)) => {
            one.rule == other.rule && one.evidence.key == other.evidence.key
        }
        (Cause::Crash(one), Cause::Crash(other)) => one.is_like(other),
        _ => false,
    }
}

/// The simplest case that still shows the fault and that is found in the time. It goes on after a first
/// Ctrl-C: crashes that are not reduced all look different, and would be kept as so many findings. Cases
/// that `avoid` names are not tried.
pub fn shrink(
    arena: &mut Arena,
    case: &Case,
    fault: &Cause,
    limit: Duration,
    avoid: &dyn Fn(&Case) -> bool,
) -> Result<Case, Failure> {
    let deadline = Instant::now() + limit;
    let mut best = case.clone();
    'simpler: loop {
        for candidate in case::shrink(&best) {
            if Instant::now() >= deadline || process::is_urgent() {
                return Ok(best);
            }
            if !avoid(&candidate) && shows(arena, &candidate, fault)? {
                best = candidate;
                continue 'simpler;
            }
        }
        return Ok(best);
    }
}

/// A death as a finding names it.
pub fn death(death: process::Death) -> Death {
    match death {
        process::Death::Signal(signal) => Death::Signal(signal),
        process::Death::Exit(code) => Death::Exit(code),
        process::Death::Hang(_) => Death::Hang,
        process::Death::Memory => Death::Memory,
    }
}

/// A worker's death as a cause.
pub fn crash(fatality: &Fatality) -> Cause {
    Cause::Crash(Crash { death: death(fatality.death), frames: fatality.frames.clone() })
}

/// A panic is this program's own fault, and no exporter may be accused of it.
pub fn own_defect(case: &Case, last_words: &str) -> Result<(), Failure> {
    match last_words.lines().find(|line| line.contains("panicked at ")) {
        None => Ok(()),
        Some(line) => Err(Failure::new(format!(
            "a defect of dlpack-fuzz itself, please report it with this case: {case}: {}",
            line.trim()
        ))),
    }
}

impl Target {
    /// Runs one case in a process of its own.
    fn causes(&self, case: &Case) -> Result<Vec<Cause>, Failure> {
        let scratch = Scratch::new().at(&std::env::temp_dir())?;
        outbox::prepare(scratch.path()).at(scratch.path())?;
        let input = scratch.path().join("input");
        std::fs::write(&input, case.encode()).at(&input)?;
        let mut command = Command::new(&self.binary);
        command
            .arg(&input)
            .arg(format!("-artifact_prefix={}/", scratch.path().display()))
            .arg("-timeout=100")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            // What is known to kill must run here.
            .env("DLPACK_FUZZ_IGNORE_KNOWN", "1")
            .env(outbox::VARIABLE, scratch.path())
            .env("TMPDIR", scratch.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let ended = process::run_within(&mut command, Duration::from_secs(200)).at(&self.binary)?;
        let mut seen = std::collections::HashSet::new();
        let mut causes: Vec<Cause> = outbox::collect(scratch.path(), &mut seen)
            .at(scratch.path())?
            .into_iter()
            .filter_map(|found| found.broken.violation())
            .map(Cause::from)
            .collect();
        let orderly = ended.status.is_ok_and(|status| status.success());
        if !orderly {
            own_defect(case, &ended.stderr)?;
            causes.extend(cause_in(&ended.stderr));
        }
        Ok(causes)
    }
}

/// What a libFuzzer process says that it died of: a sanitizer's report, its own, or nothing.
pub fn cause_in(log: &str) -> Option<Cause> {
    let summary = log.lines().rev().find_map(|line| line.trim().strip_prefix("SUMMARY: "))?;
    let (tool, what) = summary.split_once(": ")?;
    if what.contains("leaked in ") {
        return Some(sanitizer(
            "MGT-DELETER-FREES-ALL",
            "leak",
            "the deleter frees all that the export allocated",
            summary,
        ));
    }
    let kind = what.split_whitespace().next().unwrap_or("");
    match (tool, kind) {
        ("libFuzzer", "timeout") => Some(Cause::from(Death::Hang)),
        ("libFuzzer", "out-of-memory") => Some(Cause::from(Death::Memory)),
        // The signal itself is not told: AddressSanitizer's names are not the system's.
        ("libFuzzer", "deadly") => log.lines().find_map(signal_of).map(Cause::from),
        (_, "SEGV") => Some(Cause::from(Death::Signal(libc::SIGSEGV))),
        (_, "FPE") => Some(Cause::from(Death::Signal(libc::SIGFPE))),
        (_, "BUS") => Some(Cause::from(Death::Signal(libc::SIGBUS))),
        (_, "ILL") => Some(Cause::from(Death::Signal(libc::SIGILL))),
        (_, "ABRT") => Some(Cause::from(Death::Signal(libc::SIGABRT))),
        (_, "") => None,
        (_, kind) => Some(sanitizer(
            "EXC-NO-CRASH",
            kind,
            "the export and every read of what it returned stay within live memory",
            summary,
        )),
    }
}

/// `... received signal 8 ...`, as the sanitizer's runtime words it.
fn signal_of(line: &str) -> Option<Death> {
    let (_, rest) = line.split_once("signal ")?;
    let number = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    number.parse().ok().map(Death::Signal)
}

fn sanitizer(rule: &'static str, kind: &str, expected: &str, seen: &str) -> Cause {
    Cause::Violation(Violation {
        rule: rule.into(),
        grade: Grade::Violation,
        evidence: Evidence {
            key: kind.to_owned().into(),
            expected: expected.to_owned(),
            seen: seen.to_owned(),
            facts: Vec::new(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dlpack_fuzz::case::{Call, Probes, Tensor};

    #[test]
    fn a_sanitizers_summary_becomes_a_cause() {
        let cause = |summary: &str| cause_in(&format!("noise\n{summary}\nnoise\n"));
        let leak =
            cause("SUMMARY: AddressSanitizer: 128 byte(s) leaked in 2 allocation(s).").unwrap();
        let plain = Case::new(Tensor::plain(), Call::default(), Probes::NONE);
        assert_eq!(leak.rule(&plain), "MGT-DELETER-FREES-ALL");
        let overflow =
            cause("SUMMARY: AddressSanitizer: heap-buffer-overflow consumer.rs:12 in read")
                .unwrap();
        let Cause::Violation(violation) = overflow else { panic!("no violation") };
        assert_eq!(violation.evidence.key, "heap-buffer-overflow");
        assert_eq!(cause("SUMMARY: libFuzzer: timeout"), Some(Cause::from(Death::Hang)));
        assert_eq!(
            cause("SUMMARY: AddressSanitizer: FPE dlpack.c:1 in f"),
            Some(Cause::from(Death::Signal(libc::SIGFPE)))
        );
        assert_eq!(cause("nothing to be read here"), None);
    }

    #[test]
    fn a_panic_of_the_harness_accuses_nobody() {
        let case = Case::decode(&[]);
        assert!(own_defect(&case, "Fatal Python error: Segmentation fault").is_ok());
        let failure = own_defect(&case, "thread 'main' panicked at src/host/x.rs:1:2:\nboom");
        assert!(failure.unwrap_err().to_string().contains("src/host/x.rs:1:2"));
    }
}
