//! Balance and movement of planned tokens, measured.

use proptest::prelude::*;

use super::{nodes, ring};
use crate::route::movement::{Method, Movement};
use crate::route::{HASHES, Node, PlannedRing, RingError, Share};

fn planned(nodes: Vec<Node>, tokens_per_node: u32) -> PlannedRing {
    PlannedRing::new(nodes, tokens_per_node).unwrap()
}

fn even(count: u32) -> Vec<Node> {
    (0..count).map(|node| Node::new(format!("node-{node:03}"), 1, node)).collect()
}

/// Relative deviation from the wanted shares: its standard deviation, and the largest.
fn deviation(ring: &PlannedRing) -> (f64, f64) {
    let off = |(has, wanted): (Share, Share)| has.ratio() / wanted.ratio() - 1.0;
    let off: Vec<f64> = ring.shares().into_iter().zip(ring.wanted_shares()).map(off).collect();
    let sd = (off.iter().map(|off| off * off).sum::<f64>() / off.len() as f64).sqrt();
    (sd, off.iter().fold(0.0, |most, off| off.abs().max(most)))
}

/// Whether one change moved as little as can be, all of it to or from `shard`.
fn assert_optimal(before: &PlannedRing, after: &PlannedRing, shard: u32) {
    let movement = Movement::between(before, after).unwrap();
    assert_eq!(movement.method(), Method::Exact);
    assert_eq!(movement.moved(), movement.optimum());
    assert!(movement.flows().iter().all(|flow| flow.from == shard || flow.to == shard));
    let wanted: Vec<_> =
        after.nodes().iter().zip(after.wanted_shares()).map(|(node, share)| (node.shard, share)).collect();
    // To get to the exact shares would cost no less, but for what rounding to whole hashes moves.
    let (moved, least) = (movement.moved().hashes(), movement.optimum_for(&wanted).hashes());
    assert!(moved <= least + after.nodes().len() as u64, "{moved} moved, {least} were enough");
}

fn one_hash(ring: &PlannedRing) {
    for (has, wanted) in ring.shares().into_iter().zip(ring.wanted_shares()) {
        assert!(has.hashes().abs_diff(wanted.hashes()) <= 1, "{has} is not {wanted}");
    }
}

#[test]
fn deviations_for_4_to_64_tokens_and_2_to_100_nodes() {
    println!("tokens  nodes  rel. sd    largest    tokens in all  moved / optimum of the last join");
    for tokens in [4, 8, 16, 32, 64] {
        for count in [2u32, 3, 5, 10, 20, 50, 100] {
            let before = planned(even(count - 1), tokens);
            let after = planned(even(count), tokens);
            let (sd, most) = deviation(&after);
            let movement = Movement::between(&before, &after).unwrap();
            println!(
                "{tokens:6} {count:6}  {sd:.7}  {most:.7} {:14}  {} / {}",
                after.tokens().count(),
                movement.moved(),
                movement.optimum(),
            );
            assert_eq!(movement.moved(), movement.optimum());
            assert!(after.tokens().count() <= 2 * (tokens * count) as usize);
            if count <= tokens + 1 {
                one_hash(&after);
            }
            // No single change moves a node further than 1 / tokens; the measured spread is far below it.
            assert!(sd < 0.5 / f64::from(tokens), "{tokens} tokens, {count} nodes: {sd}");
            assert!(tokens < 64 || most < 0.005 || count > 65);
        }
    }
}

#[test]
fn weights_of_200_and_50_are_met_to_one_hash() {
    for pairs in [4, 20] {
        let mut given = even(2 * pairs);
        given.iter_mut().for_each(|node| node.weight = if node.shard < pairs { 200 } else { 50 });
        let ring = planned(given, 64);
        one_hash(&ring);
        let (sd, most) = deviation(&ring);
        println!("{pairs} + {pairs} nodes of 200 and 50: sd {sd:e}, largest {most:e}");
        assert!(most < 1e-6);
    }
}

#[test]
fn joins_leaves_and_reweighs_move_as_little_as_can_be() {
    let mut ring = planned(even(2), 64);
    for shard in 2..50 {
        let joined = ring.add(Node::new(format!("node-{shard:03}"), 1 + shard % 5, shard)).unwrap();
        assert_optimal(&ring, &joined, shard);
        one_hash(&joined);
        ring = joined;
    }
    println!("50 nodes: {} tokens", ring.tokens().count());
    for shard in (0..50).step_by(7) {
        let lighter = ring.reweigh(&format!("node-{shard:03}"), 1).unwrap();
        let heavier = lighter.reweigh(&format!("node-{shard:03}"), 9).unwrap();
        assert_optimal(&ring, &lighter, shard);
        assert_optimal(&lighter, &heavier, shard);
        one_hash(&lighter);
        one_hash(&heavier);
        ring = heavier;
    }
    for shard in (0..49).rev() {
        let left = ring.remove(&format!("node-{shard:03}")).unwrap();
        assert_optimal(&ring, &left, shard);
        one_hash(&left);
        ring = left;
    }
    assert_eq!(ring.shares(), [Share::of_hashes(HASHES)]);
}

#[test]
fn a_long_life_of_changes_keeps_balance_and_tokens() {
    let mut ring = planned(even(20), 64);
    let (mut most_tokens, mut worst) = (0.0f64, 0.0f64);
    for step in 0u32..600 {
        let nodes = ring.nodes().len();
        let chosen = ring.nodes()[step as usize * 7919 % nodes].clone();
        let (next, shard) = match step.wrapping_mul(2_654_435_761) >> 16 & 3 {
            0 if nodes < 45 => (ring.add(Node::new(format!("late-{step}"), 1 + step % 8, 1000 + step)), 1000 + step),
            1 if nodes > 8 => (ring.remove(&chosen.name), chosen.shard),
            _ => (ring.reweigh(&chosen.name, 1 + (chosen.weight + step) % 8), chosen.shard),
        };
        let next = next.unwrap();
        assert_optimal(&ring, &next, shard);
        one_hash(&next);
        ring = next;
        most_tokens = most_tokens.max(ring.tokens().count() as f64 / ring.nodes().len() as f64);
        worst = worst.max(deviation(&ring).1);
    }
    println!("600 changes: at most {most_tokens:.1} tokens per node, largest deviation {worst:e}");
    assert!(most_tokens < 128.0, "{most_tokens}");
}

#[test]
fn the_load_of_a_lost_node_falls_on_many() {
    // Without a new plan: whoever asks for the next node on the circle.
    let ring = planned(even(10), 64);
    let tokens: Vec<_> = ring.tokens().collect();
    for lost in 0..10 {
        let mut heirs: Vec<u32> = tokens
            .iter()
            .zip(tokens.iter().cycle().skip(1))
            .filter(|((_, owner), (_, next))| *owner == lost && *next != lost)
            .map(|(_, (_, next))| *next)
            .collect();
        heirs.sort_unstable();
        heirs.dedup();
        assert!(heirs.len() >= 5, "only {heirs:?} follow {lost}");
    }
}

#[test]
fn planned_tokens_beat_hashed_ones() {
    let weights = [("new-1", 200), ("new-2", 200), ("old-1", 50)];
    let hashed = ring(nodes(&weights)).shares();
    let exact = planned(nodes(&weights), 64);
    let off = |shares: &[Share]| (shares[0].ratio() / (200.0 / 450.0) - 1.0).abs();
    assert!(off(&hashed) > 0.1 && off(&exact.shares()) < 1e-9);
}

#[test]
fn tokens_per_node_are_bounded() {
    for tokens_per_node in [0, 4097] {
        let refused = PlannedRing::new(even(2), tokens_per_node);
        assert!(
            matches!(refused, Err(RingError::TokensPerNode { tokens_per_node: found }) if found == tokens_per_node)
        );
    }
    assert_eq!(planned(even(1), 4096).tokens().count(), 4096);
    assert_eq!(planned(even(1), 1).shares(), [Share::of_hashes(HASHES)]);
    assert!(matches!(planned(even(1), 1).remove("node-000"), Err(RingError::Empty)));
}

#[test]
fn more_nodes_than_tokens_stay_within_one_part_in_as_many() {
    let ring = planned(even(300), 64);
    let (sd, most) = deviation(&ring);
    println!("300 nodes, 64 tokens: sd {sd:.5}, largest {most:.5}, {} tokens", ring.tokens().count());
    assert!(sd < 0.006 && most < 0.02);
    let left = ring.remove("node-150").unwrap();
    let heavy = left.reweigh("node-007", 40).unwrap();
    let light = heavy.reweigh("node-007", 1).unwrap();
    for (before, after, shard) in [(&ring, &left, 150), (&left, &heavy, 7), (&heavy, &light, 7)] {
        let movement = Movement::between(before, after).unwrap();
        assert_eq!(movement.moved(), movement.optimum());
        assert!(movement.flows().iter().all(|flow| flow.from == shard || flow.to == shard));
        assert!(deviation(after).1 < 0.035, "{}", deviation(after).1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_weights_and_tokens_make_a_sound_ring(
        weights in proptest::collection::vec(1u32..10_000, 1..40),
        tokens in 1u32..100,
        changed in any::<prop::sample::Index>(),
        weight in 1u32..10_000,
    ) {
        let given: Vec<Node> = weights.iter().zip(0..).map(|(&weight, shard)| Node::new(format!("n{shard}"), weight, shard)).collect();
        let before = planned(given.clone(), tokens);
        let changed = &given[changed.index(given.len())];
        let mut steps = vec![before.reweigh(&changed.name, weight).unwrap(), before.add(Node::new("x", weight, 99)).unwrap()];
        if given.len() > 1 {
            steps.push(before.remove(&changed.name).unwrap());
        }
        for after in steps {
            let kept: Vec<_> = after.tokens().collect();
            prop_assert_eq!(&PlannedRing::from_tokens(after.nodes().to_vec(), tokens, &kept).unwrap(), &after);
            prop_assert_eq!(after.shares().iter().map(|share| share.hashes()).sum::<u64>(), HASHES);
            let movement = Movement::between(&before, &after).unwrap();
            prop_assert_eq!(movement.moved(), movement.optimum());
            if given.len() <= tokens as usize {
                one_hash(&after);
            }
        }
    }

    #[test]
    fn any_order_of_nodes_makes_the_same_plan(given in Just(even(12)).prop_shuffle()) {
        prop_assert_eq!(planned(given, 16), planned(even(12), 16));
    }
}
