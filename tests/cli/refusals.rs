//! What is refused: with which exit code, naming what, leaving what.

use std::path::Path;

use tantivy::{Index, IndexWriter};

use super::place::{DOCS, Place};

#[test]
fn requests_that_do_not_fit_the_index_exit_2_before_anything_is_written() {
    let place = Place::new();
    let before = place.names();
    let unknown = place.run("split -i source --into 2 --key nonsense --out out").expect(2);
    assert!(unknown.stderr.contains("nonsense") && unknown.stderr.contains("id"), "{unknown:?}");
    place.run("split -i source --into 0 --key id --out out").expect(2);
    place.run("split -i source --into 2 --key id --out out --source-shards 2 --source-shard 2").expect(2);
    place.run("split -i source --into 2 --key id --out out --missing-key child:9").expect(2);
    assert_eq!(place.names(), before);
}

#[test]
fn a_source_that_cannot_be_read_exits_4_and_is_named() {
    let place = Place::new();
    std::fs::create_dir(place.path("empty")).unwrap();
    place.copy("source", "torn");
    let store = std::fs::read_dir(place.path("torn")).unwrap().map(|entry| entry.unwrap().path());
    let store = store.filter(|path| path.extension().is_some_and(|ext| ext == "store")).min().unwrap();
    std::fs::remove_file(&store).unwrap();
    for (source, named) in [("nowhere", "nowhere"), ("empty", "meta.json"), ("torn", file_name(&store))] {
        for command in ["plan --into 2 --key id --out out", "split --into 2 --key id --out out", "inspect"] {
            let ran = place.run(&format!("{command} -i {source}")).expect(4);
            assert_eq!(ran.stdout, "");
            assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains(named), "{ran:?}");
            assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
        }
    }
    assert_eq!(place.names(), ["empty", "source", "torn"]);
}

#[test]
fn an_index_that_is_being_written_exits_4() {
    let place = Place::new();
    let index = Index::open_in_dir(place.path("source")).unwrap();
    let _writer: IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
    let ran = place.run("split -i source --into 2 --key id --out out").expect(4);
    assert!(ran.stderr.contains("lock"), "{ran:?}");
}

#[test]
fn an_existing_target_exits_5_and_stays_as_it_is() {
    let place = Place::new();
    std::fs::create_dir(place.path("out")).unwrap();
    std::fs::write(place.path("out/mine"), "kept").unwrap();
    let ran = place.run("split -i source --into 2 --key id --out out").expect(5);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("out exists already"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(place.path("out/mine")).unwrap(), "kept");
    assert_eq!(place.names(), ["out", "source"]);
}

#[test]
fn documents_without_a_key_exit_1_with_count_and_addresses_unless_a_child_is_named_for_them() {
    let place = Place::new();
    let line = "split -i source --into 2 --key team --out out --json";
    let lines = place.run(line).expect(1).lines();
    let [error] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(error["kind"], "failed");
    // Odd numbers have no team; 3 of them was deleted.
    assert_eq!(error["key_problems"]["missing"], DOCS / 2);
    assert!(!error["key_problems"]["missing_sample"].as_array().unwrap().is_empty());
    assert_eq!(place.names(), ["source"]);

    let lines = place.run(&format!("{line} --missing-key child:1")).expect(0).lines();
    assert_eq!(lines[0]["plan"]["census"]["missing_placed"], DOCS / 2);
    // The manifest remembers where they went, and a flag has the last word.
    place.run("verify -i source --children out").expect(0);
    place.run("verify -i source --children out --missing-key child:0").expect(3);
}

fn file_name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}
