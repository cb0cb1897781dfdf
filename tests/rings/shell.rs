//! The commands `ring` and `route`.

use std::collections::BTreeMap;

use super::Oracle;
use crate::cli::place::{Place, ids};
use crate::common::routing::hash;

fn read_json(place: &Place, name: &str) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(place.path(name)).unwrap()).unwrap()
}

#[test]
fn tables_of_both_kinds_are_made_and_changed_and_never_overwritten() {
    for (kind, weight) in [("planned", 1), ("classic", 200)] {
        let place = Place { dir: tempfile::TempDir::new().unwrap() };
        place.run(&format!("ring new --kind {kind} --node a,b,c -o r3.json")).expect(0);
        let table = read_json(&place, "r3.json");
        assert_eq!(table["kind"], if kind == "planned" { "planned" } else { "ring" });
        assert_eq!(table["nodes"][2], serde_json::json!({"name": "c", "weight": weight, "shard": 2}));
        // A change without a file is only shown.
        let shown = place.run("ring add r3.json --node d --json").expect(0);
        assert_eq!(shown.lines()[0]["out"], serde_json::Value::Null);
        assert_eq!(place.names(), ["r3.json"]);

        place.run("ring add r3.json --node d -o r4.json").expect(0);
        assert_eq!(read_json(&place, "r4.json")["nodes"][3]["weight"], weight, "that of all others");
        let bytes = std::fs::read(place.path("r4.json")).unwrap();
        let taken = place.run("ring remove r3.json --node a -o r4.json --json").expect(5);
        assert!(taken.stderr.contains("r4.json exists already"), "{taken:?}");
        assert_eq!(std::fs::read(place.path("r4.json")).unwrap(), bytes);

        place.run("ring remove r4.json --node b -o r3b.json").expect(0);
        place.run(&format!("ring reweigh r3b.json --node a --weight {} -o heavy.json", weight * 3)).expect(0);
        assert_eq!(read_json(&place, "heavy.json")["nodes"][0]["weight"], weight * 3);
        // The lowest number that is free is the one that the node that left had.
        place.run("ring add heavy.json --node e --weight 7 -o e.json").expect(0);
        let nodes = read_json(&place, "e.json")["nodes"].as_array().unwrap().clone();
        assert_eq!(nodes.iter().find(|node| node["name"] == "e").unwrap()["shard"], 1);
        let refused = place.run("ring add heavy.json --node e -o no.json").expect(2);
        assert!(refused.stderr.contains("--weight is missing"), "{refused:?}");
        for wrong in [
            "remove r3.json --node z",
            "add r3.json --node a",
            "add r3.json --node x#y",
            "reweigh r3.json --node a --weight 0",
        ] {
            let refused = place.run(&format!("ring {wrong} -o no.json")).expect(2);
            assert!(refused.stderr.lines().count() == 1, "{refused:?}");
        }
        place.run("ring show nowhere.json").expect(4);
        std::fs::write(place.path("broken.json"), &bytes[..bytes.len() / 2]).unwrap();
        assert!(place.run("ring show broken.json").expect(2).stderr.contains("broken.json"));
    }
}

#[test]
fn a_plan_counts_the_documents_of_an_index_however_it_is_routed() {
    let place = Place::new();
    place.run("ring new --node a,b -o two.json").expect(0);
    place.run("ring add two.json --node c -o three.json").expect(0);
    let (two, three) =
        (Oracle::of_file(&read_json(&place, "two.json")), Oracle::of_file(&read_json(&place, "three.json")));
    let all = ids(&place.path("source"));
    let mut moves: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for id in &all {
        let (from, to) = (two.shard(id), three.shard(id));
        *moves.entry((from, to)).or_default() += u64::from(from != to);
    }
    let moved: u64 = moves.values().sum();
    let modulo = |shards: i32| move |id: &&String| hash(id).rem_euclid(shards);
    let by_modulo = all.iter().filter(|id| modulo(2)(id) != modulo(3)(id)).count() as u64;
    // A single index by its key, and an index directory that is routed by Elasticsearch's formula.
    place.run("split -i source --into 4 --key id --out elastic").expect(0);
    for index in ["-i source --key id", "-i elastic"] {
        let ran = place.run(&format!("ring plan two.json three.json {index} --arcs --json")).expect(0);
        let plan = &ran.lines()[0];
        let documents = &plan["documents"];
        assert_eq!((&documents["total"], &documents["moved"]), (&all.len().into(), &moved.into()), "{index}");
        assert_eq!(documents["modulo_moved"], by_modulo);
        let sum = |field: &str| -> u64 {
            plan["flows"].as_array().unwrap().iter().map(|flow| flow[field].as_u64().unwrap()).sum()
        };
        assert_eq!((sum("documents"), sum("bytes")), (moved, documents["moved_bytes"].as_u64().unwrap()));
        let arcs = plan["moved_arcs"].as_array().unwrap();
        assert_eq!(arcs.len() as u64, plan["arcs"].as_u64().unwrap());
        let hashes: u64 =
            arcs.iter().map(|arc| arc["end"].as_u64().unwrap() - arc["start"].as_u64().unwrap() + 1).sum();
        assert!((hashes as f64 / 2f64.powi(32) - plan["moved"].as_f64().unwrap()).abs() < 1e-12);
        for id in &all {
            let at = u64::from(hash(id).cast_unsigned());
            let listed =
                arcs.iter().any(|arc| (arc["start"].as_u64().unwrap()..=arc["end"].as_u64().unwrap()).contains(&at));
            assert_eq!(listed, two.shard(id) != three.shard(id), "{id}");
        }
    }
    // From Elasticsearch's formula to a ring: there are no arcs to list, but shares and documents are counted.
    let ran = place.run("ring plan elastic three.json -i elastic --arcs --json").expect(0);
    let plan = &ran.lines()[0];
    let slot = |id: &str| u32::try_from(hash(id).rem_euclid(1024) / 256).unwrap();
    let moved = all.iter().filter(|id| slot(id) != three.shard(id)).count() as u64;
    assert_eq!((&plan["documents"]["moved"], &plan["arcs"]), (&moved.into(), &serde_json::Value::Null));
    assert_eq!((&plan["nodes"][0]["name"], &plan["nodes"][3]["name"]), (&"a".into(), &"shard 3".into()));
    place.run("split -i source --routing solr --sub-shards 2 --key id --out solr").expect(0);
    assert!(place.run("ring plan solr three.json").expect(2).stderr.contains("compare tables of one hash"));
    let text = place.run("ring plan two.json three.json -i elastic").expect(0).stdout;
    assert!(text.contains("would move under plain modulo") && text.contains("hashed     0 keys"), "{text}");
    place.run("ring plan two.json three.json -i source").expect(2);
}

#[test]
fn keys_are_found_under_every_routing() {
    let place = Place::new();
    place.run("ring new --node a,b,c -o ring.json").expect(0);
    let keys = "doc-1 doc-2 x y z";
    let by_table = Oracle::of_file(&read_json(&place, "ring.json"));
    let shards = |flags: &str| {
        let ran = place.run(&format!("route --json {flags} {keys}")).expect(0);
        let lines = ran.lines();
        assert!(lines.iter().zip(keys.split(' ')).all(|(line, key)| line["type"] == "route" && line["key"] == key));
        lines
    };
    for line in shards("--routing ring --ring ring.json") {
        let key = line["key"].as_str().unwrap();
        assert_eq!((&line["shard"], &line["hash"]), (&by_table.shard(key).into(), &hash(key).into()));
        assert_eq!(line["node"], ["a", "b", "c"][by_table.shard(key) as usize]);
        assert!(line["point"].is_u64());
    }
    for line in shards("--routing elasticsearch --source-shards 4 --number-of-routing-shards 64") {
        let slot = hash(line["key"].as_str().unwrap()).rem_euclid(64);
        assert_eq!((&line["slot"], &line["shard"]), (&slot.into(), &(slot / 16).into()));
    }
    for line in shards("--routing elasticsearch-modulo --source-shards 5") {
        assert_eq!(line["shard"], hash(line["key"].as_str().unwrap()).rem_euclid(5));
    }
    for line in shards("--routing slots --source-shards 4 --number-of-routing-shards 64") {
        assert_eq!(line["shard"].as_u64().unwrap(), line["slot"].as_u64().unwrap() / 16);
    }
    for line in shards("--routing solr --source-shards 3") {
        assert!(line["range"].is_string(), "{line}");
    }
    // As the routing file of an index says; and the routing value decides, where there is one.
    place.run("split -i source --into 4 --key id --out elastic").expect(0);
    let by_index = shards("-i elastic");
    assert_eq!(by_index, shards("-i elastic/2"));
    for line in &by_index {
        let dir = place.path(&format!("elastic/{}", line["shard"]));
        let key = line["key"].as_str().unwrap();
        assert!(!key.starts_with("doc-") || ids(&dir).iter().any(|id| id == key), "{line}");
    }
    let routed = place.run("route --json -i elastic --routing-value x doc-1").expect(0);
    assert_eq!(routed.lines()[0]["shard"], by_index[2]["shard"]);
    let text = place.run(&format!("route --routing ring --ring ring.json {keys}")).expect(0).stdout;
    assert!(text.lines().count() == 6 && text.contains("token "), "{text}");
    for wrong in [
        "route x",
        "route -i source x",
        "route -i elastic --source-shards 3 x",
        "route --source-shards 4 --number-of-routing-shards 64 --routing-partition-size 2 x",
    ] {
        place.run(wrong).expect(2);
    }
}

#[test]
fn an_index_of_one_shard_becomes_one_that_is_routed_by_a_ring_and_moves_on() {
    let place = Place::new();
    place.run("ring new --node a,b,c -o r3.json").expect(0);
    place.run("ring add r3.json --node d -o r4.json").expect(0);
    place.run("split -i source --routing ring --ring-after r3.json --key id --out g1").expect(0);
    place.run("verify -i source --children g1").expect(0);
    assert_eq!(read_json(&place, "g1/routing.json")["table"]["nodes"], read_json(&place, "r3.json")["nodes"]);
    let names = place.names();
    let plan = place.run("ring move -i g1 --to r4.json --out g2 --dry-run").expect(0);
    assert!(plan.stdout.contains("plan: move g1 of 3 shards to 4 at g2"), "{plan:?}");
    assert_eq!(place.names(), names);
    let ran = place.run("ring move -i g1 --to r4.json --out g2 --json").expect(0);
    let report = &ran.lines()[0];
    assert_eq!((&report["type"], &report["plan"]["operation"]), (&"ring_move".into(), &"move".into()));
    assert_eq!(read_json(&place, "g2/routing.json")["table"]["tokens"], read_json(&place, "r4.json")["tokens"]);
    let oracle = Oracle::of_file(&read_json(&place, "r4.json"));
    let mut all = Vec::new();
    for shard in 0..4 {
        let ids = ids(&place.path(&format!("g2/{shard}")));
        assert!(ids.iter().all(|id| oracle.shard(id) == shard));
        all.extend(ids);
    }
    let mut expected = ids(&place.path("source"));
    all.sort();
    expected.sort();
    assert_eq!(all, expected);
    place.run("verify -i g1 --children g2").expect(0);
    place.run("check-routing -i g2").expect(0);
    // An index of several shards is merged into one first.
    place.run("split -i source --into 2 --key id --out elastic").expect(0);
    place.run("merge -i elastic --into 1 --out merged").expect(0);
    place.run("split -i merged/0 --routing ring --ring-after r3.json --out again").expect(0);
    let [split, again] =
        ["g1", "again"].map(|index| read_json(&place, &format!("{index}/shardsplit.json"))["digest"].clone());
    assert!(split.is_string() && split == again);
    // The next ring is made from the one in the index.
    place.run("ring remove g2 --node a -o r3a.json").expect(0);
    let text = place.run("ring move -i g2 --to r3a.json --out g3 --method rewrite").expect(0).stdout;
    assert!(text.contains("(everything is written)"), "{text}");
    place.run("verify -i g2 --children g3").expect(0);
    assert!(!place.path("g3/0").exists());
}
