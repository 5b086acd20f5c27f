//! Runs a reproducer in a fresh interpreter and says whether it shows the finding.

use super::reproducer::{CALLING, SHOWN};
use super::{Cause, Death, Reproduced};
use crate::host::process::resident;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often a running script is asked whether it has ended.
const POLL: Duration = Duration::from_millis(5);

/// What a script may use; it is ended when it needs more.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub time: Duration,
    /// In bytes.
    pub memory: u64,
}

/// Runs `script` with this interpreter. Nothing of this process's environment that a sanitizer or another
/// Python has set reaches it.
pub fn confirm(script: &str, cause: &Cause, python: &Path, limits: Limits) -> Reproduced {
    let mut command = Command::new(python);
    command.arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if ["PYTHON", "LD_PRELOAD", "ASAN_", "LSAN_", "UBSAN_"]
            .iter()
            .any(|prefix| name_text.starts_with(prefix))
        {
            command.env_remove(&name);
        }
    }
    // The interpreter reads the whole script before it runs any of it.
    let started = command.spawn().map(|mut child| {
        let mut input = child.stdin.take().expect("stdin was piped");
        // An interpreter that ends without reading shows it by its status.
        let _ = input.write_all(script.as_bytes());
        child
    });
    match started {
        Ok(child) => judge(Run::wait(child, limits), cause),
        Err(error) => Reproduced::Failed(format!("{} does not start: {error}", python.display())),
    }
}

/// How a script ended.
struct Run {
    /// Else it was ended for this.
    status: Result<ExitStatus, Death>,
    output: String,
    errors: String,
}

impl Run {
    fn wait(mut child: Child, limits: Limits) -> Self {
        let output = drain(child.stdout.take());
        let errors = drain(child.stderr.take());
        let start = Instant::now();
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) if start.elapsed() < limits.time && resident(&child) < limits.memory => {
                    thread::sleep(POLL);
                }
                _ => {
                    let is_late = start.elapsed() >= limits.time;
                    // It cannot be ended twice; then it is gone already.
                    let _ = child.kill();
                    let _ = child.wait();
                    break Err(if is_late { Death::Hang } else { Death::Memory });
                }
            }
        };
        let text = |reader: thread::JoinHandle<String>| reader.join().unwrap_or_default();
        Self { status, output: text(output), errors: text(errors) }
    }
}

/// Reads a pipe to its end beside the script, which would wait for a full one.
fn drain(pipe: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = vec![];
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn judge(run: Run, cause: &Cause) -> Reproduced {
    let last = |text: &str| text.lines().last().unwrap_or("without a word").trim().to_string();
    let death = match run.status {
        Err(ended) => ended,
        Ok(status) => match status.signal() {
            Some(signal) => Death::Signal(signal),
            None => Death::Exit(status.code().unwrap_or(0)),
        },
    };
    match (cause, death) {
        (Cause::Crash(crash), death) => {
            let called = run.output.lines().any(|line| line.starts_with(CALLING));
            match death {
                _ if !called => Reproduced::Failed(last(&run.errors)),
                death if death == crash.death => Reproduced::Confirmed,
                Death::Exit(0) => Reproduced::NotShown,
                Death::Exit(2) => Reproduced::Failed(last(&run.errors)),
                Death::Hang => {
                    Reproduced::Failed("it was still running when its time was over".into())
                }
                other => Reproduced::Failed(format!("it died by {other}")),
            }
        }
        (Cause::Violation(_), Death::Exit(0)) => Reproduced::NotShown,
        (Cause::Violation(_), Death::Exit(1)) if last(&run.output) == SHOWN => {
            Reproduced::Confirmed
        }
        (Cause::Violation(_), Death::Exit(_)) => {
            let words = if run.errors.is_empty() { &run.output } else { &run.errors };
            Reproduced::Failed(last(words))
        }
        (Cause::Violation(_), Death::Hang) => {
            Reproduced::Failed("it was still running when its time was over".into())
        }
        (Cause::Violation(_), death) => Reproduced::Failed(format!("it died by {death}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::DLDevice;
    use crate::case::{Case, Probe};
    use crate::finding::{ReproInput, Versions, Violation, reproducer};
    use crate::oracle::{Evidence, Fact, Grade, Of, ProbeName, What};

    const LIMIT: Limits = Limits { time: Duration::from_secs(60), memory: 1 << 30 };
    const FLOATS: &str = "import numpy as np\nx = np.arange(6, dtype='float32').reshape(2, 3)\n";

    fn python() -> std::path::PathBuf {
        Path::new(env!("DLPACK_FUZZ_ENV_DEFAULT")).join("bin/python")
    }

    fn run(case: &str, build: &str, cause: &Cause) -> Reproduced {
        let (case, versions): (Case, _) = (case.parse().unwrap(), Versions::default());
        let input =
            ReproInput { case: &case, cause, build, versions: &versions, own: DLDevice::CPU };
        confirm(&reproducer(&input), cause, &python(), LIMIT)
    }

    /// The script's lines on what it saw.
    fn spoken(case: &str, build: &str, cause: &Cause) -> Vec<String> {
        let (case, versions): (Case, _) = (case.parse().unwrap(), Versions::default());
        let input =
            ReproInput { case: &case, cause, build, versions: &versions, own: DLDevice::CPU };
        let output = Command::new(python()).arg("-c").arg(reproducer(&input)).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().filter(|line| line.starts_with("seen: ")).map(str::to_string).collect()
    }

    fn broken(facts: &[(Of, What, &str)]) -> Cause {
        let facts = (facts.iter())
            .map(|&(of, what, value)| Fact { of, what, value: value.into() })
            .collect();
        let evidence = Evidence { key: "k".into(), expected: "e".into(), seen: "s".into(), facts };
        Cause::Violation(Violation { rule: "X-NONE".into(), grade: Grade::Violation, evidence })
    }

    /// The facts of a lawful call, all that can be looked up. A script that is told they are the fault
    /// shows it; told otherwise of a single one it does not.
    #[test]
    fn every_fact_is_looked_up_on_a_real_export() {
        let copy = Of::Probe(ProbeName(Probe::CopyTrue));
        let legacy = Of::Probe(ProbeName(Probe::Unversioned));
        let refused = Of::Probe(ProbeName(Probe::Version10));
        let facts = [
            (Of::Export, What::Outcome, "capsule", "TypeError"),
            (Of::Export, What::CapsuleName, "b'dltensor_versioned'", "b'dltensor'"),
            (legacy, What::CapsuleName, "b'dltensor'", "None"),
            (Of::Export, What::NameFits, "True", "False"),
            (legacy, What::NameFits, "True", "False"),
            (Of::Export, What::HasDestructor, "True", "False"),
            (Of::Export, What::Version, "(1, 0)", "(1, 1)"),
            (legacy, What::Version, "None", "(1, 0)"),
            (Of::Export, What::Flags, "0", "1"),
            (copy, What::Flags, "2", "0"),
            (Of::Export, What::HasDeleter, "True", "False"),
            (Of::Export, What::Device, "(1, 0)", "(2, 0)"),
            (Of::Export, What::Dtype, "(2, 32, 1)", "(2, 64, 1)"),
            (Of::Export, What::Ndim, "2", "1"),
            (Of::Export, What::Shape, "(2, 3)", "(3, 2)"),
            (legacy, What::Strides, "(3, 1)", "None"),
            (Of::Export, What::ByteOffset, "0", "4"),
            (Of::Export, What::DataIsNull, "False", "True"),
            (Of::Export, What::Memory, "alias", "overlap"),
            (copy, What::Memory, "distinct", "alias"),
            (legacy, What::Shares, "True", "False"),
            (copy, What::Shares, "False", "True"),
            (Of::Export, What::Elements, "same", "differ"),
            (copy, What::Elements, "same", "differ"),
            (Of::Export, What::WriteThrough, "True", "False"),
            (copy, What::WriteThrough, "False", "True"),
            (Of::Export, What::DeviceMethod, "(1, 0)", "(2, 0)"),
            (Of::Export, What::DeviceForm, "tuple of int and int", "list of int and int"),
            (Of::Export, What::ReferenceGrowth, "0.00", "1"),
            (Of::Export, What::ArgumentReferences, "0.00", "1"),
            (Of::Export, What::PendingError, "None", "ValueError"),
            (Of::Export, What::Aligned, "True", "False"),
            (Of::Export, What::SourceState, "same", "changed"),
            (refused, What::Outcome, "capsule", "BufferError"),
        ];
        let case = "array(shape=(2, 3), dtype='float32').__dlpack__(max_version=(1, 0))";
        let right: Vec<_> = facts.iter().map(|&(of, what, value, _)| (of, what, value)).collect();
        assert_eq!(run(case, FLOATS, &broken(&right)), Reproduced::Confirmed);
        let wrong: Vec<_> = (facts.iter()).map(|&(of, what, _, value)| (of, what, value)).collect();
        assert_eq!(run(case, FLOATS, &broken(&wrong)), Reproduced::NotShown);
        // Each of them alone is told apart, too: the script says so line by line.
        let lines = spoken(case, FLOATS, &broken(&wrong));
        for ((_, what, _, value), line) in facts.iter().zip(&lines) {
            let number = value.parse::<f64>().is_ok();
            assert!(line.ends_with(&format!(", not {value}")) || number, "{what:?}: {line}");
            assert!(line.contains(", not "), "{what:?}: {line}");
        }
        assert_eq!(lines.len(), facts.len());
    }

    #[test]
    fn strided_and_overlapping_memory_is_walked_by_its_strides() {
        let case = "array(shape=(3,), dtype='int16').__dlpack__()";
        for build in [
            "import numpy as np\nx = np.arange(9, dtype='i2')[::-3]\n",
            "import numpy as np\nx = np.arange(9, dtype='i2')[1::3]\n",
            "import numpy as np\nx = np.broadcast_to(np.arange(3, dtype='i2'), (4, 3))\nx.flags.writeable = True\n",
            "import numpy as np\nx = np.array(5, dtype='i2')\n",
        ] {
            let facts = [(Of::Export, What::Memory, "alias"), (Of::Export, What::Elements, "same")];
            assert_eq!(run(case, build, &broken(&facts)), Reproduced::Confirmed, "{build}");
        }
    }

    /// An exporter that says one thing and its source another.
    #[test]
    fn wrong_elements_and_changed_sources_are_seen() {
        let class = "import numpy as np\nsource = np.arange(6, dtype='i4')\nclass X:\n    def __dlpack__(self, **kw):\n        ";
        let end = "\n    def __dlpack_device__(self):\n        raise KeyError('d')\nx = X()\n";
        let case = "array(shape=(6,), dtype='int32').__dlpack__(copy=True)";
        for (body, what, value) in [
            ("return (source + 1).__dlpack__()", What::Elements, "differ"),
            ("return source[1:].__dlpack__()", What::Memory, "overlap"),
            ("return source[::-1].__dlpack__()", What::Elements, "differ"),
            (
                "return np.lib.stride_tricks.as_strided(source, (6,), (400,)).__dlpack__()",
                What::Elements,
                "differ",
            ),
            ("source[0] += 1; return source.__dlpack__()", What::SourceState, "changed"),
            (
                "globals().setdefault('kept', []).append(source); return source.__dlpack__()",
                What::ReferenceGrowth,
                "1.02",
            ),
            ("raise KeyError", What::Outcome, "KeyError"),
            ("return 7", What::Outcome, "int"),
            ("raise SystemError from ValueError()", What::PendingError, "ValueError"),
            ("return 7", What::DeviceMethod, "KeyError"),
            ("raise SystemError from ValueError()", What::PendingError, "True"),
        ] {
            let cause = broken(&[(Of::Export, what, value)]);
            assert_eq!(
                run(case, &format!("{class}{body}{end}"), &cause),
                Reproduced::Confirmed,
                "{body}"
            );
        }
    }

    /// `True` and small ints count no references on newer Pythons; a tuple does.
    #[test]
    fn references_of_arguments_are_counted() {
        let class = "import numpy as np\nsource = np.arange(6)\nkept = []\nclass X:\n    def __dlpack__(self, **kw):\n        ";
        let case = "array(shape=(6,), dtype='int64').__dlpack__(copy=None, max_version=(1, 0))";
        let kept = broken(&[(Of::Export, What::ArgumentReferences, "1.02")]);
        let leak = format!("{class}kept.append(kw['max_version'])\nx = X()\n");
        assert_eq!(run(case, &leak, &kept), Reproduced::Confirmed);
        let lawful = format!("{class}kept[:] = [kw['max_version']]\nx = X()\n");
        assert_eq!(run(case, &lawful, &kept), Reproduced::NotShown);
    }

    #[test]
    fn odd_arguments_reach_the_call() {
        for (arguments, outcome) in [
            (
                "dl_device=(IntEnum(1), Index(0)), max_version=Pair((Int(1), np.int64(0)))",
                "capsule",
            ),
            ("dl_device=own, stream=None", "capsule"),
            ("dl_device=(Enum(1), 0)", "TypeError"),
            ("foo=1", "TypeError"),
            ("None", "TypeError"),
            ("max_version=[1, 0]", "TypeError"),
        ] {
            let case = format!("array(shape=(6,), dtype='float32').__dlpack__({arguments})");
            let cause = broken(&[(Of::Export, What::Outcome, outcome)]);
            assert_eq!(run(&case, FLOATS, &cause), Reproduced::Confirmed, "{arguments}");
        }
    }

    const ZERO_SIZE: &str =
        "import numpy as np\nx = np.lib.stride_tricks.as_strided(np.zeros(8, 'V0'), (4,), (8,))\n";

    #[test]
    fn numpys_zero_item_size_crash_is_confirmed() {
        let case = "array(shape=(4,), dtype='void[0]', strides=(8,)).__dlpack__()";
        let dies = Death::Signal(libc::SIGFPE).into();
        assert_eq!(run(case, ZERO_SIZE, &dies), Reproduced::Confirmed);
        assert_eq!(run(case, FLOATS, &dies), Reproduced::NotShown);
        let segfault = Death::Signal(libc::SIGSEGV).into();
        assert_eq!(run(case, ZERO_SIZE, &segfault), Reproduced::Failed("it died by SIGFPE".into()));
        let probed =
            "array(shape=(4,), dtype='void[0]', strides=(8,)).__dlpack__(copy=True) + copy-false";
        assert_eq!(run(probed, ZERO_SIZE, &dies), Reproduced::Confirmed);
    }

    #[test]
    fn what_breaks_beside_the_call_is_no_answer() {
        let case = "array(shape=(6,), dtype='float32').__dlpack__()";
        let cause = broken(&[(Of::Export, What::Outcome, "capsule")]);
        let failed = |reason: &str| Reproduced::Failed(reason.into());
        let missing = "ModuleNotFoundError: No module named 'no_such_module'";
        assert_eq!(run(case, "import no_such_module\n", &cause), failed(missing));
        let dies = Death::Exit(2).into();
        assert_eq!(run(case, "import no_such_module\n", &dies), failed(missing));
        let raises = "raise SystemExit(1)\n";
        assert!(matches!(run(case, raises, &cause), Reproduced::Failed(_)));
        let empty = broken(&[]);
        assert_eq!(
            run(case, FLOATS, &empty),
            failed("undecided: the report has no fact to compare")
        );
        let data = broken(&[(Of::Export, What::WriteThrough, "True")]);
        let locked = format!("{FLOATS}x.flags.writeable = False\n");
        assert!(matches!(run(case, &locked, &data), Reproduced::Failed(_)));
        let nowhere = confirm("", &cause, Path::new("/nowhere/python"), LIMIT);
        assert!(
            matches!(nowhere, Reproduced::Failed(reason) if reason.starts_with("/nowhere/python"))
        );
    }

    #[test]
    fn a_hang_is_confirmed_by_hanging() {
        let script = "print('calling it', flush=True)\nwhile True: pass\n";
        let short = Limits { time: Duration::from_secs(2), ..LIMIT };
        assert_eq!(confirm(script, &Death::Hang.into(), &python(), short), Reproduced::Confirmed);
        let other = Death::Signal(libc::SIGSEGV).into();
        assert!(matches!(confirm(script, &other, &python(), short), Reproduced::Failed(_)));
    }

    #[test]
    fn a_script_that_uses_up_the_memory_is_ended_and_confirmed() {
        let script =
            "print('calling it', flush=True)\nall = []\nwhile True: all.append(b'x' * 1_000_000)\n";
        let low = Limits { memory: 100 << 20, ..LIMIT };
        let confirmed = confirm(script, &Death::Memory.into(), &python(), low);
        assert_eq!(confirmed, Reproduced::Confirmed);
    }
}
