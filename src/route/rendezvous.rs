//! Rendezvous hashing with weights: every node scores every hash, the best score owns it.
//!
//! Thaler and Ravishankar, "Using name-based mappings to increase hit rates", 1998; weights as in Schindelhauer and
//! Schomaker, SPAA 2005: the score is `-ln(u) / weight` for u evenly in (0, 1), and the lowest wins. A node that joins,
//! leaves or is reweighed moves its own hashes only.
//!
//! How u comes from node and hash is this crate's own definition, since no standard has one:
//!
//! - `node64` = mix(FNV-1a 64 of the name's UTF-8 bytes); `mix` is SplitMix64's finisher (public domain), a bijection.
//! - `x` = mix(node64 + 0x9e3779b97f4a7c15 · hash), the hash as unsigned, wrapping; u = (x + 1/2) / 2^64, ever so slightly
//!   above 0 and below 1.
//! - Scores are computed in integers, because libraries differ in the last bit of a logarithm: `L` = 64 - log2(x) in
//!   units of 2^-32, rounded up; 64 where x is 0. The lowest `L / weight` wins, then the highest x, then the lowest name.
//!
//! With equal weights that is the highest x. Cost: a few nanoseconds per node and look-up with equal weights; with others 32
//! squarings besides.

use super::ring::{Node, RingError, check_nodes};
use super::{HashTable, RoutingHash, ShardNumber};

/// Bits behind the point in a score.
const FRACTION: u32 = 32;

/// Weighted rendezvous hashing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendezvous {
    nodes: Vec<Node>,
    /// node64 of each node.
    keys: Vec<u64>,
    equal: bool,
}

impl Rendezvous {
    /// The table of `nodes`, in any order.
    ///
    /// # Errors
    /// [`RingError`] where the nodes are no set of nodes: see [`Node`] for what they must keep.
    pub fn new(mut nodes: Vec<Node>) -> Result<Rendezvous, RingError> {
        check_nodes(&nodes)?;
        nodes.sort_by(|left, right| left.name.cmp(&right.name));
        let keys = nodes.iter().map(|node| mix(fnv1a(node.name.as_bytes()))).collect();
        let equal = nodes.iter().zip(nodes.iter().skip(1)).all(|(left, right)| left.weight == right.weight);
        Ok(Rendezvous { nodes, keys, equal })
    }

    /// The nodes, by name.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Shard of a hash.
    #[must_use]
    pub fn shard(&self, hash: RoutingHash) -> ShardNumber {
        if self.equal { self.best_of_equals(hash) } else { self.best_of_weighted(hash) }
    }

    fn drawn(&self, hash: RoutingHash) -> impl Iterator<Item = (u64, &Node)> {
        let step = u64::from(hash.cast_unsigned()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.keys.iter().map(move |key| mix(key.wrapping_add(step))).zip(&self.nodes)
    }

    fn best_of_equals(&self, hash: RoutingHash) -> ShardNumber {
        let mut best = None;
        for (x, node) in self.drawn(hash) {
            if best.is_none_or(|(highest, _)| x > highest) {
                best = Some((x, node.shard));
            }
        }
        best.map_or(0, |(_, shard)| shard)
    }

    fn best_of_weighted(&self, hash: RoutingHash) -> ShardNumber {
        let mut best: Option<(u64, u64, &Node)> = None;
        for (x, node) in self.drawn(hash) {
            let loss = loss(x);
            let better = best.is_none_or(|(best_loss, best_x, best)| {
                // Both scores times both weights: no division, no rounding.
                let ours = u128::from(loss) * u128::from(best.weight);
                let theirs = u128::from(best_loss) * u128::from(node.weight);
                ours < theirs || (ours == theirs && x > best_x)
            });
            if better {
                best = Some((loss, x, node));
            }
        }
        best.map_or(0, |(_, _, node)| node.shard)
    }
}

impl HashTable for Rendezvous {
    fn shard(&self, hash: RoutingHash) -> ShardNumber {
        Rendezvous::shard(self, hash)
    }

    fn shards(&self) -> Vec<ShardNumber> {
        let mut shards: Vec<_> = self.nodes.iter().map(|node| node.shard).collect();
        shards.sort_unstable();
        shards
    }
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo; public domain).
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// SplitMix64's finisher (Sebastiano Vigna, public domain).
fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// 64 - log2(x) in units of 2^-32: the integer part is the place of the highest bit, each further bit comes from
/// squaring what remains, rounded down to 63 bits behind the point. Falls, or stays, as x grows.
fn loss(x: u64) -> u64 {
    let Some(whole) = x.checked_ilog2() else { return 64 << FRACTION };
    let mut rest = x << (63 - whole);
    let mut log = u64::from(whole);
    for _ in 0..FRACTION {
        // In [1, 4), with 126 bits behind the point.
        let square = u128::from(rest) * u128::from(rest);
        let doubled = square >> 127;
        log = log << 1 | u64::from(doubled != 0);
        rest = u64::try_from(if doubled != 0 { square >> 64 } else { square >> 63 }).unwrap_or(u64::MAX);
    }
    (64 << FRACTION) - log
}

#[cfg(test)]
mod tests;
