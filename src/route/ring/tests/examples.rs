//! Worked examples: small enough to follow by hand, or as large as a machine's first day.

use super::{name, nodes, ring, seed_nodes};
use crate::route::movement::{Movement, Sample, measure};
use crate::route::{Node, PlannedRing, routing_hash};

fn owners<'a>(shard: impl Fn(i32) -> u32, nodes: &'a [Node], keys: &[&str]) -> Vec<&'a str> {
    keys.iter().map(|key| name(nodes, shard(routing_hash(key)))).collect()
}

const KEYS: [&str; 9] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

#[test]
fn three_nodes_nine_keys_and_a_fourth_joins() {
    let three = ring(nodes(&[("a", 4), ("b", 4), ("c", 4)]));
    let four = three.add(Node::new("d", 4, 3)).unwrap();
    let before = owners(|hash| three.shard(hash), three.nodes(), &KEYS);
    let after = owners(|hash| four.shard(hash), four.nodes(), &KEYS);
    assert_eq!(before, ["c", "c", "c", "c", "a", "b", "c", "a", "b"]);
    assert_eq!(after, ["c", "c", "d", "d", "a", "b", "d", "a", "d"]);
    for (before, after) in before.iter().zip(&after) {
        assert!(before == after || *after == "d");
    }
}

#[test]
fn three_planned_nodes_and_a_fourth_takes_a_quarter_of_each() {
    let three = PlannedRing::new(nodes(&[("a", 1), ("b", 1), ("c", 1)]), 64).unwrap();
    let four = three.add(Node::new("d", 1, 3)).unwrap();
    let movement = Movement::between(&three, &four).unwrap();
    assert_eq!(movement.moved().hashes(), 1 << 30);
    for flow in movement.flows() {
        assert_eq!(flow.to, 3);
        // A third less a quarter, in whole hashes.
        assert!(flow.share.hashes().abs_diff((1 << 32) / 12) <= 1);
    }
    assert_eq!(movement.flows().len(), 3);
}

#[test]
fn weights_over_a_hundred_thousand_ids() {
    let hashed = ring(seed_nodes());
    let planned = PlannedRing::new(seed_nodes(), 64).unwrap();
    let (mut by_hash, mut by_plan) = ([0i64; 3], [0i64; 3]);
    for hash in (0..100_000).map(|id| routing_hash(&format!("doc-{id}"))) {
        by_hash[hashed.shard(hash) as usize] += 1;
        by_plan[planned.shard(hash) as usize] += 1;
    }
    assert_eq!(by_hash, [39_616, 48_025, 12_359]);
    // What the ids leave to chance: three standard deviations are 470, 470 and 300.
    println!("planned: {by_plan:?}");
    for (found, wanted) in by_plan.into_iter().zip([44_444, 44_444, 11_111]) {
        assert!((found - wanted).abs() < 480, "{by_plan:?}");
    }
}

#[test]
fn a_node_leaves_and_the_others_share_what_it_had() {
    let documents = || (0..100_000).map(|id| Sample { hash: routing_hash(&format!("doc-{id}")), docs: 1, bytes: 100 });
    let before = PlannedRing::new(seed_nodes(), 64).unwrap();
    let after = before.remove("old-1").unwrap();
    let measured = measure(&before, &after, documents());
    let loads: Vec<_> = measured.nodes().collect();
    assert_eq!(loads.len(), 3);
    let (_, leaver) = loads[2];
    assert_eq!(leaver.after.docs, 0);
    assert_eq!(leaver.leaving, leaver.before);
    assert_eq!(measured.moved(), leaver.before);
    assert_eq!(measured.total().docs, 100_000);
    // The two that stay had the same weight, so they get the same, but for chance.
    let (one, other) = (loads[0].1.arriving.docs, loads[1].1.arriving.docs);
    assert_eq!(one + other, leaver.before.docs);
    assert!(one.abs_diff(other) < 320, "{one} and {other}");
}
