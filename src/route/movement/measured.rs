//! Real documents: what a change of tables moves, counted over measured hashes.
//!
//! Shares of the hash space say what to expect; documents have hot routing values and different sizes. Input: samples of
//! hash, documents and bytes, in any order, as a sidecar or a census gives them. Memory: one entry per pair of shards.

use std::collections::BTreeMap;

use crate::route::{HashTable, RoutingHash, ShardNumber};

/// Documents with one routing hash, or a single one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Their hash.
    pub hash: RoutingHash,
    /// How many.
    pub docs: u64,
    /// Their size.
    pub bytes: u64,
}

/// Documents and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Documents.
    pub docs: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Load {
    fn grow(&mut self, by: Load) {
        // Sums of what is on disk stay far below 2^64; what claims more is held at the limit.
        self.docs = self.docs.saturating_add(by.docs);
        self.bytes = self.bytes.saturating_add(by.bytes);
    }
}

/// Documents that go from one shard to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredFlow {
    /// Shard before.
    pub from: ShardNumber,
    /// Shard after; another one.
    pub to: ShardNumber,
    /// What goes.
    pub load: Load,
}

/// What a shard holds, gives and gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeLoad {
    /// Held before.
    pub before: Load,
    /// Held after.
    pub after: Load,
    /// Given to others.
    pub leaving: Load,
    /// Got from others.
    pub arriving: Load,
}

/// What a change of tables moves among measured documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    flows: BTreeMap<(ShardNumber, ShardNumber), Load>,
    nodes: BTreeMap<ShardNumber, NodeLoad>,
}

/// Counts `samples` by their shards under two tables.
///
/// Both tables must read the hash that the samples carry.
pub fn measure(before: &dyn HashTable, after: &dyn HashTable, samples: impl IntoIterator<Item = Sample>) -> Measured {
    let mut measured = Measured::between(before, after);
    for sample in samples {
        measured.add(
            before.shard(sample.hash),
            after.shard(sample.hash),
            Load { docs: sample.docs, bytes: sample.bytes },
        );
    }
    measured
}

impl Measured {
    /// Of no document yet.
    #[must_use]
    pub fn between(before: &dyn HashTable, after: &dyn HashTable) -> Measured {
        let shards = before.shards().into_iter().chain(after.shards());
        Measured { nodes: shards.map(|shard| (shard, NodeLoad::default())).collect(), ..Measured::default() }
    }

    /// Counts what is in shard `from` before and in shard `to` after.
    pub fn add(&mut self, from: ShardNumber, to: ShardNumber, load: Load) {
        let giver = self.nodes.entry(from).or_default();
        giver.before.grow(load);
        if from != to {
            giver.leaving.grow(load);
            self.flows.entry((from, to)).or_default().grow(load);
        }
        let getter = self.nodes.entry(to).or_default();
        getter.after.grow(load);
        if from != to {
            getter.arriving.grow(load);
        }
    }

    /// Adds what was measured elsewhere between the same tables.
    pub fn append(&mut self, other: &Measured) {
        for (&pair, &load) in &other.flows {
            self.flows.entry(pair).or_default().grow(load);
        }
        for (&shard, more) in &other.nodes {
            let node = self.nodes.entry(shard).or_default();
            node.before.grow(more.before);
            node.after.grow(more.after);
            node.leaving.grow(more.leaving);
            node.arriving.grow(more.arriving);
        }
    }

    /// What moves, by shard before and shard after, ascending.
    pub fn flows(&self) -> impl Iterator<Item = MeasuredFlow> + '_ {
        self.flows.iter().map(|(&(from, to), &load)| MeasuredFlow { from, to, load })
    }

    /// Every shard of both tables, ascending.
    pub fn nodes(&self) -> impl Iterator<Item = (ShardNumber, NodeLoad)> + '_ {
        self.nodes.iter().map(|(&shard, &load)| (shard, load))
    }

    /// All that moves.
    #[must_use]
    pub fn moved(&self) -> Load {
        sum(self.flows.values().copied())
    }

    /// All that was measured.
    #[must_use]
    pub fn total(&self) -> Load {
        sum(self.nodes.values().map(|node| node.before))
    }
}

fn sum(loads: impl Iterator<Item = Load>) -> Load {
    let mut total = Load::default();
    loads.for_each(|load| total.grow(load));
    total
}
