//! `rules`: every rule of the catalogue with its state.

use super::options::Output;
use super::{Failure, Status, print};
use clap::Args;
use dlpack_fuzz::oracle::catalogue::{self, State};
use dlpack_fuzz::oracle::planted;
use serde_json::json;
use std::fmt::Write;

/// List the rules: which are judged, and why the others cannot be observed
#[derive(Args)]
#[command(after_help = "\
Examples:
  dlpack-fuzz rules
  dlpack-fuzz rules --json | jq -r '.[] | select(.state != \"judged\") | .id'

Exit status: 0.")]
pub struct Rules {
    #[command(flatten)]
    output: Output,
}

impl Rules {
    pub fn run(self) -> Result<Status, Failure> {
        print(&if self.output.json { as_json() } else { as_table() });
        Ok(Status::NothingNew)
    }
}

fn as_table() -> String {
    let all = catalogue::all();
    let width = all.iter().map(|entry| entry.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for entry in all {
        let state = match entry.state {
            State::Judged => planted::why_none(entry.id)
                .map_or_else(String::new, |reason| format!("  [no planted fault: {reason}]")),
            State::NotObservable(reason) => format!("  [not observable: {reason}]"),
        };
        let _ = writeln!(text, "{:width$}  {:7} {}{state}", entry.id, entry.level, entry.statement);
    }
    let judged = all.iter().filter(|entry| entry.state == State::Judged).count();
    let _ = writeln!(
        text,
        "\n{} rules, {judged} judged, {} not observable. `dlpack-fuzz explain RULE` tells one.",
        all.len(),
        all.len() - judged
    );
    let _ = writeln!(text, "{}.", planted::score());
    text
}

fn as_json() -> String {
    let all: Vec<_> = (catalogue::all().iter())
        .map(|entry| {
            let (state, reason) = match entry.state {
                State::Judged => ("judged", None),
                State::NotObservable(reason) => ("not observable", Some(reason)),
            };
            json!({
                "id": entry.id, "level": entry.level, "family": entry.family, "since": entry.since,
                "statement": entry.statement, "source": entry.source, "state": state, "reason": reason,
                "planted_faults": planted::of(entry.id),
            })
        })
        .collect();
    format!("{:#}\n", serde_json::Value::from(all))
}
