//! From one shard to two, to six, to two, to one: the same documents, each where an index of so many shards looks for it.

use shardsplit::job::Change;
use shardsplit::partition::SegmentMode;
use shardsplit::plan::Method;
use shardsplit::route::{Operation, RoutingFunction, SplitSpec};

use super::{Bench, FUNCTIONS, WAYS, read_json, run};
use crate::common::check::assert_split;
use crate::common::content::Content;
use crate::common::documents::RoutingValues;
use crate::common::files::{assert_source_unchanged, snapshot};
use crate::common::fixture::{Fixture, sort_kinds};
use crate::common::routing::Routing;

const STEPS: [(&str, &str, u32, u32); 5] = [
    ("one", "two", 1, 2),
    ("two", "six", 2, 6),
    ("six", "again", 6, 2),
    ("again", "single", 2, 1),
    ("six", "clone", 6, 6),
];

/// Routing of the part of a step that begins with `source_shard`.
fn routing(bench: &Bench, source_shard: u32, before: u32, after: u32) -> Routing {
    let split = SplitSpec {
        function: bench.function,
        from: (before / after).max(1),
        source_shards: before,
        source_shard,
        number_of_routing_shards: Some(bench.routing_shards),
        routing_partition_size: bench.partition,
        ..SplitSpec::new((after / before).max(1))
    };
    Routing { split, routing_field: bench.routing_field.clone(), ..Routing::by_key("id", 1) }
}

/// Lists of source shards that go together.
fn parts(bench: &Bench, before: u32, after: u32) -> Vec<Vec<u32>> {
    let from = (before / after).max(1);
    match bench.function {
        RoutingFunction::Elasticsearch => {
            (0..before / from).map(|part| (part * from..(part + 1) * from).collect()).collect()
        }
        RoutingFunction::ElasticsearchModulo => {
            (0..before / from).map(|part| (0..from).map(|nth| part + nth * after).collect()).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// Goes all the way there and back, and judges every step without our verifier.
fn there_and_back(bench: &Bench, way: (Method, SegmentMode)) {
    let mut digests = Vec::new();
    for (from, to, before, after) in STEPS {
        let change = match before.cmp(&after) {
            std::cmp::Ordering::Less => bench.split(after / before),
            std::cmp::Ordering::Greater => Change::Merge { into: after },
            std::cmp::Ordering::Equal => Change::Clone,
        };
        // Another number of routing shards cannot be chosen once there are several shards.
        let untouched = snapshot(&bench.path(from));
        let mut job = bench.job(from, to, change);
        (job.method, job.segments) = way;
        let report = run(&job);
        assert_source_of_locks_unchanged(&untouched, &snapshot(&bench.path(from)));

        let verified = report.verify.as_ref().unwrap();
        assert_eq!(verified.source_digest, verified.children_digest);
        digests.push(verified.source_digest.unwrap());
        assert_eq!(report.children.iter().map(|child| child.shard).collect::<Vec<_>>(), (0..after).collect::<Vec<_>>());
        assert_eq!(read_json(&bench.path(to).join("routing.json")), bench.routing_file(after));

        let mut seen = 0;
        for sources in parts(bench, before, after) {
            let routing = routing(bench, sources[0], before, after);
            let fields = routing.fields();
            let read = |shard: &u32| Content::read(&bench.path(from).join(shard.to_string()), &fields);
            let source = Content::together(sources.iter().map(read).collect());
            let children = assert_split(&source, &bench.path(to), &routing);
            seen += children.len();
            for (shard, child) in &children {
                let reported = &report.children[*shard as usize];
                assert_eq!((reported.docs, reported.segments), (child.docs.len() as u64, child.segments.len()));
                let one = way == (Method::Rewrite, SegmentMode::One);
                assert!(!one || child.segments.len() <= 1, "{to}/{shard}");
            }
        }
        assert_eq!(seen, after as usize);
    }
    digests.dedup();
    assert_eq!(digests.len(), 1, "documents changed on the way");
    let ids = |dir: &str| -> Vec<Vec<String>> {
        let mut lines: Vec<_> = Content::read(&bench.path(dir), &[]).docs.into_iter().map(|doc| doc.lines).collect();
        lines.sort();
        lines
    };
    assert_eq!(ids("one/0"), ids("single/0"), "the same documents come back");
}

/// Lock files may have appeared in the shards.
fn assert_source_of_locks_unchanged(
    before: &std::collections::BTreeMap<std::path::PathBuf, crate::common::files::Entry>,
    after: &std::collections::BTreeMap<std::path::PathBuf, crate::common::files::Entry>,
) {
    let locks = |name: &&std::path::PathBuf| name.file_name().is_some_and(|name| name == ".tantivy-writer.lock");
    let mut after = after.clone();
    let made: Vec<_> = after.keys().filter(locks).filter(|name| !before.contains_key(*name)).cloned().collect();
    for name in made {
        assert_eq!(after.remove(&name).unwrap().len, 0);
    }
    assert_source_unchanged(before, &after);
}

#[test]
fn documents_come_back_unchanged_by_either_routing_and_every_way_of_writing() {
    for function in FUNCTIONS {
        for way in WAYS {
            there_and_back(&Bench::new(&Fixture::everything(3, 70).delete_every(7), function, 12, 1), way);
        }
    }
}

#[test]
fn documents_of_a_partitioned_index_come_back_unchanged() {
    for function in FUNCTIONS {
        let fixture = Fixture { routing: RoutingValues::Always, ..Fixture::everything(2, 90).delete_every(9) };
        there_and_back(&Bench::new(&fixture, function, 12, 3), WAYS[0]);
    }
}

#[test]
fn a_sorted_index_stays_sorted_there_and_back() {
    for kind in sort_kinds() {
        let mut fixture =
            Fixture { sort: Some((kind, tantivy::Order::Desc)), ..Fixture::everything(2, 60).delete_every(8) };
        fixture.fields.truncate(3);
        there_and_back(&Bench::new(&fixture, RoutingFunction::Elasticsearch, 12, 1), WAYS[0]);
    }
}

#[test]
fn shards_without_documents_go_all_the_way() {
    for way in WAYS {
        for docs in [0, 1] {
            there_and_back(&Bench::new(&Fixture::everything(1, docs), RoutingFunction::Elasticsearch, 12, 1), way);
        }
    }
}

#[test]
fn linked_shards_that_share_ids_are_merged_under_names_of_their_own() {
    let bench = Bench::with_shards(&super::small(), 1);
    let mut split = bench.job("one", "linked", bench.split(4));
    split.method = Method::Link;
    run(&split);
    let ids = |shard: &str| -> Vec<String> {
        let meta = read_json(&bench.path(shard).join("meta.json"));
        let segments = meta["segments"].as_array().unwrap().clone();
        segments.iter().map(|segment| segment["segment_id"].as_str().unwrap().replace('-', "")).collect()
    };
    assert_eq!(ids("linked/0"), ids("linked/3"), "children of one parent share its segments");

    let mut merge = bench.job("linked", "merged", Change::Merge { into: 2 });
    merge.method = Method::Link;
    let report = run(&merge);
    assert_eq!(report.notes, Vec::<String>::new(), "nothing was copied");
    for shard in ["merged/0", "merged/1"] {
        let mut found = ids(shard);
        assert_eq!(found.len(), 4, "two segments of each of two shards");
        found.sort();
        found.dedup();
        assert_eq!(found.len(), 4);
        assert!(found.iter().all(|id| !ids("one/0").contains(id)), "an id that repeats is nobody's");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let inode = |name: String| std::fs::metadata(bench.path(&name)).unwrap().ino();
        let originals: Vec<u64> = ids("one/0").iter().map(|id| inode(format!("one/0/{id}.store"))).collect();
        for id in ids("merged/1") {
            assert!(originals.contains(&inode(format!("merged/1/{id}.store"))), "{id} is no link");
        }
    }
    // The manifest says of each child which shards it was made of, with the ids that these have.
    let manifest = read_json(&bench.path("merged/1/shardsplit.json"));
    let sources: Vec<_> =
        manifest["sources"].as_array().unwrap().iter().map(|source| source["shard"].clone()).collect();
    assert_eq!(sources, [2, 3]);
}

#[test]
fn merged_shards_get_the_greatest_opstamp_and_a_payload_only_if_they_agree() {
    let bench = Bench::with_shards(&super::small(), 2);
    let merged = |out: &str| {
        let report = run(&bench.job("index", out, Change::Merge { into: 1 }));
        assert!(report.verify.unwrap().is_clean());
        (read_json(&bench.path(out).join("0/meta.json")), report.plan.warnings)
    };
    let (meta, warnings) = merged("agreed");
    assert_eq!(meta["payload"], "a payload of the operator's own");
    assert_eq!(warnings, Vec::<String>::new());

    let path = bench.path("index/1/meta.json");
    let mut other = read_json(&path);
    let opstamp = other["opstamp"].as_u64().unwrap() + 5;
    (other["opstamp"], other["payload"]) = (opstamp.into(), "another".into());
    std::fs::write(&path, other.to_string()).unwrap();
    let (meta, warnings) = merged("differing");
    assert_eq!((&meta["opstamp"], meta.get("payload")), (&opstamp.into(), None));
    assert!(warnings.iter().any(|warning| warning.contains("payloads")), "{warnings:?}");
    let index = tantivy::Index::open_in_dir(bench.path("differing/0")).unwrap();
    assert_eq!(index.load_metas().unwrap().payload, None);
}

#[test]
fn the_manifest_records_every_source_and_sums_that_add_up() {
    let bench = Bench::with_shards(&super::small(), 6);
    let report = run(&bench.job("index", "two", Change::Merge { into: 2 }));
    assert_eq!(report.plan.operation, Operation::Merge);
    let set = shardsplit::publish::read_set(&bench.path("two")).unwrap();
    assert_eq!(set.operation, Operation::Merge);
    let sources: Vec<Vec<u32>> =
        set.parts.iter().map(|part| part.sources.iter().map(|source| source.shard).collect()).collect();
    assert_eq!(sources, [[0, 1, 2], [3, 4, 5]]);
    let verified = report.verify.unwrap();
    assert_eq!(set.digest, Some(verified.source_digest.unwrap().to_string()));
    for (part, child) in set.parts.iter().zip(&set.children) {
        assert_eq!(part.children, [child.shard]);
        assert_eq!((part.census.live, part.census.children.clone()), (child.docs, vec![child.docs]));
        assert_eq!(part.digest, child.digest);
        assert!(part.digest.is_some());
        for source in &part.sources {
            assert!(source.dir.ends_with(&format!("/index/{}", source.shard)), "{}", source.dir);
        }
    }
    assert_eq!(set.docs, report.plan.docs);
    assert_eq!(set.docs, set.children.iter().map(|child| child.docs).sum::<u64>());
    assert!(set.docs > 50, "{}", set.docs);
}
