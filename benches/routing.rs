//! Look-ups of routing tables, with a `BTreeMap` beside the ring, and what it costs to make and compare tables.
//!
//! `cargo bench --bench routing`; keys are hashed beforehand.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs, reason = "a bench stops where it fails")]

use std::collections::BTreeMap;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use shardsplit::route::movement::Movement;
use shardsplit::route::{CollisionRule, Elasticsearch, Jump, Node, PlannedRing, Rendezvous, Ring, routing_hash};

const KEYS: u32 = 1 << 16;

fn nodes(count: u32, weight: u32) -> Vec<Node> {
    (0..count).map(|node| Node::new(format!("node-{node}"), weight, node)).collect()
}

fn ring(count: u32) -> Ring {
    Ring::new(nodes(count, 200), CollisionRule::LowestName).unwrap()
}

fn planned(count: u32) -> PlannedRing {
    PlannedRing::new(nodes(count, 1), 64).unwrap()
}

/// One element is one look-up.
fn look_ups(bench: &mut Criterion) {
    let hashes: Vec<i32> = (0..KEYS).map(|key| routing_hash(&format!("doc-{key}"))).collect();
    let mut group = bench.benchmark_group("look_up");
    group.throughput(Throughput::Elements(u64::from(KEYS)));
    let mut run = |name: &str, count: u32, shard: &dyn Fn(&[i32]) -> u64| {
        group.bench_function(BenchmarkId::new(name, count), |bench| bench.iter(|| shard(black_box(&hashes))));
    };
    for count in [10, 100, 1000] {
        let ring = ring(count);
        run("ring of 200 points", count, &|hashes| hashes.iter().map(|&hash| u64::from(ring.shard(hash))).sum());
        let map: BTreeMap<u32, u32> = ring.points().collect();
        let first = *map.first_key_value().unwrap().1;
        run("BTreeMap", count, &|hashes| {
            let shard = |hash: i32| map.range(hash.cast_unsigned()..).next().map_or(first, |(_, &shard)| shard);
            hashes.iter().map(|&hash| u64::from(shard(hash))).sum()
        });
        let planned = planned(count);
        run("planned, 64 tokens", count, &|hashes| hashes.iter().map(|&hash| u64::from(planned.shard(hash))).sum());
        let jump = Jump::new(count).unwrap();
        run("jump", count, &|hashes| hashes.iter().map(|&hash| u64::from(jump.shard(hash))).sum());
        let elasticsearch = Elasticsearch::new(count, count * 16).unwrap();
        run("elasticsearch", count, &|hashes| hashes.iter().map(|&hash| u64::from(elasticsearch.shard(hash, 0))).sum());
        let equal = Rendezvous::new(nodes(count, 1)).unwrap();
        // One key in 64: a thousand nodes are slow. Multiply the time per element by 64.
        run("rendezvous, 1024 keys", count, &|hashes| {
            hashes.iter().step_by(64).map(|&hash| u64::from(equal.shard(hash))).sum()
        });
    }
    group.finish();
}

fn tables(bench: &mut Criterion) {
    let mut group = bench.benchmark_group("tables");
    group.sample_size(10);
    group.bench_function("make a ring of 1000 nodes and 200 points", |bench| bench.iter(|| ring(1000)));
    let (hundred, planned) = (ring(100), planned(100));
    let joined = planned.add(Node::new("late", 1, 1000)).unwrap();
    group.bench_function("join 100 planned nodes", |bench| {
        bench.iter(|| planned.add(Node::new("late", 1, 1000)).unwrap());
    });
    group.bench_function("compare 100 planned nodes with 101", |bench| {
        bench.iter(|| Movement::between(&planned, &joined).unwrap());
    });
    let modulo = Elasticsearch::new(100, 800).unwrap();
    group.bench_function("compare scaled modulo with a ring of 20,000 points", |bench| {
        bench.iter(|| Movement::between(&modulo, &hundred).unwrap());
    });
    group.finish();
}

criterion_group!(benches, look_ups, tables);
criterion_main!(benches);
