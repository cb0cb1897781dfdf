//! Rings: the hash space as a circle of 2^32, cut into arcs that nodes own.
//!
//! Input: nodes with names, weights and shard numbers. Output: immutable tables; to add, remove or reweigh a node gives
//! a new one, so that old and new can be compared ([`super::movement`]) and the old one kept.
//!
//! | table | points | balance | movement |
//! |---|---|---|---|
//! | [`Ring`] | hashes of `name#VN0`, `name#VN1` … | ± 1 / sqrt(virtual nodes) | only to or from the node that changed |
//! | [`PlannedRing`] | planned, stored | exact up to as many nodes as tokens | the same, and as little as the weights allow |
//! | [`Ketama`] | MD5, as libketama | ± 8 % | nearly that: all weights are relative |
//!
//! A hash belongs to the first point at or after it; behind the last point comes the first. A ring's name is a contract
//! as a router's is: `data/vectors/ring.json` binds it.

mod arcs;
mod classic;
mod error;
mod ketama;
mod node;
mod planned;
mod points;
mod table;
#[cfg(test)]
pub(super) mod tests;
mod transfer;

pub use classic::{Collision, CollisionRule, Ring};
pub use error::RingError;
pub use ketama::{Ketama, ketama_hash};
pub(super) use node::check as check_nodes;
pub use node::{MAX_NAME, MAX_NODES, MAX_TOTAL_WEIGHT, Node};
pub use planned::{DEFAULT_TOKENS_PER_NODE, MAX_TOKENS_PER_NODE, PlannedRing};
pub use table::{FORMAT as RING_TABLE_FORMAT, RingTable};
