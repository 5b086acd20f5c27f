//! The sweep of the **C exchange API**: every type in every layout, writable and read-only, and every
//! object in a few. Each is exported and viewed; what hardly depends on the array comes up now and then,
//! and alone, so that a function that kills its process hides nothing else.

use super::Sweep;
use crate::case::{Access, Call, Case, ExchangeStep, Probes, Tensor, Vocabulary};

/// All cases, by number; the same ones every time.
#[derive(Clone, Debug)]
pub struct ExchangeSweep(Sweep);

impl ExchangeSweep {
    pub fn new(vocabulary: &Vocabulary) -> Self {
        Self(Sweep::new(vocabulary))
    }

    pub fn len(&self) -> usize {
        2 * self.arrays() + self.objects()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The case at this place. All are normal.
    pub fn case(&self, place: usize) -> Case {
        let arrays = self.arrays();
        let tensor = if place < 2 * arrays {
            let access = [Access::Writable, Access::ReadOnly][place / arrays];
            Tensor { access, ..self.0.tensor(place % arrays) }
        } else {
            let at = place - 2 * arrays;
            let object = self.0.objects[at % self.0.objects.len()];
            Tensor { object, ..self.0.few_tensor(at / self.0.objects.len()) }
        };
        let mut case = Case::new(tensor, Call::default(), Probes::NONE);
        steps_at(place).iter().for_each(|&step| case.probes.ask(step));
        case.normalized()
    }

    fn arrays(&self) -> usize {
        self.0.dtypes.len() * self.0.layouts.len()
    }

    fn objects(&self) -> usize {
        self.0.objects.len() * self.0.dtypes.len() * self.0.few()
    }
}

/// The numbers have no factor in common with each other or with those of types and layouts.
fn steps_at(place: usize) -> &'static [ExchangeStep] {
    use ExchangeStep::*;
    match place {
        _ if place % 503 == 1 => &[Table],
        _ if place % 503 == 2 => &[ToPy],
        _ if place % 503 == 3 => &[Stream],
        _ if place % 31 == 4 => &[Allocate],
        _ if place % 37 == 5 => &[Pending],
        _ => &[FromPy, View],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_array_is_swept_and_every_usual_step_comes_up() {
        let sweep = ExchangeSweep::new(&Vocabulary::default());
        let cases: Vec<Case> = (0..sweep.len()).map(|place| sweep.case(place)).collect();
        assert!((2_000..60_000).contains(&cases.len()), "{}", cases.len());
        let dtypes: HashSet<_> = cases.iter().map(|case| case.tensor.dtype).collect();
        assert_eq!(dtypes.len(), Vocabulary::default().dtypes.len());
        for step in ExchangeStep::USUAL {
            assert!(cases.iter().filter(|case| case.probes.asks(step)).count() > 8, "{step:?}");
        }
        assert!(cases.iter().all(|case| !case.probes.asks(ExchangeStep::AllocateNoGil)));
        let different: HashSet<_> = cases.iter().collect();
        assert!(different.len() * 10 > cases.len() * 9, "{}", different.len());
    }
}
