//! What a case leaves behind **over many rounds**: references, blocks of memory, bytes of the heap.

use super::super::export::Exportee;
use super::super::heap::Slope;
use super::super::{Detail, errors};
use super::{GROWTH_ROUNDS, Session, WARM_UP_ROUNDS, no_arguments, references, settle};
use crate::abi::DLDevice;
use crate::backend::{Built, Inexpressible};
use crate::case::{Case, Life};
use crate::oracle::Growth;
use pyo3::prelude::*;
use std::borrow::Cow;

impl Session {
    /// Repeats the case's calls on one array, and the whole case, and counts what stays behind.
    pub(super) fn measure_growth(
        &mut self,
        py: Python<'_>,
        case: &Case,
    ) -> Result<Growth, Inexpressible> {
        let (references, argument_references) = self.on_one_array(py, case, |built, round| {
            let rounds = |count: u32| (0..count).map(|_| round()).sum::<Result<isize, _>>();
            rounds(WARM_UP_ROUNDS)?;
            settle(py);
            let before = references(built);
            let argument_references = rounds(GROWTH_ROUNDS)?;
            settle(py);
            Ok((references(built) - before, argument_references))
        })?;

        // Its life has a ledger of its own.
        let calls = Case { life: Life::default(), ..case.clone() };
        let mut blocks = 0;
        for round in 0..WARM_UP_ROUNDS + GROWTH_ROUNDS {
            let seen = self.run_once(py, &calls, Detail::Brief)?;
            if round >= WARM_UP_ROUNDS {
                blocks += seen.ledger.blocks.unwrap_or(0);
            }
        }
        Ok(Growth { rounds: GROWTH_ROUNDS, references, blocks, argument_references })
    }

    /// Bytes of the heap that the case's calls on one array leave behind.
    pub(super) fn measure_heap(
        &self,
        py: Python<'_>,
        case: &Case,
    ) -> Result<Option<f64>, Inexpressible> {
        let wait = |time| py.detach(|| std::thread::sleep(time));
        let slope = Slope { pulse: &*self.pulse, settle: &|| settle(py), wait: &wait };
        self.on_one_array(py, case, |_, round| slope.of(|| round().map(drop)))
    }

    /// Builds the case's array, for calls that are repeated on it: a round makes each of them once.
    fn on_one_array<T>(
        &self,
        py: Python<'_>,
        case: &Case,
        act: impl FnOnce(
            &Built<'_>,
            &dyn Fn() -> Result<isize, Inexpressible>,
        ) -> Result<T, Inexpressible>,
    ) -> Result<T, Inexpressible> {
        let built = self.backend.build(py, &case.tensor)?;
        let (device, own) = self.exporting.device(py, &built.object, Detail::Brief);
        let device = device.device().unwrap_or(DLDevice::CPU);
        let exportee = Exportee {
            object: &built.object,
            source: &built.source,
            dtype: case.tensor.dtype,
            own: own.as_ref(),
        };
        act(&built, &|| self.round(py, &exportee, case, device))
    }

    /// Makes the case's calls once and drops what they return; references of arguments that stay.
    fn round(
        &self,
        py: Python<'_>,
        exportee: &Exportee<'_, '_>,
        case: &Case,
        device: DLDevice,
    ) -> Result<isize, Inexpressible> {
        let mut argument_references = 0;
        let calls = std::iter::once(Cow::Borrowed(&case.call))
            .chain(case.probes.iter().map(|probe| Cow::Owned(probe.call(&case.call, device))));
        for call in calls {
            let made = (self.exporting.export(py, exportee, &call, Detail::Brief))
                .map_err(|error| no_arguments(py, &error))?;
            drop(made.result);
            errors::take(py, Detail::Brief);
            argument_references += made.arguments.foreign_references();
        }
        Ok(argument_references)
    }
}
