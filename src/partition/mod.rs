//! Key → hash → child for every document.
//!
//! Input: a [`crate::source::Source`] and a [`crate::route::SplitRouting`]. Output: an [`Assignment`] (which child gets
//! each document) with its [`Census`], and from it a [`DocMap`], the only thing the writers need to know. Reads the
//! cheapest plane that gives exact keys; writes nothing. Memory: 2 bytes per source document, then 8 for the doc map.

mod assignment;
mod bits;
mod docmap;
mod duplicates;
mod keys;
mod pairs;
mod problems;
mod sort;
#[cfg(test)]
mod tests;
mod walk;

pub use assignment::{Assigned, Assignment, Census, NO_CHILD, SegmentCensus, assign};
pub use docmap::{DocMap, Group, MAX_DOCS_PER_SEGMENT, NO_OUTPUT, Output, RowAddr, SegmentMode};
pub use keys::{KeyPlane, KeyReading, KeySpec, usable_key_fields};
pub use problems::{DocAddress, KeyPolicies, KeyProblems, Policy};
