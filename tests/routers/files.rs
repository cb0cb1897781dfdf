//! Tables in files, flags that contradict each other or the files, and sidecars of another hash.

use super::*;

#[test]
fn flags_of_one_way_to_route_are_refused_under_another_and_so_are_two_cuts() {
    let place = place(&numbered(10));
    for (flags, words) in [
        ("--routing solr", "nothing says where the shard is cut"),
        ("--routing slots", "nothing says where the shard is cut"),
        ("--routing solr --sub-shards 2 --by-prefix 2", "both say where the shard is cut"),
        ("--routing slots --into 2 --weights 1,2", "both say where the shard is cut"),
        ("--routing solr --sub-shards 2 --weights 1,2", "--weights is for --routing slots"),
        ("--routing slots --sub-shards 2", "--sub-shards is for --routing solr or solr-plain"),
        ("--into 2 --move-slots 1", "--move-slots is for --routing slots"),
        ("--into 2 --range 0-7fffffff", "--range is for --routing solr"),
        ("--routing slots --weights 1,2 --balance docs", "--balance needs --into"),
        ("--routing solr --by-prefix 2 --split-fuzz 0.1", "--split-fuzz needs --sub-shards"),
        ("--routing solr --sub-shards 2 --range 0-7fffffff --source-shards 2", "both say which hashes"),
        ("--routing solr --ranges 80000000-ffffffff,1-7fffffff", "no range has the hashes 0-0"),
        ("--routing solr --ranges 80000000-0,0-7fffffff", "overlap"),
        ("--routing solr --sub-shards 1", "cannot be split into 1"),
        ("--routing solr --sub-shards 2 --routing-partition-size 3", "has no routing_partition_size"),
        ("--routing solr --sub-shards 2 --number-of-routing-shards 8", "--number-of-routing-shards is not for solr"),
        ("--routing slots --slots nowhere.json --source-shards 2 --into 2", "contradict each other"),
        ("--routing slots --number-of-routing-shards 8 --into 9", "cannot be split into 9 parts"),
        ("--routing slots --weights 1,0", "weight 0"),
        ("--routing slots --into 2 --source-shard 3", "has no shard 3"),
        ("--routing ring --into 2 --ring x", "--into is not for ring routing"),
    ] {
        let ran = place.run(&format!("split -i source --key id --out out {flags}"));
        // What does not exist cannot be read.
        assert_eq!(ran.code, if flags.ends_with("--ring x") { 4 } else { 2 }, "{flags}: {ran:?}");
        assert!(flags.ends_with("--ring x") || ran.stderr.contains(words), "{flags}: {ran:?}");
        assert_eq!(place.names(), ["source"], "{flags}");
    }
}

#[test]
fn wrong_tables_are_refused_by_name_before_anything_is_read() {
    let place = place(&numbered(10));
    for (table, words) in [
        (r#"{"format":1,"slots":4,"runs":[{"first":0,"last":1,"shard":0}]}"#, "2 slots, but it has 4"),
        (r#"{"format":2,"slots":4,"runs":[]}"#, "format 2"),
        (r#"{"format":1,"slots":4,"runs":[{"first":1,"last":3,"shard":0}]}"#, "slot 0 must come next"),
        ("no json", "not a table that can be used"),
    ] {
        std::fs::write(place.path("table.json"), table).unwrap();
        let ran = place.run("split -i source --routing slots --slots table.json --into 2 --key id --out out").expect(2);
        assert!(ran.stderr.contains("table.json") && ran.stderr.contains(words), "{ran:?}");
    }
    assert_eq!(place.names(), ["source", "table.json"]);
}

#[test]
fn a_routing_file_is_heeded_by_whoever_comes_next_and_flags_cannot_contradict_it() {
    let place = place(&numbered(60));
    let line = "split -i source --routing slots --number-of-routing-shards 8 --weights 3,1 --key id --out two";
    place.run(line).expect(0);
    for (flags, words) in [
        ("--routing solr --sub-shards 2", "--routing contradicts"),
        ("--routing elasticsearch --into 2", "--routing contradicts"),
        ("--number-of-routing-shards 16 --into 2", "--number-of-routing-shards contradicts"),
        ("--source-shard 1 --into 2", "--source-shard contradicts"),
        ("--slots x --into 2", "--slots contradicts"),
    ] {
        let ran = place.run(&format!("split -i two/0 {flags} --out out")).expect(2);
        assert!(ran.stderr.contains(words), "{flags}: {ran:?}");
    }
    let whole = place.run("split -i two --weights 1,2 --out out").expect(2);
    assert!(whole.stderr.contains("name the directory of the shard"), "{whole:?}");
    // A damaged table is refused as the file is.
    let path = place.path("two/routing.json");
    let good = std::fs::read_to_string(&path).unwrap();
    for (from, to, words) in [
        ("\"last\": 5", "\"last\": 4", "must come next"),
        ("\"number_of_shards\": 2", "\"number_of_shards\": 3", "its table has 2 shards"),
        ("\"routing\": \"slots\"", "\"routing\": \"solr\"", "its table cannot be used"),
        ("\"routing\": \"slots\"", "\"routing\": \"elasticsearch\"", "has no table"),
    ] {
        let changed = good.replacen(from, to, 1);
        assert_ne!(changed, good, "{from}");
        std::fs::write(&path, changed).unwrap();
        for line in ["split -i two --into 2 --out out", "split -i two/0 --into 2 --out out", "check-routing -i two"] {
            let ran = place.run(line).expect(4);
            assert!(ran.stderr.contains(words), "{line}: {ran:?}");
        }
    }
    std::fs::write(&path, good).unwrap();
    place.run("split -i two --into 2 --out out").expect(0);
}

#[test]
fn a_manifest_keeps_both_tables_and_children_do_not_repeat_them() {
    let place = place(&numbered(60));
    place.run("split -i source --routing solr --sub-shards 2 --key id --out two").expect(0);
    let set = read_json(&place.path("two/shardsplit.json"));
    let tables = &set["routing"]["tables"];
    assert_eq!(tables["before"]["solr"]["ranges"][0]["range"], "80000000-7fffffff");
    assert_eq!(tables["after"]["solr"]["ranges"][1]["range"], "0-7fffffff");
    assert_eq!(tables["after"]["solr"], read_json(&place.path("two/routing.json"))["table"]);
    assert_eq!(set["routing"]["split"]["function"], "solr");
    let child = read_json(&place.path("two/1/shardsplit.json"));
    assert_eq!((&child["routing"]["tables"], &child["routing"]["split"]["function"]), (&Value::Null, &"solr".into()));
    // Flags that say something else than the manifest.
    place.run("verify -i source --children two --routing elasticsearch").expect(2);
    place.run("verify -i source --children two --routing solr --ranges 80000000-3fffffff,40000000-7fffffff").expect(3);
    // A table in a manifest is checked as any other.
    let text = std::fs::read_to_string(place.path("two/shardsplit.json")).unwrap();
    std::fs::write(place.path("two/shardsplit.json"), text.replacen("\"0-7fffffff\"", "\"1-7fffffff\"", 1)).unwrap();
    let ran = place.run("verify -i source --children two").expect(1);
    assert!(ran.stderr.contains("no range has the hashes 0-0"), "{ran:?}");
}

#[test]
fn sidecars_of_another_hash_are_not_read() {
    let all = numbered(80);
    let place = place(&all);
    place.run("split -i source --into 1 --key id --out one").expect(0);
    let hashed = |line: &str| {
        place.run(&format!("{line} --json")).expect(0).lines().last().unwrap()["plan"]["keys_hashed"].clone()
    };
    // Out of its index: nothing says any more how it was routed.
    place.copy("one/0", "alone");
    assert_eq!(hashed("split -i alone --into 2 --key id --out elastic"), 0);
    assert_eq!(hashed("split -i alone --routing slots --into 2 --key id --out slots"), 0);
    assert_eq!(hashed("split -i alone --routing solr --sub-shards 2 --key id --out solr"), 80);
    assert_eq!(hashed("split -i alone --routing solr-plain --sub-shards 2 --key id --out plain"), 80);
    // The children's own sidecars are of their own hash.
    assert_eq!(hashed("split -i solr/0 --sub-shards 2 --out again"), 0);
    for set in ["solr", "plain", "again"] {
        let sets = read_json(&place.path(set).join("routing.json"));
        assert!(sets["routing"].as_str().unwrap().starts_with("solr"));
    }
    place.run("verify -i alone --children solr").expect(0);
    place.run("verify -i solr/0 --children again").expect(0);
    let contradicts = place.run("split -i one/0 --routing solr --sub-shards 2 --out no").expect(2);
    assert!(contradicts.stderr.contains("documents were hashed otherwise"), "{contradicts:?}");
}

#[test]
fn index_hashes_writes_sidecars_that_a_solr_split_reads() {
    let place = place(&numbered(40));
    place.run("index-hashes -i source --key id --routing solr").expect(0);
    let ran = place.run("split -i source --routing solr --sub-shards 2 --key id --out out --json").expect(0);
    assert_eq!(ran.lines().last().unwrap()["plan"]["keys_hashed"], 0);
    assert_dealt(&place, "out", &numbered(40), |id| u64::from(composite_hash(id) >= 0));
}
