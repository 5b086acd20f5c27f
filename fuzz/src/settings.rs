//! What a target is told by its environment: the same variables as the options of `dlpack-fuzz`.

use dlpack_fuzz::host::Options;
use dlpack_fuzz::oracle::Profile;
use std::path::{Path, PathBuf};

pub struct Settings {
    /// `DLPACK_FUZZ_BACKEND`, default `numpy`.
    pub backend: String,
    /// `DLPACK_FUZZ_PROFILE`, default `spec`.
    profile: String,
    /// `DLPACK_FUZZ_KNOBS`: NAME=VALUE, separated by commas.
    knobs: Vec<String>,
    /// `DLPACK_FUZZ_KNOWN`: the folder of known findings, default `corpus/known`.
    pub known: PathBuf,
    /// `DLPACK_FUZZ_IGNORE_KNOWN`: anything but empty, 0, false.
    pub ignore_known: bool,
}

impl Settings {
    pub fn from_env() -> Self {
        let value = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            backend: value("DLPACK_FUZZ_BACKEND").unwrap_or_else(|| "numpy".into()),
            profile: value("DLPACK_FUZZ_PROFILE").unwrap_or_else(|| "spec".into()),
            knobs: (value("DLPACK_FUZZ_KNOBS").iter())
                .flat_map(|knobs| knobs.split(','))
                .filter(|knob| !knob.is_empty())
                .map(str::to_string)
                .collect(),
            known: value("DLPACK_FUZZ_KNOWN").map_or_else(
                || Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/known"),
                PathBuf::from,
            ),
            ignore_known: value("DLPACK_FUZZ_IGNORE_KNOWN")
                .is_some_and(|value| !matches!(value.as_str(), "0" | "false" | "no" | "off")),
        }
    }

    /// The backend is a shared object.
    pub fn is_c(&self) -> bool {
        self.backend.starts_with(dlpack_fuzz::backend::c::PREFIX)
    }

    pub fn options(&self) -> Options {
        Options { env: None, backend: self.backend.clone() }
    }

    pub fn profile(&self) -> Result<Profile, Box<dyn std::error::Error>> {
        let mut profile = Profile::named(&self.profile)?;
        for knob in &self.knobs {
            profile.set(knob)?;
        }
        Ok(profile)
    }

    /// The profile and its knobs in words, for reports.
    pub fn profile_text(&self) -> String {
        [&self.profile].into_iter().chain(&self.knobs).cloned().collect::<Vec<_>>().join(", ")
    }
}
