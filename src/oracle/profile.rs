//! A **profile** says which side of each contested point the verdict follows.
//!
//! Goes in: the name of a profile and `knob=value` texts. Comes out: one [`Setting`] per [`Knob`], which is
//! the grade of the break that the knob governs. A name that does not exist is an error that lists those
//! that do.

mod knob;

pub use knob::{Knob, Setting, UnknownKnob};

use super::Grade;
use knob::{Part, TABLE, V, W};
use std::fmt;
use std::str::FromStr;

/// One setting per knob, under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    name: &'static str,
    settings: [Setting; Knob::COUNT],
}

impl Profile {
    pub const NAMES: [&'static str; 5] = ["spec", "strict", "lenient", "aat", "spec-2023.12-first"];

    /// The default: what the texts bind an exporter to.
    pub fn spec() -> Self {
        Self { name: "spec", settings: std::array::from_fn(|place| TABLE[place].spec) }
    }

    /// The profile of that name.
    pub fn named(name: &str) -> Result<Self, UnknownProfile> {
        let name = (Self::NAMES.into_iter().find(|known| *known == name))
            .ok_or_else(|| UnknownProfile { asked: name.to_owned() })?;
        let mut profile = Self { name, ..Self::spec() };
        match name {
            "strict" => profile.settings = std::array::from_fn(|place| TABLE[place].strict),
            "lenient" => profile.settings = std::array::from_fn(|place| TABLE[place].lenient),
            "aat" => profile.settings[Knob::Aat as usize] = V,
            // The first text of 2023.12 said ValueError in one of two places (array-api PR #887).
            "spec-2023.12-first" => profile.settings[Knob::ValueErrorNoCopy as usize] = W,
            _ => {}
        }
        Ok(profile)
    }

    /// Turns one knob by a text such as `align256=I`.
    pub fn set(&mut self, text: &str) -> Result<(), UnknownKnob> {
        let unknown = |asked: &str, of| UnknownKnob { asked: asked.to_owned(), of };
        let (name, value) = text.split_once('=').ok_or_else(|| unknown(text, Part::Form))?;
        let knob = Knob::named(name.trim())?;
        let value = value.trim();
        self.settings[knob as usize] = value.parse().map_err(|()| unknown(value, Part::Value))?;
        Ok(())
    }

    /// The setting of one knob.
    pub fn setting(&self, knob: Knob) -> Setting {
        self.settings[knob as usize]
    }

    /// The grade that one knob is set to; `None` for off.
    pub fn grade(&self, knob: Knob) -> Option<Grade> {
        self.setting(knob).grade()
    }

    /// The name without the knobs that were turned; [`Display`](fmt::Display) gives these too.
    pub fn name(&self) -> &str {
        self.name
    }

    /// The knobs that are set otherwise than the profile of this name sets them.
    pub fn turned(&self) -> impl Iterator<Item = (Knob, Setting)> {
        let origin = Self::named(self.name).expect("a profile's name is one of NAMES");
        (Knob::ALL.into_iter())
            .filter(move |&knob| self.setting(knob) != origin.setting(knob))
            .map(|knob| (knob, self.setting(knob)))
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self::spec()
    }
}

impl fmt::Display for Profile {
    /// `spec`, or `spec align256=I` with the knobs that were turned; [`FromStr`] reads it back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.turned().try_for_each(|(knob, setting)| write!(f, " {}={setting}", knob.name()))
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let mut profile =
            Self::named(words.next().unwrap_or("spec")).map_err(|error| error.to_string())?;
        words.try_for_each(|word| profile.set(word)).map_err(|error| error.to_string())?;
        Ok(profile)
    }
}

/// No profile has that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProfile {
    pub asked: String,
}

impl fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no profile is named `{}`; there are {}", self.asked, Profile::NAMES.join(", "))
    }
}

impl std::error::Error for UnknownProfile {}

#[cfg(test)]
mod tests {
    use super::knob::OFF;
    use super::*;

    #[test]
    fn knobs_stand_at_their_own_place() {
        for (place, knob) in Knob::ALL.into_iter().enumerate() {
            assert_eq!(knob as usize, place);
            assert_eq!(Knob::named(knob.name()), Ok(knob));
        }
    }

    #[test]
    fn profiles_differ_where_their_table_says_so() {
        let named = |name| Profile::named(name).unwrap();
        assert_eq!(named("spec").setting(Knob::CopyTrueRequired), W);
        assert_eq!(named("strict").setting(Knob::CopyTrueRequired), V);
        assert_eq!(named("lenient").setting(Knob::CopyTrueRequired), OFF);
        assert_eq!(named("strict").setting(Knob::ReadonlyLegacy), V);
        assert_eq!(named("aat").setting(Knob::Aat), V);
        assert_eq!(named("spec").setting(Knob::ValueErrorNoCopy), V);
        assert_eq!(named("spec-2023.12-first").setting(Knob::ValueErrorNoCopy), W);
        assert_eq!(named("spec"), Profile::default());
    }

    #[test]
    fn a_turned_knob_is_written_and_read_back() {
        let mut profile = Profile::named("lenient").unwrap();
        profile.set("align256=I").unwrap();
        profile.set("cpu_stream = ok").unwrap();
        assert_eq!(profile.to_string(), "lenient align256=I");
        assert_eq!(profile.to_string().parse(), Ok(profile));
    }

    #[test]
    fn errors_list_what_exists() {
        let error = Profile::named("pedantic").unwrap_err().to_string();
        assert!(error.contains("`pedantic`") && error.contains("spec-2023.12-first"), "{error}");
        let error = |text| Profile::spec().set(text).unwrap_err().to_string();
        assert!(error("align=I").contains("align256"));
        assert!(error("align256=9").contains("`9`"));
        assert!(error("align256").contains("KNOB=VALUE"));
    }
}
