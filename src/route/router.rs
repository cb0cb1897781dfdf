//! A routing function with its numbers or its table: from hash to shard of one index.

use std::sync::Arc;

use super::{Elasticsearch, ElasticsearchModulo, RoutingHash, RoutingTable, ShardNumber};

/// A routing function with its numbers or its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Router {
    /// Scaled modulo.
    Elasticsearch(Elasticsearch),
    /// Plain modulo.
    Modulo(ElasticsearchModulo),
    /// A table.
    Table(Arc<RoutingTable>),
}

impl Router {
    /// Shard of a document. `hash`: of its effective routing (the routing value where present, else the id), by the hash
    /// function of the routing function; `partition_offset`: 0, or [`super::partition_offset`] where
    /// routing_partition_size exceeds 1.
    #[inline]
    #[must_use]
    pub fn shard(&self, hash: RoutingHash, partition_offset: i32) -> ShardNumber {
        match self {
            Router::Elasticsearch(router) => router.shard(hash, partition_offset),
            Router::Modulo(router) => router.shard(hash, partition_offset),
            Router::Table(table) => table.shard(hash, partition_offset),
        }
    }

    /// Shards of the index.
    #[must_use]
    pub fn number_of_shards(&self) -> u32 {
        match self {
            Router::Elasticsearch(router) => router.number_of_shards(),
            Router::Modulo(router) => router.number_of_shards(),
            Router::Table(table) => table.number_of_shards(),
        }
    }
}
