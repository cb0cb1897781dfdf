//! Solr's ranges: every kind of cut that SPLITSHARD knows.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// Ids of one, two and three levels, some of them with bits, some beyond ASCII.
fn corpus() -> Vec<String> {
    let mut ids = Vec::new();
    for tenant in 0..12 {
        for document in 0..tenant + 2 {
            ids.push(format!("tenant-{tenant}!doc-{document}"));
        }
    }
    for number in 0..20 {
        ids.push(format!("app/8!user-{number}!doc"));
        ids.push(format!("firma/4!größe-{number}😀"));
        ids.push(format!("müller!käse-{number}"));
        ids.push(format!("doc-{number}"));
    }
    ids
}

/// First and last hash per shard, as the routing file of `set` says; all hashes are in one of them.
fn ranges(place: &Place, set: &str) -> BTreeMap<u64, (i32, i32)> {
    let file = read_json(&place.path(set).join("routing.json"));
    let hash = |text: &str| u32::from_str_radix(text, 16).unwrap().cast_signed();
    let mut ranges = BTreeMap::new();
    for entry in file["table"]["ranges"].as_array().unwrap() {
        let (min, max) = entry["range"].as_str().unwrap().split_once('-').unwrap();
        ranges.insert(entry["shard"].as_u64().unwrap(), (hash(min), hash(max)));
    }
    let hashes: i64 = ranges.values().map(|&(min, max)| i64::from(max) - i64::from(min) + 1).sum();
    assert_eq!(hashes, 1 << 32);
    ranges
}

/// Asserts that documents are in the shard that has their hash in its range.
#[track_caller]
fn assert_in_ranges(place: &Place, set: &str, all: &[String], hash: impl Fn(&str) -> i32) {
    let ranges = ranges(place, set);
    assert_dealt(place, set, all, |id| {
        let hash = hash(id);
        *ranges.iter().find(|&(_, &(min, max))| (min..=max).contains(&hash)).unwrap().0
    });
}

#[test]
fn every_kind_of_cut_puts_documents_where_solr_looks_for_them() {
    let all = corpus();
    let place = place(&all);
    for (cut, children) in [
        ("--sub-shards 3", 3),
        ("--into 2", 2),
        ("--sub-shards 2 --split-fuzz 0.03", 2),
        ("--ranges 80000000-9fffffff,a0000000-3fffffff,40000000-7fffffff", 3),
        ("--split-key tenant-3!", 3),
        ("--split-key app/8!user-3!", 3),
        ("--by-prefix 4", 4),
    ] {
        let out = cut.trim_start_matches('-').replace([' ', '!', '/', ','], "_");
        let line = format!("split -i source --routing solr {cut} --key id --out {out}");
        let ran = place.run(&line).expect(0);
        assert!(ran.stdout.contains("no differences (full)"), "{ran:?}");
        assert_eq!(shards(&place, &out).len(), children, "{cut}");
        assert_in_ranges(&place, &out, &all, composite_hash);
        place.run(&format!("verify -i source --children {out}")).expect(0);
        place.run(&format!("check-routing -i {out}")).expect(0);
    }
    assert_eq!(ranges(&place, "sub-shards_3").len(), 3);
}

#[test]
fn ranges_are_taken_as_they_are_given_and_numbered_in_their_order() {
    let place = place(&corpus());
    place.run("split -i source --routing solr --ranges 0-7fffffff,80000000-ffffffff --key id --out out").expect(0);
    assert_eq!(ranges(&place, "out"), BTreeMap::from([(0, (0, i32::MAX)), (1, (i32::MIN, -1))]));
}

#[test]
fn a_route_key_is_set_apart_with_all_its_documents() {
    let all = corpus();
    let place = place(&all);
    place.run("split -i source --routing solr --split-key tenant-11! --key id --out out").expect(0);
    let own = plain_hash("tenant-11") >> 16;
    let alone = ranges(&place, "out").into_iter().find(|(_, (min, _))| min.cast_unsigned() >> 16 == own).unwrap();
    assert_eq!(alone.1.0.cast_unsigned() & 0xffff, 0);
    let ids: BTreeSet<String> = shards(&place, "out")[&alone.0].iter().cloned().collect();
    let expected: BTreeSet<String> =
        all.into_iter().filter(|id| composite_hash(id).cast_unsigned() >> 16 == own).collect();
    assert!(expected.len() >= 13);
    assert_eq!(ids, expected);
}

#[test]
fn cuts_along_prefixes_keep_tenants_whole_and_follow_the_documents() {
    // Two thirds of the documents are of one tenant: equal ranges would not part the others from it.
    let mut all: Vec<String> = (0..80).map(|document| format!("whale!{document}")).collect();
    for tenant in 0..20 {
        all.extend((0..2).map(|document| format!("minnow-{tenant}!{document}")));
    }
    let place = place(&all);
    let ran = place.run("plan -i source --routing solr --by-prefix 3 --key id --out out --json").expect(0);
    let plan = &ran.lines()[0];
    let planned: Vec<u64> =
        plan["children"].as_array().unwrap().iter().map(|child| child["docs"].as_u64().unwrap()).collect();
    assert_eq!(planned.iter().sum::<u64>(), 120);
    // No cut is better than one whose heaviest piece is the whale.
    assert_eq!(planned.iter().max(), Some(&80), "{planned:?}");
    place.run("split -i source --routing solr --by-prefix 3 --key id --out out").expect(0);
    assert_in_ranges(&place, "out", &all, composite_hash);
    let mut shard_of: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for (shard, ids) in shards(&place, "out") {
        for id in ids {
            shard_of.entry(id.split('!').next().unwrap().to_owned()).or_default().insert(shard);
        }
    }
    assert_eq!(shard_of.len(), 21);
    assert!(shard_of.values().all(|shards| shards.len() == 1), "{shard_of:?}");
}

#[test]
fn a_shard_that_has_one_range_of_several_is_split_alone_and_strays_stop_it() {
    let all = corpus();
    let negative: Vec<String> = all.iter().filter(|id| composite_hash(id) < 0).cloned().collect();
    assert!(negative.len() > 20 && negative.len() + 20 < all.len());
    let place = place(&negative);
    for (flags, source) in [("--range 80000000-ffffffff", 0), ("--source-shards 2", 0)] {
        let out = format!("out{}", flags.len());
        let line = format!("split -i source --routing solr {flags} --sub-shards 2 --key id --out {out}");
        let ran = place.run(&line).expect(0);
        assert!(ran.stderr.contains("the index has shard 1 after this too"), "{ran:?}");
        let table = ranges(&place, &out);
        assert_eq!((table.len(), table[&1]), (3, (0, i32::MAX)));
        assert_eq!(shards(&place, &out).into_keys().collect::<Vec<_>>(), [source, 2]);
        assert_in_ranges(&place, &out, &negative, composite_hash);
    }
    build(&place.path("mixed"), &all);
    let ran = place.run("split -i mixed --routing solr --range 80000000-ffffffff --sub-shards 2 --key id --out no");
    let strays = all.len() - negative.len();
    let ran = ran.expect(1);
    assert!(ran.stderr.contains(&strays.to_string()), "{strays}: {ran:?}");
    assert!(!place.path("no").exists());
}

#[test]
fn plain_routing_hashes_whole_ids() {
    let all = corpus();
    let place = place(&all);
    place.run("split -i source --routing solr-plain --sub-shards 3 --key id --out out").expect(0);
    assert_in_ranges(&place, "out", &all, |id| plain_hash(id).cast_signed());
    place.run("check-routing -i out").expect(0);
    for cut in ["--by-prefix 2", "--split-key a!"] {
        let ran = place.run(&format!("split -i source --routing solr-plain {cut} --key id --out no")).expect(2);
        assert!(ran.stderr.contains("is for --routing solr, and routing is solr-plain"), "{ran:?}");
    }
}

#[test]
fn a_solr_index_is_split_again_shard_by_shard_and_as_a_whole_and_merged_back() {
    let all = corpus();
    let place = place(&all);
    place.run("split -i source --routing solr --sub-shards 2 --key id --out two").expect(0);
    // Table, shard and key stand beside the shard.
    place.run("split -i two/1 --sub-shards 2 --out hot").expect(0);
    assert_eq!(shards(&place, "hot").into_keys().collect::<Vec<_>>(), [1, 2]);
    let hot = shards(&place, "two").remove(&1).unwrap();
    assert_in_ranges(&place, "hot", &hot, composite_hash);
    std::fs::rename(place.path("two/0"), place.path("hot/0")).unwrap();
    place.run("check-routing -i hot").expect(0);
    place.run("split -i hot --into 2 --out six").expect(0);
    assert_in_ranges(&place, "six", &all, composite_hash);
    place.run("verify -i hot --children six").expect(0);
    place.run("merge -i six --into 2 --out merged").expect(0);
    assert_in_ranges(&place, "merged", &all, composite_hash);
    assert_eq!(ranges(&place, "merged").len(), 2);
    place.run("verify -i six --children merged").expect(0);
    place.run("clone -i merged --method link --out cloned").expect(0);
    assert_in_ranges(&place, "cloned", &all, composite_hash);
}
