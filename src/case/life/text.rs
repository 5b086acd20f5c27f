//! A life **in words**, and the names that its steps have in bytes.
//!
//! ```text
//! then export b with copy-true, take a, drop a, drop source, churn, delete a on native thread
//! ```

use super::{Change, Life, Mood, Place, Slot, Step};
use crate::case::Probe;
use std::fmt::{self, Display, Formatter};

impl Display for Life {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        for (place, step) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{step}")?;
        }
        Ok(())
    }
}

impl Display for Slot {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        f.write_str(["a", "b", "c", "d"][*self as usize])
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self {
            Self::Export(slot, None) => write!(f, "export {slot}"),
            Self::Export(slot, Some(probe)) => write!(f, "export {slot} with {}", probe.name()),
            Self::Take(slot) => write!(f, "take {slot}"),
            Self::Disarm(slot) => write!(f, "disarm {slot}"),
            Self::Drop(slot, Mood::Calm) => write!(f, "drop {slot}"),
            Self::Drop(slot, Mood::Raising) => write!(f, "drop {slot} raising"),
            Self::Delete(slot, place) => write!(f, "delete {slot}{}", place.words()),
            Self::DropSource => f.write_str("drop source"),
            Self::Churn => f.write_str("churn"),
            Self::Collect => f.write_str("collect"),
            Self::Change(change) => f.write_str(change.name()),
            Self::Attach(slot) => write!(f, "attach {slot}"),
            Self::Race => f.write_str("race"),
            Self::Starve => f.write_str("starve"),
            Self::Exit => f.write_str("exit"),
        }
    }
}

impl Place {
    fn words(self) -> &'static str {
        match self {
            Self::Here => "",
            Self::Raising => " raising",
            Self::Unlocked => " unlocked",
            Self::Thread => " on thread",
            Self::Native => " on native thread",
        }
    }
}

impl Step {
    /// What a step that cannot be read should look like.
    pub const EXPECTED: &'static str = "a step: export b, export b with PROBE, take a, disarm a, drop a, drop a \
         raising, delete a (raising, unlocked, on thread, on native thread), drop source, churn, collect, \
         reshape, resize, freeze, attach a, race, starve or exit";

    /// The step that these words mean.
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let slot = |word: &str| Slot::ALL.into_iter().find(|slot| slot.to_string() == word);
        let change = |word: &str| Change::ALL.into_iter().find(|change| change.name() == word);
        Some(match words[..] {
            ["churn"] => Self::Churn,
            ["collect"] => Self::Collect,
            [name] if let Some(change) = change(name) => Self::Change(change),
            ["race"] => Self::Race,
            ["starve"] => Self::Starve,
            ["exit"] => Self::Exit,
            ["drop", "source"] => Self::DropSource,
            ["export", name] => Self::Export(slot(name)?, None),
            ["export", name, "with", probe] => {
                let probe = Probe::ALL.into_iter().find(|known| known.name() == probe)?;
                Self::Export(slot(name)?, Some(probe))
            }
            ["take", name] => Self::Take(slot(name)?),
            ["disarm", name] => Self::Disarm(slot(name)?),
            ["attach", name] => Self::Attach(slot(name)?),
            ["drop", name] => Self::Drop(slot(name)?, Mood::Calm),
            ["drop", name, "raising"] => Self::Drop(slot(name)?, Mood::Raising),
            ["delete", name, ref place @ ..] => {
                let words = place.iter().map(|word| format!(" {word}")).collect::<String>();
                let place = Place::ALL.into_iter().find(|place| place.words() == words)?;
                Self::Delete(slot(name)?, place)
            }
            _ => return None,
        })
    }

    /// A number for what is done, whichever export it is done with.
    pub fn kind(self) -> u8 {
        match self {
            Self::Export(..) => 1,
            other => other.code()[0],
        }
    }

    /// Two bytes; zeros are the end of a life.
    pub(in crate::case) fn code(self) -> [u8; 2] {
        match self {
            Self::Export(slot, probe) => {
                let probe = probe.map_or(0, |probe| 1 + probe as u8);
                [1 + slot as u8, probe]
            }
            Self::Take(slot) => [5, slot as u8],
            Self::Disarm(slot) => [6, slot as u8],
            Self::Drop(slot, mood) => [7 + mood as u8, slot as u8],
            Self::Delete(slot, place) => [9 + place as u8, slot as u8],
            Self::DropSource => [14, 0],
            Self::Churn => [15, 0],
            Self::Collect => [16, 0],
            Self::Change(change) => [17, change as u8],
            Self::Attach(slot) => [18, slot as u8],
            Self::Race => [19, 0],
            Self::Starve => [20, 0],
            Self::Exit => [21, 0],
        }
    }

    /// The step of two bytes; `None` at the end of a life. Every pair means something.
    pub(in crate::case) fn of_code([code, argument]: [u8; 2]) -> Option<Self> {
        /// Steps when the format was made; codes above are read modulo this.
        const CODES: u8 = 21;
        let slot = Slot::ALL[usize::from(argument % 4)];
        let code = if code > CODES { 1 + code % CODES } else { code };
        Some(match code {
            0 => return None,
            1..=4 => {
                let probe = argument.checked_sub(1).map(|place| place % Probe::ALL.len() as u8);
                let probe = probe.map(|place| Probe::ALL[usize::from(place)]);
                Self::Export(Slot::ALL[usize::from(code - 1)], probe)
            }
            5 => Self::Take(slot),
            6 => Self::Disarm(slot),
            7 => Self::Drop(slot, Mood::Calm),
            8 => Self::Drop(slot, Mood::Raising),
            9..=13 => Self::Delete(slot, Place::ALL[usize::from(code - 9)]),
            14 => Self::DropSource,
            15 => Self::Churn,
            16 => Self::Collect,
            17 => Self::Change(Change::ALL[usize::from(argument % 3)]),
            18 => Self::Attach(slot),
            19 => Self::Race,
            20 => Self::Starve,
            _ => Self::Exit,
        })
    }
}
