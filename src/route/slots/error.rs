//! Why a table of slots does not fit.

use super::table::MAX_SLOTS;
use crate::route::{RouteError, ShardNumber};

/// Why a table of slots does not fit: what was found, what was expected, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SlotError {
    /// The numbers of the index do not fit together.
    #[error(transparent)]
    Route(#[from] RouteError),

    /// No table has so many slots.
    #[error(
        "a table cannot have {slots} slots; between 1 and {MAX_SLOTS} are possible: an index with more routing shards is routed by \
         Elasticsearch's formula only"
    )]
    Slots {
        /// Slots as given.
        slots: u64,
    },

    /// No slot belongs to the shard.
    #[error("shard {shard} has no slot in this table; shards with slots: {first} to {last}, {count} in all")]
    UnknownShard {
        /// The shard number as given.
        shard: ShardNumber,
        /// Smallest number with a slot.
        first: ShardNumber,
        /// Largest.
        last: ShardNumber,
        /// Shards with a slot.
        count: usize,
    },

    /// The shard has fewer slots than it should have parts.
    #[error(
        "shard {shard} has {slots} slots and cannot be split into {parts} parts, which need a slot each; between 1 and {slots} are \
         possible. Documents of one slot stay together: only an index with more routing shards could part them"
    )]
    Parts {
        /// The shard to be split.
        shard: ShardNumber,
        /// Its slots.
        slots: usize,
        /// Parts asked for.
        parts: usize,
    },

    /// A part would have the number of another shard.
    #[error(
        "shard number {number} is taken; a new shard needs a number that no other shard or part has, such as {free}"
    )]
    NumberTaken {
        /// The number as given.
        number: ShardNumber,
        /// A number that no shard or part has.
        free: ShardNumber,
    },

    /// A part has the weight 0.
    #[error(
        "part {number} has the weight 0, and every part gets a slot; leave the part out or give it a weight of 1 or more"
    )]
    Weight {
        /// Shard number of the part.
        number: ShardNumber,
    },

    /// Loads were measured for another number of slots.
    #[error(
        "loads of {found} slots were given for a table of {expected}; measure with the number of routing shards of this table"
    )]
    Loads {
        /// Loads given.
        found: usize,
        /// Slots of the table.
        expected: usize,
    },

    /// No slots to move.
    #[error("no slots were given to move to shard {to}; give at least one")]
    NothingToMove {
        /// The new shard.
        to: ShardNumber,
    },

    /// A slot is not in the table.
    #[error("slot {slot} does not exist in a table of {slots}; they are numbered 0 to {}", slots.saturating_sub(1))]
    UnknownSlot {
        /// The slot as given.
        slot: u32,
        /// Slots of the table.
        slots: u32,
    },

    /// A slot was given twice.
    #[error("slot {slot} was given twice; give each slot once")]
    SlotTwice {
        /// The slot.
        slot: u32,
    },

    /// The slots to move are those of several shards.
    #[error(
        "slot {slot} belongs to shard {shard}, but the slots before it to shard {expected}; a new shard is split off one shard: move \
         the slots of each shard to a shard of their own"
    )]
    SlotElsewhere {
        /// The slot.
        slot: u32,
        /// Its shard.
        shard: ShardNumber,
        /// Shard of the slots before it.
        expected: ShardNumber,
    },

    /// The slots to move are all that the shard has.
    #[error("the {slots} slots to move are all that shard {shard} has, so it would be empty; leave it at least one")]
    AllSlots {
        /// The shard.
        shard: ShardNumber,
        /// Its slots.
        slots: usize,
    },

    /// The table is of another format.
    #[error("a table of slots has format {found}; this version reads format {expected}: use the version that wrote it")]
    Format {
        /// Format as found.
        found: u32,
        /// Format that is read.
        expected: u32,
    },

    /// The runs of a table do not follow on each other.
    #[error(
        "a run of slots {first} to {last} stands where slot {expected} must come next; runs give each slot once, ascending"
    )]
    Run {
        /// First slot of the run.
        first: u32,
        /// Last slot of the run.
        last: u32,
        /// First slot without a shard.
        expected: u32,
    },

    /// The runs of a table end before or after its last slot.
    #[error("the runs of a table give shards to {found} slots, but it has {expected}; every slot needs a shard")]
    Length {
        /// Slots that have a shard.
        found: u32,
        /// Slots of the table.
        expected: u32,
    },
}
