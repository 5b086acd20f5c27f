//! The options: the same name and the same meaning in every command that has them.

use super::{At, Failure};
use clap::{Args, ValueEnum};
use dlpack_fuzz::backend;
use dlpack_fuzz::case::Case;
use dlpack_fuzz::host::interpreter;
use dlpack_fuzz::oracle::Profile;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is tested and by what it is judged.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "What is tested")]
pub struct Subject {
    /// The exporter: a library that `doctor` lists; `py:MODULE:FUNCTION`, a Python function that makes an
    /// exporter from the description of an array; its folder goes into DLPACK_FUZZ_PYTHONPATH; or `c:PATH`
    /// (`c:PATH?NAME=VALUE`), a shared object behind include/dlpack_fuzz_backend.h
    #[arg(long, value_name = "NAME", default_value = "numpy", env = "DLPACK_FUZZ_BACKEND")]
    pub backend: String,

    /// How contested points are read: spec, strict, lenient, aat, spec-2023.12-first
    #[arg(long, value_name = "NAME", default_value = "spec", env = "DLPACK_FUZZ_PROFILE")]
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

    /// The Python environment with the library under test; the backend's own, as `scripts/setup` makes it, if left out
    #[arg(long, value_name = "DIR", env = "DLPACK_FUZZ_ENV")]
    pub env: Option<PathBuf>,

    /// Treat findings that are known and reported upstream like new ones
    #[arg(long, env = "DLPACK_FUZZ_IGNORE_KNOWN", value_parser = clap::builder::FalseyValueParser::new())]
    pub ignore_known: bool,

    /// The folder of known findings, one file per backend
    #[arg(long, value_name = "DIR", env = "DLPACK_FUZZ_KNOWN", hide_short_help = true)]
    pub known: Option<PathBuf>,
}

impl Subject {
    /// The profile with its knobs set.
    pub fn profile(&self) -> Result<Profile, Failure> {
        let mut profile =
            Profile::named(&self.profile).map_err(|error| Failure::new(error.to_string()))?;
        for knob in self.knobs.iter().filter(|knob| !knob.is_empty()) {
            profile.set(knob).map_err(|error| Failure::new(error.to_string()))?;
        }
        Ok(profile)
    }

    /// The profile and its knobs in words, for reports.
    pub fn profile_text(&self) -> String {
        [&self.profile].into_iter().chain(&self.knobs).cloned().collect::<Vec<_>>().join(", ")
    }

    /// The environment's folder; it exists.
    pub fn environment(&self) -> Result<PathBuf, Failure> {
        let env = backend::environment(self.env.as_deref(), &self.backend);
        if !interpreter::python_of(&env).exists() {
            let own = backend::entry(&self.backend).map_or("", |entry| entry.env);
            return Err(Failure::new(format!(
                "no Python environment at {}: run `scripts/setup {own}`, or name one with --env",
                env.display()
            )));
        }
        // A child may run in another folder. The link to the base interpreter must stay unresolved.
        std::path::absolute(&env).at(&env)
    }

    pub fn known_folder(&self) -> PathBuf {
        self.known.clone().unwrap_or_else(|| project().join("corpus/known"))
    }

    /// The fuzz target that runs this kind of backend.
    pub fn target(&self) -> &'static str {
        if self.backend.starts_with(backend::c::PREFIX) { "c_abi" } else { "dunder_dlpack" }
    }

    /// The same subject as arguments of a child.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        let mut push = |name: &str, value: &dyn AsRef<std::ffi::OsStr>| {
            // In one word, so that a value may begin with a dash.
            let mut word = OsString::from(name);
            word.push("=");
            word.push(value.as_ref());
            arguments.push(word);
        };
        push("--backend", &backend::absolute(&self.backend));
        push("--profile", &self.profile);
        self.knobs.iter().for_each(|knob| push("--knob", knob));
        if let Some(env) = &self.env {
            push("--env", env);
        }
        push("--known", &self.known_folder());
        if self.ignore_known {
            arguments.push("--ignore-known".into());
        }
        arguments
    }

    /// The same subject as environment variables of a fuzz target.
    pub fn variables(&self) -> Result<Vec<(&'static str, OsString)>, Failure> {
        Ok(vec![
            ("DLPACK_FUZZ_BACKEND", backend::absolute(&self.backend).into()),
            ("DLPACK_FUZZ_PROFILE", self.profile.clone().into()),
            ("DLPACK_FUZZ_KNOBS", self.knobs.join(",").into()),
            ("DLPACK_FUZZ_ENV", self.environment()?.into()),
            (
                "DLPACK_FUZZ_KNOWN",
                std::path::absolute(self.known_folder()).at(&self.known_folder())?.into(),
            ),
            ("DLPACK_FUZZ_IGNORE_KNOWN", if self.ignore_known { "1" } else { "" }.into()),
        ])
    }
}

/// How much is done.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "How much")]
pub struct Effort {
    /// Stop after this time; no limit if left out
    #[arg(long, value_name = "SECONDS")]
    pub time: Option<u64>,

    /// Stop after this many cases; no limit if left out
    #[arg(long, value_name = "N")]
    pub runs: Option<u64>,

    /// Processes that work side by side [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub jobs: Option<u16>,
}

impl Effort {
    pub fn time(&self) -> Option<Duration> {
        self.time.map(Duration::from_secs)
    }

    pub fn jobs(&self) -> usize {
        self.jobs.map_or_else(
            || std::thread::available_parallelism().map_or(1, usize::from),
            usize::from,
        )
    }
}

/// Where findings go.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Where")]
pub struct Keeping {
    /// Findings are kept in DIR/BACKEND/IDENTITY/ as case text, report and repro.py
    #[arg(long, value_name = "DIR", default_value = "findings", env = "DLPACK_FUZZ_FINDINGS")]
    pub findings: PathBuf,
}

/// How it is said.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,

    /// Say nothing but the result
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sanitizer {
    /// AddressSanitizer with leak detection: sees reads and writes outside of blocks, several times slower
    Address,
    /// No sanitizer: crashes, rules and the ledger only
    None,
}

impl Sanitizer {
    pub fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::None => "none",
        }
    }
}

/// A case, given as an argument or with `--case`: its text, or a file with its text or its bytes.
pub fn read_case(word: &str) -> Result<Case, Failure> {
    let path = Path::new(word);
    if path.is_file() {
        return read_case_file(path);
    }
    parse_case(word)
}

pub fn parse_case(text: &str) -> Result<Case, Failure> {
    (text.trim().parse()).map_err(|error| {
        Failure::new(format!("the case {:?} does not parse: {error}", text.trim()))
    })
}

/// A `.txt` file holds text, any other the bytes of a fuzz target's input.
pub fn read_case_file(path: &Path) -> Result<Case, Failure> {
    let bytes = std::fs::read(path).at(path)?;
    if path.extension().is_some_and(|extension| extension == "txt") {
        return parse_case(&String::from_utf8_lossy(&bytes))
            .map_err(|failure| Failure::new(format!("{}: {failure}", path.display())));
    }
    Ok(Case::decode(&bytes))
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        subject: Subject,
    }

    #[test]
    fn a_child_is_told_the_subject_that_the_parent_was_told() {
        let words = [
            "x",
            "--backend=py:m:f",
            "--knob",
            "aat=off",
            "--knob=copy-true=warning",
            "--env=-odd",
        ];
        let parent = Line::parse_from(words).subject;
        let told: Vec<OsString> = std::iter::once("x".into()).chain(parent.arguments()).collect();
        let child = Line::parse_from(told).subject;
        assert_eq!(child.backend, "py:m:f");
        assert_eq!(child.knobs, ["aat=off", "copy-true=warning"]);
        assert_eq!(child.env, Some("-odd".into()));
        assert_eq!(child.known, Some(parent.known_folder()));
    }
}
