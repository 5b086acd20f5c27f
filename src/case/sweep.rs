//! The **sweep**: every row of the decision table that an array on the CPU has (classes of
//! `dl_device` × `copy` × `max_version` × `stream`), with several concrete values, × element types ×
//! layouts × objects, thinned to some hundred thousand cases; the calls that are no row: near misses,
//! unknown and positional arguments, orders, computed names; and what becomes of exports afterwards.
//!
//! Goes in: a vocabulary. Comes out: the same numbered list every time, so that a worker that died can go
//! on behind the case that killed it.

mod exchange;
mod layouts;
mod lives;
mod questions;
mod row;

pub use exchange::ExchangeSweep;
pub use questions::questions;
pub use row::{Row, calibration, rows};

use super::class::{Class, classes};
use super::sample::Sample;
use super::{Access, Call, Case, Dtype, Extra, Keys, Keyword, Layout, Object};
use super::{Probe, Probes, Shape, Tensor, Vocabulary};
use crate::abi::DLDevice;
use layouts::{LAYOUTS, Named};
use lives::Lives;

/// All cases of the sweep, by number.
#[derive(Clone, Debug)]
pub struct Sweep {
    dtypes: Vec<Dtype>,
    objects: Vec<Object>,
    layouts: Vec<Named>,
    calibration: Vec<Case>,
    /// Single arguments that are not of the calibration.
    near_misses: Vec<(Keyword, &'static Sample)>,
    devices: Vec<DLDevice>,
    lives: Lives,
    ordinary: Tensor,
}

/// The parts of the sweep, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// [`calibration`].
    Calibration,
    /// Every row on four types, with every probe.
    Probed,
    /// Types × layouts, writable.
    Arrays,
    /// Types × layouts, read-only.
    ReadOnly,
    /// Objects other than the ordinary array × types × layouts.
    Objects,
    /// One odd argument at a time.
    NearMisses,
    /// Unknown keyword, positional argument, orders, names made at run time.
    Forms,
    /// Objects and types × layouts × sequences of what becomes of an export.
    Lives,
    /// The same with threads, collections and the interpreter's end, on few arrays.
    CostlyLives,
}

impl Part {
    pub const ALL: [Self; 9] = [
        Self::Calibration,
        Self::Probed,
        Self::Arrays,
        Self::ReadOnly,
        Self::Objects,
        Self::NearMisses,
        Self::Forms,
        Self::Lives,
        Self::CostlyLives,
    ];
}

/// Rows without a stream: the ones that say most about an array.
const STREAMLESS: usize = Row::COUNT / 7;
/// Calls per writable array: every other row without a stream, and some with one.
const ARRAY_CALLS: usize = STREAMLESS / 2 + 14;
/// Read-only changes less: every seventh row.
const READ_ONLY_CALLS: usize = STREAMLESS / 7 + 7;
const OBJECT_CALLS: usize = 14;
const OBJECT_CALLS_STREAMLESS: usize = OBJECT_CALLS / 2;
/// Layouts (by number in `LAYOUTS`) that objects, near misses and forms are tried on.
const FEW_LAYOUTS: usize = 5;

impl Sweep {
    pub fn new(vocabulary: &Vocabulary) -> Self {
        let standard = [Dtype::from_row(1, 0), Dtype::FLOAT32];
        let dtypes: Vec<Dtype> = vocabulary.dtypes.iter().map(|&(dtype, _)| dtype).collect();
        let dtypes = if dtypes.is_empty() { standard.to_vec() } else { dtypes };
        let objects = (vocabulary.objects.iter().map(|&(object, _)| object))
            .filter(|&object| object != Object::Array)
            .collect();
        let layouts = (LAYOUTS.iter().copied())
            .filter(|layout| layout.of(4).0.len() <= vocabulary.max_ndim)
            .collect();
        let near_misses = Keyword::ALL
            .into_iter()
            .flat_map(|keyword| {
                classes(keyword).iter().flat_map(Class::all).map(move |sample| (keyword, sample))
            })
            .collect();
        let ordinary = vocabulary.ordinary.clone();
        let calibration =
            calibration().map(|(_, case)| Case { tensor: ordinary.clone(), ..case }).collect();
        let devices = match &vocabulary.devices[..] {
            [] => vec![DLDevice::CPU],
            devices => devices.to_vec(),
        };
        let lives = Lives::new(vocabulary.surface);
        Self { dtypes, objects, layouts, calibration, near_misses, devices, lives, ordinary }
    }

    pub fn len(&self) -> usize {
        Part::ALL.into_iter().map(|part| self.part_len(part)).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The case at a place of another order, in which neighbours lie far apart: a sweep that is stopped early
    /// has then seen something of every part.
    pub fn spread_case(&self, place: usize) -> Case {
        let length = self.len();
        // The golden ratio spreads evenly; the next number without a common factor meets every case once.
        let step = (length * 382 / 1000..).find(|&step| gcd(step, length) == 1).unwrap_or(1);
        self.case((place as u128 * step as u128 % length as u128) as usize)
    }

    /// The names of the layouts that every element type is swept in.
    pub fn layouts(&self) -> impl ExactSizeIterator<Item = &'static str> + '_ {
        self.layouts.iter().map(|layout| layout.name)
    }

    /// The part that the case at this place belongs to, and its place there.
    pub fn part(&self, mut place: usize) -> Option<(Part, usize)> {
        for part in Part::ALL {
            let length = self.part_len(part);
            if place < length {
                return Some((part, place));
            }
            place -= length;
        }
        None
    }

    /// The case at this place. All are normal.
    ///
    /// # Panics
    /// If `place` is not below [`Sweep::len`].
    pub fn case(&self, place: usize) -> Case {
        let (part, at) = self.part(place).expect("the place is below the number of cases");
        let mut case = match part {
            Part::Calibration => self.calibration[at].clone(),
            Part::Probed => self.probed(at),
            Part::Arrays => self.array(at, ARRAY_CALLS, Access::Writable),
            Part::ReadOnly => self.array(at, READ_ONLY_CALLS, Access::ReadOnly),
            Part::Objects => self.object(at),
            Part::NearMisses => self.near_miss(at),
            Part::Forms => self.form(at),
            Part::Lives => self.life(at),
            Part::CostlyLives => self.costly_life(at),
        };
        if !self.devices.contains(&case.tensor.device) || part != Part::Calibration {
            // Calls of one array come one after another; all are to be made on every device.
            case.tensor.device = self.devices[(place + place / 97) % self.devices.len()];
        }
        case.normalized()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Case> + '_ {
        (0..self.len()).map(|place| self.case(place))
    }

    pub fn part_len(&self, part: Part) -> usize {
        let arrays = self.dtypes.len() * self.layouts.len();
        let few = self.dtypes.len() * self.few();
        match part {
            Part::Calibration => self.calibration.len(),
            Part::Probed => Row::COUNT * PROBED_DTYPES.len(),
            Part::Arrays => arrays * ARRAY_CALLS,
            Part::ReadOnly => arrays * READ_ONLY_CALLS,
            Part::Objects => self.objects.len() * few * OBJECT_CALLS,
            Part::NearMisses => self.near_misses.len() * BASES * few.min(40),
            Part::Forms => FORMS * BASES * few.min(40),
            Part::Lives => self.lives_len(),
            Part::CostlyLives => self.costly_lives_len(),
        }
    }

    fn probed(&self, at: usize) -> Case {
        let (row, type_place) = (at % Row::COUNT, at / Row::COUNT);
        let dtype = Dtype::from_row(PROBED_DTYPES[type_place], 0);
        let tensor = Tensor { dtype, ..self.ordinary.clone() };
        Case::new(tensor, Row::at(row).call(at), Probes::ALL)
    }

    fn array(&self, at: usize, calls: usize, access: Access) -> Case {
        let (number, call) = (at / calls, at % calls);
        let tensor = Tensor { access, ..self.tensor(number) };
        let streamless = match access {
            Access::Writable => STREAMLESS / 2,
            Access::ReadOnly => STREAMLESS / 7,
        };
        let row = if call < streamless {
            // The rows that one array leaves out, its neighbours have.
            let step = STREAMLESS / streamless;
            (call * step + number % step) * 7
        } else {
            // A step without a common factor: within 196 arrays every row comes up.
            (number * (calls - streamless) + call - streamless) * 53 % Row::COUNT
        };
        Case::new(tensor, Row::at(row).call(number + call), pair(at))
    }

    fn object(&self, at: usize) -> Case {
        let (call, rest) = (at % OBJECT_CALLS, at / OBJECT_CALLS);
        let object = self.objects[rest % self.objects.len()];
        // Read-only now and then: an imported array may forget it.
        let access = if call % 7 == 3 { Access::ReadOnly } else { Access::Writable };
        let mut tensor = Tensor { object, access, ..self.few_tensor(rest / self.objects.len()) };
        if object == Object::Matrix {
            tensor.shape = Shape::from_slice(&[2, 3]);
            tensor.layout = if rest % 2 == 0 { Layout::C } else { Layout::F };
        }
        let row = match call {
            // The plain call: the only one that an exporter of before 2023 is sure to know.
            0 => 0,
            1..OBJECT_CALLS_STREAMLESS => (rest * 29 + call * 37) % STREAMLESS * 7,
            _ => rest * 31 + call * 53,
        };
        Case::new(tensor, Row::at(row).call(at), pair(at))
    }

    fn near_miss(&self, at: usize) -> Case {
        let (place, rest) = (at % self.near_misses.len(), at / self.near_misses.len());
        let (keyword, sample) = self.near_misses[place];
        let call = base_call(rest).with(keyword, sample.arg());
        Case::new(self.spread_tensor(rest / BASES), call, pair(at))
    }

    fn form(&self, at: usize) -> Case {
        let (form, rest) = (at % FORMS, at / FORMS);
        let mut call = base_call(rest);
        match form {
            0 => call.extra = Extra::UnknownKeyword,
            1 => call.extra = Extra::Positional,
            2 => (call.extra, call.keys) = (Extra::UnknownKeyword, Keys::Fresh),
            _ => {
                call.order = ((form - 3) % 24) as u8;
                call.keys = if form < 27 { Keys::Interned } else { Keys::Fresh };
            }
        }
        Case::new(self.spread_tensor(rest / BASES), call, pair(at))
    }

    /// Types × layouts.
    fn tensor(&self, number: usize) -> Tensor {
        let dtype = self.dtypes[number / self.layouts.len() % self.dtypes.len()];
        self.layouts[number % self.layouts.len()].tensor(dtype)
    }

    /// Types × few layouts.
    fn few_tensor(&self, number: usize) -> Tensor {
        let dtype = self.dtypes[number / self.few() % self.dtypes.len()];
        self.layouts[number % self.few()].tensor(dtype)
    }

    /// The same, a few of them that lie far from each other.
    fn spread_tensor(&self, number: usize) -> Tensor {
        let few = self.dtypes.len() * self.few();
        self.few_tensor(number * (few / few.min(40)))
    }

    fn few(&self) -> usize {
        self.layouts.len().min(FEW_LAYOUTS)
    }
}

/// float32, bool, int16, complex128.
const PROBED_DTYPES: [u8; 4] = [0, 1, 3, 12];
const BASES: usize = 6;
const FORMS: usize = 3 + 2 * 24;

/// Lawful calls that a single odd thing is added to.
fn base_call(number: usize) -> Call {
    use Keyword::*;
    let none = Sample::NONE.arg();
    let plain = Call::default();
    let versioned = Call::default().with(MaxVersion, Sample::Pair(1, 0).arg());
    match number % BASES {
        0 => plain,
        1 => versioned,
        2 => versioned.with(Copy, Sample::bool(true).arg()),
        3 => {
            versioned.with(Copy, Sample::bool(false).arg()).with(DlDevice, Sample::Pair(1, 0).arg())
        }
        4 => plain.with(DlDevice, Sample::Own.arg()).with(Copy, none.clone()).with(Stream, none),
        _ => (versioned.with(Stream, none.clone()).with(DlDevice, none))
            .with(Copy, Sample::bool(true).arg()),
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Two different probes, another two for the next case.
fn pair(at: usize) -> Probes {
    let count = Probe::ALL.len();
    let (first, distance) = (at % count, at / count % (count - 1) + 1);
    [Probe::ALL[first], Probe::ALL[(first + distance) % count]].into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Arg, Value};
    use std::collections::HashSet;

    #[test]
    fn the_sweep_is_numbered_normal_and_of_bearable_length() {
        let sweep = Sweep::new(&Vocabulary::default());
        assert!((300_000..600_000).contains(&sweep.len()), "{}", sweep.len());
        assert_eq!(sweep.part(sweep.len()), None);
        for place in (0..sweep.len()).step_by(101) {
            let case = sweep.case(place);
            assert_eq!(case.clone().normalized(), case);
            assert_eq!(case, sweep.case(place));
        }
    }

    #[test]
    fn the_spread_order_meets_every_case_once_and_every_part_soon() {
        let vocabulary = Vocabulary {
            dtypes: Vocabulary::default().dtypes[..2].to_vec(),
            ..Vocabulary::default()
        };
        let sweep = Sweep::new(&vocabulary);
        let parts: HashSet<String> = (0..sweep.len() / 50)
            .map(|place| format!("{:?}", sweep.spread_case(place).tensor.object))
            .collect();
        assert_eq!(parts.len(), vocabulary.objects.len());
        let all: HashSet<Case> = sweep.iter().collect();
        let spread: HashSet<Case> =
            (0..sweep.len()).map(|place| sweep.spread_case(place)).collect();
        assert_eq!(spread, all);
    }

    #[test]
    fn the_table_is_asked_of_the_ordinary_array() {
        let ordinary = Tensor { dtype: Dtype::from_row(6, 0), ..Tensor::plain() };
        let vocabulary = Vocabulary { ordinary: ordinary.clone(), ..Vocabulary::default() };
        let sweep = Sweep::new(&vocabulary);
        let all = sweep.part_len(Part::Calibration);
        assert!((0..all).all(|place| sweep.case(place).tensor == ordinary));
    }

    #[test]
    fn every_row_every_type_and_every_layout_are_swept() {
        let vocabulary = Vocabulary {
            dtypes: Vocabulary::default().dtypes[..9].to_vec(),
            ..Vocabulary::default()
        };
        let sweep = Sweep::new(&vocabulary);
        let start = sweep.part_len(Part::Calibration) + sweep.part_len(Part::Probed);
        let (mut calls, mut shapes, mut probes) = (HashSet::new(), HashSet::new(), HashSet::new());
        for place in start..start + sweep.part_len(Part::Arrays) {
            let case = sweep.case(place);
            calls.insert(case.call);
            shapes.insert((case.tensor.dtype, case.tensor.shape, case.tensor.layout));
            probes.insert(case.probes);
        }
        assert_eq!(shapes.len(), 9 * LAYOUTS.len());
        assert_eq!(probes.len(), 190);
        let unseen = rows().filter(|row| !(0..28).any(|turn| calls.contains(&row.call(turn))));
        assert_eq!(unseen.count(), 0);
    }

    #[test]
    fn the_plain_call_is_swept_on_every_object_of_every_type() {
        let vocabulary = Vocabulary::default();
        let sweep = Sweep::new(&vocabulary);
        let plain: HashSet<_> = (0..sweep.len())
            .filter(|&place| matches!(sweep.part(place), Some((Part::Objects, _))))
            .map(|place| sweep.case(place))
            .filter(|case| case.call.to_string().is_empty())
            .map(|case| (case.tensor.object, case.tensor.dtype))
            .collect();
        assert_eq!(plain.len(), (vocabulary.objects.len() - 1) * vocabulary.dtypes.len());
    }

    #[test]
    fn odd_calls_are_swept() {
        let sweep = Sweep::new(&Vocabulary::default());
        let all: Vec<Case> = (0..sweep.len())
            .filter(|&place| matches!(sweep.part(place), Some((Part::NearMisses | Part::Forms, _))))
            .map(|place| sweep.case(place))
            .collect();
        for text in
            ["copy=1", "foo=1", "max_version=[1, 0]", "dl_device=(1, 0, 0)", "**fresh", "stream=()"]
        {
            assert!(all.iter().any(|case| case.call.to_string() == text), "{text}");
        }
        assert!(all.iter().any(|case| case.call.extra == Extra::Positional));
        assert!(all.iter().any(|case| case.call.order == 23));
        assert!(all.iter().any(|case| case.call.copy == Arg::Given(Value::Own)));
    }
}
