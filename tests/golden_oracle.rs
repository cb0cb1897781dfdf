//! What a child holds equals what tantivy's own `merge_filtered_segments` gives for the same documents: postings by
//! DocId, dictionaries, columns with type and cardinality, norms, stored values. Token totals apart: tantivy estimates
//! them where documents are left out, and ours are exact.

use std::path::Path;

use crate::common::content::Content;
use crate::common::corpora;
use crate::common::fixture::{Fixture, sort_kinds};
use crate::common::oracle::{content_differences, filtered_merge};
use crate::common::routing::Routing;
use crate::common::shared::{self, READABLE};
use shardsplit::job::Job;
use shardsplit::partition::KeySpec;
use shardsplit::progress::{Cancel, Silent};
use tantivy::Order;
use tantivy::store::{Compressor, ZstdCompressor};

fn compare(dir: &Path, routing: &Routing) {
    let source_dir = dir.join("source");
    let into = routing.split.into;
    let out = dir.join(format!("out-{into}"));
    let keys = KeySpec { key: routing.key.clone(), routing_field: routing.routing_field.clone() };
    let job = Job { keys, ..Job::new(&source_dir, &out, into, &routing.key) };
    job.run(&Silent, &Cancel::new()).unwrap();

    let source = Content::read(&source_dir, &routing.fields());
    for shard in routing.children() {
        let oracle_dir = dir.join(format!("oracle-{into}-{shard}"));
        filtered_merge(&source, &oracle_dir, |doc| routing.shard(&doc.keys) == shard);
        let oracle = Content::read(&oracle_dir, &routing.fields());
        let child = Content::read(&out.join(shard.to_string()), &routing.fields());
        let mut found = content_differences(&format!("child {shard}"), &child, &oracle);
        // Where sort keys are equal, tantivy leaves the order open; ours is that of the source.
        found.retain(|found| source.index.settings().sort_by_field.is_none() || !found.contains("order differs"));
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

#[test]
fn children_of_an_index_with_every_field_type_equal_the_oracles() {
    let compressors =
        [Compressor::Lz4, Compressor::None, Compressor::Zstd(ZstdCompressor { compression_level: Some(5) })];
    for (into, compressor) in [2, 5, 16].into_iter().zip(compressors) {
        let dir = tempfile::tempdir().unwrap();
        let fixture = Fixture { compressor, blocksize: 1_000, ..Fixture::everything(3, 200).delete_every(6) };
        fixture.build(&dir.path().join("source"));
        compare(dir.path(), &fixture.routing(into));
    }
}

#[test]
fn children_of_sorted_indexes_equal_the_oracles() {
    for (index, kind) in sort_kinds().into_iter().enumerate() {
        let order = if index % 2 == 0 { Order::Asc } else { Order::Desc };
        let dir = tempfile::tempdir().unwrap();
        let mut fixture = Fixture { sort: Some((kind, order)), ..Fixture::everything(3, 80).delete_every(5) };
        fixture.fields.truncate(12);
        fixture.build(&dir.path().join("source"));
        compare(dir.path(), &fixture.routing(3));
    }
}

#[test]
fn children_of_a_merged_index_equal_the_oracles() {
    let dir = tempfile::tempdir().unwrap();
    let fixture = Fixture { merge: 3, ..Fixture::everything(4, 90).delete_every(4) };
    fixture.build(&dir.path().join("source"));
    compare(dir.path(), &fixture.routing(3));
}

#[test]
fn terms_with_several_blocks_of_documents_equal_the_oracles() {
    // More than 128 documents per term, child and segment: skip lists, bit-packed blocks, long position lists.
    let dir = tempfile::tempdir().unwrap();
    let mut fixture = Fixture::everything(2, 1_500).delete_every(11);
    fixture.fields.retain(|field| field.name.starts_with("text_default") || field.name.starts_with("json_all"));
    fixture.build(&dir.path().join("source"));
    compare(dir.path(), &fixture.routing(2));
}

#[test]
fn children_of_other_programs_indexes_equal_the_oracles() {
    for shared in READABLE.into_iter().filter(|shared| shared.current_store) {
        for into in [2, 8] {
            let dir = tempfile::tempdir().unwrap();
            if shared::copy(shared.name, &dir.path().join("source")) {
                compare(dir.path(), &Routing::by_key(shared.key, into));
            }
        }
    }
}

#[test]
fn children_of_real_corpora_equal_the_oracles() {
    for name in corpora::NAMES {
        let dir = tempfile::tempdir().unwrap();
        if corpora::build(name, &dir.path().join("source"), 2) {
            compare(dir.path(), &Routing::by_key("id", 3));
        }
    }
}
