//! Reading children back and comparing them with the source.
//!
//! Shares no code with [`crate::write`]: everything is read through tantivy's own readers. Input: a source and the
//! directories of its children, with routing or without. Output: a [`VerifyReport`] with every difference as a typed,
//! graded finding. Children may be damaged in any way: what cannot be read is a finding, and the others are still
//! checked.
//!
//! | level | files | census | ownership | content |
//! |---|---|---|---|---|
//! | [`VerifyLevel::Full`] | present, footers, checksums | yes | yes | yes |
//! | [`VerifyLevel::Counts`] | present, footers | yes | no | no |
//!
//! With routing, the census is taken per child: the source's keys are routed once more. Hash sidecars are never believed
//! here: keys are hashed, and at full level the sidecars of children are compared with that.
//!
//! Cost at full level: source and children are read and decoded once. Memory: 24 bytes per source document; where
//! something differs, finding the documents takes a second reading and up to 128 bytes per document.

mod census;
mod content;
mod diagnose;
mod files;
mod finding;
mod job;
mod metadata;
mod ownership;
mod positions;
mod report;
mod sidecars;

pub use content::Digest;
#[cfg(feature = "fuzzing")]
pub(crate) use content::fuzz;
pub use finding::{Finding, FindingKind, Grade, Sighting};
pub use job::{Ownership, SAMPLE, VerifyJob, verify};
pub use report::{Check, FieldStatistics, VerifiedChild, VerifyLevel, VerifyReport};
