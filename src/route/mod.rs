//! Routing: pure functions from a key to a shard number. No I/O, no state.
//!
//! A router's name is a contract: it is bound to published vectors (`data/vectors`) and never changes meaning.

mod elasticsearch;
mod error;
mod hash;
mod legal;
mod resize;
mod split;

pub use elasticsearch::{
    Elasticsearch, ElasticsearchModulo, Router, default_number_of_routing_shards, partition_offset,
};
pub use error::RouteError;
pub use hash::{RoutingHash, routing_hash};
pub use resize::{IndexRouting, Operation, Resize};
pub use split::{MAX_CHILDREN, RoutingFunction, SplitRouting, SplitSpec};

/// Number of a shard within its index.
pub type ShardNumber = u32;
