//! **Shrinking**: simpler cases, for the reduction of a finding. Goes in: a case. Comes out: candidates,
//! the most drastic first, each strictly simpler by [`weight`], so that taking the first one that still
//! shows the fault, again and again, ends.

use super::{Access, Arg, Call, Case, Contents, Dtype, Extra, Keys, Keyword, Layout, Object};
use super::{Probe, Probes, Scalar, SeqKind, Shape, Strides, Tensor, Value};
use crate::abi::DLDevice;

/// How complicated a case is: a total preorder in which fewer things, smaller numbers and usual values come
/// first. The least is `array(shape=(), dtype='float32').__dlpack__()`.
pub fn weight(case: &Case) -> u64 {
    tensor_weight(&case.tensor)
        + call_weight(&case.call)
        + 20 * u64::from(case.probes.bits().count_ones())
}

/// Simpler cases, the most drastic first. All are normal.
pub fn shrink(case: &Case) -> impl Iterator<Item = Case> + use<> {
    let limit = weight(case);
    let mut found = Candidates { base: case.clone(), list: Vec::new() };
    found.wholes();
    found.probes();
    found.call();
    found.axes();
    found.array();
    found.numbers();
    found.list.into_iter().map(Case::normalized).filter(move |candidate| weight(candidate) < limit)
}

struct Candidates {
    base: Case,
    list: Vec<Case>,
}

impl Candidates {
    fn push(&mut self, change: impl FnOnce(&mut Case)) {
        let mut case = self.base.clone();
        change(&mut case);
        self.list.push(case);
    }

    /// The array, the call or the probes all plain.
    fn wholes(&mut self) {
        self.push(|case| {
            case.call = Call::default();
            case.probes = Probes::NONE;
        });
        self.push(|case| case.tensor = Tensor::plain());
        self.push(|case| case.call = Call::default());
        self.push(|case| case.probes = Probes::NONE);
    }

    /// One probe only, then one less.
    fn probes(&mut self) {
        let all: Vec<Probe> = self.base.probes.iter().collect();
        for &probe in &all {
            self.push(|case| case.probes = [probe].into_iter().collect());
        }
        for &probe in &all {
            self.push(|case| case.probes.remove(probe));
        }
    }

    /// One keyword only, one less, then plainer values.
    fn call(&mut self) {
        let given = || Keyword::ALL.into_iter();
        for keyword in
            given().filter(|&keyword| self.base.call.arg(keyword).is_given()).collect::<Vec<_>>()
        {
            self.push(|case| {
                let arg = case.call.arg(keyword).clone();
                case.call = Call::default().with(keyword, arg);
            });
        }
        self.push(|case| case.call.extra = Extra::Nothing);
        self.push(|case| case.call.keys = Keys::Interned);
        self.push(|case| case.call.order = 0);
        for keyword in given() {
            self.push(|case| *case.call.arg_mut(keyword) = Arg::Absent);
        }
        for keyword in given() {
            let Arg::Given(value) = self.base.call.arg(keyword).clone() else {
                continue;
            };
            for plainer in plainer_values(&value) {
                self.push(|case| *case.call.arg_mut(keyword) = Arg::Given(plainer));
            }
        }
    }

    /// One axis only, half of them, one less.
    fn axes(&mut self) {
        let rank = self.base.tensor.shape.len();
        let mut keep = |axes: &mut dyn Iterator<Item = usize>| {
            let axes: Vec<usize> = axes.collect();
            self.push(|case| keep_axes(&mut case.tensor, &axes));
        };
        keep(&mut std::iter::empty());
        (0..rank).for_each(|axis| keep(&mut std::iter::once(axis)));
        keep(&mut (0..rank / 2));
        keep(&mut (rank / 2..rank));
        if let 3..=8 = rank {
            let pairs = (0..rank).flat_map(|one| (one + 1..rank).map(move |other| [one, other]));
            pairs.for_each(|pair| keep(&mut pair.into_iter()));
        }
        (0..rank).for_each(|axis| keep(&mut (0..rank).filter(|&other| other != axis)));
    }

    /// Usual properties of the array.
    fn array(&mut self) {
        let (object, dtype) = (self.base.tensor.object, self.base.tensor.dtype);
        self.push(|case| case.tensor.layout = Layout::C);
        self.push(|case| case.tensor.layout = Layout::F);
        // What two axes of an order or a view do, one axis with a gap may do.
        self.push(|case| {
            let gap = dtype.item_size() as i64 + 1;
            case.tensor.shape = Shape::from_slice(&[2]);
            case.tensor.layout = Layout::Strided { strides: Strides::from_slice(&[gap]), lead: 0 };
        });
        self.push(|case| case.tensor.dtype = Dtype::FLOAT32);
        self.push(|case| {
            // Another item size in the same layout.
            rescale(&mut case.tensor, Dtype::FLOAT32);
        });
        self.push(|case| case.tensor.object = Object::Array);
        if object == Object::Field {
            // The gaps may be what matters, not where they come from.
            let plain = self.base.tensor.byte_strides();
            let strides = plain.iter().map(|stride| stride + 8).collect();
            self.push(|case| {
                case.tensor.object = Object::Array;
                case.tensor.layout = Layout::Strided { strides, lead: 0 };
            });
        }
        if let (true, Some(void)) = (dtype.is_flexible(), Dtype::named("void", dtype.size)) {
            self.push(|case| case.tensor.dtype = void);
        }
        self.push(|case| case.tensor.access = Access::Writable);
        self.push(|case| case.tensor.device = DLDevice::CPU);
        self.push(|case| case.tensor.contents = Contents(7));
        for simpler in [Dtype::from_row(dtype.row(), 0), Dtype::from_row(dtype.row(), dtype.size)] {
            self.push(|case| case.tensor.dtype = simpler);
        }
        for size in [1, dtype.size / 2, dtype.size.saturating_sub(1)] {
            self.push(|case| {
                case.tensor.dtype.size = if dtype.is_flexible() { size } else { 0 };
            });
        }
        for row in 0..dtype.row() {
            // A plainer type of the same class: the class is what mattered.
            let plainer = Dtype::from_row(row, 0);
            if plainer.class() == dtype.class() && !plainer.is_flexible() {
                self.push(|case| rescale(&mut case.tensor, plainer));
            }
        }
    }

    /// Smaller extents, strides and leads.
    fn numbers(&mut self) {
        let tensor = self.base.tensor.clone();
        self.push(|case| {
            case.tensor.shape.iter_mut().for_each(|extent| *extent = (*extent).min(2))
        });
        for (axis, &extent) in tensor.shape.iter().enumerate() {
            for smaller in [1, 2, 0, extent / 2, extent - 1] {
                self.push(|case| case.tensor.shape[axis] = smaller);
            }
        }
        let Layout::Strided { strides, lead } = &tensor.layout else {
            return;
        };
        let plain = Tensor { layout: Layout::C, ..tensor.clone() }.byte_strides();
        let mut restride = |strides: Strides, lead: u8| {
            self.push(|case| case.tensor.layout = Layout::Strided { strides, lead });
        };
        for smaller in [0, lead / 2, lead.saturating_sub(1)] {
            restride(strides.clone(), smaller);
        }
        restride(plain.clone(), *lead);
        let item = tensor.dtype.item_size() as i64;
        for (axis, &stride) in strides.iter().enumerate() {
            let step = stride.signum();
            for simpler in
                [plain[axis], item, 2 * item, 1, stride.saturating_abs(), stride / 2, stride - step]
            {
                let mut strides = strides.clone();
                strides[axis] = simpler;
                restride(strides, *lead);
            }
        }
    }
}

/// The array with these axes only.
fn keep_axes(tensor: &mut Tensor, axes: &[usize]) {
    tensor.shape = axes.iter().map(|&axis| tensor.shape[axis]).collect::<Shape>();
    if let Layout::Strided { strides, .. } = &mut tensor.layout {
        *strides = axes.iter().map(|&axis| strides[axis]).collect::<Strides>();
    }
}

/// Another element type with the strides in proportion.
fn rescale(tensor: &mut Tensor, dtype: Dtype) {
    let (old, new) = (tensor.dtype.item_size().max(1) as i64, dtype.item_size() as i64);
    if let Layout::Strided { strides, .. } = &mut tensor.layout {
        strides.iter_mut().for_each(|stride| *stride = (*stride / old).saturating_mul(new));
    }
    tensor.dtype = dtype;
}

fn plainer_values(value: &Value) -> Vec<Value> {
    match value {
        Value::Own => vec![Value::NONE],
        Value::Scalar(scalar) => {
            let simpler = plainer_scalars(scalar).into_iter().map(Value::Scalar);
            std::iter::once(Value::NONE).chain(simpler).collect()
        }
        Value::Seq(kind, items) => {
            let mut plainer = vec![
                Value::NONE,
                Value::Own,
                Value::pair(1, 0),
                Value::Seq(SeqKind::Tuple, items.clone()),
            ];
            for place in 0..items.len() {
                let mut shorter = items.clone();
                shorter.remove(place);
                plainer.push(Value::Seq(*kind, shorter));
                for scalar in plainer_scalars(&items[place]) {
                    let mut simpler = items.clone();
                    simpler[place] = scalar;
                    plainer.push(Value::Seq(*kind, simpler));
                }
            }
            plainer
        }
    }
}

fn plainer_scalars(scalar: &Scalar) -> Vec<Scalar> {
    let numbers =
        |number: i64| [0, 1, number.saturating_abs(), number / 2, number - number.signum()];
    let wrap: fn(i64) -> Scalar = match scalar {
        Scalar::Int(_) => Scalar::Int,
        Scalar::IntEnum(_) => Scalar::IntEnum,
        Scalar::IntSubclass(_) => Scalar::IntSubclass,
        Scalar::NumpyInt(_) => Scalar::NumpyInt,
        Scalar::Index(_) => Scalar::Index,
        Scalar::Enum(number) => return numbers(*number).map(Scalar::Enum).to_vec(),
        Scalar::Halves(halves) => {
            return [0, 2, halves / 2, halves - halves.signum()].map(Scalar::Halves).to_vec();
        }
        _ => {
            return vec![Scalar::Int(0), Scalar::Int(1), Scalar::Int(-1), Scalar::Str(0)];
        }
    };
    let number = scalar.as_index().unwrap_or(0);
    let mut plainer: Vec<_> = numbers(number).map(wrap).to_vec();
    plainer.push(Scalar::Int(number));
    plainer
}

fn tensor_weight(tensor: &Tensor) -> u64 {
    let Tensor { object, dtype, shape, layout, access, device, contents } = tensor;
    let object = if *object == Object::Array { 0 } else { 40 + *object as u64 };
    let swapped = u64::from(*dtype == dtype.swapped() && dtype.has_byte_order());
    let dtype_weight = match *dtype {
        Dtype::FLOAT32 => 0,
        dtype => 10 + plainness(dtype) + number_weight(i64::from(dtype.size)) + 20 * swapped,
    };
    let axes: u64 = shape.iter().map(|&extent| 60 + extent_weight(extent)).sum();
    let layout = match layout {
        Layout::C => 0,
        Layout::F => 10,
        Layout::Strided { strides, lead } => {
            let plain = Tensor { layout: Layout::C, ..tensor.clone() }.byte_strides();
            let gaps = strides.iter().zip(&plain).filter(|(stride, plain)| stride != plain);
            let strides: u64 = gaps.map(|(&stride, _)| 3 + number_weight(stride)).sum();
            20 + strides + if *lead == 0 { 0 } else { 4 + number_weight(i64::from(*lead)) }
        }
    };
    let access = if *access == Access::ReadOnly { 15 } else { 0 };
    let device = if *device == DLDevice::CPU { 0 } else { 50 };
    let contents =
        if *contents == Contents(7) { 0 } else { 4 + number_weight(i64::from(contents.0)) };
    object + dtype_weight + axes + layout + access + device + contents
}

/// The type's row; among those whose items have any size, `void` is the plainest.
fn plainness(dtype: Dtype) -> u64 {
    let row = u64::from(dtype.row());
    if dtype.is_flexible() && dtype.name() != "void" { row + 10 } else { row }
}

/// 1 is less than 2, and an axis that makes the array empty is a special case.
fn extent_weight(extent: i64) -> u64 {
    if extent == 0 { 20 } else { number_weight(extent) }
}

/// Small numbers weigh what they are, larger ones by their bits; a sign a little more.
fn number_weight(number: i64) -> u64 {
    let size = number.unsigned_abs();
    let bits = u64::from(u64::BITS - size.leading_zeros());
    (if bits <= 5 { size } else { 16 + 4 * bits }) + u64::from(number < 0)
}

fn call_weight(call: &Call) -> u64 {
    let arguments: u64 = Keyword::ALL.map(|keyword| arg_weight(call.arg(keyword))).iter().sum();
    let extra = if call.extra == Extra::Nothing { 0 } else { 30 };
    let keys = if call.keys == Keys::Interned { 0 } else { 10 };
    arguments + extra + keys + if call.order == 0 { 0 } else { 5 + u64::from(call.order) }
}

fn arg_weight(arg: &Arg) -> u64 {
    40 + match arg {
        Arg::Absent => return 0,
        Arg::Given(Value::Scalar(scalar)) => scalar_weight(scalar),
        Arg::Given(Value::Own) => 2,
        Arg::Given(Value::Seq(kind, items)) => {
            let kind = if *kind == SeqKind::Tuple { 0 } else { 20 };
            // Two items are what both keywords take; fewer or more are a mistake of their own.
            let length = 30 * items.len().abs_diff(2) as u64;
            5 + kind + length + items.iter().map(scalar_weight).sum::<u64>()
        }
    }
}

fn scalar_weight(scalar: &Scalar) -> u64 {
    match *scalar {
        Scalar::None => 0,
        Scalar::Bool(_) => 1,
        Scalar::Int(number) => 2 + number_weight(number),
        Scalar::Str(word) => 20 + u64::from(word),
        Scalar::Halves(halves) => 30 + number_weight(i64::from(halves)),
        Scalar::IntEnum(number)
        | Scalar::Enum(number)
        | Scalar::IntSubclass(number)
        | Scalar::NumpyInt(number)
        | Scalar::Index(number) => 40 + number_weight(number),
        Scalar::Bytes | Scalar::Object => 60,
        // More than any number that fits.
        Scalar::Huge { .. } => 400,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Rng, Vocabulary, generate};

    /// The case that greedy reduction ends at, and the number of candidates tried.
    fn reduce(mut case: Case, holds: impl Fn(&Case) -> bool) -> (Case, usize) {
        let mut tried = 0;
        while let Some(simpler) =
            shrink(&case).inspect(|_| tried += 1).find(|simpler| holds(simpler))
        {
            assert!(weight(&simpler) < weight(&case));
            case = simpler;
        }
        (case, tried)
    }

    fn gaps(case: &Case) -> bool {
        let tensor = &case.tensor;
        let plain = Tensor { layout: Layout::C, ..tensor.clone() }.byte_strides();
        let strides = tensor.byte_strides();
        tensor.dtype.name() == "void"
            && tensor.dtype.size == 0
            && tensor.shape.iter().enumerate().any(|(a, &n)| n > 1 && strides[a] != plain[a])
    }

    #[test]
    fn a_stride_in_an_array_without_bytes_shrinks_to_one_axis() {
        let text = "array(shape=(3, 1, 7, 2), dtype='void[0]', strides=(8, -16, 1024, 0), lead=5, \
                    writable=False, contents=2, object='subclass').__dlpack__(copy=True, \
                    max_version=(1, 99), stream=None, **fresh) + plain, repeat, all-none";
        let (least, tried) = reduce(text.parse().unwrap(), gaps);
        assert_eq!(
            least.to_string(),
            "array(shape=(2,), dtype='void[0]', strides=(1,)).__dlpack__()"
        );
        assert!(tried < 1000, "{tried}");
    }

    #[test]
    fn every_case_shrinks_to_the_least_one() {
        let mut rng = Rng::new(11);
        for _ in 0..300 {
            let case = generate(&mut rng, &Vocabulary::default());
            let (least, tried) = reduce(case, |_| true);
            assert_eq!(least.to_string(), "array(shape=(), dtype='float32').__dlpack__()");
            assert!(tried < 100, "{tried}");
        }
    }

    #[test]
    fn candidates_are_normal_and_strictly_simpler() {
        let mut rng = Rng::new(12);
        for _ in 0..2_000 {
            let case = generate(&mut rng, &Vocabulary::default());
            for candidate in shrink(&case) {
                assert!(weight(&candidate) < weight(&case), "{candidate} of {case}");
                assert_eq!(candidate.clone().normalized(), candidate);
            }
        }
    }

    #[test]
    fn a_fault_of_one_argument_keeps_that_argument_only() {
        let text = "array(shape=(2, 3), dtype='int64', order='F').__dlpack__(copy=False, \
                    dl_device=(10, 0), max_version=(1, 0)) + repeat";
        let unsupported = |case: &Case| {
            let pair = case.call.dl_device.value().and_then(Value::as_pair);
            pair.is_some_and(|(device_type, _)| device_type > 1)
        };
        let (least, _) = reduce(text.parse().unwrap(), unsupported);
        assert_eq!(
            least.to_string(),
            "array(shape=(), dtype='float32').__dlpack__(dl_device=(2, 0))"
        );
    }
}
