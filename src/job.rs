//! The whole flow as one call.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::partition::{KeyPolicies, KeySpec, MAX_DOCS_PER_SEGMENT, SegmentMode};
use crate::plan::{Method, Plan};
use crate::progress::{Cancel, Progress};
use crate::report::SplitReport;
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

impl Job {
    /// A job with the defaults: one-shard source, rewrite, one segment per child, full verification, all cores.
    #[must_use]
    pub fn new(source: impl Into<PathBuf>, out: impl Into<PathBuf>, into: u32, key: impl Into<String>) -> Job {
        Job {
            source: source.into(),
            out: out.into(),
            split: SplitSpec::new(into),
            keys: KeySpec { key: key.into(), routing_field: None },
            policies: KeyPolicies::default(),
            method: Method::default(),
            segments: SegmentMode::default(),
            max_docs_per_segment: MAX_DOCS_PER_SEGMENT,
            verify: VerifyLevel::default(),
            threads: 0,
            lock: LockMode::default(),
        }
    }

    /// Opens the source, routes every document, plans. Writes nothing.
    pub fn prepare(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<Prepared> {
        let _ = (progress, cancel);
        Err(Error::Usage("not built yet".to_owned()))
    }

    /// Prepares and executes.
    pub fn run(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<SplitReport> {
        self.prepare(progress, cancel)?.execute(progress, cancel)
    }
}

/// A planned job that holds its source open and locked. Spent by [`Prepared::execute`].
#[derive(Debug)]
pub struct Prepared {
    plan: Plan,
}

impl Prepared {
    /// What [`Prepared::execute`] will do.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Writes, verifies, publishes.
    pub fn execute(self, progress: &dyn Progress, cancel: &Cancel) -> Result<SplitReport> {
        let _ = (progress, cancel);
        Err(Error::Usage("not built yet".to_owned()))
    }
}
