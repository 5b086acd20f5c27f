//! The **lives** of the sweep: the sequences in which bugs of exporters were found, each on arrays of every
//! type and on every object, exported in three ways.

use super::Sweep;
use crate::case::life::{Life, Step};
use crate::case::{Arg, Call, Case, Keyword, Probes, Surface, Tensor, Value};
use std::collections::HashSet;

/// Lives that cost little more than a call.
const USUAL: [&str; 20] = [
    // Never consumed: dropped alone, with others in both orders, after the source, while something raises.
    "drop a",
    "export b, drop a, drop b",
    "export b, export c, drop c, churn, drop a, churn, drop b",
    "drop source, churn, drop a",
    "drop a raising",
    "export b, drop b raising, drop a raising",
    // Consumed: the capsule goes before the deleter runs, and after.
    "take a, drop a, churn, delete a",
    "take a, delete a, drop a",
    "take a, delete a, export b, drop a",
    "take a, drop a raising, delete a",
    "take a, delete a raising, drop a",
    "take a, disarm a, drop a, delete a",
    "take a, drop a, drop source, churn, delete a",
    "take a, drop source, churn, delete a unlocked, drop a",
    // Several consumers, one after the other.
    "export b, take a, take b, delete a, churn, drop a, delete b, drop b",
    "export b with copy-true, take a, drop a, delete a, churn, drop b",
    // The source changes under the export.
    "reshape",
    "resize, churn",
    "freeze, export b",
    "take a, reshape, resize, churn, delete a",
];

/// Lives with a thread, a full collection or many exports, on a few arrays only.
const COSTLY: [&str; 7] = [
    "take a, delete a on native thread, drop a",
    "take a, delete a on thread, drop a",
    "take a, drop a, drop source, churn, delete a on native thread",
    "attach a, drop source, collect",
    "export b, drop source, collect, churn",
    "starve, export b",
    "race",
];

/// Lives that end the interpreter, in a child process each.
const LAST: [&str; 2] = ["exit", "take a, exit"];

/// Ways to export.
const CALLS: usize = 3;

/// Every life of the sweep, by what it costs.
#[derive(Clone, Debug, Default)]
pub struct Lives {
    usual: Vec<Life>,
    costly: Vec<Life>,
    last: Vec<Life>,
}

impl Lives {
    pub fn new(surface: Surface) -> Self {
        let mut known = HashSet::new();
        // Of those that are the same without capsules one is enough.
        let mut lives = |texts: &[&str]| -> Vec<Life> {
            let mut lives: Vec<_> = texts.iter().map(|text| life(text)).collect();
            if surface == Surface::C {
                lives.iter_mut().for_each(Life::spell_in_c);
                lives.retain(|life| !life.is_empty() && known.insert(life.clone()));
            }
            lives
        };
        Self { usual: lives(&USUAL), costly: lives(&COSTLY), last: lives(&LAST) }
    }
}

fn life(text: &str) -> Life {
    let steps = text.split(',').map(|step| Step::parse(step).expect("a constant parses"));
    Life::normalized(steps)
}

impl Sweep {
    pub(super) fn lives_len(&self) -> usize {
        let arrays = self.dtypes.len() * self.few();
        self.lives.usual.len() * CALLS * (arrays + self.objects.len() * self.few())
    }

    pub(super) fn life(&self, at: usize) -> Case {
        let (number, rest) = (at % self.lives.usual.len(), at / self.lives.usual.len());
        let (call, place) = (rest % CALLS, rest / CALLS);
        let tensor = self.array_or_object(place, self.dtypes.len() * self.few());
        lived(tensor, call, &self.lives.usual[number])
    }

    pub(super) fn costly_lives_len(&self) -> usize {
        let arrays = self.few_arrays() + self.objects.len();
        self.lives.costly.len() * arrays + self.lives.last.len() * arrays.min(6)
    }

    pub(super) fn costly_life(&self, at: usize) -> Case {
        let few = self.few_arrays();
        let costly = self.lives.costly.len() * (few + self.objects.len());
        let (lives, at) = match at.checked_sub(costly) {
            None => (&self.lives.costly, at),
            Some(at) => (&self.lives.last, at),
        };
        let (number, place) = (at % lives.len(), at / lives.len());
        let tensor = match place.checked_sub(few) {
            None => self.spread_tensor(place),
            Some(object) => Tensor { object: self.objects[object], ..self.spread_tensor(object) },
        };
        lived(tensor, place, &lives[number])
    }

    fn few_arrays(&self) -> usize {
        (self.dtypes.len() * self.few()).min(8)
    }

    /// One of so many arrays, and then one of the objects.
    fn array_or_object(&self, place: usize, arrays: usize) -> Tensor {
        match place.checked_sub(arrays) {
            None => self.few_tensor(place),
            Some(place) => {
                let object = self.objects[place % self.objects.len()];
                Tensor { object, ..self.few_tensor(place) }
            }
        }
    }
}

/// Plain, versioned, and as a copy.
fn lived(tensor: Tensor, call: usize, life: &Life) -> Case {
    let newest = Arg::Given(Value::pair(1, 99));
    let call = match call % CALLS {
        0 => Call::default(),
        1 => Call::default().with(Keyword::MaxVersion, newest),
        _ => (Call::default().with(Keyword::MaxVersion, newest))
            .with(Keyword::Copy, Arg::Given(Value::bool(true))),
    };
    Case { life: life.clone(), ..Case::new(tensor, call, Probes::NONE) }
}
