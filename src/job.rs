//! The whole flow as one call.
//!
//! Input: a [`Job`]. [`Job::prepare`] opens the source, routes every document and plans, and writes nothing;
//! [`Prepared::execute`] spends the plan: writes, verifies, publishes. A value that is dropped on the way leaves nothing
//! behind. An [`IndexJob`] does the same for all shards of an index: splits, merges or clones them, or moves documents between them.
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
mod explain;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzz;
mod index;
mod outlook;
mod part;
mod rehearse;
mod saved;

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::partition::{KeyPolicies, KeySpec, MAX_DOCS_PER_SEGMENT, Placement, Policy, SegmentMode, measure};
use crate::plan::{Method, Plan};
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::publish::{FileSystem, RealFs, SourceLineage, check_free};
use crate::report::{SplitReport, StageTime, Stopwatch};
use crate::route::{SplitRouting, SplitSpec, TableSpec};
use crate::source::{LockMode, Source};
use crate::threads;
use crate::verify::VerifyLevel;
use index::pin::Pin;
use part::{Options, Part};

pub use execute::Prepared;
pub use index::{Change, IndexJob, IndexVerifyJob, PreparedIndex};
pub use saved::{PlanReport, PreparedPlan, SavedPlan};

/// Everything a split needs to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Index directory to split.
    pub source: PathBuf,
    /// Directory to make; children stand at `out/<shard number>`.
    pub out: PathBuf,
    /// Numbers of shards, routing function.
    pub split: SplitSpec,
    /// The table of the index and where the shard is cut, if it is routed by a table; then `split` has no effect.
    pub tables: Option<Box<TableSpec>>,
    /// Fields that decide where documents go.
    pub keys: KeySpec,
    /// What decides instead of the hash of a key. Then `keys` play no part, and `split` is [`SplitSpec::new`] of the number
    /// of children.
    pub placement: Placement,
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
            tables: None,
            keys: KeySpec { key: key.into(), routing_field: None },
            placement: Placement::Hash,
            policies: KeyPolicies::default(),
            method: Method::default(),
            segments: SegmentMode::default(),
            max_docs_per_segment: MAX_DOCS_PER_SEGMENT,
            verify: VerifyLevel::default(),
            threads: 0,
            lock: LockMode::default(),
        }
    }

    /// A job without a key, with the defaults of [`Job::new`]. The children have no routing afterwards.
    ///
    /// # Errors
    /// [`Error::Usage`] if `placement` makes no children, or too many.
    pub fn placed(source: impl Into<PathBuf>, out: impl Into<PathBuf>, placement: Placement) -> Result<Job> {
        let into = placement.number_of_shards()?;
        Ok(Job { placement, ..Job::new(source, out, into, "") })
    }

    /// Opens the source, routes every document, plans. Writes nothing.
    ///
    /// # Errors
    /// Whatever would make the job fail later, as far as it can be known: numbers of shards that do not fit, a source
    /// that cannot be read, documents that cannot be placed, a target that exists.
    pub fn prepare(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<Prepared> {
        self.prepare_on(Arc::new(RealFs), progress, cancel)
    }

    /// [`Job::prepare`] with another file system to write to: one that fails on purpose.
    ///
    /// # Errors
    /// Those of [`Job::prepare`].
    pub fn prepare_on(&self, fs: Arc<dyn FileSystem>, progress: &dyn Progress, cancel: &Cancel) -> Result<Prepared> {
        self.prepare_pinned(fs, None, progress, cancel)
    }

    /// [`Job::prepare`] of a source that must be what it was.
    fn prepare_pinned(
        &self,
        fs: Arc<dyn FileSystem>,
        pin: Option<(&Pin, &[SourceLineage])>,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Prepared> {
        self.check_placement()?;
        // What does not fit is said before anything is read, as far as that can be known.
        let routing = match &self.tables {
            None => Some(SplitRouting::new(self.split)?),
            Some(tables) if tables.cut.measure().is_none() => Some(SplitRouting::by_tables(tables.resolve(None)?)?),
            Some(_) => None,
        };
        check_free(fs.as_ref(), &self.out)?;

        let mut times = Vec::new();
        let source = timed(Stage::Open, progress, &mut times, || Source::open(&self.source, self.lock))?;
        if let Some((pin, lineage)) = pin {
            pin.check(&source, lineage)?;
        }
        let watch = Stopwatch::start();
        let options = self.options();
        let routing = match (routing, &self.tables) {
            (None, Some(tables)) => {
                let measured = measure(&source, &self.keys, tables, options.threads, cancel)?;
                SplitRouting::by_tables(tables.resolve(measured.as_ref())?)?
            }
            (routing, _) => routing.map_or_else(|| SplitRouting::new(self.split), Ok)?,
        };
        let part = Part::route(source, routing, &options, progress, cancel)?;
        times.push(watch.stop(Stage::Route));
        part.need(&options).check()?;
        let plan = self.plan(&part)?;
        let prepared = Prepared { job: self.clone(), options, fs, part, plan, times };
        prepared.check_staging()?;
        Ok(prepared)
    }

    /// Prepares and executes.
    ///
    /// # Errors
    /// Those of [`Job::prepare`] and [`Prepared::execute`].
    pub fn run(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<SplitReport> {
        self.prepare(progress, cancel)?.execute(progress, cancel)
    }

    fn check_placement(&self) -> Result<()> {
        if self.placement.is_hash() {
            return Ok(());
        }
        let into = self.placement.number_of_shards()?;
        if self.policies.stray != Policy::Refuse {
            return Err(Error::Usage(
                "--stray is for routing: without a key no document belongs to another shard".to_owned(),
            ));
        }
        if self.split == SplitSpec::new(into) && self.keys.key.is_empty() && self.keys.routing_field.is_none() {
            return Ok(());
        }
        Err(Error::Usage(format!(
            "without a key there is no routing: {} makes {into} children, and neither a key nor numbers of shards go with it",
            self.placement
        )))
    }

    fn options(&self) -> Options {
        Options {
            keys: self.keys.clone(),
            placement: self.placement.clone(),
            policies: self.policies,
            method: self.method,
            segments: self.segments,
            max_docs_per_segment: self.max_docs_per_segment,
            verify: self.verify,
            threads: threads::number(self.threads),
        }
    }

    fn plan(&self, part: &Part) -> Result<Plan> {
        let children = part.predict()?;
        let mut warnings = if self.placement.is_hash() { part.routing.warnings() } else { Vec::new() };
        warnings.extend(part.source.notes().iter().cloned());
        warnings.extend(part.assigned.notes.iter().cloned());
        warnings.extend(outlook::warnings(&children, &self.options(), false));
        Ok(Plan {
            source: self.source.clone(),
            out: self.out.clone(),
            method: self.method,
            segments: self.options().layout(),
            routing: *part.routing.spec(),
            tables: part.routing.tables().cloned(),
            number_of_routing_shards: part.routing.number_of_routing_shards().filter(|_| self.placement.is_hash()),
            placement: self.placement.clone(),
            key: self.keys.key.clone(),
            routing_field: self.keys.routing_field.clone(),
            key_readings: part.assigned.readings.clone(),
            keys_hashed: part.assigned.keys_hashed(),
            peak_disk_bytes: children.iter().map(|child| child.predicted_bytes).sum(),
            children,
            census: part.assigned.census.clone(),
            source_bytes: part.source.num_bytes(),
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
