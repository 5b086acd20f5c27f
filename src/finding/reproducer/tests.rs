use super::template::template;
use super::*;
use crate::finding::Death;
use crate::oracle::{Evidence, Grade};

fn script(cause: &Cause, case: &str, build: &str) -> String {
    let versions = Versions {
        libraries: vec![("numpy".into(), "2.3.5".into())],
        python: "3.11.7".into(),
        ..Versions::default()
    };
    let case = case.parse().unwrap();
    reproducer(&ReproInput { case: &case, cause, build, versions: &versions, own: DLDevice::CPU })
}

fn broken(rule: &'static str, facts: Vec<Fact>) -> Cause {
    let evidence = Evidence {
        key: "k".into(),
        expected: "BufferError".into(),
        seen: "ValueError".into(),
        facts,
    };
    Cause::Violation(Violation { rule: rule.into(), grade: Grade::Violation, evidence })
}

#[test]
fn a_script_has_only_the_parts_it_needs() {
    let fact = Fact { of: Of::Export, what: What::Outcome, value: "ValueError".into() };
    let cause = broken("X-NONE", vec![fact]);
    let case = "array(shape=(6,), dtype='float32').__dlpack__(dl_device=(2, 0))";
    let build = "import numpy as np\nx = np.zeros(6, np.float32)\n";
    assert_eq!(
        script(&cause, case, build),
        r#"# X-NONE
# Expected: BufferError
# Seen:     ValueError
# With:     numpy 2.3.5, Python 3.11.7
# Exit status: 1 the fault shows, 0 it does not, 2 undecided.
import sys


def trouble(*error):
    """Whatever goes wrong beside the call under test: undecided."""
    sys.__excepthook__(*error)
    sys.exit(2)


sys.excepthook = trouble


def attempt(call):
    try:
        return call()
    except BaseException as error:
        return error


def outcome(result):
    name = type(result).__name__
    return "capsule" if name == "PyCapsule" else name


import numpy as np
x = np.zeros(6, np.float32)

export = attempt(lambda: x.__dlpack__(dl_device=(2, 0)))

print("expected: BufferError")
facts = [  # what, as it is now, as it was reported
    ("outcome of x.__dlpack__(dl_device=(2, 0))", outcome(export), "ValueError"),
]
for what, now, reported in facts:
    print(f"seen:     {what} = {now}" + ("" if str(now) == reported else f", not {reported}"))
shown = all(str(now) == reported for _, now, reported in facts)
print("FAULT SHOWN" if shown else "fault not shown")
sys.exit(1 if shown else 0)
"#
    );
}

#[test]
fn a_crash_script_says_what_it_calls_before_it_calls() {
    let case = "array(shape=(4,), dtype='void[0]', strides=(8,)).__dlpack__()";
    let script = script(&Death::Signal(libc::SIGFPE).into(), case, "import numpy as np\nx = 1\n");
    let end = r#"import sys

import numpy as np
x = 1

print("calling x.__dlpack__(): the process dies by SIGFPE", flush=True)
try:
    print("not shown, it returned", x.__dlpack__())
except BaseException as error:
    print("not shown, it raised", repr(error))
sys.exit(0)
"#;
    assert!(script.ends_with(end), "{script}");
    assert!(!script.contains("ctypes"));
}

#[test]
fn the_clause_with_its_source_heads_the_script() {
    let script = script(
        &broken("EXC-DEVICE", vec![]),
        "array(shape=(6,), dtype='float32').__dlpack__()",
        "x = 1",
    );
    let entry = catalogue::entry("EXC-DEVICE").unwrap();
    let head = format!("# EXC-DEVICE ({}): ", entry.level);
    assert!(script.starts_with(&head), "{script}");
    assert!(script.contains("# Source:   "));
    assert!(script.lines().take_while(|line| line.starts_with('#')).all(|line| line.len() <= 96));
}

#[test]
fn every_part_exists_under_the_name_it_is_asked_for() {
    let template = template();
    let known = |name: &str| template.iter().any(|part| part.name == name);
    for part in &template {
        for need in &part.needs {
            assert!(known(need), "{} needs {need}", part.name);
        }
    }
    for name in ["hook", "undecided", "attempt", "IntEnum", "Enum", "Int", "Pair", "Index", "fresh"]
    {
        assert!(known(name), "{name}");
    }
    assert!(known(part(What::Aligned)) && known(part(What::SourceState)));
}

#[test]
fn text_cannot_leave_its_literal() {
    assert_eq!(text("a \"b\" \\ \n\u{fc}"), r#""a \"b\" \\ \n?""#);
}
