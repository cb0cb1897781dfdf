//! Routing: pure functions from a key to a shard number. No I/O, no state.
//!
//! A router's name is a contract: it is bound to published vectors (`data/vectors`) and never changes meaning.
//!
//! | way | from hash to shard | splits one shard alone |
//! |---|---|---|
//! | [`Elasticsearch`] | scaled modulo | no: all shards of the index, by the same factor |
//! | [`ElasticsearchModulo`] | plain modulo | no |
//! | [`SlotTable`] | a table over scaled modulo's slots | yes: evenly, by weights, by measured loads, or listed slots |
//! | [`solr::HashRanges`] | ranges of hashes | yes: evenly, at given hashes, around a route key, or along prefixes |
//! | [`RingTable`] | arcs of a ring | its documents go to whichever nodes own them afterwards; better all shards together ([`Resize::moved`]) |
//!
//! [`routing_hash`] is the hash of all but Solr's; [`solr::composite_id_hash`] and [`solr::plain_id_hash`] are those.
//! A [`SplitRouting`] says where the documents of one shard go, by arithmetic ([`SplitSpec`]) or by two tables
//! ([`TableSplit`]).

mod balance;
mod bulk;
mod choices;
mod elasticsearch;
mod error;
mod function;
mod hash;
mod hash_table;
mod jump;
mod legal;
mod locate;
pub mod movement;
mod rendezvous;
mod resize;
pub mod ring;
mod router;
pub mod slots;
pub mod solr;
mod split;
mod tables;

pub(crate) use bulk::STRAY;
pub use choices::{Choices, Refused, choices};
pub use elasticsearch::{Elasticsearch, ElasticsearchModulo, default_number_of_routing_shards, partition_offset};
pub use error::RouteError;
pub use function::RoutingFunction;
pub use hash::{RoutingHash, routing_hash};
pub use hash_table::{HASHES, HashArc, HashFunction, HashTable, Layout, Share};
pub use jump::Jump;
pub use locate::{Cell, Location};
pub use rendezvous::Rendezvous;
pub use resize::{IndexRouting, Operation, Resize};
pub use ring::{
    Collision, CollisionRule, DEFAULT_TOKENS_PER_NODE, Ketama, Node, PlannedRing, Ring, RingError, RingTable,
    ketama_hash,
};
pub use router::Router;
pub use slots::{Arrangement, MAX_SLOTS, SlotError, SlotLoads, SlotTable};
pub use split::{MAX_CHILDREN, SplitRouting, SplitSpec};
pub use tables::{Cut, Load, Measure, Measured, RoutingTable, TableSpec, TableSplit};

/// Number of a shard within its index.
pub type ShardNumber = u32;
