//! `shrink`: the simplest case that shows the same fault.

use super::arena::{self, Arena};
use super::lab::Lab;
use super::options::{Effort, Output, Subject, read_case};
use super::{Failure, Status, print};
use clap::Args;
use dlpack_fuzz::case::{self};
use dlpack_fuzz::finding::Identity;
use dlpack_fuzz::host::process;
use serde_json::json;
use std::time::Duration;

/// Reduce a case to the simplest one that shows the same fault
///
/// Fewer probes and keywords, fewer and smaller dimensions, a plain layout, a plain dtype. The rule and the
/// kind of its break, or the way in which the process dies, stay the same. --time limits the search for each
/// fault to that many seconds [default: 60].
#[derive(Args)]
#[command(after_help = "\
Examples:
  dlpack-fuzz shrink fuzz/artifacts/dunder_dlpack/crash-0123
  dlpack-fuzz shrink \"array(shape=(2, 3), dtype='void[0]', strides=(40, 8)).__dlpack__(copy=False)\"

Exit status: 0 the case breaks nothing, 1 it was reduced, 2 could not run.")]
pub struct Shrink {
    /// Case text, or a file with its text (.txt) or its bytes
    #[arg(required_unless_present = "text")]
    case: Option<String>,
    /// The same as CASE
    #[arg(long = "case", value_name = "TEXT", conflicts_with = "case")]
    text: Option<String>,
    #[command(flatten)]
    subject: Subject,
    #[command(flatten)]
    effort: Effort,
    #[command(flatten)]
    output: Output,
}

impl Shrink {
    pub fn run(self) -> Result<Status, Failure> {
        let case = read_case(self.case.or(self.text).as_deref().unwrap_or_default())?;
        let lab = Lab::open(&self.subject)?;
        let mut worker = lab.worker(None)?;
        process::catch_interrupts();
        let mut arena = Arena::Worker(&mut worker);
        let causes = arena::causes(&mut arena, &case)?;
        if causes.is_empty() && !self.output.json {
            eprintln!("dlpack-fuzz: the case breaks no rule and kills nothing: {case}");
        }
        let limit = self.effort.time().unwrap_or(Duration::from_secs(60));
        let mut shrunk = Vec::new();
        for cause in &causes {
            let simplest = arena::shrink(&mut arena, &case, cause, limit, &|_| false)?;
            shrunk.push((Identity::of(&simplest, cause), simplest));
        }
        print(&if self.output.json {
            let all: Vec<_> = (shrunk.iter())
                .map(|(identity, simplest)| {
                    json!({
                        "identity": identity, "case": simplest.to_string(),
                        "weight": case::weight(simplest), "weight_before": case::weight(&case),
                    })
                })
                .collect();
            format!("{:#}\n", serde_json::Value::from(all))
        } else {
            (shrunk.iter())
                .map(|(identity, simplest)| match self.output.quiet {
                    true => format!("{simplest}\n"),
                    false => format!("{simplest}    # {identity}\n"),
                })
                .collect()
        });
        Ok(if causes.is_empty() { Status::NothingNew } else { Status::Findings })
    }
}
