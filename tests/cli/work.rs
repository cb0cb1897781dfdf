//! The commands at work.

use super::place::{DOCS, Place, ids};

#[test]
fn a_dry_run_prints_the_plan_and_writes_nothing() {
    let place = Place::new();
    let flags = "-i source --into 4 --key id --out out --method link";
    let dry = place.run(&format!("split {flags} --dry-run")).expect(0);
    let plan = place.run(&format!("plan {flags}")).expect(0);
    assert_eq!(dry.stdout, plan.stdout);
    assert!(dry.stdout.contains("link") && dry.stdout.contains("peak disk"), "{}", dry.stdout);
    assert_eq!(place.names(), ["source"]);

    let lines = place.run(&format!("split {flags} --dry-run --json")).expect(0).lines();
    let [plan] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(plan["type"], "plan");
    assert_eq!(plan["method"], "link");
    let docs: u64 = plan["children"].as_array().unwrap().iter().map(|child| child["docs"].as_u64().unwrap()).sum();
    assert_eq!(docs, DOCS);
    assert_eq!(place.names(), ["source"]);
}

#[test]
fn a_split_leaves_every_live_document_in_exactly_one_child_and_says_what_it_did() {
    let place = Place::new();
    let ran = place.run("split -i source --into 4 --key id --out out").expect(0);
    assert_eq!(ran.stderr, "");
    assert!(ran.stdout.contains("no differences") && ran.stdout.contains("documents/s"), "{}", ran.stdout);
    let total = ran.stdout.lines().find(|line| line.trim_start().starts_with("total")).unwrap();
    assert_eq!(total.split_whitespace().nth(1), Some("60"));
    assert_eq!(place.names(), ["out", "source"]);

    let mut found: Vec<String> = (0..4).flat_map(|shard| ids(&place.path(&format!("out/{shard}")))).collect();
    found.sort();
    let mut expected: Vec<String> =
        (0..DOCS + 2).filter(|number| ![3, DOCS].contains(number)).map(|number| format!("doc-{number}")).collect();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_split_with_json_is_one_typed_line() {
    let place = Place::new();
    let lines = place.run("split -i source --into 2 --key id --out out --json").expect(0).lines();
    let [split] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(split["type"], "split");
    assert_eq!(split["children"].as_array().unwrap().len(), 2);
    assert_eq!(split["plan"]["census"]["deleted"], 2);
    let stages: Vec<&str> =
        split["stages"].as_array().unwrap().iter().map(|stage| stage["stage"].as_str().unwrap()).collect();
    assert!(stages.contains(&"write") && stages.contains(&"verify"), "{stages:?}");
}

#[test]
fn verify_passes_true_children_and_exits_3_on_false_ones() {
    let place = Place::new();
    place.run("split -i source --into 2 --key id --out out").expect(0);
    let clean = place.run("verify -i source --children out").expect(0);
    assert!(clean.stdout.contains("no differences"), "{clean:?}");

    // The same documents twice and others not at all.
    std::fs::remove_dir_all(place.path("out/1")).unwrap();
    place.copy("out/0", "out/1");
    for level in ["full", "counts"] {
        let ran = place.run(&format!("verify -i source --children out --level {level}")).expect(3);
        assert!(ran.stdout.contains("error"), "{ran:?}");
        assert!(!ran.stdout.contains("no differences"), "{ran:?}");
    }
    let lines = place.run("verify -i source --children out --json").expect(3).lines();
    assert!(lines.iter().any(|line| line["type"] == "finding" && line["grade"] == "error"), "{lines:?}");
    assert_eq!(lines.last().unwrap()["type"], "verify");
    assert_eq!(lines.last().unwrap()["clean"], false);
}

#[test]
fn children_of_unknown_origin_are_verified_by_flags_or_as_one_set() {
    let place = Place::new();
    place.run("split -i source --into 3 --key id --out out --method link --quiet").expect(0);
    for manifest in ["out", "out/0", "out/1", "out/2"] {
        std::fs::remove_file(place.path(manifest).join("shardsplit.json")).unwrap();
    }
    let by_key = place.run("verify -i source --children out --key id --json").expect(0);
    assert!(by_key.lines().last().unwrap()["checks"].as_array().unwrap().contains(&"ownership".into()), "{by_key:?}");
    assert_eq!(by_key.stderr, "");

    std::fs::rename(place.path("out/0"), place.path("out/spare")).unwrap();
    std::fs::rename(place.path("out/1"), place.path("out/0")).unwrap();
    std::fs::rename(place.path("out/spare"), place.path("out/1")).unwrap();
    place.run("verify -i source --children out --key id").expect(3);
    let as_one_set = place.run("verify -i source --children out --json").expect(0);
    assert!(as_one_set.stderr.contains("is not checked"), "{as_one_set:?}");
    place.run("verify -i source --children source").expect(2);
}

#[test]
fn recover_with_nothing_to_do_is_done() {
    let place = Place::new();
    let ran = place.run("recover --out out").expect(0);
    assert!(ran.stdout.contains("nothing"), "{ran:?}");
    assert_eq!(place.run("recover --out out --json").expect(0).lines()[0]["type"], "recover");
    assert_eq!(place.names(), ["source"]);
}

#[test]
fn inspect_lists_segments_fields_and_usable_keys() {
    let place = Place::new();
    let text = place.run("inspect -i source").expect(0).stdout;
    for word in ["60", "id", "team", "body", "store"] {
        assert!(text.contains(word), "{text}");
    }
    let lines = place.run("inspect -i source --json").expect(0).lines();
    let [inspection] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(inspection["type"], "inspect");
    assert_eq!(inspection["segments"].as_array().unwrap().len(), 2);
}
