//! Where cases to replay come from, and what is expected of each.

use crate::command::options::parse_case;
use crate::command::{At, Failure};
use dlpack_fuzz::case::Case;
use dlpack_fuzz::finding::{Cause, Entry, Finding, Known};
use std::path::Path;

/// A case under the name of the place where it is kept.
pub struct Source {
    pub name: String,
    /// The case, or why there is none.
    pub case: Result<Case, String>,
    pub expected: Expected,
}

/// What replaying it should show.
pub enum Expected {
    Nothing,
    /// This, if it is not fixed.
    Finding(Cause),
    /// What this entry of the known findings says.
    Known(Box<Entry>),
}

impl Source {
    pub fn of_text(name: &str, text: &str) -> Self {
        let case = parse_case(text).map_err(|failure| failure.to_string());
        Self { name: name.to_owned(), case, expected: Expected::Nothing }
    }

    fn error(path: &Path, reason: impl ToString) -> Self {
        Self {
            name: path.display().to_string(),
            case: Err(reason.to_string()),
            expected: Expected::Nothing,
        }
    }
}

/// Adds the cases of a file, of a finding's folder, or of a folder of such, in the order of their names. A
/// path that does not exist is a failure; a file that does not read is a source without a case. Findings on
/// another backend say nothing of this one: named themselves they are a failure, in a folder they are passed.
pub fn gather(path: &Path, backend: &str, sources: &mut Vec<Source>) -> Result<(), Failure> {
    if !path.is_dir() {
        let exists = path.try_exists().at(path)?;
        if !exists {
            return Err(Failure::new(format!("{}: no such file or folder", path.display())));
        }
        file(path, backend, sources);
        return Ok(());
    }
    if path.join("report.json").is_file() {
        return match finding(path) {
            Found::On(other, _) if other != backend => Err(Failure::new(format!(
                "{}: a finding on {other}; name it with --backend",
                path.display()
            ))),
            found => {
                sources.push(found.source());
                Ok(())
            }
        };
    }
    let mut entries = std::fs::read_dir(path).at(path)?.collect::<Result<Vec<_>, _>>().at(path)?;
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        let (name, path) = (entry.file_name(), entry.path());
        let name = name.to_string_lossy();
        let is_prose =
            ["md", "json", "py", "xml"].iter().any(|end| name.ends_with(&format!(".{end}")));
        // Known findings of another backend say nothing of this one.
        let is_foreign = name.ends_with(".toml") && !is_known_of(&path, backend);
        let is_foreign = is_foreign
            || path.join("report.json").is_file()
                && matches!(finding(&path), Found::On(other, _) if other != backend);
        if !name.starts_with('.') && !is_prose && !is_foreign {
            gather(&path, backend, sources)?;
        }
    }
    Ok(())
}

fn file(path: &Path, backend: &str, sources: &mut Vec<Source>) {
    let extension = path.extension().unwrap_or_default();
    if extension == "toml" {
        return known(path, backend, sources);
    }
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return sources.push(Source::error(path, error)),
    };
    let name = path.display().to_string();
    if extension != "txt" {
        let case = Ok(Case::decode(&bytes));
        return sources.push(Source { name, case, expected: Expected::Nothing });
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let lines: Vec<_> = (text.lines().enumerate())
        .filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
        .collect();
    for &(number, line) in &lines {
        let name = if lines.len() == 1 { name.clone() } else { format!("{name}:{}", number + 1) };
        sources.push(Source::of_text(&name, line));
    }
}

/// A finding's folder as it was read.
enum Found {
    /// On this backend.
    On(String, Source),
    Unreadable(Source),
}

impl Found {
    fn source(self) -> Source {
        match self {
            Self::On(_, source) | Self::Unreadable(source) => source,
        }
    }
}

fn finding(folder: &Path) -> Found {
    let path = folder.join("report.json");
    let read = std::fs::read(&path).map_err(|error| error.to_string());
    match read.and_then(|bytes| {
        serde_json::from_slice::<Finding>(&bytes).map_err(|error| error.to_string())
    }) {
        Err(reason) => Found::Unreadable(Source::error(&path, reason)),
        Ok(finding) => {
            let source = Source {
                name: folder.display().to_string(),
                case: Ok(finding.case),
                expected: Expected::Finding(finding.cause),
            };
            Found::On(finding.backend, source)
        }
    }
}

/// The file holds the known findings of this backend.
fn is_known_of(path: &Path, backend: &str) -> bool {
    path.file_name() == Known::file(Path::new(""), backend).file_name()
}

/// The examples of a file of known findings; none if it is another backend's.
pub fn known(path: &Path, backend: &str, sources: &mut Vec<Source>) {
    let read = match is_known_of(path, backend) {
        true => Known::load(path.parent().unwrap_or(Path::new(".")), backend),
        false => Ok(Known::default()),
    };
    match read {
        Err(error) => sources.push(Source::error(path, error)),
        Ok(known) => sources.extend(known.entries().iter().map(|entry| Source {
            name: format!("{}:{}", path.display(), entry.line),
            case: Ok(entry.example.clone()),
            expected: Expected::Known(Box::new(entry.clone())),
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_on_another_backend_are_passed_and_never_called_fixed() {
        let dir = tempfile::tempdir().unwrap();
        let case = "array(shape=(4,), dtype='int8').__dlpack__()".parse().unwrap();
        let cause = dlpack_fuzz::finding::Death::Hang.into();
        let finding = Finding::new("py:m:f", "spec", case, cause, Default::default());
        let folder = dir.path().join("py_m_f").join("HANG");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("report.json"), serde_json::to_vec(&finding).unwrap()).unwrap();
        let count = |path: &Path, backend| {
            let mut sources = Vec::new();
            gather(path, backend, &mut sources).map(|()| sources.len())
        };
        assert_eq!(count(dir.path(), "numpy").unwrap(), 0);
        assert_eq!(count(dir.path(), "py:m:f").unwrap(), 1);
        assert!(count(&folder, "numpy").unwrap_err().to_string().contains("--backend"));
    }

    #[test]
    fn folders_give_their_cases_in_order_and_leave_prose_out() {
        let dir = tempfile::tempdir().unwrap();
        let case = "array(shape=(4,), dtype='int8').__dlpack__()";
        std::fs::write(dir.path().join("b.txt"), format!("# why\n{case}\n{case} + repeat\n"))
            .unwrap();
        std::fs::write(dir.path().join("a"), [0u8; 7]).unwrap();
        std::fs::write(dir.path().join("README.md"), "x").unwrap();
        std::fs::write(dir.path().join("other.toml"), "not toml").unwrap();
        std::fs::write(dir.path().join("c.txt"), "array(shape=(4,").unwrap();
        let mut sources = Vec::new();
        gather(dir.path(), "numpy", &mut sources).unwrap();
        let names: Vec<_> =
            (sources.iter()).map(|source| source.name.rsplit('/').next().unwrap()).collect();
        assert_eq!(names, ["a", "b.txt:2", "b.txt:3", "c.txt"]);
        assert_eq!(sources[1].case.as_ref().unwrap().to_string(), case);
        assert!(sources[3].case.is_err());
        assert!(gather(&dir.path().join("none"), "numpy", &mut sources).is_err());
    }
}
