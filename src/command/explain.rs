//! `explain`: one rule, its source, and what is contested about it.

use super::options::Output;
use super::{Failure, Status, print};
use clap::Args;
use dlpack_fuzz::oracle::Knob;
use dlpack_fuzz::oracle::catalogue::{self, Entry, State};
use serde_json::json;
use std::fmt::Write;

/// Tell what a rule says, where it stands, how it is checked, and which knobs touch it
#[derive(Args)]
#[command(after_help = "\
Examples:
  dlpack-fuzz explain EXC-DEVICE
  dlpack-fuzz explain device          all rules with the word in their id

Exit status: 0, or 2 if there is no such rule.")]
pub struct Explain {
    /// Id of a rule as it stands in a report, or a part of it
    rule: String,
    #[command(flatten)]
    output: Output,
}

impl Explain {
    pub fn run(self) -> Result<Status, Failure> {
        let entries = find(&self.rule)?;
        if self.output.json {
            let all: Vec<_> = entries.iter().map(|entry| as_json(entry)).collect();
            print(&format!("{:#}\n", serde_json::Value::from(all)));
        } else {
            let all: Vec<_> = entries.iter().map(|entry| as_text(entry)).collect();
            print(&all.join("\n"));
        }
        Ok(Status::NothingNew)
    }
}

/// The rule of that id; else all whose id contains the word; else a failure that names the nearest.
fn find(word: &str) -> Result<Vec<&'static Entry>, Failure> {
    let word = word.trim().to_uppercase();
    if let Some(entry) = catalogue::entry(&word) {
        return Ok(vec![entry]);
    }
    let parts: Vec<_> = catalogue::all()
        .iter()
        .filter(|entry| !word.is_empty() && entry.id.contains(&word))
        .collect();
    if !parts.is_empty() {
        return Ok(parts);
    }
    let mut near: Vec<_> =
        catalogue::all().iter().map(|entry| (distance(&word, entry.id), entry.id)).collect();
    near.sort();
    let near: Vec<_> = near.into_iter().take(3).map(|(_, id)| id).collect();
    Err(Failure::new(format!(
        "no rule is called {word}; did you mean {}? `dlpack-fuzz rules` lists all",
        near.join(", ")
    )))
}

fn as_text(entry: &Entry) -> String {
    let mut text = format!("{} (level {}, since {})\n\n", entry.id, entry.level, entry.since);
    let mut part = |name: &str, what: &str| {
        if !what.is_empty() {
            let _ = match name {
                "" => writeln!(text, "{}", wrap(what, 92, "    ")),
                name => writeln!(text, "{name}\n{}", wrap(what, 92, "    ")),
            };
        }
    };
    part("The clause:", entry.statement);
    part("It speaks of:", entry.inputs);
    part("Its source:", entry.source);
    for (short, full) in entry.references() {
        part("", &format!("{short}: {full}"));
    }
    part("How it is checked:", entry.check);
    part("What a break counts as:", entry.verdict);
    if let State::NotObservable(reason) = entry.state {
        part("Not judged, because it cannot be observed:", reason);
    }
    let knobs = knobs(entry);
    if !knobs.is_empty() {
        let _ = writeln!(text, "Contested points (--knob NAME=VALUE):");
        for knob in knobs {
            let _ = writeln!(
                text,
                "{}",
                wrap(&format!("{}: {}", knob.name(), knob.question()), 92, "    ")
            );
            let _ = writeln!(text, "{}", wrap(knob.sides(), 88, "        "));
        }
    }
    text
}

fn as_json(entry: &Entry) -> serde_json::Value {
    let knobs: Vec<_> = (knobs(entry).into_iter())
        .map(|knob| json!({ "name": knob.name(), "question": knob.question() }))
        .collect();
    json!({
        "id": entry.id, "level": entry.level, "since": entry.since, "family": entry.family,
        "statement": entry.statement, "source": entry.source, "check": entry.check,
        "verdict": entry.verdict, "knobs": knobs,
        "judged": entry.state == State::Judged,
    })
}

/// The contested points that touch the rule.
fn knobs(entry: &Entry) -> Vec<Knob> {
    entry.knob_names().filter_map(|name| Knob::named(name).ok()).collect()
}

fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is one from the start");
        if !line.is_empty() && line.len() + 1 + word.len() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.iter().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n")
}

/// Levenshtein's distance.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (place, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = place + 1;
        for (column, &sign) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != sign);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_rule_is_answered_with_the_nearest() {
        assert_eq!(distance("EXC-DEVICE", "EXC-DEVISE"), 1);
        assert_eq!(distance("", "ABC"), 3);
        assert!(find("EXC-DEVIZE").unwrap_err().to_string().contains("EXC-DEVICE"));
    }

    #[test]
    fn long_text_is_wrapped_and_indented() {
        assert_eq!(wrap("one two  three", 7, "  "), "  one two\n  three");
    }
}
