//! What a run takes. Each runs in a process of its own, so that no memory that an earlier one freed, and no mapping that it
//! left, makes a later one look better or worse.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::work::Run;

/// What a run took.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cost {
    /// Seconds.
    pub wall: f64,
    /// CPU seconds in user mode, all threads.
    pub user: f64,
    /// CPU seconds in the kernel, all threads.
    pub system: f64,
    /// Most anonymous resident bytes above those at the start, sampled every 10 ms.
    pub peak_anonymous: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Bytes that came from a disk, not from the page cache.
    pub disk_read: u64,
    /// Bytes left on disk.
    pub written: u64,
    /// What the job reported of itself.
    pub stages: Vec<StageCost>,
}

/// A stage of a job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StageCost {
    /// As the report names it.
    pub name: String,
    /// Seconds.
    pub wall: f64,
    /// CPU seconds.
    pub cpu: f64,
}

impl Cost {
    /// CPU seconds.
    pub fn cpu(&self) -> f64 {
        self.user + self.system
    }
}

/// The option that makes a process of this program do one run.
pub const RUN: &str = "--run";

/// Does `run` in a new process.
pub fn spawn(run: &Run) -> Cost {
    let output = Command::new(std::env::current_exe().unwrap())
        .args([RUN, &serde_json::to_string(run).unwrap()])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{} of {} into {} ended with {}{}",
        run.work.name(),
        run.index.display(),
        run.children,
        output.status,
        if run.memory_group.is_some() { "; signal 9 means that it went over the memory limit" } else { "" },
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The other side of [`spawn`]: does the run and prints what it took.
pub fn run(json: &str) {
    let run: Run = serde_json::from_str(json).unwrap();
    if let Some(group) = &run.memory_group {
        // 0 means the process that writes.
        fs::write(group.join("cgroup.procs"), "0").unwrap();
    }
    println!("{}", serde_json::to_string(&measure(&run)).unwrap());
}

fn measure(run: &Run) -> Cost {
    let stop = AtomicBool::new(false);
    let peak = AtomicU64::new(0);
    let base = anonymous();
    let mut cost = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                peak.fetch_max(anonymous().saturating_sub(base), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        // Also where the run panics: the scope waits for its thread.
        let stopping = StopOnDrop(&stop);
        let (wall, before) = (Instant::now(), Counters::now());
        let stages = run.perform();
        let (wall, after) = (wall.elapsed(), Counters::now());
        drop(stopping);
        let system = after.system - before.system;
        let cpu = (after.cpu - before.cpu).as_secs_f64();
        Cost {
            wall: wall.as_secs_f64(),
            // The kernel counts ticks of the two apart, and their sum exactly.
            user: (cpu - system).max(0.0),
            system: system.min(cpu),
            peak_anonymous: 0,
            major_faults: after.major_faults - before.major_faults,
            disk_read: after.disk_read - before.disk_read,
            written: 0,
            stages: stages
                .iter()
                .map(|time| StageCost {
                    name: time.stage.name().to_owned(),
                    wall: time.wall_seconds,
                    cpu: time.cpu_seconds,
                })
                .collect(),
        }
    });
    cost.peak_anonymous = peak.into_inner();
    cost.written = run.written();
    cost
}

struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What the system has counted for this process; 0 where it does not tell.
struct Counters {
    cpu: Duration,
    /// Seconds, in steps of a tick.
    system: f64,
    major_faults: u64,
    disk_read: u64,
}

/// Ticks per second in `/proc`: the same on every architecture that counts.
const TICKS: f64 = 100.0;

impl Counters {
    fn now() -> Counters {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        // proc(5): the name stands in brackets and may hold anything; after it come fields 3 and up.
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_ascii_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        Counters {
            cpu: Duration::new(time.tv_sec as u64, time.tv_nsec as u32),
            system: field(15) as f64 / TICKS,
            major_faults: field(12),
            disk_read: labelled("/proc/self/io", "read_bytes:"),
        }
    }
}

/// Anonymous resident memory of this process in bytes; 0 where the system does not tell.
fn anonymous() -> u64 {
    labelled("/proc/self/status", "RssAnon:") * 1024
}

fn labelled(file: impl AsRef<Path>, label: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(label));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
