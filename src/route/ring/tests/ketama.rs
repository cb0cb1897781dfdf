//! Ketama against libketama's own tests and three other implementations.

use std::collections::BTreeMap;
use std::fmt::Write;

use md5::{Digest, Md5};
use serde_json::Value;

use super::{name, number, vectors};
use crate::route::movement::Movement;
use crate::route::{Elasticsearch, HASHES, Ketama, Node, RingError, ketama_hash};

fn servers(rows: &Value) -> Vec<Node> {
    let row = |(row, shard): (&Value, u32)| Node::new(row[0].as_str().unwrap(), number(&row[1]), shard);
    rows.as_array().unwrap().iter().zip(0..).map(row).collect()
}

#[test]
fn python_ketama_finds_the_same_point() {
    let vectors = vectors();
    let two = &vectors["ketama"]["two_servers_600_400"];
    assert_eq!(ketama_hash("test").cast_unsigned(), number(&vectors["ketama"]["hashi"]["test"]));
    let ring = Ketama::new(servers(&two["servers"])).unwrap();
    assert_eq!(ring.points().count(), number(&two["points"]) as usize);
    let hash = ketama_hash(two["get"]["key"].as_str().unwrap());
    assert_eq!(ring.point(hash), number(&two["get"]["point"]));
    assert_eq!(name(ring.nodes(), ring.shard(hash)), two["get"]["server"]);
}

#[test]
fn a_million_keys_give_the_output_of_libketamas_test() {
    let vectors = vectors();
    let published = &vectors["ketama"]["libketama_selftest"];
    let ring = Ketama::new(servers(&published["servers"])).unwrap();
    assert_eq!(ring.points().count(), number(&published["points"]) as usize);
    let mut points = BTreeMap::<&str, u32>::new();
    ring.points().for_each(|(_, shard)| *points.entry(name(ring.nodes(), shard)).or_default() += 1);
    assert_eq!(serde_json::to_value(points).unwrap(), published["points_per_server"]);
    let (mut sum, mut counts) = (Md5::new(), BTreeMap::<&str, u32>::new());
    sum.update("\n");
    let mut line = String::new();
    for key in 0..1_000_000 {
        let hash = ketama_hash(&key.to_string());
        let server = name(ring.nodes(), ring.shard(hash));
        *counts.entry(server).or_default() += 1;
        line.clear();
        writeln!(line, "{} {} {server}", hash.cast_unsigned(), ring.point(hash)).unwrap();
        sum.update(&line);
    }
    assert_eq!(serde_json::to_value(counts).unwrap(), published["counts_of_1e6"]);
    let hex: String = sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, published["md5_of_output"]);
}

#[test]
fn go_ketama_counts_the_same() {
    let vectors = vectors();
    let labels = (1..=10).map(|server| Node::new(format!("server{server}"), 1, server)).collect();
    let ring = Ketama::new(labels).unwrap();
    let mut counts = BTreeMap::<&str, u32>::new();
    for key in 0..100_000 {
        let hash = ketama_hash(&format!("foo{key}"));
        *counts.entry(name(ring.nodes(), ring.shard(hash))).or_default() += 1;
    }
    assert_eq!(serde_json::to_value(counts).unwrap(), vectors["ketama"]["go_ketama_basic_compat"]["counts"]);
}

#[test]
fn couchbase_has_the_same_points() {
    let vectors = vectors();
    let published = vectors["ketama"]["couchbase_4_nodes_640_points"].as_array().unwrap();
    assert_eq!(published.len(), 640);
    let mut labels: Vec<&str> = published.iter().map(|row| row[1].as_str().unwrap()).collect();
    labels.sort_unstable();
    labels.dedup();
    let ring = Ketama::new(labels.iter().zip(0..).map(|(&label, shard)| Node::new(label, 1, shard)).collect()).unwrap();
    let found: Vec<_> = ring.points().map(|(point, shard)| (point, name(ring.nodes(), shard))).collect();
    let published: Vec<_> = published.iter().map(|row| (number(&row[0]), row[1].as_str().unwrap())).collect();
    assert_eq!(found, published);
}

#[test]
fn shares_cover_the_space_and_a_server_too_light_for_a_point_is_refused() {
    let ring = Ketama::new(vec![Node::new("a", 3, 0), Node::new("b", 1, 1)]).unwrap();
    assert_eq!(ring.shares().iter().map(|share| share.hashes()).sum::<u64>(), HASHES);
    let light = Ketama::new(vec![Node::new("a", 1000, 0), Node::new("b", 1, 1)]);
    assert!(matches!(light, Err(RingError::OwnsNothing { name, weight: 1 }) if name == "b"));
}

#[test]
fn a_ketama_ring_is_compared_with_its_like_only() {
    let ring = Ketama::new(vec![Node::new("a", 3, 0), Node::new("b", 1, 1)]).unwrap();
    let error = Movement::between(&Elasticsearch::new(2, 1024).unwrap(), &ring).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a table of murmur3 x86 32-bit over UTF-16 LE cannot be compared with a table of ketama's MD5 over UTF-8; compare tables of one hash"
    );
    assert_eq!(Movement::between(&ring, &ring).unwrap().moved().hashes(), 0);
}
