//! The classic ring against the published points, look-ups, shares, moves and collisions; hashes against theirs.

use std::collections::BTreeMap;

use super::{name, number, ring, seed_nodes, vectors};
use crate::route::movement::{Movement, Sample, measure};
use crate::route::{CollisionRule, Elasticsearch, Node, Ring, partition_offset, routing_hash};

#[test]
fn every_published_hash_holds() {
    let vectors = vectors();
    let mut rows = 0;
    for row in vectors["murmur3_32_utf16le_seed0"]["vectors"].as_array().unwrap() {
        assert_eq!(routing_hash(row["s"].as_str().unwrap()).cast_unsigned(), number(&row["u32"]), "{row}");
        rows += 1;
    }
    for row in vectors["guava_murmur3_32"]["strings_utf16"].as_array().unwrap() {
        assert_eq!(i64::from(routing_hash(row["s"].as_str().unwrap())), row["i32"].as_i64().unwrap(), "{row}");
        rows += 1;
    }
    for row in vectors["guava_utf16_vs_utf8"]["vectors"].as_array().unwrap() {
        assert_eq!(routing_hash(row["s"].as_str().unwrap()).cast_unsigned(), number(&row["utf16le_u32"]), "{row}");
        rows += 1;
    }
    assert_eq!(rows, 7 + 5 + 7);
}

#[test]
fn every_published_document_of_elasticsearch_has_its_shard() {
    let vectors = vectors();
    let rows = &vectors["es_scaled_modulo"];
    let bwc = Elasticsearch::new(8, 8).unwrap();
    for (id, shard) in rows["bwc_8_shards_rns8"].as_object().unwrap() {
        assert_eq!(bwc.shard(routing_hash(id), 0), number(shard), "{id}");
    }
    for (table, shards, routing_shards, size) in
        [("partitioned_rns8_shards4_size3", 4, 8, 3), ("partitioned_rns6_shards6_size2", 6, 6, 2)]
    {
        let router = Elasticsearch::new(shards, routing_shards).unwrap();
        for (routing, ids) in rows[table].as_object().unwrap() {
            for (id, shard) in ids.as_object().unwrap() {
                let offset = partition_offset(routing_hash(id), size);
                assert_eq!(router.shard(routing_hash(routing), offset), number(shard), "{table} {id}");
            }
        }
    }
}

#[test]
fn points_and_look_ups_are_the_published_ones() {
    let (vectors, ring) = (vectors(), ring(seed_nodes()));
    let seed = &vectors["seed_ring"];
    let points: Vec<_> = ring.points().map(|(point, shard)| (point, name(ring.nodes(), shard))).collect();
    assert_eq!(points.len(), number(&seed["size"]) as usize);
    let published = seed["first_10_points"].as_array().unwrap();
    assert_eq!(published.len(), 10);
    for (found, row) in points.iter().zip(published) {
        assert_eq!(*found, (number(&row[0]), row[1].as_str().unwrap()));
    }
    let last = &seed["last_point"];
    assert_eq!(*points.last().unwrap(), (number(&last[0]), last[1].as_str().unwrap()));
    let look_ups = seed["lookups"].as_array().unwrap();
    assert_eq!(look_ups.len(), 20);
    for row in look_ups {
        let hash = routing_hash(row["key"].as_str().unwrap());
        assert_eq!(hash.cast_unsigned(), number(&row["hash"]), "{row}");
        assert_eq!(ring.point(hash), (number(&row["point"]), number(&row["vnode"])), "{row}");
        assert_eq!(name(ring.nodes(), ring.shard(hash)), row["owner"], "{row}");
    }
}

#[test]
fn exact_shares_are_the_published_ones() {
    let (vectors, ring) = (vectors(), ring(seed_nodes()));
    let mut rows = 0;
    for (node, share) in ring.nodes().iter().zip(ring.shares()) {
        assert_eq!(share.ratio(), vectors["seed_ring"]["exact_share"][&node.name].as_f64().unwrap(), "{}", node.name);
        rows += 1;
    }
    assert_eq!(rows, 3);
}

#[test]
fn a_fourth_node_moves_the_published_arcs_and_keys() {
    let (vectors, before) = (vectors(), ring(seed_nodes()));
    let published = &vectors["seed_ring"]["add_new-3_200"];
    let after = before.add(Node::new("new-3", 200, 3)).unwrap();
    assert_eq!(after.number_of_points(), number(&published["size"]) as usize);
    let movement = Movement::between(&before, &after).unwrap();
    let arcs: BTreeMap<_, _> = movement
        .flows()
        .iter()
        .map(|flow| {
            assert_eq!(flow.to, 3);
            (name(before.nodes(), flow.from), flow.share.hashes())
        })
        .collect();
    assert_eq!(serde_json::to_value(arcs).unwrap(), published["moved_arc_length_u32"]);
    let documents = (0..100_000).map(|doc| Sample { hash: routing_hash(&format!("doc-{doc}")), docs: 1, bytes: 10 });
    let measured = measure(&before, &after, documents);
    let moved: BTreeMap<_, _> = measured
        .flows()
        .map(|flow| {
            assert_eq!(flow.load.bytes, flow.load.docs * 10);
            (format!("{}->new-3", name(before.nodes(), flow.from)), flow.load.docs)
        })
        .collect();
    assert_eq!(serde_json::to_value(moved).unwrap(), published["moved_keys_of_100000"]);
}

#[test]
fn published_collisions_are_found_and_decided_by_the_rule() {
    let vectors = vectors();
    let pairs = vectors["seed_ring_collisions"]["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 7);
    for pair in pairs {
        let (label_a, label_b) = (pair["a"].as_str().unwrap(), pair["b"].as_str().unwrap());
        let ((a, _), (b, _)) = (label_a.split_once('#').unwrap(), label_b.split_once('#').unwrap());
        let point = number(&pair["hash"]);
        let given = vec![Node::new(a, 200, 0), Node::new(b, 200, 1)];
        let mut turned = given.clone();
        turned.reverse();
        let owner = |nodes: &[Node], rule| {
            let ring = Ring::new(nodes.to_vec(), rule).unwrap();
            let found = ring.collisions().iter().find(|collision| collision.point == point).unwrap();
            assert_eq!(name(nodes, ring.shard(point.cast_signed())), found.owner);
            assert_eq!(found.losers, [if found.owner == a { b } else { a }]);
            found.owner.clone()
        };
        assert_eq!(owner(&given, CollisionRule::LowestName), a.min(b), "{pair}");
        assert_eq!(owner(&turned, CollisionRule::LowestName), a.min(b), "{pair}");
        assert_eq!(owner(&given, CollisionRule::TreemapLastWins), b, "{pair}");
        assert_eq!(owner(&turned, CollisionRule::TreemapLastWins), a, "{pair}");
        // Whoever owned the point: when it goes, the other has it, and the ring is as if it had never been there.
        for rule in [CollisionRule::LowestName, CollisionRule::TreemapLastWins] {
            let both = Ring::new(given.clone(), rule).unwrap();
            for (leaver, stays) in [(a, &given[1]), (b, &given[0])] {
                let alone = both.remove(leaver).unwrap();
                assert_eq!(alone, Ring::new(vec![stays.clone()], rule).unwrap());
                assert_eq!(alone.point(point.cast_signed()).0, point);
            }
        }
    }
}

/// Spread of a random ring: the share of a node is Dirichlet, so rel. sd = sqrt((n - 1) / (n V + 1)).
#[test]
fn rings_spread_as_theory_and_the_published_trials_say() {
    let vectors = vectors();
    let mut rows = 0;
    for row in vectors["numbers"]["seed_hash_ring_10_nodes"].as_array().unwrap() {
        let weight = number(&row["vnodes"]);
        if weight > 500 {
            continue;
        }
        let trials = 30;
        let mut squares = 0.0;
        for trial in 0..trials {
            let nodes = (0..10).map(|node| Node::new(format!("trial-{trial}-node-{node}"), weight, node)).collect();
            squares +=
                ring(nodes).shares().iter().map(|share| (share.ratio() * 10.0 - 1.0).powi(2)).sum::<f64>() / 10.0;
        }
        let (found, theory) = ((squares / f64::from(trials)).sqrt(), row["theory"].as_f64().unwrap());
        assert!((found / theory - 1.0).abs() < 0.25, "{weight} virtual nodes: {found}, not {theory}");
        rows += 1;
    }
    assert_eq!(rows, 8);
}
