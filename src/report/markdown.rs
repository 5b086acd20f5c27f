//! A finding as Markdown: `report.md`, fit for an upstream issue.

use super::prose::ascii;
use super::{fact_words, grade_word, knobs, standing, versions};
use crate::finding::{Cause, Death, Finding};
use crate::oracle::catalogue;
use std::fmt::Write;

/// The report; its first line is the issue's title.
pub fn markdown(finding: &Finding) -> String {
    let rule = finding.rule();
    let mut text = format!("# {}\n\n", title(finding));
    // Writing to a String does not fail.
    let _ = write!(
        text,
        "- **Call**: `{}`\n- **Expected**: {}\n- **Seen**: {}\n",
        finding.case,
        finding.cause.expected(),
        finding.cause.seen()
    );
    if let Cause::Violation(violation) = &finding.cause {
        for fact in &violation.evidence.facts {
            let _ = writeln!(text, "  - {}", fact_words(fact));
        }
    }
    let _ = write!(
        text,
        "- **Versions**: {}\n- **Reproducer**: {}\n\n## The clause\n\n",
        versions(&finding.versions),
        finding.reproduced
    );
    match catalogue::entry(rule) {
        Some(entry) => {
            let grade = grade_word(finding.cause.grade()).to_lowercase();
            let _ = write!(
                text,
                "> {}\n\n`{rule}`, {}, graded as a {grade} by profile `{}`.\nSource: {}\n",
                entry.statement,
                standing(entry),
                finding.profile,
                entry.source
            );
        }
        None => {
            let _ = writeln!(text, "`{rule}`");
        }
    }
    for (name, reference) in catalogue::entry(rule).iter().flat_map(|entry| entry.references()) {
        let _ = writeln!(text, "- {name}: {reference}");
    }
    for knob in knobs(rule) {
        let _ = write!(
            text,
            "\n**Contested**: {}. Sides: {}. The knob `{}` decides; `--knob {}=...` changes it.\n",
            knob.question(),
            knob.sides(),
            knob.name(),
            knob.name()
        );
    }
    if !finding.script.is_empty() {
        let fence = fence(&finding.script);
        let _ = write!(
            text,
            "\n## Reproducer\n\nOnly Python, ctypes and the library:\n\n{fence}python\n{}\n{fence}\n",
            finding.script.trim_end()
        );
    }
    text
}

/// `numpy: __dlpack__ dies by SIGFPE (array(…).__dlpack__())`, short enough for a list of issues.
fn title(finding: &Finding) -> String {
    let library = (finding.versions.libraries.first())
        .map_or(finding.backend.as_str(), |(name, _)| name.as_str());
    let what = match &finding.cause {
        Cause::Crash(crash) => match crash.death {
            Death::Signal(_) => format!("process dies by {}", crash.death),
            Death::Exit(code) => format!("process exits with status {code}"),
            Death::Hang => "call does not come back".into(),
            Death::Memory => "process uses up the memory".into(),
        },
        Cause::Violation(violation) => {
            let evidence = &violation.evidence;
            format!("{} instead of {} ({})", evidence.seen, evidence.expected, violation.rule)
        }
    };
    let title = ascii(&format!("{library}: __dlpack__: {what}")).replace('\n', " ");
    const MOST: usize = 120;
    if title.len() > MOST { format!("{}...", title[..MOST - 3].trim_end()) } else { title }
}

/// More backticks than any run of them in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(3.max(longest + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::finding;

    #[test]
    fn a_violation_is_an_upstream_issue() {
        assert_eq!(
            markdown(&finding("X-NONE")),
            r#"# numpy: __dlpack__: ValueError instead of BufferError (X-NONE)

- **Call**: `array(shape=(6,), dtype='float32').__dlpack__(copy=False, dl_device=(2, 0))`
- **Expected**: BufferError
- **Seen**: ValueError
  - outcome = ValueError
  - flags = 2 (probe copy-true)
- **Versions**: numpy 2.3.5, ml_dtypes 0.6.0, Python 3.11.7, DLPack header 1.3, dlpack-fuzz 0.1.0
- **Reproducer**: confirmed in a fresh interpreter

## The clause

`X-NONE`

## Reproducer

Only Python, ctypes and the library:

```python
import numpy as np
x = np.zeros(6, 'f4')
```
"#
        );
    }

    #[test]
    fn a_contested_point_is_told_with_its_sides() {
        let text = markdown(&finding("STR-CPU-NONE-ONLY"));
        assert!(
            text.contains("\n**Contested**: a stream other than None accepted on the CPU. Sides: "),
            "{text}"
        );
        assert!(text.contains("`--knob cpu_stream=...`"), "{text}");
        let entry = catalogue::entry("STR-CPU-NONE-ONLY").unwrap();
        assert!(text.contains(&format!("> {}\n", entry.statement)), "{text}");
        assert!(!markdown(&finding("EXC-NO-CRASH")).contains("Contested"));
    }

    #[test]
    fn a_crash_has_its_signal_in_the_title() {
        let plain = finding("X-NONE");
        let cause = Death::Signal(libc::SIGFPE).into();
        let text = markdown(&Finding::new("numpy", "spec", plain.case, cause, plain.versions));
        assert!(text.starts_with("# numpy: __dlpack__: process dies by SIGFPE\n"), "{text}");
        assert!(!text.contains("## Reproducer"));
    }

    #[test]
    fn a_title_is_one_short_line_and_a_fence_holds_its_script() {
        let mut long = finding("X-NONE");
        let Cause::Violation(violation) = &mut long.cause else { unreachable!() };
        violation.evidence.seen = "many \u{fc} words\n".repeat(40);
        let text = markdown(&long);
        let title = text.lines().next().unwrap();
        assert!(title.len() <= 122 && title.ends_with("..."), "{title}");
        assert_eq!(fence("no ticks"), "```");
        assert_eq!(fence("a ```` b"), "`````");
    }
}
