//! Properties on cases that are drawn from numbers: every case has a number of its own, its seed, and can be repeated
//! alone.
//!
//! A run takes a random number and goes on from it, on all cores. A case that fails is shrunk and printed with its seed,
//! and the seed is added to `tests/known.seeds`; what stands there is tried before anything else.
//!
//! | variable | meaning |
//! |---|---|
//! | `SHARDSPLIT_CASES` | how many cases |
//! | `SHARDSPLIT_MINUTES` | as many cases as there is time for; tells every minute how many there were |
//! | `SHARDSPLIT_SEED` | seed of the first case |

use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseResult, TestError, TestRng, TestRunner};

use super::documents::Rng;

/// Draws cases and asserts that the property `holds` of each: `cases` of them, unless a variable says otherwise. `name` is
/// the test's, for `cargo test`.
pub fn check<S: Strategy>(
    name: &str,
    cases: u64,
    cases_of: impl Fn() -> S + Sync,
    holds: impl Fn(S::Value) -> TestCaseResult + Sync,
) {
    let begun = Instant::now();
    let given = variable("SHARDSPLIT_SEED");
    let minutes = variable("SHARDSPLIT_MINUTES").map(|minutes| Duration::from_secs(minutes * 60));
    let cases = variable("SHARDSPLIT_CASES").unwrap_or(if minutes.is_some() { u64::MAX } else { cases });
    let first = given.unwrap_or_else(random);
    // Without a trace in the numbers themselves, so that a case does not depend on which run it is in.
    let known = if given.is_some() { Vec::new() } else { known(name) };
    let seed_of =
        |case: u64| known.get(case as usize).copied().unwrap_or_else(|| first.wrapping_add(case - known.len() as u64));
    let cases = cases.saturating_add(known.len() as u64);

    let (next, told) = (AtomicU64::new(0), AtomicU64::new(0));
    let failure = Mutex::new(None);
    let work = || {
        let strategy = cases_of();
        loop {
            let case = next.fetch_add(1, Ordering::Relaxed);
            let elapsed = begun.elapsed();
            if case >= cases || minutes.is_some_and(|minutes| elapsed > minutes) || failure.lock().unwrap().is_some() {
                break;
            }
            let minute = elapsed.as_secs() / 60;
            if minutes.is_some() && told.fetch_max(minute, Ordering::Relaxed) < minute {
                tell(name, first, case, elapsed);
            }
            if let Err(error) = runner(seed_of(case)).run(&strategy, &holds) {
                failure.lock().unwrap().get_or_insert((seed_of(case), describe(&error)));
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (1..threads).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    let tried = next.load(Ordering::Relaxed).min(cases);
    if minutes.is_some() {
        tell(name, first, tried, begun.elapsed());
    }
    if let Some((seed, error)) = failure.into_inner().unwrap() {
        if !known.contains(&seed) {
            remember(name, seed);
        }
        panic!("{error}\nto repeat it: SHARDSPLIT_SEED={seed} SHARDSPLIT_CASES=1 cargo test --test all {name}");
    }
}

/// Draws the first case of each of `seeds`, for looking at what is drawn.
pub fn draw<S: Strategy>(strategy: &S, seeds: std::ops::Range<u64>) -> Vec<S::Value> {
    use proptest::strategy::ValueTree;
    seeds.map(|seed| strategy.new_tree(&mut runner(seed)).unwrap().current()).collect()
}

fn runner(seed: u64) -> TestRunner {
    let mut rng = Rng::new(seed);
    let bytes: Vec<u8> = (0..4).flat_map(|_| rng.next().to_le_bytes()).collect();
    let config = Config { cases: 1, max_shrink_iters: 100, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

fn describe<T: std::fmt::Debug>(error: &TestError<T>) -> String {
    match error {
        TestError::Abort(reason) => format!("no case could be drawn: {reason}"),
        TestError::Fail(reason, case) => format!("{reason}\nof {case:?}"),
    }
}

/// A number in an environment variable.
pub fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name}={value} is not a number")))
}

/// A seed that nobody chose.
pub fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    // Short enough to be copied by hand.
    RandomState::new().hash_one(0) >> 20
}

/// Past the harness, which keeps what a test prints until it ends.
fn tell(name: &str, first: u64, cases: u64, elapsed: Duration) {
    let line = format!("{name}: {cases} cases from seed {first} on, {} s\n", elapsed.as_secs());
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Lines of a test's name and a seed; `#` begins a comment.
const KNOWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/known.seeds");

fn known(name: &str) -> Vec<u64> {
    let text = std::fs::read_to_string(KNOWN).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split('#').next()?.trim().strip_prefix(name));
    lines.map(|seed| seed.trim().parse().unwrap_or_else(|_| panic!("{KNOWN}: {seed:?} is no seed"))).collect()
}

fn remember(name: &str, seed: u64) {
    let file = std::fs::OpenOptions::new().append(true).create(true).open(Path::new(KNOWN));
    let written = file.and_then(|mut file| writeln!(file, "{name} {seed}"));
    match written {
        Ok(()) => eprintln!("{KNOWN} has the seed now; keep it there once the fault is mended"),
        Err(error) => eprintln!("{KNOWN} could not be extended: {error}"),
    }
}
