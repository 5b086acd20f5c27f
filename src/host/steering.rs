//! **Steering**: the cases that a session goes round after one like them killed its child.
//!
//! Goes in: the case that killed. Comes out: a rule that covers it and its likes, by dtype, layout and
//! object; a TOML file carries the rules to a child that is started anew. This is not a known finding: the
//! rules are wider than the fault, nothing is said of the cases they cover, and they end with the session.

use crate::case::{ByteOrder, Case};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// Rules of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steering {
    #[serde(default, rename = "around")]
    rules: Vec<Around>,
}

/// Cases with all of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Around {
    dtype: String,
    swapped: bool,
    /// The items have no bytes, which only a flexible dtype can have.
    empty_items: bool,
    layout: String,
    object: String,
}

impl Steering {
    pub fn steers(&self, case: &Case) -> bool {
        // Nearly every session has no rule, and then this costs nothing per case.
        !self.rules.is_empty() && self.rules.contains(&Around::of(case))
    }

    /// Adds the rule that covers the case, unless there is one.
    pub fn go_round(&mut self, case: &Case) {
        if !self.steers(case) {
            self.rules.push(Around::of(case));
        }
    }

    pub fn len(&self) -> usize {
        self.rules.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
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

impl Around {
    fn of(case: &Case) -> Self {
        let tensor = &case.tensor;
        Self {
            dtype: tensor.dtype.name().to_owned(),
            swapped: tensor.dtype.order == ByteOrder::Swapped,
            empty_items: tensor.dtype.item_size() == 0,
            layout: format!("{:?}", tensor.layout_class()),
            object: tensor.object.name().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likes_of_a_killer_are_gone_round_and_others_are_not() {
        let case = |text: &str| text.parse::<Case>().unwrap();
        let mut steering = Steering::default();
        let killer = case("array(shape=(4,), dtype='void[0]', strides=(8,)).__dlpack__()");
        assert!(!steering.steers(&killer));
        steering.go_round(&killer);
        steering.go_round(&killer);
        assert_eq!(steering.len(), 1);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("steer.toml");
        assert_eq!(Steering::read(&path).unwrap(), Steering::default());
        steering.write(&path).unwrap();
        let steering = Steering::read(&path).unwrap();
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
}
