//! The whole flow as one call.

use std::path::PathBuf;

use crate::partition::{KeyPolicies, KeySpec, SegmentMode};
use crate::plan::Method;
use crate::route::SplitSpec;
use crate::source::LockMode;
use crate::verify::VerifyLevel;

/// Everything a split needs to know.
#[derive(Clone, Debug)]
pub struct Job {
    /// Index directory to split.
    pub source: PathBuf,
    /// Directory to make; children stand at `out/<shard number>`.
    pub out: PathBuf,
    /// Numbers of shards, routing function.
    pub split: SplitSpec,
    /// Fields that decide where documents go.
    pub keys: KeySpec,
    /// What to do with documents that cannot be placed.
    pub policies: KeyPolicies,
    /// Rewrite or link.
    pub method: Method,
    /// Segment layout of children (rewrite only; linked children keep the source's segments).
    pub segments: SegmentMode,
    /// Most documents per child segment.
    pub max_docs_per_segment: u32,
    /// How much is verified before publishing.
    pub verify: VerifyLevel,
    /// Worker threads; 0 means one per core. The bytes written do not depend on it.
    pub threads: usize,
    /// Whether to take the source's writer lock.
    pub lock: LockMode,
}
