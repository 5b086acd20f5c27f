//! The **subject** of a session: which exporter is tested, in which environment, and by what it is judged.
//!
//! Goes in: options of the command line, each of which may also stand in an environment variable, which is
//! how a fuzz target gets them ([`Subject::from_env`]). Comes out: the [`Profile`], the folders, and the same
//! subject again as arguments, as variables, and as the command of a report that shows a finding once more.
//! A value that cannot be used is an [`Error`] of one sentence.

use crate::backend;
use crate::case::Case;
use crate::finding::{Cause, Finding};
use crate::host::{Error, Options, Versions, interpreter};
use crate::oracle::Profile;
use clap::{Args, FromArgMatches};
use std::borrow::Cow;
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What is tested and by what it is judged.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What is tested")]
pub struct Subject {
    /// The exporter: a library that `doctor` lists; `py:MODULE:FUNCTION`, a Python function that makes an
    /// exporter from the description of an array; its folder goes into DLPACK_FUZZ_PYTHONPATH; or `c:PATH`
    /// (`c:PATH?NAME=VALUE`), a shared object behind include/dlpack_fuzz_backend.h
    #[arg(
        long,
        value_name = "NAME",
        default_value = BACKEND,
        env = "DLPACK_FUZZ_BACKEND",
        value_parser = |text: &str| or_default(text, BACKEND)
    )]
    pub backend: String,

    /// How contested points are read: spec, strict, lenient, aat, spec-2023.12-first
    #[arg(
        long,
        value_name = "NAME",
        default_value = PROFILE,
        env = "DLPACK_FUZZ_PROFILE",
        value_parser = |text: &str| or_default(text, PROFILE)
    )]
    pub profile: String,

    /// Set one contested point to V (violation), W (warning), I (information) or off; may be repeated.
    /// `explain` names the knobs of a rule. (In the environment variable they are separated by commas)
    #[arg(
        long = "knob",
        value_name = "NAME=VALUE",
        env = "DLPACK_FUZZ_KNOBS",
        value_delimiter = ','
    )]
    pub knobs: Vec<String>,

    /// The Python environment with the library under test; the backend's own, as `scripts/setup` makes it,
    /// if left out
    #[arg(long, value_name = "DIR", env = "DLPACK_FUZZ_ENV")]
    pub env: Option<PathBuf>,

    /// A case that takes longer hangs; far more than any needs on a busy machine
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = CASE_LIMIT,
        env = "DLPACK_FUZZ_CASE_LIMIT",
        value_parser = seconds,
        hide_short_help = true
    )]
    pub case_limit: f64,

    /// A process that occupies more memory is ended, and the case it ran is a finding
    #[arg(
        long,
        value_name = "MIB",
        default_value_t = MEMORY_LIMIT,
        env = "DLPACK_FUZZ_MEMORY_LIMIT",
        value_parser = clap::value_parser!(u64).range(64..=1 << 20),
        hide_short_help = true
    )]
    pub memory_limit: u64,

    /// Treat findings that are known and reported upstream like new ones
    #[arg(long, env = "DLPACK_FUZZ_IGNORE_KNOWN", value_parser = clap::builder::FalseyValueParser::new())]
    pub ignore_known: bool,

    /// The folder of known findings, one file per backend
    #[arg(long, value_name = "DIR", env = "DLPACK_FUZZ_KNOWN", hide_short_help = true)]
    pub known_dir: Option<PathBuf>,
}

const BACKEND: &str = "numpy";
const PROFILE: &str = "spec";
const CASE_LIMIT: f64 = 10.0;
/// As libFuzzer has it.
const MEMORY_LIMIT: u64 = 2048;
/// Read by the backend `py:MODULE:FUNCTION`.
const PYTHON_PATH: &str = "DLPACK_FUZZ_PYTHONPATH";

impl Subject {
    /// What the environment variables say, as if no option were given.
    pub fn from_env() -> Result<Self, Error> {
        let command = Self::augment_args(clap::Command::new("dlpack-fuzz")).no_binary_name(true);
        (command.try_get_matches_from([] as [&str; 0]))
            .and_then(|matches| Self::from_arg_matches(&matches))
            .map_err(|error| {
                let text = error.to_string();
                let first = text.lines().next().unwrap_or_default();
                Error(first.trim_start_matches("error: ").to_owned())
            })
    }

    /// The profile with its knobs set.
    pub fn profile(&self) -> Result<Profile, Error> {
        let mut profile =
            Profile::named(&self.profile).map_err(|error| Error(error.to_string()))?;
        for knob in self.knobs() {
            profile.set(knob).map_err(|error| Error(error.to_string()))?;
        }
        Ok(profile)
    }

    /// The profile and its knobs in words, for reports.
    pub fn profile_text(&self) -> String {
        std::iter::once(self.profile.as_str()).chain(self.knobs()).collect::<Vec<_>>().join(", ")
    }

    /// What a session of this process is opened with.
    pub fn options(&self) -> Options {
        Options { env: self.env.clone(), backend: self.backend.clone() }
    }

    /// The environment's folder; it exists.
    pub fn environment(&self) -> Result<PathBuf, Error> {
        let env = backend::environment(self.env.as_deref(), &self.backend);
        if !interpreter::python_of(&env).exists() {
            let own = backend::entry(&self.backend).map_or("", |entry| entry.env);
            return Err(Error(format!(
                "no Python environment at {}: run `scripts/setup {own}`, or name one with --env",
                env.display()
            )));
        }
        // A child may run in another folder. The link to the base interpreter must stay unresolved.
        absolute(&env)
    }

    pub fn known_folder(&self) -> PathBuf {
        self.known_dir.clone().unwrap_or_else(|| project().join("corpus/known"))
    }

    /// The backend is a shared object.
    pub fn is_c(&self) -> bool {
        self.backend.starts_with(backend::c::PREFIX)
    }

    /// The fuzz target that runs this kind of backend.
    pub fn target(&self) -> &'static str {
        if self.is_c() { "c_abi" } else { "dunder_dlpack" }
    }

    /// A finding on this subject, without a reproducer yet.
    pub fn finding(&self, case: Case, cause: Cause, versions: Versions) -> Finding {
        Finding {
            again: self.again(&case),
            ..Finding::new(&self.backend, self.profile_text(), case, cause, versions)
        }
    }

    /// The same subject as arguments of a child.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut push = |name: &str, value: &dyn AsRef<OsStr>| {
            // In one word, so that a value may begin with a dash.
            let mut word = OsString::from(name);
            word.push("=");
            word.push(value.as_ref());
            arguments.push(word);
        };
        push("--backend", &backend::absolute(&self.backend));
        push("--profile", &self.profile);
        self.knobs().for_each(|knob| push("--knob", &knob));
        if let Some(env) = &self.env {
            push("--env", env);
        }
        push("--case-limit", &self.case_limit.to_string());
        push("--memory-limit", &self.memory_limit.to_string());
        push("--known-dir", &self.known_folder());
        if self.ignore_known {
            arguments.push("--ignore-known".into());
        }
        arguments
    }

    /// The same subject as environment variables of a fuzz target.
    pub fn variables(&self) -> Result<Vec<(&'static str, OsString)>, Error> {
        Ok(vec![
            ("DLPACK_FUZZ_BACKEND", backend::absolute(&self.backend).into()),
            ("DLPACK_FUZZ_PROFILE", self.profile.clone().into()),
            ("DLPACK_FUZZ_KNOBS", self.knobs().collect::<Vec<_>>().join(",").into()),
            ("DLPACK_FUZZ_ENV", self.environment()?.into()),
            ("DLPACK_FUZZ_KNOWN", absolute(&self.known_folder())?.into()),
            ("DLPACK_FUZZ_IGNORE_KNOWN", if self.ignore_known { "1" } else { "" }.into()),
        ])
    }

    /// The command line that runs a case on this subject once more, to be pasted into a shell.
    fn again(&self, case: &Case) -> String {
        let mut words = Vec::new();
        // A module of a person's own is found nowhere else.
        let folders = std::env::var(PYTHON_PATH).ok().filter(|folders| !folders.is_empty());
        if let Some(folders) = folders.filter(|_| self.backend.starts_with("py:")) {
            words.push(format!("{PYTHON_PATH}={}", shell_word(&folders)));
        }
        words.push("dlpack-fuzz repro".into());
        let mut push = |name: &str, value: &str| {
            // In one word where it could be taken for an option itself.
            let space = if value.starts_with('-') { "=" } else { " " };
            words.push(format!("{name}{space}{}", shell_word(value)));
        };
        push("--backend", &self.backend);
        if let Some(env) = &self.env {
            push("--env", &env.to_string_lossy());
        }
        if self.profile != PROFILE {
            push("--profile", &self.profile);
        }
        self.knobs().for_each(|knob| push("--knob", knob));
        if self.case_limit != CASE_LIMIT {
            push("--case-limit", &self.case_limit.to_string());
        }
        if self.memory_limit != MEMORY_LIMIT {
            push("--memory-limit", &self.memory_limit.to_string());
        }
        words.push(shell_word(&case.to_string()).into_owned());
        words.join(" ")
    }

    /// An empty variable splits into one empty word.
    fn knobs(&self) -> impl Iterator<Item = &str> {
        self.knobs.iter().map(String::as_str).filter(|knob| !knob.is_empty())
    }
}

/// The project's folder: the nearest above the working directory that holds it, else the one that this
/// program was built in.
pub fn project() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    (here.ancestors())
        .find(|folder| folder.join("fuzz/fuzz_targets/dunder_dlpack.rs").exists())
        .unwrap_or(Path::new(env!("CARGO_MANIFEST_DIR")))
        .to_owned()
}

/// A variable that is set and empty says nothing.
fn or_default(text: &str, default: &str) -> Result<String, Infallible> {
    Ok(if text.is_empty() { default } else { text }.to_owned())
}

fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|error| Error(format!("{}: {error}", path.display())))
}

/// The text as one word of a POSIX shell. (What holds a NUL byte was no argument.)
fn shell_word(text: &str) -> Cow<'_, str> {
    shlex::try_quote(text).unwrap_or(Cow::Borrowed(text))
}

/// `0.5`, up to an hour.
fn seconds(text: &str) -> Result<f64, String> {
    let is_fit = |seconds: &f64| (0.05..=3600.0).contains(seconds);
    let seconds = text.parse().ok().filter(is_fit);
    seconds.ok_or_else(|| "it is a number of seconds from 0.05 to 3600".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        subject: Subject,
    }

    fn subject(words: &[&str]) -> Subject {
        Line::parse_from(["x"].iter().chain(words)).subject
    }

    #[test]
    fn a_child_is_told_the_subject_that_the_parent_was_told() {
        let parent = subject(&[
            "--backend=py:m:f",
            "--knob",
            "aat=off",
            "--knob=copy-true=warning",
            "--env=-odd",
        ]);
        let told: Vec<OsString> = std::iter::once("x".into()).chain(parent.arguments()).collect();
        let child = Line::parse_from(told).subject;
        assert_eq!(child.backend, "py:m:f");
        assert_eq!(child.knobs, ["aat=off", "copy-true=warning"]);
        assert_eq!(child.env, Some("-odd".into()));
        assert_eq!(child.known_dir, Some(parent.known_folder()));
    }

    #[test]
    fn a_finding_is_shown_again_by_what_it_was_judged_by() {
        let case: Case =
            "array(shape=(6,), dtype='float32').__dlpack__(stream='cpu')".parse().unwrap();
        let text = case.to_string();
        let again = |words: &[&str]| subject(words).again(&case);
        assert_eq!(again(&[]), format!("dlpack-fuzz repro --backend numpy \"{text}\""));
        assert_eq!(
            again(&[
                "--env",
                "my envs/a",
                "--profile",
                "strict",
                "--knob=cpu_stream=V",
                "--knob=b=off"
            ]),
            format!(
                "dlpack-fuzz repro --backend numpy --env 'my envs/a' --profile strict \
                 --knob 'cpu_stream=V' --knob 'b=off' \"{text}\""
            )
        );
        assert!(again(&["--env=-odd"]).contains(" --env=-odd "));
    }
}
