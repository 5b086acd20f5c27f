//! The ruling on planted faults and their lawful twins.

mod calibration;
mod capsule;
mod refusal;

use super::super::testing::{Said, Scene, call, raised};
use super::*;
use crate::case::{
    Access, Arg, Call, Dtype, Keyword::*, Probe, Probes, Scalar, SeqKind, Shape, Tensor, Value,
};
use crate::oracle::observation::Raised;
use crate::oracle::{Exportable, Kind};

const CUDA: DLDevice = DLDevice::new(2, 0);

fn blame(scene: &Scene) -> Word {
    rule(&scene.case, &scene.seen, &scene.profile).word
}

#[track_caller]
fn assert_blamed(scene: &Scene, blamed: Blame, grade: Grade) {
    assert_eq!(blame(scene), Word::Blamed(blamed, grade));
    if super::super::rules().iter().any(|rule| rule.id == blamed.id()) {
        assert_eq!(scene.said(blamed.id()), Said::Breaks(grade));
    }
}

fn legacy() -> [(Keyword, Value); 1] {
    [(MaxVersion, Value::NONE)]
}

fn versioned() -> (Keyword, Value) {
    (MaxVersion, Value::pair(1, 0))
}
