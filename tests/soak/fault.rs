//! What goes wrong, and what must be true afterwards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use shardsplit::Error;
use shardsplit::publish::{Fault, FaultyFs, FileSystem, RealFs, RecoverReport, recover};
use std::sync::Arc;

use super::case::{Task, tree};
use crate::common::documents::Rng;

/// What befalls a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A step of the file system fails.
    Error,
    /// The process stops at a step.
    Stop,
    /// The power fails at a step, and whatever was not synced is lost.
    Power,
    /// The same, and renames that were not synced are undone.
    Renames,
    /// The power fails at a step, and files are half written.
    Halves,
    /// `kill -9` of the program.
    Kill,
    /// `kill -9` of the program, then twice of `recover` or another run.
    KillRecover,
    /// SIGINT to the program.
    Interrupt,
    /// SIGTERM to the program.
    Terminate,
}

const ALL: [Kind; KINDS] = [
    Kind::Error,
    Kind::Stop,
    Kind::Power,
    Kind::Renames,
    Kind::Halves,
    Kind::Kill,
    Kind::KillRecover,
    Kind::Interrupt,
    Kind::Terminate,
];

/// How many there are.
pub const KINDS: usize = 9;

/// Faults for one index: many of those that cost little, and all kinds over neighbouring seeds.
pub fn some_of(rng: &mut Rng, seed: u64) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = (0..6).map(|_| rng.pick(&ALL)).collect();
    kinds.push(ALL[usize::try_from(seed % KINDS as u64).unwrap()]);
    kinds
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Error => "a step fails",
            Kind::Stop => "stopped at a step",
            Kind::Power => "power lost, unsynced gone",
            Kind::Renames => "power lost, renames undone",
            Kind::Halves => "power lost, half written",
            Kind::Kill => "kill -9",
            Kind::KillRecover => "kill -9, also of what follows",
            Kind::Interrupt => "SIGINT",
            Kind::Terminate => "SIGTERM",
        }
    }
}

type Tree = BTreeMap<String, String>;

/// A job, what it makes undisturbed, and a place to disturb it in.
pub struct Bench {
    base: PathBuf,
    place: PathBuf,
    task: Task,
    plan: PathBuf,
    /// Where the undisturbed children stand.
    pub undisturbed: PathBuf,
    whole: Tree,
    sources: Vec<(PathBuf, Tree)>,
    steps: u64,
    /// How long the program takes.
    takes: Duration,
}

impl Bench {
    /// Runs `task` undisturbed: the program, and once more with steps counted.
    pub fn new(base: &Path, task: &Task) -> Bench {
        let path = |name: &str| base.join(name);
        for name in ["undisturbed", "counted", "place"] {
            std::fs::create_dir(path(name)).unwrap();
        }
        let sources = ["source", "one"].map(path).into_iter().filter(|dir| dir.exists());
        let sources: Vec<(PathBuf, Tree)> = sources.map(|dir| (dir.clone(), tree(&dir))).collect();
        let undisturbed = path("undisturbed/out");
        task.to(&undisturbed).save(&path("undisturbed/plan"));
        let begun = Instant::now();
        let ran = program(&["split", "--plan"], &path("undisturbed/plan")).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        let takes = begun.elapsed();

        let counted = task.to(&path("counted/out"));
        let fs = FaultyFs::counting();
        counted.run_on(Arc::new(fs.clone())).unwrap();
        let whole = tree(&undisturbed);
        assert_eq!(tree(counted.out()), whole, "the same job gave other bytes");
        std::fs::remove_dir_all(counted.out()).unwrap();

        let (place, plan) = (path("place"), path("plan"));
        let task = task.to(&place.join("out"));
        task.save(&plan);
        let steps = fs.steps().len() as u64;
        let bench = Bench { base: base.to_owned(), place, task, plan, undisturbed, whole, sources, steps, takes };
        bench.check_sources("undisturbed");
        bench
    }

    fn check_sources(&self, context: &str) {
        for (dir, untouched) in &self.sources {
            assert_eq!(&tree(dir), untouched, "{context}: {} changed", dir.display());
        }
        assert_eq!(tree(&self.undisturbed), self.whole, "{context}: another set changed");
    }

    /// Whether the target is whole; if not, it is absent.
    fn is_whole(&self, context: &str) -> bool {
        self.check_sources(context);
        let out = self.task.out();
        if std::fs::symlink_metadata(out).is_err() {
            return false;
        }
        assert_eq!(tree(out), self.whole, "{context}: half a set stands at the target");
        true
    }

    fn staging(&self) -> PathBuf {
        self.place.join(".out.shardsplit")
    }

    fn names(&self) -> Vec<String> {
        let names = std::fs::read_dir(&self.place).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }

    fn split(&self) -> Command {
        program(&["split", "--plan"], &self.plan)
    }

    fn recover(&self) -> Command {
        program(&["recover", "--out"], self.task.out())
    }
}

fn program(args: &[&str], last: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shardsplit"));
    command.args(args).arg(last).arg("--json").env_remove("RUST_LOG");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Lets it befall a run, sees what it leads to, and returns that in a few words. The place is free again afterwards.
pub fn befall(bench: &Bench, kind: Kind, rng: &mut Rng) -> &'static str {
    let context = match kind {
        Kind::Error | Kind::Stop | Kind::Power | Kind::Renames | Kind::Halves => in_process(bench, kind, rng),
        _ => to_the_program(bench, kind, rng),
    };
    let context = format!("{} of {}: {context}", kind.name(), bench.base.display());
    let before = bench.is_whole(&context);
    let staged = bench.staging().exists();

    if !before && rng.below(3) == 0 {
        // The next run takes up what it finds, or begins anew.
        second_run(bench, false, rng.below(3) == 0, &context);
        std::fs::remove_dir_all(bench.task.out()).unwrap();
        return if staged { "the next run took over" } else { "nothing was left" };
    }
    let by_program = rng.below(4) == 0;
    if by_program {
        let ran = patiently(|| bench.recover().output().unwrap());
        assert!(ran.status.success(), "{context}: recover: {ran:?}");
    } else {
        let report = recovered(bench, &RealFs).unwrap_or_else(|error| panic!("{context}: recover: {error}"));
        assert!(report.unknown.is_empty(), "{context}: {report:?}");
        assert!(report.problems.is_empty() || kind == Kind::Halves || kind == Kind::Power, "{context}: {report:?}");
    }
    let after = bench.is_whole(&context);
    assert!(after || !before || kind == Kind::Renames, "{context}: what was published is gone");
    let expected: &[&str] = if after { &["out"] } else { &[] };
    assert_eq!(bench.names(), expected, "{context}: recover left something");

    second_run(bench, after, rng.below(4) == 0, &context);
    std::fs::remove_dir_all(bench.task.out()).unwrap();
    match (before, after, staged) {
        (true, true, false) => "published",
        (true, true, true) => "published, recover tidied up",
        (false, true, _) => "recover published",
        (false, false, true) => "recover removed it",
        (false, false, false) => "nothing was left",
        (true, false, _) => "publishing undone",
    }
}

/// Finds the target taken, or makes what it makes undisturbed.
fn second_run(bench: &Bench, whole: bool, by_program: bool, context: &str) {
    if by_program {
        let ran = patiently(|| bench.split().output().unwrap());
        assert_eq!(ran.status.code(), Some(if whole { 5 } else { 0 }), "{context}: second run: {ran:?}");
    } else {
        match run_again(bench, Arc::new(RealFs)) {
            Ok(()) if !whole => {}
            Err(Error::TargetExists { .. }) if whole => {}
            other => panic!("{context}: second run: {other:?}"),
        }
    }
    assert!(bench.is_whole(context), "{context}: a second run made nothing");
    assert_eq!(bench.names(), ["out"], "{context}: a second run left something");
}

fn in_process(bench: &Bench, kind: Kind, rng: &mut Rng) -> String {
    let at = rng.below(bench.steps + 1);
    let fault = if kind == Kind::Error { Fault::Fail } else { Fault::Stop };
    let power = |fs: &FaultyFs| match kind {
        Kind::Power => fs.lose_power(false).unwrap(),
        Kind::Renames => fs.lose_power(true).unwrap(),
        Kind::Halves => fs.lose_power_halfway().unwrap(),
        _ => {}
    };
    let mut fs = FaultyFs::new(usize::try_from(at).unwrap(), fault);
    let result = bench.task.run_on(Arc::new(fs.clone()));
    let mut context = format!("step {at} of {}, {:?}", bench.steps, result.err().map(|error| error.one_line()));
    let recoveries = if rng.below(2) == 0 { rng.below(3) } else { 0 };
    for _ in 0..recoveries {
        // It goes wrong again while that is being put right.
        let by_recover = rng.below(2) == 0;
        let (what, at) = if by_recover { ("recover", rng.below(40)) } else { ("the next run", rng.below(bench.steps)) };
        fs = fs.restarted(Some((usize::try_from(at).unwrap(), fault)));
        let result = if by_recover { recovered(bench, &fs).map(drop) } else { run_again(bench, Arc::new(fs.clone())) };
        context.push_str(&format!("; step {at} of {what}, {:?}", result.err().map(|error| error.one_line())));
        bench.is_whole(&context);
    }
    power(&fs);
    context
}

fn recovered(bench: &Bench, fs: &dyn FileSystem) -> shardsplit::Result<RecoverReport> {
    let begun = Instant::now();
    loop {
        match recover(fs, bench.task.out()) {
            // A process that is just being started holds all files of ours open for a moment.
            Err(Error::StagingExists { live: true, .. }) if begun.elapsed() < Duration::from_secs(20) => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

/// Runs the job once more.
fn run_again(bench: &Bench, fs: Arc<dyn FileSystem>) -> shardsplit::Result<()> {
    let begun = Instant::now();
    loop {
        match bench.task.run_on(Arc::clone(&fs)) {
            Err(Error::StagingExists { live: true, .. }) if begun.elapsed() < Duration::from_secs(20) => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

fn to_the_program(bench: &Bench, kind: Kind, rng: &mut Rng) -> String {
    let signal = match kind {
        Kind::Interrupt => Signal::INT,
        Kind::Terminate => Signal::TERM,
        _ => Signal::KILL,
    };
    let takes = bench.takes;
    let (ran, after) = struck(bench.split(), signal, takes, rng);
    let mut context = format!("after {after:?} of {takes:?}: {ran:?}");
    match ran.status.code() {
        Some(0) => assert!(bench.is_whole(&context), "{context}: done, and nothing stands there"),
        Some(130) => {
            assert!(signal != Signal::KILL, "{context}");
            assert!(bench.names().is_empty(), "{context}: an interrupted run left something");
        }
        Some(code) => panic!("exit code {code}, {context}"),
        // A signal that comes before it is listened to finds nothing made.
        None => assert!(signal == Signal::KILL || bench.names().is_empty(), "{context}: left something"),
    }
    if kind == Kind::KillRecover {
        for _ in 0..2 {
            let stood = bench.is_whole(&context);
            let (what, command, takes) = match rng.below(2) {
                0 => ("recover", bench.recover(), Duration::from_millis(15)),
                _ => ("the next run", bench.split(), takes),
            };
            let (ran, after) = struck(command, Signal::KILL, takes, rng);
            let live = String::from_utf8_lossy(&ran.stderr).contains("still holds its lock");
            let expected = matches!(ran.status.code(), None | Some(0)) || live || stood && ran.status.code() == Some(5);
            assert!(expected, "{context}: {what}: {ran:?}");
            context.push_str(&format!("; {what} struck after {after:?}"));
        }
    }
    context
}

/// Sends a signal at a random moment, and waits for the end.
fn struck(mut command: Command, signal: Signal, takes: Duration, rng: &mut Rng) -> (Output, Duration) {
    let mut child = command.spawn().unwrap();
    let after = takes.mul_f64(rng.below(1100) as f64 / 1000.0);
    std::thread::sleep(after);
    if child.try_wait().unwrap().is_none() {
        kill_process(Pid::from_child(&child), signal).unwrap();
    }
    (ended(child), after)
}

fn ended(mut child: Child) -> Output {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(300) {
            let _ = child.kill();
            panic!("the program hangs");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.wait_with_output().unwrap()
}

/// Again while a lock of a process that is being started is in the way.
fn patiently(mut run: impl FnMut() -> Output) -> Output {
    let begun = Instant::now();
    loop {
        let ran = run();
        let live = String::from_utf8_lossy(&ran.stderr).contains("still holds its lock");
        if !live || begun.elapsed() > Duration::from_secs(20) {
            return ran;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
