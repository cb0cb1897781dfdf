//! Key → hash → child for every document; or, without a key, a [`Placement`] → child.
//!
//! Input: a [`crate::source::Source`] and a [`crate::route::SplitRouting`]. Output: an [`Assignment`] (which child gets
//! each document) with its [`Census`], and from it a [`DocMap`], the only thing the writers need to know. Reads the
//! cheapest plane that gives exact keys; writes nothing. Memory: 2 bytes per source document, 4 for its hash if that is
//! kept, 2 to 8 for the doc map; when children are written, as many more of the doc map take the place of the hash.

mod assignment;
mod bits;
mod docmap;
mod duplicates;
mod hashes;
mod keys;
mod measure;
mod owners;
mod pairs;
mod placement;
mod problems;
mod ranks;
mod sort;
#[cfg(test)]
mod tests;
mod walk;
mod ways;

pub use assignment::{Assigned, Assigning, Census, SegmentCensus, assign};
pub use docmap::{DocMap, Group, MAX_DOCS_PER_SEGMENT, NO_OUTPUT, Output, RowAddr, SegmentMode};
pub use hashes::{RoutingHashes, SegmentHashes, hash_segment};
pub use keys::{KeyPlane, KeyReading, KeySpec, usable_key_fields};
pub use measure::measure;
pub use owners::{Assignment, NO_CHILD};
pub use placement::Placement;
pub use problems::{DocAddress, KeyPolicies, KeyProblems, Policy};
pub use ways::Rows;
