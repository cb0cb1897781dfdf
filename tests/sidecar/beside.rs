//! `index-hashes`: sidecars beside any index, which is otherwise left as it is.

use std::path::Path;

use shardsplit::Error;
use shardsplit::index_hashes::{IndexHashes, IndexHashesReport, SidecarAction};
use shardsplit::partition::KeySpec;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::publish::{Fault, FaultyFs, RealFs};
use tantivy::TantivyDocument;

use super::{WAYS, sidecars, split};
use crate::common::check::assert_split;
use crate::common::content::Content;
use crate::common::files::{assert_same_bytes, copy_dir, snapshot};
use crate::common::routing::Routing;
use crate::common::shared::{self, READABLE};
use crate::linked;

fn run(job: &IndexHashes) -> IndexHashesReport {
    job.run(&RealFs, &Silent, &Cancel::new()).unwrap()
}

fn job(index: &Path, routing: &Routing) -> IndexHashes {
    let keys = KeySpec { key: routing.key.clone(), routing_field: routing.routing_field.clone() };
    IndexHashes { keys, ..IndexHashes::new(index, &routing.key) }
}

/// Adds sidecars to `index`, twice, and splits it every way.
fn assert_indexed(index: &Path, routing: &Routing) {
    let before = snapshot(index);
    let first = run(&job(index, routing));
    assert!(first.keys_hashed > 0 && first.segments.iter().any(|segment| segment.action == SidecarAction::Written));
    let after = snapshot(index);
    for (name, entry) in &before {
        assert_eq!(after.get(name), Some(entry), "{} changed", name.display());
    }
    let added: Vec<&Path> =
        after.keys().filter(|name| !before.contains_key(*name)).map(|name| name.as_path()).collect();
    let names: Vec<String> =
        first.segments.iter().filter(|segment| segment.docs > 0).map(|segment| segment.file.clone()).collect();
    for name in &added {
        let lock = name.ends_with(".tantivy-writer.lock");
        assert!(lock || names.iter().any(|file| name.ends_with(file)), "{} appeared", name.display());
    }
    assert_eq!(sidecars(index).len(), names.len());

    let second = run(&job(index, routing));
    assert_eq!(second.keys_hashed, 0);
    assert!(second.segments.iter().all(|segment| segment.action == SidecarAction::Kept || segment.docs == 0));
    assert_eq!(snapshot(index), after, "a second run did something");

    let content = Content::read(index, &routing.fields());
    let dir = tempfile::tempdir().unwrap();
    for way in WAYS {
        let out = dir.path().join(format!("{way:?}"));
        let report = split(index, &out, routing, way);
        assert_eq!(report.plan.keys_hashed, 0);
        assert!(!report.plan.warnings.iter().any(|warning| warning.contains("belong to no segment")));
        assert_split(&content, &out, routing);
        std::fs::remove_dir_all(&out).unwrap();
    }
    assert_eq!(snapshot(index), after, "a split changed its source");
}

#[test]
fn the_bundled_index_gets_sidecars_and_its_splits_hash_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("library");
    copy_dir(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data/library"), &index);
    let routing = Routing { routing_field: Some("author".to_owned()), ..Routing::by_key("id", 4) };
    assert_indexed(&index, &routing);
}

#[test]
fn indexes_that_others_wrote_get_sidecars_and_their_splits_hash_nothing() {
    for shared in READABLE {
        let dir = tempfile::tempdir().unwrap();
        let index = dir.path().join("index");
        if shared::copy(shared.name, &index) {
            assert_indexed(&index, &Routing::by_key(shared.key, 3));
        }
    }
}

#[test]
fn nothing_is_written_while_a_writer_holds_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    linked::build_index(dir.path(), &[20], &[]);
    let index = tantivy::Index::open_in_dir(dir.path()).unwrap();
    let writer = index.writer_with_num_threads::<TantivyDocument>(1, 15_000_000).unwrap();
    let before = snapshot(dir.path());
    let refused = IndexHashes::new(dir.path(), "id").run(&RealFs, &Silent, &Cancel::new());
    assert!(matches!(refused, Err(Error::SourceLocked { .. })), "{refused:?}");
    assert_eq!(snapshot(dir.path()), before);
    drop(writer);
    assert_eq!(run(&IndexHashes::new(dir.path(), "id")).keys_hashed, 20);
}

#[test]
fn nothing_is_written_while_a_split_reads() {
    let dir = tempfile::tempdir().unwrap();
    linked::build_index(dir.path(), &[20], &[]);
    let source = shardsplit::source::Source::open(dir.path(), Default::default()).unwrap();
    let refused = IndexHashes::new(dir.path(), "id").run(&RealFs, &Silent, &Cancel::new());
    assert!(matches!(refused, Err(Error::SourceLocked { .. })), "{refused:?}");
    drop(source);
    run(&IndexHashes::new(dir.path(), "id"));
}

#[test]
fn sidecars_are_the_same_bytes_with_one_thread_and_with_two() {
    let dir = tempfile::tempdir().unwrap();
    let (one, two) = (dir.path().join("one"), dir.path().join("two"));
    linked::build_index(&one, &[50, 60, 70], &[3, 4, 100]);
    copy_dir(&one, &two);
    run(&IndexHashes { threads: 1, ..IndexHashes::new(&one, "id") });
    run(&IndexHashes { threads: 2, ..IndexHashes::new(&two, "id") });
    assert_same_bytes(&one, &two);
    assert_eq!(sidecars(&one).len(), 3);
}

#[test]
fn one_that_cannot_be_used_is_replaced_and_damaged_keys_are_not_hashed() {
    let dir = tempfile::tempdir().unwrap();
    linked::build_index(dir.path(), &[50], &[]);
    run(&IndexHashes::new(dir.path(), "id"));
    let sidecar = sidecars(dir.path()).remove(0);
    let whole = std::fs::read(&sidecar).unwrap();
    std::fs::write(&sidecar, &whole[1..]).unwrap();
    let report = run(&IndexHashes::new(dir.path(), "id"));
    assert_eq!(report.segments[0].action, SidecarAction::Replaced);
    assert_eq!(std::fs::read(&sidecar).unwrap(), whole);

    std::fs::remove_file(&sidecar).unwrap();
    let files = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let store = files.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "store")).unwrap();
    let mut bytes = std::fs::read(&store).unwrap();
    bytes[3] ^= 1;
    std::fs::write(&store, bytes).unwrap();
    let refused = IndexHashes::new(dir.path(), "id").run(&RealFs, &Silent, &Cancel::new());
    assert!(matches!(&refused, Err(Error::Corrupt { path, .. }) if *path == store), "{refused:?}");
    assert_eq!(sidecars(dir.path()).len(), 0);
}

#[test]
fn whatever_step_fails_a_sidecar_is_whole_or_absent_and_the_next_run_finishes() {
    let dir = tempfile::tempdir().unwrap();
    let (index, whole) = (dir.path().join("index"), dir.path().join("whole"));
    linked::build_index(&whole, &[30, 20], &[]);
    copy_dir(&whole, &index);
    let job = |dir: &Path| IndexHashes { threads: 1, ..IndexHashes::new(dir, "id") };
    let counting = FaultyFs::counting();
    job(&whole).run(&counting, &Silent, &Cancel::new()).unwrap();
    let steps = counting.steps();
    assert!(steps.len() > 6, "{steps:?}");
    for fault in [Fault::Fail, Fault::Stop] {
        for (at, step) in steps.iter().enumerate() {
            let failed = job(&index).run(&FaultyFs::new(at, fault), &Silent, &Cancel::new());
            assert!(failed.is_err(), "step {at}: {step}");
            for sidecar in sidecars(&index) {
                let name = sidecar.file_name().unwrap();
                assert!(std::fs::read(&sidecar).unwrap() == std::fs::read(whole.join(name)).unwrap(), "step {at}");
            }
            run(&job(&index));
            assert_same_bytes(&index, &whole);
            for sidecar in sidecars(&index) {
                std::fs::remove_file(sidecar).unwrap();
            }
        }
    }
}
