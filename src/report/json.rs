//! Findings and replays as JSON, for machines.

use super::{Answer, ReplayLine};
use crate::finding::Finding;

/// The whole finding, indented, ending in a line feed; reads back by `serde_json`.
pub fn json(finding: &Finding) -> String {
    let mut text = serde_json::to_string_pretty(finding).expect("a finding is plain data");
    text.push('\n');
    text
}

/// A replay: `{"lines": […], "ok": n, "fixed": n, …, "fails": n}`; `fails` counts what somebody has to act on.
pub fn json_replay(lines: &[ReplayLine]) -> String {
    let count = |answer| lines.iter().filter(|line| line.answer == answer).count();
    let value = serde_json::json!({
        "lines": lines,
        "ok": count(Answer::Ok),
        "fixed": count(Answer::Fixed) + count(Answer::Outdated),
        "failed": count(Answer::Failed),
        "known": count(Answer::Known),
        "still": count(Answer::Still),
        "not_runnable": count(Answer::NotRunnable),
        "error": count(Answer::Error),
        "fails": lines.iter().filter(|line| line.answer.fails()).count(),
    });
    format!("{value:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Death, Finding};
    use crate::report::tests::finding;

    #[test]
    fn a_finding_is_json_with_the_case_as_text() {
        let finding = Finding { script: "s".into(), again: "a".into(), ..finding("X-NONE") };
        let text = json(&finding);
        assert_eq!(serde_json::from_str::<Finding>(&text).unwrap(), finding);
        assert_eq!(
            text,
            r#"{
  "identity": "X-NONE-ValueError",
  "backend": "numpy",
  "profile": "spec",
  "case": "array(shape=(6,), dtype='float32').__dlpack__(copy=False, dl_device=(2, 0))",
  "cause": {
    "violation": {
      "rule": "X-NONE",
      "grade": "violation",
      "evidence": {
        "key": "ValueError",
        "expected": "BufferError",
        "seen": "ValueError",
        "facts": [
          {
            "of": "Export",
            "what": "outcome",
            "value": "ValueError"
          },
          {
            "of": {
              "Probe": "copy-true"
            },
            "what": "flags",
            "value": "2"
          }
        ]
      }
    }
  },
  "versions": {
    "libraries": [
      [
        "numpy",
        "2.3.5"
      ],
      [
        "ml_dtypes",
        "0.6.0"
      ]
    ],
    "python": "3.11.7",
    "dlpack": "1.3",
    "tool": "0.1.0"
  },
  "reproduced": "confirmed",
  "script": "s",
  "again": "a"
}
"#
        );
    }

    #[test]
    fn a_crash_reads_back_too() {
        let plain = finding("X-NONE");
        let cause = Death::Signal(libc::SIGFPE).into();
        let crash = Finding::new("numpy", "spec", plain.case, cause, plain.versions);
        let text = json(&crash);
        assert!(text.contains("\"crash\": {\n      \"death\": \"SIGFPE\""), "{text}");
        assert_eq!(serde_json::from_str::<Finding>(&text).unwrap(), crash);
    }

    #[test]
    fn a_replay_is_json_with_counts() {
        let lines =
            [ReplayLine::new("a.bin", Answer::Fixed), ReplayLine::new("b.bin", Answer::Known)];
        let value: serde_json::Value = serde_json::from_str(&json_replay(&lines)).unwrap();
        assert_eq!(value["fixed"], 1);
        assert_eq!(value["failed"], 0);
        assert_eq!(value["lines"][1]["answer"], "KNOWN");
        assert_eq!(value["lines"][1]["name"], "b.bin");
    }
}
