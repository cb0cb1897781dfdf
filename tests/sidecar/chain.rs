//! 1 → 2 → 4 → 8: only the first split hashes, and the last children are those of one split into 8.

use std::path::{Path, PathBuf};

use shardsplit::partition::{KeyPlane, SegmentMode};
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::route::{RoutingFunction, SplitSpec};
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{STORED, STRING, Schema};
use tantivy::{Index, TantivyDocument, Term};

use super::{WAYS, job, sidecars, split, verified};
use crate::common::check::assert_split;
use crate::common::content::Content;
use crate::common::documents::RoutingValues;
use crate::common::files::assert_same_bytes;
use crate::common::fixture::Fixture;
use crate::common::routing::Routing;
use crate::linked;

/// Splits every shard of `shards` (of an index of so many) in two. Returns the new ones, and how many keys were hashed.
fn halve(shards: Vec<PathBuf>, dir: &Path, routing: &Routing, way: (Method, SegmentMode)) -> (Vec<PathBuf>, u64) {
    let source_shards = u32::try_from(shards.len()).unwrap();
    let (mut halves, mut hashed) = (vec![PathBuf::new(); 2 * shards.len()], 0);
    for (source_shard, shard) in (0..).zip(&shards) {
        let split_in_two = SplitSpec { into: 2, source_shards, source_shard, ..routing.split };
        let routing = Routing { split: split_in_two, ..routing.clone() };
        let out = dir.join(format!("{source_shards}-{source_shard}"));
        let report = split(shard, &out, &routing, way);
        let readings = report.plan.key_readings.iter();
        assert_eq!(report.plan.keys_hashed, readings.clone().map(|reading| reading.hashed).sum::<u64>());
        if source_shards > 1 {
            assert!(readings.clone().all(|reading| reading.plane == KeyPlane::Sidecar), "{:?}", report.plan);
        }
        hashed += report.plan.keys_hashed;
        for shard in routing.children() {
            let child = out.join(shard.to_string());
            assert_eq!(
                sidecars(&child).len(),
                Index::open_in_dir(&child).unwrap().searchable_segment_ids().unwrap().len()
            );
            halves[shard as usize] = child;
        }
    }
    (halves, hashed)
}

/// The chain, judged by a reader of tantivy's. `hashed`: what the first split hashes.
fn assert_chain(source: &Path, routing: &Routing, way: (Method, SegmentMode), hashed: Option<u64>) {
    let dir = tempfile::tempdir().unwrap();
    let mut shards = vec![source.to_path_buf()];
    for stage in 0..3 {
        let (halves, found) = halve(shards, dir.path(), routing, way);
        match stage {
            0 => assert!(hashed.map_or(found > 0, |hashed| hashed == found), "{found} keys were hashed"),
            _ => assert_eq!(found, 0, "stage {stage} of {way:?}"),
        }
        shards = halves;
    }
    let all = dir.path().join("all");
    std::fs::create_dir(&all).unwrap();
    for (shard, path) in shards.iter().enumerate() {
        std::fs::rename(path, all.join(shard.to_string())).unwrap();
    }
    let routing = Routing { split: SplitSpec { into: 8, ..routing.split }, ..routing.clone() };
    assert_split(&Content::read(source, &routing.fields()), &all, &routing);
    let report = verified(source, &all, &routing);
    let found: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    assert!(report.is_clean() && !found.iter().any(|finding| finding.contains("sidecar")), "{found:?}");
}

#[test]
fn only_the_first_split_of_a_chain_hashes_and_it_hashes_every_document_once() {
    let dir = tempfile::tempdir().unwrap();
    linked::build_index(dir.path(), &[300, 50, 150], &[]);
    for way in WAYS {
        assert_chain(dir.path(), &Routing::by_key("id", 8), way, Some(500));
    }
}

#[test]
fn custom_routing_values_go_with_the_documents() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = Fixture::everything(3, 80).delete_every(7);
    fixture.build(dir.path());
    for way in WAYS {
        assert_chain(dir.path(), &fixture.routing(8), way, None);
    }
}

#[test]
fn both_routing_functions_and_partitions_take_their_hashes_from_sidecars() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = Fixture { routing: RoutingValues::Always, ..Fixture::everything(2, 60) };
    fixture.build(dir.path());
    for function in [RoutingFunction::Elasticsearch, RoutingFunction::ElasticsearchModulo] {
        for routing_partition_size in [1, 3] {
            let mut routing = fixture.routing(8);
            routing.split.function = function;
            routing.split.routing_partition_size = routing_partition_size;
            if function == RoutingFunction::Elasticsearch {
                routing.split.number_of_routing_shards = Some(16);
                assert_chain(dir.path(), &routing, WAYS[0], None);
            } else {
                // Children of plain modulo are strided: one split is enough to see that they are the right ones.
                let out = tempfile::tempdir().unwrap();
                let half = Routing { split: SplitSpec { into: 2, ..routing.split }, ..routing.clone() };
                let first = split(dir.path(), &out.path().join("a"), &half, WAYS[0]);
                assert!(first.plan.keys_hashed > 0);
                let quarter = SplitSpec { source_shards: 2, source_shard: 1, into: 2, ..routing.split };
                let quarter = Routing { split: quarter, ..routing };
                let child = out.path().join("a/1");
                let second = split(&child, &out.path().join("b"), &quarter, WAYS[0]);
                assert_eq!(second.plan.keys_hashed, 0);
                let content = Content::read(&child, &quarter.fields());
                assert_split(&content, &out.path().join("b"), &quarter);
            }
        }
    }
}

#[test]
fn an_index_sort_leaves_every_hash_with_its_document() {
    let dir = tempfile::tempdir().unwrap();
    let kind = crate::common::fixture::sort_kinds().swap_remove(0);
    let mut fixture = Fixture { sort: Some((kind, tantivy::Order::Desc)), ..Fixture::everything(3, 70) };
    fixture.fields.truncate(2);
    fixture.build(dir.path());
    assert_chain(dir.path(), &fixture.routing(8), WAYS[0], None);
}

/// Documents with an id, and some without.
fn some_without_id(dir: &Path) {
    let mut schema = Schema::builder();
    let (id, serial) = (schema.add_text_field("id", STRING | STORED), schema.add_u64_field("serial", STORED));
    std::fs::create_dir_all(dir).unwrap();
    let index = Index::create_in_dir(dir, schema.build()).unwrap();
    let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
    for number in 0..200u64 {
        let mut document = TantivyDocument::new();
        document.add_u64(serial, number);
        if number % 9 != 4 {
            document.add_text(id, format!("id {number}"));
        }
        writer.add_document(document).unwrap();
    }
    writer.commit().unwrap();
}

#[test]
fn documents_without_a_key_are_known_as_such_and_a_policy_is_asked_for_again() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    some_without_id(&source);
    for way in WAYS {
        let out = dir.path().join(format!("{way:?}"));
        std::fs::create_dir(&out).unwrap();
        let first = Routing { missing: Some(1), ..Routing::by_key("id", 2) };
        split(&source, &out.join("a"), &first, way);
        let spec = SplitSpec { source_shards: 2, source_shard: 1, ..SplitSpec::new(2) };
        let second = Routing { split: spec, missing: Some(3), ..first };
        let refused = job(&out.join("a/1"), &out.join("b"), &Routing { missing: None, ..second.clone() }, way);
        let error = refused.run(&Silent, &Cancel::new()).unwrap_err().to_string();
        assert!(error.contains("22 documents have no key"), "{error}");
        let report = split(&out.join("a/1"), &out.join("b"), &second, way);
        assert_eq!((report.plan.keys_hashed, report.plan.census.missing_placed), (0, 22));
        assert_split(&Content::read(&out.join("a/1"), &second.fields()), &out.join("b"), &second);
    }
}

#[test]
fn deletes_leave_a_sidecar_valid_and_a_merged_segment_has_none() {
    for way in WAYS {
        let dir = tempfile::tempdir().unwrap();
        let (source, out) = (dir.path().join("source"), dir.path().join("out"));
        linked::build_index(&source, &[60, 40], &[7]);
        split(&source, &out, &Routing::by_key("id", 2), way);
        let child = out.join("0");
        let spec = SplitSpec { source_shards: 2, ..SplitSpec::new(2) };
        let routing = Routing { split: spec, ..Routing::by_key("id", 2) };

        let index = Index::open_in_dir(&child).unwrap();
        let id = index.schema().get_field("id").unwrap();
        let mut writer = index.writer_with_num_threads::<TantivyDocument>(1, 15_000_000).unwrap();
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let before = Content::read(&child, &["id"]);
        writer.delete_term(Term::from_field_text(id, &before.docs[3].keys["id"][0]));
        writer.commit().unwrap();
        writer.garbage_collect_files().wait().unwrap();
        writer.wait_merging_threads().unwrap();
        let report = split(&child, &dir.path().join("deleted"), &routing, way);
        assert_eq!(report.plan.keys_hashed, 0, "{way:?}");
        assert_eq!(report.plan.census.live, before.docs.len() as u64 - 1);
        assert_split(&Content::read(&child, &["id", "serial"]), &dir.path().join("deleted"), &routing);

        let mut writer = index.writer_with_num_threads::<TantivyDocument>(1, 15_000_000).unwrap();
        writer.merge(&index.searchable_segment_ids().unwrap()).wait().unwrap();
        writer.garbage_collect_files().wait().unwrap();
        writer.wait_merging_threads().unwrap();
        let report = split(&child, &dir.path().join("merged"), &routing, way);
        assert_eq!(report.plan.keys_hashed, before.docs.len() as u64 - 1, "{way:?}");
        let left = report.plan.warnings.iter().find(|warning| warning.contains("belong to no segment")).unwrap();
        assert!(left.contains(".hashes"), "{left}");
        assert_split(&Content::read(&child, &["id", "serial"]), &dir.path().join("merged"), &routing);
    }
}

#[test]
fn children_are_the_same_bytes_whether_hashes_came_from_keys_or_from_sidecars() {
    for way in WAYS {
        let dir = tempfile::tempdir().unwrap();
        let (source, out) = (dir.path().join("source"), dir.path().join("out"));
        linked::build_index(&source, &[60, 40], &[7]);
        let twelve = |spec| SplitSpec { number_of_routing_shards: Some(12), ..spec };
        let first = Routing { split: twelve(SplitSpec::new(2)), ..Routing::by_key("id", 2) };
        split(&source, &out, &first, way);
        let spec = twelve(SplitSpec { source_shards: 2, ..SplitSpec::new(3) });
        let routing = Routing { split: spec, ..Routing::by_key("id", 3) };
        // Beside each other, and of one name: manifests hold where the source is.
        let outs = ["with", "one-thread", "without"].map(|name| dir.path().join(name).join("out"));
        for out in &outs {
            std::fs::create_dir(out.parent().unwrap()).unwrap();
        }
        let child = out.join("0");
        assert_eq!(split(&child, &outs[0], &routing, way).plan.keys_hashed, 0);
        let mut single = job(&child, &outs[1], &routing, way);
        single.threads = 1;
        single.run(&Silent, &Cancel::new()).unwrap();
        assert_same_bytes(&outs[0], &outs[1]);
        for sidecar in sidecars(&child) {
            std::fs::remove_file(sidecar).unwrap();
        }
        assert!(split(&child, &outs[2], &routing, way).plan.keys_hashed > 0);
        let by_name = |out: &Path| -> Vec<(String, Vec<u8>)> {
            let files = (0..3).flat_map(|shard| sidecars(&out.join(shard.to_string())));
            files
                .map(|file| (file.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&file).unwrap()))
                .collect()
        };
        let (with, without) = (by_name(&outs[0]), by_name(&outs[2]));
        assert!(!with.is_empty());
        if way.0 == Method::Rewrite {
            assert!(with == without, "{way:?}");
        } else {
            // Linked ones know documents of siblings, which are deleted here and so are not read again.
            assert_eq!(
                with.iter().map(|(name, _)| name).collect::<Vec<_>>(),
                without.iter().map(|(name, _)| name).collect::<Vec<_>>()
            );
        }
    }
}
