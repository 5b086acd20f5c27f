//! Replays and sweeps as JUnit XML, for continuous integration.

use super::{Answer, ReplayLine, RuleCount};
use crate::finding::Finding;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

/// One test case per line: what somebody has to act on is a failure, ERROR an error, what is known or could
/// not be run is skipped, OK and a FIXED finding pass.
pub fn junit(lines: &[ReplayLine]) -> String {
    let mut suite = TestSuite::new("replay");
    for line in lines {
        let mut status = match line.answer {
            Answer::Ok | Answer::Fixed => TestCaseStatus::success(),
            Answer::Known | Answer::Still | Answer::NotRunnable => TestCaseStatus::skipped(),
            Answer::Failed | Answer::Outdated => {
                TestCaseStatus::non_success(NonSuccessKind::Failure)
            }
            Answer::Error => TestCaseStatus::non_success(NonSuccessKind::Error),
        };
        if !matches!(line.answer, Answer::Ok | Answer::Fixed) {
            status.set_message(line.detail.as_str());
            status.set_type(line.identity.as_deref().unwrap_or(line.answer.word()));
        }
        let mut case = TestCase::new(line.name.as_str(), status);
        case.set_classname("dlpack-fuzz.replay");
        if let Some(text) = &line.case {
            case.set_system_out(text.as_str());
        }
        suite.add_test_case(case);
    }
    written(suite)
}

/// A sweep or a session: one test case per judged rule. A finding fails its rule; a rule whose preconditions
/// were never met is skipped.
pub fn junit_rules(backend: &str, counts: &[RuleCount], findings: &[&Finding]) -> String {
    let mut suite = TestSuite::new(backend);
    let unjudged = findings.iter().map(|finding| finding.rule());
    let mut rules: Vec<&str> = counts.iter().map(|count| count.id.as_str()).collect();
    // A crash is accused by a rule that no observation shows.
    rules.extend(unjudged.filter(|rule| counts.iter().all(|count| count.id != *rule)));
    rules.dedup();
    for rule in rules {
        let broken: Vec<_> = findings.iter().filter(|finding| finding.rule() == rule).collect();
        let is_checked = counts.iter().any(|count| count.id == rule && count.checked > 0);
        let mut status = match (broken.first(), is_checked) {
            (Some(_), _) => TestCaseStatus::non_success(NonSuccessKind::Failure),
            (None, true) => TestCaseStatus::success(),
            (None, false) => TestCaseStatus::skipped(),
        };
        if let Some(first) = broken.first() {
            let lines: Vec<_> = (broken.iter())
                .map(|it| format!("{}: {}: {}", it.identity, it.case, it.cause.seen()))
                .collect();
            status.set_type(first.identity.as_str());
            status.set_message(lines.join("\n"));
        }
        let mut case = TestCase::new(rule, status);
        case.set_classname(format!("dlpack-fuzz.{backend}"));
        suite.add_test_case(case);
    }
    written(suite)
}

fn written(suite: TestSuite) -> String {
    let mut report = Report::new("dlpack-fuzz");
    report.add_test_suite(suite);
    report.to_string().expect("a report in memory is written whole")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_is_a_test_case() {
        let line = |name: &str, answer, identity: Option<&str>, detail: &str| ReplayLine {
            name: name.into(),
            answer,
            case: None,
            identity: identity.map(Into::into),
            rule: None,
            detail: detail.into(),
        };
        let lines = [
            line("a.bin", Answer::Fixed, None, ""),
            line(
                "b.bin",
                Answer::Failed,
                Some("EXC-DEVICE-ValueError"),
                "ValueError < BufferError",
            ),
            line(
                "c.bin",
                Answer::Known,
                Some("CRASH-SIGFPE-void0-strided"),
                "known since 2026-12-01",
            ),
            line("d.bin", Answer::Error, None, "no such file"),
        ];
        assert_eq!(
            junit(&lines),
            r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="dlpack-fuzz" tests="4" skipped="1" failures="1" errors="1">
    <testsuite name="replay" tests="4" skipped="1" errors="1" failures="1">
        <testcase name="a.bin" classname="dlpack-fuzz.replay"/>
        <testcase name="b.bin" classname="dlpack-fuzz.replay">
            <failure message="ValueError &lt; BufferError" type="EXC-DEVICE-ValueError"/>
        </testcase>
        <testcase name="c.bin" classname="dlpack-fuzz.replay">
            <skipped message="known since 2026-12-01" type="CRASH-SIGFPE-void0-strided"/>
        </testcase>
        <testcase name="d.bin" classname="dlpack-fuzz.replay">
            <error message="no such file" type="ERROR"/>
        </testcase>
    </testsuite>
</testsuites>
"#
        );
    }

    #[test]
    fn each_rule_of_a_sweep_is_a_test_case() {
        let count = |id: &str, checked| RuleCount { id: id.into(), checked, fired: 0 };
        let counts = [count("EXC-DEVICE", 9), count("CAP-TYPE", 9), count("TEN-VALUES", 0)];
        let broken = crate::report::tests::finding("EXC-DEVICE");
        let death = crate::finding::Death::Signal(libc::SIGFPE).into();
        let crash =
            Finding::new("numpy", "spec", broken.case.clone(), death, broken.versions.clone());
        insta::assert_snapshot!(junit_rules("numpy", &counts, &[&broken, &crash]));
    }
}
