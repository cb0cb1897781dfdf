//! The classic ring against the `consistent_hash` crate, fed with this ring's hash.

use std::hash::{Hash, Hasher};

use consistent_hash::{Node as OracleNode, RingHash, StaticHashRing};

use super::ring;
use crate::route::{Node, routing_hash};

/// Collects the bytes of a string, as `Hash` writes them: UTF-8, then 0xff.
#[derive(Default)]
struct Text(Vec<u8>);

impl Text {
    fn of(item: &impl Hash) -> String {
        let mut text = Text::default();
        item.hash(&mut text);
        assert_eq!(text.0.pop(), Some(0xff));
        String::from_utf8(text.0).unwrap()
    }
}

impl Hasher for Text {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

struct RoutingHasher;

impl RingHash for RoutingHasher {
    fn hash_item<T: Hash>(&self, item: &T) -> u64 {
        u64::from(routing_hash(&Text::of(item)).cast_unsigned())
    }

    fn hash_vnode<K: Hash>(&self, node_key: &K, vnode_seq: usize) -> u64 {
        u64::from(routing_hash(&format!("{}#VN{vnode_seq}", Text::of(node_key))).cast_unsigned())
    }
}

#[test]
fn the_consistent_hash_crate_finds_the_same_owners() {
    let weights = [("new-1", 200u8), ("new-2", 200), ("old-1", 50), ("küche", 120), ("日本", 1)];
    let oracle = StaticHashRing::new(
        RoutingHasher,
        weights.iter().map(|&(name, weight)| OracleNode::new(name.to_owned()).quantity(usize::from(weight))),
    );
    let nodes =
        weights.iter().zip(0..).map(|(&(name, weight), shard)| Node::new(name, u32::from(weight), shard)).collect();
    let ring = ring(nodes);
    assert!(ring.collisions().is_empty());
    let mut seen = [false; 5];
    for key in (0..50_000).map(|key| format!("doc-{key}")) {
        let expected = oracle.calc_candidates(&key).next().unwrap();
        let shard = ring.shard(routing_hash(&key)) as usize;
        assert_eq!(weights[shard].0, expected.key, "{key}");
        seen[shard] = true;
    }
    assert_eq!(seen[..4], [true; 4]);
}
