//! Where one key is, step by step: its hash, the slot, range or point that the hash belongs to, the shard, the node.
//!
//! For people who ask by hand, and programs that explain; whoever routes many documents calls [`Router::shard`].

use serde::Serialize;

use super::solr::HashRange;
use super::{HashTable, RingTable, Router, RoutingHash, RoutingTable, ShardNumber, partition_offset};

/// Where a key is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The key: an id.
    pub key: String,
    /// Hash of the routing value, or else of the key.
    pub hash: RoutingHash,
    /// What is added to the hash where routing values spread over several shards; else 0.
    pub partition_offset: i32,
    /// What the hash belongs to; `None` under plain modulo, where it is the shard itself.
    #[serde(flatten)]
    pub cell: Option<Cell>,
    /// The shard.
    pub shard: ShardNumber,
    /// Name of the node, under a ring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// The part of the hash space that a hash belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// One of many slots: `floorMod(hash + partition_offset, slots)`.
    Slot {
        /// The slot.
        slot: u32,
        /// Slots, or number_of_routing_shards.
        slots: u32,
    },
    /// A range of hashes.
    Range {
        /// The range.
        range: HashRange,
    },
    /// The first point of a ring at or after the hash, read as unsigned; behind the last comes the first.
    Point {
        /// The point, or token.
        point: u32,
        /// Number of the virtual node that stands there, in a classic ring.
        #[serde(skip_serializing_if = "Option::is_none")]
        virtual_node: Option<u32>,
    },
}

impl Router {
    /// Where the document with the id `key` is. `routing`: its custom routing value, if it has one.
    #[must_use]
    pub fn locate(&self, key: &str, routing: Option<&str>, routing_partition_size: u32) -> Location {
        let hash_of = self.hash_function().of_key();
        let (hash, offset) = (hash_of(routing.unwrap_or(key)), partition_offset(hash_of(key), routing_partition_size));
        let shard = Router::shard(self, hash, offset);
        let cell = match self {
            Router::Elasticsearch(router) => {
                Some(Cell::Slot { slot: router.slot(hash, offset), slots: router.number_of_routing_shards() })
            }
            Router::Modulo(_) => None,
            Router::Table(table) => cell(table, hash, offset),
        };
        let node = match self {
            Router::Table(table) => match &**table {
                RoutingTable::Ring(ring) => ring.node(shard).map(|node| node.name.clone()),
                _ => None,
            },
            _ => None,
        };
        Location { key: key.to_owned(), hash, partition_offset: offset, cell, shard, node }
    }
}

fn cell(table: &RoutingTable, hash: RoutingHash, offset: i32) -> Option<Cell> {
    match table {
        RoutingTable::Slots(table) => Some(Cell::Slot { slot: table.slot(hash, offset), slots: table.slots() }),
        RoutingTable::Solr(table) | RoutingTable::SolrPlain(table) => {
            let hash = hash.wrapping_add(offset);
            let range = table.ranges().iter().map(|entry| entry.range).find(|range| range.contains(hash))?;
            Some(Cell::Range { range })
        }
        RoutingTable::Ring(RingTable::Ring(ring)) => {
            let (point, number) = ring.point(hash.wrapping_add(offset));
            Some(Cell::Point { point, virtual_node: Some(number) })
        }
        RoutingTable::Ring(RingTable::Planned(ring)) => {
            Some(Cell::Point { point: ring.token(hash.wrapping_add(offset)), virtual_node: None })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::route::solr::{HashRanges, Rounding};
    use crate::route::{
        CollisionRule, Elasticsearch, ElasticsearchModulo, Node, PlannedRing, Ring, SlotTable, routing_hash,
    };

    #[test]
    fn what_is_shown_leads_to_the_shard() {
        let nodes = || vec![Node::new("a", 3, 0), Node::new("b", 2, 7)];
        let ring = Ring::new(nodes(), CollisionRule::LowestName).unwrap();
        let planned = PlannedRing::new(nodes(), 8).unwrap();
        let tables = [
            RoutingTable::Slots(SlotTable::even(4, 64).unwrap()),
            RoutingTable::Solr(HashRanges::even(3, Rounding::PrefixGroups).unwrap()),
            RoutingTable::Ring(RingTable::Ring(ring.clone())),
            RoutingTable::Ring(RingTable::Planned(planned.clone())),
        ];
        let mut routers: Vec<Router> = tables.into_iter().map(|table| Router::Table(Arc::new(table))).collect();
        routers.push(Router::Elasticsearch(Elasticsearch::new(4, 64).unwrap()));
        routers.push(Router::Modulo(ElasticsearchModulo::new(5).unwrap()));
        for router in &routers {
            for key in (0..200).map(|nth| format!("key-{nth}")) {
                let found = router.locate(&key, None, 1);
                assert_eq!(found.shard, Router::shard(router, found.hash, 0));
                match (router, found.cell) {
                    (Router::Modulo(_), None) => {}
                    (Router::Elasticsearch(_), Some(Cell::Slot { slot, .. })) => assert_eq!(slot / 16, found.shard),
                    (Router::Table(table), Some(cell)) => match (&**table, cell) {
                        (RoutingTable::Slots(table), Cell::Slot { slot, slots: 64 }) => {
                            assert_eq!(table.owners()[slot as usize], found.shard);
                        }
                        (RoutingTable::Solr(table), Cell::Range { range }) => {
                            assert_eq!(table.range_of(found.shard), Some(range));
                        }
                        (RoutingTable::Ring(table), Cell::Point { point, virtual_node }) => {
                            assert!(table.points().contains(&(point, found.shard)));
                            let node = table.node(found.shard).unwrap();
                            assert_eq!(found.node.as_ref(), Some(&node.name));
                            if let Some(number) = virtual_node {
                                let hash = routing_hash(&format!("{}#VN{number}", node.name));
                                assert_eq!(hash.cast_unsigned(), point);
                            }
                        }
                        other => panic!("{other:?}"),
                    },
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    #[test]
    fn a_routing_value_decides_and_a_partition_spreads_it() {
        let router = Router::Elasticsearch(Elasticsearch::new(4, 64).unwrap());
        let (plain, routed) = (router.locate("doc", None, 1), router.locate("doc", Some("team"), 1));
        assert_eq!((plain.hash, routed.hash), (routing_hash("doc"), routing_hash("team")));
        let spread = router.locate("doc", Some("team"), 40);
        assert_eq!(spread.partition_offset, routing_hash("doc").rem_euclid(40));
        assert_eq!(spread.shard, Router::shard(&router, spread.hash, spread.partition_offset));
    }
}
