//! Values too large for every day. With `SHARDSPLIT_LARGE=1` these tests run: they take minutes, and 9 GiB of disk in the
//! temporary directory (`TMPDIR`); otherwise each says that it skips.
//!
//!     SHARDSPLIT_LARGE=1 cargo test --release --test all large:: -- --nocapture --test-threads 1
//!
//! Such indexes do not fit the comparison in memory; tantivy's reader counts and samples them instead.

use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::common::documents::Rng;
use crate::common::routing::{Routing, shard};
use shardsplit::job::Job;
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use tantivy::collector::Count;
use tantivy::indexer::NoMergePolicy;
use tantivy::postings::Postings;
use tantivy::query::TermQuery;
use tantivy::schema::{Field, IndexRecordOption, STORED, STRING, Schema, TEXT, TextOptions, Value};
use tantivy::store::Compressor;
use tantivy::{DocSet, Index, IndexSettings, SegmentReader, TERMINATED, TantivyDocument, Term};

/// Whether these tests are wanted; says so if not.
fn wanted(needs: &str) -> bool {
    let wanted = std::env::var("SHARDSPLIT_LARGE").is_ok_and(|value| value == "1");
    if !wanted {
        eprintln!("SKIPPED: nothing large was tested. SHARDSPLIT_LARGE=1 runs this test; it needs {needs}");
    }
    wanted
}

/// Writes an index of one segment.
fn build(dir: &Path, schema: &Schema, compressor: Compressor, documents: impl Iterator<Item = TantivyDocument>) {
    std::fs::create_dir(dir).unwrap();
    let settings = IndexSettings { docstore_compression: compressor, ..IndexSettings::default() };
    let index = Index::builder().schema(schema.clone()).settings(settings).create_in_dir(dir).unwrap();
    let mut writer = index.writer_with_num_threads(1, 1_500_000_000).unwrap();
    writer.set_merge_policy(Box::new(NoMergePolicy));
    for document in documents {
        writer.add_document(document).unwrap();
    }
    writer.commit().unwrap();
    let segments = index.searchable_segment_ids().unwrap();
    if segments.len() > 1 {
        writer.merge(&segments).wait().unwrap();
    }
    writer.wait_merging_threads().unwrap();
    assert_eq!(index.searchable_segment_ids().unwrap().len(), 1);
}

/// Splits, says how long it took, and gives the children with their numbers.
fn split(source: &Path, out: PathBuf, into: u32, method: Method) -> Vec<(u32, Index)> {
    let begun = Instant::now();
    let report = Job { method, ..Job::new(source, &out, into, "id") }.run(&Silent, &Cancel::new()).unwrap();
    assert!(report.verify.is_some_and(|verify| verify.is_clean()));
    eprintln!("{method:?} into {into}, verified: {:.1} s", begun.elapsed().as_secs_f64());
    Routing::by_key("id", into)
        .children()
        .into_iter()
        .map(|shard| (shard, Index::open_in_dir(out.join(shard.to_string())).unwrap()))
        .collect()
}

fn readers(index: &Index) -> Vec<SegmentReader> {
    index.searchable_segments().unwrap().iter().map(|segment| SegmentReader::open(segment).unwrap()).collect()
}

fn with_id() -> (tantivy::schema::SchemaBuilder, Field) {
    let mut builder = Schema::builder();
    let id = builder.add_text_field("id", TextOptions::default().set_fast("raw"));
    (builder, id)
}

#[test]
fn a_term_in_each_of_3_million_documents_is_kept() {
    if !wanted("1 GiB of disk and a minute") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (mut builder, id) = with_id();
    let text = builder.add_text_field("text", TEXT);
    let schema = builder.build();
    let source = dir.path().join("source");
    let documents = (0..3_000_000u64).map(|n| {
        let mut document = TantivyDocument::new();
        document.add_text(id, n.to_string());
        document.add_text(text, if n % 3 == 0 { "every every" } else { "every other" });
        document
    });
    build(&source, &schema, Compressor::Lz4, documents);
    for method in [Method::Rewrite, Method::Link] {
        let children = split(&source, dir.path().join(format!("{method:?}")), 4, method);
        let every = TermQuery::new(Term::from_field_text(text, "every"), IndexRecordOption::Basic);
        let (mut docs, mut freqs, mut last) = (0, 0u64, 0u64);
        for (_, child) in &children {
            docs += child.reader().unwrap().searcher().search(&every, &Count).unwrap();
            for reader in readers(child) {
                let inverted = reader.inverted_index(text).unwrap();
                let term = Term::from_field_text(text, "every");
                let option = IndexRecordOption::WithFreqsAndPositions;
                let mut postings = inverted.read_postings(&term, option).unwrap().unwrap();
                let mut positions = Vec::new();
                while postings.doc() != TERMINATED {
                    if !reader.is_deleted(postings.doc()) {
                        freqs += u64::from(postings.term_freq());
                        postings.positions(&mut positions);
                        last += u64::from(*positions.last().unwrap());
                    }
                    postings.advance();
                }
            }
        }
        assert_eq!((docs, freqs, last), (3_000_000, 4_000_000, 1_000_000), "{method:?}");
    }
}

#[test]
fn a_doc_store_of_more_than_4_gib_is_kept() {
    if !wanted("9 GiB of disk and some minutes") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (mut builder, id) = with_id();
    let bytes = builder.add_bytes_field("bytes", STORED);
    let schema = builder.build();
    let source = dir.path().join("source");
    const LEN: usize = 8 << 20;
    const DOCS: u64 = 540;
    let noise = |n: u64| -> Vec<u8> {
        let mut rng = Rng::new(n);
        (0..LEN / 8).flat_map(|_| rng.next().to_le_bytes()).collect()
    };
    let documents = (0..DOCS).map(|n| {
        let mut document = TantivyDocument::new();
        document.add_text(id, n.to_string());
        document.add_bytes(bytes, &noise(n));
        document
    });
    build(&source, &schema, Compressor::None, documents);
    let store = |dir: &Path| -> u64 {
        let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
        let stores = files.filter(|file| file.path().extension().is_some_and(|extension| extension == "store"));
        stores.map(|file| file.metadata().unwrap().len()).sum()
    };
    assert!(store(&source) > u64::from(u32::MAX) + (100 << 20), "{}", store(&source));
    // Into one, so that the child's store is as large; then into two.
    for (into, method) in [(1, Method::Rewrite), (2, Method::Rewrite), (2, Method::Link)] {
        let out = dir.path().join("out");
        let children = split(&source, out.clone(), into, method);
        assert!(into > 1 || store(&out.join("0")) > u64::from(u32::MAX));
        let mut seen = 0;
        for reader in children.iter().flat_map(|(_, child)| readers(child)) {
            let ids = reader.fast_fields().str("id").unwrap().unwrap();
            let store = reader.get_store_reader(1).unwrap();
            for doc in reader.doc_ids_alive() {
                let mut id = String::new();
                ids.ord_to_str(ids.term_ords(doc).next().unwrap(), &mut id).unwrap();
                let stored: TantivyDocument = store.get(doc).unwrap();
                let stored = stored.get_first(bytes).unwrap().as_bytes().unwrap();
                assert!(stored == noise(id.parse().unwrap()), "document {id}");
                seen += 1;
            }
        }
        assert_eq!(seen, DOCS);
        std::fs::remove_dir_all(out).unwrap();
    }
}

#[test]
fn dictionaries_of_more_than_a_million_entries_are_kept() {
    if !wanted("1 GiB of disk and a minute") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut builder = Schema::builder();
    let id = builder.add_text_field("id", STRING.set_fast("raw"));
    let schema = builder.build();
    let source = dir.path().join("source");
    const DOCS: u64 = 1_300_000;
    let name = |n: u64| format!("{:016x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let documents = (0..DOCS).map(|n| {
        let mut document = TantivyDocument::new();
        document.add_text(id, name(n));
        document
    });
    build(&source, &schema, Compressor::Lz4, documents);
    for (into, method) in [(1, Method::Rewrite), (3, Method::Rewrite), (3, Method::Link)] {
        let out = dir.path().join(format!("{into}-{method:?}"));
        let children = split(&source, out, into, method);
        let spec = Routing::by_key("id", into).split;
        let mut terms = 0;
        for (number, child) in &children {
            for reader in readers(child) {
                let column = reader.fast_fields().str("id").unwrap().unwrap();
                let inverted = reader.inverted_index(id).unwrap();
                assert_eq!(column.num_terms(), inverted.terms().num_terms());
                terms += column.num_terms();
            }
            let searcher = child.reader().unwrap().searcher();
            for n in (0..DOCS).step_by(1_009) {
                let query = TermQuery::new(Term::from_field_text(id, &name(n)), IndexRecordOption::Basic);
                let here = searcher.search(&query, &Count).unwrap();
                assert_eq!(here == 1, shard(&spec, &name(n), &name(n)) == *number, "{}", name(n));
            }
        }
        let shared = if method == Method::Link { into as usize } else { 1 };
        assert_eq!(terms, DOCS as usize * shared);
    }
}
