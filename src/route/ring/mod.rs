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
//! Nine keys on three nodes, and a fourth joins: four move, all of them to it. With plain modulo one of nine stays where two
//! nodes become three.
//!
//! ```
//! use shardsplit::route::movement::Movement;
//! use shardsplit::route::{CollisionRule, ElasticsearchModulo, Node, PlannedRing, Ring, routing_hash};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let hashes: Vec<i32> = (1..=9).map(|key| routing_hash(&key.to_string())).collect();
//! let node = |name: &str, shard| Node::new(name, 4, shard);
//! let three = Ring::new(vec![node("a", 0), node("b", 1), node("c", 2)], CollisionRule::LowestName)?;
//! let four = three.add(node("d", 3))?;
//! let moved: Vec<u32> = hashes.iter().filter(|hash| three.shard(**hash) != four.shard(**hash)).map(|hash| four.shard(*hash)).collect();
//! assert_eq!(moved, [3, 3, 3, 3]);
//!
//! let (two, modulo) = (ElasticsearchModulo::new(2)?, ElasticsearchModulo::new(3)?);
//! let stay = hashes.iter().filter(|hash| two.shard(**hash, 0) == modulo.shard(**hash, 0)).count();
//! assert_eq!(stay, 1);
//!
//! // Planned tokens keep any weights exactly, and what moves is the least that can.
//! let weights = vec![Node::new("new-1", 200, 0), Node::new("new-2", 200, 1), Node::new("old-1", 50, 2)];
//! let planned = PlannedRing::new(weights, 64)?;
//! assert_eq!(planned.shares(), planned.wanted_shares());
//! let movement = Movement::between(&planned, &planned.remove("old-1")?)?;
//! assert_eq!((movement.moved(), movement.moved()), (movement.optimum(), planned.shares()[2]));
//! # Ok(())
//! # }
//! ```
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
