//! The whole flow as one call.
//!
//! Input: a [`Job`]. [`Job::prepare`] opens the source, routes every document and plans, and writes nothing;
//! [`Prepared::execute`] spends the plan: writes, verifies, publishes. A value that is dropped on the way leaves nothing
//! behind.
//!
//! ```
//! use shardsplit::job::Job;
//! use shardsplit::progress::{Cancel, Silent};
//!
//! # fn main() -> shardsplit::Result<()> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let (index, out) = (concat!(env!("CARGO_MANIFEST_DIR"), "/data/library"), dir.path().join("children"));
//! let report = Job::new(index, &out, 4, "id").run(&Silent, &Cancel::new())?;
//! for child in &report.children {
//!     println!("{}: {} documents in {} bytes", child.path.display(), child.docs, child.bytes);
//! }
//! assert!(report.verify.is_some_and(|verified| verified.is_clean()));
//! # Ok(())
//! # }
//! ```

mod execute;

use std::path::PathBuf;
use std::sync::Arc;

use crate::error::Result;
use crate::partition::{Assigned, Assigning, DocMap, KeyPolicies, KeySpec, MAX_DOCS_PER_SEGMENT, SegmentMode};
use crate::plan::{Method, Plan, PlannedChild, predict_linked, predict_rewritten};
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::publish::{FileSystem, RealFs, check_free};
use crate::report::{SplitReport, StageTime, Stopwatch};
use crate::route::{SplitRouting, SplitSpec};
use crate::source::{LockMode, Source};
use crate::threads;
use crate::verify::VerifyLevel;
use crate::write;

pub use execute::Prepared;

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
    ///
    /// # Errors
    /// Whatever would make the job fail later, as far as it can be known: numbers of shards that do not fit, a source
    /// that cannot be read, documents that cannot be placed, a target that exists.
    pub fn prepare(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<Prepared> {
        let routing = SplitRouting::new(self.split)?;
        let fs: Arc<dyn FileSystem> = Arc::new(RealFs);
        check_free(fs.as_ref(), &self.out)?;

        let mut times = Vec::new();
        let source = timed(Stage::Open, progress, &mut times, || Source::open(&self.source, self.lock))?;
        let watch = Stopwatch::start();
        let mut assigned = self.assigning(&source, &routing).run(progress, cancel)?;
        times.push(watch.stop(Stage::Route));
        let map = match self.method {
            Method::Rewrite => {
                let assignment = std::mem::take(&mut assigned.assignment);
                let mut map = DocMap::build(&source, &assignment, self.segments, self.max_docs_per_segment)?;
                drop(assignment);
                if let Some(hashes) = assigned.hashes.take() {
                    map.carry(hashes);
                }
                write::check(&source, &map)?;
                Some(map)
            }
            Method::Link => None,
        };
        let plan = self.plan(&source, &routing, &assigned, map.as_ref())?;
        Ok(Prepared { job: self.clone(), fs, source, routing, assigned, map, plan, times })
    }

    /// Prepares and executes.
    ///
    /// # Errors
    /// Those of [`Job::prepare`] and [`Prepared::execute`].
    pub fn run(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<SplitReport> {
        self.prepare(progress, cancel)?.execute(progress, cancel)
    }

    /// The routing of this job: sidecars are read first, and hashes are kept to be written beside the children.
    fn assigning<'a>(&'a self, source: &'a Source, routing: &'a SplitRouting) -> Assigning<'a> {
        let (keys, policies, threads) = (&self.keys, self.policies, self.threads());
        Assigning { source, keys, routing, policies, threads, read_sidecars: true, keep_hashes: true }
    }

    fn threads(&self) -> usize {
        threads::number(self.threads)
    }

    fn plan(&self, source: &Source, routing: &SplitRouting, assigned: &Assigned, map: Option<&DocMap>) -> Result<Plan> {
        let census = &assigned.census;
        let (predicted, segments, layout) = match map {
            Some(map) => {
                let mut segments = vec![0; map.num_children];
                for output in map.groups.iter().flat_map(|group| &group.outputs) {
                    if let Some(count) = segments.get_mut(output.child) {
                        *count += 1;
                    }
                }
                (predict_rewritten(source, map)?, segments, self.segments)
            }
            None => {
                let owned = |child: usize| {
                    census
                        .segments
                        .iter()
                        .filter(|segment| segment.children.get(child).is_some_and(|&docs| docs > 0))
                        .count()
                };
                let segments = (0..census.children.len()).map(owned).collect();
                (predict_linked(source, assigned), segments, SegmentMode::Keep)
            }
        };
        let children: Vec<PlannedChild> = routing
            .children()
            .iter()
            .zip(&census.children)
            .zip(segments.into_iter().zip(&predicted))
            .map(|((&shard, &docs), (segments, &predicted_bytes))| PlannedChild {
                shard,
                docs,
                segments,
                predicted_bytes,
            })
            .collect();
        let mut warnings = routing.warnings();
        warnings.extend(source.notes().iter().cloned());
        warnings.extend(assigned.notes.iter().cloned());
        let empty = children.iter().filter(|child| child.docs == 0).count();
        if empty > 0 {
            warnings.push(format!("{empty} of {} children get no document", children.len()));
        }
        if self.method == Method::Link && self.max_docs_per_segment < MAX_DOCS_PER_SEGMENT {
            warnings
                .push("linked children keep the source's segments: --max-docs-per-segment has no effect".to_owned());
        }
        Ok(Plan {
            source: self.source.clone(),
            out: self.out.clone(),
            method: self.method,
            segments: layout,
            routing: self.split,
            number_of_routing_shards: routing.number_of_routing_shards(),
            key: self.keys.key.clone(),
            routing_field: self.keys.routing_field.clone(),
            key_readings: assigned.readings.clone(),
            keys_hashed: assigned.keys_hashed(),
            children,
            census: census.clone(),
            source_bytes: source.num_bytes(),
            peak_disk_bytes: predicted.iter().sum(),
            warnings,
        })
    }
}

/// Runs a stage that does not report for itself: tells its begin and end, and notes how long it took.
fn timed<T>(
    stage: Stage,
    progress: &dyn Progress,
    times: &mut Vec<StageTime>,
    run: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let watch = Stopwatch::start();
    progress.begin(stage, Work::default());
    let result = run();
    progress.end(stage);
    times.push(watch.stop(stage));
    result
}
