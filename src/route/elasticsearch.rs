//! Elasticsearch's two routing functions.

use super::{RoutingHash, ShardNumber};

/// `floorMod(hash + offset, number_of_routing_shards) / routing_factor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elasticsearch {}

/// `floorMod(hash + offset, number_of_shards)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElasticsearchModulo {}

/// A routing function with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Router {
    /// Scaled modulo.
    Elasticsearch(Elasticsearch),
    /// Plain modulo.
    Modulo(ElasticsearchModulo),
}

impl Router {
    /// Shard of a document.
    #[must_use]
    pub fn shard(&self, hash: RoutingHash, partition_offset: i32) -> ShardNumber {
        let _ = (hash, partition_offset);
        0
    }
}

/// Elasticsearch's default.
#[must_use]
pub fn default_number_of_routing_shards(number_of_shards: u32) -> u32 {
    number_of_shards
}
