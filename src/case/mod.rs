//! A **case** says what to do: which array to build ([`Tensor`]), how to export it ([`Call`]), which further
//! exports to compare with ([`Probes`]), and what becomes of array and exports ([`Life`]).
//!
//! Goes in: bytes ([`Case::decode`]), text ([`Case::from_str`](std::str::FromStr)), a random source
//! ([`generate`]), another case ([`mutate`], [`shrink`]). Comes out: a case, never an error for bytes
//! (every byte string is a case); text that does not parse is a [`ParseError`] with its place.
//! Knows nothing of Python, libFuzzer or any library.

mod bytes;
mod call;
mod class;
mod dtype;
mod exchange;
mod generate;
pub mod life;
mod mutate;
mod normal;
mod parse;
mod pattern;
mod probe;
mod rng;
mod sample;
mod shrink;
mod surface;
pub mod sweep;
mod tensor;
mod text;
mod vocabulary;

pub use bytes::{FORMAT_VERSION, MAX_ENCODED};
pub use call::{Arg, Call, Extra, Keys, Keyword, Scalar, SeqKind, Value};
pub use dtype::{ByteOrder, Dtype, DtypeClass, DtypeInfo};
pub use exchange::{ExchangeStep, draw_steps};
pub use generate::generate;
pub use life::{CHANGE_MARK, Life, draw_life};
pub use mutate::mutate;
pub use normal::{
    MAX_ALLOCATION, MAX_FLEXIBLE, MAX_HUGE, MAX_ITEMS, MAX_NDIM, MAX_VIRTUAL, MIN_HUGE,
};
pub use parse::ParseError;
pub use probe::{Probe, Probes};
pub use rng::Rng;
pub use shrink::{shrink, weight};
pub use tensor::{
    Access, Contents, Layout, LayoutClass, Object, Shape, Span, Strides, Tensor, VIEW_MARK,
};
pub use vocabulary::{Surface, Vocabulary};

/// One test case.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Case {
    /// The array to build.
    pub tensor: Tensor,
    /// The export that the case is about.
    pub call: Call,
    /// Further exports of the same array, for the rules that compare two calls; and what is asked of the
    /// C exchange API of its type.
    pub probes: Probes,
    /// What becomes of a second such array and of its exports.
    pub life: Life,
}

impl Case {
    /// A case without a life.
    pub fn new(tensor: Tensor, call: Call, probes: Probes) -> Self {
        Self { tensor, call, probes, life: Life::default() }
    }
}
