//! The one word that a **search benchmark** waits for: `DLPACK_FUZZ_WANTED=RULE:GRADE` ends the run as soon as
//! the oracle says it, with the number of runs and the time that it took. Nothing else stops the run then, not
//! even a violation.

use dlpack_fuzz::case::Case;
use dlpack_fuzz::oracle::{Grade, Judgement};
use std::io::Write;
use std::time::Instant;

pub struct Wanted {
    rule: String,
    /// The least grade that counts.
    pub grade: Grade,
    runs: u64,
    start: Instant,
}

impl Wanted {
    /// `None` where nothing is waited for.
    pub fn from_env() -> Option<Result<Self, String>> {
        let text = std::env::var("DLPACK_FUZZ_WANTED").ok()?;
        let grade = text.split_once(':').and_then(|(rule, grade)| match grade {
            "info" => Some((rule, Grade::Info)),
            "warning" => Some((rule, Grade::Warning)),
            "violation" => Some((rule, Grade::Violation)),
            _ => None,
        });
        Some(match grade {
            Some((rule, grade)) => {
                Ok(Self { rule: rule.into(), grade, runs: 0, start: Instant::now() })
            }
            None => Err(format!(
                "DLPACK_FUZZ_WANTED={text} is not RULE:GRADE, with info, warning or violation"
            )),
        })
    }

    /// Ends the process if this is it.
    pub fn look_at(&mut self, case: &Case, judgement: Option<&Judgement>) {
        self.runs += 1;
        let is_it = |judgement: &Judgement| {
            (judgement.violations.iter()).any(|it| it.rule == self.rule && it.grade >= self.grade)
        };
        if judgement.is_some_and(is_it) {
            let seconds = self.start.elapsed().as_secs_f64();
            println!("found {} in {} runs and {seconds:.2} s: {case}", self.rule, self.runs);
            // libFuzzer has a handler at exit that takes this for a crash.
            let _ = std::io::stdout().flush();
            // SAFETY: ends the process without its handlers; nothing is kept that has to be written.
            unsafe { libc::_exit(0) }
        }
    }
}
