//! Beside others: writers, readers and other runs that work at the same time.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use shardsplit::job::Job;
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::source::LockMode;
use shardsplit::{Error, Result};
use tantivy::{Index, SegmentReader, TantivyDocument};

use super::place::{Place, build, documents, writer};

const METHODS: [(&str, Method); 2] = [("rewrite", Method::Rewrite), ("link", Method::Link)];

#[test]
fn a_source_with_a_live_writer_is_refused_whatever_reads_it() {
    let place = Place::new();
    let held = writer(&place.path("source"));
    for args in [
        &["split", "-i", "source", "--into", "2", "--key", "id", "--out", "out"][..],
        &["split", "-i", "source", "--into", "2", "--key", "id", "--method", "link", "--out", "out"],
        &["plan", "-i", "source", "--into", "2", "--key", "id", "--out", "out"],
        &["split", "--plan", "plan.json"],
        &["verify", "-i", "source", "--children", "set"],
        &["index-hashes", "-i", "source", "--key", "id"],
    ] {
        let ran = place.run(args);
        assert_eq!(ran.code, 4, "{args:?}: {}", ran.text);
        assert!(ran.message().contains("locked by a writer"), "{args:?}: {}", ran.message());
        assert!(!place.path("out").exists() && !place.path("planned").exists(), "{args:?}");
    }
    drop(held);
    place.sound(&["split", "-i", "source", "--into", "2", "--key", "id", "--out", "out"]);
}

#[test]
fn of_two_splits_to_one_target_one_wins_and_the_other_finds_it_taken() {
    let place = Place::new();
    for (round, (name, _)) in METHODS.iter().cycle().take(8).enumerate() {
        let out = format!("out-{round}");
        let run = |source: &'static str| {
            let args = ["split", "-i", source, "--into", "2", "--key", "id", "--method", name, "--out", &out];
            place.run(&args).code
        };
        // Of different indexes, so that a mixture would show.
        let mut codes = std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(3 * round as u64));
                run("other")
            });
            [run("source"), second.join().unwrap()]
        });
        let won = if codes[0] == 0 { "source" } else { "other" };
        codes.sort_unstable();
        assert_eq!(codes, [0, 5], "{name}, round {round}");
        place.sound(&["verify", "-i", won, "--children", &out]);
        let children = [place.path(&out).join("0"), place.path(&out).join("1")];
        assert_eq!(documents(&children), documents(&[place.path(won)]));
        let hidden = place.path(&format!(".{out}.shardsplit"));
        assert!(!hidden.exists(), "{} was left", hidden.display());
    }
}

/// Documents of an index, read to the last stored byte; `None` while it is not there.
fn read_all(dir: &Path) -> Option<u64> {
    if !dir.join("meta.json").exists() {
        return None;
    }
    let index = Index::open_in_dir(dir).expect("a child that is visible is whole");
    assert!(index.validate_checksum().unwrap().is_empty());
    let mut docs = 0;
    for segment in index.searchable_segments().unwrap() {
        let reader = SegmentReader::open(&segment).expect("a segment of a visible child is whole");
        let store = reader.get_store_reader(1).unwrap();
        for doc in reader.doc_ids_alive() {
            let _: TantivyDocument = store.get(doc).expect("a document of a visible child is whole");
            docs += 1;
        }
    }
    Some(docs)
}

#[test]
fn a_reader_that_opens_children_the_moment_they_appear_finds_them_whole() {
    let place = Place::new();
    for (name, _) in METHODS {
        for round in 0..6 {
            let out = format!("{name}-{round}");
            let done = AtomicBool::new(false);
            let children = [0, 1, 2, 3].map(|shard: u32| place.path(&out).join(shard.to_string()));
            let looks = std::thread::scope(|scope| {
                let reader = scope.spawn(|| {
                    let mut looks = 0u64;
                    while !done.load(Ordering::Relaxed) {
                        looks += 1;
                        // The last one first: where it is there, all are.
                        if let Some(last) = read_all(&children[3]) {
                            let all = children[..3].iter().map(|child| read_all(child).expect("all at once"));
                            assert_eq!(last + all.sum::<u64>(), 187, "{out}");
                            return looks;
                        }
                    }
                    panic!("{out} was never seen");
                });
                let args = ["split", "-i", "source", "--into", "4", "--key", "id", "--method", name, "--out", &out];
                place.sound(&args);
                std::thread::sleep(Duration::from_millis(50));
                done.store(true, Ordering::Relaxed);
                reader.join().unwrap()
            });
            assert!(looks > 1, "{out}: the reader came too late");
        }
    }
}

/// What others do to a source while a split holds it, on a file system whose locks nobody honours.
type Change = (&'static str, fn(&Path));

const CHANGES: [Change; 4] = [
    ("its segments are merged away and collected", |dir| {
        // What tantivy's writer does where the lock does not keep it out.
        let mut writer = writer(dir);
        let segments = writer.index().searchable_segment_ids().unwrap();
        writer.merge(&segments).wait().unwrap();
        writer.garbage_collect_files().wait().unwrap();
        writer.wait_merging_threads().unwrap();
    }),
    ("its files are removed", |dir| fs::remove_dir_all(dir).unwrap()),
    ("meta.json is replaced by one of no segments", |dir| {
        let mut meta: serde_json::Value = serde_json::from_slice(&fs::read(dir.join("meta.json")).unwrap()).unwrap();
        meta["segments"] = serde_json::json!([]);
        fs::remove_file(dir.join("meta.json")).unwrap();
        fs::write(dir.join("meta.json"), meta.to_string()).unwrap();
    }),
    ("its files are replaced by another index's of the same names", |dir| {
        fs::remove_dir_all(dir).unwrap();
        build(dir, 1_000);
    }),
];

#[test]
fn a_source_that_changes_under_a_split_gives_the_right_children_or_a_typed_error() {
    let sound = Place::new();
    for (what, change) in CHANGES {
        for (name, method) in METHODS {
            let place = Place::new();
            let (source, out) = (place.path("source"), place.path("out"));
            let job = Job { method, lock: LockMode::None, ..Job::new(&source, &out, 2, "id") };
            let prepared = job.prepare(&Silent, &Cancel::new()).unwrap();
            change(&source);
            let result = prepared.execute(&Silent, &Cancel::new());
            match check(result.map(drop), &out) {
                Some(children) => assert_eq!(children.as_ref(), Ok(&sound.documents), "{name}: {what}"),
                // What is mapped can be rewritten whatever happens, as long as there is a directory to name in manifests.
                None => assert!(method == Method::Link || what.contains("removed"), "{name}: {what}"),
            }
        }
    }
}

/// The documents of the children; `None` where the run ended with a typed error and left nothing.
fn check(result: Result<()>, out: &Path) -> Option<Result<Vec<Vec<String>>, String>> {
    match result {
        Ok(()) => Some(documents(&[out.join("0"), out.join("1")])),
        Err(error) => {
            let typed = matches!(
                error,
                Error::Io { .. } | Error::SourceChanged { .. } | Error::Corrupt { .. } | Error::MissingFiles { .. }
            );
            assert!(typed, "{error:?}");
            assert!(!out.exists() && !out.with_file_name(".out.shardsplit").exists(), "left after {error:?}");
            None
        }
    }
}

#[test]
fn a_plan_of_a_source_that_changed_since_is_refused() {
    for (what, change) in CHANGES {
        let place = Place::new();
        change(&place.path("source"));
        let ran = place.run(&["split", "--plan", "plan.json"]);
        assert!(matches!(ran.code, 1 | 4), "{what}: exit code {}: {}", ran.code, ran.text);
        assert!(ran.message().contains("source"), "{what}: {}", ran.message());
        assert!(!place.path("planned").exists(), "{what}");
    }
}
