//! Ketama, exactly as libketama (RJ/ketama, `libketama/ketama.c` at 18cf9a77) computes it.
//!
//! Server i of n takes part with `floor(weight / total · 40 · n)` MD5 sums of `label-0`, `label-1` …; each gives four
//! points, low byte first. The quotient is a C float, the products are doubles, the result is a float again. A key's
//! hash is the first four bytes of its MD5. It belongs to the first point at or after it.
//!
//! libketama sorts with `qsort` by point alone, so its order of equal points is undefined; here the lowest label owns
//! the point. Weights are relative: when one changes, every server's number of points may change. Ketama hashes keys
//! itself and has its own [`HashFunction`]; hash sidecars, which hold routing hashes, do not serve it.

use md5::{Digest, Md5};

use super::RingError;
use super::node::{self, Node};
use super::points::Points;
use crate::route::{HashFunction, HashTable, Layout, RoutingHash, ShardNumber, Share};

/// MD5 sums per server, on average.
const SUMS: f64 = 40.0;

/// Ketama's hash of a key: the first four bytes of the MD5 of its UTF-8, low byte first.
#[must_use]
pub fn ketama_hash(key: &str) -> RoutingHash {
    quarters(key).next().unwrap_or_default().cast_signed()
}

/// A ring of libketama.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ketama {
    nodes: Vec<Node>,
    points: Points,
}

impl Ketama {
    /// The ring of `nodes`, whose names are libketama's labels (`host:port`).
    ///
    /// # Errors
    /// [`RingError`] where the nodes do not make a ring; [`RingError::OwnsNothing`] where a weight is so small that
    /// libketama gives it no point.
    pub fn new(mut nodes: Vec<Node>) -> Result<Ketama, RingError> {
        node::check(&nodes)?;
        nodes.sort_by(|left, right| left.name.cmp(&right.name));
        let total: u64 = nodes.iter().map(|node| u64::from(node.weight)).sum();
        let mut points = Vec::new();
        for (place, node) in nodes.iter().enumerate() {
            let sums = sums(node.weight, total, nodes.len());
            let labels = (0..sums).map(|sum| format!("{}-{sum}", node.name));
            points.extend(labels.flat_map(|label| quarters(&label)).map(|point| (point, place, node.shard)));
        }
        points.sort_unstable();
        points.dedup_by_key(|&mut (point, ..)| point);
        let points = Points::new(points.into_iter().map(|(point, _, shard)| (point, shard)));
        match nodes.iter().zip(points.shares(&nodes)).find(|(_, share)| share.hashes() == 0) {
            Some((node, _)) => Err(RingError::OwnsNothing { name: node.name.clone(), weight: node.weight }),
            None => Ok(Ketama { nodes, points }),
        }
    }

    /// The nodes, by name.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Points, ascending, each with the shard that owns it.
    pub fn points(&self) -> impl Iterator<Item = (u32, ShardNumber)> + '_ {
        self.points.iter()
    }

    /// The point that a hash belongs to.
    #[must_use]
    pub fn point(&self, hash: RoutingHash) -> u32 {
        self.points.point(self.points.place(hash)).unwrap_or_default()
    }

    /// Exact share of each node, in the order of [`Ketama::nodes`].
    #[must_use]
    pub fn shares(&self) -> Vec<Share> {
        self.points.shares(&self.nodes)
    }

    /// Shard of a hash by [`ketama_hash`].
    #[inline]
    #[must_use]
    pub fn shard(&self, hash: RoutingHash) -> ShardNumber {
        self.points.shard(hash)
    }
}

impl HashTable for Ketama {
    fn shard(&self, hash: RoutingHash) -> ShardNumber {
        Ketama::shard(self, hash)
    }

    fn shards(&self) -> Vec<ShardNumber> {
        node::shards(&self.nodes)
    }

    fn layout(&self) -> Layout {
        Layout::Arcs(self.points.arcs())
    }

    fn hash_function(&self) -> HashFunction {
        HashFunction::Md5Ketama
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "libketama rounds to floats; the result is positive and at most 40 sums for each of 65,534 nodes"
)]
fn sums(weight: u32, total: u64, nodes: usize) -> u32 {
    let part = weight as f32 / total as f32;
    (f64::from(part) * SUMS * nodes as f64) as f32 as u32
}

/// The MD5 of a text as four numbers, low byte first.
fn quarters(text: &str) -> impl Iterator<Item = u32> + use<> {
    let sum: [u8; 16] = Md5::digest(text.as_bytes()).into();
    let (quarters, _) = sum.as_chunks::<4>();
    let [first, second, third, fourth] = match quarters {
        [a, b, c, d] => [*a, *b, *c, *d],
        _ => [[0; 4]; 4],
    };
    [first, second, third, fourth].into_iter().map(u32::from_le_bytes)
}
