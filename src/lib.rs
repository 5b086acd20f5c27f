//! Fuzzing of DLPack exporters: `bytes → Case → array → Observation → Violation → Finding → report`.
//!
//! A [`case`] says which array to build and how to export it; a [`backend`] builds it in one library; the
//! [`host`] runs it and writes down what was seen as plain data; the [`oracle`] judges that data by the
//! clauses of the specification; a [`finding`] keeps what was judged, and a [`report`] shows it.
//!
//! Who may use whom (checked by `tests/architecture.rs`): `abi` uses nothing; `case` uses `abi`; `oracle`
//! uses `abi` and `case`; `backend` and `host` use all of these and hold every `unsafe` block, PyO3 and
//! processes; `finding` and `report` use what the oracle returns, and `report` runs nothing;
//! [`subject`] says what all of them are about: the options of a session.

pub mod abi;
pub mod backend;
pub mod case;
pub mod finding;
pub mod host;
pub mod oracle;
pub mod report;
pub mod subject;
