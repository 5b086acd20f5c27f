//! The **sweep**: every row of the decision table that an array on the CPU has (rules.md 16.2: classes of
//! `dl_device` × `copy` × `max_version` × `stream`), with several concrete values, × element types ×
//! layouts × objects, thinned to some hundred thousand cases; and the calls that are no row: near misses,
//! unknown and positional arguments, orders, computed names.
//!
//! Goes in: a vocabulary. Comes out: the same numbered list every time, so that a worker that died can go
//! on behind the case that killed it.

use super::class::{Class, classes, table_classes};
use super::sample::Sample;
use super::tensor::{Walk, contiguous};
use super::{Access, Call, Case, Dtype, Extra, Keys, Keyword, Layout, Object};
use super::{Probe, Probes, Shape, Strides, Tensor, Vocabulary};

/// A row of the decision table for an array on the CPU.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    dl_device: &'static Class,
    copy: &'static Class,
    max_version: &'static Class,
    stream: &'static Class,
}

impl Row {
    /// How many rows there are: 7 × 4 × 7 × 7.
    pub const COUNT: usize = 1372;

    /// The row at a place of the table, modulo their number.
    pub fn at(place: usize) -> Self {
        let mut place = place % Self::COUNT;
        let mut next = |keyword| {
            let classes = table_classes(keyword);
            let class = &classes[place % classes.len()];
            place /= classes.len();
            class
        };
        // The last column changes fastest.
        let stream = next(Keyword::Stream);
        let max_version = next(Keyword::MaxVersion);
        let copy = next(Keyword::Copy);
        Self {
            dl_device: next(Keyword::DlDevice),
            copy,
            max_version,
            stream,
        }
    }

    /// The classes as `decision_table.tsv` names them: dl_device, copy, max_version, stream.
    pub fn names(&self) -> [&'static str; 4] {
        [
            self.dl_device.name,
            self.copy.name,
            self.max_version.name,
            self.stream.name,
        ]
    }

    /// A call of this row; `turn` picks among the concrete values of each class.
    pub fn call(&self, turn: usize) -> Call {
        // The classes turn at different speeds, so that all combinations of their values come up.
        let arg =
            |class: &Class, speed: usize| class.samples[turn / speed % class.samples.len()].arg();
        Call {
            stream: arg(self.stream, 1),
            max_version: arg(self.max_version, 2),
            dl_device: arg(self.dl_device, 1),
            copy: arg(self.copy, 1),
            ..Call::default()
        }
    }
}

/// The rows in the order of `decision_table.tsv`.
pub fn rows() -> impl ExactSizeIterator<Item = Row> {
    (0..Row::COUNT).map(Row::at)
}

/// Every row with every combination of its concrete values, on six float32: what rules.md 16.9 counts.
pub fn calibration() -> impl Iterator<Item = (Row, Case)> {
    rows().flat_map(|row| {
        let product = |keyword: Keyword, class: &'static Class| {
            class.samples.iter().map(move |sample| (keyword, sample))
        };
        product(Keyword::DlDevice, row.dl_device).flat_map(move |device| {
            product(Keyword::Copy, row.copy).flat_map(move |copy| {
                product(Keyword::MaxVersion, row.max_version).flat_map(move |version| {
                    product(Keyword::Stream, row.stream).map(move |stream| {
                        let mut call = Call::default();
                        for (keyword, sample) in [device, copy, version, stream] {
                            *call.arg_mut(keyword) = sample.arg();
                        }
                        (
                            row,
                            Case {
                                tensor: Tensor::plain(),
                                call,
                                probes: Probes::NONE,
                            },
                        )
                    })
                })
            })
        })
    })
}

/// All cases of the sweep, by number.
#[derive(Clone, Debug)]
pub struct Sweep {
    dtypes: Vec<Dtype>,
    objects: Vec<Object>,
    layouts: Vec<Named>,
    calibration: Vec<Case>,
    /// Single arguments that are not of the calibration.
    near_misses: Vec<(Keyword, &'static Sample)>,
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
}

impl Part {
    pub const ALL: [Self; 7] = [
        Self::Calibration,
        Self::Probed,
        Self::Arrays,
        Self::ReadOnly,
        Self::Objects,
        Self::NearMisses,
        Self::Forms,
    ];
}

/// Rows without a stream: the ones that say most about an array.
const STREAMLESS: usize = Row::COUNT / 7;
/// Calls per writable array: every other row without a stream, and some with one.
const ARRAY_CALLS: usize = STREAMLESS / 2 + 14;
/// Read-only changes less: every seventh row.
const READ_ONLY_CALLS: usize = STREAMLESS / 7 + 7;
const OBJECT_CALLS: usize = 14;
/// Layouts (by number in [`LAYOUTS`]) that objects, near misses and forms are tried on.
const FEW_LAYOUTS: usize = 5;

impl Sweep {
    pub fn new(vocabulary: &Vocabulary) -> Self {
        let standard = [Dtype::from_row(1, 0), Dtype::FLOAT32];
        let dtypes: Vec<Dtype> = vocabulary.dtypes.iter().map(|&(dtype, _)| dtype).collect();
        let dtypes = if dtypes.is_empty() {
            standard.to_vec()
        } else {
            dtypes
        };
        let objects = (vocabulary.objects.iter().map(|&(object, _)| object))
            .filter(|&object| object != Object::Array)
            .collect();
        let layouts = (LAYOUTS.iter().copied())
            .filter(|layout| layout.of(4).0.len() <= vocabulary.max_ndim)
            .collect();
        let near_misses = Keyword::ALL
            .into_iter()
            .flat_map(|keyword| {
                classes(keyword)
                    .iter()
                    .flat_map(Class::all)
                    .map(move |sample| (keyword, sample))
            })
            .collect();
        let calibration = calibration().map(|(_, case)| case).collect();
        Self {
            dtypes,
            objects,
            layouts,
            calibration,
            near_misses,
        }
    }

    pub fn len(&self) -> usize {
        Part::ALL.into_iter().map(|part| self.part_len(part)).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
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
        let (part, at) = self
            .part(place)
            .expect("the place is below the number of cases");
        match part {
            Part::Calibration => self.calibration[at].clone(),
            Part::Probed => self.probed(at),
            Part::Arrays => self.array(at, ARRAY_CALLS, Access::Writable),
            Part::ReadOnly => self.array(at, READ_ONLY_CALLS, Access::ReadOnly),
            Part::Objects => self.object(at),
            Part::NearMisses => self.near_miss(at),
            Part::Forms => self.form(at),
        }
        .normalized()
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
        }
    }

    fn probed(&self, at: usize) -> Case {
        let (row, type_place) = (at % Row::COUNT, at / Row::COUNT);
        let dtype = Dtype::from_row(PROBED_DTYPES[type_place], 0);
        let tensor = Tensor {
            dtype,
            ..Tensor::plain()
        };
        Case {
            tensor,
            call: Row::at(row).call(at),
            probes: Probes::ALL,
        }
    }

    fn array(&self, at: usize, calls: usize, access: Access) -> Case {
        let (number, call) = (at / calls, at % calls);
        let tensor = Tensor {
            access,
            ..self.tensor(number)
        };
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
        Case {
            tensor,
            call: Row::at(row).call(number + call),
            probes: pair(at),
        }
    }

    fn object(&self, at: usize) -> Case {
        let (call, rest) = (at % OBJECT_CALLS, at / OBJECT_CALLS);
        let object = self.objects[rest % self.objects.len()];
        let mut tensor = Tensor {
            object,
            ..self.few_tensor(rest / self.objects.len())
        };
        if object == Object::Matrix {
            tensor.shape = Shape::from_slice(&[2, 3]);
            tensor.layout = if rest % 2 == 0 { Layout::C } else { Layout::F };
        }
        let row = if call < OBJECT_CALLS / 2 {
            (rest * 29 + call * 37) % STREAMLESS * 7
        } else {
            rest * 31 + call * 53
        };
        Case {
            tensor,
            call: Row::at(row).call(at),
            probes: pair(at),
        }
    }

    fn near_miss(&self, at: usize) -> Case {
        let (place, rest) = (at % self.near_misses.len(), at / self.near_misses.len());
        let (keyword, sample) = self.near_misses[place];
        let call = base_call(rest).with(keyword, sample.arg());
        Case {
            tensor: self.spread_tensor(rest / BASES),
            call,
            probes: pair(at),
        }
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
                call.keys = if form < 27 {
                    Keys::Interned
                } else {
                    Keys::Fresh
                };
            }
        }
        Case {
            tensor: self.spread_tensor(rest / BASES),
            call,
            probes: pair(at),
        }
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
        3 => versioned
            .with(Copy, Sample::bool(false).arg())
            .with(DlDevice, Sample::Pair(1, 0).arg()),
        4 => plain
            .with(DlDevice, Sample::Own.arg())
            .with(Copy, none.clone())
            .with(Stream, none),
        _ => (versioned.with(Stream, none.clone()).with(DlDevice, none))
            .with(Copy, Sample::bool(true).arg()),
    }
}

/// Two different probes, another two for the next case.
fn pair(at: usize) -> Probes {
    let count = Probe::ALL.len();
    let (first, distance) = (at % count, at / count % (count - 1) + 1);
    [Probe::ALL[first], Probe::ALL[(first + distance) % count]]
        .into_iter()
        .collect()
}

/// A layout by name, for items of any size.
#[derive(Clone, Copy, Debug)]
struct Named {
    name: &'static str,
    shape: &'static [i64],
    order: Order,
}

#[derive(Clone, Copy, Debug)]
enum Order {
    C,
    F,
    /// Strides: for each axis so many items and so many bytes; then the lead.
    View(&'static [(i64, i64)], u8),
    /// The strides of C order, with every second axis the other way around.
    Zigzag,
}

impl Named {
    fn of(&self, item: usize) -> (Shape, Layout) {
        let shape = Shape::from_slice(self.shape);
        // Items without bytes have strides of a byte here: the gaps are the point.
        let item = item.max(1);
        let (strides, lead) = match self.order {
            Order::C => return (shape, Layout::C),
            Order::F => return (shape, Layout::F),
            Order::View(steps, lead) => {
                let stride = |&(items, bytes): &(i64, i64)| {
                    items.saturating_mul(item as i64).saturating_add(bytes)
                };
                (steps.iter().map(stride).collect::<Strides>(), lead)
            }
            Order::Zigzag => {
                let mut strides = contiguous(&shape, item, Walk::LastFirst);
                strides
                    .iter_mut()
                    .step_by(2)
                    .for_each(|stride| *stride = -*stride);
                (strides, 0)
            }
        };
        (shape, Layout::Strided { strides, lead })
    }

    fn tensor(&self, dtype: Dtype) -> Tensor {
        let (shape, layout) = self.of(dtype.item_size());
        Tensor {
            dtype,
            shape,
            layout,
            ..Tensor::plain()
        }
    }
}

const fn named(name: &'static str, shape: &'static [i64], order: Order) -> Named {
    Named { name, shape, order }
}

/// The layouts of the sweep; the first [`FEW_LAYOUTS`] differ most.
const LAYOUTS: [Named; 32] = [
    named("one axis", &[6], Order::C),
    named("gaps", &[3, 2], Order::View(&[(5, 0), (2, 0)], 0)),
    named("no axis", &[], Order::C),
    named("no element", &[0], Order::C),
    named("F order", &[2, 3], Order::F),
    named("two axes", &[2, 3], Order::C),
    named("every other", &[4], Order::View(&[(2, 0)], 0)),
    named(
        "permuted",
        &[2, 3, 4],
        Order::View(&[(3, 0), (1, 0), (6, 0)], 0),
    ),
    named("backwards", &[5], Order::View(&[(-1, 0)], 0)),
    named(
        "backwards with gaps",
        &[3, 4],
        Order::View(&[(-9, 0), (2, 0)], 0),
    ),
    named("every second axis backwards", &[2, 3, 2], Order::Zigzag),
    named("broadcast", &[4, 3], Order::View(&[(0, 0), (1, 0)], 0)),
    named(
        "broadcast inside",
        &[3, 4],
        Order::View(&[(1, 0), (0, 0)], 0),
    ),
    named("one element for all", &[5], Order::View(&[(0, 0)], 0)),
    named("overlap", &[4, 3], Order::View(&[(1, 0), (1, 0)], 0)),
    named("overlap within items", &[4], Order::View(&[(0, 1)], 0)),
    named("odd stride", &[3], Order::View(&[(1, 1)], 0)),
    named("odd strides", &[2, 3], Order::View(&[(4, 2), (1, 1)], 0)),
    named("misaligned", &[6], Order::View(&[(1, 0)], 1)),
    named(
        "misaligned gaps",
        &[3, 2],
        Order::View(&[(3, 0), (1, 0)], 7),
    ),
    named("offset", &[6], Order::View(&[(1, 0)], 64)),
    named("offset scalar", &[], Order::View(&[], 16)),
    named("length 1, odd stride", &[1], Order::View(&[(0, 3)], 0)),
    named(
        "length 1, huge strides",
        &[1, 3, 1],
        Order::View(&[(0, 1 << 60), (1, 0), (0, i64::MIN)], 0),
    ),
    named("no element inside", &[3, 0, 2], Order::C),
    named(
        "no element, any strides",
        &[2, 0],
        Order::View(&[(0, 1 << 60), (0, -7)], 0),
    ),
    named("no element, F order", &[4, 0], Order::F),
    named("five axes", &[2, 1, 3, 1, 2], Order::F),
    named("33 axes", &[1; 33], Order::C),
    named("64 axes", &FLAT_64, Order::C),
    named("64 axes, one with gaps", &FLAT_64, Order::View(&GAPS_64, 0)),
    named(
        "more bytes than memory",
        &[1 << 47, 2],
        Order::View(&[(0, 0), (1, 0)], 0),
    ),
];

const FLAT_64: [i64; 64] = {
    let mut shape = [1; 64];
    shape[40] = 3;
    shape
};

const GAPS_64: [(i64, i64); 64] = [(2, 0); 64];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Arg, LayoutClass, Value};
    use std::collections::HashSet;

    #[test]
    fn rows_are_the_table_and_have_no_twins() {
        let names: HashSet<_> = rows().map(|row| row.names()).collect();
        assert_eq!((rows().len(), names.len()), (1372, 1372));
        assert_eq!(Row::at(0).names(), ["absent", "absent", "absent", "none"]);
        assert_eq!(Row::at(1).names(), ["absent", "absent", "absent", "m1"]);
        assert_eq!(
            Row::at(1371).names(),
            ["malformed", "False", "malformed", "bad"]
        );
    }

    #[test]
    fn the_calibration_has_every_row_with_all_its_values() {
        let cases: Vec<_> = calibration().collect();
        assert_eq!(cases.len(), 14_976);
        let calls: HashSet<_> = cases.iter().map(|(_, case)| &case.call).collect();
        assert_eq!(calls.len(), cases.len());
        let single: Vec<_> = Keyword::ALL
            .into_iter()
            .flat_map(table_classes)
            .filter(|class| class.samples.len() < 2)
            .map(|class| class.name)
            .collect();
        // Those have one value only.
        let due = [
            "m1", "zero", "absent", "None", "1.0", "absent", "None", "absent", "None", "True",
            "False",
        ];
        assert_eq!(single, due);
    }

    #[test]
    fn the_turn_goes_through_all_values_of_a_class() {
        for row in rows() {
            let calls: HashSet<_> = (0..28).map(|turn| row.call(turn)).collect();
            for (class, keyword) in [
                (row.dl_device, Keyword::DlDevice),
                (row.max_version, Keyword::MaxVersion),
            ] {
                let values: HashSet<&Arg> = calls.iter().map(|call| call.arg(keyword)).collect();
                assert_eq!(values.len(), class.samples.len(), "{}", class.name);
            }
        }
    }

    #[test]
    fn the_sweep_is_numbered_normal_and_of_bearable_length() {
        let sweep = Sweep::new(&Vocabulary::default());
        assert!((300_000..500_000).contains(&sweep.len()), "{}", sweep.len());
        assert_eq!(sweep.part(sweep.len()), None);
        for place in (0..sweep.len()).step_by(101) {
            let case = sweep.case(place);
            assert_eq!(case.clone().normalized(), case);
            assert_eq!(case, sweep.case(place));
        }
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
    fn named_layouts_are_what_their_names_say_for_float32() {
        let class = |name: &str| {
            let layout = LAYOUTS
                .iter()
                .find(|layout| layout.name == name)
                .expect(name);
            let tensor = layout.tensor(Dtype::FLOAT32);
            assert_eq!(tensor.clone().normalized(), tensor, "{name}");
            tensor.layout_class()
        };
        for (name, due) in [
            ("gaps", LayoutClass::Gaps),
            ("no axis", LayoutClass::Scalar),
            ("offset scalar", LayoutClass::Scalar),
            ("no element, any strides", LayoutClass::SizeZero),
            ("F order", LayoutClass::F),
            ("permuted", LayoutClass::Gaps),
            ("backwards with gaps", LayoutClass::Negative),
            ("every second axis backwards", LayoutClass::Negative),
            ("broadcast inside", LayoutClass::Broadcast),
            ("overlap", LayoutClass::Overlap),
            ("overlap within items", LayoutClass::OddStride),
            ("odd strides", LayoutClass::OddStride),
            ("misaligned gaps", LayoutClass::Misaligned),
            ("64 axes, one with gaps", LayoutClass::Gaps),
            ("more bytes than memory", LayoutClass::Broadcast),
        ] {
            assert_eq!(class(name), due, "{name}");
        }
    }

    #[test]
    fn odd_calls_are_swept() {
        let sweep = Sweep::new(&Vocabulary::default());
        let all: Vec<Case> = (0..sweep.len())
            .filter(|&place| matches!(sweep.part(place), Some((Part::NearMisses | Part::Forms, _))))
            .map(|place| sweep.case(place))
            .collect();
        for text in [
            "copy=1",
            "foo=1",
            "max_version=[1, 0]",
            "dl_device=(1, 0, 0)",
            "**fresh",
            "stream=()",
        ] {
            assert!(
                all.iter().any(|case| case.call.to_string() == text),
                "{text}"
            );
        }
        assert!(all.iter().any(|case| case.call.extra == Extra::Positional));
        assert!(all.iter().any(|case| case.call.order == 23));
        assert!(
            all.iter()
                .any(|case| case.call.copy == Arg::Given(Value::Own))
        );
    }
}
