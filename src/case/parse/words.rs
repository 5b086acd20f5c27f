//! Reading a text word by word: what every part of the parser is made of.

use super::ParseError;
use std::str::FromStr;

pub(super) struct Parser<'a> {
    text: &'a str,
    /// Byte offset of what is not yet read.
    at: usize,
}

pub(super) type Parsed<T> = Result<T, ParseError>;

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Reads `token` if it follows without a space, as the fraction of a float does.
    pub(super) fn eat_close(&mut self, token: &str) -> bool {
        let found = self.text[self.at..].starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    pub(super) fn number<T: FromStr>(&mut self, expected: &str) -> Parsed<T> {
        let start = self.start();
        let rest = self.rest();
        let digits = rest.trim_start_matches('-').find(|c: char| !c.is_ascii_digit());
        let sign = rest.len() - rest.trim_start_matches('-').len();
        let end = digits.map_or(rest.len(), |digits| sign + digits);
        self.at += end;
        rest[..end].parse().or_else(|_| self.fail_at(start, expected))
    }

    /// Text in single quotes.
    pub(super) fn quoted(&mut self) -> Parsed<&'a str> {
        let inside = self.rest().strip_prefix('\'').and_then(|rest| rest.split_once('\''));
        let Some((inside, _)) = inside else {
            return self.fail("text in single quotes");
        };
        self.at += inside.len() + 2;
        Ok(inside)
    }

    /// A comma, unless the closing bracket follows (which may follow a comma too).
    pub(super) fn separator(&mut self, close: &str) -> Parsed<()> {
        if self.eat(",") || self.rest().starts_with(close) {
            return Ok(());
        }
        self.fail(&format!("`,` or `{close}`"))
    }

    pub(super) fn token(&mut self, token: &str) -> Parsed<()> {
        if self.eat(token) { Ok(()) } else { self.fail(&format!("`{token}`")) }
    }

    pub(super) fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    /// What stands before the first of these characters.
    pub(super) fn until<const N: usize>(&mut self, ends: [char; N]) -> &'a str {
        let rest = self.rest();
        let found = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += found.len();
        found
    }

    pub(super) fn word(&mut self) -> &'a str {
        let word = self.word_ahead();
        self.at += word.len();
        word
    }

    pub(super) fn word_ahead(&mut self) -> &'a str {
        let rest = self.rest();
        let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        &rest[..rest.find(|c| !is_inside(c)).unwrap_or(rest.len())]
    }

    /// What is not yet read, without leading spaces.
    pub(super) fn rest(&mut self) -> &'a str {
        let start = self.start();
        &self.text[start..]
    }

    /// Offset of the next thing that is no space.
    pub(super) fn start(&mut self) -> usize {
        self.at = self.text.len() - self.text[self.at..].trim_start().len();
        self.at
    }

    pub(super) fn fail_at<T>(&mut self, offset: usize, expected: &str) -> Parsed<T> {
        self.at = offset;
        self.fail(expected)
    }

    pub(super) fn fail<T>(&mut self, expected: &str) -> Parsed<T> {
        let column = self.text[..self.at].chars().count() + 1;
        Err(ParseError { column, expected: expected.to_owned() })
    }
}
