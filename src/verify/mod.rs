//! Reading children back and comparing them with the source.
//!
//! Shares no code with [`crate::write`]: everything is read through tantivy's own readers.

mod content;
mod guard;
mod report;
mod threads;

pub use content::Digest;
pub use report::{
    Check, FieldStatistics, Finding, FindingKind, Grade, Sighting, VerifiedChild, VerifyLevel, VerifyReport,
};
