//! **Shrinking**: simpler cases, for the reduction of a finding. Goes in: a case. Comes out: candidates,
//! the most drastic first, each strictly simpler by [`weight`], so that taking the first one that still
//! shows the fault, again and again, ends.

mod weight;

pub use weight::weight;

use super::life::{Life, Slot, Step};
use super::{Access, Arg, Call, Case, Contents, Dtype, ExchangeStep, Extra, Keys, Keyword, Layout};
use super::{Object, Probe, Probes, Scalar, SeqKind, Shape, Strides, Tensor, Value};
use crate::abi::DLDevice;

/// Simpler cases, the most drastic first. All are normal.
pub fn shrink(case: &Case) -> impl Iterator<Item = Case> + use<> {
    let limit = weight(case);
    let mut found = Candidates { base: case.clone(), list: Vec::new() };
    found.wholes();
    found.life();
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

    /// No life, half of the steps, one less, plainer steps. A step that makes no sense any more falls away.
    fn life(&mut self) {
        let steps = self.base.life.steps().to_vec();
        if steps.is_empty() {
            return;
        }
        let mut live = |steps: Vec<Step>| self.push(|case| case.life = Life::normalized(steps));
        live(Vec::new());
        live(steps[steps.len() / 2..].to_vec());
        live(steps[..steps.len() / 2].to_vec());
        for place in (0..steps.len()).rev() {
            let mut fewer = steps.clone();
            fewer.remove(place);
            live(fewer);
        }
        for (place, step) in steps.iter().enumerate() {
            for plainer in step.plainer() {
                let mut steps = steps.clone();
                steps[place] = plainer;
                live(steps);
            }
        }
        // The export that is about something may be the only one that is needed.
        for gone in Slot::ALL {
            live(steps.iter().filter_map(|step| step.without(gone)).collect());
        }
    }

    /// One step or one probe only, then one less.
    fn probes(&mut self) {
        let all: Vec<Probe> = self.base.probes.iter().collect();
        let steps: Vec<ExchangeStep> = self.base.probes.steps().collect();
        for &step in &steps {
            self.push(|case| {
                case.probes = Probes::NONE;
                case.probes.ask(step);
            });
        }
        for &step in &steps {
            self.push(|case| case.probes.unask(step));
        }
        for &probe in &all {
            self.push(|case| case.probes = [probe].into_iter().collect());
        }
        for &probe in &all {
            self.push(|case| case.probes.remove(probe));
        }
        // The probe's call itself: what it shows is not shown by the call beside it.
        for &probe in &all {
            self.push(|case| {
                case.call = probe.call(&case.call, case.tensor.device);
                case.probes = Probes::NONE;
            });
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
            let strides = plain.iter().map(|stride| stride.saturating_add(8)).collect();
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

#[cfg(test)]
mod tests;
