//! The **answer** to a call in a few words, without anything that differs from run to run: what libraries are
//! compared by.

use super::{CapsuleName, Managed, Memory, Outcome};
use crate::abi::{DLDeviceType, FLAG_READ_ONLY};
use std::fmt::Write;

impl Outcome {
    /// Such as `BufferError`, `dltensor, the same memory` or `dltensor_versioned, a copy, read-only`.
    pub fn answer(&self) -> String {
        let capsule = match self {
            Self::Raised(raised) => return raised.name.to_string(),
            Self::Returned(kind) => return format!("returns {kind}"),
            Self::Capsule(capsule) => capsule,
        };
        let mut words = match &capsule.name {
            CapsuleName::Legacy => "dltensor".to_owned(),
            CapsuleName::Versioned => "dltensor_versioned".to_owned(),
            CapsuleName::Null => "a capsule without a name".to_owned(),
            CapsuleName::Other(name) => format!("a capsule named {name:?}"),
        };
        if let Some(managed) = &capsule.managed {
            describe(managed, &mut words);
        }
        words
    }
}

fn describe(managed: &Managed, words: &mut String) {
    match managed.tensor.as_ref().map(|tensor| tensor.memory) {
        Some(Memory::Alias) => words.push_str(", the same memory"),
        Some(Memory::Distinct) => words.push_str(", a copy"),
        Some(Memory::Overlap) => words.push_str(", memory that overlaps"),
        Some(Memory::Unknown) | None => {}
    }
    if managed.flags & FLAG_READ_ONLY != 0 {
        words.push_str(", read-only");
    }
    let device = managed.tensor.as_ref().map(|tensor| tensor.device);
    if let Some(device) = device.filter(|device| device.device_type != DLDeviceType::CPU) {
        let _ = write!(words, ", on device ({}, {})", device.device_type.0, device.device_id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::testing::Scene;

    #[test]
    fn answers_tell_what_a_consumer_has_to_know() {
        let mut scene = Scene::plain();
        assert_eq!(scene.seen.export.answer(), "dltensor, the same memory");
        scene.capsule().name = CapsuleName::Versioned;
        scene.managed().flags = FLAG_READ_ONLY;
        scene.tensor().memory = Memory::Distinct;
        assert_eq!(scene.seen.export.answer(), "dltensor_versioned, a copy, read-only");
        assert_eq!(Outcome::Returned("int".into()).answer(), "returns int");
    }
}
