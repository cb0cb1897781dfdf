//! What the classic ring promises, against a `BTreeMap`.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{nodes, ring, seed_nodes};
use crate::route::movement::Movement;
use crate::route::{CollisionRule, HASHES, HashTable, Layout, Node, Ring, RingError, routing_hash};

/// The Java ring: `put` in the order of nodes, then `tailMap(hash)` from the hash itself, else the first entry.
fn treemap(nodes: &[Node]) -> BTreeMap<u32, u32> {
    let label = |node: &Node, number| format!("{}#VN{number}", node.name);
    let points = nodes.iter().flat_map(|node| {
        (0..node.weight).map(move |number| (routing_hash(&label(node, number)).cast_unsigned(), node.shard))
    });
    points.collect()
}

fn treemap_shard(map: &BTreeMap<u32, u32>, hash: u32) -> u32 {
    *map.range(hash..).next().or_else(|| map.first_key_value()).unwrap().1
}

fn some_nodes() -> impl Strategy<Value = Vec<Node>> {
    proptest::collection::btree_map("[a-z]{1,8}", 1u32..80, 1..12).prop_map(|nodes| {
        nodes.into_iter().zip(0..).map(|((name, weight), shard)| Node::new(name, weight, shard)).collect()
    })
}

#[test]
fn a_thousand_nodes_that_collide_agree_with_a_treemap() {
    let all: Vec<Node> = (1..=1000).map(|node| Node::new(format!("node-{node}"), 200, node)).collect();
    let ring = Ring::new(all.clone(), CollisionRule::TreemapLastWins).unwrap();
    let map = treemap(&all);
    assert_eq!(ring.number_of_points(), map.len());
    // Three pairs of nodes, as published for these names.
    assert_eq!(ring.collisions().len(), 3);
    assert!(ring.points().eq(map.iter().map(|(&point, &shard)| (point, shard))));
    for &point in map.keys() {
        for hash in [point.wrapping_sub(1), point, point.wrapping_add(1)] {
            assert_eq!(ring.shard(hash.cast_signed()), treemap_shard(&map, hash), "{hash}");
        }
    }
}

#[test]
fn a_hash_on_a_point_is_the_points_and_behind_the_last_comes_the_first() {
    let ring = ring(seed_nodes());
    let (first, last) = (ring.points().next().unwrap(), ring.points().last().unwrap());
    assert_eq!(ring.point(last.0.cast_signed()).0, last.0);
    assert_eq!(ring.point((last.0 + 1).cast_signed()).0, first.0);
    assert_eq!(ring.point(-1).0, first.0);
    assert_eq!(ring.point(0).0, first.0);
    assert_eq!(ring.shard(-1), first.1);
}

#[test]
fn a_node_that_joins_or_leaves_moves_its_own_arcs_only() {
    let before = ring(seed_nodes());
    let joined = before.add(Node::new("new-3", 200, 3)).unwrap();
    let movement = Movement::between(&before, &joined).unwrap();
    assert!(movement.flows().iter().all(|flow| flow.to == 3));
    assert_eq!(movement.moved(), movement.optimum());
    assert_eq!(joined.remove("new-3").unwrap(), before);
    let left = before.remove("new-1").unwrap();
    assert!(Movement::between(&before, &left).unwrap().flows().iter().all(|flow| flow.from == 0));
    let lighter = before.reweigh("new-2", 100).unwrap();
    let movement = Movement::between(&before, &lighter).unwrap();
    assert!(!movement.flows().is_empty() && movement.flows().iter().all(|flow| flow.from == 1));
    assert_eq!(lighter.reweigh("new-2", 200).unwrap(), before);
}

#[test]
fn illegal_nodes_are_refused_by_name() {
    let refused = |given: &[(&str, u32)]| Ring::new(nodes(given), CollisionRule::LowestName).unwrap_err();
    assert!(matches!(refused(&[]), RingError::Empty));
    assert!(matches!(refused(&[("a#VN1", 1)]), RingError::Name { name } if name == "a#VN1"));
    assert!(matches!(refused(&[("", 1)]), RingError::Name { .. }));
    assert!(matches!(refused(&[(&"a".repeat(256), 1)]), RingError::Name { .. }));
    assert!(matches!(refused(&[("a", 0)]), RingError::Weight { name } if name == "a"));
    assert!(matches!(refused(&[("a", 1), ("a", 2)]), RingError::DuplicateName { name } if name == "a"));
    assert!(matches!(refused(&[("a", 1 << 22), ("b", 1)]), RingError::TotalWeight { total: 4_194_305 }));
    let shared = vec![Node::new("a", 1, 7), Node::new("b", 1, 7)];
    let error = Ring::new(shared, CollisionRule::LowestName).unwrap_err();
    assert_eq!(error.to_string(), "the nodes \"a\" and \"b\" both have shard number 7; give each node its own");
    let ring = ring(nodes(&[("a", 1)]));
    assert!(matches!(ring.remove("a"), Err(RingError::Empty)));
    let error = ring.reweigh("b", 1).unwrap_err();
    assert_eq!(error.to_string(), "there is no node \"b\" in the ring; there are: a");
}

proptest! {
    #[test]
    fn any_ring_agrees_with_a_treemap(nodes in some_nodes(), hashes in proptest::collection::vec(any::<u32>(), 100)) {
        let ring = Ring::new(nodes.clone(), CollisionRule::TreemapLastWins).unwrap();
        let map = treemap(&nodes);
        for hash in hashes.into_iter().chain(map.keys().copied()).chain([0, u32::MAX]) {
            prop_assert_eq!(ring.shard(hash.cast_signed()), treemap_shard(&map, hash));
        }
    }

    #[test]
    fn any_order_of_nodes_makes_the_same_ring(nodes in some_nodes().prop_shuffle()) {
        let mut one_by_one = ring(nodes[..1].to_vec());
        for node in &nodes[1..] {
            one_by_one = one_by_one.add(node.clone()).unwrap();
        }
        prop_assert_eq!(one_by_one, ring(nodes));
    }

    #[test]
    fn arcs_cover_the_space_and_say_what_look_ups_say(nodes in some_nodes()) {
        let ring = ring(nodes);
        let Layout::Arcs(arcs) = ring.layout() else { return Err(TestCaseError::fail("a ring is made of arcs")) };
        prop_assert_eq!((arcs[0].start, arcs[arcs.len() - 1].end), (0, u32::MAX));
        for pair in arcs.windows(2) {
            prop_assert!(pair[0].end + 1 == pair[1].start && pair[0].shard != pair[1].shard);
        }
        for arc in &arcs {
            prop_assert!(arc.start <= arc.end);
            prop_assert_eq!(ring.shard(arc.start.cast_signed()), arc.shard);
            prop_assert_eq!(ring.shard(arc.end.cast_signed()), arc.shard);
        }
        prop_assert_eq!(ring.shares().iter().map(|share| share.hashes()).sum::<u64>(), HASHES);
    }
}
