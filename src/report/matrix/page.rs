//! The matrix as a page: HTML that needs nothing but itself, and Markdown.
//!
//! Goes in: the [`Matrix`]. What both pages show is arranged here once; the templates `page.html` and
//! `page.md` only lay it out. askama escapes whatever stands in HTML; in Markdown, whatever a library may have
//! worded stands in a code span ([`Page::code`]).

use super::cell::CRASH_RULE;
use super::{Cell, Disagreement, Matrix, Reported, Run, State, Verdict};
use crate::oracle::catalogue::{self, Entry};
use crate::report::{Noted, standing};
use askama::Template;
use std::fmt::Display;

/// Disagreements that a page shows; JSON has all answers.
const MOST: usize = 60;

/// The page for a browser.
pub fn html(matrix: &Matrix) -> String {
    html_of(Page::of(matrix, catalogue::all()))
}

/// The page for a repository.
pub fn markdown(matrix: &Matrix) -> String {
    markdown_of(Page::of(matrix, catalogue::all()))
}

fn html_of(page: Page) -> String {
    Html { page }.render().expect("a page is written to memory")
}

fn markdown_of(page: Page) -> String {
    Markdown { page }.render().expect("a page is written to memory")
}

#[derive(Template)]
#[template(path = "page.html")]
struct Html<'a> {
    page: Page<'a>,
}

#[derive(Template)]
#[template(path = "page.md", escape = "none")]
struct Markdown<'a> {
    page: Page<'a>,
}

/// What a page shows, in its order.
struct Page<'a> {
    profile: &'a str,
    tool: &'static str,
    columns: Vec<Column<'a>>,
    not_run: Vec<(&'a str, &'a str)>,
    families: Vec<Family<'a>>,
    /// Rules of which no observation shows anything, with the reason.
    unobservable: Vec<(&'static str, &'static str)>,
    disagreements: Vec<Disagreement>,
    further: usize,
}

/// A library that ran.
struct Column<'a> {
    name: &'a str,
    run: &'a Run,
    /// Rules by verdict, in the order of [`Verdict::ALL`].
    counts: Vec<usize>,
}

struct Family<'a> {
    name: &'static str,
    title: &'static str,
    rows: Vec<Row<'a>>,
}

/// A rule.
struct Row<'a> {
    entry: &'static Entry,
    cells: Vec<(&'a str, Cell<'a>)>,
}

/// A part of a sentence.
struct Span<'t> {
    text: &'t str,
    is_code: bool,
}

impl<'a> Page<'a> {
    fn of(matrix: &'a Matrix, rules: &'static [Entry]) -> Self {
        let ran = || {
            (matrix.libraries.iter())
                .filter_map(|library| Some((library.name.as_str(), library.run()?)))
        };
        let mut families: Vec<Family> = Vec::new();
        for entry in rules.iter().filter(|entry| is_row(entry)) {
            if families.last().is_none_or(|family| family.name != entry.family) {
                let title = catalogue::family_title(entry.family);
                families.push(Family { name: entry.family, title, rows: Vec::new() });
            }
            let cells = ran().map(|(name, run)| (name, Cell::of(run, entry.id))).collect();
            let family = families.last_mut().expect("one was just pushed");
            family.rows.push(Row { entry, cells });
        }
        let columns = (ran().enumerate())
            .map(|(place, (name, run))| {
                let rows = || families.iter().flat_map(|family| &family.rows);
                let count =
                    |verdict| rows().filter(|row| row.cells[place].1.verdict == verdict).count();
                Column { name, run, counts: Verdict::ALL.map(count).to_vec() }
            })
            .collect();
        let not_run = (matrix.libraries.iter())
            .filter_map(|library| match &library.state {
                State::Ran(_) => None,
                State::NotRun(reason) => Some((library.name.as_str(), reason.as_str())),
            })
            .collect();
        let mut disagreements = matrix.disagreements();
        let further = disagreements.len().saturating_sub(MOST);
        disagreements.truncate(MOST);
        Self {
            profile: &matrix.profile,
            tool: env!("CARGO_PKG_VERSION"),
            columns,
            not_run,
            families,
            unobservable: (rules.iter())
                .filter(|entry| !is_row(entry))
                .filter_map(|entry| match entry.state {
                    catalogue::State::NotObservable(reason) => Some((entry.id, reason)),
                    catalogue::State::Judged => None,
                })
                .collect(),
            disagreements,
            further,
        }
    }

    /// Rules that some library breaks in whatever way, the worst first.
    fn broken(&self) -> Vec<&Row<'a>> {
        let rows = self.families.iter().flat_map(|family| &family.rows);
        let mut broken: Vec<_> = rows.filter(|row| row.worst().is_broken()).collect();
        broken.sort_by_key(|row| std::cmp::Reverse(row.worst()));
        broken
    }

    fn legend(&self) -> [Verdict; 7] {
        Verdict::ALL
    }

    /// The place on the page that tells what a library does with a rule.
    fn anchor(&self, rule: &str, library: &str) -> String {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        let library: String =
            library.chars().map(|letter| if plain(letter) { letter } else { '_' }).collect();
        format!("{rule}.{library}")
    }

    /// The catalogue's words: what stands between backticks is code.
    fn spans<'t>(&self, text: &'t str) -> Vec<Span<'t>> {
        let parts = text.split('`').enumerate();
        parts.map(|(place, text)| Span { text, is_code: place % 2 == 1 }).collect()
    }

    /// A Markdown code span that holds any text.
    fn code(&self, text: impl Display) -> String {
        let text = text.to_string().replace('\n', " ");
        let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest + 1);
        let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
        format!("{fence}{space}{text}{space}{fence}")
    }

    /// Ids in one line.
    fn ids(&self, ids: &[&str]) -> String {
        ids.join(", ")
    }
}

impl Column<'_> {
    /// `numpy 2.4.6`, of the library itself.
    fn release(&self) -> String {
        match self.run.versions.libraries.first() {
            Some((name, version)) => format!("{name} {version}"),
            None => self.name.to_owned(),
        }
    }

    /// What it was tested with.
    fn others(&self) -> String {
        let versions = &self.run.versions;
        let libraries = versions.libraries.iter().skip(1).cloned();
        let python = ("Python".to_owned(), versions.python.clone());
        let all = libraries.chain([python]).map(|(name, version)| format!("{name} {version}"));
        all.collect::<Vec<_>>().join(", ")
    }

    fn cases(&self) -> String {
        grouped(self.run.cases)
    }
}

impl<'a> Family<'a> {
    /// Rules that are told row by row in Markdown: not all libraries that were asked keep them.
    fn uneven(&self) -> impl Iterator<Item = &Row<'a>> {
        self.rows.iter().filter(|row| row.worst().is_broken())
    }

    /// Ids of the rules that all who were asked keep.
    fn kept(&self) -> Vec<&'static str> {
        self.ids(|worst| worst == Verdict::Kept)
    }

    /// Ids of the rules that nobody was asked.
    fn unasked(&self) -> Vec<&'static str> {
        self.ids(|worst| worst < Verdict::Kept)
    }

    fn ids(&self, wanted: impl Fn(Verdict) -> bool) -> Vec<&'static str> {
        let rows = self.rows.iter().filter(|row| wanted(row.worst()));
        rows.map(|row| row.entry.id).collect()
    }
}

impl<'a> Row<'a> {
    fn worst(&self) -> Verdict {
        self.cells.iter().map(|(_, cell)| cell.verdict).max().unwrap_or(Verdict::NotRun)
    }

    fn standing(&self) -> String {
        standing(self.entry)
    }

    /// The libraries that do not keep it, the worst first.
    fn offenders(&self) -> Vec<&(&'a str, Cell<'a>)> {
        let mut all: Vec<_> =
            self.cells.iter().filter(|(_, cell)| cell.verdict.is_broken()).collect();
        all.sort_by_key(|(_, cell)| std::cmp::Reverse(cell.verdict));
        all
    }
}

impl Reported {
    fn known_words(&self) -> Option<String> {
        let known = self.known.as_ref()?;
        let issue = known.upstream.iter().map(|issue| format!(": {issue}")).collect::<String>();
        Some(format!("known since {}{issue}", known.since))
    }
}

impl Noted {
    fn grade_words(&self) -> &'static str {
        super::super::grade_word(self.violation.grade)
    }
}

/// A rule is a row if something can be seen of it.
fn is_row(entry: &Entry) -> bool {
    entry.state == catalogue::State::Judged || entry.id == CRASH_RULE
}

/// `1,234,567`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::matrix::tests::sample;

    /// A rule of each kind of cell. Snapshots of all rules would change with every new one.
    fn few() -> &'static [Entry] {
        let few = [
            "CAP-TYPE",
            "TEN-VALUES",
            "DEV-CPU-ID-OTHER",
            "STR-CPU-NONE-ONLY",
            "EXC-NO-CRASH",
            "EXC-DEVICE",
            "STR-OPTIONAL",
            "XCH-ON-TYPE",
        ];
        let entries = few.map(|id| *catalogue::entry(id).unwrap());
        Vec::from(entries).leak()
    }

    #[test]
    fn the_page_for_a_browser() {
        let matrix = sample();
        let page = html_of(Page::of(&matrix, few()));
        let (head, rest) = page.split_once("<style>").unwrap();
        let (_, body) = rest.split_once("</style>").unwrap();
        insta::assert_snapshot!(format!("{head}{body}"));
    }

    #[test]
    fn the_page_for_a_repository() {
        let matrix = sample();
        insta::assert_snapshot!(markdown_of(Page::of(&matrix, few())));
    }

    #[test]
    fn nothing_that_a_library_says_becomes_markup() {
        let page = html(&sample());
        assert!(!page.contains("<script"));
        assert!(page.contains("&#60;script&#62;alert(1)"), "it is shown as it is");
    }

    #[test]
    fn every_link_leads_to_one_place() {
        let page = html(&sample());
        let values = |start: &str| -> Vec<String> {
            let parts = page.split(start).skip(1);
            parts.map(|part| part.split('"').next().unwrap_or_default().to_owned()).collect()
        };
        let targets = values(" id=\"");
        let links = values("href=\"#");
        assert!(links.len() > 5);
        for link in links {
            assert_eq!(targets.iter().filter(|target| **target == link).count(), 1, "#{link}");
        }
    }
}
