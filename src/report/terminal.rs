//! A finding as text for a terminal: what `cargo fuzz run` prints when it stops.
//!
//! Plain ASCII, so that a log or a window without Unicode shows it whole.

use super::prose::{ascii, wrap};
use super::{grade_word, standing, versions};
use crate::finding::{Cause, Finding};
use crate::oracle::catalogue;
use std::fmt::Write;

/// Characters per line; the reproducer's lines stay as they are.
const WIDTH: usize = 100;

/// How the text is marked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    /// ANSI colours.
    Color,
}

impl Style {
    /// Colour if the stream is a terminal and `NO_COLOR` is not set (<https://no-color.org>).
    pub fn of(stream: &impl std::io::IsTerminal) -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        if wanted && stream.is_terminal() { Self::Color } else { Self::Plain }
    }

    fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_string(),
            Self::Color => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// The report without colour.
pub fn terminal(finding: &Finding) -> String {
    terminal_in(finding, Style::Plain)
}

/// The report in this style.
pub fn terminal_in(finding: &Finding, style: Style) -> String {
    let rule = finding.rule();
    let title = format!("{}: {}", grade_word(finding.cause.grade()), finding.identity);
    let mut text = format!("{}\n\n", style.paint("1;31", &title));
    let field = |label: &str, content: &str| {
        if content.is_empty() {
            return String::new();
        }
        let lines = wrap(&ascii(content), WIDTH, &format!("  {label:<10} "), &" ".repeat(13));
        // The label is painted after wrapping, which counts characters.
        if label.is_empty() { lines } else { lines.replacen(label, &style.bold(label), 1) }
    };
    // A case stays on one line, so that it can be copied.
    let whole = |label: &str, content: String| {
        let space = " ".repeat(11 - label.len());
        format!("  {}{space}{}\n", style.bold(label), ascii(&content))
    };
    text += &whole("case", finding.case.to_string());
    match catalogue::entry(rule) {
        Some(entry) => {
            text += &field("rule", &format!("{rule} ({})", standing(entry)));
            text += &field("", entry.statement);
            text += &field("source", entry.source);
        }
        None => text += &field("rule", rule),
    }
    text += &field("expected", &finding.cause.expected());
    text += &field("seen", &finding.cause.seen());
    if let Cause::Violation(violation) = &finding.cause {
        let facts = violation.evidence.facts.iter();
        let facts: Vec<_> = facts.map(super::fact_words).collect();
        text += &field("facts", &facts.join("; "));
    }
    text += &field("versions", &versions(&finding.versions));
    text += &field("profile", &finding.profile);
    text += &field("reproducer", &finding.reproduced.to_string());
    if !finding.again.is_empty() {
        text += &whole("again", finding.again.clone());
    }
    if !finding.script.is_empty() {
        let _ = write!(text, "\n{}\n", style.bold("--- repro.py ---"));
        text += &ascii(&finding.script);
        let _ = writeln!(text, "{}", style.bold("--- end of repro.py ---"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Death;
    use crate::report::tests::finding;

    #[test]
    fn a_violation_reads_from_the_call_to_the_reproducer() {
        assert_eq!(
            terminal(&finding("X-NONE")),
            r#"Violation: X-NONE-ValueError

  case       array(shape=(6,), dtype='float32').__dlpack__(copy=False, dl_device=(2, 0))
  rule       X-NONE
  expected   BufferError
  seen       ValueError
  facts      outcome = ValueError; flags = 2 (probe copy-true)
  versions   numpy 2.3.5, ml_dtypes 0.6.0, Python 3.11.7, DLPack header 1.3, dlpack-fuzz 0.1.0
  profile    spec
  reproducer confirmed in a fresh interpreter
  again      dlpack-fuzz repro 'case'

--- repro.py ---
import numpy as np
x = np.zeros(6, 'f4')
--- end of repro.py ---
"#
        );
    }

    #[test]
    fn the_clause_is_told_with_its_level_and_source() {
        let text = terminal(&finding("EXC-NO-CRASH"));
        let entry = catalogue::entry("EXC-NO-CRASH").unwrap();
        assert!(text.contains(&format!("EXC-NO-CRASH ({})", standing(entry))), "{text}");
        let first: Vec<_> = entry.statement.split_whitespace().take(3).collect();
        assert!(text.contains(&ascii(&first.join(" "))), "{text}");
        assert!(text.contains("\n  source     "), "{text}");
    }

    #[test]
    fn a_crash_has_no_facts_and_the_text_is_ascii() {
        let cause = Death::Signal(libc::SIGFPE).into();
        let plain = finding("X-NONE");
        let mut crash = Finding::new("numpy", "spec", plain.case, cause, plain.versions);
        crash.script = "# \u{2264} caf\u{e9}\n".into();
        let text = terminal(&crash);
        assert!(text.starts_with("Violation: CRASH-SIGFPE-float-c-dl_device-copy\n"), "{text}");
        assert!(text.contains("\n  seen       the process dies by SIGFPE\n"), "{text}");
        assert!(!text.contains("facts") && text.is_ascii(), "{text}");
    }

    #[test]
    fn colour_changes_the_looks_and_not_the_words() {
        let painted = terminal_in(&finding("X-NONE"), Style::Color);
        assert!(painted.starts_with("\x1b[1;31mViolation: X-NONE-ValueError\x1b[0m\n"));
        let codes = ["\x1b[1;31m", "\x1b[1m", "\x1b[0m"];
        let bare = codes.iter().fold(painted, |text, code| text.replace(code, ""));
        assert_eq!(bare, terminal(&finding("X-NONE")));
    }
}
