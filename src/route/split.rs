//! From one shard to its children: which numbers they have, which are legal.

use serde::{Deserialize, Serialize};

use super::{RoutingHash, ShardNumber};

/// Name of a routing function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoutingFunction {
    /// Scaled modulo.
    #[default]
    Elasticsearch,
    /// Plain modulo (indices created by Elasticsearch 9.4 and later).
    ElasticsearchModulo,
}

/// What a split asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitSpec {
    /// The routing function.
    pub function: RoutingFunction,
    /// Children per source shard.
    pub into: u32,
    /// Shards of the index that the source is a shard of.
    pub source_shards: u32,
    /// Which of them it is.
    pub source_shard: ShardNumber,
    /// number_of_routing_shards of the index; `None`: Elasticsearch's default.
    pub number_of_routing_shards: Option<u32>,
    /// routing_partition_size of the index.
    pub routing_partition_size: u32,
}

impl SplitSpec {
    /// A one-shard source into `into` children, with Elasticsearch's defaults.
    #[must_use]
    pub fn new(into: u32) -> SplitSpec {
        SplitSpec {
            function: RoutingFunction::default(),
            into,
            source_shards: 1,
            source_shard: 0,
            number_of_routing_shards: None,
            routing_partition_size: 1,
        }
    }
}

/// Why numbers of shards do not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// Placeholder.
    #[error("illegal")]
    Illegal,
}

/// A checked split: from hash to child.
#[derive(Clone, Debug)]
pub struct SplitRouting {
    children: Vec<ShardNumber>,
}

impl SplitRouting {
    /// Checks `spec`.
    pub fn new(spec: SplitSpec) -> Result<SplitRouting, RouteError> {
        let _ = spec;
        Ok(SplitRouting { children: Vec::new() })
    }

    /// Shard numbers of the children, ascending; position is the child index.
    #[must_use]
    pub fn children(&self) -> &[ShardNumber] {
        &self.children
    }

    /// Child index, or the source shard that the document belongs to instead.
    pub fn child_of(&self, hash: RoutingHash, partition_offset: i32) -> Result<usize, ShardNumber> {
        let _ = (hash, partition_offset);
        Ok(0)
    }
}
