//! The same job gives the same bytes however it is worked on, and does not go on with shards that are no longer what was
//! planned with; a set is verified against the index it came from.

use std::path::Path;
use std::sync::Mutex;

use shardsplit::Error;
use shardsplit::job::{Change, IndexJob, IndexVerifyJob};
use shardsplit::partition::KeyPolicies;
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Progress, Silent, Stage, Work};
use shardsplit::source::LockMode;
use shardsplit::verify::{FindingKind, VerifyLevel, VerifyReport};

use super::{Bench, WAYS, run, small};
use crate::common::files::assert_same_bytes;

#[test]
fn threads_and_shards_side_by_side_do_not_change_a_byte() {
    let bench = Bench::with_shards(&small(), 6);
    for (change, name) in [(Change::Merge { into: 2 }, "merge"), (bench.split(2), "split")] {
        for (way, (method, segments)) in WAYS.into_iter().enumerate() {
            let outs = [(1, 1), (2, 1), (2, 3), (5, 6), (0, 99)].map(|(threads, parallel)| {
                let parent = bench.path(&format!("{name}-{way}-{threads}-{parallel}"));
                std::fs::create_dir(&parent).unwrap();
                let job = IndexJob { out: parent.join("out"), threads, parallel, ..bench.job("index", "", change) };
                run(&IndexJob { method, segments, ..job }).plan.out
            });
            for other in &outs[1..] {
                assert_same_bytes(&outs[0], other);
            }
        }
    }
}

/// Counts what is announced and done, and calls the job off where it is told to.
struct Watch {
    at: Option<Stage>,
    cancel: Cancel,
    stages: Mutex<Vec<(Stage, u32, Work, Work)>>,
}

impl Watch {
    fn new(at: Option<Stage>) -> Watch {
        Watch { at, cancel: Cancel::new(), stages: Mutex::new(Vec::new()) }
    }
}

impl Progress for Watch {
    fn begin(&self, stage: Stage, total: Work) {
        self.stages.lock().unwrap().push((stage, 0, total, Work::default()));
        if self.at == Some(stage) {
            self.cancel.cancel();
        }
    }

    fn advance(&self, stage: Stage, done: Work) {
        for (_, _, _, sum) in self.stages.lock().unwrap().iter_mut().filter(|(seen, ..)| *seen == stage) {
            (sum.docs, sum.bytes) = (sum.docs + done.docs, sum.bytes + done.bytes);
        }
    }

    fn end(&self, stage: Stage) {
        self.stages.lock().unwrap().iter_mut().filter(|(seen, ..)| *seen == stage).for_each(|(_, ends, ..)| *ends += 1);
    }
}

#[test]
fn stages_begin_and_end_once_for_the_whole_index_and_count_all_of_it() {
    let bench = Bench::with_shards(&small(), 4);
    for parallel in [1, 3] {
        let watch = Watch::new(None);
        let job = IndexJob { parallel, ..bench.job("index", &format!("out-{parallel}"), bench.split(3)) };
        let report = job.run(&watch, &watch.cancel).unwrap();
        let stages = watch.stages.into_inner().unwrap();
        let names: Vec<Stage> = stages.iter().map(|(stage, ..)| *stage).collect();
        assert_eq!(names, [Stage::Route, Stage::Write, Stage::Verify, Stage::Publish]);
        assert!(stages.iter().all(|(_, ends, ..)| *ends == 1), "{stages:?}");
        let docs = report.plan.docs;
        let [(_, _, total, routed), (_, _, bytes, written), (_, _, both, verified), _] = stages[..] else { panic!() };
        assert_eq!((total, routed), (Work::docs(docs), Work::docs(docs)));
        assert_eq!(bytes, Work::bytes(report.plan.source_bytes));
        assert!(written.bytes > 0 && written.bytes <= bytes.bytes, "{written:?} of {bytes:?}");
        assert_eq!((both.docs, verified.docs), (2 * docs, 2 * docs));
    }
}

#[test]
fn a_job_that_is_called_off_leaves_nothing_and_frees_the_shards() {
    let bench = Bench::with_shards(&small(), 3);
    for (at, parallel) in [(Stage::Route, 1), (Stage::Write, 1), (Stage::Write, 3)] {
        let watch = Watch::new(Some(at));
        let job = IndexJob { parallel, ..bench.job("index", "out", Change::Clone) };
        let error = job.run(&watch, &watch.cancel).map(drop).unwrap_err();
        assert!(matches!(error, Error::Interrupted), "{error:?}");
        let mut names: Vec<_> =
            std::fs::read_dir(bench.dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["index", "one"]);
        let index = tantivy::Index::open_in_dir(bench.path("index/1")).unwrap();
        assert!(index.writer_with_num_threads::<tantivy::TantivyDocument>(1, 15_000_000).is_ok());
    }
}

/// A change to a shard between plan and execution: `planned` is what the error must say.
fn changed(method: Method, change: impl Fn(&Path), words: &str) {
    let bench = Bench::with_shards(&small(), 3);
    let job = IndexJob { lock: LockMode::None, method, ..bench.job("index", "out", Change::Merge { into: 1 }) };
    let prepared = job.prepare(&Silent, &Cancel::new()).unwrap();
    change(&bench.path("index/1"));
    let error = prepared.execute(&Silent, &Cancel::new()).map(drop).unwrap_err();
    let Error::SourceChanged { path, problem } = &error else { panic!("{error:?}") };
    assert!(*path == bench.path("index/1") && problem.contains(words), "{error}");
    assert!(!job.out.exists());
    let mut left = std::fs::read_dir(bench.dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!left.any(|name| name.to_str().unwrap().starts_with('.')), "staging is left");
}

#[test]
fn a_shard_that_changed_after_it_was_planned_with_is_not_published() {
    for method in [Method::Rewrite, Method::Link] {
        changed(
            method,
            |shard| {
                let index = tantivy::Index::open_in_dir(shard).unwrap();
                let mut writer: tantivy::IndexWriter = index.writer_with_num_threads(1, 15_000_000).unwrap();
                writer.add_document(tantivy::doc!()).unwrap();
                writer.commit().unwrap();
            },
            "opstamp",
        );
        changed(
            method,
            |shard| {
                let path = shard.join("meta.json");
                let mut meta = super::read_json(&path);
                meta["payload"] = "another".into();
                std::fs::write(path, meta.to_string()).unwrap();
            },
            "meta.json was rewritten",
        );
        changed(
            method,
            |shard| {
                let mut names = std::fs::read_dir(shard).unwrap().map(|entry| entry.unwrap().path());
                let store = names.find(|path| path.extension().is_some_and(|end| end == "store")).unwrap();
                // Another sound file: the same documents in other blocks, as far as its footer tells.
                let (body, footer) = crate::small_index::split(&std::fs::read(&store).unwrap());
                let mut footer = footer;
                footer["version"]["patch"] = 99.into();
                std::fs::remove_file(&store).unwrap();
                std::fs::write(&store, crate::small_index::seal(&body, &footer)).unwrap();
            },
            "another length or checksum",
        );
    }
}

fn verify(bench: &Bench, source: &str, children: &str, level: VerifyLevel) -> shardsplit::Result<VerifyReport> {
    let (source, children) = (bench.path(source), bench.path(children));
    let (policies, lock) = (KeyPolicies::default(), LockMode::Writer);
    IndexVerifyJob { source, children, policies, level, threads: 2, lock }.run(&Silent, &Cancel::new())
}

#[test]
fn a_set_is_verified_against_its_index_and_swapped_missing_and_foreign_shards_are_found() {
    let bench = Bench::with_shards(&small(), 6);
    let report = run(&bench.job("index", "two", Change::Merge { into: 2 }));
    for (source, children) in [("index", "two"), ("one", "index"), ("index", "index")] {
        let found = verify(&bench, source, children, VerifyLevel::Full).unwrap();
        assert!(found.is_clean(), "{source} {children}: {:?}", found.findings);
        assert_eq!(found.source_digest, report.verify.as_ref().unwrap().source_digest);
        assert_eq!(found.children_digest, found.source_digest);
    }
    let kinds = |level| -> Vec<(FindingKind, Option<u32>)> {
        let found = verify(&bench, "index", "two", level).unwrap();
        found.findings.iter().map(|finding| (finding.kind, finding.child)).collect()
    };
    let swap = || {
        std::fs::rename(bench.path("two/0"), bench.path("spare")).unwrap();
        std::fs::rename(bench.path("two/1"), bench.path("two/0")).unwrap();
        std::fs::rename(bench.path("spare"), bench.path("two/1")).unwrap();
    };
    swap();
    let found = kinds(VerifyLevel::Full);
    assert!(found.iter().any(|(kind, child)| *kind == FindingKind::Keys && *child == Some(0)), "{found:?}");
    swap();
    std::fs::create_dir(bench.path("two/7")).unwrap();
    assert!(kinds(VerifyLevel::Counts).contains(&(FindingKind::ChildSet, Some(7))));
    std::fs::remove_dir(bench.path("two/7")).unwrap();
    std::fs::rename(bench.path("two/1"), bench.path("spare")).unwrap();
    assert!(kinds(VerifyLevel::Counts).contains(&(FindingKind::ChildUnreadable, Some(1))));
}

#[test]
fn indexes_that_have_nothing_to_do_with_each_other_are_not_compared() {
    let bench = Bench::with_shards(&small(), 6);
    run(&bench.job("one", "four", bench.split(4)));
    let error = verify(&bench, "index", "four", VerifyLevel::Counts).unwrap_err();
    assert!(error.to_string().contains("neither number of shards is a multiple"), "{error}");
}
