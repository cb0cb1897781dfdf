//! What every routing table has in common: a function from the 32-bit hash space to shard numbers.
//!
//! Two tables can be compared ([`super::movement`]) when they read the same hash. How exactly depends on their
//! [`Layout`]: a ring cuts the space into arcs, a modulus into residue classes, jump and rendezvous scatter it.
//!
//! Order of the space: hashes are Java `int`s; rings read them as unsigned, so the arc after 2^31 - 1 is -2^31.

use std::fmt;
use std::iter::Sum;

use super::solr::{composite_id_hash, plain_id_hash};
use super::{
    Elasticsearch, ElasticsearchModulo, Router, RoutingHash, RoutingTable, ShardNumber, ketama_hash, routing_hash,
};

/// Hashes in the space: 2^32.
pub const HASHES: u64 = 1 << 32;

/// The hash that a table reads. Tables of different hashes cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashFunction {
    /// [`super::routing_hash`]: murmur3 x86 32-bit, seed 0, over UTF-16 LE.
    Murmur3Utf16,
    /// [`super::solr::composite_id_hash`]: murmur3 x86 32-bit, seed 0, over UTF-8, of the parts of an id.
    SolrCompositeId,
    /// [`super::solr::plain_id_hash`]: murmur3 x86 32-bit, seed 0, over UTF-8.
    SolrPlainId,
    /// [`super::ketama_hash`]: the first four bytes of MD5 over UTF-8, low byte first.
    Md5Ketama,
}

impl HashFunction {
    /// The function itself.
    #[must_use]
    pub fn of_key(self) -> fn(&str) -> RoutingHash {
        match self {
            HashFunction::Murmur3Utf16 => routing_hash,
            HashFunction::SolrCompositeId => composite_id_hash,
            HashFunction::SolrPlainId => plain_id_hash,
            HashFunction::Md5Ketama => ketama_hash,
        }
    }

    /// Its name: part of the format of hash sidecars, and never used for another function.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            HashFunction::Murmur3Utf16 => "murmur3-x86-32 utf-16le",
            HashFunction::SolrCompositeId => "murmur3-x86-32 utf-8 composite-id",
            HashFunction::SolrPlainId => "murmur3-x86-32 utf-8",
            HashFunction::Md5Ketama => "md5-ketama utf-8",
        }
    }
}

impl fmt::Display for HashFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HashFunction::Murmur3Utf16 => "murmur3 x86 32-bit over UTF-16 LE",
            HashFunction::SolrCompositeId => "Solr's compositeId hash",
            HashFunction::SolrPlainId => "murmur3 x86 32-bit over UTF-8",
            HashFunction::Md5Ketama => "ketama's MD5 over UTF-8",
        })
    }
}

/// How a table lays shards over the hash space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Disjoint arcs in ascending order that cover the space; neighbours have different shards.
    Arcs(Vec<HashArc>),
    /// The shard depends on `floorMod(hash, modulus)` alone.
    Residues {
        /// The modulus; at least 1.
        modulus: u32,
    },
    /// Neither: the function must be asked hash by hash.
    Scattered,
}

/// The hashes `start..=end`, read as unsigned, and their shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashArc {
    /// First hash.
    pub start: u32,
    /// Last hash; at least `start`.
    pub end: u32,
    /// Their shard.
    pub shard: ShardNumber,
}

/// Appends `next`, which starts where `arcs` end, and keeps neighbours of one shard together.
pub(super) fn push_arc(arcs: &mut Vec<HashArc>, next: HashArc) {
    match arcs.last_mut() {
        Some(last) if last.shard == next.shard => last.end = next.end,
        _ => arcs.push(next),
    }
}

/// A part of the hash space, exact: so many of 2^32 hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u64);

impl Share {
    /// `hashes` of 2^32.
    #[must_use]
    pub fn of_hashes(hashes: u64) -> Share {
        Share(hashes)
    }

    /// Hashes of 2^32.
    #[must_use]
    pub fn hashes(self) -> u64 {
        self.0
    }

    /// Between 0 and 1. Exact: 33 bits fit an f64.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "at most 2^32, which an f64 holds exactly")]
    pub fn ratio(self) -> f64 {
        self.0 as f64 / HASHES as f64
    }
}

impl Sum for Share {
    fn sum<I: Iterator<Item = Share>>(shares: I) -> Share {
        Share(shares.map(|share| share.0).sum())
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} %", self.ratio() * 100.0)
    }
}

/// A routing table: a pure function from hash to shard.
pub trait HashTable {
    /// Shard of a hash.
    fn shard(&self, hash: RoutingHash) -> ShardNumber;

    /// Every shard that the table knows, ascending, also those that own nothing.
    fn shards(&self) -> Vec<ShardNumber>;

    /// How the shards lie in the hash space.
    fn layout(&self) -> Layout {
        Layout::Scattered
    }

    /// The hash that [`HashTable::shard`] expects.
    fn hash_function(&self) -> HashFunction {
        HashFunction::Murmur3Utf16
    }
}

/// Of an index whose routing_partition_size is 1: the partition offset is 0.
impl HashTable for Elasticsearch {
    fn shard(&self, hash: RoutingHash) -> ShardNumber {
        Elasticsearch::shard(self, hash, 0)
    }

    fn shards(&self) -> Vec<ShardNumber> {
        (0..self.number_of_shards()).collect()
    }

    fn layout(&self) -> Layout {
        Layout::Residues { modulus: self.number_of_routing_shards() }
    }
}

/// Of an index whose routing_partition_size is 1: the partition offset is 0.
impl HashTable for ElasticsearchModulo {
    fn shard(&self, hash: RoutingHash) -> ShardNumber {
        ElasticsearchModulo::shard(self, hash, 0)
    }

    fn shards(&self) -> Vec<ShardNumber> {
        (0..self.number_of_shards()).collect()
    }

    fn layout(&self) -> Layout {
        Layout::Residues { modulus: self.number_of_shards() }
    }
}

/// Of an index whose routing_partition_size is 1: the partition offset is 0.
impl HashTable for Router {
    fn shard(&self, hash: RoutingHash) -> ShardNumber {
        Router::shard(self, hash, 0)
    }

    fn shards(&self) -> Vec<ShardNumber> {
        match self {
            Router::Elasticsearch(router) => router.shards(),
            Router::Modulo(router) => router.shards(),
            Router::Table(table) => table.shards(),
        }
    }

    fn layout(&self) -> Layout {
        match self {
            Router::Elasticsearch(router) => router.layout(),
            Router::Modulo(router) => router.layout(),
            Router::Table(table) => table.layout(),
        }
    }

    fn hash_function(&self) -> HashFunction {
        match self {
            Router::Elasticsearch(router) => router.hash_function(),
            Router::Modulo(router) => router.hash_function(),
            Router::Table(table) => table.hash_function(),
        }
    }
}

/// Of an index whose routing_partition_size is 1: the partition offset is 0.
impl HashTable for RoutingTable {
    fn shard(&self, hash: RoutingHash) -> ShardNumber {
        RoutingTable::shard(self, hash, 0)
    }

    fn shards(&self) -> Vec<ShardNumber> {
        RoutingTable::shards(self)
    }

    fn layout(&self) -> Layout {
        match self {
            RoutingTable::Solr(table) | RoutingTable::SolrPlain(table) => {
                let mut arcs = Vec::new();
                // Signed ranges; arcs ascend as unsigned hashes, so those from 0 on come first.
                let below = table.ranges().iter().filter_map(|entry| Some((entry, entry.range.negative()?)));
                let above = table.ranges().iter().filter_map(|entry| Some((entry, entry.range.non_negative()?)));
                for (entry, (min, max)) in above.chain(below) {
                    let (start, end) = (min.cast_unsigned(), max.cast_unsigned());
                    push_arc(&mut arcs, HashArc { start, end, shard: entry.shard });
                }
                Layout::Arcs(arcs)
            }
            RoutingTable::Slots(table) => Layout::Residues { modulus: table.slots() },
            RoutingTable::Ring(table) => table.layout(),
        }
    }

    fn hash_function(&self) -> HashFunction {
        self.function().hash_function()
    }
}
