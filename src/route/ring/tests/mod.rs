//! Rings against published vectors, other crates, a `BTreeMap`, and what they promise.

mod classic;
mod examples;
mod ketama;
mod oracles;
mod planned;
mod table;
mod vectors;

use serde_json::Value;

use super::{CollisionRule, Node, Ring};

/// `data/vectors/ring.json`.
pub(in crate::route) fn vectors() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/data/vectors/ring.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Nodes numbered in the order given.
fn nodes(weights: &[(&str, u32)]) -> Vec<Node> {
    weights.iter().zip(0..).map(|(&(name, weight), shard)| Node::new(name, weight, shard)).collect()
}

/// `new-1` and `new-2` with 200 virtual nodes, `old-1` with 50.
fn seed_nodes() -> Vec<Node> {
    nodes(&[("new-1", 200), ("new-2", 200), ("old-1", 50)])
}

fn ring(nodes: Vec<Node>) -> Ring {
    Ring::new(nodes, CollisionRule::LowestName).unwrap()
}

fn name(nodes: &[Node], shard: u32) -> &str {
    &nodes.iter().find(|node| node.shard == shard).unwrap().name
}

fn number(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}
