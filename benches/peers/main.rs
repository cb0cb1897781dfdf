//! Whole jobs against peers, on one corpus, alternating: our rewrite and link, `verify`, k × tantivy's
//! `merge_filtered_segments` over all cores, and a copy with sync of what the rewrite wrote.
//!
//! ```text
//! cargo bench --bench peers -- --docs 1000000 --children 2,8,32 --segments 8 --runs 3
//! ```
//!
//! Prints medians: CPU and wall seconds, peak anonymous memory, bytes, documents and megabytes per second, and the ratios
//! to our rewrite; then the same as one JSON object per line. The corpus is made once and kept under `target/`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a bench stops where it fails")]
#![allow(clippy::cast_possible_truncation, clippy::panic, missing_docs, reason = "no library code")]

mod corpus;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use shardsplit::job::Job;
use shardsplit::partition::{KeyPolicies, KeySpec, assign};
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::route::{SplitRouting, SplitSpec};
use shardsplit::source::{LockMode, Source};
use shardsplit::verify::{Ownership, VerifyJob, VerifyLevel, verify};
use tantivy::directory::MmapDirectory;
use tantivy::fastfield::AliveBitSet;
use tantivy::indexer::merge_filtered_segments;
use tantivy_common::{BitSet, ReadOnlyBitSet};

struct Options {
    docs: u64,
    segments: u64,
    children: Vec<u32>,
    runs: usize,
    threads: usize,
    peers: bool,
}

impl Options {
    fn parse() -> Options {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut options = Options { docs: 20_000, segments: 4, children: vec![8], runs: 3, threads, peers: true };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut value = || args.next().unwrap_or_else(|| panic!("{arg} needs a value"));
            match arg.as_str() {
                "--docs" => options.docs = value().parse().unwrap(),
                "--segments" => options.segments = value().parse().unwrap(),
                "--children" => options.children = value().split(',').map(|k| k.parse().unwrap()).collect(),
                "--runs" => options.runs = value().parse().unwrap(),
                "--threads" => options.threads = value().parse().unwrap(),
                "--ours-only" => options.peers = false,
                // cargo passes it.
                "--bench" => {}
                _ => panic!("unknown option {arg}; known: --docs --segments --children --runs --threads --ours-only"),
            }
        }
        options
    }
}

/// What a run took.
#[derive(Clone, Copy, Debug)]
struct Cost {
    wall: f64,
    cpu: f64,
    peak_anonymous: u64,
    bytes: u64,
}

fn main() {
    let options = Options::parse();
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/bench-corpora");
    let shape = corpus::Shape::reference(options.docs);
    let source = target.join(format!("reference-{}-{}", options.docs, options.segments));
    corpus::build(&source, &shape, options.segments);
    let source_bytes = size_of(&source);
    println!(
        "{} documents, {} segments, {:.1} MB, {} threads, median of {} runs",
        options.docs,
        options.segments,
        source_bytes as f64 / 1e6,
        options.threads,
        options.runs
    );
    println!(
        "{:>4}  {:28} {:>8} {:>8} {:>10} {:>10} {:>10} {:>8}  {:>9} {:>9}",
        "k", "", "CPU s", "wall s", "anon MB", "MB out", "docs/s", "MB/s", "CPU ratio", "wall ratio"
    );
    for &children in &options.children {
        compare(&options, &source, source_bytes, children);
    }
}

fn compare(options: &Options, source: &Path, source_bytes: u64, children: u32) {
    let names = ["rewrite", "link", "verify", "k x merge_filtered_segments", "copy and sync"];
    let mut costs: Vec<Vec<Cost>> = vec![Vec::new(); names.len()];
    for _ in 0..options.runs {
        let scratch = tempfile::tempdir_in(source.parent().unwrap()).unwrap();
        let out = scratch.path().join("out");
        costs[0].push(measure(|| split(options, source, &out, children, Method::Rewrite)));
        costs[2].push(measure(|| verified(options, source, &out, children)));
        costs[4].push(measure(|| copied(&out, &scratch.path().join("copy"))));
        fs::remove_dir_all(&out).unwrap();
        costs[1].push(measure(|| split(options, source, &out, children, Method::Link)));
        if options.peers {
            let out = scratch.path().join("peer");
            costs[3].push(measure(|| merged(options, source, &out, children)));
        }
    }
    let medians: Vec<Option<Cost>> = costs.iter().map(|costs| median(costs)).collect();
    let ours = medians[0].unwrap();
    for (name, cost) in names.iter().zip(&medians) {
        let Some(cost) = cost else { continue };
        println!(
            "{:>4}  {:28} {:>8.2} {:>8.2} {:>10.1} {:>10.1} {:>10.0} {:>8.1}  {:>9.2} {:>9.2}",
            children,
            name,
            cost.cpu,
            cost.wall,
            cost.peak_anonymous as f64 / 1e6,
            cost.bytes as f64 / 1e6,
            options.docs as f64 / cost.wall,
            source_bytes as f64 / 1e6 / cost.wall,
            cost.cpu / ours.cpu,
            cost.wall / ours.wall,
        );
    }
    for (name, cost) in names.iter().zip(&medians) {
        let Some(cost) = cost else { continue };
        println!(
            "{}",
            serde_json::json!({
                "name": name, "children": children, "docs": options.docs, "segments": options.segments,
                "source_bytes": source_bytes, "threads": options.threads, "runs": options.runs,
                "cpu_seconds": cost.cpu, "wall_seconds": cost.wall, "peak_anonymous_bytes": cost.peak_anonymous,
                "bytes": cost.bytes, "cpu_ratio": cost.cpu / ours.cpu, "wall_ratio": cost.wall / ours.wall,
            })
        );
    }
}

fn split(options: &Options, source: &Path, out: &Path, children: u32, method: Method) -> u64 {
    let mut job = Job::new(source, out, children, "id");
    job.method = method;
    job.verify = VerifyLevel::None;
    job.threads = options.threads;
    job.run(&Silent, &Cancel::new()).unwrap().children.iter().map(|child| child.bytes).sum()
}

fn verified(options: &Options, source: &Path, out: &Path, children: u32) -> u64 {
    let source = Source::open(source, LockMode::None).unwrap();
    let routing = SplitRouting::new(SplitSpec::new(children)).unwrap();
    let keys = KeySpec { key: "id".to_owned(), routing_field: None };
    let dirs = routing.children().iter().map(|&shard| (shard, out.join(shard.to_string()))).collect();
    let mut job = VerifyJob::new(&source, dirs);
    job.ownership = Some(Ownership { keys: &keys, routing: &routing, policies: KeyPolicies::default() });
    job.threads = options.threads;
    job.known_file = shardsplit::publish::is_manifest;
    let report = verify(&job, &Silent, &Cancel::new()).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    size_of(out)
}

/// One merge per child, as many at a time as there are threads. Routing is not counted in its favour or against it: it is
/// a small part of either.
fn merged(options: &Options, dir: &Path, out: &Path, children: u32) -> u64 {
    let source = Source::open(dir, LockMode::None).unwrap();
    let routing = SplitRouting::new(SplitSpec::new(children)).unwrap();
    let keys = KeySpec { key: "id".to_owned(), routing_field: None };
    let policies = KeyPolicies::default();
    let assigned = assign(&source, &keys, &routing, &policies, options.threads, &Silent, &Cancel::new()).unwrap();
    let index = tantivy::Index::open_in_dir(dir).unwrap();
    let segments = index.searchable_segments().unwrap();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let child = next.fetch_add(1, Ordering::Relaxed);
            if child >= children as usize {
                return;
            }
            let filters = (0..segments.len())
                .map(|segment| {
                    let owners = assigned.assignment.segment(segment);
                    let mut own = BitSet::with_max_value(owners.len() as u32);
                    for (doc, &owner) in (0..).zip(owners) {
                        if usize::from(owner) == child {
                            own.insert(doc);
                        }
                    }
                    Some(AliveBitSet::from(ReadOnlyBitSet::from(&own)))
                })
                .collect();
            let target = out.join(child.to_string());
            fs::create_dir_all(&target).unwrap();
            let directory = MmapDirectory::open(&target).unwrap();
            merge_filtered_segments(&segments, index.settings().clone(), filters, directory).unwrap();
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..options.threads {
            scope.spawn(work);
        }
        work();
    });
    size_of(out)
}

fn copied(from: &Path, to: &Path) -> u64 {
    fs::create_dir_all(to).unwrap();
    let mut bytes = 0;
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            bytes += copied(&entry.path(), &target);
        } else {
            bytes += fs::copy(entry.path(), &target).unwrap();
            fs::File::open(&target).unwrap().sync_all().unwrap();
        }
    }
    bytes
}

fn size_of(dir: &Path) -> u64 {
    let size = |path: PathBuf| if path.is_dir() { size_of(&path) } else { fs::metadata(path).unwrap().len() };
    fs::read_dir(dir).unwrap().map(|entry| size(entry.unwrap().path())).sum()
}

fn measure(run: impl FnOnce() -> u64) -> Cost {
    let stop = AtomicBool::new(false);
    let peak = AtomicU64::new(0);
    let base = anonymous();
    std::thread::scope(|scope| {
        let (wall, cpu) = (Instant::now(), cpu_time());
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                peak.fetch_max(anonymous().saturating_sub(base), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        // Also where the run panics: the scope waits for its thread.
        let stopping = StopOnDrop(&stop);
        let bytes = run();
        let cost = (wall.elapsed().as_secs_f64(), (cpu_time() - cpu).as_secs_f64());
        drop(stopping);
        Cost { wall: cost.0, cpu: cost.1, peak_anonymous: peak.load(Ordering::Relaxed), bytes }
    })
}

struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Anonymous resident memory of this process in bytes; 0 where the system does not tell.
fn anonymous() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok())
        .map_or(0, |kilobytes| kilobytes * 1024)
}

fn median(costs: &[Cost]) -> Option<Cost> {
    let mut by_cpu = costs.to_vec();
    by_cpu.sort_by(|left, right| left.cpu.total_cmp(&right.cpu));
    let mut walls: Vec<f64> = costs.iter().map(|cost| cost.wall).collect();
    walls.sort_by(f64::total_cmp);
    let mut median = *by_cpu.get(costs.len() / 2)?;
    median.wall = walls[costs.len() / 2];
    median.peak_anonymous = costs.iter().map(|cost| cost.peak_anonymous).max()?;
    Some(median)
}
