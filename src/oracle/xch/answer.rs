//! What every function that touches Python owes: its number, its exception and its out parameter agree.

use super::{fact, judged, seen};
use crate::oracle::export::evidence;
use crate::oracle::{
    Answer, Context, Exchange, Fact, Fate, Grade, Matter, Out, Rule, Verdict, What,
};

pub(super) const RULES: &[Rule] = &[
    Rule { id: "XCH-RET", needs: Matter::EXCHANGE, judge: agree },
    Rule { id: "XCH-RET-DOC", needs: Matter::EXCHANGE, judge: out },
];

/// One call with its name and how a script sees it again.
struct Call<'a> {
    name: &'static str,
    answer: &'a Answer,
    fact: Fact,
}

fn calls(exchange: &Exchange) -> Vec<Call<'_>> {
    let mut calls = Vec::new();
    if let Some(from_py) = &exchange.from_py {
        let answer = &from_py.answer;
        let fact = fact(What::ExchangeFromPy, answer);
        calls.push(Call { name: "managed_tensor_from_py_object_no_sync", answer, fact });
    }
    if let Some(view) = &exchange.view {
        let answer = &view.answer;
        let fact = fact(What::ExchangeView, answer);
        calls.push(Call { name: "dltensor_from_py_object_no_sync", answer, fact });
    }
    calls.extend(exchange.to_py.iter().map(|it| Call {
        name: "managed_tensor_to_py_object_no_sync",
        answer: &it.answer,
        fact: fact(What::ExchangeToPy, it),
    }));
    calls.extend(exchange.streams.iter().map(|it| Call {
        name: "current_work_stream",
        answer: &it.answer,
        fact: fact(What::ExchangeStream, it),
    }));
    calls
}

fn agree(ctx: &Context) -> Verdict {
    judged(seen(ctx), |exchange| {
        let calls = calls(exchange);
        if let Some(call) = calls.iter().find(|call| !call.answer.agrees()) {
            return ctx.breaks(Grade::Violation, || {
                let (code, name) = (call.answer.code, call.name);
                let key = if code == 0 { "0 with an exception" } else { "no exception" };
                let seen = match &call.answer.error {
                    Some(raised) => format!("{name} returned {code} with {} set", raised.name),
                    None => format!("{name} returned {code} with no exception set"),
                };
                evidence(
                    key,
                    "0 without an exception, or another number with one",
                    seen,
                    [call.fact.clone()],
                )
            });
        }
        // No text says what becomes of an exception that was in flight.
        let replaced = exchange.pending.iter().find(|it| it.code == 0 && it.fate != Fate::Kept);
        match replaced {
            Some(pending) => ctx.breaks(Grade::Info, || {
                let name = pending.function.map_or("the deleter", |function| function.name());
                let seen = match &pending.fate {
                    Fate::Replaced(by) => format!("{name} replaced it by {by}"),
                    _ => format!("{name} lost it"),
                };
                evidence(
                    "in flight",
                    "an exception in flight that a success leaves alone",
                    seen,
                    [],
                )
            }),
            None if calls.is_empty() => Verdict::Silent,
            None => Verdict::Holds,
        }
    })
}

fn out(ctx: &Context) -> Verdict {
    judged(seen(ctx), |exchange| {
        let mut failures: Vec<Call> = calls(exchange)
            .into_iter()
            // The view's out parameter is the struct, which may be half full.
            .filter(|call| call.name != "dltensor_from_py_object_no_sync")
            .collect();
        failures.extend(exchange.allocations.iter().map(|it| Call {
            name: "managed_tensor_allocator",
            answer: &it.answer,
            fact: fact(What::ExchangeAllocation, it),
        }));
        failures.retain(|call| !call.answer.succeeded());
        match failures.iter().find(|call| call.answer.out == Out::Set) {
            Some(call) => ctx.breaks(Grade::Warning, || {
                evidence(
                    "set",
                    "an out parameter that is untouched or NULL after a failure",
                    format!("{} failed and left a pointer", call.name),
                    [call.fact.clone()],
                )
            }),
            None if failures.is_empty() => Verdict::Silent,
            None => Verdict::Holds,
        }
    })
}
