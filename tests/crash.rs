//! A run is failed, killed, or loses its power at every single step, and so is `recover`: the target is whole or absent,
//! nothing else changes, `recover` tidies up, and a second run succeeds.

use crate::linked;
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
        let assignment = linked::assign(&self.source, CHILDREN, |n| n as usize % CHILDREN);
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
    let report =
        linked::patiently(|| recover(fs, out)).unwrap_or_else(|error| panic!("{context}: recover failed: {error}"));
    assert_eq!(report.unknown, Vec::<PathBuf>::new(), "{context}");
    assert_eq!(report.problems, Vec::<String>::new(), "{context}");
    report.action
}

/// Number of the step that publishes: the last rename.
fn publishing(steps: &[String]) -> usize {
    steps.iter().rposition(|step| step.starts_with("rename ")).unwrap()
}

#[test]
fn a_step_that_fails_leaves_nothing_or_the_whole_set() {
    let bench = Bench::new();
    let publishing = publishing(&bench.steps);
    for at in 0..bench.steps.len() {
        let context = format!("step {at} fails: {}", bench.steps[at]);
        let result = bench.run(&FaultyFs::new(at, Fault::Fail));
        let whole = bench.is_whole(&context);
        assert_eq!(whole, at > publishing, "{context}");
        if at == publishing + 1 {
            // Whole, but perhaps not durable: that must be said.
            assert!(matches!(result, Err(Error::Io { operation: "sync", .. })), "{context}: {result:?}");
        } else if whole {
            assert_eq!(result.unwrap().notes.len(), 1, "{context}: leftovers are noted");
        } else {
            assert!(result.is_err(), "{context}");
            // The directory of another owner, or of nobody: without the lock it is not this run's to empty.
            let staged = bench.place.join(".out.shardsplit").exists();
            assert!(!staged, "{context}: something was left");
        }
        let expected = if whole { RecoverAction::RemovedLeftovers } else { RecoverAction::NothingToDo };
        assert_eq!(recover_at(&RealFs, &bench.out(), &context), expected, "{context}");
        assert_eq!(bench.is_tidy(&context), whole, "{context}");
    }
}

#[test]
fn a_run_that_is_killed_is_finished_or_removed() {
    let bench = Bench::new();
    let publishing = publishing(&bench.steps);
    // The seal is the rename before; the sync of its directory stands between the two.
    let sealed = publishing - 1;
    assert!(bench.steps[sealed - 1].starts_with("rename "), "{:?}", bench.steps);
    for at in 0..bench.steps.len() {
        let context = format!("killed at step {at}: {}", bench.steps[at]);
        let fs = FaultyFs::new(at, Fault::Stop);
        let result = bench.run(&fs);
        assert!(fs.is_stopped(), "{context}");
        assert_eq!(bench.is_whole(&context), at > publishing, "{context}");
        assert_eq!(result.is_err(), at <= publishing + 1, "{context}: {result:?}");
        let expected = match at {
            0 => RecoverAction::NothingToDo,
            at if at < sealed => RecoverAction::RemovedUnfinished,
            at if at <= publishing => RecoverAction::Published,
            _ => RecoverAction::RemovedLeftovers,
        };
        assert_eq!(recover_at(&RealFs, &bench.out(), &context), expected, "{context}");
        assert_eq!(bench.is_tidy(&context), at >= sealed, "{context}");
    }
}

#[test]
fn a_run_that_loses_its_power_is_finished_or_removed() {
    let bench = Bench::new();
    let publishing = publishing(&bench.steps);
    for at in 0..bench.steps.len() {
        for undo_renames in [false, true] {
            let context = format!("power lost at step {at}, renames undone: {undo_renames}: {}", bench.steps[at]);
            let fs = FaultyFs::new(at, Fault::Stop);
            let _stopped = bench.run(&fs);
            fs.lose_power(undo_renames).unwrap();
            let whole = bench.is_whole(&context);
            if !undo_renames {
                assert_eq!(whole, at > publishing, "{context}");
            }
            recover_at(&FaultyFs::counting(), &bench.out(), &context);
            let whole = bench.is_tidy(&context);
            // Once the seal was synced nothing is lost any more.
            assert!(whole || at < publishing, "{context}");
        }
    }
}

#[test]
fn a_recovery_that_is_interrupted_is_finished_by_the_next() {
    let bench = Bench::new();
    let publishing = publishing(&bench.steps);
    // Killed while files are written, with the seal half written, not synced, synced, just published, and while tidying up.
    for at in [
        1,
        2,
        3,
        publishing / 2,
        publishing - 3,
        publishing - 2,
        publishing - 1,
        publishing,
        publishing + 1,
        publishing + 3,
    ] {
        let faults = [(Fault::Fail, None), (Fault::Stop, None), (Fault::Stop, Some(false)), (Fault::Stop, Some(true))];
        for (fault, power) in faults {
            for recovery in 0.. {
                let context = format!("killed at {at}, recovery step {recovery}: {fault:?}, power {power:?}");
                let killed = FaultyFs::new(at, Fault::Stop);
                let _stopped = bench.run(&killed);
                let before = bench.is_whole(&context);
                let fs = killed.restarted(Some((recovery, fault)));
                let result = recover(&fs, &bench.out());
                if let Some(undo_renames) = power {
                    fs.lose_power(undo_renames).unwrap();
                }
                let after = bench.is_whole(&context);
                // A rename that was not synced before the crash may be undone; then the set is sealed again.
                assert!(after || !before || power == Some(true), "{context}: what was published is gone");
                recover_at(&FaultyFs::counting(), &bench.out(), &context);
                let whole = bench.is_tidy(&context);
                match power {
                    // The name of the seal was not synced when the run was killed there.
                    Some(_) if at == publishing - 1 => {}
                    _ => assert_eq!(whole, at >= publishing - 1, "{context}"),
                }
                if result.is_ok() {
                    assert!(recovery > 0, "{context}: no step was taken");
                    break;
                }
            }
        }
    }
}

#[test]
fn a_run_that_still_goes_on_is_left_alone() {
    let bench = Bench::new();
    let assignment = linked::assign(&bench.source, CHILDREN, |_| 0);
    let (staging, ..) = linked::stage(Arc::new(RealFs), &bench.source, &assignment, &bench.out()).unwrap();
    let before = linked::tree(&bench.place);
    let refused = recover(&RealFs, &bench.out());
    assert!(matches!(refused, Err(Error::StagingExists { live: true, .. })), "{refused:?}");
    let second = bench.run(&FaultyFs::counting());
    assert!(matches!(second, Err(Error::StagingExists { live: true, .. })), "{second:?}");
    assert_eq!(linked::tree(&bench.place), before);
    drop(staging);
    assert_eq!(linked::tree(&bench.place), bench.absent, "dropped means removed");
}

#[test]
fn a_run_that_was_killed_stands_in_the_way_of_another_job_until_it_is_recovered() {
    let bench = Bench::new();
    let _stopped = bench.run(&FaultyFs::new(bench.steps.len() / 2, Fault::Stop));
    let before = linked::tree(&bench.place);
    let other = linked::assign(&bench.source, CHILDREN, |n| (n as usize + 1) % CHILDREN);
    let split = || linked::split(Arc::new(FaultyFs::counting()), &bench.source, &other, &bench.out());
    let second = linked::patiently(split);
    assert!(matches!(second, Err(Error::StagingExists { live: false, .. })), "{second:?}");
    assert_eq!(linked::tree(&bench.place), before);
    recover_at(&RealFs, &bench.out(), "another job");
    assert!(split().is_ok());
}
