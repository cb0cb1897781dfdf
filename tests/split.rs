//! What a split promises whatever the documents are: same bytes, source untouched, order, settings, odd sizes.

use crate::common;
use std::path::Path;

use crate::common::check::assert_split;
use crate::common::content::Content;
use crate::common::documents::RoutingValues;
use crate::common::files::{assert_same_bytes, assert_source_unchanged, snapshot};
use crate::common::fixture::{Batch, Fixture, sort_kinds};
use crate::common::routing::Routing;
use shardsplit::job::Job;
use shardsplit::partition::{KeySpec, SegmentMode};
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::report::SplitReport;
use shardsplit::route::{RoutingFunction, SplitSpec};
use tantivy::Order;
use tantivy::store::{Compressor, ZstdCompressor};

/// All ways to write children.
const WAYS: [(Method, SegmentMode); 3] =
    [(Method::Rewrite, SegmentMode::One), (Method::Rewrite, SegmentMode::Keep), (Method::Link, SegmentMode::One)];

fn job(source: &Path, out: &Path, routing: &Routing, way: (Method, SegmentMode)) -> Job {
    let keys = KeySpec { key: routing.key.clone(), routing_field: routing.routing_field.clone() };
    let into = routing.split.into;
    Job {
        keys,
        split: routing.split,
        method: way.0,
        segments: way.1,
        threads: 2,
        ..Job::new(source, out, into, &routing.key)
    }
}

fn run(job: &Job) -> SplitReport {
    job.run(&Silent, &Cancel::new()).unwrap_or_else(|error| panic!("{}: {error}", job.out.display()))
}

/// Builds `fixture`, splits it in every way, and judges.
fn split_every_way(fixture: &Fixture, routing: &Routing, see: impl Fn((Method, SegmentMode), &[(u32, Content)])) {
    let dir = tempfile::tempdir().unwrap();
    let source_dir = dir.path().join("source");
    fixture.build(&source_dir);
    let source = Content::read(&source_dir, &routing.fields());
    let before = snapshot(&source_dir);
    for way in WAYS {
        let out = dir.path().join(format!("{way:?}"));
        run(&job(&source_dir, &out, routing, way));
        let children = assert_split(&source, &out, routing);
        assert_source_unchanged(&before, &snapshot(&source_dir));
        see(way, &children);
    }
}

#[test]
fn every_field_type_survives_every_way_of_splitting() {
    let fixture = Fixture::everything(3, 250).delete_every(7);
    for into in [2, 3, 8] {
        split_every_way(&fixture, &fixture.routing(into), |_, children| {
            assert!(children.iter().all(|(_, child)| !child.docs.is_empty()));
        });
    }
}

#[test]
fn every_codec_of_the_doc_store_is_kept() {
    for compressor in [Compressor::None, Compressor::Lz4, Compressor::Zstd(ZstdCompressor { compression_level: None })]
    {
        let fixture = Fixture { compressor, blocksize: 700, ..Fixture::everything(2, 60) };
        split_every_way(&fixture, &Routing::by_key("id", 2), |_, _| {});
    }
}

#[test]
fn the_same_job_gives_the_same_bytes_with_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = Fixture::everything(3, 200).delete_every(7);
    let source = dir.path().join("source");
    fixture.build(&source);
    for way in WAYS {
        let outs = [1, 2, 2, 5].into_iter().enumerate().map(|(run, threads)| {
            let parent = dir.path().join(format!("{way:?}-{run}"));
            std::fs::create_dir(&parent).unwrap();
            let out = parent.join("out");
            let job = Job { threads, ..job(&source, &out, &fixture.routing(4), way) };
            job.run(&Silent, &Cancel::new()).unwrap();
            out
        });
        let outs: Vec<_> = outs.collect();
        for other in &outs[1..] {
            assert_same_bytes(&outs[0], other);
        }
    }
}

#[test]
fn a_sorted_index_stays_sorted_where_its_segments_become_one() {
    for (index, kind) in sort_kinds().into_iter().enumerate() {
        for order in [Order::Asc, Order::Desc] {
            let mut fixture = Fixture { sort: Some((kind, order)), ..Fixture::everything(3, 70).delete_every(8) };
            fixture.fields.truncate(3 + index);
            split_every_way(&fixture, &fixture.routing(3), |way, children| {
                let one = way == (Method::Rewrite, SegmentMode::One);
                assert!(!one || children.iter().all(|(_, child)| child.segments.len() == 1));
            });
        }
    }
}

#[test]
fn children_without_documents_are_empty_indexes() {
    // One document, and none at all, for eight children.
    for docs in [1, 0] {
        let fixture = Fixture::everything(1, docs);
        split_every_way(&fixture, &fixture.routing(8), |_, children| {
            let empty = children.iter().filter(|(_, child)| child.docs.is_empty()).count();
            assert_eq!(empty, 8 - docs as usize);
            assert!(children.iter().all(|(_, child)| child.docs.is_empty() == child.segments.is_empty()));
        });
    }
}

#[test]
fn an_index_whose_documents_are_all_deleted_gives_empty_children() {
    let fixture = Fixture::everything(2, 20).delete_every(1);
    split_every_way(&fixture, &fixture.routing(3), |_, children| {
        assert!(children.iter().all(|(_, child)| child.segments.is_empty()));
    });
}

#[test]
fn an_index_without_a_commit_gives_empty_children() {
    let mut fixture = Fixture::everything(0, 0);
    fixture.payload = None;
    split_every_way(&fixture, &fixture.routing(2), |_, children| assert_eq!(children.len(), 2));
}

#[test]
fn child_segments_are_cut_at_the_most_documents_per_segment() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = Fixture::everything(3, 100).delete_every(9);
    let routing = fixture.routing(2);
    let (source_dir, out) = (dir.path().join("source"), dir.path().join("out"));
    fixture.build(&source_dir);
    let job = Job { max_docs_per_segment: 37, ..job(&source_dir, &out, &routing, WAYS[0]) };
    let report = run(&job);
    let children = assert_split(&Content::read(&source_dir, &routing.fields()), &out, &routing);
    for ((_, child), reported) in children.iter().zip(&report.children) {
        assert!(child.segments.iter().all(|segment| segment.reader.max_doc() <= 37));
        assert_eq!(child.segments.len(), child.docs.len().div_ceil(37));
        assert_eq!(reported.segments, child.segments.len());
    }
}

#[test]
fn kept_segments_map_one_to_one() {
    let fixture = Fixture::everything(4, 60).delete_every(5);
    split_every_way(&fixture, &fixture.routing(2), |way, children| {
        let keep = way != (Method::Rewrite, SegmentMode::One);
        assert!(children.iter().all(|(_, child)| child.segments.len() == if keep { 4 } else { 1 }));
    });
}

#[test]
fn an_index_that_tantivy_merged_with_deletes_splits_though_its_token_totals_are_estimates() {
    let mut estimated = 0;
    for nth in [3, 4, 5] {
        let fixture = Fixture { merge: 3, ..Fixture::everything(3, 90).delete_every(nth) };
        let dir = tempfile::tempdir().unwrap();
        fixture.build(dir.path());
        let source = Content::read(dir.path(), &["id"]);
        let fields = source.segments.iter().flat_map(|segment| segment.fields.values());
        estimated += fields.filter(|facts| facts.total_tokens < facts.counted_tokens).count();
        split_every_way(&fixture, &fixture.routing(3), |_, _| {});
    }
    assert!(estimated > 0, "tantivy's estimate has become exact");
}

#[test]
fn documents_with_equal_ids_go_together_and_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let twice = Batch { add: (0..40).collect(), delete: Vec::new() };
    let fixture =
        Fixture { batches: vec![twice.clone(), twice], routing: RoutingValues::Never, ..Fixture::everything(0, 0) };
    let (source_dir, out) = (dir.path().join("source"), dir.path().join("out"));
    fixture.build(&source_dir);
    let report = run(&job(&source_dir, &out, &fixture.routing(3), WAYS[0]));
    assert_split(&Content::read(&source_dir, &["id"]), &out, &fixture.routing(3));
    assert_eq!(report.plan.census.live, 80);
    assert_eq!(report.plan.census.duplicate_keys, Some(40));
}

#[test]
fn a_shard_of_several_splits_into_its_own_part_of_the_numbers() {
    for function in [RoutingFunction::Elasticsearch, RoutingFunction::ElasticsearchModulo] {
        // Take the documents of shard 1 of 3, by the oracle, and split them in two.
        let whole = SplitSpec { function, source_shards: 1, ..SplitSpec::new(3) };
        let rounds = common::routing::default_routing_shards(3);
        let whole = SplitSpec { number_of_routing_shards: Some(rounds), ..whole };
        let mut fixture = Fixture { routing: RoutingValues::Never, ..Fixture::everything(1, 0) };
        let belongs = |number: &u32| {
            let id = common::documents::id(*number, fixture.key);
            common::routing::shard(&whole, &id, &id) == 1
        };
        fixture.batches[0].add = (0..400).filter(belongs).collect();
        assert!(fixture.batches[0].add.len() > 50);

        let split = SplitSpec { function, source_shards: 3, source_shard: 1, ..SplitSpec::new(2) };
        let routing = Routing { split, ..Routing::by_key("id", 2) };
        split_every_way(&fixture, &routing, |_, children| {
            let shards: Vec<u32> = children.iter().map(|(shard, _)| *shard).collect();
            let modulo = function == RoutingFunction::ElasticsearchModulo;
            assert_eq!(shards, if modulo { [1, 4] } else { [2, 3] });
            assert!(children.iter().all(|(_, child)| !child.docs.is_empty()));
        });
    }
}

#[test]
fn a_partitioned_routing_value_spreads_over_several_children() {
    let fixture = Fixture { routing: RoutingValues::Always, ..Fixture::everything(2, 200) };
    let split = SplitSpec { routing_partition_size: 3, number_of_routing_shards: Some(8), ..SplitSpec::new(8) };
    let routing = Routing { split, ..fixture.routing(8) };
    split_every_way(&fixture, &routing, |_, children| {
        let holds = |(_, child): &&(u32, Content)| child.docs.iter().any(|doc| doc.keys["routing"][0] == "alpha");
        assert!(children.iter().filter(holds).count() > 1);
    });
}

#[test]
fn every_way_to_declare_the_id_gives_the_same_children() {
    for key in common::schema::KEY_KINDS {
        let mut fixture = Fixture { key, routing: RoutingValues::Never, ..Fixture::everything(2, 60).delete_every(6) };
        fixture.fields.truncate(2);
        split_every_way(&fixture, &fixture.routing(3), |_, children| {
            assert!(children.iter().all(|(_, child)| !child.docs.is_empty()), "{key:?}");
        });
    }
}
