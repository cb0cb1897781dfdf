//! Plans against counting, small spaces by hand, and the cost of plain modulo.

use proptest::prelude::*;

use super::*;
use crate::route::ring::tests::vectors;
use crate::route::{
    CollisionRule, Elasticsearch, ElasticsearchModulo, HASHES, HashArc, HashTable, Jump, Layout, Node, PlannedRing,
    Rendezvous, Ring, RoutingHash, ShardNumber, Share, routing_hash,
};

fn modulo(shards: u32) -> ElasticsearchModulo {
    ElasticsearchModulo::new(shards).unwrap()
}

fn nodes(count: u32, weight: u32) -> Vec<Node> {
    (0..count).map(|node| Node::new(format!("node-{node}"), weight, node)).collect()
}

fn ring(count: u32) -> Ring {
    Ring::new(nodes(count, 200), CollisionRule::LowestName).unwrap()
}

/// A table that hides how it is made.
struct Opaque<'a>(&'a dyn HashTable);

impl HashTable for Opaque<'_> {
    fn shard(&self, hash: RoutingHash) -> ShardNumber {
        self.0.shard(hash)
    }

    fn shards(&self) -> Vec<ShardNumber> {
        self.0.shards()
    }
}

/// A table of arcs.
struct Arcs(Vec<HashArc>);

impl HashTable for Arcs {
    fn shard(&self, hash: RoutingHash) -> ShardNumber {
        let hash = hash.cast_unsigned();
        self.0.iter().find(|arc| (arc.start..=arc.end).contains(&hash)).unwrap().shard
    }

    fn shards(&self) -> Vec<ShardNumber> {
        let mut shards: Vec<_> = self.0.iter().map(|arc| arc.shard).collect();
        shards.sort_unstable();
        shards.dedup();
        shards
    }

    fn layout(&self) -> Layout {
        Layout::Arcs(self.0.clone())
    }
}

fn arcs(parts: &[(u32, ShardNumber)]) -> Arcs {
    let mut start = 0;
    let mut arcs = Vec::new();
    for &(end, shard) in parts {
        arcs.push(HashArc { start, end, shard });
        start = end.wrapping_add(1);
    }
    Arcs(arcs)
}

fn flow(from: ShardNumber, to: ShardNumber, hashes: u64) -> Flow {
    Flow { from, to, share: Share::of_hashes(hashes) }
}

#[test]
fn nine_keys_under_plain_modulo_and_one_stays() {
    let vectors = vectors();
    let published = &vectors["plain_modulo"];
    let mut stay = 0;
    for (place, id) in published["ids"].as_array().unwrap().iter().enumerate() {
        let hash = routing_hash(id.as_str().unwrap());
        let (two, three) = (modulo(2).shard(hash, 0), modulo(3).shard(hash, 0));
        assert_eq!(published["of_2"][place], two, "{id}");
        assert_eq!(published["of_3"][place], three, "{id}");
        stay += u32::from(two == three);
    }
    assert_eq!(published["stay"], stay);
    assert_eq!(stay, 1);
}

#[test]
fn plain_modulo_moves_nine_tenths_where_a_ring_moves_a_tenth() {
    let plain = Movement::between(&modulo(9), &modulo(10)).unwrap();
    let hashed = Movement::between(&ring(9), &ring(10)).unwrap();
    let planned = |count| PlannedRing::new(nodes(count, 1), 64).unwrap();
    let planned = Movement::between(&planned(9), &planned(10)).unwrap();
    println!("9 to 10 nodes: plain modulo {}, ring {}, planned {}", plain.moved(), hashed.moved(), planned.moved());
    for movement in [&plain, &hashed, &planned] {
        assert_eq!(movement.method(), Method::Exact);
    }
    assert!((plain.moved().ratio() - 0.9).abs() < 1e-7);
    assert!((plain.optimum().ratio() - 0.1).abs() < 1e-7);
    assert!((0.07..0.13).contains(&hashed.moved().ratio()));
    assert_eq!(hashed.moved(), hashed.optimum());
    assert!((planned.moved().ratio() - 0.1).abs() < 1e-9);
}

#[test]
fn classes_of_plain_modulo_are_counted_to_the_hash() {
    // Of 0 to 5 only 0 and 1 have one remainder by 2 and by 3. 2^32 = 6 · 715827882 + 4, and -2^31 leaves 4 by 6, so
    // the classes 4, 5, 0 and 1 have one hash more.
    let movement = Movement::between(&modulo(2), &modulo(3)).unwrap();
    let (less, more) = (715_827_882, 715_827_883);
    assert_eq!(movement.flows(), [flow(0, 1, more), flow(0, 2, less), flow(1, 0, less), flow(1, 2, more)]);
    assert_eq!(movement.moved().hashes(), 2 * less + 2 * more);
    assert_eq!(movement.before().map(|(_, share)| share.hashes()).collect::<Vec<_>>(), [1 << 31, 1 << 31]);
    assert!(movement.arcs().is_none());
}

#[test]
fn scaled_modulo_splits_without_moving_between_old_shards() {
    let (two, four) = (Elasticsearch::new(2, 1024).unwrap(), Elasticsearch::new(4, 1024).unwrap());
    let movement = Movement::between(&two, &four).unwrap();
    let quarter = HASHES / 4;
    assert_eq!(movement.flows(), [flow(0, 1, quarter), flow(1, 2, quarter), flow(1, 3, quarter)]);
    assert_eq!(movement.moved(), Share::of_hashes(3 * quarter));
    assert_eq!(movement.optimum(), Share::of_hashes(2 * quarter));
}

#[test]
fn arcs_that_move_are_listed_and_joined() {
    let before = arcs(&[(99, 0), (199, 1), (299, 0), (u32::MAX, 2)]);
    let after = arcs(&[(49, 0), (149, 3), (u32::MAX, 2)]);
    let movement = Movement::between(&before, &after).unwrap();
    let moved = |start, end, from, to| MovedArc { start, end, from, to };
    assert_eq!(
        movement.arcs().unwrap(),
        [moved(50, 99, 0, 3), moved(100, 149, 1, 3), moved(150, 199, 1, 2), moved(200, 299, 0, 2)]
    );
    assert_eq!(movement.flows(), [flow(0, 2, 100), flow(0, 3, 50), flow(1, 2, 50), flow(1, 3, 50)]);
    assert_eq!((movement.moved().hashes(), movement.optimum().hashes()), (250, 250));
    let shares: Vec<_> = movement.after().map(|(shard, share)| (shard, share.hashes())).collect();
    assert_eq!(shares, [(0, 50), (2, HASHES - 150), (3, 100)]);
    // Cuts between arcs of one shard disappear: 0..=9 and 10..=99 move as one.
    let cut = Arcs(vec![
        HashArc { start: 0, end: 9, shard: 0 },
        HashArc { start: 10, end: 99, shard: 0 },
        HashArc { start: 100, end: u32::MAX, shard: 1 },
    ]);
    let movement = Movement::between(&cut, &arcs(&[(u32::MAX, 1)])).unwrap();
    assert_eq!(movement.arcs().unwrap(), [moved(0, 99, 0, 1)]);
}

#[test]
fn the_optimum_for_wanted_shares_counts_gains_only() {
    let before = arcs(&[(999, 0), (u32::MAX, 1)]);
    let movement = Movement::between(&before, &before).unwrap();
    assert_eq!(movement.optimum().hashes(), 0);
    let wanted = [(0, Share::of_hashes(1500)), (1, Share::of_hashes(HASHES - 1800)), (2, Share::of_hashes(300))];
    assert_eq!(movement.optimum_for(&wanted).hashes(), 800);
}

#[test]
fn arcs_and_residues_are_counted_exactly_and_a_sample_agrees() {
    let (ring, table) = (ring(3), Elasticsearch::new(4, 1024).unwrap());
    for (before, after) in [(&ring as &dyn HashTable, &table as &dyn HashTable), (&table, &ring)] {
        let exact = Movement::between(before, after).unwrap();
        let sampled = Movement::between(&Opaque(before), &Opaque(after)).unwrap();
        assert_eq!(exact.method(), Method::Exact);
        assert_eq!(sampled.method(), Method::Sampled { samples: SAMPLES });
        assert_eq!(exact.before().map(|(_, share)| share).sum::<Share>().hashes(), HASHES);
        for (exact, sampled) in exact.flows().iter().zip(sampled.flows()) {
            assert_eq!((exact.from, exact.to), (sampled.from, sampled.to));
            assert!((exact.share.ratio() - sampled.share.ratio()).abs() < 0.002, "{exact:?} {sampled:?}");
        }
        assert_eq!(exact.flows().len(), sampled.flows().len());
    }
}

#[test]
fn small_arcs_hold_the_classes_that_they_hold() {
    // Around 2^31 the sign changes: 2147483646 and 2147483647 leave 0 and 1 by 3, then -2147483648 and -2147483647
    // leave 1 and 2. Around 0: -1 leaves 2, 0 leaves 0.
    let ring = arcs(&[(0, 9), ((1 << 31) - 3, 8), ((1 << 31) + 1, 9), (u32::MAX - 1, 8), (u32::MAX, 9)]);
    let movement = Movement::between(&ring, &modulo(3)).unwrap();
    let of_nine: Vec<_> = movement.flows().iter().filter(|flow| flow.from == 9).copied().collect();
    assert_eq!(of_nine, [flow(9, 0, 2), flow(9, 1, 2), flow(9, 2, 2)]);
}

#[test]
fn large_moduli_are_sampled_and_say_so() {
    let (many, more) = (modulo(99_991), modulo(99_989));
    assert_eq!(Movement::between(&many, &more).unwrap().method(), Method::Sampled { samples: SAMPLES });
    let half = Movement::between(&Elasticsearch::new(2, 1 << 24).unwrap(), &modulo(4)).unwrap();
    assert_eq!(half.method(), Method::Exact);
    let (ten, eleven) = (Jump::new(10).unwrap(), Jump::new(11).unwrap());
    let jump = Movement::between(&ten, &eleven).unwrap();
    assert_eq!(jump.method(), Method::Sampled { samples: SAMPLES });
    assert!((jump.moved().ratio() - 1.0 / 11.0).abs() < 0.001);
    assert!(jump.flows().iter().all(|flow| flow.to == 10));
    let rendezvous = |count| Rendezvous::new(nodes(count, 1)).unwrap();
    let movement = Movement::between(&rendezvous(10), &rendezvous(11)).unwrap();
    assert!((movement.moved().ratio() - 1.0 / 11.0).abs() < 0.001);
    assert!(movement.flows().iter().all(|flow| flow.to == 10));
}

#[test]
fn measured_documents_are_counted_by_giver_and_getter() {
    let before = arcs(&[(99, 0), (u32::MAX, 1)]);
    let after = arcs(&[(49, 0), (u32::MAX, 2)]);
    let sample = |hash, docs, bytes| Sample { hash, docs, bytes };
    let measured =
        measure(&before, &after, [sample(7, 1, 10), sample(60, 2, 30), sample(70, 1, 5), sample(-1, 4, 400)]);
    let load = |docs, bytes| Load { docs, bytes };
    let flow = |from, to, docs, bytes| MeasuredFlow { from, to, load: load(docs, bytes) };
    assert_eq!(measured.flows().collect::<Vec<_>>(), [flow(0, 2, 3, 35), flow(1, 2, 4, 400)]);
    let nothing = Load::default();
    let node = |before, after, leaving, arriving| NodeLoad { before, after, leaving, arriving };
    assert_eq!(
        measured.nodes().collect::<Vec<_>>(),
        [
            (0, node(load(4, 45), load(1, 10), load(3, 35), nothing)),
            (1, node(load(4, 400), nothing, load(4, 400), nothing)),
            (2, node(nothing, load(7, 435), nothing, load(7, 435))),
        ]
    );
    assert_eq!((measured.moved(), measured.total()), (load(7, 435), load(8, 445)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn plans_agree_with_look_ups_hash_by_hash(weights in proptest::collection::vec(1u32..60, 2..9), hashes in proptest::collection::vec(any::<u32>(), 200)) {
        let given: Vec<Node> = weights.iter().zip(0..).map(|(&weight, shard)| Node::new(format!("n{shard}"), weight, shard)).collect();
        let before = Ring::new(given.clone(), CollisionRule::LowestName).unwrap();
        let after = PlannedRing::new(given[1..].to_vec(), 8).unwrap();
        let movement = Movement::between(&before, &after).unwrap();
        let arcs = movement.arcs().unwrap();
        let edges = arcs.iter().flat_map(|arc| [arc.start, arc.end, arc.start.wrapping_sub(1), arc.end.wrapping_add(1)]);
        for hash in hashes.into_iter().chain(edges) {
            let pair = (before.shard(hash.cast_signed()), after.shard(hash.cast_signed()));
            let listed = arcs.iter().find(|arc| (arc.start..=arc.end).contains(&hash)).map(|arc| (arc.from, arc.to));
            prop_assert_eq!(listed, (pair.0 != pair.1).then_some(pair));
        }
        let lengths: u64 = arcs.iter().map(|arc| u64::from(arc.end - arc.start) + 1).sum();
        prop_assert_eq!(lengths, movement.moved().hashes());
        prop_assert!(movement.optimum() <= movement.moved());
        let given_shares: Vec<_> = before.shares();
        let found: Vec<_> = movement.before().map(|(_, share)| share).collect();
        prop_assert_eq!(given_shares, found);
    }

    #[test]
    fn moduli_agree_with_a_sample(old in 1u32..40, new in 1u32..40) {
        let exact = Movement::between(&modulo(old), &modulo(new)).unwrap();
        let sampled = Movement::between(&Opaque(&modulo(old)), &Opaque(&modulo(new))).unwrap();
        prop_assert!((exact.moved().ratio() - sampled.moved().ratio()).abs() < 0.003);
        prop_assert_eq!(exact.before().map(|(_, share)| share).sum::<Share>().hashes(), HASHES);
    }
}
