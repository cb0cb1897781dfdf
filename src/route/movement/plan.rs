//! The plan: who gives what to whom, and how far that is from the least possible.

use std::collections::BTreeMap;

use super::count::{self, Method, Pairs};
use crate::route::{HashFunction, HashTable, ShardNumber, Share};

/// The two tables read different hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a table of {before} cannot be compared with a table of {after}; compare tables of one hash")]
pub struct Incomparable {
    /// Hash of the table before.
    pub before: HashFunction,
    /// Hash of the table after.
    pub after: HashFunction,
}

/// What moves from one shard to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Shard before.
    pub from: ShardNumber,
    /// Shard after; another one.
    pub to: ShardNumber,
    /// Part of the hash space.
    pub share: Share,
}

/// An arc that moves: the hashes `start..=end`, read as unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedArc {
    /// First hash.
    pub start: u32,
    /// Last hash.
    pub end: u32,
    /// Shard before.
    pub from: ShardNumber,
    /// Shard after; another one.
    pub to: ShardNumber,
}

/// The difference between two tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Movement {
    method: Method,
    flows: Vec<Flow>,
    arcs: Option<Vec<MovedArc>>,
    before: BTreeMap<ShardNumber, u64>,
    after: BTreeMap<ShardNumber, u64>,
}

impl Movement {
    /// Compares two tables.
    ///
    /// # Errors
    /// [`Incomparable`] where they read different hashes.
    pub fn between(before: &dyn HashTable, after: &dyn HashTable) -> Result<Movement, Incomparable> {
        if before.hash_function() != after.hash_function() {
            return Err(Incomparable { before: before.hash_function(), after: after.hash_function() });
        }
        let (method, pairs, stretches) = count::count(before, after);
        let arcs = stretches.map(|stretches| {
            let moved = stretches.into_iter().filter(|part| part.from != part.to);
            moved.map(|part| MovedArc { start: part.start, end: part.end, from: part.from, to: part.to }).collect()
        });
        let moved = pairs.iter().filter(|&(&(from, to), _)| from != to);
        Ok(Movement {
            method,
            flows: moved.map(|(&(from, to), &size)| Flow { from, to, share: Share::of_hashes(size) }).collect(),
            arcs,
            before: shares(before, &pairs, |(from, _)| from),
            after: shares(after, &pairs, |(_, to)| to),
        })
    }

    /// Whether the shares are exact.
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// What moves, by shard before and shard after, ascending.
    #[must_use]
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// The arcs that move, ascending, as long as can be. `None` where a table is not made of arcs.
    #[must_use]
    pub fn arcs(&self) -> Option<&[MovedArc]> {
        self.arcs.as_deref()
    }

    /// Part of the hash space that moves.
    #[must_use]
    pub fn moved(&self) -> Share {
        self.flows.iter().map(|flow| flow.share).sum()
    }

    /// The least that any table with the new shares would move: the sum of what shards gain.
    #[must_use]
    pub fn optimum(&self) -> Share {
        self.least(self.after.iter().map(|(&shard, &size)| (shard, size)))
    }

    /// The least that a table with exactly the `wanted` shares would move. Shards that are not named want nothing.
    #[must_use]
    pub fn optimum_for(&self, wanted: &[(ShardNumber, Share)]) -> Share {
        self.least(wanted.iter().map(|&(shard, share)| (shard, share.hashes())))
    }

    fn least(&self, wanted: impl Iterator<Item = (ShardNumber, u64)>) -> Share {
        let had = |shard| self.before.get(&shard).copied().unwrap_or(0);
        Share::of_hashes(wanted.map(|(shard, size)| size.saturating_sub(had(shard))).sum())
    }

    /// Share of each shard before, ascending, also of those that own nothing.
    pub fn before(&self) -> impl Iterator<Item = (ShardNumber, Share)> + '_ {
        self.before.iter().map(|(&shard, &size)| (shard, Share::of_hashes(size)))
    }

    /// Share of each shard after, ascending, also of those that own nothing.
    pub fn after(&self) -> impl Iterator<Item = (ShardNumber, Share)> + '_ {
        self.after.iter().map(|(&shard, &size)| (shard, Share::of_hashes(size)))
    }
}

fn shares(
    table: &dyn HashTable,
    pairs: &Pairs,
    side: impl Fn((ShardNumber, ShardNumber)) -> ShardNumber,
) -> BTreeMap<ShardNumber, u64> {
    let mut shares: BTreeMap<_, _> = table.shards().into_iter().map(|shard| (shard, 0)).collect();
    for (&pair, &size) in pairs {
        *shares.entry(side(pair)).or_default() += size;
    }
    shares
}
