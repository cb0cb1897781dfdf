//! Points on the circle, and the look-up that every ring shares.
//!
//! Input: ascending points with the place of their owner. A hash belongs to the first point at or after it; behind the
//! last point comes the first. Invariants: at least one point; points ascend and differ.
//!
//! Look-up: the top bits of the hash choose a bucket of about three points, which are counted without a branch (or
//! halved, where there are many). A point and its shard lie together, so that a look-up touches two cache lines. Cost:
//! 9 to 10 bytes per point.

use super::node::Node;
use crate::route::hash_table::{HASHES, HashArc, push_arc};
use crate::route::{RoutingHash, ShardNumber, Share};

/// Buckets of so many points are scanned, larger ones halved: points of a damaged or odd table may all lie together.
const SCANNED: usize = 8;

/// Sorted points with an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Points {
    points: Vec<Point>,
    /// For each value of the top bits, the first point at or after its hashes; one more at the end.
    starts: Vec<u32>,
    shift: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Point {
    at: u32,
    shard: ShardNumber,
}

impl Points {
    /// `sorted`: points ascending, at least one, each with its shard; at most 2^24 of them.
    pub(super) fn new(sorted: impl Iterator<Item = (u32, ShardNumber)>) -> Points {
        let points: Vec<Point> = sorted.map(|(at, shard)| Point { at, shard }).collect();
        let bits = (points.len() / 2).next_power_of_two().trailing_zeros().clamp(2, 24) - 1;
        let shift = u32::BITS - bits;
        let buckets = 1usize << bits;
        let mut starts = Vec::with_capacity(buckets + 1);
        let mut place = 0u32;
        let mut rest = points.iter().peekable();
        for bucket in 0..buckets {
            while rest.next_if(|point| ((point.at >> shift) as usize) < bucket).is_some() {
                place += 1;
            }
            starts.push(place);
        }
        starts.push(place + u32::try_from(rest.count()).unwrap_or(0));
        Points { points, starts, shift }
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    /// Place of the point that a hash belongs to.
    #[inline]
    pub(super) fn place(&self, hash: RoutingHash) -> usize {
        let hash = hash.cast_unsigned();
        let bucket = (hash >> self.shift) as usize;
        let (Some(&start), Some(&end)) = (self.starts.get(bucket), self.starts.get(bucket + 1)) else { return 0 };
        let (start, end) = (start as usize, end as usize);
        let Some(bucket) = self.points.get(start..end) else { return 0 };
        let before = if bucket.len() <= SCANNED {
            bucket.iter().filter(|point| point.at < hash).count()
        } else {
            bucket.partition_point(|point| point.at < hash)
        };
        let place = start + before;
        if place == self.points.len() { 0 } else { place }
    }

    /// Shard of a hash.
    #[inline]
    pub(super) fn shard(&self, hash: RoutingHash) -> ShardNumber {
        self.points.get(self.place(hash)).map_or(0, |point| point.shard)
    }

    /// Points with their shards, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, ShardNumber)> + '_ {
        self.points.iter().map(|point| (point.at, point.shard))
    }

    pub(super) fn point(&self, place: usize) -> Option<u32> {
        self.points.get(place).map(|point| point.at)
    }

    /// Exact share of each node, in the order of `nodes`.
    pub(super) fn shares(&self, nodes: &[Node]) -> Vec<Share> {
        let mut by_shard: Vec<(ShardNumber, u64)> = nodes.iter().map(|node| (node.shard, 0)).collect();
        by_shard.sort_unstable();
        for arc in self.arcs() {
            if let Ok(place) = by_shard.binary_search_by_key(&arc.shard, |&(shard, _)| shard)
                && let Some((_, hashes)) = by_shard.get_mut(place)
            {
                *hashes += u64::from(arc.end - arc.start) + 1;
            }
        }
        let share = |node: &Node| by_shard.binary_search_by_key(&node.shard, |&(shard, _)| shard).ok();
        nodes.iter().map(|node| share(node).and_then(|place| by_shard.get(place))).map(share_of).collect()
    }

    /// The arcs of the circle, cut at 0: each point has the hashes behind the point before it.
    pub(super) fn arcs(&self) -> Vec<HashArc> {
        let mut arcs = Vec::new();
        let mut start = 0u64;
        // Behind the last point comes the first.
        let wrapped = self.points.first().map(|first| (u32::MAX, first.shard));
        for (end, shard) in self.iter().chain(wrapped) {
            if let Ok(first) = u32::try_from(start)
                && first <= end
            {
                push_arc(&mut arcs, HashArc { start: first, end, shard });
            }
            start = u64::from(end) + 1;
        }
        debug_assert_eq!(start, HASHES);
        arcs
    }
}

fn share_of(found: Option<&(ShardNumber, u64)>) -> Share {
    Share::of_hashes(found.map_or(0, |&(_, hashes)| hashes))
}
