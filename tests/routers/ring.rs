//! Rings: the documents of one shard go to whichever nodes have them in a second ring.

use std::collections::BTreeSet;

use shardsplit::route::{Node, PlannedRing, RingTable};

use super::*;

/// Shard of an id: of the first token that is not below its hash, read as unsigned; after the last comes the first.
fn shard_of(file: &Value, id: &str) -> u64 {
    let hash = u64::from(elasticsearch_hash(id).cast_unsigned());
    let tokens: Vec<(u64, u64)> = file["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .map(|token| (token[0].as_u64().unwrap(), token[1].as_u64().unwrap()))
        .collect();
    tokens.iter().find(|&&(token, _)| token >= hash).or(tokens.first()).unwrap().1
}

#[test]
fn documents_of_a_shard_go_to_the_nodes_that_have_them_afterwards() {
    let node = |name: &str, shard| Node { name: name.to_owned(), weight: 1, shard };
    let before = PlannedRing::new(vec![node("a", 0), node("b", 1)], 16).unwrap();
    let after = before.add(node("c", 2)).unwrap();
    let all = numbered(400);
    let place = place(&[]);
    for (name, ring) in [("before.json", before), ("after.json", after)] {
        std::fs::write(place.path(name), RingTable::Planned(ring).to_json().unwrap()).unwrap();
    }
    let (before, after) = (read_json(&place.path("before.json")), read_json(&place.path("after.json")));
    let own: Vec<String> = all.iter().filter(|id| shard_of(&before, id) == 1).cloned().collect();
    assert!((100..300).contains(&own.len()));
    build(&place.path("shard"), &own);
    let flags = "--routing ring --ring before.json --source-shard 1 --key id";
    let ran = place.run(&format!("split -i shard {flags} --ring-after after.json --out out")).expect(0);
    assert!(ran.stderr.contains("shard 2 gets documents of other shards too"), "{ran:?}");
    assert_dealt(&place, "out", &own, |id| shard_of(&after, id));
    assert_eq!(shards(&place, "out").into_keys().collect::<BTreeSet<_>>(), BTreeSet::from([1, 2]));
    assert_eq!(read_json(&place.path("out/routing.json"))["table"]["tokens"], after["tokens"]);
    place.run("verify -i shard --children out").expect(0);
    place.run(&format!("check-routing -i shard {flags}")).expect(0);
    let ran =
        place.run("check-routing -i shard --routing ring --ring after.json --source-shard 1 --key id --json").expect(3);
    let moved = own.iter().filter(|id| shard_of(&after, id) == 2).count();
    assert_eq!(ran.lines().last().unwrap()["not_own"], moved);
    place.run("split -i shard --routing ring --ring before.json --key id --out no").expect(2);
    // Without a ring before, the shard is taken for the only one, which has everything; numbers say that it is not.
    place.run("split -i shard --routing ring --ring-after after.json --source-shard 1 --key id --out no").expect(2);
    place.run("split -i shard --routing ring --ring-after after.json --key id --out whole").expect(0);
    assert_dealt(&place, "whole", &own, |id| shard_of(&after, id));
}
