//! **XCH**: the C exchange API of the array's type, where the case tried it.
//!
//! [`table`] judges the attribute and the table, [`export`] the owning export, [`view`] the view,
//! [`import`] the way back to Python, [`allocate`] the allocator and the stream, [`answer`] what all
//! functions have in common. One cause gives one report: a struct that is broken in itself is not compared
//! with another, and a fault that `__dlpack__` shows too is that call's.

mod allocate;
mod answer;
mod export;
mod import;
mod structure;
mod table;
mod view;

use super::export::evidence;
use super::{Context, Evidence, Exchange, Fact, Of, Rule, Verdict, What};
use std::borrow::Cow;

pub(super) fn rules() -> impl Iterator<Item = &'static Rule> {
    let families: [&'static [Rule]; 6] =
        [table::RULES, answer::RULES, export::RULES, view::RULES, import::RULES, allocate::RULES];
    families.into_iter().flatten()
}

/// The API's part of the observation, or silence.
fn seen<'a>(ctx: &Context<'a>) -> Option<&'a Exchange> {
    ctx.seen.exchange.as_deref()
}

fn fact(what: What, value: impl ToString) -> Fact {
    Fact { of: Of::Export, what, value: value.to_string() }
}

/// Evidence with one fact.
fn shown(
    key: impl Into<Cow<'static, str>>,
    expected: impl Into<String>,
    seen: impl Into<String>,
    what: What,
    value: impl ToString,
) -> Evidence {
    evidence(key, expected, seen, [fact(what, value)])
}

/// `Silent` unless there is something to judge.
fn judged<T>(matter: Option<T>, judge: impl FnOnce(T) -> Verdict) -> Verdict {
    matter.map_or(Verdict::Silent, judge)
}

#[cfg(test)]
mod tests;
