//! `matrix`: a check of every library, and one page that says who keeps which rule.

mod library;

use super::options::{Keeping, Output, processors};
use super::summary::{self, StatusLine};
use super::{At, Failure, Status, print};
use clap::Args;
use dlpack_fuzz::backend::{self, REGISTRY};
use dlpack_fuzz::host::process;
use dlpack_fuzz::report::matrix::{self, Library, Matrix, State};
use dlpack_fuzz::subject::Subject;
use library::Plan;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Check every library, and write one page that says who keeps which rule
///
/// Each library is checked in its own environment, by processes of its own: one that dies, hangs or does not
/// load loses nothing of the others. What is not installed is named with the command that installs it. All
/// are asked some two thousand questions word for word besides, and what they answer differently is told.
///
/// DIR/matrix.html needs nothing but itself; DIR/matrix.md fits a repository; DIR/matrix.json has everything.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dlpack-fuzz matrix                                  every backend that `doctor` lists
  dlpack-fuzz matrix --time 120 --jobs 4              longer, and more of them side by side
  dlpack-fuzz matrix torch envs/torch-2.9.1           two releases of one library
  dlpack-fuzz matrix --with elsewhere/matrix.json     with what another interpreter's build has checked

Exit status: 0 no finding is new, 1 some are, 2 could not run (no library did).")]
pub struct Matrices {
    /// A backend, checked in its own environment; or the folder of an environment that scripts/setup made
    /// (envs/NAME-VERSION) [default: every backend]
    #[arg(value_name = "LIBRARY")]
    libraries: Vec<String>,

    /// How long each library is checked, from when it is loaded, with everything that belongs to it
    #[arg(long, value_name = "SECONDS", default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..))]
    time: u64,

    /// Libraries that are checked side by side [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,

    /// The folder of the pages
    #[arg(long, value_name = "DIR", default_value = "matrix")]
    out: PathBuf,

    /// A matrix.json of another run: its libraries that did not run here are taken over; may be repeated
    #[arg(long = "with", value_name = "FILE")]
    others: Vec<PathBuf>,

    /// How contested points are read: spec, strict, lenient, aat, spec-2023.12-first
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,

    /// Set one contested point, as in `check`; may be repeated
    #[arg(long = "knob", value_name = "NAME=VALUE")]
    knobs: Vec<String>,

    /// Say nothing but the result
    #[arg(long)]
    quiet: bool,

    #[command(flatten)]
    keeping: Keeping,
}

impl Matrices {
    pub fn run(self) -> Result<Status, Failure> {
        let base = self.base()?;
        let subjects = self.subjects(&base)?;
        let profile = base.profile_text();
        let others = self.others.iter().map(|path| read(path, &profile));
        let others = others.collect::<Result<Vec<_>, _>>()?;
        std::fs::create_dir_all(&self.out).at(&self.out)?;
        process::catch_interrupts();
        let mut libraries = self.examine(&subjects);
        others.into_iter().for_each(|other| take_over(other, &mut libraries));
        let matrix = Matrix { profile, libraries };
        let written = [
            ("matrix.html", matrix::html(&matrix)),
            ("matrix.md", matrix::markdown(&matrix)),
            ("matrix.json", matrix::json(&matrix)),
        ];
        for (name, text) in written {
            let path = self.out.join(name);
            std::fs::write(&path, text).at(&path)?;
        }
        self.conclude(&matrix)
    }

    /// What all libraries are judged by.
    fn base(&self) -> Result<Subject, Failure> {
        if std::env::var_os("DLPACK_FUZZ_ENV").is_some_and(|env| !env.is_empty()) {
            return Err(Failure::new(
                "DLPACK_FUZZ_ENV names one environment, and each library has its own: unset it",
            ));
        }
        let mut base = Subject::from_env()?;
        base.profile = self.profile.clone().unwrap_or(base.profile);
        base.knobs.extend(self.knobs.iter().cloned());
        base.profile()?;
        Ok(base)
    }

    /// The libraries by their names in the matrix.
    fn subjects(&self, base: &Subject) -> Result<Vec<(String, Subject)>, Failure> {
        let own = |backend: &str| {
            (backend.to_owned(), Subject { backend: backend.to_owned(), env: None, ..base.clone() })
        };
        if self.libraries.is_empty() {
            return Ok(REGISTRY.iter().map(|entry| own(entry.name)).collect());
        }
        let named = |word: &String| {
            if backend::entry(word).is_some() || word.starts_with("py:") || word.starts_with("c:") {
                return Ok(own(word));
            }
            let path = Path::new(word);
            let folder = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let entry = backend_of(&folder).filter(|_| path.is_dir()).ok_or_else(|| {
                let names: Vec<_> = REGISTRY.iter().map(|entry| entry.name).collect();
                Failure::new(format!(
                    "{word} is no backend and no environment of one; there are {}, py:MODULE:FUNCTION, \
                     c:PATH, and the folders envs/NAME-VERSION of scripts/setup",
                    names.join(", ")
                ))
            })?;
            let env = Some(path.to_owned());
            Ok((folder, Subject { backend: entry.to_owned(), env, ..base.clone() }))
        };
        self.libraries.iter().map(named).collect()
    }

    /// Checks all of them, some side by side, in the order that they were named.
    fn examine(&self, subjects: &[(String, Subject)]) -> Vec<Library> {
        let line = StatusLine::bar(Output { json: false, quiet: self.quiet });
        line.length(subjects.len() as u64);
        let plan = Plan { findings: &self.keeping.findings, time: Duration::from_secs(self.time) };
        let next = Mutex::new(subjects.iter().enumerate());
        let results = Mutex::new(Vec::new());
        let work = || {
            loop {
                let taken = next.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).next();
                let Some((place, (name, subject))) = taken else { return };
                line.show(name);
                let started = Instant::now();
                // A defect in one library's check must not lose the others.
                let state = std::panic::catch_unwind(|| library::examine(subject, &plan))
                    .unwrap_or_else(|_| {
                        State::NotRun("a defect of dlpack-fuzz itself: the check panicked".into())
                    });
                let library = Library { name: name.clone(), state };
                line.say(&headline(&library, started.elapsed()));
                let mut results = results.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                results.push((place, library));
                line.advance(results.len() as u64);
            }
        };
        let jobs = self.jobs.map_or_else(processors, usize::from).min(subjects.len());
        std::thread::scope(|scope| (0..jobs).for_each(|_| _ = scope.spawn(work)));
        line.finish();
        let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        results.sort_by_key(|(place, _)| *place);
        results.into_iter().map(|(_, library)| library).collect()
    }

    /// Says where the pages are, and what they come to.
    fn conclude(&self, matrix: &Matrix) -> Result<Status, Failure> {
        let ran: Vec<_> = matrix.libraries.iter().filter_map(Library::run).collect();
        let findings = || ran.iter().flat_map(|run| &run.findings);
        let new = findings().filter(|found| found.known.is_none()).count();
        print(&format!(
            "{} of {} libraries checked; {} findings, {} of them known; {} patterns of disagreement\n{}\n",
            ran.len(),
            matrix.libraries.len(),
            findings().count(),
            findings().count() - new,
            matrix.disagreements().len(),
            self.out.join("matrix.html").display()
        ));
        match (ran.is_empty(), new) {
            (true, _) => Err(Failure::new(match matrix.libraries.first().map(|it| &it.state) {
                Some(State::NotRun(reason)) => format!("no library could be checked: {reason}"),
                _ => "no library could be checked".into(),
            })),
            (false, 0) => Ok(Status::NothingNew),
            (false, _) => Ok(Status::Findings),
        }
    }
}

/// The backend that an environment's folder is named for: `torch` for `torch-2.9.1`.
fn backend_of(folder: &str) -> Option<&'static str> {
    let is_for = |env: &str| {
        folder.strip_prefix(env).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    (REGISTRY.iter().filter(|entry| is_for(entry.env)))
        .max_by_key(|entry| (entry.env.len(), entry.name == entry.env))
        .map(|entry| entry.name)
}

fn read(path: &Path, profile: &str) -> Result<Matrix, Failure> {
    let text = std::fs::read_to_string(path).at(path)?;
    let matrix: Matrix = serde_json::from_str(&text).map_err(|error| {
        Failure::new(format!("{}: not a matrix.json of this program: {error}", path.display()))
    })?;
    match matrix.profile == profile {
        true => Ok(matrix),
        false => Err(Failure::new(format!(
            "{}: judged by profile {}, and this run by {profile}",
            path.display(),
            matrix.profile
        ))),
    }
}

/// Libraries of another run stand where there was no run here.
fn take_over(other: Matrix, libraries: &mut Vec<Library>) {
    for library in other.libraries.into_iter().filter(|library| library.run().is_some()) {
        match libraries.iter_mut().find(|mine| mine.name == library.name) {
            Some(mine) if mine.run().is_none() => *mine = library,
            Some(_) => {}
            None => libraries.push(library),
        }
    }
}

/// `numpy: 494,666 cases, 1 finding, 5 s`
fn headline(library: &Library, time: Duration) -> String {
    match &library.state {
        State::NotRun(reason) => format!("{}: NOT RUN: {reason}", library.name),
        State::Ran(run) => format!(
            "{}: {} cases, {} findings, {} s",
            library.name,
            summary::grouped(run.cases),
            run.findings.len(),
            time.as_secs()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_told_by_its_folder() {
        assert_eq!(backend_of("torch-2.9.1"), Some("torch"));
        assert_eq!(backend_of("tvm-ffi"), Some("tvm-ffi"));
        assert_eq!(backend_of("numpy-2.3.5"), Some("numpy"));
        assert_eq!(backend_of("numpystuff"), None);
    }
}
