//! What a job would write, before it writes: documents and predicted bytes per child, peak disk, warnings.
//!
//! Input: the source, the doc map, the census. Output: a [`Plan`]: `--dry-run` shows the very value that execution
//! spends. Cost: a few thousand term look-ups per field and group of segments; small
//! sources are written to nowhere by [`crate::job`] instead, which gives their children's sizes exactly.

pub mod explain;
mod predict;

use std::path::PathBuf;

use serde::Serialize;

use crate::partition::{Census, KeyReading, Placement, SegmentMode};
use crate::route::{IndexRouting, Operation, ShardNumber, SplitSpec, TableSplit};

pub(crate) use predict::{predict_by_census, predict_linked, predict_rewritten};

/// How children are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// One pass over the source writes children of final size.
    #[default]
    Rewrite,
    /// Children share the source's segment files by hard link, with one alive bitset each.
    Link,
}

impl Method {
    /// Lower-case name, as in options and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Method::Rewrite => "rewrite",
            Method::Link => "link",
        }
    }
}

/// One child of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedChild {
    /// Shard number: the name of its directory.
    pub shard: ShardNumber,
    /// Live documents it gets.
    pub docs: u64,
    /// Segments it gets.
    pub segments: usize,
    /// Predicted size of its files in bytes. For linked children: bytes not shared with the source.
    pub predicted_bytes: u64,
}

/// What would be done.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// Source directory.
    pub source: PathBuf,
    /// Target directory.
    pub out: PathBuf,
    /// How.
    pub method: Method,
    /// Segment layout; linked children keep the source's segments.
    pub segments: SegmentMode,
    /// Routing.
    pub routing: SplitSpec,
    /// The tables of the index before and after, if it is routed by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tables: Option<TableSplit>,
    /// number_of_routing_shards that is used (given or default); `None` for functions that have none.
    pub number_of_routing_shards: Option<u32>,
    /// What decides where documents go, if it is not the hash of a key. Then of `routing` only the number of children holds.
    #[serde(skip_serializing_if = "Placement::is_hash")]
    pub placement: Placement,
    /// The id field; empty where no key decides.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The field of custom routing values.
    pub routing_field: Option<String>,
    /// Which planes keys were read from.
    pub key_readings: Vec<KeyReading>,
    /// Keys that were hashed; 0 where every hash was in a sidecar. What verification hashes is counted apart.
    pub keys_hashed: u64,
    /// The children, ascending by shard number.
    pub children: Vec<PlannedChild>,
    /// Documents per child and segment.
    pub census: Census,
    /// Size of the source's segment files in bytes.
    pub source_bytes: u64,
    /// Most bytes that will be taken on the target file system while the job runs: the children, nothing else.
    pub peak_disk_bytes: u64,
    /// What an operator should know before running this.
    pub warnings: Vec<String>,
}

/// Shards of an index that have to do with each other.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedPart {
    /// The source shards: one, or those that become one.
    pub sources: Vec<ShardNumber>,
    /// Their children.
    pub children: Vec<ShardNumber>,
    /// Documents per child and segment, in the order of these.
    pub census: Census,
    /// Size of the sources' segment files in bytes.
    pub source_bytes: u64,
    /// Where documents move between shards: which, by shard before and shard after, ascending.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<PlannedMove>,
}

/// Documents that go from one shard to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedMove {
    /// Shard before.
    pub from: ShardNumber,
    /// Shard after; another one.
    pub to: ShardNumber,
    /// How many.
    pub docs: u64,
}

/// What would be done to a whole index.
#[derive(Clone, Debug, Serialize)]
pub struct IndexPlan {
    /// What.
    pub operation: Operation,
    /// The index directory.
    pub source: PathBuf,
    /// Target directory.
    pub out: PathBuf,
    /// Routing of the index.
    pub before: IndexRouting,
    /// Routing of the index that is made.
    pub after: IndexRouting,
    /// How.
    pub method: Method,
    /// Segment layout; linked children keep the source's segments.
    pub segments: SegmentMode,
    /// The id field.
    pub key: String,
    /// The field of custom routing values.
    pub routing_field: Option<String>,
    /// Which planes keys were read from, over all shards.
    pub key_readings: Vec<KeyReading>,
    /// Keys that were hashed; 0 where every hash was in a sidecar.
    pub keys_hashed: u64,
    /// The parts, ascending by their first source shard.
    pub parts: Vec<PlannedPart>,
    /// The children of all parts, ascending by shard number.
    pub children: Vec<PlannedChild>,
    /// Live documents.
    pub docs: u64,
    /// Deleted documents.
    pub deleted: u64,
    /// Size of the segment files of all shards in bytes.
    pub source_bytes: u64,
    /// Most bytes that will be taken on the target file system while the job runs: the children, nothing else.
    pub peak_disk_bytes: u64,
    /// What an operator should know before running this.
    pub warnings: Vec<String>,
}
