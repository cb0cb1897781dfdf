//! Slots: one hot shard of an Elasticsearch index is split alone, evenly, by weights or loads, or a tenant moves out.

use super::*;

/// An index of two shards over eight slots, as Elasticsearch would have it, in `two`.
fn two() -> (Place, Vec<String>) {
    let all = numbered(120);
    let place = place(&all);
    place.run("split -i source --into 2 --key id --number-of-routing-shards 8 --out two").expect(0);
    (place, all)
}

#[track_caller]
fn assert_in_slots(place: &Place, set: &str, all: &[String]) {
    let owners = owners(place, set);
    assert_dealt(place, set, all, |id| owners[slot(id, owners.len() as i64)]);
}

#[test]
fn the_worked_example_one_of_two_shards_of_eight_slots_is_split_alone_and_then_the_other() {
    let (place, all) = two();
    let mut two = shards(&place, "two");
    let alone = place.run("split -i two/1 --into 2 --out no").expect(2);
    assert!(alone.stderr.contains("--routing slots"), "{alone:?}");
    let ran = place.run("split -i two/1 --routing slots --into 2 --out hot --json").expect(0);
    assert_eq!(owners(&place, "hot"), [0, 0, 0, 0, 1, 1, 2, 2]);
    assert_eq!(shards(&place, "hot").into_keys().collect::<Vec<_>>(), [1, 2]);
    assert_in_slots(&place, "hot", &two.remove(&1).unwrap());
    // The hash is Elasticsearch's, so the sidecars of the shard serve.
    assert_eq!(ran.lines().last().unwrap()["plan"]["keys_hashed"], 0);

    // The shard that stays is put beside the others, and all is an index again.
    let missing = place.run("split -i hot --into 2 --out no").expect(4);
    assert!(missing.stderr.contains("directories of 1 are not there: 0"), "{missing:?}");
    std::fs::create_dir(place.path("four")).unwrap();
    place.copy("two/0", "hot/0");
    assert_in_slots(&place, "hot", &all);
    place.run("check-routing -i hot").expect(0);
    place.run("verify -i two/1 --children hot").expect(0);
    place.run("verify -i two --children hot").expect(0);

    place.run("split -i hot/0 --into 2 --out cold").expect(0);
    assert_eq!(owners(&place, "cold"), [0, 0, 3, 3, 1, 1, 2, 2]);
    assert_in_slots(&place, "cold", &two.remove(&0).unwrap());
    for shard in [1, 2] {
        place.copy(&format!("hot/{shard}"), &format!("cold/{shard}"));
    }
    place.run("check-routing -i cold").expect(0);

    // These are the shards of Elasticsearch's index of four, under other numbers.
    place.run("split -i source --into 4 --key id --number-of-routing-shards 8 --out elastic").expect(0);
    let (cold, elastic) = (shards(&place, "cold"), shards(&place, "elastic"));
    for (ours, theirs) in [(0, 0), (3, 1), (1, 2), (2, 3)] {
        assert_eq!(cold[&ours], elastic[&theirs]);
    }
}

#[test]
fn weights_give_unequal_parts() {
    let (place, _) = two();
    let before = shards(&place, "two").remove(&0).unwrap();
    place.run("split -i two/0 --routing slots --weights 3,1 --out out --method link").expect(0);
    assert_eq!(owners(&place, "out"), [0, 0, 0, 2, 1, 1, 1, 1]);
    assert_in_slots(&place, "out", &before);
}

#[test]
fn loads_decide_where_a_balanced_cut_is() {
    // Slots 0 to 7 of one shard; slot 0 has as much as all others.
    let candidates = numbered(4000);
    let of = |wanted: usize, count: usize| {
        candidates.iter().filter(move |id| slot(id, 8) == wanted).take(count).cloned().collect::<Vec<_>>()
    };
    let all: Vec<String> = of(0, 70).into_iter().chain((1..8).flat_map(|slot| of(slot, 10))).collect();
    let place = place(&all);
    for balance in ["docs", "bytes"] {
        let line = format!(
            "split -i source --routing slots --number-of-routing-shards 8 --into 2 --balance {balance} --key id --out {balance}"
        );
        place.run(&line).expect(0);
        assert_eq!(owners(&place, balance), [0, 1, 1, 1, 1, 1, 1, 1], "{balance}");
        assert_in_slots(&place, balance, &all);
    }
    let even = "split -i source --routing slots --number-of-routing-shards 8 --into 2 --key id --out even";
    place.run(even).expect(0);
    assert_eq!(owners(&place, "even"), [0, 0, 0, 0, 1, 1, 1, 1]);
}

#[test]
fn the_slot_of_a_tenant_moves_to_a_shard_of_its_own() {
    let (place, _) = two();
    let before = shards(&place, "two").remove(&1).unwrap();
    let tenant = before[5].clone();
    place.run(&format!("split -i two/1 --routing slots --move-key {tenant} --out key")).expect(0);
    place.run(&format!("split -i two/1 --routing slots --move-slots {} --out slot", slot(&tenant, 8))).expect(0);
    for set in ["key", "slot"] {
        assert_in_slots(&place, set, &before);
        let owners = owners(&place, set);
        assert_eq!(owners.iter().filter(|&&owner| owner == 2).count(), 1);
        assert_eq!(owners[slot(&tenant, 8)], 2);
        assert!(shards(&place, set)[&2].contains(&tenant));
    }
    let other = place.run("split -i two/1 --routing slots --move-slots 0 --out no").expect(2);
    assert!(other.stderr.contains("slot 0 belongs to shard 0"), "{other:?}");
}

#[test]
fn an_index_of_unequal_shards_is_split_merged_and_verified_as_a_whole() {
    let (place, all) = two();
    place.run("split -i two/1 --routing slots --weights 3,1 --out three").expect(0);
    place.copy("two/0", "three/0");
    place.run("clone -i three --out copy").expect(0);
    assert_in_slots(&place, "copy", &all);
    let merged = place.run("merge -i three --into 1 --out one").expect(0);
    assert!(merged.stdout.contains("no differences (full)"), "{merged:?}");
    assert_eq!(owners(&place, "one"), [0; 8]);
    assert_in_slots(&place, "one", &all);
    place.run("verify -i three --children one").expect(0);
    // One slot cannot be split in two.
    let narrow = place.run("split -i three --into 2 --out no").expect(2);
    assert!(narrow.stderr.contains("shard 2 has 1 slots"), "{narrow:?}");
    place.run("split -i one --into 4 --out four").expect(0);
    assert_in_slots(&place, "four", &all);
    place.run("verify -i one --children four").expect(0);
}

#[test]
fn a_table_from_a_file_says_which_slots_the_shard_has() {
    let all: Vec<String> = numbered(300).into_iter().filter(|id| [1, 4, 6].contains(&slot(id, 8))).collect();
    let place = place(&all);
    let runs: Vec<Value> = [5, 9, 5, 5, 9, 5, 9, 5]
        .iter()
        .enumerate()
        .map(|(slot, shard)| serde_json::json!({"first": slot, "last": slot, "shard": shard}))
        .collect();
    let table = serde_json::json!({"format": 1, "slots": 8, "runs": runs});
    std::fs::write(place.path("table.json"), table.to_string()).unwrap();
    let flags = "--routing slots --slots table.json --source-shard 9 --key id";
    place.run(&format!("split -i source {flags} --into 3 --out out")).expect(0);
    assert_eq!(owners(&place, "out"), [5, 9, 5, 5, 10, 5, 11, 5]);
    assert_in_slots(&place, "out", &all);
    place.run(&format!("check-routing -i source {flags}")).expect(0);
}

#[test]
fn a_routing_value_that_spreads_over_several_slots_moves_with_all_of_them() {
    let all = numbered(150);
    let place = place(&all);
    // By the number in the id.
    let of = |id: &str| {
        let team = format!("team-{}", id[4..].parse::<u32>().unwrap() % 5);
        let offset = elasticsearch_hash(id).rem_euclid(3);
        let slot = i64::from(elasticsearch_hash(&team).wrapping_add(offset)).rem_euclid(16);
        (team, usize::try_from(slot).unwrap())
    };
    let flags =
        "--routing slots --number-of-routing-shards 16 --routing-field team --routing-partition-size 3 --key id";
    place.run(&format!("split -i source {flags} --move-key team-2 --out moved")).expect(0);
    let moved = owners(&place, "moved");
    assert_eq!(moved.iter().filter(|&&owner| owner == 1).count(), 3);
    assert_dealt(&place, "moved", &all, |id| moved[of(id).1]);
    let team: Vec<&String> = all.iter().filter(|id| of(id).0 == "team-2").collect();
    let shards = shards(&place, "moved");
    assert!(team.len() == 30 && team.iter().all(|id| shards[&1].contains(id)));
    // The file beside the shard says fields and sizes.
    place.run("check-routing -i moved").expect(0);
    place.run("split -i moved/1 --into 3 --out on").expect(0);
    let on = owners(&place, "on");
    assert_dealt(&place, "on", &shards[&1], |id| on[of(id).1]);
    let contradicts = place.run("split -i moved/1 --into 3 --key id --routing-field id --out no").expect(2);
    assert!(contradicts.stderr.contains("which says id and team"), "{contradicts:?}");
    place.run(&format!("split -i source {} --into 2 --out no", flags.replace("--routing-field team ", ""))).expect(2);
}
