//! What all fuzz targets share: the harness they run cases in, the feedback they give to libFuzzer and the
//! mutator. This crate is the only place that knows libFuzzer.

mod feedback;
mod harness;
mod settings;

pub use harness::{mutate, run, start};
