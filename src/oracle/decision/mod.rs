//! TODO
mod class;
mod factor;
mod token;

pub use class::{
    Classes, CopyArg, DlDevice, MaxVersion, Own, Stream, Unclassed, asked_device, is_near_miss,
};
pub use factor::expected;
pub use token::{Cell, Token, Tokens};

use super::{Observation, Profile};
use crate::case::Case;

#[derive(Clone, Copy, Debug)]
pub struct Ruling;

pub fn rule(_case: &Case, _seen: &Observation, _profile: &Profile) -> Ruling {
    Ruling
}
