//! What a move refuses, and how it says so.

use crate::cli::place::Place;

#[test]
fn what_cannot_move_is_refused_with_the_way_out() {
    let place = Place::new();
    place.run("ring new --node a,b -o two.json").expect(0);
    place.run("ring add two.json --node c -o three.json").expect(0);
    place.run("ring new --node b,a -o swapped.json").expect(0);
    place.run("split -i source --routing ring --ring-after two.json --key id --out ring").expect(0);
    place.run("split -i source --into 2 --key id --out elastic").expect(0);
    for (line, code, words) in [
        ("ring move -i source --to two.json --out no", 2, "has no routing.json"),
        (
            "ring move -i elastic --to two.json --out no",
            2,
            "which has no ring; `split --routing ring --ring-after FILE`",
        ),
        ("ring move -i ring --to two.json --out no", 2, "is the ring that ring has already"),
        ("ring move -i ring --to swapped.json --out no", 2, "a node keeps its shard number"),
        ("ring move -i ring --to nowhere.json --out no", 4, "nowhere.json"),
        ("ring move -i ring --to three.json --out no --parallel 2", 2, "--parallel is not for moves"),
        ("ring move -i ring --to three.json --out elastic", 5, "elastic exists already"),
        ("ring move -i ring --to three.json --out ring/inside", 2, "lies in the source"),
        ("split -i ring --into 2 --out no", 2, "`ring move` takes the index there"),
        ("merge -i ring --into 1 --out no", 2, "`ring move` takes the index there"),
        ("split -i elastic/0 --routing ring --ring-after two.json --key id --out no", 2, "--ring"),
    ] {
        let refused = place.run(line).expect(code);
        assert!(refused.stderr.contains(words), "{line}: {refused:?}");
        assert!(!place.path("no").exists() && !place.path(".no.shardsplit").exists());
    }
}

#[test]
fn documents_that_are_not_where_the_ring_says_stop_the_move_before_anything_is_written() {
    let place = Place::new();
    place.run("ring new --node a,b -o two.json").expect(0);
    place.run("ring add two.json --node c -o three.json").expect(0);
    place.run("split -i source --routing ring --ring-after two.json --key id --out ring").expect(0);
    std::fs::rename(place.path("ring/0"), place.path("ring/x")).unwrap();
    std::fs::rename(place.path("ring/1"), place.path("ring/0")).unwrap();
    std::fs::rename(place.path("ring/x"), place.path("ring/1")).unwrap();
    let refused = place.run("ring move -i ring --to three.json --out no").expect(1);
    assert!(refused.stderr.contains("belong to another shard") || refused.stderr.contains("of shard"), "{refused:?}");
    assert!(!place.path("no").exists());
}
