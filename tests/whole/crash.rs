//! A merge, a split and a move of a whole index are failed and killed at every single step: the target is whole or absent,
//! `recover` tidies up, and a second run gives the same set.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use shardsplit::Error;
use shardsplit::job::Change;
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::publish::{Fault, FaultyFs, FileSystem, RealFs, RecoverAction, recover};
use shardsplit::report::IndexReport;
use shardsplit::route::{Node, RingTable, RoutingFunction, RoutingTable};
use shardsplit::verify::VerifyLevel;

use super::{Bench, small};
use crate::linked::{patiently, tree};
use crate::rings;

type Tree = std::collections::BTreeMap<String, String>;

/// What stands in `place`, and what it means.
struct Target {
    bench: Bench,
    place: PathBuf,
    change: Change,
    untouched: Tree,
    whole: Tree,
    steps: Vec<String>,
}

impl Target {
    fn new(change: Change) -> Target {
        let bench = match change {
            Change::Move => {
                let bench = Bench::new(&small(), RoutingFunction::Elasticsearch, 12, 1);
                rings::split(&bench.path("one/0"), &bench.path("index"), &two_nodes(), Method::Rewrite);
                bench
            }
            _ => Bench::with_shards(&small(), 2),
        };
        let place = bench.path("place");
        std::fs::create_dir(&place).unwrap();
        let mut target = Target { bench, place, change, untouched: Tree::new(), whole: Tree::new(), steps: Vec::new() };
        let fs = FaultyFs::counting();
        target.run(&fs).unwrap();
        // After a first run: lock files have appeared.
        target.untouched = tree(&target.bench.path("index"));
        target.steps = fs.steps();
        target.whole = tree(&target.place);
        std::fs::remove_dir_all(target.out()).unwrap();
        target
    }

    fn out(&self) -> PathBuf {
        self.place.join("out")
    }

    fn run(&self, fs: &FaultyFs) -> shardsplit::Result<IndexReport> {
        let mut job = self.bench.job("index", "place/out", self.change);
        // One thread: steps come in one order. Verification takes none, and other tests look at it.
        (job.threads, job.verify) = (1, VerifyLevel::Counts);
        job.method = if matches!(self.change, Change::Merge { .. }) { Method::Rewrite } else { Method::Link };
        if self.change == Change::Move {
            let three = two_nodes().add(Node::new("c", 1, 2)).unwrap();
            job.to = Some(Box::new(RoutingTable::Ring(three)));
        }
        let fs: Arc<dyn FileSystem> = Arc::new(fs.clone());
        job.prepare_on(fs, &Silent, &Cancel::new())?.execute(&Silent, &Cancel::new())
    }

    fn is_whole(&self, context: &str) -> bool {
        assert_eq!(tree(&self.bench.path("index")), self.untouched, "{context}: the index changed");
        let found: Tree = tree(&self.place).into_iter().filter(|(name, _)| !name.starts_with(".out")).collect();
        let whole = self.out().exists();
        assert_eq!(found, if whole { self.whole.clone() } else { Tree::new() }, "{context}");
        whole
    }

    /// Nothing but the target stands, if that; then a run from the start gives the same set.
    fn is_tidy(&self, context: &str) -> bool {
        let whole = self.is_whole(context);
        assert!(!self.place.join(".out.shardsplit").exists(), "{context}: something was left");
        if whole {
            let again = self.run(&FaultyFs::counting()).map(drop);
            assert!(matches!(again, Err(Error::TargetExists { .. })), "{context}: {again:?}");
        } else {
            self.run(&FaultyFs::counting()).unwrap_or_else(|error| panic!("{context}: a second run failed: {error}"));
        }
        assert_eq!(tree(&self.place), self.whole, "{context}: a second run differs");
        std::fs::remove_dir_all(self.out()).unwrap();
        whole
    }
}

fn recover_at(fs: &dyn FileSystem, out: &Path, context: &str) -> RecoverAction {
    let report = patiently(|| recover(fs, out)).unwrap_or_else(|error| panic!("{context}: recover failed: {error}"));
    assert_eq!((report.unknown, report.problems), (Vec::<PathBuf>::new(), Vec::<String>::new()), "{context}");
    report.action
}

fn two_nodes() -> RingTable {
    rings::planned(&[("a", 1), ("b", 1)])
}

#[test]
fn at_every_step_the_new_index_is_whole_or_absent_and_recover_tidies_up() {
    at_every_step(&[Change::Merge { into: 1 }, Change::Split { into: 2, number_of_routing_shards: None }]);
}

#[test]
fn at_every_step_of_a_move_the_next_generation_is_whole_or_absent_and_the_old_one_stands() {
    at_every_step(&[Change::Move]);
}

fn at_every_step(changes: &[Change]) {
    for &change in changes {
        let target = Target::new(change);
        let publishing = target.steps.iter().rposition(|step| step.starts_with("rename ")).unwrap();
        let routing = target.steps.iter().position(|step| step.contains("routing.json")).unwrap();
        assert!(routing < publishing - 2, "the routing file is there before the seal: {:?}", target.steps);
        for at in 0..target.steps.len() {
            let context = format!("{change:?}, step {at} fails: {}", target.steps[at]);
            let result = target.run(&FaultyFs::new(at, Fault::Fail)).map(drop);
            let whole = target.is_whole(&context);
            assert_eq!(whole, at > publishing, "{context}");
            assert!(whole || result.is_err(), "{context}");
            assert!(whole || !target.place.join(".out.shardsplit").exists(), "{context}: something was left");
            recover_at(&RealFs, &target.out(), &context);
            assert_eq!(target.is_tidy(&context), whole, "{context}");

            let context = format!("{change:?}, killed at step {at}: {}", target.steps[at]);
            let _stopped = target.run(&FaultyFs::new(at, Fault::Stop)).map(drop);
            assert_eq!(target.is_whole(&context), at > publishing, "{context}");
            let expected = match at {
                0 => RecoverAction::NothingToDo,
                at if at < publishing - 1 => RecoverAction::RemovedUnfinished,
                at if at <= publishing => RecoverAction::Published,
                _ => RecoverAction::RemovedLeftovers,
            };
            assert_eq!(recover_at(&RealFs, &target.out(), &context), expected, "{context}");
            assert_eq!(target.is_tidy(&context), at >= publishing - 1, "{context}");
        }
    }
}

#[test]
fn a_sealed_set_whose_routing_file_was_changed_is_not_published() {
    let target = Target::new(Change::Merge { into: 1 });
    let publishing = target.steps.iter().rposition(|step| step.starts_with("rename ")).unwrap();
    let _stopped = target.run(&FaultyFs::new(publishing, Fault::Stop)).map(drop);
    let staged = target.place.join(".out.shardsplit/children/routing.json");
    let text = std::fs::read_to_string(&staged).unwrap();
    std::fs::write(&staged, text.replace("\"id\"", "\"ib\"")).unwrap();
    let report = patiently(|| recover(&RealFs, &target.out())).unwrap();
    assert_eq!(report.action, RecoverAction::RemovedUnfinished);
    assert!(report.problems[0].contains("routing.json has checksum"), "{:?}", report.problems);
    assert!(!target.is_tidy("changed routing file"));
}
