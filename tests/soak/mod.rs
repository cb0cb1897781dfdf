//! A soak: any index, any job, and something that goes wrong in the middle of it, over and over.
//!
//! A case is drawn from its seed: an index (schema, documents, deletes, merges, settings), a job (a shard or a whole index;
//! rewritten or linked; routed by formula, slots, a ring, or without a key), and a handful of faults that befall it one
//! after the other: a step of the file system that fails, a process that stops there, lost power, or the real program
//! under `kill -9` and signals, `recover` too. After each of them
//!
//! - what stands at the target is byte by byte what the job makes undisturbed, or nothing;
//! - the source is as it was, every file of it;
//! - `recover` leads to one of the two and leaves nothing beside it, and a second run, with or without `recover` before it,
//!   to the first of the two.
//!
//! Undisturbed children are compared with the source and with their documents indexed anew, by tantivy's own reader.
//! A case that fails is named by its seed and does not stop the others. Kills come at random moments, so that a seed
//! repeats the case and not always the failure.
//!
//! | variable | meaning |
//! |---|---|
//! | `SHARDSPLIT_MINUTES` | how long; 1 unless said |
//! | `SHARDSPLIT_SEED` | seed of the first case |
//! | `SHARDSPLIT_CASES` | how many cases, however long they take |

mod case;
mod fault;

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::common::seeds;

/// What happened how often: job, fault, outcome.
type Counts = BTreeMap<(String, String, String), u64>;

#[derive(Default)]
struct Tally {
    counts: Mutex<Counts>,
    sources: AtomicU64,
    documents: AtomicU64,
    faults: AtomicU64,
    failed: Mutex<Vec<u64>>,
}

impl Tally {
    fn count(&self, job: &str, fault: &str, outcome: &str) {
        self.faults.fetch_add(1, Ordering::Relaxed);
        let key = (job.to_owned(), fault.to_owned(), outcome.to_owned());
        *self.counts.lock().unwrap().entry(key).or_default() += 1;
    }

    fn line(&self, first: u64, begun: Instant) -> String {
        let [sources, documents, faults] = [&self.sources, &self.documents, &self.faults];
        let [sources, documents, faults] = [sources, documents, faults].map(|count| count.load(Ordering::Relaxed));
        let (failed, seconds) = (self.failed.lock().unwrap().len(), begun.elapsed().as_secs());
        format!(
            "soak from seed {first} on, {seconds} s: {sources} indexes, {documents} documents, {faults} faults, {failed} \
             failed cases"
        )
    }

    /// Counts of jobs by kind of fault, then of outcomes by kind of fault.
    fn table(&self) -> String {
        let counts = self.counts.lock().unwrap();
        let mut sums: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for ((job, fault, outcome), count) in counts.iter() {
            *sums.entry((fault, job)).or_default() += count;
            *sums.entry((fault, outcome)).or_default() += count;
        }
        let column = |pick: fn(&(String, String, String)) -> &str| {
            let mut names: Vec<&str> = counts.keys().map(pick).collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        let faults = column(|(_, fault, _)| fault);
        let mut table = String::new();
        for columns in [column(|(job, ..)| job), column(|(.., outcome)| outcome)] {
            table.push_str(&format!("\n| fault | {} |\n|---|{}\n", columns.join(" | "), "---:|".repeat(columns.len())));
            for fault in &faults {
                let cells = columns.iter().map(|name| sums.get(&(*fault, *name)).copied().unwrap_or(0).to_string());
                table.push_str(&format!("| {fault} | {} |\n", cells.collect::<Vec<_>>().join(" | ")));
            }
        }
        table
    }
}

/// Past the harness, which keeps what a test prints until it ends.
fn tell(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

#[test]
#[ignore = "as long as is asked for: SHARDSPLIT_MINUTES=60 cargo test --test all -- --ignored --nocapture soak::"]
fn whatever_goes_wrong_nothing_is_lost_and_nothing_is_half_made() {
    let begun = Instant::now();
    let first = seeds::variable("SHARDSPLIT_SEED").unwrap_or_else(seeds::random);
    let cases = seeds::variable("SHARDSPLIT_CASES");
    let minutes = seeds::variable("SHARDSPLIT_MINUTES").unwrap_or(1);
    let tally = Tally::default();
    let (next, told) = (AtomicU64::new(0), AtomicU64::new(0));
    tell(&format!("soak from seed {first} on\n"));
    let work = || {
        loop {
            let case = next.fetch_add(1, Ordering::Relaxed);
            let elapsed = begun.elapsed();
            let over = cases.map_or(elapsed > Duration::from_secs(minutes * 60), |cases| case >= cases);
            if over {
                break;
            }
            let minute = elapsed.as_secs() / 60;
            if told.fetch_max(minute, Ordering::Relaxed) < minute {
                tell(&format!("{}\n", tally.line(first, begun)));
            }
            let seed = first.wrapping_add(case);
            if catch_unwind(AssertUnwindSafe(|| case::run(seed, &tally))).is_err() {
                tally.failed.lock().unwrap().push(seed);
                tell(&format!("FAILED: SHARDSPLIT_SEED={seed} SHARDSPLIT_CASES=1\n"));
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        (1..threads).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    tell(&format!("{}\n{}", tally.line(first, begun), tally.table()));
    let failed = tally.failed.into_inner().unwrap();
    assert!(failed.is_empty(), "failed: seeds {failed:?}");
}

#[test]
fn a_few_indexes_go_through_every_kind_of_fault() {
    let tally = Tally::default();
    // Seeds that draw every kind of job between them; kills come at random moments all the same.
    for seed in 0..case::KINDS {
        case::run(seed, &tally);
    }
    let counts = tally.counts.into_inner().unwrap();
    let jobs: std::collections::BTreeSet<&str> = counts.keys().map(|(job, ..)| job.as_str()).collect();
    assert!(jobs.len() >= 8, "{jobs:?}");
    let faults: std::collections::BTreeSet<&str> = counts.keys().map(|(_, fault, _)| fault.as_str()).collect();
    assert_eq!(faults.len(), fault::KINDS, "{faults:?}");
}
