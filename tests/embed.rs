//! The library as a cluster manager uses it: several shards of one index split at the same time, from threads of its own,
//! with progress collected and one job called off.

use crate::common;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use crate::common::fixture::Fixture;
use crate::common::routing::{self, Routing};
use shardsplit::job::Job;
use shardsplit::progress::{Cancel, Progress, Stage, Work};
use shardsplit::route::SplitSpec;
use shardsplit::{Error, ErrorKind};
use tantivy::{Index, Term};

const SHARDS: u32 = 3;
const INTO: u32 = 2;

/// Collects what every stage announced and did.
#[derive(Default)]
struct Collected(Mutex<BTreeMap<&'static str, (Work, Work, bool)>>);

impl Progress for Collected {
    fn begin(&self, stage: Stage, total: Work) {
        self.0.lock().unwrap().entry(stage.name()).or_default().0 = total;
    }

    fn advance(&self, stage: Stage, done: Work) {
        let mut stages = self.0.lock().unwrap();
        let so_far = &mut stages.entry(stage.name()).or_default().1;
        so_far.docs += done.docs;
        so_far.bytes += done.bytes;
    }

    fn end(&self, stage: Stage) {
        self.0.lock().unwrap().entry(stage.name()).or_default().2 = true;
    }
}

fn spec(shard: u32) -> SplitSpec {
    SplitSpec { source_shards: SHARDS, source_shard: shard, ..SplitSpec::new(INTO) }
}

/// One shard of an index of three: only the documents that belong there.
fn build_shard(dir: &Path, shard: u32) -> u64 {
    let mut fixture = Fixture::everything(2, 150);
    let whole = SplitSpec { into: 1, ..spec(0) };
    let ids = |number: &u32| common::documents::id(*number, fixture.key);
    for batch in &mut fixture.batches {
        batch.add.retain(|number| routing::shard(&whole, &ids(number), &ids(number)) == shard);
    }
    fixture.build(dir);
    fixture.batches.iter().map(|batch| batch.add.len() as u64).sum()
}

#[test]
fn all_shards_of_an_index_are_split_side_by_side_and_numbered_as_one() {
    let dir = tempfile::tempdir().unwrap();
    let sources: Vec<(std::path::PathBuf, u64)> = (0..SHARDS)
        .map(|shard| {
            let source = dir.path().join(format!("source-{shard}"));
            let docs = build_shard(&source, shard);
            (source, docs)
        })
        .collect();
    let reports: Vec<_> = std::thread::scope(|scope| {
        let jobs: Vec<_> = (0..SHARDS)
            .zip(&sources)
            .map(|(shard, (source, docs))| {
                let out = dir.path().join(format!("out-{shard}"));
                scope.spawn(move || {
                    let progress = Collected::default();
                    let mut job = Job::new(source, out, INTO, "id");
                    (job.split, job.threads) = (spec(shard), 2);
                    let prepared = job.prepare(&progress, &Cancel::new()).unwrap();
                    let planned: u64 = prepared.plan().children.iter().map(|child| child.docs).sum();
                    assert_eq!(planned, *docs);
                    let report = prepared.execute(&progress, &Cancel::new()).unwrap();
                    (report, progress)
                })
            })
            .collect();
        jobs.into_iter().map(|job| job.join().unwrap()).collect()
    });

    let mut numbers = Vec::new();
    for ((report, progress), (_, docs)) in reports.iter().zip(&sources) {
        let stages = progress.0.lock().unwrap();
        for stage in ["open", "route", "write", "verify", "publish"] {
            assert!(stages.get(stage).is_some_and(|(_, _, ended)| *ended), "{stage} did not end: {stages:?}");
        }
        assert_eq!(stages["route"].1.docs, *docs, "route counts documents");
        assert!(stages["write"].1.bytes > 0 && stages["write"].1.bytes <= stages["write"].0.bytes, "{stages:?}");
        assert!(report.verify.as_ref().unwrap().is_clean());
        for child in &report.children {
            numbers.push(child.shard);
            let index = Index::open_in_dir(&child.path).unwrap();
            let searcher = index.reader().unwrap().searcher();
            assert_eq!(searcher.num_docs(), child.docs);
        }
    }
    assert_eq!(numbers, (0..SHARDS * INTO).collect::<Vec<_>>());

    // Every document is where an index of six shards looks for it.
    let whole = Routing { split: SplitSpec { into: INTO, ..spec(0) }, ..Routing::by_key("id", INTO) };
    let mut found = 0;
    for number in 0..300 {
        let id = common::documents::id(number, Fixture::everything(1, 1).key);
        let shard = routing::shard(&whole.split, &id, &id);
        let index = Index::open_in_dir(dir.path().join(format!("out-{}/{shard}", shard / INTO))).unwrap();
        let searcher = index.reader().unwrap().searcher();
        let field = index.schema().get_field("id").unwrap();
        found += searcher.doc_freq(&Term::from_field_text(field, &id)).unwrap();
    }
    assert_eq!(found, 300);
}

#[test]
fn a_job_that_is_called_off_leaves_nothing_and_the_others_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    Fixture::everything(2, 200).build(&source);
    let cancel = Cancel::new();

    /// Calls the job off when it begins to write.
    struct CallOff(Cancel);
    impl Progress for CallOff {
        fn begin(&self, stage: Stage, _total: Work) {
            if stage == Stage::Write {
                self.0.cancel();
            }
        }
    }

    let out = dir.path().join("out");
    let error = Job::new(&source, &out, 4, "id").run(&CallOff(cancel.clone()), &cancel).unwrap_err();
    assert!(matches!(error, Error::Interrupted));
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["source"]);

    // The lock is free again, and the target can be made.
    Job::new(&source, &out, 4, "id").run(&Collected::default(), &Cancel::new()).unwrap();
    assert!(out.join("3/meta.json").is_file());
}
