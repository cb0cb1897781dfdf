//! The real program, killed and signalled at random moments, in the middle of everything it does.
//!
//! Dozens of times as a rule; `SHARDSPLIT_KILLS=500 cargo test --test all faults::kills -- --nocapture` for as many kills
//! as you like. `SHARDSPLIT_SEED` says when they come, as far as clocks are reliable.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::source;
use crate::common::documents::Rng;
use crate::common::files::tempdir;
use crate::common::seeds;
use crate::linked::tree;

type Tree = BTreeMap<String, String>;

/// What is run.
const JOBS: [&str; 4] = [
    "split -i source --into 5 --key id --out place/out",
    "split -i source --into 3 --key id --method link --out place/out",
    "split -i index --into 2 --out place/out",
    "merge -i index --into 1 --parallel 2 --out place/out",
];

struct Bench {
    dir: tempfile::TempDir,
    sources: Tree,
    rng: Rng,
    seed: u64,
    kills: u64,
}

impl Bench {
    fn new(dozens: u64) -> Bench {
        let dir = tempdir();
        source(&dir.path().join("source"), 3, 700);
        let seed = seeds::variable("SHARDSPLIT_SEED").unwrap_or_else(seeds::random);
        let kills = seeds::variable("SHARDSPLIT_KILLS").unwrap_or(dozens);
        let mut bench = Bench { dir, sources: Tree::new(), rng: Rng::new(seed), seed, kills };
        assert!(bench.run("split -i source --into 2 --key id --out index").status.success());
        // Lock files appear.
        for line in ["plan -i source --into 2 --key id --out no", "plan -i index --into 2 --out no"] {
            assert!(bench.run(line).status.success());
        }
        bench.sources = bench.sources_now();
        std::fs::create_dir(bench.path("place")).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn sources_now(&self) -> Tree {
        ["source", "index"].iter().flat_map(|name| tree(&self.path(name))).collect()
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shardsplit"));
        command.args(line.split_whitespace()).current_dir(self.dir.path()).env_remove("RUST_LOG");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// What the job makes undisturbed, and how long that takes.
    fn undisturbed(&self, line: &str) -> (Tree, Duration) {
        let begun = Instant::now();
        let ran = self.run(line);
        assert!(ran.status.success(), "{ran:?}");
        let (whole, takes) = (tree(&self.path("place/out")), begun.elapsed());
        std::fs::remove_dir_all(self.path("place/out")).unwrap();
        (whole, takes)
    }

    /// Sends a signal at a random moment within `takes`, and waits for the end.
    fn struck(&mut self, line: &str, signal: Signal, takes: Duration) -> Output {
        let mut child = self.command(line).spawn().unwrap();
        std::thread::sleep(takes.mul_f64(self.rng.below(1050) as f64 / 1000.0));
        if child.try_wait().unwrap().is_none() {
            kill_process(Pid::from_child(&child), signal).unwrap();
        }
        child.wait_with_output().unwrap()
    }

    /// Whether the target is whole; if not, it is absent.
    fn is_whole(&self, whole: &Tree, context: &str) -> bool {
        assert_eq!(self.sources_now(), self.sources, "{context}: a source changed");
        let out = self.path("place/out");
        if std::fs::symlink_metadata(&out).is_err() {
            return false;
        }
        assert_eq!(&tree(&out), whole, "{context}: half a set");
        true
    }

    fn names(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.path("place")).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    }

    /// Brings the place back to nothing: by `recover` or without it, and a run that makes the whole set.
    fn put_right(&mut self, line: &str, whole: &Tree, context: &str) {
        let stood = self.is_whole(whole, context);
        if stood || self.rng.below(2) == 0 {
            let ran = self.run("recover --out place/out");
            assert!(ran.status.success(), "{context}: {ran:?}");
            let stands = self.is_whole(whole, context);
            assert!(stands || !stood, "{context}: what was published is gone");
            let expected: &[&str] = if stands { &["out"] } else { &[] };
            assert_eq!(self.names(), expected, "{context}: recover left something");
        }
        let stands = self.is_whole(whole, context);
        let ran = self.run(line);
        assert_eq!(ran.status.code(), Some(if stands { 5 } else { 0 }), "{context}: the next run: {ran:?}");
        assert!(self.is_whole(whole, context), "{context}");
        assert_eq!(self.names(), ["out"], "{context}: the next run left something");
        std::fs::remove_dir_all(self.path("place/out")).unwrap();
    }
}

fn tell(what: &str, seed: u64, counts: &BTreeMap<&str, u64>) {
    println!("{what}, seed {seed}: {counts:?}");
}

#[test]
fn a_program_that_is_killed_at_any_moment_leaves_the_whole_set_or_none_of_it() {
    let mut bench = Bench::new(48);
    let mut counts = BTreeMap::new();
    for line in JOBS {
        let (whole, takes) = bench.undisturbed(line);
        for nth in 0..bench.kills / JOBS.len() as u64 {
            let context = format!("{line}, seed {}, kill {nth}", bench.seed);
            let ran = bench.struck(line, Signal::KILL, takes);
            assert!(matches!(ran.status.code(), None | Some(0)), "{context}: {ran:?}");
            let what = match (bench.path("place/out").exists(), bench.path("place/.out.shardsplit").exists()) {
                (false, false) => "nothing stood",
                (false, true) => "staged",
                (true, true) => "published, not tidied up",
                (true, false) => "published",
            };
            *counts.entry(what).or_default() += 1;
            bench.put_right(line, &whole, &context);
        }
    }
    tell("kill -9", bench.seed, &counts);
    assert!(counts.get("staged").is_some_and(|&count| count > 0), "no kill came in the middle: {counts:?}");
}

#[test]
fn a_recovery_that_is_killed_at_any_moment_is_finished_by_the_next() {
    let mut bench = Bench::new(24);
    let mut counts = BTreeMap::new();
    for line in [JOBS[0], JOBS[2]] {
        let (whole, takes) = bench.undisturbed(line);
        let mut kills = 0;
        while kills < bench.kills / 2 {
            let context = format!("{line}, seed {}, kill {kills}", bench.seed);
            bench.struck(line, Signal::KILL, takes);
            let mut stood = bench.is_whole(&whole, &context);
            for _ in 0..3 {
                let ran = bench.struck("recover --out place/out", Signal::KILL, Duration::from_millis(12));
                assert!(matches!(ran.status.code(), None | Some(0)), "{context}: {ran:?}");
                *counts.entry(if ran.status.code().is_some() { "came too late" } else { "killed" }).or_default() += 1;
                let stands = bench.is_whole(&whole, &context);
                assert!(stands || !stood, "{context}: what was published is gone");
                stood = stands;
                kills += 1;
            }
            bench.put_right(line, &whole, &context);
        }
    }
    tell("kill -9 of recover", bench.seed, &counts);
    assert!(counts.get("killed").is_some_and(|&count| count > 0), "no kill came in the middle: {counts:?}");
}

#[test]
fn a_program_that_is_asked_to_stop_says_130_and_leaves_nothing_half_made() {
    let mut bench = Bench::new(24);
    let mut counts = BTreeMap::new();
    for line in JOBS {
        let (whole, takes) = bench.undisturbed(line);
        for nth in 0..bench.kills / JOBS.len() as u64 {
            let signal = if nth % 2 == 0 { Signal::INT } else { Signal::TERM };
            let context = format!("{line}, seed {}, {signal:?} {nth}", bench.seed);
            let ran = bench.struck(line, signal, takes);
            let what = match ran.status.code() {
                Some(130) => "interrupted",
                Some(0) => "came too late",
                // Before the program listens to signals it has made nothing.
                None => "ended by the signal",
                Some(code) => panic!("{context}: exit code {code}: {ran:?}"),
            };
            *counts.entry(what).or_default() += 1;
            let stands = bench.is_whole(&whole, &context);
            assert_eq!(stands, what == "came too late", "{context}");
            let expected: &[&str] = if stands { &["out"] } else { &[] };
            assert_eq!(bench.names(), expected, "{context}: something was left");
            if stands {
                std::fs::remove_dir_all(bench.path("place/out")).unwrap();
            }
        }
    }
    tell("signals", bench.seed, &counts);
    assert!(counts.get("interrupted").is_some_and(|&count| count > 0), "no signal came in the middle: {counts:?}");
}
