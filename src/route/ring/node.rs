//! Nodes of a ring, and what a set of them must keep.
//!
//! Invariants of a checked set: 1 to [`MAX_NODES`] nodes; legal names; names and shard numbers differ; weights are at
//! least 1 and add up to at most [`MAX_TOTAL_WEIGHT`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::RingError;
use crate::route::{MAX_CHILDREN, ShardNumber};

/// Most nodes of a ring: those that a split can write.
pub const MAX_NODES: u32 = MAX_CHILDREN;
/// Largest sum of weights. It bounds the memory of a ring (about 14 bytes per virtual node) and keeps the share of
/// every planned node above 1,000 hashes.
pub const MAX_TOTAL_WEIGHT: u32 = 1 << 22;
/// Longest name, in bytes.
pub const MAX_NAME: usize = 255;

/// A node of a ring: a machine, and the shard that it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name, for ever: points of a classic ring are made from it.
    pub name: String,
    /// Its weight beside the others. In a classic ring: its number of virtual nodes.
    pub weight: u32,
    /// Number of its shard; children stand at `OUT/<shard>`.
    pub shard: ShardNumber,
}

impl Node {
    /// A node.
    #[must_use]
    pub fn new(name: impl Into<String>, weight: u32, shard: ShardNumber) -> Node {
        Node { name: name.into(), weight, shard }
    }
}

/// Checks the invariants of a set.
pub(in crate::route) fn check(nodes: &[Node]) -> Result<(), RingError> {
    if nodes.is_empty() {
        return Err(RingError::Empty);
    }
    if nodes.len() > MAX_NODES as usize {
        return Err(RingError::Nodes { nodes: nodes.len() });
    }
    let (mut names, mut shards) = (BTreeMap::new(), BTreeMap::new());
    let mut total = 0;
    for node in nodes {
        check_name(&node.name)?;
        if node.weight == 0 {
            return Err(RingError::Weight { name: node.name.clone() });
        }
        if names.insert(node.name.as_str(), ()).is_some() {
            return Err(RingError::DuplicateName { name: node.name.clone() });
        }
        if let Some(first) = shards.insert(node.shard, node.name.as_str()) {
            return Err(RingError::DuplicateShard {
                shard: node.shard,
                first: first.to_owned(),
                second: node.name.clone(),
            });
        }
        total += u64::from(node.weight);
    }
    if total > u64::from(MAX_TOTAL_WEIGHT) {
        return Err(RingError::TotalWeight { total });
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), RingError> {
    if name.is_empty() || name.len() > MAX_NAME || name.contains('#') {
        return Err(RingError::Name { name: name.to_owned() });
    }
    Ok(())
}

/// Place of the node called `name`.
pub(super) fn place(nodes: &[Node], name: &str) -> Result<usize, RingError> {
    nodes.iter().position(|node| node.name == name).ok_or_else(|| RingError::UnknownNode {
        name: name.to_owned(),
        known: nodes.iter().map(|node| node.name.clone()).collect(),
    })
}

/// The nodes and one more, behind them.
pub(super) fn with(nodes: &[Node], node: Node) -> Vec<Node> {
    nodes.iter().cloned().chain([node]).collect()
}

/// The nodes but for one.
pub(super) fn without(nodes: &[Node], name: &str) -> Result<Vec<Node>, RingError> {
    let mut nodes = nodes.to_vec();
    nodes.remove(place(&nodes, name)?);
    Ok(nodes)
}

/// The nodes, one of them with another weight.
pub(super) fn reweighed(nodes: &[Node], name: &str, weight: u32) -> Result<Vec<Node>, RingError> {
    let place = place(nodes, name)?;
    let mut nodes = nodes.to_vec();
    if let Some(node) = nodes.get_mut(place) {
        node.weight = weight;
    }
    Ok(nodes)
}

/// Shard numbers, ascending.
pub(super) fn shards(nodes: &[Node]) -> Vec<ShardNumber> {
    let mut shards: Vec<_> = nodes.iter().map(|node| node.shard).collect();
    shards.sort_unstable();
    shards
}
