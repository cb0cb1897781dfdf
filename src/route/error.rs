//! Why numbers of shards do not fit together.

use super::ShardNumber;
use super::slots::SlotError;
use super::solr::RangeError;
use super::split::MAX_CHILDREN;

/// Why numbers of shards do not fit together: what was asked, why it cannot be, and what could be asked instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// The number of children is 0 or too large.
    #[error("a shard cannot be split into {into}; between 1 (a clone) and {MAX_CHILDREN} children are possible")]
    Children {
        /// Children asked for.
        into: u32,
    },

    /// No index has so many shards.
    #[error(
        "an index cannot have {number_of_shards} shards; between 1 and 2147483647 (Java's largest int) are possible"
    )]
    NumberOfShards {
        /// Shards of the source's index, or of the index that the split would make.
        number_of_shards: u64,
    },

    /// The source's shard number is not one of its index.
    #[error(
        "shard {source_shard} does not exist in an index of {source_shards} shards; they are numbered 0 to {}",
        source_shards.saturating_sub(1)
    )]
    SourceShard {
        /// The shard number as given.
        source_shard: u32,
        /// Shards of the index.
        source_shards: u32,
    },

    /// So many shards cannot become one.
    #[error(
        "{from} of {source_shards} shards cannot become {into}: a merge makes one shard of a number of shards that divides \
         {source_shards}"
    )]
    Sources {
        /// Source shards that were to go together.
        from: u32,
        /// Children they were to become.
        into: u32,
        /// Shards of the source's index.
        source_shards: u32,
    },

    /// The first of several source shards is not one that a merge begins with.
    #[error(
        "a merge of {from} shards each does not begin with shard {source_shard}; it belongs to the one that begins with {first}"
    )]
    FirstSource {
        /// The first source shard as given.
        source_shard: u32,
        /// The first of the shards that it goes together with.
        first: u32,
        /// Source shards that go together.
        from: u32,
    },

    /// The shards of an index cannot be merged into so many.
    #[error(
        "{number_of_shards} {} cannot be merged into {into}: {}",
        if *number_of_shards == 1 { "shard" } else { "shards" },
        if legal.is_empty() { "an index of one shard has nothing to merge".to_owned() } else {
            format!("every new shard is made of the same number of whole shards; possible: {}", list(legal))
        }
    )]
    Merge {
        /// Shards of the index.
        number_of_shards: u32,
        /// Shards asked for.
        into: u32,
        /// Numbers of shards that are possible, ascending.
        legal: Vec<u32>,
    },

    /// number_of_routing_shards of an index of several shards is fixed.
    #[error(
        "number_of_routing_shards of an index of {number_of_shards} shards cannot become {asked}, it stays {}: where documents are \
         depends on it; only an index of one shard can choose it anew",
        current.map_or("unused".to_owned(), |shards| shards.to_string())
    )]
    FixedRoutingShards {
        /// Shards of the index.
        number_of_shards: u32,
        /// number_of_routing_shards as asked for.
        asked: u32,
        /// That of the index; `None` for plain modulo.
        current: Option<u32>,
    },

    /// More shards than directories of shards are handled.
    #[error("an index directory of {number_of_shards} shards cannot be handled; at most {MAX_CHILDREN} are possible")]
    WholeIndex {
        /// Shards of the index, or of the one to be made.
        number_of_shards: u64,
    },

    /// No split, merge or clone leads from one index to another.
    #[error("an index of {before} shards does not become one of {after}: {problem}")]
    Unrelated {
        /// Shards of the one.
        before: u32,
        /// Shards of the other.
        after: u32,
        /// What does not fit.
        problem: &'static str,
    },

    /// number_of_routing_shards is no multiple of the number of shards.
    #[error(
        "number_of_routing_shards {number_of_routing_shards} is not a multiple of {number_of_shards} shards between 1 and 2147483647; \
         it is in the settings of the index"
    )]
    RoutingShards {
        /// number_of_routing_shards as given.
        number_of_routing_shards: u32,
        /// Shards of the index.
        number_of_shards: u32,
    },

    /// The index that the split would make does not divide number_of_routing_shards.
    #[error(
        "{source_shards} {} cannot be split into {into} each: {target} shards do not divide number_of_routing_shards, which is \
         {number_of_routing_shards}{}, so a document's hash would not say in which child it is; possible: {}",
        if *source_shards == 1 { "shard" } else { "shards" },
        if *is_default { " (Elasticsearch's default; the settings of the index may name another)" } else { "" },
        list(legal)
    )]
    Into {
        /// Children per shard asked for.
        into: u32,
        /// Shards of the source's index.
        source_shards: u32,
        /// Shards that the split would make.
        target: u64,
        /// number_of_routing_shards, given or default.
        number_of_routing_shards: u32,
        /// Whether it is the default.
        is_default: bool,
        /// Children per shard that are possible, ascending.
        legal: Vec<u32>,
    },

    /// Ranges of hashes do not fit.
    #[error(transparent)]
    Ranges(#[from] RangeError),

    /// Slots do not fit.
    #[error(transparent)]
    Slots(Box<SlotError>),

    /// The routing function works by a table, and numbers alone were given.
    #[error("{function} routing needs a table: numbers of shards do not say which shard has which hashes")]
    TableNeeded {
        /// Name of the function.
        function: &'static str,
    },

    /// Two tables cannot be laid over each other.
    #[error("a table of {before} does not become one of {after}: both must be of one kind, and of as many slots")]
    OtherTable {
        /// Kind of the one.
        before: String,
        /// Kind of the other.
        after: String,
    },

    /// The table does not have the source shard.
    #[error("the routing table has no shard {shard}; it has {}", list(known))]
    TableSource {
        /// The shard number as given.
        shard: ShardNumber,
        /// Shards of the table.
        known: Vec<ShardNumber>,
    },

    /// Shards that go together do not go to one.
    #[error(
        "shards {} go to {} under the new table; of several shards all documents must go to one",
        list(sources),
        list(children)
    )]
    TableMerge {
        /// The shards.
        sources: Vec<ShardNumber>,
        /// Where their documents go.
        children: Vec<ShardNumber>,
    },

    /// Only slots know partitions.
    #[error("{function} routing has no routing_partition_size, and {routing_partition_size} was given; leave it away")]
    TablePartition {
        /// Name of the function.
        function: &'static str,
        /// As given.
        routing_partition_size: u32,
    },

    /// A cut is for tables of another kind.
    #[error("{cut} is not for {function} routing; it is for {wanted}")]
    OtherCut {
        /// The cut in words.
        cut: &'static str,
        /// Name of the function of the table.
        function: &'static str,
        /// What the cut is for.
        wanted: &'static str,
    },

    /// A cut along measured loads was asked for, and nothing was measured.
    #[error("{cut} needs loads measured over the shard's documents, and none were given")]
    NotMeasured {
        /// The cut in words.
        cut: &'static str,
    },

    /// All shards of an index at once cannot be changed under the function.
    #[error(
        "an index under {function} routing cannot be split or merged as a whole: its shards are as many as the ring has nodes; change the \
         ring (`ring add`, `ring remove`, `ring reweigh`), and `ring move` takes the index there"
    )]
    WholeTable {
        /// Name of the function.
        function: &'static str,
    },

    /// routing_partition_size is out of bounds.
    #[error(
        "routing_partition_size {routing_partition_size} is not 1, and not between 1 and {limit}; it is in the settings of the index"
    )]
    PartitionSize {
        /// routing_partition_size as given.
        routing_partition_size: u32,
        /// Largest that is possible.
        limit: u32,
    },
}

impl From<SlotError> for RouteError {
    fn from(error: SlotError) -> RouteError {
        match error {
            SlotError::Route(error) => error,
            error => RouteError::Slots(Box::new(error)),
        }
    }
}

/// Numbers as a list that fits a line.
fn list(numbers: &[u32]) -> String {
    const SHOWN: usize = 24;
    let mut text = numbers.iter().take(SHOWN).map(u32::to_string).collect::<Vec<_>>().join(", ");
    if numbers.len() > SHOWN {
        text.push_str(&format!(" and {} more", numbers.len() - SHOWN));
    }
    text
}
