//! **Steering**: the cases that a session goes round after one like them killed its child.
//!
//! Goes in: the case that killed, and later, when it is known, the simplest case that dies of the same. Comes
//! out: rules that cover them and their likes; a TOML file carries the rules to a child that is started anew.
//! This is not a known finding: the rules are wider than the fault, nothing is said of the cases they cover,
//! and they end with the session.
//!
//! What the simplest case still has beyond a plain case, the fault needs, and only cases with a value that was seen
//! to kill are covered. What it has not, the fault does not need: where a case that died has differed from it in that
//! [`Trait`], it may be anything. A dtype is the exception: it must be one that was seen, until one died that
//! is no float; and so is a life, which must take the steps of the simplest case's, whatever else it takes. So a
//! fault costs a handful of deaths and not one for each dtype, layout and object; and a second
//! fault, which needs something else, is still met. A death that does not show again teaches only that everything of
//! its dtype, layout and object is better left alone.

use crate::case::{ByteOrder, Call, Case, Dtype, DtypeClass, Keyword, Probes, Shape, Tensor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Rules of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steering {
    /// Around deaths whose simplest case is not known.
    #[serde(default, rename = "around")]
    likes: Vec<Around>,
    #[serde(default, rename = "fault")]
    faults: Vec<Fault>,
}

impl Steering {
    pub fn steers(&self, case: &Case) -> bool {
        // Nearly every session has no rule, and then this costs nothing per case.
        !self.is_empty()
            && (self.likes.contains(&Around::of(case)) || {
                let traits = traits(case);
                self.faults.iter().any(|fault| fault.covers(&traits))
            })
    }

    /// Adds the rule that covers the case that killed, unless there is one.
    pub fn go_round(&mut self, case: &Case) {
        if !self.steers(case) {
            self.likes.push(Around::of(case));
        }
    }

    /// Takes that `simplest` dies of the same as `case`.
    pub fn learn(&mut self, case: &Case, simplest: &Case) {
        let (case, simplest) = (traits(case), traits(simplest));
        match self.faults.iter_mut().find(|fault| fault.simplest == simplest) {
            Some(fault) => fault.add(case),
            None => self.faults.push(Fault::new(case, simplest)),
        }
    }

    /// Number of rules.
    pub fn len(&self) -> usize {
        self.likes.len() + self.faults.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rules of a file; none if there is no such file.
    pub fn read(path: &Path) -> io::Result<Self> {
        match std::fs::read_to_string(path) {
            Ok(text) => toml::from_str(&text)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// In one step: a child that starts meanwhile reads the old rules or the new ones.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let half = path.with_extension("half");
        std::fs::write(&half, toml::to_string(self).map_err(io::Error::other)?)?;
        std::fs::rename(half, path)
    }
}

/// Cases with all of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Around {
    dtype: String,
    layout: String,
    object: String,
    /// A death in the life of an export says nothing of the cases without one.
    #[serde(default)]
    lives: bool,
}

impl Around {
    fn of(case: &Case) -> Self {
        let [dtype, layout, object, ..] = traits(case);
        Self { dtype, layout, object, lives: !case.life.is_empty() }
    }
}

/// One property of a case in words, at a fixed place among its traits.
type Trait = String;
const TRAITS: usize = 16;
/// The dtype's place, and the life's.
const DTYPE: usize = 0;
const LIFE: usize = 15;

fn traits(case: &Case) -> [Trait; TRAITS] {
    let (tensor, call) = (&case.tensor, &case.call);
    let swapped = if tensor.dtype.order == ByteOrder::Swapped { "swapped " } else { "" };
    // Only a flexible dtype can have items without bytes; other lengths are alike.
    let empty = if tensor.dtype.item_size() == 0 { " without bytes" } else { "" };
    let keyword = |keyword| match call.arg(keyword).value() {
        None => "absent".to_owned(),
        Some(value) => value.to_string(),
    };
    [
        format!("{swapped}{}{empty}", tensor.dtype.name()),
        format!("{:?}", tensor.layout_class()),
        tensor.object.name().to_owned(),
        tensor.shape.len().to_string(),
        format!("{:?}", tensor.access),
        format!("{:?}", tensor.device),
        format!("{:?}", tensor.contents),
        keyword(Keyword::Stream),
        keyword(Keyword::MaxVersion),
        keyword(Keyword::DlDevice),
        keyword(Keyword::Copy),
        format!("{:?}", call.extra),
        format!("{:?}", call.keys),
        call.order.to_string(),
        case.probes.to_string(),
        case.life.to_string(),
    ]
}

/// Cases that die of one fault, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Fault {
    simplest: [Trait; TRAITS],
    /// By trait, the values of the cases that died.
    seen: [BTreeSet<Trait>; TRAITS],
    /// By trait, whether it may be anything.
    free: [bool; TRAITS],
}

impl Fault {
    fn new(case: [Trait; TRAITS], simplest: [Trait; TRAITS]) -> Self {
        let seen = simplest.clone().map(|value| BTreeSet::from([value]));
        let mut fault = Self { simplest, seen, free: [false; TRAITS] };
        fault.add(case);
        fault
    }

    fn add(&mut self, case: [Trait; TRAITS]) {
        let plainest = traits(&plainest());
        for (place, value) in case.into_iter().enumerate() {
            let seen = &mut self.seen[place];
            seen.insert(value);
            let differs = if place == DTYPE {
                seen.iter().any(|it| is_no_float(it))
            } else {
                seen.len() >= 2
            };
            self.free[place] = differs && self.simplest[place] == plainest[place];
        }
    }

    fn covers(&self, traits: &[Trait; TRAITS]) -> bool {
        (0..LIFE).all(|place| self.free[place] || self.seen[place].contains(&traits[place]))
            && lives_through(&traits[LIFE], &self.simplest[LIFE])
    }
}

/// The life takes every step of the other one, in this order, whatever it does between them.
fn lives_through(life: &str, other: &str) -> bool {
    let mut steps = life.split(", ");
    other.is_empty() || other.split(", ").all(|wanted| steps.any(|step| step == wanted))
}

/// Something is wrong with more than floats if one of these dies too.
fn is_no_float(dtype: &str) -> bool {
    let kinds = [DtypeClass::Bool, DtypeClass::Integer, DtypeClass::Complex];
    Dtype::named(dtype, 0).is_some_and(|dtype| kinds.contains(&dtype.class()))
}

/// What every case shrinks to whose fault needs nothing.
fn plainest() -> Case {
    let tensor = Tensor { shape: Shape::new(), ..Tensor::plain() };
    Case::new(tensor, Call::default(), Probes::NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(text: &str) -> Case {
        text.parse().unwrap()
    }

    #[test]
    fn likes_of_a_killer_are_gone_round_and_others_are_not() {
        let mut steering = Steering::default();
        let killer = case("array(shape=(4,), dtype='void[0]', strides=(8,)).__dlpack__()");
        assert!(!steering.steers(&killer));
        steering.go_round(&killer);
        steering.go_round(&killer);
        assert_eq!(steering.len(), 1);
        assert!(steering.steers(&killer));
        assert!(steering.steers(&case(
            "array(shape=(2, 3), dtype='void[0]', strides=(40, 8)).__dlpack__(copy=True)"
        )));
        assert!(
            !steering
                .steers(&case("array(shape=(4,), dtype='void[3]', strides=(8,)).__dlpack__()"))
        );
        assert!(!steering.steers(&case("array(shape=(4,), dtype='void[0]').__dlpack__()")));
    }

    /// A call of copy=True dies, whatever the array.
    #[test]
    fn a_death_covers_what_the_fault_does_not_need() {
        let mut steering = Steering::default();
        let simplest = case("array(shape=(), dtype='float32').__dlpack__(copy=True)");
        let first = case("array(shape=(4,), dtype='int8').__dlpack__(copy=True)");
        let second = case(
            "array(shape=(2, 3), dtype='bool', writable=False).__dlpack__(copy=True, stream=None)",
        );
        let far =
            case("array(shape=(5,), dtype='complex64', strides=(-16,)).__dlpack__(copy=True)");
        steering.learn(&first, &simplest);
        assert!(steering.steers(&first) && steering.steers(&simplest) && steering.steers(&far));
        assert!(!steering.steers(&second), "its access and its stream were not seen to be free");
        steering.learn(&second, &simplest);
        assert_eq!(steering.len(), 1);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("steer.toml");
        assert_eq!(Steering::read(&path).unwrap(), Steering::default());
        steering.write(&path).unwrap();
        let steering = Steering::read(&path).unwrap();
        assert!(steering.steers(&second) && steering.steers(&far));
        for text in [
            "array(shape=(4,), dtype='int8').__dlpack__()",
            "array(shape=(4,), dtype='int8').__dlpack__(copy=False)",
            "array(shape=(2, 3), dtype='bool', writable=False).__dlpack__(stream=None)",
        ] {
            assert!(!steering.steers(&case(text)), "{text}");
        }
    }

    #[test]
    fn a_fault_of_floats_leaves_other_dtypes_alone() {
        let mut steering = Steering::default();
        let array = |dtype: &str| case(&format!("array(shape=(), dtype='{dtype}').__dlpack__()"));
        steering.learn(&array("float64"), &array("float32"));
        steering.learn(&array("float16"), &array("float32"));
        assert!(steering.steers(&array("float64")) && !steering.steers(&array("int8")));
        steering.learn(&array("int8"), &array("float32"));
        assert!(steering.steers(&array("complex64")));
    }

    /// The fault needs a dtype and gaps; that plain arrays of the dtype die was never seen.
    #[test]
    fn what_a_fault_needs_stays_what_was_seen() {
        let mut steering = Steering::default();
        let array =
            |rest: &str| case(&format!("array(shape=(4,), dtype='void[0]'{rest}).__dlpack__()"));
        let simplest = array(", strides=(1,)");
        steering.learn(&array(", strides=(8,)"), &simplest);
        steering.learn(&array(", strides=(-8,), writable=False"), &simplest);
        for rest in [", strides=(8,)", ", strides=(-8,)", ", strides=(-8,), writable=False"] {
            assert!(steering.steers(&array(rest)), "{rest}");
        }
        assert!(!steering.steers(&array("")) && !steering.steers(&array(", strides=(0,)")));
        assert!(
            !steering.steers(&case("array(shape=(4,), dtype='int8', strides=(8,)).__dlpack__()"))
        );
    }

    #[test]
    fn a_death_in_a_life_is_one_of_its_steps() {
        let lived = |steps: &str| {
            case(&format!("array(shape=(6,), dtype='float32').__dlpack__() then {steps}"))
        };
        let mut steering = Steering::default();
        steering.go_round(&lived("take a, churn, drop a, collect"));
        assert!(steering.steers(&lived("churn")));
        assert!(!steering.steers(&case("array(shape=(6,), dtype='float32').__dlpack__()")));
        let mut steering = Steering::default();
        steering.learn(&lived("take a, churn, drop a, collect"), &lived("take a, drop a"));
        assert!(steering.steers(&lived("take a, disarm a, drop a")));
        for spared in ["drop a", "take a, churn", "export b, take b, drop b"] {
            assert!(!steering.steers(&lived(spared)), "{spared}");
        }
    }

    #[test]
    fn two_faults_are_two_rules() {
        let mut steering = Steering::default();
        let locked = "array(shape=(), dtype='float32', writable=False).__dlpack__()";
        let complex = "array(shape=(), dtype='complex64').__dlpack__()";
        steering.learn(
            &case("array(shape=(2,), dtype='int8', writable=False).__dlpack__()"),
            &case(locked),
        );
        steering.learn(&case("array(shape=(3,), dtype='complex64').__dlpack__()"), &case(complex));
        assert_eq!(steering.len(), 2);
        assert!(!steering.steers(&case("array(shape=(2,), dtype='int8').__dlpack__()")));
    }
}
