//! TODO
use super::{Observation, Profile};
use crate::case::Case;

/// TODO
#[derive(Clone, Copy, Debug)]
pub struct Ruling;

pub fn rule(_case: &Case, _seen: &Observation, _profile: &Profile) -> Ruling {
    Ruling
}
