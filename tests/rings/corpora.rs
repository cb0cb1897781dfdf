//! 200,000 real documents of seven corpora on four nodes: a fifth joins, and leaves again. With `SHARDSPLIT_LARGE=1`; takes a
//! minute or two in release.
//!
//!     SHARDSPLIT_LARGE=1 cargo test --release --test all rings::corpora -- --nocapture
//!
//! The same with generated documents, a tenth as many, always runs: `rings::moves`.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::json;
use tantivy::schema::Value as _;
use tantivy::{Index, IndexWriter, TantivyDocument};

use super::*;
use crate::common::corpora;

const DOCS: usize = 200_000;

/// As many documents as are asked for, corpus after corpus in turn, ids apart. `false` if a corpus is absent.
fn build(dir: &Path) -> bool {
    let mut all = Vec::new();
    for name in corpora::NAMES {
        let Some(documents) = corpora::documents(name) else { return false };
        all.extend(documents.into_iter().map(|document| (name, document)));
    }
    std::fs::create_dir_all(dir).unwrap();
    let index = Index::create_in_dir(dir, corpora::schema()).unwrap();
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 200_000_000).unwrap();
    writer.set_merge_policy(Box::new(tantivy::merge_policy::NoMergePolicy));
    for (nth, (name, document)) in all.iter().cycle().take(DOCS).enumerate() {
        let mut document = document.clone();
        document["id"] = json!(format!("{name}/{}~{}", document["id"].as_str().unwrap(), nth / all.len()));
        writer.add_document(corpora::convert(&index.schema(), &document)).unwrap();
        if nth % (DOCS / 4) == DOCS / 4 - 1 {
            writer.commit().unwrap();
        }
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    true
}

/// Ids of a shard, from its column.
fn ids(dir: &Path) -> Vec<String> {
    let index = Index::open_in_dir(dir).unwrap();
    let id = index.schema().get_field("id").unwrap();
    let searcher = index.reader().unwrap().searcher();
    let mut ids = Vec::new();
    for segment in searcher.segment_readers() {
        let store = segment.get_store_reader(50).unwrap();
        for doc in segment.doc_ids_alive() {
            let document: TantivyDocument = store.get(doc).unwrap();
            ids.push(document.get_first(id).unwrap().as_str().unwrap().to_owned());
        }
    }
    ids
}

fn bytes_of(index: &Path) -> u64 {
    let shards = std::fs::read_dir(index).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    let files = shards.flat_map(|shard| std::fs::read_dir(shard).unwrap());
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn two_hundred_thousand_real_documents_grow_from_four_nodes_to_five_and_back() {
    if std::env::var("SHARDSPLIT_LARGE").is_ok_and(|value| value == "1") {
        run();
    } else {
        eprintln!("SKIPPED: SHARDSPLIT_LARGE=1 moves 200,000 real documents; it needs 1 GiB of disk");
    }
}

fn run() {
    let dir = tempdir();
    let path = |name: &str| dir.path().join(name);
    if !build(&path("one")) {
        return;
    }
    let four = RingTable::Planned(PlannedRing::new(nodes(&[("a", 1), ("b", 1), ("c", 1), ("d", 1)]), 64).unwrap());
    let five = four.add(Node::new("e", 1, 4)).unwrap();
    split(&path("one"), &path("four"), &four, Method::Rewrite);
    let moved = |from: &str, to: &str, ring: &RingTable| {
        let begun = Instant::now();
        let job = IndexJob::moved(path(from), path(to), RoutingTable::Ring(ring.clone()));
        let report = job.run(&Silent, &Cancel::new()).unwrap();
        let docs: u64 = report.plan.parts[0].moves.iter().map(|flow| flow.docs).sum();
        let written: u64 = report.children.iter().map(|child| child.new_bytes).sum();
        eprintln!(
            "{from} to {to}: {docs} documents moved, {written} bytes written of {}; {:.1} s, verified",
            bytes_of(&path(from)),
            begun.elapsed().as_secs_f64()
        );
        let verified = report.verify.unwrap();
        assert!(verified.is_clean());
        (docs, verified.source_digest.unwrap(), verified.children_digest.unwrap())
    };
    let (grew, before, after) = moved("four", "five", &five);
    assert!((0.19..0.21).contains(&(grew as f64 / DOCS as f64)), "{grew} moved");
    let (_, again, back) = moved("five", "back", &four);
    assert!([after, again, back].iter().all(|digest| *digest == before));
    for (generation, ring) in [("five", &five), ("back", &four)] {
        let oracle = Oracle::new(ring);
        let mut all = BTreeSet::new();
        for node in ring.nodes() {
            for id in ids(&path(generation).join(node.shard.to_string())) {
                assert_eq!(oracle.shard(&id), node.shard, "{id}");
                assert!(all.insert(id), "a document is in two shards");
            }
        }
        assert_eq!(all.len(), DOCS);
    }
}
