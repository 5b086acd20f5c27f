//! How a script calls the C exchange API.

use super::facts::part;
use crate::abi::DLDevice;
use crate::case::{Case, ExchangeStep};
use crate::oracle::{Fact, Parcel, Prototype, UNKNOWN_DEVICE, What};

/// The expression that looks a fact up again. Of the facts about one of several inputs, the value names
/// the input before its colon.
pub fn look_up(fact: &Fact, case: &Case) -> String {
    let part = part(fact.what);
    let input = fact.value.split(": ").next().unwrap_or_default();
    match fact.what {
        What::ExchangeToPy => format!("{part}(\"{input}\")"),
        What::ExchangeStream => format!("{part}{input}"),
        What::ExchangeAllocation => {
            let call = Prototype::named(input).and_then(|prototype| allocation(prototype, case));
            call.unwrap_or_else(|| format!("{part}()"))
        }
        _ => format!("{part}()"),
    }
}

/// Everything that the steps of a case call, each with the part that has the function.
pub fn calls(case: &Case) -> Vec<(&'static str, String)> {
    let mut calls = Vec::new();
    for step in case.probes.steps() {
        match step {
            ExchangeStep::Table => calls.push(("exchange_look_ups", "exchange_look_ups()".into())),
            ExchangeStep::FromPy => calls.extend([
                ("exchange_from_py", "exchange_from_py()".into()),
                ("exchange_export", "exchange_delete(exchange_export(x))".into()),
            ]),
            ExchangeStep::View => calls.push(("exchange_view", "exchange_view()".into())),
            ExchangeStep::ToPy => calls.extend(
                Parcel::ALL
                    .map(|it| ("exchange_to_py", format!("exchange_to_py(\"{}\")", it.name()))),
            ),
            ExchangeStep::Allocate => calls.extend(
                (Prototype::ALL.into_iter())
                    .filter_map(|it| Some(("exchange_allocate", allocation(it, case)?))),
            ),
            ExchangeStep::Stream => calls.extend(
                [DLDevice::CPU, DLDevice::new(2, 7), UNKNOWN_DEVICE]
                    .map(|it| ("exchange_stream", format!("exchange_stream{it}"))),
            ),
            // ctypes can make no call with an exception in flight, nor one without the interpreter whose
            // exception it could take.
            ExchangeStep::Pending | ExchangeStep::AllocateNoGil => {}
        }
    }
    calls
}

fn allocation(prototype: Prototype, case: &Case) -> Option<String> {
    let wanted = prototype.wanted(&case.tensor)?;
    let (dtype, name) = (wanted.dtype, prototype.name());
    let mut call =
        format!("exchange_allocate(\"{name}\", {}, {}, {}", dtype.code.0, dtype.bits, dtype.lanes);
    wanted.shape.iter().for_each(|extent| call += &format!(", {extent}"));
    Some(call + ")")
}
