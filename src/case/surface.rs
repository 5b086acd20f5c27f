//! The C **surface** of a case: the nearest call that is made of numbers only, and the nearest life without capsules and
//! interpreter. Goes in: any call, any life. Comes out: one that a struct of numbers can carry, and one of structs; what
//! has no such form is left out. It is drawn from, so that no run is spent on what only Python can do.

use super::life::{Mood, Place, Step};
use super::{Arg, Call, Extra, Keys, Keyword, Life, Probe, Scalar, SeqKind, Value};
use smallvec::smallvec;

impl Probe {
    /// The others differ from another one in Python's spelling only.
    pub fn is_of_c(self) -> bool {
        !matches!(
            self,
            Self::OwnTuple | Self::OwnEnum | Self::NoneForAbsent | Self::Reordered | Self::AllNone
        )
    }
}

impl Life {
    /// Every step makes sense of structs that no capsule holds.
    pub fn is_of_c(&self) -> bool {
        self.steps().iter().all(|&step| in_structs(step) == Some(step))
    }

    /// Leaves out what only Python has.
    pub fn spell_in_c(&mut self) {
        if !self.is_of_c() {
            *self = Self::normalized(self.steps().iter().copied().filter_map(in_structs));
        }
    }
}

/// The step without capsules, exceptions and locks.
fn in_structs(step: Step) -> Option<Step> {
    match step {
        Step::Export(slot, probe) => Some(Step::Export(slot, probe.filter(|it| it.is_of_c()))),
        Step::Drop(slot, _) => Some(Step::Drop(slot, Mood::Calm)),
        Step::Delete(slot, Place::Here | Place::Raising | Place::Unlocked) => {
            Some(Step::Delete(slot, Place::Here))
        }
        Step::Delete(slot, Place::Thread | Place::Native) => {
            Some(Step::Delete(slot, Place::Native))
        }
        Step::Take(_) | Step::DropSource | Step::Churn => Some(step),
        Step::Disarm(_)
        | Step::Collect
        | Step::Change(_)
        | Step::Attach(_)
        | Step::Race
        | Step::Starve
        | Step::Exit => None,
    }
}

impl Call {
    /// Spells every argument as C does.
    pub(super) fn spell_in_c(&mut self) {
        (self.extra, self.keys, self.order) = (Extra::Nothing, Keys::Interned, 0);
        for keyword in Keyword::ALL {
            let arg = self.arg_mut(keyword);
            if let Arg::Given(value) = arg
                && *value != Value::NONE
            {
                *arg = in_c(keyword, value).map_or(Arg::Absent, Arg::Given);
            }
        }
    }
}

fn in_c(keyword: Keyword, value: &Value) -> Option<Value> {
    match (keyword, value) {
        (Keyword::Stream, Value::Scalar(scalar)) => scalar.as_index().map(Value::int),
        (Keyword::Copy, Value::Scalar(scalar)) => scalar.as_index().map(|it| Value::bool(it != 0)),
        (Keyword::DlDevice, Value::Own) => Some(Value::Own),
        (Keyword::DlDevice | Keyword::MaxVersion, Value::Seq(_, items)) => {
            let [first, second] = items.as_slice() else { return None };
            let (first, second) = (first.as_index()?, second.as_index()?);
            // A device has 32 bits.
            let fits = keyword == Keyword::MaxVersion
                || [first, second].iter().all(|&number| i32::try_from(number).is_ok());
            let numbers = smallvec![Scalar::Int(first), Scalar::Int(second)];
            fits.then_some(Value::Seq(SeqKind::Tuple, numbers))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::case::Case;

    #[test]
    fn lives_become_those_of_structs() {
        for (before, after) in [
            ("take a, drop source, churn, delete a on native thread", None),
            ("take a, delete a on thread", Some("take a, delete a on native thread")),
            ("export b with reordered, drop b raising", Some("export b, drop b")),
            ("take a, disarm a, collect, freeze, attach a, race, starve, exit", Some("take a")),
        ] {
            let case = |life: &str| -> Case {
                let text = format!("array(shape=(6,), dtype='int8').__dlpack__() then {life}");
                text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
            };
            let mut life = case(before).life;
            assert_eq!(life.is_of_c(), after.is_none(), "{before}");
            life.spell_in_c();
            assert_eq!(life, case(after.unwrap_or(before)).life);
            assert!(life.is_of_c());
        }
    }

    #[test]
    fn arguments_become_numbers_or_nothing() {
        for (before, after) in [
            ("stream=True, copy=1", "stream=1, copy=True"),
            ("max_version=[1, Int(0)]", "max_version=(1, 0)"),
            ("dl_device=(IntEnum(1), 4294967296)", ""),
            ("dl_device=own, stream='cpu', copy=None", "dl_device=own, copy=None"),
            ("max_version=(1,), foo=1", ""),
        ] {
            let case = |arguments: &str| -> Case {
                let text = format!("array(shape=(6,), dtype='int8').__dlpack__({arguments})");
                text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
            };
            let mut call = case(before).call;
            call.spell_in_c();
            assert_eq!(call, case(after).call, "{before}");
            let once = call.clone();
            call.spell_in_c();
            assert_eq!(call, once);
        }
    }
}
