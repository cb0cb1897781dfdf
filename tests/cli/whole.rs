//! Index directories from the shell.

use super::place::{DOCS, Place, ids};

/// An index of two shards, and its routing file as `split` wrote it.
fn index() -> Place {
    let place = Place::new();
    let line = "split -i source --into 2 --key id --number-of-routing-shards 12 --out index";
    place.run(line).expect(0);
    place
}

#[test]
fn what_split_made_is_an_index_directory_that_splits_and_merges_without_further_words() {
    let place = index();
    let split = place.run("split -i index --into 3 --out six").expect(0);
    assert!(split.stdout.contains("split index of 2 shards into 6 at six"), "{}", split.stdout);
    assert!(split.stdout.contains("no differences (full)"), "{}", split.stdout);
    assert_eq!(split.stderr, "");
    let merge = place.run("merge -i six --into 1 --out one --parallel 2").expect(0);
    assert!(merge.stdout.contains("merge six of 6 shards into 1 at one"), "{}", merge.stdout);
    let digest = |text: &str| text.lines().find(|line| line.starts_with("digest")).unwrap().to_owned();
    assert_eq!(digest(&split.stdout), digest(&merge.stdout));
    place.run("clone -i six --out copy --method link").expect(0);

    let sorted = |mut ids: Vec<String>| {
        ids.sort();
        ids
    };
    assert_eq!(sorted(ids(&place.path("one/0"))), sorted(ids(&place.path("source"))));
    for shard in 0..6 {
        assert_eq!(ids(&place.path(&format!("copy/{shard}"))), ids(&place.path(&format!("six/{shard}"))));
    }
    for (source, children) in [("index", "six"), ("six", "one"), ("six", "copy")] {
        let found = place.run(&format!("verify -i {source} --children {children}")).expect(0);
        assert!(found.stdout.contains("no differences (full)"), "{found:?}");
    }
    // The set says what it was made from.
    place.run("verify -i source --children index").expect(0);
    let wrong = place.run("verify -i six/0 --children one").expect(2);
    assert!(wrong.stderr.contains("an index of 6 shards"), "{wrong:?}");
}

#[test]
fn plans_of_whole_indexes_write_nothing_and_are_those_of_a_dry_run() {
    let place = index();
    for (plan, dry) in [
        ("plan -i index --into 3 --out out", "split -i index --into 3 --out out --dry-run"),
        ("plan --operation merge -i index --into 1 --out out", "merge -i index --into 1 --out out --dry-run"),
        ("plan --operation clone -i index --out out", "clone -i index --out out --dry-run"),
    ] {
        let text = place.run(plan).expect(0).stdout;
        assert_eq!(text, place.run(dry).expect(0).stdout);
        assert!(text.contains("number_of_routing_shards 12") && text.contains("peak disk"), "{text}");
        let lines = place.run(&format!("{plan} --json")).expect(0).lines();
        assert_eq!((lines.len(), &lines[0]["type"]), (1, &"index_plan".into()));
        assert_eq!(lines[0]["docs"], DOCS);
    }
    assert_eq!(place.names(), ["index", "source"]);
}

#[test]
fn jobs_on_whole_indexes_are_one_typed_line() {
    let place = index();
    for (line, kind) in [
        ("split -i index --into 2 --out four --json", "index_split"),
        ("merge -i index --into 1 --out one --json", "merge"),
        ("clone -i index --out copy --json", "clone"),
    ] {
        let lines = place.run(line).expect(0).lines();
        let [report] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!(report["type"], kind);
        assert_eq!(report["plan"]["docs"], DOCS);
        assert_eq!(report["verify"]["source_digest"], report["verify"]["children_digest"]);
        assert!(report["verify"]["source_digest"].is_string());
    }
}

#[test]
fn a_shard_alone_is_refused_with_the_reason_unless_it_is_said_in_so_many_words() {
    let place = index();
    let lone = place.run("split -i index/1 --into 2 --key id --out out").expect(2);
    for words in ["shard 1 of an index of 2", "cannot be split alone", "equal share", "split the index: -i "] {
        assert!(lone.stderr.contains(words), "{lone:?}");
    }
    place.run("plan -i index/1 --into 2 --key id --out out").expect(2);
    let flags = "--source-shards 2 --source-shard 1 --routing elasticsearch --number-of-routing-shards 12";
    assert!(lone.stderr.contains(flags), "{lone:?}");
    place.run(&format!("split -i index/1 --into 3 --key id {flags} --out out")).expect(0);
    assert_eq!(place.names(), ["index", "out", "source"]);
    // What came of it is part of an index of six, and no index.
    let part = place.run("merge -i out --into 1 --out one").expect(4);
    assert!(part.stderr.contains("has 6 shards") && part.stderr.contains("0, 1, 2"), "{part:?}");
    // Away from its index a shard is an index of its own.
    place.copy("index/1", "away");
    place.run("split -i away --into 3 --key id --out apart").expect(0);
}

#[test]
fn flags_that_contradict_the_routing_file_are_refused_and_others_are_not_needed() {
    let place = index();
    for (flags, words) in [
        ("--key team", "--key team contradicts routing.json, which says id"),
        ("--routing-field team", "says none"),
        ("--routing elasticsearch-modulo", "says elasticsearch;"),
        ("--routing-partition-size 2", "says 1"),
        ("--number-of-routing-shards 24", "it stays 12"),
        ("--source-shards 2", "for a single shard"),
        ("--source-shard 1", "for a single shard"),
    ] {
        let ran = place.run(&format!("split -i index --into 3 --out out {flags}")).expect(2);
        assert!(ran.stderr.contains(words), "{flags}: {ran:?}");
    }
    let same = "--key id --routing elasticsearch --routing-partition-size 1 --number-of-routing-shards 12";
    place.run(&format!("split -i index --into 3 --out out {same} --dry-run")).expect(0);
    for (line, words) in [
        ("split -i index --out out", "--into is missing"),
        ("split -i source --into 2 --out out", "--key is missing"),
        ("split -i source --into 2 --key id --out out --parallel 2", "--parallel is for index directories"),
        ("plan --operation clone -i index --into 2 --out out", "leave --into away"),
        ("merge -i index --into 2 --out out", "possible: 1"),
        ("verify -i index --children source", "has no routing.json"),
        ("inspect -i index", "name one of them, such as index/0"),
        ("verify -i index --children index --into 1", "leave it away"),
    ] {
        let ran = place.run(line).expect(2);
        assert!(ran.stderr.contains(words), "{line}: {ran:?}");
    }
    let none = place.run("merge -i source --into 1 --out out").expect(4);
    assert!(none.stderr.contains("no routing.json"), "{none:?}");
    assert_eq!(place.names(), ["index", "source"]);
}
