//! Solr's routing: signed 32-bit hashes of ids, and ranges of hashes that shards have.
//!
//! Input: ids, route keys, ranges in Solr's hexadecimal form, and counts per prefix. Output: hashes, pieces of a
//! shard's range, a table from hash to shard. Invariants: ranges of a table have every hash once; pieces have every
//! hash of the shard they come from once. Both are proved when built or read. No I/O.
//!
//! | Solr | here |
//! |---|---|
//! | router `plain`, ids without `!` | [`plain_id_hash`] |
//! | router `compositeId` | [`composite_id_hash`], [`route_key_range`] |
//! | creating a collection | [`HashRanges::even`] with [`Rounding::PrefixGroups`] |
//! | SPLITSHARD `ranges` | [`SubRanges::parse`] |
//! | SPLITSHARD `split.key` | [`SubRanges::by_key`] |
//! | SPLITSHARD `numSubShards`, `splitFuzz` | [`SubRanges::even`] |
//! | SPLITSHARD `splitByPrefix` | [`PrefixHistogram::split`] |
//!
//! A whole split, from ids to shards:
//!
//! ```
//! use shardsplit::route::solr::{HashRanges, PrefixHistogram, Rounding, composite_id_hash};
//!
//! let table = HashRanges::even(2, Rounding::PrefixGroups)?;
//! let mut measured = PrefixHistogram::new();
//! for id in ["a!1", "a!2", "d!1", "f!1", "e!1"] {
//!     assert_eq!(table.shard(composite_id_hash(id)), 1);
//!     measured.add(id, 1);
//! }
//! let split = measured.split("0-7fffffff".parse()?, 2)?;
//! assert_eq!(split.loads, [2, 3]);
//! let table = table.split(1, &split.pieces, &[1, 2])?;
//! assert_eq!(table.shard(composite_id_hash("a!3")), 2);
//! # Ok::<(), shardsplit::route::solr::RangeError>(())
//! ```

mod composite;
mod error;
mod hash;
mod partition;
mod prefix;
mod range;
mod split;
mod table;
#[cfg(test)]
mod tests;

pub use composite::{composite_id_hash, route_key_range};
pub use error::RangeError;
pub use hash::plain_id_hash;
pub use partition::{Rounding, SplitFuzz, partition_range, partition_range_with_fuzz};
pub use prefix::{PrefixHistogram, PrefixSplit, prefix_first_hash, prefix_last_hash};
pub use range::HashRange;
pub use split::SubRanges;
pub use table::{HashRanges, ShardRange};
