//! A **notice** is what a build is told of one finding, in whatever form its service reads.

use super::{Answer, ReplayLine, versions};
use crate::finding::Finding;
use std::path::{Path, PathBuf};

/// One finding, or one input of a replay that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub level: Level,
    /// The rule that is accused; `None` where nothing could be judged.
    pub rule: Option<String>,
    /// What stays the same when it is found again.
    pub identity: String,
    /// One sentence.
    pub text: String,
    /// The file that it is about.
    pub place: Option<Place>,
    /// What else is known of it: names and values.
    pub details: Vec<(&'static str, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Fails the build.
    Error,
    /// Known, or nothing that one has to act on.
    Note,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    /// From 1.
    pub line: usize,
}

impl Notice {
    /// Of a finding that is kept in this folder.
    pub fn of_finding(finding: &Finding, folder: Option<&Path>) -> Self {
        let text = format!(
            "{}: {}: {}; expected: {}",
            finding.backend,
            finding.case,
            finding.cause.seen(),
            finding.cause.expected()
        );
        Self {
            level: Level::Error,
            rule: Some(finding.rule().to_owned()),
            identity: finding.identity.to_string(),
            text,
            place: folder.map(|folder| Place { path: folder.join("case.txt"), line: 1 }),
            details: vec![
                ("backend", finding.backend.clone()),
                ("case", finding.case.to_string()),
                ("expected", finding.cause.expected().into_owned()),
                ("seen", finding.cause.seen().into_owned()),
                ("versions", versions(&finding.versions)),
                ("profile", finding.profile.clone()),
                ("reproducer", finding.reproduced.to_string()),
                ("again", finding.again.clone()),
            ],
        }
    }

    /// Of an input of a replay; `None` if there is nothing to tell.
    pub fn of_line(line: &ReplayLine) -> Option<Self> {
        let level = match line.answer {
            Answer::Ok | Answer::Fixed | Answer::NotRunnable => return None,
            Answer::Known | Answer::Still => Level::Note,
            Answer::Failed | Answer::Outdated | Answer::Error => Level::Error,
        };
        let word = line.answer.word();
        let details = line.case.iter().map(|case| ("case", case.clone())).collect();
        Some(Self {
            level,
            rule: line.rule.clone(),
            identity: line.identity.clone().unwrap_or_else(|| format!("replay-{word}")),
            text: format!("{word} {}: {}", line.name, line.detail),
            place: Place::named(&line.name),
            details,
        })
    }
}

impl Place {
    /// `PATH` or `PATH:LINE`; `None` for what is no file's name (`--case`).
    fn named(name: &str) -> Option<Self> {
        if name.starts_with("--") {
            return None;
        }
        let with_line = name.rsplit_once(':').and_then(|(path, line)| {
            Some(Self { path: path.into(), line: line.parse().ok().filter(|line| *line > 0)? })
        });
        Some(with_line.unwrap_or_else(|| Self { path: name.into(), line: 1 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_file_with_a_line_or_without() {
        let place = |name| Place::named(name).map(|place| (place.path, place.line));
        assert_eq!(
            place("corpus/known/numpy.toml:12"),
            Some(("corpus/known/numpy.toml".into(), 12))
        );
        assert_eq!(place("a:b.txt"), Some(("a:b.txt".into(), 1)));
        assert_eq!(place("corpus/x"), Some(("corpus/x".into(), 1)));
        assert_eq!(place("--case"), None);
    }

    #[test]
    fn what_passes_is_no_notice_and_what_is_known_fails_no_build() {
        let notice = |answer| Notice::of_line(&ReplayLine::new("a.txt", answer));
        for answer in [Answer::Ok, Answer::Fixed, Answer::NotRunnable] {
            assert_eq!(notice(answer), None);
        }
        for (answer, level) in [
            (Answer::Known, Level::Note),
            (Answer::Still, Level::Note),
            (Answer::Failed, Level::Error),
            (Answer::Outdated, Level::Error),
            (Answer::Error, Level::Error),
        ] {
            assert_eq!(notice(answer).unwrap().level, level);
        }
    }
}
