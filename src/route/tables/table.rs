//! A routing table of any kind.
//!
//! JSON: one key, which is the routing function, and the table in its own form:
//! `{"slots": {"format": 1, "slots": 8, "runs": […]}}`.

use serde::{Deserialize, Serialize};

use crate::route::solr::HashRanges;
use crate::route::{HashTable, Layout, RingTable, RoutingFunction, RoutingHash, ShardNumber, SlotTable};

/// Which shard of an index has which hashes, as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoutingTable {
    /// Ranges of Solr's compositeId hashes.
    Solr(HashRanges),
    /// Ranges of Solr's plain hashes.
    SolrPlain(HashRanges),
    /// Slots of Elasticsearch's hash.
    Slots(SlotTable),
    /// Arcs of Elasticsearch's hash.
    Ring(RingTable),
}

impl RoutingTable {
    /// The routing function that the table is for.
    #[must_use]
    pub fn function(&self) -> RoutingFunction {
        match self {
            RoutingTable::Solr(_) => RoutingFunction::Solr,
            RoutingTable::SolrPlain(_) => RoutingFunction::SolrPlain,
            RoutingTable::Slots(_) => RoutingFunction::Slots,
            RoutingTable::Ring(_) => RoutingFunction::Ring,
        }
    }

    /// Shard of a document. Arguments as for [`crate::route::Router::shard`].
    #[inline]
    #[must_use]
    pub fn shard(&self, hash: RoutingHash, partition_offset: i32) -> ShardNumber {
        let hash = hash.wrapping_add(partition_offset);
        match self {
            RoutingTable::Solr(table) | RoutingTable::SolrPlain(table) => table.shard(hash),
            RoutingTable::Slots(table) => table.shard(hash, 0),
            RoutingTable::Ring(table) => table.shard(hash),
        }
    }

    /// Shards, ascending.
    #[must_use]
    pub fn shards(&self) -> Vec<ShardNumber> {
        match self {
            RoutingTable::Solr(table) | RoutingTable::SolrPlain(table) => table.shards().collect(),
            RoutingTable::Slots(table) => table.shards().collect(),
            RoutingTable::Ring(table) => HashTable::shards(table),
        }
    }

    /// Number of shards.
    #[must_use]
    pub fn number_of_shards(&self) -> u32 {
        u32::try_from(self.shards().len()).unwrap_or(u32::MAX)
    }

    /// Slots of a table of slots: number_of_routing_shards of the index.
    #[must_use]
    pub fn slots(&self) -> Option<u32> {
        match self {
            RoutingTable::Slots(table) => Some(table.slots()),
            _ => None,
        }
    }

    /// What a shard has, in a few words: its range, or how many slots or which part of the ring.
    #[must_use]
    pub fn holding(&self, shard: ShardNumber) -> String {
        match self {
            RoutingTable::Solr(table) | RoutingTable::SolrPlain(table) => {
                table.range_of(shard).map_or_else(|| "no range".to_owned(), |range| range.to_string())
            }
            RoutingTable::Slots(table) => {
                let count = table.slots_of(shard).count();
                let of = table.slots();
                match (table.slots_of(shard).next(), table.slots_of(shard).last()) {
                    (Some(first), Some(last)) if first == last => format!("slot {first} of {of}"),
                    (Some(first), Some(last)) if (last - first) as usize + 1 == count => {
                        format!("slots {first} to {last} of {of}")
                    }
                    _ => format!("{count} of {of} slots"),
                }
            }
            RoutingTable::Ring(table) => {
                let shares = table.nodes().iter().zip(table.shares()).find(|(node, _)| node.shard == shard);
                shares.map_or_else(|| "no arc".to_owned(), |(node, share)| format!("node {}, {share}", node.name))
            }
        }
    }

    /// Last hash of each stretch of one shard and that shard, ascending as signed hashes; the last is the largest hash.
    /// `None` for slots, which do not lie in stretches.
    pub(super) fn stretches(&self) -> Option<Vec<(RoutingHash, ShardNumber)>> {
        const LAST_LOW: u32 = RoutingHash::MAX.cast_unsigned();
        match self {
            RoutingTable::Solr(table) | RoutingTable::SolrPlain(table) => {
                Some(table.ranges().iter().map(|entry| (entry.range.max_hash(), entry.shard)).collect())
            }
            RoutingTable::Slots(_) => None,
            RoutingTable::Ring(table) => {
                let Layout::Arcs(arcs) = table.layout() else { return None };
                // Arcs ascend as unsigned hashes: those from 2^31 on are the negative ones.
                let high = arcs.iter().filter(|arc| arc.end > LAST_LOW).map(|arc| (arc.end.cast_signed(), arc.shard));
                let low = arcs
                    .iter()
                    .filter(|arc| arc.start <= LAST_LOW)
                    .map(|arc| (arc.end.min(LAST_LOW).cast_signed(), arc.shard));
                Some(high.chain(low).collect())
            }
        }
    }
}
