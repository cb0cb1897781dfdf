use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::route::{Elasticsearch, RouteError, ShardNumber, routing_hash};

/// Slots by shard.
fn census(table: &SlotTable) -> BTreeMap<ShardNumber, usize> {
    let mut census = BTreeMap::new();
    table.owners().iter().for_each(|&shard| *census.entry(shard).or_insert(0) += 1);
    census
}

fn read(json: &str) -> String {
    serde_json::from_str::<SlotTable>(json).unwrap_err().to_string()
}

#[test]
fn no_number_of_shards_lets_the_formula_split_one_shard_of_two_alone_and_a_table_does() {
    let before = SlotTable::even(2, 8).unwrap();
    let after = before.split_even(1, &[1, 2]).unwrap();
    assert_eq!(after.owners(), [0, 0, 0, 0, 1, 1, 2, 2]);
    assert!(matches!(Elasticsearch::new(3, 8), Err(RouteError::RoutingShards { .. })));
    for shards in 1..=8 {
        let Ok(formula) = SlotTable::even(shards, 8) else { continue };
        let shard_0_is_whole = formula.owners()[..4].iter().all(|&shard| shard == formula.owners()[0]);
        let shard_1_is_split = formula.owners()[4..].iter().any(|&shard| shard != formula.owners()[4]);
        assert!(!(shard_0_is_whole && shard_1_is_split), "{shards}");
    }
    for id in 0..1000 {
        let hash = routing_hash(&id.to_string());
        assert_eq!(after.shard(hash, 0) == 0, before.shard(hash, 0) == 0, "{id}: shard 0 keeps its documents");
    }
}

#[test]
fn splitting_the_other_shard_too_gives_the_parts_of_four_shards_under_other_numbers() {
    let all = SlotTable::even(2, 8).unwrap().split_even(1, &[1, 2]).unwrap().split_even(0, &[0, 3]).unwrap();
    assert_eq!(all.owners(), [0, 0, 3, 3, 1, 1, 2, 2]);
    let number_of = [0, 2, 3, 1];
    let renumbered: Vec<u32> = all.owners().iter().map(|&shard| number_of[shard as usize]).collect();
    assert_eq!(renumbered, SlotTable::even(4, 8).unwrap().owners());
    let in_order = SlotTable::even(2, 8).unwrap().split_even(1, &[2, 3]).unwrap().split_even(0, &[0, 1]).unwrap();
    assert_eq!(in_order, SlotTable::even(4, 8).unwrap());
}

#[test]
fn a_shard_goes_on_to_be_split_until_it_has_one_slot() {
    let four = SlotTable::even(2, 8).unwrap().split_even(1, &[1, 2, 3, 4]).unwrap();
    assert_eq!(four.owners(), [0, 0, 0, 0, 1, 2, 3, 4]);
    assert_eq!(four.shards().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(four.split_even(4, &[4, 5]), Err(SlotError::Parts { shard: 4, slots: 1, parts: 2 }));
}

#[test]
fn weights_decide_how_many_slots_a_part_gets() {
    let table = SlotTable::even(1, 16).unwrap();
    let split = table.split_weighted(0, &[(0, 1), (1, 2), (2, 5)]).unwrap();
    assert_eq!(census(&split), BTreeMap::from([(0, 2), (1, 4), (2, 10)]));
    let tiny = table.split_weighted(0, &[(0, 1), (1, u32::MAX), (2, 1)]).unwrap();
    assert_eq!(census(&tiny), BTreeMap::from([(0, 1), (1, 14), (2, 1)]));
    assert_eq!(table.split_weighted(0, &[(0, 1), (1, 0)]), Err(SlotError::Weight { number: 1 }));
}

#[test]
fn a_heavy_slot_gets_a_part_of_its_own() {
    let table = SlotTable::even(2, 8).unwrap();
    let mut loads = SlotLoads::new(&table);
    [1, 1, 1, 1, 2, 2, 90, 6].into_iter().zip(0..).for_each(|(load, slot)| loads.add(slot, load));
    assert_eq!(loads.of_shard(&table, 1), 100);
    assert_eq!(loads.heaviest_slot(&table, 1), Some((6, 90)));
    let contiguous = table.split_balanced(1, &[1, 2, 3], &loads, Arrangement::Contiguous).unwrap();
    assert_eq!(contiguous.owners(), [0, 0, 0, 0, 1, 1, 2, 3]);
    let scattered = table.split_balanced(1, &[1, 2], &loads, Arrangement::Scattered).unwrap();
    assert_eq!(scattered.owners(), [0, 0, 0, 0, 2, 2, 1, 2]);
    let other = SlotLoads::from_loads(vec![1; 7]);
    let error = table.split_balanced(1, &[1, 2], &other, Arrangement::Contiguous).unwrap_err();
    assert_eq!(error, SlotError::Loads { found: 7, expected: 8 });
}

#[test]
fn a_tenants_slot_is_moved_out_and_all_else_stays() {
    let table = SlotTable::even(4, 64).unwrap();
    let slot = table.slot(routing_hash("tenant-7"), 0);
    let source = table.shard(routing_hash("tenant-7"), 0);
    let moved = table.move_slots(&[slot], 9).unwrap();
    assert_eq!(moved.shard(routing_hash("tenant-7"), 0), 9);
    assert_eq!(moved.slots_of(9).collect::<Vec<_>>(), [slot]);
    let changed = table.owners().iter().zip(moved.owners()).filter(|(before, after)| before != after).count();
    assert_eq!((changed, moved.slots_of(source).count()), (1, 15));
}

#[test]
fn moves_that_need_a_merge_or_leave_nothing_are_refused() {
    let table = SlotTable::even(2, 8).unwrap();
    assert_eq!(table.move_slots(&[], 2), Err(SlotError::NothingToMove { to: 2 }));
    assert_eq!(table.move_slots(&[8], 2), Err(SlotError::UnknownSlot { slot: 8, slots: 8 }));
    assert_eq!(table.move_slots(&[1, 2, 1], 2), Err(SlotError::SlotTwice { slot: 1 }));
    assert_eq!(table.move_slots(&[1, 4], 2), Err(SlotError::SlotElsewhere { slot: 4, shard: 1, expected: 0 }));
    assert_eq!(table.move_slots(&[1], 1), Err(SlotError::NumberTaken { number: 1, free: 2 }));
    assert_eq!(table.move_slots(&[3, 2, 1, 0], 2), Err(SlotError::AllSlots { shard: 0, slots: 4 }));
}

#[test]
fn splits_into_taken_numbers_or_of_no_shard_are_refused() {
    let table = SlotTable::even(2, 8).unwrap();
    assert_eq!(table.split_even(1, &[0, 2]), Err(SlotError::NumberTaken { number: 0, free: 3 }));
    assert_eq!(table.split_even(1, &[2, 2]), Err(SlotError::NumberTaken { number: 2, free: 3 }));
    assert_eq!(table.split_even(1, &[u32::MAX, 0]), Err(SlotError::NumberTaken { number: 0, free: 2 }));
    assert_eq!(table.split_even(1, &[]), Err(SlotError::Parts { shard: 1, slots: 4, parts: 0 }));
    assert_eq!(table.split_even(5, &[5]), Err(SlotError::UnknownShard { shard: 5, first: 0, last: 1, count: 2 }));
}

#[test]
fn tables_that_are_too_large_or_empty_are_refused() {
    assert_eq!(SlotTable::new(Vec::new()), Err(SlotError::Slots { slots: 0 }));
    assert_eq!(SlotTable::even(1, MAX_SLOTS + 1), Err(SlotError::Slots { slots: u64::from(MAX_SLOTS) + 1 }));
    assert!(matches!(SlotTable::even(3, 8), Err(SlotError::Route(RouteError::RoutingShards { .. }))));
}

#[test]
fn json_of_a_million_slots_is_as_short_as_its_shards_are_few() {
    let table = SlotTable::even(16, 1 << 20).unwrap();
    let json = serde_json::to_string(&table).unwrap();
    assert!(json.len() < 1000, "{} bytes", json.len());
    assert_eq!(serde_json::from_str::<SlotTable>(&json).unwrap(), table);
}

#[test]
fn json_is_checked_when_read() {
    let json = r#"{"format":1,"slots":8,"runs":[{"first":0,"last":3,"shard":0},{"first":4,"last":7,"shard":1}]}"#;
    assert_eq!(serde_json::to_string(&SlotTable::even(2, 8).unwrap()).unwrap(), json);
    for (from, to, error) in [
        ("\"format\":1", "\"format\":2", "has format 2"),
        ("\"slots\":8", "\"slots\":9", "give shards to 8 slots, but it has 9"),
        ("\"slots\":8", "\"slots\":7", "give shards to 8 slots, but it has 7"),
        ("\"slots\":8", "\"slots\":0", "cannot have 0 slots"),
        ("\"slots\":8", "\"slots\":4294967295", "cannot have 4294967295 slots"),
        ("\"last\":7", "\"last\":4294967295", "give shards to 4294967295 slots"),
        ("\"first\":4", "\"first\":5", "where slot 4 must come next"),
        ("\"first\":4", "\"first\":3", "where slot 4 must come next"),
        ("\"last\":7", "\"last\":2", "4 to 2"),
        ("{\"format\"", "{\"extra\":0,\"format\"", "unknown field"),
        ("\"shard\":1", "\"shard\":1,\"name\":\"hot\"", "unknown field"),
        (",\"shard\":1", "", "missing field"),
        ("\"shard\":1", "\"shard\":-1", "invalid value"),
    ] {
        let refused = read(&json.replace(from, to));
        assert!(refused.contains(error), "{refused}");
    }
    assert!(read(r#"{"format":1,"slots":1,"runs":[]}"#).contains("give shards to 0 slots"));
}

/// Any table of up to 64 slots and 6 shards.
fn tables() -> impl Strategy<Value = SlotTable> {
    prop::collection::vec(0u32..6, 1..65).prop_map(|owners| SlotTable::new(owners).unwrap())
}

proptest! {
    #[test]
    fn an_even_table_routes_as_elasticsearch_does(
        shards in 1u32..40, factor in 1u32..40, hash in any::<i32>(), offset in any::<i32>(),
    ) {
        let table = SlotTable::even(shards, shards * factor).unwrap();
        let formula = Elasticsearch::new(shards, shards * factor).unwrap();
        prop_assert_eq!(table.shard(hash, offset), formula.shard(hash, offset));
        prop_assert_eq!(table.shards().collect::<Vec<_>>(), (0..shards).collect::<Vec<_>>());
    }

    #[test]
    fn any_table_survives_its_json(table in tables()) {
        let json = serde_json::to_string(&table).unwrap();
        prop_assert_eq!(serde_json::from_str::<SlotTable>(&json).unwrap(), table);
    }

    #[test]
    fn a_split_gives_the_slots_of_one_shard_to_its_parts_and_leaves_the_others(
        table in tables(), parts in prop::collection::vec(1u32..9, 1..8), pick in any::<prop::sample::Index>(),
        loads in prop::collection::vec(0u64..50, 64), arrangement in 0..4,
    ) {
        let shards: Vec<u32> = table.shards().collect();
        let shard = *pick.get(&shards);
        let numbers: Vec<u32> = (0..).zip(&parts).map(|(nth, _)| if nth == 0 { shard } else { 10 + nth }).collect();
        let weighted: Vec<(u32, u32)> = numbers.iter().copied().zip(parts.iter().copied()).collect();
        let loads = SlotLoads::from_loads(loads[..table.owners().len()].to_vec());
        let split = match arrangement {
            0 => table.split_even(shard, &numbers),
            1 => table.split_weighted(shard, &weighted),
            2 => table.split_balanced(shard, &numbers, &loads, Arrangement::Contiguous),
            _ => table.split_balanced(shard, &numbers, &loads, Arrangement::Scattered),
        };
        let slots = table.slots_of(shard).count();
        if parts.len() > slots {
            prop_assert_eq!(split, Err(SlotError::Parts { shard, slots, parts: parts.len() }));
            return Ok(());
        }
        let split = split.unwrap();
        for (before, after) in table.owners().iter().zip(split.owners()) {
            let legal = if *before == shard { numbers.contains(after) } else { before == after };
            prop_assert!(legal);
        }
        let census = census(&split);
        prop_assert!(numbers.iter().all(|number| census.contains_key(number)), "every part has a slot");
        let total: u32 = parts.iter().sum();
        let heaviest = numbers.iter().map(|&number| loads.of_shard(&split, number)).max().unwrap();
        match arrangement {
            0 => {
                let sizes = numbers.iter().map(|number| census[number]);
                prop_assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
            }
            1 => {
                let ideal = |weight: u32| slots as f64 * f64::from(weight) / f64::from(total);
                if parts.iter().all(|&weight| ideal(weight) >= 1.0) {
                    for &(number, weight) in &weighted {
                        prop_assert!((census[&number] as f64 - ideal(weight)).abs() < 1.0);
                    }
                }
            }
            _ => {
                let share = loads.of_shard(&table, shard) / parts.len() as u64;
                let slot = loads.heaviest_slot(&table, shard).unwrap().1;
                prop_assert!(heaviest <= share + slot);
            }
        }
    }

    #[test]
    fn moving_slots_changes_those_and_no_others(table in tables(), slots in prop::collection::btree_set(0u32..64, 1..6)) {
        let slots: Vec<u32> = slots.into_iter().collect();
        match table.move_slots(&slots, 99) {
            Ok(moved) => {
                for (slot, (before, after)) in (0..).zip(table.owners().iter().zip(moved.owners())) {
                    prop_assert_eq!(*after, if slots.contains(&slot) { 99 } else { *before });
                }
                let shards = table.shards().count();
                prop_assert_eq!(moved.shards().count(), shards + 1);
            }
            Err(error) => {
                let owners: Option<Vec<u32>> = slots.iter().map(|&slot| table.owners().get(slot as usize).copied()).collect();
                let movable = owners.is_some_and(|owners| {
                    owners.iter().all(|&owner| owner == owners[0]) && table.slots_of(owners[0]).count() > slots.len()
                });
                prop_assert!(!movable, "{}", error);
            }
        }
    }
}
