//! Every step that a job, a second run and `recover` take on the file system fails, is where the process stops, or is
//! where the power is lost. What comes of it, by kind of step, is the fault table of `RELIABILITY.md`: it is made here,
//! and compared with what stands there.
//!
//! `SHARDSPLIT_WRITE_TABLE=1 cargo test --test all faults::steps` writes it anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use shardsplit::Error;
use shardsplit::job::{Change, IndexJob, Job};
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::publish::{Fault, FaultyFs, FileSystem, RecoverReport, recover};
use shardsplit::verify::VerifyLevel;

use super::reliability::{document, path_of_document};
use crate::common::files::tempdir;
use crate::linked::{self, patiently, tree};

type Tree = BTreeMap<String, String>;

/// What happens at a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mishap {
    Fails,
    Stops,
    LosesPower,
    UndoesRenames,
    HalfWrites,
}

const MISHAPS: [Mishap; 5] =
    [Mishap::Fails, Mishap::Stops, Mishap::LosesPower, Mishap::UndoesRenames, Mishap::HalfWrites];

impl Mishap {
    fn heading(self) -> &'static str {
        match self {
            Mishap::Fails => "it fails",
            Mishap::Stops => "the process ends before it",
            Mishap::LosesPower => "… and what was not synced is lost",
            Mishap::UndoesRenames => "… and renames are undone too",
            Mishap::HalfWrites => "… or is half written",
        }
    }

    fn fault(self) -> Fault {
        if self == Mishap::Fails { Fault::Fail } else { Fault::Stop }
    }

    fn afterwards(self, fs: &FaultyFs) {
        match self {
            Mishap::Fails | Mishap::Stops => {}
            Mishap::LosesPower => fs.lose_power(false).unwrap(),
            Mishap::UndoesRenames => fs.lose_power(true).unwrap(),
            Mishap::HalfWrites => fs.lose_power_halfway().unwrap(),
        }
    }
}

/// What is disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Rewrite,
    Link,
    SplitIndex,
    MergeIndex,
    CloneIndex,
    /// A second run, after one that was killed when one of two shards was finished.
    SecondRun,
    /// A second run, after one that was killed when all was sealed.
    SecondRunSealed,
    /// `recover`, after a run that was killed when it had written most.
    RecoverUnfinished,
    /// `recover`, after a run that was killed when all was sealed.
    RecoverSealed,
    /// `recover`, after a run that was killed when all was published.
    RecoverPublished,
}

const OPERATIONS: [Operation; 10] = [
    Operation::Rewrite,
    Operation::Link,
    Operation::SplitIndex,
    Operation::MergeIndex,
    Operation::CloneIndex,
    Operation::SecondRun,
    Operation::SecondRunSealed,
    Operation::RecoverUnfinished,
    Operation::RecoverSealed,
    Operation::RecoverPublished,
];

impl Operation {
    /// Which of the tables it is in.
    fn table(self) -> &'static str {
        match self {
            Operation::RecoverUnfinished | Operation::RecoverSealed | Operation::RecoverPublished => "recover",
            Operation::SecondRun | Operation::SecondRunSealed => "a second run",
            _ => "split, merge, clone",
        }
    }
}

/// Sources, and a place where one operation is disturbed.
struct Bench {
    dir: tempfile::TempDir,
    operation: Operation,
    sources: Tree,
    whole: Tree,
    /// Steps of the undisturbed run that an operation starts from, where it has one.
    first: Vec<String>,
}

impl Bench {
    fn new(operation: Operation) -> Bench {
        let dir = tempdir();
        let path = |name: &str| dir.path().join(name);
        linked::build_index(&path("sources/one"), &[5, 3], &[1]);
        Job { threads: 1, ..Job::new(path("sources/one"), path("sources/index"), 2, "id") }
            .run(&Silent, &Cancel::new())
            .unwrap();
        std::fs::create_dir(path("place")).unwrap();
        let mut bench = Bench { dir, operation, sources: Tree::new(), whole: Tree::new(), first: Vec::new() };
        let fs = FaultyFs::counting();
        bench.job(&fs).unwrap();
        // After a first run: lock files have appeared.
        bench.sources = tree(&bench.path("sources"));
        bench.first = fs.steps();
        bench.whole = tree(&bench.place());
        bench.clear();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn place(&self) -> PathBuf {
        self.path("place")
    }

    fn out(&self) -> PathBuf {
        self.path("place/out")
    }

    fn clear(&self) {
        std::fs::remove_dir_all(self.place()).unwrap();
        std::fs::create_dir(self.place()).unwrap();
    }

    /// The job, once no process that another test starts holds a lock of ours open any more.
    fn job(&self, fs: &FaultyFs) -> shardsplit::Result<()> {
        patiently(|| self.job_at_once(fs))
    }

    /// The job, from its beginning. One thread: steps come in one order. Verification takes none, and sets are compared byte by
    /// byte here.
    fn job_at_once(&self, fs: &FaultyFs) -> shardsplit::Result<()> {
        let (silent, cancel) = (&Silent, &Cancel::new());
        let fs: Arc<dyn FileSystem> = Arc::new(fs.clone());
        let (threads, verify) = (1, VerifyLevel::None);
        let (change, method) = match self.operation {
            Operation::Rewrite | Operation::Link | Operation::RecoverSealed => {
                let method = if self.operation == Operation::Link { Method::Link } else { Method::Rewrite };
                let job = Job::new(self.path("sources/one"), self.out(), 2, "id");
                let prepared = Job { method, threads, verify, ..job }.prepare_on(fs, silent, cancel)?;
                return prepared.execute(silent, cancel).map(drop);
            }
            Operation::MergeIndex => (Change::Merge { into: 1 }, Method::Rewrite),
            Operation::CloneIndex => (Change::Clone, Method::Link),
            _ => (Change::Split { into: 2, number_of_routing_shards: None }, Method::Rewrite),
        };
        let job = IndexJob::new(self.path("sources/index"), self.out(), change);
        let prepared = IndexJob { method, threads, verify, ..job }.prepare_on(fs, silent, cancel)?;
        prepared.execute(silent, cancel).map(drop)
    }

    /// What comes before the operation: the run that it follows, killed at a certain step.
    fn before(&self) -> FaultyFs {
        let position = |found: Option<usize>| found.expect("there is such a step");
        let publishing = position(self.first.iter().rposition(|step| step.starts_with("rename ")));
        let at = match self.operation {
            // The first file of the second shard's children.
            Operation::SecondRun => {
                position(self.first.iter().position(|step| step.starts_with("create ") && step.contains("children/2/")))
            }
            Operation::RecoverUnfinished => publishing - 8,
            Operation::SecondRunSealed | Operation::RecoverSealed => publishing,
            Operation::RecoverPublished => publishing + 2,
            _ => return FaultyFs::counting(),
        };
        let fs = FaultyFs::new(at, Fault::Stop);
        let _stopped = self.job(&fs);
        assert!(fs.is_stopped());
        fs.restarted(None)
    }

    /// What comes before, and the operation itself with a fault or none. Begins anew where a lock is held open by a process
    /// that another test starts: steps are counted.
    fn run(&self, fault: Option<(usize, Fault)>) -> (FaultyFs, shardsplit::Result<()>) {
        loop {
            let fs = self.before().restarted(fault);
            let result = match self.operation.table() {
                "recover" => recover(&fs, &self.out()).map(drop),
                _ => self.job_at_once(&fs),
            };
            if !matches!(result, Err(Error::StagingExists { live: true, .. })) {
                return (fs, result);
            }
            self.clear();
        }
    }

    fn recover(&self, fs: &FaultyFs) -> shardsplit::Result<RecoverReport> {
        patiently(|| recover(fs, &self.out()))
    }

    /// Whether the target is whole; if not, it is absent.
    fn is_whole(&self, context: &str) -> bool {
        assert_eq!(tree(&self.path("sources")), self.sources, "{context}: a source changed");
        let found: Tree = tree(&self.place()).into_iter().filter(|(name, _)| !name.starts_with(".out")).collect();
        let whole = self.out().exists();
        assert_eq!(found, if whole { self.whole.clone() } else { Tree::new() }, "{context}");
        whole
    }

    /// What comes of a mishap at a step. The place is free again afterwards.
    fn outcome(&self, at: usize, mishap: Mishap, context: &str) -> &'static str {
        let (fs, result) = self.run(Some((at, mishap.fault())));
        let was_there = self.is_whole(context);
        mishap.afterwards(&fs);
        let before = self.is_whole(context);
        assert!(before || !was_there || mishap == Mishap::UndoesRenames, "{context}: what was published is gone");
        assert!(before || result.is_err(), "{context}: nothing is there, and that was not said");
        let staged = self.path("place/.out.shardsplit").exists();

        // Half of the time the next run comes without `recover`, which must not matter.
        let again = FaultyFs::counting();
        if at % 2 == 1 && !before && self.operation.table() != "recover" {
            self.job(&again).unwrap_or_else(|error| panic!("{context}: the next run: {error}"));
            assert!(self.is_whole(context), "{context}: the next run made nothing");
            self.assert_tidy(context);
            self.clear();
            return if staged { "absent, made by the next run" } else { "absent" };
        }
        let report = self.recover(&again).unwrap_or_else(|error| panic!("{context}: recover: {error}"));
        assert_eq!(report.unknown, Vec::<PathBuf>::new(), "{context}");
        let after = self.is_whole(context);
        assert!(after || !before, "{context}: what was published is gone");
        self.assert_tidy(context);
        match self.job(&FaultyFs::counting()) {
            Ok(()) => assert!(!after, "{context}"),
            Err(Error::TargetExists { .. }) if after => {}
            Err(error) => panic!("{context}: a run after recover: {error}"),
        }
        assert_eq!(tree(&self.place()), self.whole, "{context}: another run differs");
        self.clear();
        match (before, after, staged) {
            (true, _, false) => "whole",
            (true, _, true) => "whole, tidied by `recover`",
            (false, true, _) => "absent, published by `recover`",
            (false, false, true) => "absent, removed by `recover`",
            (false, false, false) => "absent",
        }
    }

    fn assert_tidy(&self, context: &str) {
        assert!(!self.path("place/.out.shardsplit").exists(), "{context}: something was left");
    }

    /// `create a segment file`, of `create /…/place/.out.shardsplit/children/0/….store`.
    fn kind(&self, step: &str) -> String {
        let place = self.place().display().to_string();
        let (action, path) = step.split_once(&place).unwrap_or_else(|| panic!("{step} is elsewhere"));
        let path = path.trim_start_matches('/').trim_start_matches(".out.shardsplit").trim_start_matches('/');
        let parts: Vec<&str> = path.split('/').collect();
        let what = match parts.as_slice() {
            [""] if step.ends_with("place") => "the directory of the target",
            [""] => "the staging directory",
            ["lock"] => "the lock",
            ["staging.json" | "staging.json.partial"] => "the staging record",
            ["children"] if action.starts_with("rename") => "the set to the target",
            ["children"] => "the set",
            ["children", "shardsplit.json" | "shardsplit.json.partial"] => "the seal",
            ["children", "routing.json"] => "routing.json",
            ["children", _] => "a child",
            ["children", _, "meta.json"] => "meta.json of a child",
            ["children", _, ".managed.json"] => ".managed.json of a child",
            ["children", _, "shardsplit.json"] => "the manifest of a child",
            ["children", _, name] if name.ends_with(".hashes") => "a hash sidecar",
            ["children", _, name] if name.ends_with(".del") => "an alive bitset",
            ["children", _, name] => match name.rsplit_once('.').unwrap().1 {
                "term" | "idx" | "pos" | "fieldnorm" | "fast" | "store" => "a segment file",
                other => panic!("{other} in {step}"),
            },
            other => panic!("{other:?} in {step}"),
        };
        let action = action.trim().trim_end_matches(" directory");
        format!("{action} {what}")
    }
}

/// Table, kind of step, mishap, outcome.
type Outcomes = BTreeMap<(&'static str, String, Mishap, &'static str), u64>;

fn all_outcomes() -> Outcomes {
    let (outcomes, operations) = (Mutex::new(Outcomes::new()), Mutex::new(OPERATIONS.to_vec()));
    let work = || {
        while let Some(operation) = { operations.lock().unwrap().pop() } {
            let bench = Bench::new(operation);
            let (fs, result) = bench.run(None);
            result.unwrap();
            let steps = fs.steps();
            bench.clear();
            for (at, step) in steps.iter().enumerate() {
                for mishap in MISHAPS {
                    let context = format!("{operation:?}, step {at} of {}, {mishap:?}: {step}", steps.len());
                    let outcome = bench.outcome(at, mishap, &context);
                    let key = (operation.table(), bench.kind(step), mishap, outcome);
                    *outcomes.lock().unwrap().entry(key).or_default() += 1;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
    outcomes.into_inner().unwrap()
}

fn tables(outcomes: &Outcomes) -> String {
    let mut text = String::new();
    for table in ["split, merge, clone", "a second run", "recover"] {
        text.push_str(&format!("\n**Steps of {table}**\n\n| step | {} |\n", MISHAPS.map(Mishap::heading).join(" | ")));
        text.push_str(&format!("|---|{}\n", "---|".repeat(MISHAPS.len())));
        let mut kinds: Vec<&String> =
            outcomes.keys().filter(|(of, ..)| *of == table).map(|(_, kind, ..)| kind).collect();
        kinds.dedup();
        for kind in kinds {
            let cell = |mishap: Mishap| {
                let own =
                    outcomes.iter().filter(|((of, step, what, _), _)| *of == table && step == kind && *what == mishap);
                let own: Vec<String> = own.map(|((.., outcome), count)| format!("{outcome} {count}")).collect();
                own.join("; ")
            };
            let mut cells = MISHAPS.map(cell);
            for at in (1..cells.len()).rev() {
                if cells[at] == cells[at - 1] {
                    cells[at] = "the same".to_owned();
                }
            }
            text.push_str(&format!("| {kind} | {} |\n", cells.join(" | ")));
        }
    }
    text
}

const BEGIN: &str = "<!-- fault table: begin -->\n";
const END: &str = "\n<!-- fault table: end -->";

#[test]
fn every_step_is_whole_or_absent_whatever_befalls_it_and_the_table_says_so() {
    let found = tables(&all_outcomes());
    let text = document();
    let (head, rest) = text.split_once(BEGIN).expect("the table begins");
    let (table, tail) = rest.split_once(END).expect("the table ends");
    if std::env::var_os("SHARDSPLIT_WRITE_TABLE").is_some() {
        std::fs::write(path_of_document(), format!("{head}{BEGIN}{found}{END}{tail}")).unwrap();
        return;
    }
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (written, found) in lines(table).iter().zip(&lines(&found)) {
        assert_eq!(written, found, "SHARDSPLIT_WRITE_TABLE=1 writes the table anew");
    }
    assert_eq!(lines(table).len(), lines(&found).len(), "SHARDSPLIT_WRITE_TABLE=1 writes the table anew");
}

#[test]
fn a_path_outside_the_place_is_no_step_of_a_job() {
    let bench = Bench::new(Operation::Link);
    let inside = |step: &String| step.contains(&bench.place().display().to_string());
    assert!(bench.first.iter().all(inside), "{:?}", bench.first);
    let sources = |path: &Path| tree(path);
    assert_eq!(sources(&bench.path("sources")), bench.sources);
}
