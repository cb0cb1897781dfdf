//! A run is failed, killed, or loses its power at every single step, and so is `recover`: the target is whole or absent,
//! nothing else changes, `recover` tidies up, and a second run succeeds.

#[path = "common/linked.rs"]
mod linked;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shardsplit::Error;
use shardsplit::publish::{Fault, FaultyFs, FileSystem, RealFs, RecoverAction, recover};
use shardsplit::source::Source;

type Tree = BTreeMap<String, String>;

/// A source, a directory for targets with a bystander in it, and what a run makes there.
struct Bench {
    _dir: tempfile::TempDir,
    source_dir: PathBuf,
    place: PathBuf,
    source: Source,
    /// `source_dir` before any run.
    untouched: Tree,
    /// `place` before any run.
    absent: Tree,
    /// `place` after a run.
    whole: Tree,
    /// Steps a run takes.
    steps: Vec<String>,
}

const CHILDREN: usize = 2;

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let (source_dir, place) = (dir.path().join("source"), dir.path().join("place"));
        linked::build_index(&source_dir, &[5, 3], &[1]);
        std::fs::create_dir_all(place.join("bystander")).unwrap();
        std::fs::write(place.join("bystander/file"), b"not ours").unwrap();
        let source = linked::open(&source_dir);
        let (untouched, absent) = (linked::tree(&source_dir), linked::tree(&place));
        let mut bench =
            Bench { _dir: dir, source_dir, place, source, untouched, absent, whole: Tree::new(), steps: Vec::new() };
        let fs = FaultyFs::counting();
        bench.run(&fs).unwrap();
        bench.steps = fs.steps();
        bench.whole = linked::tree(&bench.place);
        bench.clear();
        bench
    }

    fn out(&self) -> PathBuf {
        self.place.join("out")
    }

    fn run(&self, fs: &FaultyFs) -> shardsplit::Result<shardsplit::publish::Published> {
        let assignment = linked::assign(&self.source, CHILDREN, |segment, doc| (segment + doc as usize) % CHILDREN);
        linked::split(Arc::new(fs.clone()), &self.source, &assignment, &self.out())
    }

    fn clear(&self) {
        std::fs::remove_dir_all(self.out()).unwrap();
        assert_eq!(linked::tree(&self.place), self.absent);
    }

    /// Whether the target is whole; if not, it is absent.
    fn is_whole(&self, context: &str) -> bool {
        assert_eq!(linked::tree(&self.source_dir), self.untouched, "{context}: the source changed");
        let found = linked::tree(&self.place);
        let visible = |tree: &Tree| -> Tree {
            tree.iter()
                .filter(|(name, _)| !name.starts_with(".out.shardsplit"))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect()
        };
        let is_whole = self.out().exists();
        assert_eq!(&visible(&found), if is_whole { &self.whole } else { &self.absent }, "{context}");
        is_whole
    }

    /// Nothing but the target stands, if that; then a run from the start gives the same set.
    fn is_tidy(&self, context: &str) -> bool {
        let found = linked::tree(&self.place);
        let is_whole = self.is_whole(context);
        assert_eq!(&found, if is_whole { &self.whole } else { &self.absent }, "{context}: something was left");
        let again = self.run(&FaultyFs::counting());
        if is_whole {
            assert!(matches!(again, Err(Error::TargetExists { .. })), "{context}: {again:?}");
        } else {
            again.unwrap_or_else(|error| panic!("{context}: a second run failed: {error}"));
        }
        assert_eq!(linked::tree(&self.place), self.whole, "{context}: a second run differs");
        self.clear();
        is_whole
    }
}

fn recover_at(fs: &dyn FileSystem, out: &Path, context: &str) -> RecoverAction {
    let report = recover(fs, out).unwrap_or_else(|error| panic!("{context}: recover failed: {error}"));
    assert_eq!(report.unknown, Vec::<PathBuf>::new(), "{context}");
    assert_eq!(report.problems, Vec::<String>::new(), "{context}");
    report.action
}

/// Number of the only step that is this.
fn step(steps: &[String], what: &str) -> usize {
    let found: Vec<usize> = (0..steps.len()).filter(|&at| steps[at].contains(what)).collect();
    assert_eq!(found.len(), 1, "{what}: {steps:#?}");
    found[0]
}

#[test]
fn a_step_that_fails_leaves_nothing_or_the_whole_set() {
    let bench = Bench::new();
    let renamed = step(&bench.steps, "place/.out.shardsplit/children").max(0);
    let _ = renamed;
    for at in 0..bench.steps.len() {
        let context = format!("step {at} fails: {}", bench.steps[at]);
        let result = bench.run(&FaultyFs::new(at, Fault::Fail));
        let whole = bench.is_whole(&context);
        assert!(whole || result.is_err(), "{context}");
        if !whole {
            assert_eq!(linked::tree(&bench.place), bench.absent, "{context}: something was left");
        }
        let action = recover_at(&RealFs, &bench.out(), &context);
        let expected = [RecoverAction::NothingToDo, RecoverAction::RemovedLeftovers];
        assert!(expected.contains(&action), "{context}: {action:?}");
        assert_eq!(bench.is_tidy(&context), whole, "{context}");
    }
}
