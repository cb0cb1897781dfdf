//! Placing documents without a key: by a field's value or range, by query, in turn, in sequence.
//!
//! Input: a [`Placement`] and a [`crate::source::Source`]. Output: an [`super::Assigned`], as routing gives it, without
//! hashes. [`Placement`] is what manifests record, so that verification can place documents once more: from the
//! children's own columns, or by the same queries. Sets that are made like this have no routing: nothing tells from a
//! document's id where it is.
//!
//! Invariant: every live document gets exactly one child, or the run stops. Memory: 2 bytes per document of the source
//! for the result; while a segment is placed by queries, one bit more per document. Cost: one pass over one column, or the
//! queries; positions cost nothing.

mod columns;
mod kind;
mod positions;
mod queries;
mod rule;
mod run;

pub use rule::Placement;
pub(super) use run::place;
