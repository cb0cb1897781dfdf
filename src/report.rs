//! What a finished job did, in numbers.

use std::path::PathBuf;

use serde::Serialize;

use crate::plan::Plan;
use crate::progress::Stage;
use crate::route::ShardNumber;
use crate::verify::VerifyReport;

/// Time a stage took.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StageTime {
    /// The stage.
    pub stage: Stage,
    /// Wall-clock seconds.
    pub wall_seconds: f64,
    /// CPU seconds of the whole process, all threads.
    pub cpu_seconds: f64,
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
    /// Bytes of its files; linked ones included.
    pub bytes: u64,
}

/// A finished split.
#[derive(Clone, Debug, Serialize)]
pub struct SplitReport {
    /// What was planned, and then done.
    pub plan: Plan,
    /// The children, ascending by shard number.
    pub children: Vec<ChildReport>,
    /// What verification found; `None` if it was switched off.
    pub verify: Option<VerifyReport>,
    /// Wall and CPU per stage.
    pub stages: Vec<StageTime>,
    /// Remarks: links that became copies, locks that could not be taken.
    pub notes: Vec<String>,
}
