//! Stages of a split, with criterion: doc map per key reader, rewrite with its peer beside it, link, verify.
//!
//! `cargo bench --bench stages`; the corpus is small and made once under `target/`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "a bench stops where it fails")]

mod corpus;

use std::path::{Path, PathBuf};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use shardsplit::job::Job;
use shardsplit::partition::{DocMap, KeyPolicies, KeySpec, MAX_DOCS_PER_SEGMENT, SegmentMode, assign};
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::route::{SplitRouting, SplitSpec, routing_hash};
use shardsplit::source::{LockMode, Source};
use shardsplit::verify::{VerifyJob, VerifyLevel, verify};
use tantivy::directory::RamDirectory;
use tantivy::fastfield::AliveBitSet;
use tantivy::indexer::merge_filtered_segments;
use tantivy::schema::{STRING, Schema};
use tantivy::{Index, IndexWriter, doc};
use tantivy_common::{BitSet, ReadOnlyBitSet};

const DOCS: u64 = 20_000;
const CHILDREN: u32 = 8;

fn source() -> PathBuf {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bench-corpora").join(format!("reference-{DOCS}-4"));
    corpus::build(&dir, &corpus::Shape::reference(DOCS), 4);
    dir
}

fn keys(field: &str) -> KeySpec {
    KeySpec { key: field.to_owned(), routing_field: None }
}

/// Ours beside the `murmur3` crate, which needs the UTF-16 bytes in a buffer; the buffer is reused.
fn hashing(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("routing_hash");
    for key in ["0123456789abcdef0123456789abcdef", "kürzer", "漢字の識別子"] {
        group.throughput(Throughput::Bytes(key.len() as u64));
        group.bench_with_input(BenchmarkId::new("ours", key), key, |bench, key| bench.iter(|| routing_hash(key)));
        group.bench_with_input(BenchmarkId::new("murmur3 crate", key), key, |bench, key| {
            let mut bytes = Vec::new();
            bench.iter(|| {
                bytes.clear();
                bytes.extend(key.encode_utf16().flat_map(u16::to_le_bytes));
                murmur3::murmur3_32(&mut bytes.as_slice(), 0).unwrap()
            });
        });
    }
    group.finish();
}

/// An index whose ids are in the term dictionary and nowhere else.
fn ids_as_terms() -> PathBuf {
    let dir = source().with_file_name(format!("ids-{DOCS}"));
    if !dir.join("meta.json").exists() {
        std::fs::create_dir_all(&dir).unwrap();
        let mut builder = Schema::builder();
        let id = builder.add_text_field("id", STRING);
        let index = Index::create_in_dir(&dir, builder.build()).unwrap();
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 100_000_000).unwrap();
        for document in corpus::Documents::new(corpus::Shape::reference(DOCS)) {
            writer.add_document(doc!(id => document.id)).unwrap();
        }
        writer.commit().unwrap();
    }
    dir
}

/// Routing per key reader: `id` from its column and from its term dictionary, `pages` from a numeric column, `title` from
/// the doc store. Alone, and with the doc map that follows.
fn routes(bench: &mut Criterion) {
    let whole = Source::open(source(), LockMode::None).unwrap();
    let terms = Source::open(ids_as_terms(), LockMode::None).unwrap();
    let routing = SplitRouting::new(SplitSpec::new(CHILDREN)).unwrap();
    let route = |source: &Source, field: &str| {
        let policies = KeyPolicies::default();
        assign(source, &keys(field), &routing, &policies, 1, &Silent, &Cancel::new()).unwrap()
    };
    let cases = [
        ("column", &whole, "id"),
        ("numeric column", &whole, "pages"),
        ("terms", &terms, "id"),
        ("store", &whole, "title"),
    ];
    let mut group = bench.benchmark_group("route");
    group.throughput(Throughput::Elements(DOCS)).sample_size(20);
    for (name, source, field) in cases {
        group.bench_function(name, |bench| bench.iter_with_large_drop(|| route(source, field)));
    }
    group.finish();
    let mut group = bench.benchmark_group("doc_map");
    group.throughput(Throughput::Elements(DOCS)).sample_size(20);
    for (name, source, field) in cases {
        group.bench_function(name, |bench| {
            bench.iter(|| {
                let found = route(source, field);
                DocMap::build(source, &found.assignment, SegmentMode::One, MAX_DOCS_PER_SEGMENT).unwrap()
            });
        });
    }
    group.finish();
}

fn jobs(bench: &mut Criterion) {
    let dir = source();
    let bytes = Source::open(&dir, LockMode::None).unwrap().num_bytes();
    let mut group = bench.benchmark_group("job");
    group.throughput(Throughput::Bytes(bytes)).sample_size(10);
    for (name, method) in [("rewrite", Method::Rewrite), ("link", Method::Link)] {
        group.bench_function(name, |bench| {
            bench.iter_with_large_drop(|| {
                let scratch = tempfile::tempdir_in(dir.parent().unwrap()).unwrap();
                let mut job = Job::new(&dir, scratch.path().join("out"), CHILDREN, "id");
                (job.method, job.verify) = (method, VerifyLevel::None);
                job.run(&Silent, &Cancel::new()).unwrap();
                scratch
            });
        });
    }
    group.bench_function("k x merge_filtered_segments", |bench| bench.iter(|| merge_all(&dir)));

    let scratch = tempfile::tempdir_in(dir.parent().unwrap()).unwrap();
    let out = scratch.path().join("out");
    let mut job = Job::new(&dir, &out, CHILDREN, "id");
    job.verify = VerifyLevel::None;
    let report = job.run(&Silent, &Cancel::new()).unwrap();
    let source = Source::open(&dir, LockMode::None).unwrap();
    group.bench_function("verify", |bench| {
        bench.iter(|| {
            let children = report.children.iter().map(|child| (child.shard, child.path.clone())).collect();
            let mut job = VerifyJob::new(&source, children);
            job.known_file = shardsplit::publish::is_manifest;
            assert!(verify(&job, &Silent, &Cancel::new()).unwrap().is_clean());
        });
    });
    group.finish();
}

/// The peer: one filtered merge per child, in memory.
fn merge_all(dir: &Path) {
    let source = Source::open(dir, LockMode::None).unwrap();
    let routing = SplitRouting::new(SplitSpec::new(CHILDREN)).unwrap();
    let policies = KeyPolicies::default();
    let assigned = assign(&source, &keys("id"), &routing, &policies, 1, &Silent, &Cancel::new()).unwrap();
    let index = tantivy::Index::open_in_dir(dir).unwrap();
    let segments = index.searchable_segments().unwrap();
    for child in 0..u16::try_from(CHILDREN).unwrap() {
        let filters = (0..segments.len())
            .map(|segment| {
                let owners = assigned.assignment.segment(segment);
                let mut own = BitSet::with_max_value(u32::try_from(owners.len()).unwrap());
                for (doc, _) in (0..).zip(owners).filter(|&(_, &owner)| owner == child) {
                    own.insert(doc);
                }
                Some(AliveBitSet::from(ReadOnlyBitSet::from(&own)))
            })
            .collect();
        merge_filtered_segments(&segments, index.settings().clone(), filters, RamDirectory::create()).unwrap();
    }
}

criterion_group!(stages, hashing, routes, jobs);
criterion_main!(stages);
