//! A **step** on the C exchange API of the array's type, which a case may ask for beside its exports.
//!
//! A case that asks for none looks nothing up, so that a type without the API costs nothing. A step stands
//! for all calls of one function, with lawful and with unlawful input, since each is shorter than building
//! the array.

use super::{Call, Case, Probes, Rng};

/// Makes the case one of the exchange API: mostly the plain call without probes, which is not what it is
/// about, and one to three steps.
pub fn draw_steps(case: &mut Case, rng: &mut Rng) {
    if !rng.chance(1, 8) {
        case.call = Call::default();
        case.probes = Probes::NONE;
    }
    for step in ExchangeStep::ALL {
        case.probes.unask(step);
    }
    match rng.below(16) {
        0 => ExchangeStep::USUAL.into_iter().for_each(|step| case.probes.ask(step)),
        count => (0..1 + count / 7).for_each(|_| {
            case.probes.ask(*rng.pick(&ExchangeStep::USUAL));
        }),
    }
}

/// One part of the C exchange API to be tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ExchangeStep {
    /// Look the table up and read it; every other step does so too.
    Table,
    /// `managed_tensor_from_py_object_no_sync`, and `__dlpack__` to compare with.
    FromPy,
    /// `dltensor_from_py_object_no_sync`, and from_py to compare with.
    View,
    /// `managed_tensor_to_py_object_no_sync` of tensors that the host makes.
    ToPy,
    /// `managed_tensor_allocator`.
    Allocate,
    /// `current_work_stream`.
    Stream,
    /// Every function and the deleter once more, with a Python exception in flight.
    Pending,
    /// `managed_tensor_allocator` without the GIL (XCH-ALLOC-NOGIL); only where a case names it.
    AllocateNoGil,
}

impl ExchangeStep {
    /// In the order of their bits from the highest down, which is part of the byte format: append only.
    pub const ALL: [Self; 8] = [
        Self::Table,
        Self::FromPy,
        Self::View,
        Self::ToPy,
        Self::Allocate,
        Self::Stream,
        Self::Pending,
        Self::AllocateNoGil,
    ];

    /// Those that no exporter may mind: what a sweep and the generator ask for.
    pub const USUAL: [Self; 7] = [
        Self::Table,
        Self::FromPy,
        Self::View,
        Self::ToPy,
        Self::Allocate,
        Self::Stream,
        Self::Pending,
    ];

    /// Name in case texts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "exchange-table",
            Self::FromPy => "exchange-from",
            Self::View => "exchange-view",
            Self::ToPy => "exchange-to",
            Self::Allocate => "exchange-alloc",
            Self::Stream => "exchange-stream",
            Self::Pending => "exchange-pending",
            Self::AllocateNoGil => "exchange-alloc-nogil",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }

    pub(super) fn bit(self) -> u32 {
        1 << (31 - self as u32)
    }
}

#[cfg(test)]
mod tests {
    use crate::case::{Case, ExchangeStep, Probe, Probes};

    #[test]
    fn steps_read_back_from_bytes_and_text_beside_probes() {
        let plain = Case::decode(&[]);
        for step in ExchangeStep::ALL {
            for probes in [Probes::NONE, Probes::ALL, [Probe::Repeat].into_iter().collect()] {
                let mut case = Case { probes, ..plain.clone() };
                case.probes.ask(step);
                assert_eq!(Case::decode(&case.encode()), case);
                assert_eq!(case.to_string().parse(), Ok(case.clone()));
                assert_eq!(case.probes.steps().collect::<Vec<_>>(), [step]);
                assert!(case.probes.iter().eq(probes.iter()));
                case.probes.unask(step);
                assert!(!case.probes.asks_exchange() && case.probes == probes);
            }
        }
    }
}
