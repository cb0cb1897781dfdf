//! What a finished job did, in numbers.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::plan::{IndexPlan, Plan};
use crate::progress::Stage;
use crate::publish::TakenUp;
use crate::route::ShardNumber;
use crate::verify::VerifyReport;
use crate::write::SourceReads;

/// Time a stage took.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StageTime {
    /// The stage.
    pub stage: Stage,
    /// Wall-clock seconds.
    pub wall_seconds: f64,
    /// CPU seconds of the whole process, all threads, user and system; 0 where the system does not tell.
    pub cpu_seconds: f64,
}

/// Measures a stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    wall: Instant,
    cpu: Duration,
}

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch { wall: Instant::now(), cpu: cpu_time() }
    }

    pub(crate) fn stop(self, stage: Stage) -> StageTime {
        StageTime {
            stage,
            wall_seconds: self.wall.elapsed().as_secs_f64(),
            cpu_seconds: cpu_time().saturating_sub(self.cpu).as_secs_f64(),
        }
    }
}

#[cfg(unix)]
fn cpu_time() -> Duration {
    use rustix::time::{ClockId, clock_gettime};

    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(not(unix))]
fn cpu_time() -> Duration {
    Duration::ZERO
}

/// One child as written.
#[derive(Clone, Debug, Serialize)]
pub struct ChildReport {
    /// Shard number.
    pub shard: ShardNumber,
    /// Where it stands.
    pub path: PathBuf,
    /// Live documents.
    pub docs: u64,
    /// Segments.
    pub segments: usize,
    /// Bytes of its segment files; linked ones included.
    pub bytes: u64,
    /// Bytes of those that were written for it: the others are the source's own, by link.
    pub new_bytes: u64,
}

/// A finished split.
#[derive(Clone, Debug, Serialize)]
pub struct SplitReport {
    /// What was planned, and then done.
    pub plan: Plan,
    /// The children, ascending by shard number.
    pub children: Vec<ChildReport>,
    /// What a killed run of the same job had finished, so that it was not written again; left out if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_up: Option<TakenUp>,
    /// What a rewrite read of the source; `None` for links, which read next to nothing.
    pub reads: Option<SourceReads>,
    /// What verification found; `None` if it was switched off.
    pub verify: Option<VerifyReport>,
    /// Wall and CPU per stage.
    pub stages: Vec<StageTime>,
    /// Remarks: links that became copies, locks that could not be taken.
    pub notes: Vec<String>,
}

/// A finished split, merge, clone or move of a whole index.
#[derive(Clone, Debug, Serialize)]
pub struct IndexReport {
    /// What was planned, and then done.
    pub plan: IndexPlan,
    /// The children, ascending by shard number.
    pub children: Vec<ChildReport>,
    /// What a killed run of the same job had finished, so that it was not written again; left out if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_up: Option<TakenUp>,
    /// What a rewrite read of the sources; `None` for links.
    pub reads: Option<SourceReads>,
    /// What verification found, over all shards; `None` if it was switched off.
    pub verify: Option<VerifyReport>,
    /// Wall and CPU per stage. Where shards were worked on side by side, verification is part of writing.
    pub stages: Vec<StageTime>,
    /// Remarks: links that became copies, locks that could not be taken.
    pub notes: Vec<String>,
}
