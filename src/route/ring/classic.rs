//! The classic ring: each node stands at as many points as it has weight.
//!
//! Virtual node i of a node, from 0, stands at `routing_hash(name + "#VN" + i)`, read as unsigned. These are the points
//! of the usual Java ring (`TreeMap<Long, String>`, Guava's `murmur3_32` of unencoded characters). Karger et al.,
//! "Consistent hashing and random trees", STOC 1997.
//!
//! Points of different nodes can be equal: of V virtual nodes about V² / 2^33 pairs are. A [`CollisionRule`] decides who
//! owns the point; the others are listed, and get it back when the owner goes.
//!
//! Invariants: the ring is a function of its nodes, under [`CollisionRule::LowestName`] in any order; every node owns
//! something. Cost: building hashes and sorts all points, about 0.3 µs each; memory is about 14 bytes per point.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::RingError;
use super::node::{self, Node};
use super::points::Points;
use crate::route::{HashTable, Layout, RoutingHash, ShardNumber, Share, routing_hash};

/// Who owns a point at which several nodes stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CollisionRule {
    /// The node whose name is lowest, byte by byte in UTF-8. The order of nodes does not matter.
    #[default]
    LowestName,
    /// The node that was added last: what `TreeMap.put` leaves. For rings that must agree with a Java ring; the order
    /// of nodes is the order in which they were added.
    ///
    /// Unlike Java's `remove`, removing a node here gives its points back to the nodes that had lost them.
    TreemapLastWins,
}

/// A point at which several nodes stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collision {
    /// The point.
    pub point: u32,
    /// The node that owns it.
    pub owner: String,
    /// The nodes that stand there too, the next owner first.
    pub losers: Vec<String>,
}

/// A ring of virtual nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    nodes: Vec<Node>,
    rule: CollisionRule,
    points: Points,
    /// Number of the virtual node at each point.
    numbers: Vec<u32>,
    collisions: Vec<Collision>,
}

/// A virtual node: its point, the place of its node, its number.
type Virtual = (u32, usize, u32);

impl Ring {
    /// The ring of `nodes`.
    ///
    /// # Errors
    /// [`RingError`] where the nodes do not make a ring: see [`Node`] for what they must keep.
    pub fn new(mut nodes: Vec<Node>, rule: CollisionRule) -> Result<Ring, RingError> {
        node::check(&nodes)?;
        let mut all = Vec::new();
        match rule {
            CollisionRule::LowestName => {
                nodes.sort_by(|left, right| left.name.cmp(&right.name));
                virtual_nodes(&nodes, &mut all);
                all.sort_unstable();
            }
            CollisionRule::TreemapLastWins => {
                virtual_nodes(&nodes, &mut all);
                all.sort_unstable_by(|left, right| left.0.cmp(&right.0).then_with(|| right.cmp(left)));
            }
        }
        let mut owned = vec![false; nodes.len()];
        let (mut points, mut numbers, mut collisions) = (Vec::new(), Vec::new(), Vec::new());
        for group in all.chunk_by(|left, right| left.0 == right.0) {
            let Some(&(point, place, number)) = group.first() else { continue };
            let Some(owner) = nodes.get(place) else { continue };
            if let Some(owned) = owned.get_mut(place) {
                *owned = true;
            }
            points.push((point, owner.shard));
            numbers.push(number);
            let mut losers: Vec<usize> =
                group.iter().map(|&(_, other, _)| other).filter(|&other| other != place).collect();
            losers.dedup();
            if !losers.is_empty() {
                let losers = losers.into_iter().filter_map(|other| nodes.get(other)).map(|node| node.name.clone());
                collisions.push(Collision { point, owner: owner.name.clone(), losers: losers.collect() });
            }
        }
        if let Some((node, _)) = nodes.iter().zip(&owned).find(|&(_, &owned)| !owned) {
            return Err(RingError::OwnsNothing { name: node.name.clone(), weight: node.weight });
        }
        Ok(Ring { points: Points::new(points.into_iter()), nodes, rule, numbers, collisions })
    }

    /// The ring with one node more.
    ///
    /// # Errors
    /// As [`Ring::new`].
    pub fn add(&self, node: Node) -> Result<Ring, RingError> {
        Ring::new(node::with(&self.nodes, node), self.rule)
    }

    /// The ring without a node.
    ///
    /// # Errors
    /// [`RingError::UnknownNode`]; [`RingError::Empty`] where it was the last.
    pub fn remove(&self, name: &str) -> Result<Ring, RingError> {
        Ring::new(node::without(&self.nodes, name)?, self.rule)
    }

    /// The ring in which a node has another weight. It keeps its place in the order of nodes.
    ///
    /// # Errors
    /// [`RingError::UnknownNode`], or as [`Ring::new`].
    pub fn reweigh(&self, name: &str, weight: u32) -> Result<Ring, RingError> {
        Ring::new(node::reweighed(&self.nodes, name, weight)?, self.rule)
    }

    /// The nodes: by name, or as they were added under [`CollisionRule::TreemapLastWins`].
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The rule for points at which several nodes stand.
    #[must_use]
    pub fn collision_rule(&self) -> CollisionRule {
        self.rule
    }

    /// Points at which several nodes stand, ascending.
    #[must_use]
    pub fn collisions(&self) -> &[Collision] {
        &self.collisions
    }

    /// Points at which a node stands: the sum of weights, less collisions.
    #[must_use]
    pub fn number_of_points(&self) -> usize {
        self.points.len()
    }

    /// Points, ascending, each with the shard that owns it.
    pub fn points(&self) -> impl Iterator<Item = (u32, ShardNumber)> + '_ {
        self.points.iter()
    }

    /// The point that a hash belongs to, and the number of the virtual node there.
    #[must_use]
    pub fn point(&self, hash: RoutingHash) -> (u32, u32) {
        let place = self.points.place(hash);
        (self.points.point(place).unwrap_or_default(), self.numbers.get(place).copied().unwrap_or_default())
    }

    /// Exact share of each node, in the order of [`Ring::nodes`].
    #[must_use]
    pub fn shares(&self) -> Vec<Share> {
        self.points.shares(&self.nodes)
    }

    /// Shard of a hash.
    #[inline]
    #[must_use]
    pub fn shard(&self, hash: RoutingHash) -> ShardNumber {
        self.points.shard(hash)
    }
}

impl HashTable for Ring {
    #[inline]
    fn shard(&self, hash: RoutingHash) -> ShardNumber {
        Ring::shard(self, hash)
    }

    fn shards(&self) -> Vec<ShardNumber> {
        node::shards(&self.nodes)
    }

    fn layout(&self) -> Layout {
        Layout::Arcs(self.points.arcs())
    }
}

fn virtual_nodes(nodes: &[Node], all: &mut Vec<Virtual>) {
    let mut label = String::new();
    for (place, node) in nodes.iter().enumerate() {
        for number in 0..node.weight {
            label.clear();
            // Writing to a String does not fail.
            let _ = write!(label, "{}#VN{number}", node.name);
            all.push((routing_hash(&label).cast_unsigned(), place, number));
        }
    }
}
