//! What is refused, before anything is written, and how it is said.

use shardsplit::Error;
use shardsplit::ErrorKind;
use shardsplit::job::{Change, IndexJob};
use shardsplit::partition::{KeyPolicies, Policy};
use shardsplit::progress::{Cancel, Silent};
use shardsplit::route::RouteError;

use super::{Bench, small};
use crate::common::files::copy_dir;
use crate::common::fixture::Fixture;

/// The refusal of a job; nothing may be left of it.
#[track_caller]
fn refusal(job: &IndexJob) -> Error {
    let error = job.run(&Silent, &Cancel::new()).map(drop).unwrap_err();
    assert!(!job.out.exists(), "{error}");
    let parent = job.out.parent().unwrap();
    let left = std::fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(left.filter(|name| name.ends_with(".shardsplit")).collect::<Vec<_>>(), Vec::<String>::new());
    error
}

#[test]
fn numbers_of_shards_that_do_not_fit_are_refused_with_those_that_do() {
    let bench = Bench::with_shards(&small(), 6);
    let refused = |change| refusal(&bench.job("index", "out", change));
    let error = refused(Change::Merge { into: 4 });
    assert!(matches!(error, Error::Route(RouteError::Merge { .. })), "{error:?}");
    assert!(error.to_string().ends_with("possible: 1, 2, 3"), "{error}");
    assert!(matches!(refused(Change::Merge { into: 6 }), Error::Route(RouteError::Merge { .. })));
    let error = refused(Change::Split { into: 3, number_of_routing_shards: None });
    assert!(error.to_string().ends_with("possible: 1, 2"), "{error}");
    let error = refused(Change::Split { into: 4, number_of_routing_shards: Some(24) });
    assert!(matches!(error, Error::Route(RouteError::FixedRoutingShards { .. })), "{error:?}");
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[test]
fn a_directory_that_is_not_the_whole_index_is_refused() {
    let bench = Bench::with_shards(&small(), 3);
    let job = bench.job("index", "out", Change::Merge { into: 1 });
    let index = bench.path("index");
    let words = |expected: &[&str]| {
        let error = refusal(&job);
        assert!(matches!(error, Error::IndexDirectory { .. }), "{error:?}");
        assert_eq!(error.kind(), ErrorKind::Source);
        assert!(expected.iter().all(|word| error.to_string().contains(word)), "{error}");
    };
    copy_dir(&index.join("2"), &index.join("3"));
    words(&["has 3 shards", "there is also 3"]);
    std::fs::remove_dir_all(index.join("3")).unwrap();
    std::fs::rename(index.join("1"), bench.path("aside")).unwrap();
    words(&["has 3 shards", "not there: 1"]);
    std::fs::write(index.join("1"), b"no directory").unwrap();
    words(&["not there: 1"]);
    std::fs::remove_file(index.join("1")).unwrap();
    // A shard that stands elsewhere is as good.
    std::os::unix::fs::symlink(bench.path("aside"), index.join("1")).unwrap();
    std::fs::write(index.join("notes.txt"), b"mine").unwrap();
    let prepared = job.prepare(&Silent, &Cancel::new()).unwrap();
    assert!(
        prepared.plan().warnings.iter().any(|warning| warning.contains("notes.txt")),
        "{:?}",
        prepared.plan().warnings
    );
    drop(prepared);

    bench.write_routing("index", &serde_json::json!({"format": 1, "routing": "stars"}));
    words(&["\"stars\" is not known"]);
    std::fs::remove_file(index.join("routing.json")).unwrap();
    words(&["no routing.json"]);
}

#[test]
fn shards_of_different_kinds_are_refused_with_the_first_difference() {
    let bench = Bench::with_shards(&small(), 3);
    let path = bench.path("index/2/meta.json");
    let meta = super::read_json(&path);
    let mut other = meta.clone();
    other["index_settings"]["docstore_compression"] = "none".into();
    std::fs::write(&path, other.to_string()).unwrap();
    for change in [Change::Merge { into: 1 }, Change::Clone, bench.split(2)] {
        let error = refusal(&bench.job("index", "out", change));
        let Error::Unlike { left, right, difference } = &error else { panic!("{error:?}") };
        assert!(left.ends_with("index/0/meta.json") && right.ends_with("index/2/meta.json"), "{error}");
        assert!(difference.contains("docstore_compression"), "{difference}");
        assert_eq!(error.kind(), ErrorKind::Source);
    }
    let mut other = meta;
    other["schema"][0]["options"]["stored"] = false.into();
    std::fs::write(&path, other.to_string()).unwrap();
    let error = refusal(&bench.job("index", "out", Change::Merge { into: 1 }));
    assert!(matches!(&error, Error::Unlike { difference, .. } if difference.contains("\"serial\"")), "{error:?}");
}

#[test]
fn documents_of_another_shard_are_refused_with_the_directory_they_stand_in() {
    let bench = Bench::with_shards(&small(), 4);
    // Shard 1 twice: as 0 its documents are strays, for the part that both become too.
    std::fs::remove_dir_all(bench.path("index/0")).unwrap();
    copy_dir(&bench.path("index/1"), &bench.path("index/0"));
    for change in [Change::Merge { into: 2 }, Change::Merge { into: 1 }, Change::Clone] {
        let error = refusal(&bench.job("index", "out", change));
        let Error::Keys(problems) = &error else { panic!("{error:?}") };
        let (address, owner) = &problems.stray_sample[0];
        assert_eq!((address.dir.as_deref(), *owner), (Some(bench.path("index/0").as_path()), 1), "{change:?}");
        assert!(error.to_string().contains("index/0/"), "{error}");
    }
    let mut job = bench.job("index", "out", Change::Merge { into: 2 });
    job.policies = KeyPolicies { stray: Policy::Child(2), ..KeyPolicies::default() };
    assert!(matches!(refusal(&job), Error::Usage(_)), "there are the shards 0 and 1");
    job.policies.stray = Policy::Child(1);
    assert!(matches!(refusal(&job), Error::Keys(_)), "shard 1 is not made of shard 0");
    job.policies.stray = Policy::Child(0);
    let report = super::run(&job);
    let placed: Vec<u64> = report.plan.parts.iter().map(|part| part.census.stray_placed).collect();
    assert!(placed[0] > 0 && placed[1] == 0, "{placed:?}");
    assert!(report.verify.unwrap().is_clean());
}

#[test]
fn documents_without_a_key_are_refused_and_go_where_they_were_told() {
    let mut fixture = Fixture { routing: crate::common::documents::RoutingValues::Never, ..small() };
    fixture.odd.missing_ids = true;
    let bench = Bench::new(&fixture, shardsplit::route::RoutingFunction::Elasticsearch, 12, 1);
    let mut job = bench.job("one", "out", bench.split(3));
    assert!(matches!(refusal(&job), Error::Keys(problems) if problems.missing > 0));
    job.policies.missing = Policy::Child(2);
    assert!(super::run(&job).plan.parts[0].census.missing_placed > 0);
    // In the next index, shard 2 has become 4 and 5.
    let mut next = bench.job("out", "next", bench.split(2));
    next.policies.missing = Policy::Child(1);
    assert!(matches!(next.run(&Silent, &Cancel::new()), Err(Error::Keys(_))));
    next.policies.missing = Policy::Child(5);
    assert!(super::run(&next).verify.unwrap().is_clean());
}

#[test]
fn a_target_in_the_index_or_one_that_exists_is_refused() {
    let bench = Bench::with_shards(&small(), 2);
    for inside in ["index/out", "index/1/out"] {
        let error = refusal(&bench.job("index", inside, Change::Clone));
        assert!(matches!(&error, Error::Usage(problem) if problem.contains("lies in the source")), "{error:?}");
    }
    std::fs::create_dir(bench.path("taken")).unwrap();
    let error = bench.job("index", "taken", Change::Clone).run(&Silent, &Cancel::new()).map(drop).unwrap_err();
    assert!(matches!(error, Error::TargetExists { .. }));
}

#[test]
fn a_shard_that_a_writer_holds_stops_the_whole_index() {
    let bench = Bench::with_shards(&small(), 3);
    let index = tantivy::Index::open_in_dir(bench.path("index/2")).unwrap();
    let writer: tantivy::IndexWriter = index.writer_with_num_threads(1, 15_000_000).unwrap();
    let error = refusal(&bench.job("index", "out", Change::Clone));
    assert!(matches!(&error, Error::SourceLocked { path } if path.starts_with(bench.path("index/2"))), "{error:?}");
    drop(writer);
    // And the other way round: no writer gets in while a job is prepared.
    let prepared = bench.job("index", "out", Change::Clone).prepare(&Silent, &Cancel::new()).unwrap();
    assert!(index.writer_with_num_threads::<tantivy::TantivyDocument>(1, 15_000_000).is_err());
    drop(prepared);
    assert!(index.writer_with_num_threads::<tantivy::TantivyDocument>(1, 15_000_000).is_ok());
}

#[test]
fn damage_in_one_shard_stops_the_whole_index() {
    let bench = Bench::with_shards(&small(), 3);
    let mut names = std::fs::read_dir(bench.path("index/1")).unwrap().map(|entry| entry.unwrap().path());
    let store = names.find(|path| path.extension().is_some_and(|extension| extension == "pos")).unwrap();
    let mut bytes = std::fs::read(&store).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&store, bytes).unwrap();
    for (change, parallel) in [(Change::Merge { into: 1 }, 1), (Change::Clone, 1), (Change::Clone, 3)] {
        let error = refusal(&IndexJob { parallel, ..bench.job("index", "out", change) });
        assert!(matches!(&error, Error::Corrupt { path, .. } if *path == store), "{error:?}");
    }
}
