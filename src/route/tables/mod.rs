//! Routing by tables: Solr's ranges, slots, rings, as one thing that a job can be asked for, write down and read again.
//!
//! ```text
//! TableSpec ──▶ (Measured) ──▶ TableSplit ──▶ SplitRouting
//! table, shard,   loads, only    table before    hash → child
//! where to cut    if asked       and after
//! ```
//!
//! Input: the table of an index ([`RoutingTable`]), one shard of it, and a [`Cut`]. Output: a [`TableSplit`], which has the
//! table of the whole index before and after. Other shards keep what they have, so one hot shard can be split alone.
//!
//! Invariant: both tables are of one kind and read the same hash. Cost: a look-up is one search in each table; many hashes
//! at once are one search in the overlay of both ([`overlay`]).

mod cut;
mod overlay;
mod relate;
mod split;
mod table;
#[cfg(test)]
mod tests;

pub use cut::{Cut, Load, Measure, Measured, TableSpec};
pub(super) use overlay::{Overlay, overlay};
pub(super) use relate::{clone_all, merge_all, related, split_all};
pub use split::TableSplit;
pub use table::RoutingTable;
