//! A replay as JUnit XML, for continuous integration.

use super::{Answer, ReplayLine};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

/// One test case per line: FAILED is a failure, ERROR an error, KNOWN is skipped, OK and FIXED pass.
pub fn junit(lines: &[ReplayLine]) -> String {
    let mut suite = TestSuite::new("replay");
    for line in lines {
        let mut status = match line.answer {
            Answer::Ok | Answer::Fixed => TestCaseStatus::success(),
            Answer::Known => TestCaseStatus::skipped(),
            Answer::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
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
}
