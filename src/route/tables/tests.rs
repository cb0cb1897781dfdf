//! Splits by tables, against a look-up in each table hash by hash.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::route::slots::SlotTable;
use crate::route::solr::{HashRanges, PrefixHistogram, Rounding, SplitFuzz};
use crate::route::{
    HashTable, Layout, Node, Operation, PlannedRing, Resize, RingTable, RouteError, RoutingHash, STRAY, ShardNumber,
    SplitRouting, routing_hash,
};

fn slots(owners: &[ShardNumber]) -> RoutingTable {
    RoutingTable::Slots(SlotTable::new(owners.to_vec()).unwrap())
}

fn solr(shards: u32) -> RoutingTable {
    RoutingTable::Solr(HashRanges::even(shards, Rounding::Exact).unwrap())
}

fn ring(nodes: u32) -> RoutingTable {
    let nodes = (0..nodes).map(|shard| Node { name: format!("node-{shard}"), weight: 1 + shard, shard }).collect();
    RoutingTable::Ring(RingTable::Planned(PlannedRing::new(nodes, 8).unwrap()))
}

fn spec(table: RoutingTable, source_shard: ShardNumber, cut: Cut) -> TableSpec {
    TableSpec { table, source_shard, cut, routing_partition_size: 1 }
}

/// Hashes where stretches of `tables` begin and end, and the ends of all numbers.
fn edges(tables: &[&RoutingTable]) -> Vec<RoutingHash> {
    let mut hashes = vec![RoutingHash::MIN, -1025, -1, 0, 1, 7, 1024, RoutingHash::MAX];
    for table in tables {
        if let Layout::Arcs(arcs) = table.layout() {
            hashes.extend(arcs.iter().flat_map(|arc| [arc.start, arc.end]).map(u32::cast_signed));
        }
    }
    hashes
}

/// Every way to route gives what the two tables say.
fn check(split: &TableSplit, hashes: &[RoutingHash]) {
    let routing = SplitRouting::by_tables(split.clone()).unwrap();
    let (before, after) = (split.before(), split.after());
    let mut children = vec![0; hashes.len()];
    for source in [None].into_iter().chain((0..split.sources().len()).map(Some)) {
        routing.bulk(source).children(hashes, &mut children);
        for (&hash, &child) in hashes.iter().zip(&children) {
            let owner = before.shard(hash, 0);
            let own = match source {
                Some(source) => split.sources()[source] == owner,
                None => split.sources().contains(&owner),
            };
            let expected = if own { Ok(after.shard(hash, 0)) } else { Err(owner) };
            let single = match source {
                Some(source) => routing.child_from(source, hash, 0),
                None => routing.child_of(hash, 0),
            };
            assert_eq!(single.map(|child| split.children()[child]), expected, "{hash} {source:?}");
            let bulk = (child != STRAY).then(|| split.children()[child as usize]);
            assert_eq!(bulk, expected.ok(), "{hash} {source:?}");
        }
    }
    let json = serde_json::to_string(split).unwrap();
    assert_eq!(&serde_json::from_str::<TableSplit>(&json).unwrap(), split);
}

#[test]
fn the_example_of_eight_slots_and_two_shards_takes_the_next_free_number() {
    let table = SlotTable::even(2, 8).unwrap();
    let hot = spec(RoutingTable::Slots(table), 1, Cut::Even(2)).resolve(None).unwrap();
    assert_eq!(**hot.after(), slots(&[0, 0, 0, 0, 1, 1, 2, 2]));
    assert_eq!((hot.children(), hot.others()), (&[1, 2][..], vec![0]));
    let cold = spec((**hot.after()).clone(), 0, Cut::Even(2)).resolve(None).unwrap();
    assert_eq!(**cold.after(), slots(&[0, 0, 3, 3, 1, 1, 2, 2]));
    let json = serde_json::to_string(&hot).unwrap();
    assert!(json.contains(r#""before":{"slots":{"format":1,"slots":8,"#), "{json}");
}

#[test]
fn what_stands_in_json_is_checked_when_it_is_read() {
    let split = spec(slots(&[0, 1, 0, 1]), 1, Cut::MoveSlots(vec![3])).resolve(None).unwrap();
    let json = serde_json::to_string(&split).unwrap();
    for (from, to, words) in [
        ("\"sources\":[1]", "\"sources\":[7]", "has no shard 7"),
        ("\"sources\":[1]", "\"sources\":[]", "has no shard"),
        ("\"sources\":[1]", "\"sources\":[0,1]", "of several shards all documents must go to one"),
        ("size\":1", "size\":4", "routing_partition_size 4"),
        ("\"first\":3,\"last\":3", "\"first\":3,\"last\":4", "5 slots"),
    ] {
        let changed = json.replace(from, to);
        assert_ne!(changed, json, "{from}");
        let error = serde_json::from_str::<TableSplit>(&changed).unwrap_err().to_string();
        assert!(error.contains(words), "{changed}: {error}");
    }
}

#[test]
fn a_key_moves_with_all_the_slots_it_spreads_over() {
    let table = slots(&[0; 16]);
    let key = "tenant";
    let first = routing_hash(key).rem_euclid(16);
    for size in [1, 3] {
        let moved = TableSpec { routing_partition_size: size, ..spec(table.clone(), 0, Cut::MoveKey(key.to_owned())) };
        let after = moved.resolve(None).unwrap();
        let expected: Vec<ShardNumber> =
            (0..16).map(|slot: i32| u32::from((slot - first).rem_euclid(16) < size.cast_signed())).collect();
        assert_eq!(**after.after(), slots(&expected), "{size}");
    }
}

#[test]
fn numbers_that_were_left_out_are_taken_where_there_are_no_larger_ones() {
    let last = ShardNumber::MAX;
    let split = spec(slots(&[last, last, 0, last]), last, Cut::Weights(vec![1, 1, 1])).resolve(None).unwrap();
    assert_eq!(**split.after(), slots(&[last, 1, 0, 2]));
    let split = spec(slots(&[1, 1, last - 1]), 1, Cut::Even(2)).resolve(None).unwrap();
    assert_eq!(**split.after(), slots(&[1, last, last - 1]));
}

#[test]
fn cuts_of_another_kind_and_cuts_without_their_loads_are_refused() {
    let refused = |table, cut| spec(table, 0, cut).resolve(None).unwrap_err();
    for (table, cut) in [
        (solr(2), Cut::Even(2)),
        (solr(2), Cut::MoveKey("a".to_owned())),
        (slots(&[0, 0]), Cut::SubShards(2, SplitFuzz::default())),
        (slots(&[0, 0]), Cut::Key("a!".to_owned())),
        (ring(2), Cut::Even(2)),
        (RoutingTable::SolrPlain(HashRanges::even(1, Rounding::Exact).unwrap()), Cut::Prefixes(2)),
    ] {
        assert!(matches!(refused(table, cut), RouteError::OtherCut { .. }));
    }
    assert!(matches!(refused(solr(1), Cut::Prefixes(2)), RouteError::NotMeasured { .. }));
    assert!(matches!(refused(slots(&[0, 0]), Cut::Balanced(2, Load::Docs)), RouteError::NotMeasured { .. }));
    assert!(matches!(refused(solr(1), Cut::To(slots(&[0]))), RouteError::OtherTable { .. }));
    assert!(matches!(refused(slots(&[0, 0]), Cut::To(slots(&[0; 4]))), RouteError::OtherTable { .. }));
    let nothing = Measured::Prefixes(PrefixHistogram::new());
    let error = spec(solr(1), 0, Cut::Prefixes(2)).resolve(Some(&nothing)).unwrap_err();
    assert!(matches!(error, RouteError::Ranges(_)), "{error}");
}

#[test]
fn whole_indexes_are_cut_joined_and_related_part_by_part() {
    for before in [slots(&[4, 4, 4, 9, 9, 9, 9, 9]), solr(3)] {
        let before = Arc::new(before);
        let number = before.number_of_shards();
        let split = Resize::split_table(&before, 1, 2).unwrap();
        assert_eq!(split.parts().len(), number as usize);
        assert_eq!(split.shards_after().len(), 2 * number as usize);
        let after = split.table_after().unwrap();
        assert_eq!(Resize::between_tables(&before, after, 1).unwrap(), split);
        let merged = Resize::merge_table(after, 1, number).unwrap();
        assert_eq!(merged.shards_after(), (0..number).collect::<Vec<_>>());
        for part in merged.parts().iter().chain(split.parts()) {
            check(part.tables().unwrap(), &edges(&[&before, after]));
        }
        let cloned = Resize::clone_table(&before, 1).unwrap();
        assert!(cloned.parts().iter().all(|part| part.sources() == part.children()));
        assert!(matches!(Resize::merge_table(&before, 1, number), Err(RouteError::Merge { .. })));
    }
    let ring = Arc::new(ring(3));
    assert!(matches!(Resize::split_table(&ring, 1, 2), Err(RouteError::WholeTable { .. })));
    assert!(matches!(Resize::merge_table(&ring, 1, 1), Err(RouteError::WholeTable { .. })));
    assert_eq!(Resize::clone_table(&ring, 1).unwrap().parts().len(), 3);
    let crossed = Resize::between_tables(&Arc::new(slots(&[0, 0, 1, 1])), &Arc::new(slots(&[0, 1, 1, 0])), 1).unwrap();
    assert_eq!((crossed.operation(), crossed.parts().len()), (Operation::Move, 1));
    // One shard is split while two others go together.
    let both = Resize::between_tables(&Arc::new(slots(&[0, 0, 1, 2])), &Arc::new(slots(&[3, 4, 5, 5])), 1).unwrap();
    let parts: Vec<_> = both.parts().iter().map(|part| (part.sources().to_vec(), part.children().to_vec())).collect();
    assert_eq!(parts, [(vec![0], vec![3, 4]), (vec![1, 2], vec![5])]);
}

#[test]
fn from_ring_to_ring_all_shards_go_together_and_keep_what_they_have_under_both() {
    for (before, after) in [(ring(3), ring(4)), (ring(4), ring(3)), (ring(1), ring(2))] {
        let (before, after) = (Arc::new(before), Arc::new(after));
        let resize = Resize::between_tables(&before, &after, 1).unwrap();
        assert_eq!(resize, Resize::moved(&before, &after, 1).unwrap());
        let [part] = resize.parts() else { panic!("one part") };
        assert!(part.moves());
        assert_eq!((part.sources(), part.children()), (before.shards().as_slice(), after.shards().as_slice()));
        let split = part.tables().unwrap();
        check(split, &edges(&[&before, &after]));
        for hash in edges(&[&before, &after]) {
            let (from, to) = (before.shard(hash, 0), after.shard(hash, 0));
            let source = part.sources().binary_search(&from).unwrap();
            let child = part.child_from(source, hash, 0).unwrap();
            assert_eq!(part.stays(source, child), from == to);
            for other in (0..part.sources().len()).filter(|other| *other != source) {
                let refused = part.child_from(other, hash, 0);
                assert!(part.sources().len() == 1 || refused == Err(from));
            }
        }
        let json = serde_json::to_value(split).unwrap();
        assert_eq!(json["moves"], true);
        assert_eq!(serde_json::from_value::<TableSplit>(json.clone()).unwrap(), *split);
        let mut fewer = json;
        fewer["sources"] = serde_json::json!([]);
        assert!(serde_json::from_value::<TableSplit>(fewer).is_err());
    }
    // What splits one shard says nothing of moves, and is read as before.
    let alone = serde_json::to_value(spec(ring(2), 0, Cut::To(ring(3))).resolve(None).unwrap()).unwrap();
    assert_eq!(alone.get("moves"), None);
}

#[test]
fn a_ring_says_who_else_gives_documents_to_the_children() {
    let (before, after) = (ring(3), ring(4));
    for shard in before.shards() {
        let split = spec(before.clone(), shard, Cut::To(after.clone())).resolve(None).unwrap();
        check(&split, &edges(&[&before, &after]));
        assert!(split.warnings().iter().any(|warning| warning.contains("documents of other shards too")));
    }
}

proptest! {
    #[test]
    fn any_change_of_slots_routes_as_both_tables_say(
        before in prop::collection::vec(0u32..4, 1..40), moved in prop::collection::vec(0u32..6, 40),
        hashes in prop::collection::vec(any::<i32>(), 50),
    ) {
        let after: Vec<ShardNumber> = before.iter().zip(&moved).map(|(&own, &to)| if to < 3 { own } else { to }).collect();
        let (before, after) = (slots(&before), slots(&after));
        for shard in before.shards() {
            check(&spec(before.clone(), shard, Cut::To(after.clone())).resolve(None).unwrap(), &hashes);
        }
    }

    #[test]
    fn any_cut_of_ranges_routes_as_both_tables_say(
        shards in 1u32..6, pieces in 2u32..6, fuzz in 0u8..4, hashes in prop::collection::vec(any::<i32>(), 50),
    ) {
        let table = solr(shards);
        let fuzz = SplitFuzz::new(f32::from(fuzz) / 10.0).unwrap();
        for shard in table.shards() {
            let split = spec(table.clone(), shard, Cut::SubShards(pieces, fuzz)).resolve(None).unwrap();
            prop_assert_eq!(split.children().len(), pieces as usize);
            check(&split, &hashes);
            check(&split, &edges(&[split.before(), split.after()]));
        }
    }
}
