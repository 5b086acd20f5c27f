//! How a script **lives** a case's life: a line or two for each step.

use crate::case::life::{Change, Mood, Place, Slot, Step};
use crate::case::{Case, Probe};

/// What the steps need from outside: a call as an expression, and a change of the array as a statement.
pub struct Words<'a> {
    pub call: &'a mut dyn FnMut(Option<Probe>) -> String,
    pub change: &'a dyn Fn(Change) -> Option<String>,
}

/// Which steps a script has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All of them.
    Once,
    /// Those that can be repeated on one array.
    Repeated,
}

/// Lines that live the case's life up to its end.
pub fn lines(case: &Case, extent: Extent, words: &mut Words) -> Vec<String> {
    let mut lines = vec![format!("a = Held({})", (words.call)(None))];
    let mut exports = vec![Slot::A];
    for step in case.life.with_end() {
        if let Step::Export(slot, _) = step {
            exports.push(slot);
        }
        if extent == Extent::Repeated && matches!(step, Step::DropSource | Step::Change(_)) {
            continue;
        }
        let Some(line) = line(step, words) else { continue };
        lines.push(line);
        if extent == Extent::Once {
            let names: Vec<_> = exports.iter().map(|slot| format!("{slot}={slot}")).collect();
            lines.push(format!("watch({})", names.join(", ")));
        }
    }
    lines
}

fn line(step: Step, words: &mut Words) -> Option<String> {
    Some(match step {
        Step::Export(slot, probe) => format!("{slot} = Held({})", (words.call)(probe)),
        Step::Take(slot) => format!("{slot}.take()"),
        Step::Disarm(slot) => format!("{slot}.disarm()"),
        Step::Drop(slot, Mood::Calm) => format!("{slot}.drop()"),
        Step::Drop(slot, Mood::Raising) => format!("{slot}.drop_raising()"),
        // ctypes can make no call with an exception in flight.
        Step::Delete(slot, Place::Here | Place::Raising) => format!("{slot}.delete()"),
        Step::Delete(slot, Place::Unlocked) => format!("{slot}.delete_unlocked()"),
        Step::Delete(slot, Place::Thread) => format!("{slot}.delete_on_thread()"),
        Step::Delete(slot, Place::Native) => format!("{slot}.delete_on_native_thread()"),
        Step::DropSource => {
            "x = source = block = array = base = description = None\ngc.collect()".into()
        }
        Step::Churn => "churn()".into(),
        Step::Collect => "gc.collect()".into(),
        Step::Change(change) => {
            let statement = (words.change)(change)?;
            format!(
                "try:\n    {statement}\nexcept Exception as error:\n    print(\"refused:\", error)"
            )
        }
        Step::Attach(slot) => format!("x.capsule = {slot}.pop()"),
        Step::Race => "# Two threads export the array here.".into(),
        Step::Starve => "# Allocations fail here, which takes more than ctypes.".into(),
        Step::Exit => "python_ends()".into(),
    })
}
