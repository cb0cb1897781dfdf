//! Routing by a table: `slot = floorMod(hash + partition_offset, number_of_routing_shards)`, and a table says which
//! shard has the slot.
//!
//! Elasticsearch's scaled modulo is the table in which each shard has equally many neighbouring slots
//! ([`SlotTable::even`]). Other tables say what that formula cannot: one hot shard split alone, parts of unequal size, a
//! tenant's slot in a shard of its own. Documents are hashed as before, and those of other shards stay where they are.
//!
//! Input: shard numbers, and loads measured per slot. Output: a [`SlotTable`]. Invariant: every slot has exactly one
//! shard. An operation gives a new table and touches the slots of one shard only. Cost: a look-up is a modulus and
//! a read from an array of 4 bytes per slot.
//!
//! An index of 2 shards with number_of_routing_shards 8, of which shard 1 is hot:
//!
//! ```
//! use shardsplit::route::SlotTable;
//!
//! let table = SlotTable::even(2, 8)?;
//! assert_eq!(table.owners(), [0, 0, 0, 0, 1, 1, 1, 1]);
//!
//! // Elasticsearch divides the slot by 8 / number_of_shards. To leave shard 0 its four slots it must divide by 4, and
//! // that leaves shard 1 its four as well; and the 3 shards there would be do not divide 8. The table just says so:
//! let hot_split = table.split_even(1, &[1, 2])?;
//! assert_eq!(hot_split.owners(), [0, 0, 0, 0, 1, 1, 2, 2]);
//!
//! // Once shard 0 has grown too, the parts are those of Elasticsearch's 4 shards. The table names the shards in the order
//! // in which they were made, the formula by slot.
//! let all_split = hot_split.split_even(0, &[0, 3])?;
//! assert_eq!(all_split.owners(), [0, 0, 3, 3, 1, 1, 2, 2]);
//! assert_eq!(SlotTable::even(4, 8)?.owners(), [0, 0, 1, 1, 2, 2, 3, 3]);
//!
//! // Or shard 1 goes on alone.
//! let four_alone = hot_split.split_even(1, &[1, 3])?;
//! assert_eq!(four_alone.owners(), [0, 0, 0, 0, 1, 3, 2, 2]);
//! # Ok::<(), shardsplit::route::SlotError>(())
//! ```

mod error;
mod form;
mod loads;
mod table;
#[cfg(test)]
mod tests;

pub use error::SlotError;
pub use loads::{Arrangement, SlotLoads};
pub use table::{MAX_SLOTS, SlotTable};
