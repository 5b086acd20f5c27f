//! A **token** is one way a call can end, as the decision table names it; a **cell** says
//! how each token is graded.

use crate::oracle::{ErrorClass, Grade};
use std::fmt;

/// One way a call can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Token {
    /// AssertionError
    Assertion,
    /// BufferError
    Buffer,
    /// BufferError, if the plain call of the same object raises it too (VER-NONE-BE).
    BufferIfLegacy,
    /// BufferError, if the same call with `max_version=(1, 99)` succeeds (VER-SAME-MAJOR).
    BufferIfMinor,
    LegacyAlias,
    LegacyCopy,
    /// OverflowError
    Overflow,
    /// RuntimeError and NotImplementedError
    Runtime,
    /// TypeError
    Type,
    VersionedAlias,
    VersionedCopy,
    /// ValueError
    Value,
    /// Any other `Exception`
    Other,
}

impl Token {
    /// In the order in which a cell of `decision_table.tsv` lists them.
    pub const ALL: [Self; 13] = [
        Self::Assertion,
        Self::Buffer,
        Self::BufferIfLegacy,
        Self::BufferIfMinor,
        Self::LegacyAlias,
        Self::LegacyCopy,
        Self::Overflow,
        Self::Runtime,
        Self::Type,
        Self::VersionedAlias,
        Self::VersionedCopy,
        Self::Value,
        Self::Other,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Assertion => "AE",
            Self::Buffer => "BE",
            Self::BufferIfLegacy => "BE?legacy",
            Self::BufferIfMinor => "BE?minor",
            Self::LegacyAlias => "L:alias",
            Self::LegacyCopy => "L:copy",
            Self::Overflow => "OE",
            Self::Runtime => "RE",
            Self::Type => "TE",
            Self::VersionedAlias => "V:alias",
            Self::VersionedCopy => "V:copy",
            Self::Value => "VE",
            Self::Other => "XE",
        }
    }

    /// The token of an exception; `None` for those that the table leaves out (MemoryError is information
    /// everywhere, SystemError and what is no `Exception` are never lawful).
    pub fn of_error(class: ErrorClass) -> Option<Self> {
        match class {
            ErrorClass::Buffer => Some(Self::Buffer),
            ErrorClass::Type => Some(Self::Type),
            ErrorClass::Overflow => Some(Self::Overflow),
            ErrorClass::Value => Some(Self::Value),
            ErrorClass::Runtime => Some(Self::Runtime),
            ErrorClass::Assertion => Some(Self::Assertion),
            ErrorClass::Other => Some(Self::Other),
            ErrorClass::Memory | ErrorClass::System | ErrorClass::Base => None,
        }
    }
}

/// A set of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Tokens(u16);

impl Tokens {
    pub const NONE: Self = Self(0);
    /// The four that are no fault of the exporter's when an argument is wrong.
    pub const ARGUMENT_ERRORS: Self =
        Self::of(&[Token::Buffer, Token::Type, Token::Value, Token::Overflow]);

    pub const fn of(tokens: &[Token]) -> Self {
        let mut bits = 0;
        let mut place = 0;
        while place < tokens.len() {
            bits |= 1 << tokens[place] as u16;
            place += 1;
        }
        Self(bits)
    }

    pub const fn contains(self, token: Token) -> bool {
        self.0 & (1 << token as u16) != 0
    }

    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub fn iter(self) -> impl Iterator<Item = Token> {
        Token::ALL.into_iter().filter(move |&token| self.contains(token))
    }
}

impl fmt::Display for Tokens {
    /// As a cell of `decision_table.tsv`: joined by commas, `-` when empty.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NONE {
            return f.write_str("-");
        }
        for (place, token) in self.iter().enumerate() {
            if place > 0 {
                f.write_str(",")?;
            }
            f.write_str(token.name())?;
        }
        Ok(())
    }
}

/// Which tokens are lawful, informative or a warning; any other is a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Cell {
    pub ok: Tokens,
    pub info: Tokens,
    pub warn: Tokens,
}

impl Cell {
    /// `None` is lawful.
    pub fn grade(self, token: Token) -> Option<Grade> {
        if self.ok.contains(token) {
            None
        } else if self.info.contains(token) {
            Some(Grade::Info)
        } else if self.warn.contains(token) {
            Some(Grade::Warning)
        } else {
            Some(Grade::Violation)
        }
    }

    /// Every token of both; the better grade wins (EXC-PRECEDENCE).
    pub(super) fn union(self, other: Self) -> Self {
        let ok = self.ok.or(other.ok);
        let info = self.info.or(other.info).without(ok);
        let warn = self.warn.or(other.warn).without(ok).without(info);
        Self { ok, info, warn }
    }

    /// Adds a token at a grade; nothing for a violation, which is what stays unlisted.
    pub(super) fn put(&mut self, token: Token, grade: Option<Grade>) {
        let token = Tokens::of(&[token]);
        match grade {
            None => self.ok = self.ok.or(token),
            Some(Grade::Info) => self.info = self.info.or(token),
            Some(Grade::Warning) => self.warn = self.warn.or(token),
            Some(Grade::Violation) => {}
        }
    }

    pub(super) fn remove(&mut self, token: Token) {
        let token = Tokens::of(&[token]);
        self.ok = self.ok.without(token);
        self.info = self.info.without(token);
        self.warn = self.warn.without(token);
    }
}
