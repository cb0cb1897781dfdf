//! How fast documents are routed from each plane, beside what no plane can beat: copying the bytes, and hashing alone.
//!
//! `cargo bench --bench routing_planes -- --docs 1000000 --segments 1 --runs 5`. One thread, CPU time, the best of some runs. The
//! index has ids of 32 characters, raw-indexed, and nothing else; it is made once under `target/`.

#![allow(clippy::unwrap_used, missing_docs, reason = "a bench stops where it fails")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use shardsplit::index_hashes::IndexHashes;
use shardsplit::partition::{
    Assigning, DocMap, KeyPolicies, KeySpec, MAX_DOCS_PER_SEGMENT, Placement, RoutingHashes, SegmentMode,
};
use shardsplit::progress::{Cancel, Silent};
use shardsplit::publish::RealFs;
use shardsplit::route::{SplitRouting, SplitSpec, routing_hash};
use shardsplit::source::{LockMode, Source};
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{STRING, Schema};
use tantivy::{Index, IndexWriter, doc};

const CHILDREN: u32 = 8;

/// The number behind a flag.
fn flag(name: &str, default: u64) -> u64 {
    let args: Vec<String> = std::env::args().collect();
    let at = args.iter().position(|arg| arg == name);
    at.and_then(|at| args.get(at + 1)).map_or(default, |value| value.parse().unwrap())
}

/// Different for every number, and in no order: SplitMix64, twice.
fn id(number: u64) -> String {
    let mix = |seed: u64| {
        let mut word = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    };
    format!("{:016x}{:016x}", mix(number + 1), mix(!number))
}

fn build(docs: u64, segments: u64) -> PathBuf {
    let name = format!("routing-planes-{docs}-{segments}");
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bench-corpora").join(name);
    if dir.join("meta.json").exists() {
        return dir;
    }
    std::fs::create_dir_all(&dir).unwrap();
    let mut builder = Schema::builder();
    let field = builder.add_text_field("id", STRING);
    let index = Index::create_in_dir(&dir, builder.build()).unwrap();
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 2_000_000_000).unwrap();
    writer.set_merge_policy(Box::new(NoMergePolicy));
    for segment in 0..segments {
        for number in segment * docs / segments..(segment + 1) * docs / segments {
            writer.add_document(doc!(field => id(number))).unwrap();
        }
        writer.commit().unwrap();
    }
    dir
}

/// CPU time of the process, whose one thread works: other programs on the machine do not count.
fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

/// The best of some runs.
fn best<T>(runs: u64, mut run: impl FnMut() -> T) -> Duration {
    let time = |_| {
        let begun = now();
        black_box(run());
        now() - begun
    };
    (0..runs.max(1)).map(time).min().unwrap()
}

fn main() {
    let (docs, segments, runs) = (flag("--docs", 1_000_000), flag("--segments", 1), flag("--runs", 5));
    let dir = build(docs, segments);
    IndexHashes::new(&dir, "id").run(&RealFs, &Silent, &Cancel::new()).unwrap();
    let source = Source::open(&dir, LockMode::None).unwrap();
    let routing = SplitRouting::new(SplitSpec::new(CHILDREN)).unwrap();
    let keys = KeySpec { key: "id".to_owned(), routing_field: None };
    let assign = |read_sidecars: bool, keep_hashes: bool| {
        let (source, keys, routing, policies) = (&source, &keys, &routing, KeyPolicies::default());
        let placement = &Placement::Hash;
        let job = Assigning { source, keys, routing, placement, policies, threads: 1, read_sidecars, keep_hashes };
        job.run(&Silent, &Cancel::new()).unwrap()
    };
    let map = |read_sidecars: bool| {
        let mut assigned = assign(read_sidecars, true);
        let hashes: RoutingHashes = assigned.hashes.take().unwrap();
        let mut map = DocMap::build(&source, &assigned.assignment, SegmentMode::One, MAX_DOCS_PER_SEGMENT).unwrap();
        map.carry(hashes);
        map
    };
    assert_eq!(assign(true, false).keys_hashed(), 0);
    assert_eq!(assign(false, false).keys_hashed(), docs);

    let ids: Vec<String> = (0..docs).map(id).collect();
    let hashing = best(runs, || ids.iter().map(|id| routing_hash(id)).fold(0i32, i32::wrapping_add));
    drop(ids);
    let from = vec![1u8; usize::try_from(4 * docs).unwrap()];
    let mut to = vec![0u8; from.len()];
    let copying = best(runs, || black_box(&mut to).copy_from_slice(black_box(&from)));

    let rows = [
        ("memcpy of 4 bytes a document", copying),
        ("routing_hash of every id", hashing),
        ("assignment from sidecars", best(runs, || assign(true, false))),
        ("assignment and doc map from sidecars", best(runs, || map(true))),
        ("assignment from terms", best(runs, || assign(false, false))),
        ("assignment and doc map from terms", best(runs, || map(false))),
    ];
    println!(
        "{docs} documents in {segments} segments, {CHILDREN} children, CPU time of one thread, best of {runs} runs\n"
    );
    println!("{:<38} {:>9} {:>14} {:>10} {:>10}", "", "CPU ms", "documents/s", "/ memcpy", "/ hashing");
    for (name, time) in rows {
        let seconds = time.as_secs_f64();
        println!(
            "{name:<38} {:>9.2} {:>14.0} {:>10.1} {:>10.2}",
            seconds * 1e3,
            docs as f64 / seconds,
            seconds / copying.as_secs_f64(),
            seconds / hashing.as_secs_f64()
        );
    }
}
