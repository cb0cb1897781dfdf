//! Jobs that must stop: before anything is written where the request or the documents are wrong, and without a trace
//! when they are interrupted.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::common::check::assert_split;
use crate::common::content::Content;
use crate::common::files::{assert_source_unchanged, snapshot};
use crate::common::fixture::Fixture;
use crate::common::routing::{Routing, hash};
use shardsplit::error::{Error, ErrorKind};
use shardsplit::job::Job;
use shardsplit::partition::{KeyPolicies, KeyProblems, Policy};
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Progress, Silent, Stage, Work};
use shardsplit::route::SplitSpec;
use tantivy::schema::{FAST, STORED, STRING, Schema};
use tantivy::{Index, TantivyDocument};

/// An index in `dir`, two segments, whose documents have the ids listed: none, one or several.
fn with_ids(dir: &Path, docs: &[&[&str]]) {
    std::fs::create_dir_all(dir).unwrap();
    let mut builder = Schema::builder();
    let id = builder.add_text_field("id", STRING | STORED | FAST);
    let note = builder.add_text_field("note", STORED);
    let index = Index::create_in_dir(dir, builder.build()).unwrap();
    let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
    writer.set_merge_policy(Box::new(tantivy::indexer::NoMergePolicy));
    for half in docs.chunks(docs.len().div_ceil(2)) {
        for ids in half {
            let mut doc = TantivyDocument::new();
            ids.iter().for_each(|value| doc.add_text(id, value));
            doc.add_text(note, format!("{ids:?}"));
            writer.add_document(doc).unwrap();
        }
        writer.commit().unwrap();
    }
    writer.wait_merging_threads().unwrap();
}

/// Runs `job`, which must fail and leave its parent directory as it was. Returns the error.
fn fails(job: &Job) -> Error {
    let before = snapshot(job.out.parent().unwrap());
    let error = job.run(&Silent, &Cancel::new()).unwrap_err();
    let after = snapshot(job.out.parent().unwrap());
    let appeared: Vec<&PathBuf> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    assert!(appeared.iter().all(|path| path.ends_with(".tantivy-writer.lock")), "{error}: left {appeared:?}");
    for (path, entry) in &before {
        assert_eq!(after.get(path), Some(entry), "{error}: {} changed", path.display());
    }
    error
}

fn key_problems(error: Error) -> KeyProblems {
    assert_eq!(error.kind(), ErrorKind::Failed, "{error}");
    match error {
        Error::Keys(problems) => *problems,
        other => panic!("{other:?}"),
    }
}

#[test]
fn documents_without_a_key_stop_the_run_with_their_addresses() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    with_ids(&source, &[&["a"], &[], &["b"], &["c"], &[], &[]]);
    for method in [Method::Rewrite, Method::Link] {
        let problems = key_problems(fails(&Job { method, ..Job::new(&source, dir.path().join("out"), 2, "id") }));
        assert_eq!((problems.missing, problems.several, problems.stray), (3, 0, 0));
        let content = Content::read(&source, &["id"]);
        let id = |segment: usize| content.segments[segment].reader.segment_id().uuid_string();
        let keyless =
            content.docs.iter().filter(|doc| doc.keys.is_empty()).map(|doc| (id(doc.address.0), doc.address.1));
        let found = problems.missing_sample.iter().map(|at| (at.segment.clone(), at.doc));
        assert_eq!(found.collect::<Vec<_>>(), keyless.collect::<Vec<_>>());
    }
}

#[test]
fn documents_with_several_keys_stop_the_run_whatever_the_policies() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    with_ids(&source, &[&["a"], &["b", "c"], &["d"]]);
    let policies = KeyPolicies { missing: Policy::Child(0), stray: Policy::Child(0) };
    let problems = key_problems(fails(&Job { policies, ..Job::new(&source, dir.path().join("out"), 2, "id") }));
    assert_eq!((problems.missing, problems.several, problems.stray), (0, 1, 0));
    assert_eq!(problems.several_sample[0].doc, 1);
}

#[test]
fn documents_of_another_shard_stop_the_run_with_the_shard_they_belong_to() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    let ids: Vec<String> = (0..40).map(|number| format!("id {number}")).collect();
    let docs: Vec<[&str; 1]> = ids.iter().map(|id| [id.as_str()]).collect();
    with_ids(&source, &docs.iter().map(|doc| doc.as_slice()).collect::<Vec<_>>());
    // 2 shards, 1,024 routing shards: the upper half of the hash space is shard 1.
    let home = |id: &str| u32::from(hash(id).rem_euclid(1024) >= 512);
    let strays = ids.iter().filter(|id| home(id) == 1).count() as u64;
    assert!(strays > 5 && strays < 35);
    let split = SplitSpec { source_shards: 2, source_shard: 0, ..SplitSpec::new(2) };
    let job = Job { split, ..Job::new(&source, dir.path().join("out"), 2, "id") };
    let problems = key_problems(fails(&job));
    assert_eq!((problems.missing, problems.several, problems.stray), (0, 0, strays));
    assert!(problems.stray_sample.iter().all(|(_, shard)| *shard == 1));

    // Named a place, they go there, and are counted.
    let job = Job { policies: KeyPolicies { stray: Policy::Child(1), ..KeyPolicies::default() }, ..job };
    let report = job.run(&Silent, &Cancel::new()).unwrap();
    assert_eq!(report.plan.census.stray_placed, strays);
    let placed = Content::read(&dir.path().join("out/1"), &["id"]);
    assert_eq!(placed.docs.iter().filter(|doc| home(&doc.keys["id"][0]) == 1).count() as u64, strays);
}

#[test]
fn documents_without_a_key_go_where_the_policy_says() {
    let dir = tempfile::tempdir().unwrap();
    let (source, out) = (dir.path().join("source"), dir.path().join("out"));
    with_ids(&source, &[&["a"], &[], &["b"], &["c"], &[], &["d"]]);
    let policies = KeyPolicies { missing: Policy::Child(2), ..KeyPolicies::default() };
    let report = Job { policies, ..Job::new(&source, &out, 3, "id") }.run(&Silent, &Cancel::new()).unwrap();
    assert_eq!(report.plan.census.missing_placed, 2);
    let keyless = |shard: u32| {
        let child = Content::read(&out.join(shard.to_string()), &["id"]);
        child.docs.iter().filter(|doc| doc.keys.get("id").is_none_or(Vec::is_empty)).count()
    };
    assert_eq!([0, 1, 2].map(keyless), [0, 0, 2]);
}

#[test]
fn an_existing_target_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (source, out) = (dir.path().join("source"), dir.path().join("out"));
    with_ids(&source, &[&["a"], &["b"]]);
    std::fs::create_dir(&out).unwrap();
    assert_eq!(fails(&Job::new(&source, &out, 2, "id")).kind(), ErrorKind::Target);
    std::fs::write(out.join("mine"), "kept").unwrap();
    assert_eq!(fails(&Job::new(&source, &out, 2, "id")).kind(), ErrorKind::Target);
    std::fs::remove_dir_all(&out).unwrap();
    std::fs::write(&out, "a file").unwrap();
    assert_eq!(fails(&Job::new(&source, &out, 2, "id")).kind(), ErrorKind::Target);
}

#[test]
fn a_field_that_is_not_there_is_refused_with_those_that_could_serve() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    with_ids(&source, &[&["a"], &["b"]]);
    let error = fails(&Job::new(&source, dir.path().join("out"), 2, "uid"));
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("uid") && error.to_string().contains("id"), "{error}");
    assert!(matches!(&error, Error::Field { usable, .. } if usable.iter().any(|field| field.starts_with("id"))));
}

#[test]
fn a_source_that_a_writer_holds_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    with_ids(&source, &[&["a"], &["b"]]);
    let index = Index::open_in_dir(&source).unwrap();
    let writer = index.writer_with_num_threads::<TantivyDocument>(1, 15_000_000).unwrap();
    let error = fails(&Job::new(&source, dir.path().join("out"), 2, "id"));
    assert!(matches!(error, Error::SourceLocked { .. }), "{error:?}");
    drop(writer);
    Job::new(&source, dir.path().join("out"), 2, "id").run(&Silent, &Cancel::new()).unwrap();
}

/// Asks to stop when a stage begins or first advances.
struct StopAt {
    stage: Stage,
    at_begin: bool,
    cancel: Cancel,
    seen: Mutex<Vec<Stage>>,
}

impl Progress for StopAt {
    fn begin(&self, stage: Stage, _: Work) {
        self.seen.lock().unwrap().push(stage);
        if stage == self.stage && self.at_begin {
            self.cancel.cancel();
        }
    }

    fn advance(&self, stage: Stage, _: Work) {
        if stage == self.stage {
            self.cancel.cancel();
        }
    }
}

#[test]
fn an_interrupted_job_leaves_nothing_whenever_it_is_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    let fixture = Fixture::everything(3, 60);
    fixture.build(&source);
    let before = snapshot(&source);
    let parent = dir.path().join("parent");
    std::fs::create_dir(&parent).unwrap();
    let out = parent.join("out");
    for method in [Method::Rewrite, Method::Link] {
        let job = Job { method, ..Job::new(&source, &out, 4, "id") };
        let cancelled = Cancel::new();
        cancelled.cancel();
        assert!(matches!(job.run(&Silent, &cancelled), Err(Error::Interrupted)));
        for stage in [Stage::Open, Stage::Route, Stage::Write, Stage::Verify] {
            for at_begin in [true, false] {
                let cancel = Cancel::new();
                let progress = StopAt { stage, at_begin, cancel: cancel.clone(), seen: Mutex::default() };
                let result = job.run(&progress, &cancel);
                let seen = progress.seen.lock().unwrap().clone();
                assert!(seen.contains(&stage), "{stage:?} did not begin: {seen:?}");
                if cancel.is_cancelled() && at_begin {
                    assert!(matches!(result, Err(Error::Interrupted)), "{method:?} {stage:?}: {result:?}");
                }
                match result {
                    // The last documents of a stage may have been done when it was asked to stop.
                    Ok(_) => std::fs::remove_dir_all(&out).unwrap(),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Interrupted, "{error}"),
                }
                assert_eq!(std::fs::read_dir(&parent).unwrap().count(), 0, "{method:?} {stage:?} left something");
                assert_source_unchanged(&before, &snapshot(&source));
            }
        }
        // Nothing is in the way of the next run.
        job.run(&Silent, &Cancel::new()).unwrap();
        assert_split(&Content::read(&source, &["id"]), &out, &Routing::by_key("id", 4));
        std::fs::remove_dir_all(&out).unwrap();
    }
}
