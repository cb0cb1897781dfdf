//! Why ranges of hashes do not fit.

use super::HashRange;
use crate::route::ShardNumber;
use crate::route::split::MAX_CHILDREN;

/// Why ranges of hashes do not fit: what was found, what was expected, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RangeError {
    /// The text is no range.
    #[error(
        "{text:?} is not a range of hashes; expected two hexadecimal numbers of 1 to 8 digits with a dash between, both ends \
         included, as Solr writes them: 80000000-ffffffff"
    )]
    Parse {
        /// The text as given.
        text: String,
    },

    /// The range ends before it begins.
    #[error(
        "range {min:x}-{max:x} ends before it begins; hashes are signed, so 80000000 is the smallest and 7fffffff the largest: \
         exchange the ends, or give one range on each side of 0"
    )]
    Inverted {
        /// First hash as given.
        min: i32,
        /// Last hash as given.
        max: i32,
    },

    /// Too few or too many pieces.
    #[error("a range cannot be split into {pieces}; between 2 and {MAX_CHILDREN} pieces are possible")]
    Pieces {
        /// Pieces asked for.
        pieces: u64,
    },

    /// The range has too few hashes for Solr's arithmetic to give so many pieces.
    #[error("range {range} is too narrow for {pieces} pieces; it has {} hashes: ask for fewer pieces, or give explicit ranges", range.hashes())]
    TooNarrow {
        /// The range to be split.
        range: HashRange,
        /// Pieces asked for.
        pieces: u32,
    },

    /// A piece leaves the range that is split.
    #[error("range {range} is not within {parent}, the range of the shard; its ends must be {parent} or between")]
    NotWithin {
        /// The piece.
        range: HashRange,
        /// The range that is split.
        parent: HashRange,
    },

    /// Some hashes have no range.
    #[error(
        "no range has the hashes {missing} of {parent}; ranges must cover it without gaps: widen a neighbour or add {missing}"
    )]
    Gap {
        /// Hashes without a range.
        missing: HashRange,
        /// What must be covered.
        parent: HashRange,
    },

    /// Two ranges share hashes.
    #[error("ranges {first} and {second} overlap; every hash must have one range: let the second begin after {first}")]
    Overlap {
        /// The range that begins first.
        first: HashRange,
        /// The other.
        second: HashRange,
    },

    /// A shard number stands at two ranges.
    #[error(
        "shard {shard} has two ranges, {first} and {second}; a shard has one range in Solr: give one of them another number"
    )]
    SameShard {
        /// The shard number.
        shard: ShardNumber,
        /// One range.
        first: HashRange,
        /// The other.
        second: HashRange,
    },

    /// No range belongs to the shard.
    #[error("shard {shard} has no range; shards with one: {first} to {last}, {count} in all")]
    UnknownShard {
        /// The shard number as given.
        shard: ShardNumber,
        /// Smallest number with a range.
        first: ShardNumber,
        /// Largest.
        last: ShardNumber,
        /// Shards with a range.
        count: usize,
    },

    /// Numbers and pieces do not pair up.
    #[error("{numbers} shard numbers were given for {pieces} pieces; give one for each, in the order of the pieces")]
    Numbers {
        /// Shard numbers given.
        numbers: usize,
        /// Pieces of the range.
        pieces: usize,
    },

    /// The pieces are those of another range.
    #[error("the pieces are of the range {pieces}, but shard {shard} has {range}; split the range that the shard has")]
    OtherParent {
        /// The shard to be split.
        shard: ShardNumber,
        /// Its range.
        range: HashRange,
        /// Range that was split.
        pieces: HashRange,
    },

    /// splitFuzz is out of bounds.
    #[error("a fuzz of {fuzz} is not possible; expected a share between 0 (even pieces) and 0.5")]
    Fuzz {
        /// The fuzz as given.
        fuzz: String,
    },

    /// The number of bits in a route key overflows so oddly that its documents are in no range.
    #[error("documents of the route key {key:?} are in no range of hashes; give 0 to 32 bits after its '/'")]
    RouteKey {
        /// The key as given.
        key: String,
    },

    /// The documents of a route key are in other shards.
    #[error(
        "the route key {key:?} has the hashes {key_range}, and none of them is in {parent}; split the shard that has them"
    )]
    KeyElsewhere {
        /// The key as given.
        key: String,
        /// Hashes of the key.
        key_range: HashRange,
        /// Range of the shard.
        parent: HashRange,
    },

    /// The documents of a route key are in several shards.
    #[error(
        "the route key {key:?} has the hashes {range}, which {shards} shards have, from shard {first} to shard {last}; name the one \
         to split"
    )]
    KeySpansShards {
        /// The key as given.
        key: String,
        /// Hashes of the key.
        range: HashRange,
        /// Shards that have some of them.
        shards: usize,
        /// The one with the smallest hashes.
        first: ShardNumber,
        /// The one with the largest.
        last: ShardNumber,
    },

    /// A route key has the whole shard already.
    #[error(
        "the route key {key:?} has the hashes {key_range}, which are all of {parent}, so nothing can be set apart; \
         to cut the key itself, ask for a number of pieces"
    )]
    KeyIsShard {
        /// The key as given.
        key: String,
        /// Hashes of the key.
        key_range: HashRange,
        /// Range of the shard.
        parent: HashRange,
    },

    /// Setting a route key apart makes a piece of one hash.
    #[error(
        "setting the route key {key:?} apart makes a piece of one hash, {piece}, which Solr refuses; expected a key that ends with \
         '!' and whose hashes do not end next to an end of the shard"
    )]
    OneHash {
        /// The key as given.
        key: String,
        /// The piece.
        piece: HashRange,
    },

    /// Nothing was measured in the range.
    #[error(
        "no document with a hash in {parent} was counted, so cuts cannot follow the documents; ask for a number of even pieces"
    )]
    NothingCounted {
        /// The range to be split.
        parent: HashRange,
    },

    /// The table is of another format.
    #[error(
        "a table of ranges has format {found}; this version reads format {expected}: use the version that wrote it"
    )]
    Format {
        /// Format as found.
        found: u32,
        /// Format that is read.
        expected: u32,
    },
}
