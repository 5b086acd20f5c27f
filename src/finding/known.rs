//! A **known finding** is one that is already reported upstream, as data: fuzzing goes on past it, and a
//! replay of its example turns red when it is gone (fixed: delete the entry).
//!
//! Goes in: `corpus/known/<backend>.toml`. Comes out: whether an entry covers what was found
//! ([`Known::covers`]), and whether a case would kill the process and is better not run
//! ([`Known::steers`]). A file that does not read is one [`Error`] that names file and line.
//!
//! An entry covers only what it says: the rule, the key, the versions and the cases of its `when` tables;
//! another fault under the same rule stays a new finding. Its example must be one of these cases.

mod entry;
mod requirement;
mod when;

pub use entry::{Entry, Fault};
pub use requirement::Requirement;
pub use when::When;

use super::{Cause, Error, Versions};
use crate::case::Case;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The known findings of one backend.
#[derive(Clone, Debug, Default)]
pub struct Known {
    entries: Vec<Entry>,
    /// Rows of `Dtype::TABLE` that some process-killing entry speaks of, one bit each.
    killing_rows: [u64; 4],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    known: Vec<toml::Spanned<entry::Raw>>,
}

impl Known {
    /// Where a backend's entries stand: `<dir>/<backend>.toml`; of `c:PATH?…` in
    /// `c-<name of the shared object>.toml`.
    pub fn file(dir: &Path, backend: &str) -> PathBuf {
        dir.join(format!("{}.toml", file_stem(backend)))
    }

    /// Reads the backend's [`file`](Self::file); without it nothing is known.
    pub fn load(dir: &Path, backend: &str) -> Result<Self, Error> {
        let path = Self::file(dir, backend);
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text, &path.display().to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Error(format!("{}: {error}", path.display()))),
        }
    }

    /// Reads the text of a file; `origin` names it in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Self, Error> {
        let line_of = |place: usize| text[..place].matches('\n').count() + 1;
        let fail = |line, what: &str| Error(format!("{origin}:{line}: {what}"));
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| line_of(span.start));
            fail(line, &error.message().replace('\n', " "))
        })?;
        let mut known = Self::default();
        for raw in file.known {
            let line = line_of(raw.span().start);
            known.add(Entry::new(raw.into_inner(), line).map_err(|what| fail(line, &what))?);
        }
        Ok(known)
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry that what was found belongs to, if it is known.
    pub fn covers(&self, case: &Case, cause: &Cause, versions: &Versions) -> Option<&Entry> {
        (self.entries.iter())
            .find(|entry| entry.is_about(cause) && entry.shows(case) && entry.applies(versions))
    }

    /// The process-killing entry that running this case would meet. For most cases a bit test.
    pub fn steers(&self, case: &Case, versions: &Versions) -> Option<&Entry> {
        let row = usize::from(case.tensor.dtype.row());
        if self.killing_rows[row / 64] & (1 << (row % 64)) == 0 {
            return None;
        }
        (self.entries.iter())
            .find(|entry| entry.kills() && entry.shows(case) && entry.applies(versions))
    }

    fn add(&mut self, entry: Entry) {
        if entry.kills() {
            for when in &entry.when {
                for (mine, rows) in self.killing_rows.iter_mut().zip(when.rows()) {
                    *mine |= rows;
                }
            }
        }
        self.entries.push(entry);
    }
}

/// The name of the backend's file, without its end.
fn file_stem(backend: &str) -> String {
    let Some(path) = backend.strip_prefix("c:") else { return backend.to_owned() };
    let path = path.split('?').next().unwrap_or_default();
    let name = Path::new(path).file_stem().unwrap_or_default();
    format!("c-{}", name.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Death, Violation};
    use crate::oracle::{Evidence, Grade};

    fn numpy(version: &str) -> Versions {
        let libraries = vec![("numpy".into(), version.into())];
        Versions { libraries, ..Versions::default() }
    }

    fn shipped() -> Known {
        Known::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/known"), "numpy").unwrap()
    }

    fn case(text: &str) -> Case {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn broken(rule: &'static str, key: &'static str) -> Cause {
        let evidence =
            Evidence { key: key.into(), expected: "a".into(), seen: "b".into(), facts: vec![] };
        Cause::Violation(Violation { rule: rule.into(), grade: Grade::Violation, evidence })
    }

    #[test]
    fn a_shared_object_has_a_file_by_its_name() {
        assert_eq!(file_stem("numpy"), "numpy");
        assert_eq!(file_stem("c:./a/libx.so?fault=y"), "c-libx");
    }

    const SIGFPE: Death = Death::Signal(libc::SIGFPE);

    /// What plain Python showed on NumPy 2.4.6, each call in a process of its own.
    #[test]
    fn the_zero_item_size_crash_of_numpy_is_covered_where_it_was_measured_and_nowhere_else() {
        let known = shipped();
        let array =
            |shape: &str, rest: &str| format!("array(shape={shape}, dtype='void[0]'{rest})");
        let plain = |shape: &str, rest: &str| array(shape, rest) + ".__dlpack__()";
        let call = |arguments: &str| {
            array("(4,)", ", strides=(8,)") + &format!(".__dlpack__({arguments})")
        };
        let locked = |arguments: &str| {
            array("(4,)", ", strides=(8,), writable=False") + &format!(".__dlpack__({arguments})")
        };
        let dies = [
            plain("(4,)", ", strides=(8,)"),
            plain("(4,)", ", strides=(-8,)"),
            plain("(4,)", ", strides=(1,)"),
            plain("(1, 4)", ", strides=(8, 8)"),
            plain("(4, 1)", ", strides=(8, 0)"),
            plain("(2, 3)", ", strides=(0, 8)"),
            plain("(2, 3)", ", strides=(8, 0)"),
            plain("(2, 3)", ", strides=(24, 8)"),
            plain("(2, 3)", ", order='F'"),
            plain("(2, 1, 2)", ", order='F'"),
            plain("(4,)", ", object='field'"),
            plain("(4,)", ", strides=(8,), object='masked'"),
            plain("(4,)", ", strides=(8,), object='subclass'"),
            call("max_version=None"),
            call("max_version=(1, 0)"),
            call("max_version=(0, 0)"),
            call("max_version=(2, 0)"),
            call("max_version=(-1, 0)"),
            call("max_version=(Index(1), 0)"),
            call("copy=None"),
            call("copy=False"),
            call("copy=0"),
            call("copy=np.int64(0)"),
            call("copy=0.0"),
            call("dl_device=None"),
            call("dl_device=(1, 0)"),
            call("dl_device=(IntEnum(1), 0)"),
            call("dl_device=(Index(1), 0)"),
            call("dl_device=Pair((1, 0))"),
            call("dl_device=own"),
            call("stream=None"),
            call("copy=False, max_version=(1, 0)"),
            call("copy=True") + " + copy-false",
            locked("max_version=(1, 0)"),
            locked("max_version=(2, 0), copy=False"),
            locked("") + " + version-1.0",
        ];
        for text in &dies {
            let case = case(text);
            assert!(known.covers(&case, &SIGFPE.into(), &numpy("2.4.6")).is_some(), "{text}");
            assert!(known.steers(&case, &numpy("2.4.6")).is_some(), "{text}");
        }
        let lives = [
            plain("(4,)", ""),
            plain("()", ""),
            plain("(4,)", ", strides=(0,)"),
            plain("(1,)", ", strides=(8,)"),
            plain("(0,)", ", strides=(8,)"),
            plain("(0, 3)", ", strides=(24, 8)"),
            plain("(1, 4)", ", strides=(8, 0)"),
            plain("(4, 1)", ", strides=(0, 8)"),
            plain("(2, 3)", ", strides=(0, 0)"),
            plain("(1, 1)", ", strides=(8, 8)"),
            plain("(3,)", ", order='F'"),
            plain("(1, 3)", ", order='F'"),
            plain("(1,)", ", object='field'"),
            call("copy=True"),
            call("copy=1"),
            call("copy='cpu'"),
            call("copy=''"),
            call("dl_device=(2, 0)"),
            call("dl_device=(1, 1)"),
            call("dl_device=[1, 0]"),
            call("dl_device=(Enum(1), 0)"),
            call("dl_device=(1.0, 0)"),
            call("max_version=[1, 0]"),
            call("max_version=(1.5, 0)"),
            call("max_version=(2**64, 0)"),
            call("max_version=(1,)"),
            call("max_version='1'"),
            call("stream=1"),
            call("stream=-1"),
            call("foo=1"),
            call("None"),
            locked(""),
            locked("max_version=None"),
            locked("max_version=(0, 0)"),
            locked("max_version=(1, 0), copy=True"),
            "array(shape=(4,), dtype='void[1]', strides=(8,)).__dlpack__()".into(),
            "array(shape=(4,), dtype='bytes[1]', strides=(8,)).__dlpack__()".into(),
            "array(shape=(4,), dtype='float32', strides=(8,)).__dlpack__()".into(),
        ];
        for text in &lives {
            let case = case(text);
            assert!(known.covers(&case, &SIGFPE.into(), &numpy("2.4.6")).is_none(), "{text}");
            assert!(known.steers(&case, &numpy("2.4.6")).is_none(), "{text}");
        }
    }

    #[test]
    fn another_death_of_a_known_case_and_an_unmeasured_version_are_new() {
        let known = shipped();
        let case = case("array(shape=(4,), dtype='void[0]', strides=(8,)).__dlpack__()");
        for death in [Death::Signal(libc::SIGSEGV), Death::Exit(1), Death::Hang] {
            assert!(known.covers(&case, &death.into(), &numpy("2.4.6")).is_none(), "{death}");
        }
        assert!(known.covers(&case, &broken("EXC-NO-CRASH", ""), &numpy("2.4.6")).is_none());
        assert!(known.covers(&case, &SIGFPE.into(), &numpy("1.21.6")).is_none());
        assert!(known.steers(&case, &numpy("1.21.6")).is_none());
        assert!(known.covers(&case, &SIGFPE.into(), &Versions::default()).is_none());
        assert_eq!(known.entries()[0].example, case);
    }

    #[test]
    fn a_second_fault_under_the_same_rule_is_not_covered() {
        let known = Known::parse(
            r#"
            [[known]]
            rule = "EXC-DEVICE"
            key = "ValueError"
            example = "array(shape=(6,), dtype='float32').__dlpack__(dl_device=(2, 0))"
            since = 2026-12-01
            versions = { numpy = ">=2.1, <2.4" }

            [[known]]
            rule = "TEN-VALUES"
            example = "array(shape=(6,), dtype='int8').__dlpack__()"
            since = 2026-12-01
            when = [{ dtypes = ["int8"], layouts = ["c"] }]
            "#,
            "known.toml",
        )
        .unwrap();
        let float = case("array(shape=(3,), dtype='float32').__dlpack__(dl_device=(9, 9))");
        let covers = |case: &Case, rule, key, version| {
            known.covers(case, &broken(rule, key), &numpy(version)).is_some()
        };
        assert!(covers(&float, "EXC-DEVICE", "ValueError", "2.3.5"));
        assert!(!covers(&float, "EXC-DEVICE", "TypeError", "2.3.5"));
        assert!(!covers(&float, "EXC-DEVICE", "ValueError", "2.4.0"));
        assert!(!covers(&float, "COPY-FALSE-BE", "ValueError", "2.3.5"));
        assert!(!covers(&float, "TEN-VALUES", "first", "2.3.5"), "another dtype");
        let strided = case("array(shape=(3,), dtype='int8', strides=(2,)).__dlpack__()");
        assert!(!covers(&strided, "TEN-VALUES", "first", "2.3.5"), "another layout");
        let int8 = case("array(shape=(3,), dtype='int8').__dlpack__()");
        assert!(covers(&int8, "TEN-VALUES", "first", "2.3.5"));
        assert!(known.steers(&int8, &numpy("2.3.5")).is_none(), "it kills nobody");
    }

    #[test]
    fn a_file_that_does_not_read_is_one_error_with_file_and_line() {
        let entry = |lines: &str| {
            format!(
                "# first line\n[[known]]\nexample = \"array(shape=(6,), dtype='float32').__dlpack__()\"\n\
                 since = 2026-12-01\n{lines}\n"
            )
        };
        for (text, line, word) in [
            ("known = 3\n".into(), 1, "invalid type"),
            (entry("rule = \"A\"\nkey = \"b\"\nfoo = 1"), 7, "foo"),
            (entry("crash = \"SIGNONE\""), 5, "SIGNONE"),
            (entry("crash = \"SIGFPE\"\nkey = \"x\""), 2, "no `key`"),
            (entry("rule = \"A\"\ncrash = \"SIGFPE\""), 2, "either"),
            (entry("rule = \"A\""), 2, "covers every case"),
            (entry("crash = \"SIGFPE\"\nwhen = [{}]"), 2, "covers every case"),
            (entry("crash = \"SIGFPE\"\nwhen = [{ dtypes = [\"int8\"] }]"), 2, "own example"),
            (entry("crash = \"SIGFPE\"\nwhen = [{ dtypes = [\"int9\"] }]"), 6, "int9"),
            (entry("crash = \"SIGFPE\"\nwhen = [{ copy = [\"sometimes\"] }]"), 6, "sometimes"),
            (entry("rule = \"A\"\nkey = \"b\"\nversions = { numpy = \"~2\" }"), 7, "~2"),
            ("[[known]\n".into(), 1, ""),
        ] {
            let error = Known::parse(&text, "known.toml").unwrap_err().0;
            assert!(error.starts_with(&format!("known.toml:{line}: ")), "{text}\n{error}");
            assert!(error.contains(word) && !error.contains('\n'), "{text}\n{error}");
        }
    }

    #[test]
    fn without_a_file_nothing_is_known() {
        let known = Known::load(Path::new("/nowhere"), "numpy").unwrap();
        assert!(known.entries().is_empty());
        let case = case("array(shape=(4,), dtype='void[0]', strides=(8,)).__dlpack__()");
        assert!(known.steers(&case, &numpy("2.4.6")).is_none());
    }
}
