//! Reading children back and comparing them with the source.
//!
//! Shares no code with [`crate::write`]: everything is read through tantivy's own readers.

mod report;

pub use report::{Finding, FindingKind, Grade, VerifyLevel, VerifyReport};
