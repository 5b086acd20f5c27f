//! How a script looks a fact up again.

use crate::oracle::{Fact, What};

/// The fact is about what a call returned or raised, or about the time after it.
pub fn needs_result(what: What) -> bool {
    !what.is_exchange()
        && !what.is_life()
        && !matches!(
            what,
            What::DeviceMethod
                | What::DeviceForm
                | What::ReferenceGrowth
                | What::ArgumentReferences
                | What::MemoryGrowth
                | What::HeapGrowth
                | What::PendingError
        )
}

/// The value as the script finds it: counts of references differ in the second digit from run to run.
pub fn reported(fact: &Fact) -> String {
    match (fact.what, fact.value.parse::<f64>()) {
        (
            What::ReferenceGrowth
            | What::MemoryGrowth
            | What::ArgumentReferences
            | What::ExchangeReferences
            | What::LifeGrowth
            | What::ExchangeViewReferences,
            Ok(growth),
        ) => {
            format!("{:.1}", growth.abs())
        }
        _ => fact.value.clone(),
    }
}

/// The part of the template that looks it up; also the function's name.
pub fn part(what: What) -> &'static str {
    match what {
        // A death stands in no violation; asked for, the outcome is what is left.
        What::Outcome | What::Death => "outcome",
        What::CapsuleName => "capsule_name",
        What::NameFits => "name_fits",
        What::HasDestructor => "has_destructor",
        What::Version => "version",
        What::Flags => "flags",
        What::HasDeleter => "has_deleter",
        What::Device => "device",
        What::Dtype => "dtype",
        What::Ndim => "ndim",
        What::Shape => "shape",
        What::Strides => "strides",
        What::ByteOffset => "byte_offset",
        What::DataIsNull => "data_is_null",
        What::Memory => "memory",
        What::Shares => "shares",
        What::Elements => "elements",
        What::WriteThrough => "write_through",
        What::DeviceMethod => "device_method",
        What::DeviceForm => "device_form",
        What::ReferenceGrowth => "reference_growth",
        What::ArgumentReferences => "argument_references",
        What::MemoryGrowth => "memory_growth",
        What::HeapGrowth => "heap_growth",
        What::PendingError => "pending_error",
        What::Aligned => "aligned",
        What::SourceState => "source_state",
        What::LifeChange => "life_change",
        What::LifeInFlight => "life_in_flight",
        What::LifeError => "life_error",
        What::LifeGrowth => "life_growth",
        What::LifeRace => "life_race",
        What::LifeEnd => "life_end",
        What::ExchangeAttribute => "exchange_attribute",
        What::ExchangeOneTable => "exchange_one_table",
        What::ExchangeLookUps => "exchange_look_ups",
        What::ExchangeTable => "exchange_table",
        What::ExchangeVersion => "exchange_version",
        What::ExchangeChain => "exchange_chain",
        What::ExchangeNull => "exchange_null",
        What::ExchangeFromPy => "exchange_from_py",
        What::ExchangeDiffers => "exchange_differs",
        What::ExchangeReferences => "exchange_references",
        What::ExchangeRelease => "exchange_release",
        What::ExchangeSecond => "exchange_second",
        What::ExchangeView => "exchange_view",
        What::ExchangeViewDiffers => "exchange_view_differs",
        What::ExchangeUnwritten => "exchange_unwritten",
        What::ExchangeStays => "exchange_stays",
        What::ExchangeViewReferences => "exchange_view_references",
        What::ExchangeToPy => "exchange_to_py",
        What::ExchangeAllocation => "exchange_allocate",
        What::ExchangeStream => "exchange_stream",
    }
}
