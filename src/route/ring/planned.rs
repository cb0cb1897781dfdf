//! Planned tokens: a ring whose points are chosen, not hashed.
//!
//! A node that joins takes its exact share from the nodes that have most; one that leaves hands its arcs to those that
//! have least. The idea is that of Cassandra's token allocation and of Mimir's spread-minimising tokens; the plan here
//! works on exact arc lengths. The tokens are data: they depend on the history of the ring, so the table must be kept.
//!
//! Balance: with up to as many other nodes as tokens per node every share is exact, to one hash in 2^32, after joins,
//! leaves and reweighs, with any weights. Beyond that nodes stay within about 1 / tokens. Movement: the least possible,
//! and all of it to or from the node that changed.
//!
//! Invariants: tokens ascend and differ; every node has one; nodes are in the order of names. [`PlannedRing::new`]
//! depends on the set of nodes alone. Cost: a change takes about 1 µs per token of the ring.

use super::arcs::Circle;
use super::node::{self, Node};
use super::points::Points;
use super::{RingError, transfer};
use crate::route::hash_table::HASHES;
use crate::route::{HashTable, Layout, RoutingHash, ShardNumber, Share};

/// Tokens per node, unless told otherwise.
pub const DEFAULT_TOKENS_PER_NODE: u32 = 64;
/// Most tokens per node.
pub const MAX_TOKENS_PER_NODE: u32 = 4096;

/// A ring of planned tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRing {
    nodes: Vec<Node>,
    tokens_per_node: u32,
    points: Points,
}

impl PlannedRing {
    /// The ring that `nodes` make when they join in the order of their names.
    ///
    /// `tokens_per_node`: how many pieces a node that joins takes, whatever its weight; fewer, larger ones where that is
    /// enough, more where arcs are short. Between 1 and [`MAX_TOKENS_PER_NODE`].
    ///
    /// # Errors
    /// [`RingError`] where the nodes do not make a ring: see [`Node`] for what they must keep.
    pub fn new(nodes: Vec<Node>, tokens_per_node: u32) -> Result<PlannedRing, RingError> {
        node::check(&nodes)?;
        let nodes = by_name(nodes);
        check_tokens_per_node(tokens_per_node)?;
        // The first node cuts the circle evenly.
        let step = HASHES / u64::from(tokens_per_node);
        let even = (1..=u64::from(tokens_per_node)).filter_map(|place| u32::try_from(place * step - 1).ok());
        let mut circle = Circle::new(even.map(|token| (token, 0)));
        for joined in 1..nodes.len() {
            let wanted = wanted(nodes.get(..=joined).unwrap_or_default());
            let hashes = wanted.get(joined).copied().unwrap_or_default();
            transfer::gather(&mut circle, joined, hashes, &wanted, tokens_per_node);
        }
        Ok(PlannedRing { points: points(&circle, &nodes), nodes, tokens_per_node })
    }

    /// A ring as it was kept: `tokens` with the shard of their node.
    ///
    /// # Errors
    /// [`RingError`] where nodes or tokens do not make a ring.
    pub fn from_tokens(
        nodes: Vec<Node>,
        tokens_per_node: u32,
        tokens: &[(u32, ShardNumber)],
    ) -> Result<PlannedRing, RingError> {
        node::check(&nodes)?;
        check_tokens_per_node(tokens_per_node)?;
        let nodes = by_name(nodes);
        if let Some((&(previous, _), &(token, _))) = tokens.iter().zip(tokens.iter().skip(1)).find(|(a, b)| a.0 >= b.0)
        {
            return Err(RingError::TokenOrder { token, previous });
        }
        let mut without: Vec<(ShardNumber, Option<&Node>)> =
            nodes.iter().map(|node| (node.shard, Some(node))).collect();
        without.sort_unstable_by_key(|&(shard, _)| shard);
        for &(token, shard) in tokens {
            match without
                .binary_search_by_key(&shard, |&(shard, _)| shard)
                .ok()
                .and_then(|place| without.get_mut(place))
            {
                Some((_, node)) => *node = None,
                None => return Err(RingError::TokenShard { token, shard }),
            }
        }
        if let Some(node) = without.iter().find_map(|&(_, node)| node) {
            return Err(RingError::NoToken { name: node.name.clone() });
        }
        Ok(PlannedRing { points: Points::new(tokens.iter().copied()), nodes, tokens_per_node })
    }

    /// The ring with one node more, which takes its share from those that have most.
    ///
    /// # Errors
    /// As [`PlannedRing::new`].
    pub fn add(&self, node: Node) -> Result<PlannedRing, RingError> {
        let name = node.name.clone();
        self.change(by_name(node::with(&self.nodes, node)), &name)
    }

    /// The ring without a node, whose arcs go to those that have least.
    ///
    /// # Errors
    /// [`RingError::UnknownNode`]; [`RingError::Empty`] where it was the last.
    pub fn remove(&self, name: &str) -> Result<PlannedRing, RingError> {
        let nodes = node::without(&self.nodes, name)?;
        node::check(&nodes)?;
        let leaver = node::place(&self.nodes, name)?;
        let mut wanted = wanted(&nodes);
        wanted.insert(leaver, 0);
        let mut circle = self.circle(&self.nodes);
        let hashes = circle.hashes(leaver);
        transfer::scatter(&mut circle, leaver, hashes, &wanted, self.tokens_per_node);
        Ok(PlannedRing { points: points(&circle, &self.nodes), nodes, tokens_per_node: self.tokens_per_node })
    }

    /// The ring in which a node has another weight: it takes from, or gives to, the others what is missing.
    ///
    /// # Errors
    /// [`RingError::UnknownNode`], or as [`PlannedRing::new`].
    pub fn reweigh(&self, name: &str, weight: u32) -> Result<PlannedRing, RingError> {
        self.change(node::reweighed(&self.nodes, name, weight)?, name)
    }

    /// `nodes`, of which `name` is new or has another weight.
    fn change(&self, nodes: Vec<Node>, name: &str) -> Result<PlannedRing, RingError> {
        node::check(&nodes)?;
        let changed = node::place(&nodes, name)?;
        let wanted = wanted(&nodes);
        let mut circle = self.circle(&nodes);
        let (has, wants) = (circle.hashes(changed), wanted.get(changed).copied().unwrap_or_default());
        if wants > has {
            transfer::gather(&mut circle, changed, wants - has, &wanted, self.tokens_per_node);
        } else if wants < has {
            transfer::scatter(&mut circle, changed, has - wants, &wanted, self.tokens_per_node);
        }
        Ok(PlannedRing { points: points(&circle, &nodes), nodes, tokens_per_node: self.tokens_per_node })
    }

    /// This ring's tokens, owned by places in `nodes`.
    fn circle(&self, nodes: &[Node]) -> Circle {
        let mut places: Vec<_> = nodes.iter().enumerate().map(|(place, node)| (node.shard, place)).collect();
        places.sort_unstable();
        let place = |shard| places.binary_search_by_key(&shard, |&(shard, _)| shard).ok().and_then(|at| places.get(at));
        Circle::new(self.tokens().filter_map(|(token, shard)| Some((token, place(shard)?.1))))
    }

    /// The nodes, by name.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Pieces that a node takes when it joins.
    #[must_use]
    pub fn tokens_per_node(&self) -> u32 {
        self.tokens_per_node
    }

    /// Tokens, ascending, each with the shard that owns the arc that it ends.
    pub fn tokens(&self) -> impl Iterator<Item = (u32, ShardNumber)> + '_ {
        self.points.iter()
    }

    /// Exact share of each node, in the order of [`PlannedRing::nodes`].
    #[must_use]
    pub fn shares(&self) -> Vec<Share> {
        self.points.shares(&self.nodes)
    }

    /// The share that each node's weight asks for, to one hash.
    #[must_use]
    pub fn wanted_shares(&self) -> Vec<Share> {
        wanted(&self.nodes).into_iter().map(Share::of_hashes).collect()
    }

    /// The token that a hash belongs to.
    #[must_use]
    pub fn token(&self, hash: RoutingHash) -> u32 {
        self.points.point(self.points.place(hash)).unwrap_or_default()
    }

    /// Shard of a hash.
    #[inline]
    #[must_use]
    pub fn shard(&self, hash: RoutingHash) -> ShardNumber {
        self.points.shard(hash)
    }
}

impl HashTable for PlannedRing {
    #[inline]
    fn shard(&self, hash: RoutingHash) -> ShardNumber {
        PlannedRing::shard(self, hash)
    }

    fn shards(&self) -> Vec<ShardNumber> {
        node::shards(&self.nodes)
    }

    fn layout(&self) -> Layout {
        Layout::Arcs(self.points.arcs())
    }
}

fn check_tokens_per_node(tokens_per_node: u32) -> Result<(), RingError> {
    if (1..=MAX_TOKENS_PER_NODE).contains(&tokens_per_node) {
        Ok(())
    } else {
        Err(RingError::TokensPerNode { tokens_per_node })
    }
}

fn by_name(mut nodes: Vec<Node>) -> Vec<Node> {
    nodes.sort_by(|left, right| left.name.cmp(&right.name));
    nodes
}

fn points(circle: &Circle, nodes: &[Node]) -> Points {
    Points::new(circle.tokens().filter_map(|(token, owner)| Some((token, nodes.get(owner)?.shard))))
}

/// 2^32 hashes by weight: rounded down, and the hashes that remain to the largest fractions, the first node first.
pub(super) fn wanted(nodes: &[Node]) -> Vec<u64> {
    let total: u64 = nodes.iter().map(|node| u64::from(node.weight)).sum::<u64>().max(1);
    let part = |node: &Node| HASHES * u64::from(node.weight);
    let mut wanted: Vec<u64> = nodes.iter().map(|node| part(node) / total).collect();
    let mut fractions: Vec<(u64, usize)> = nodes.iter().map(|node| part(node) % total).zip(0..).collect();
    fractions.sort_by(|left, right| right.0.cmp(&left.0).then(left.1.cmp(&right.1)));
    let missing = HASHES - wanted.iter().sum::<u64>();
    for (_, (_, place)) in (0..missing).zip(fractions) {
        if let Some(wanted) = wanted.get_mut(place) {
            *wanted += 1;
        }
    }
    wanted
}
