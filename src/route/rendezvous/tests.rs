//! Vectors of an independent program, and what rendezvous hashing promises.

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::route::ring::tests::vectors;
use crate::route::routing_hash;

fn nodes(weights: &[(&str, u32)]) -> Vec<Node> {
    weights.iter().zip(0..).map(|(&(name, weight), shard)| Node::new(name, weight, shard)).collect()
}

fn owner(table: &Rendezvous, hash: RoutingHash) -> &str {
    let shard = table.shard(hash);
    &table.nodes().iter().find(|node| node.shard == shard).unwrap().name
}

#[test]
fn hashes_of_nodes_and_keys_are_the_published_ones() {
    let rows = vectors()["rendezvous"]["points"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 12);
    for row in rows {
        let table = Rendezvous::new(nodes(&[(row["node"].as_str().unwrap(), 1)])).unwrap();
        let hash = u32::try_from(row["hash"].as_u64().unwrap()).unwrap();
        let (x, _) = table.drawn(hash.cast_signed()).next().unwrap();
        assert_eq!(x.to_string(), row["x"].as_str().unwrap(), "{row}");
    }
}

#[test]
fn every_published_key_has_its_owner() {
    let tables = vectors()["rendezvous"]["tables"].as_array().unwrap().clone();
    assert_eq!(tables.len(), 3);
    for published in tables {
        let node = |(row, shard): (&Value, u32)| {
            Node::new(row[0].as_str().unwrap(), u32::try_from(row[1].as_u64().unwrap()).unwrap(), shard)
        };
        let table =
            Rendezvous::new(published["nodes"].as_array().unwrap().iter().zip(0..).map(node).collect()).unwrap();
        let owners = published["owners"].as_object().unwrap();
        assert_eq!(owners.len(), 60);
        for (key, expected) in owners {
            assert_eq!(owner(&table, routing_hash(key)), expected.as_str().unwrap(), "{key}");
        }
    }
}

#[test]
fn weights_are_the_shares() {
    let table = Rendezvous::new(nodes(&[("new-1", 200), ("new-2", 200), ("old-1", 50)])).unwrap();
    let mut counts = [0i64; 3];
    for key in 0..100_000 {
        counts[table.shard(routing_hash(&format!("doc-{key}"))) as usize] += 1;
    }
    // Three standard deviations are 470, 470 and 300.
    for (count, wanted) in counts.into_iter().zip([44_444, 44_444, 11_111]) {
        assert!((count - wanted).abs() < 480, "{counts:?}");
    }
}

#[test]
fn integer_scores_are_logarithms_to_thirty_two_bits() {
    for x in [1, 2, 3, 12_345, u64::MAX / 3, u64::MAX - 1, u64::MAX, 1 << 63, (1 << 63) + 1] {
        let exact = 64.0 - (x as f64).log2();
        let found = loss(x) as f64 / 2f64.powi(32);
        assert!((found - exact).abs() < 1e-8, "{x}: {found} is not {exact}");
    }
    assert_eq!(loss(0), 64 << 32);
    assert_eq!(loss(1), 64 << 32);
    assert_eq!(loss(1 << 63), 1 << 32);
}

#[test]
fn equal_weights_of_any_size_own_the_same() {
    let ones = Rendezvous::new(nodes(&[("a", 1), ("b", 1), ("c", 1)])).unwrap();
    let sevens = Rendezvous::new(nodes(&[("a", 7), ("b", 7), ("c", 7)])).unwrap();
    for hash in (0..10_000).map(|key| routing_hash(&key.to_string())) {
        assert_eq!(ones.best_of_equals(hash), ones.best_of_weighted(hash));
        assert_eq!(ones.shard(hash), sevens.shard(hash));
    }
}

fn some_nodes() -> impl Strategy<Value = Vec<Node>> {
    proptest::collection::btree_map("[a-z]{1,8}", 1u32..500, 2..12).prop_map(|nodes| {
        nodes.into_iter().zip(0..).map(|((name, weight), shard)| Node::new(name, weight, shard)).collect()
    })
}

proptest! {
    #[test]
    fn a_node_that_leaves_moves_its_own_hashes_only(nodes in some_nodes(), hashes in proptest::collection::vec(any::<i32>(), 50)) {
        let before = Rendezvous::new(nodes.clone()).unwrap();
        let after = Rendezvous::new(nodes[1..].to_vec()).unwrap();
        for hash in hashes {
            prop_assert!(before.shard(hash) == after.shard(hash) || before.shard(hash) == nodes[0].shard);
        }
    }

    #[test]
    fn a_node_that_gains_weight_only_wins(nodes in some_nodes(), hashes in proptest::collection::vec(any::<i32>(), 50)) {
        let before = Rendezvous::new(nodes.clone()).unwrap();
        let mut heavier = nodes.clone();
        heavier[0].weight += 100;
        let after = Rendezvous::new(heavier).unwrap();
        for hash in hashes {
            prop_assert!(before.shard(hash) == after.shard(hash) || after.shard(hash) == nodes[0].shard);
        }
    }

    #[test]
    fn the_order_of_nodes_does_not_matter(nodes in some_nodes().prop_shuffle(), hash: i32) {
        let mut sorted = nodes.clone();
        sorted.sort_by(|left, right| left.name.cmp(&right.name));
        prop_assert_eq!(Rendezvous::new(nodes).unwrap(), Rendezvous::new(sorted.clone()).unwrap());
        prop_assert!(sorted.iter().any(|node| node.shard == Rendezvous::new(sorted.clone()).unwrap().shard(hash)));
    }

    #[test]
    fn scores_fall_as_numbers_grow(x: u64, y: u64) {
        let (low, high) = (x.min(y), x.max(y));
        prop_assert!(loss(low) >= loss(high), "{low} {high}");
    }
}
