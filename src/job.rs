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

use std::path::PathBuf;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::partition::{Assigned, DocMap, KeyPolicies, KeySpec, MAX_DOCS_PER_SEGMENT, SegmentMode, assign};
use crate::plan::{Method, Plan, PlannedChild, predict_linked, predict_rewritten};
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::publish::{
    FileSystem, Proof, RealFs, RoutingRecord, SourceLineage, SplitRecord, StagedChild, Staging, check_free, is_manifest,
};
use crate::report::{ChildReport, SplitReport, StageTime, Stopwatch};
use crate::route::{SplitRouting, SplitSpec};
use crate::source::{LockMode, Source};
use crate::threads;
use crate::verify::{Ownership, SAMPLE, VerifyJob, VerifyLevel, VerifyReport, verify};
use crate::write::{self, SourceReads, WrittenSegment};

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
        let source =
            timed(Stage::Open, progress, &mut times, Work::default(), || Source::open(&self.source, self.lock))?;
        let docs = Work::docs(source.num_docs());
        let assigned = timed(Stage::Route, progress, &mut times, docs, || {
            assign(&source, &self.keys, &routing, &self.policies, self.threads(), progress, cancel)
        })?;
        let map = match self.method {
            Method::Rewrite => {
                let map = DocMap::build(&source, &assigned.assignment, self.segments, self.max_docs_per_segment)?;
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
                (predict_linked(source, census), segments, SegmentMode::Keep)
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
            children,
            census: census.clone(),
            source_bytes: source.num_bytes(),
            peak_disk_bytes: predicted.iter().sum(),
            warnings,
        })
    }
}

/// A planned job that holds its source open and locked. Spent by [`Prepared::execute`].
#[derive(Debug)]
pub struct Prepared {
    job: Job,
    fs: Arc<dyn FileSystem>,
    source: Source,
    routing: SplitRouting,
    assigned: Assigned,
    /// Rewrite only.
    map: Option<DocMap>,
    plan: Plan,
    times: Vec<StageTime>,
}

impl Prepared {
    /// What [`Prepared::execute`] will do.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Writes, verifies, publishes.
    ///
    /// # Errors
    /// [`Error::Difference`] if verification found one, [`Error::Corrupt`] for damage in the source that pre-flight does
    /// not see, [`Error::Io`], [`Error::Interrupted`], [`Error::TargetExists`], [`Error::StagingExists`]. After any of
    /// them nothing is published, and staging is removed.
    pub fn execute(mut self, progress: &dyn Progress, cancel: &Cancel) -> Result<SplitReport> {
        let mut staging = Staging::create(Arc::clone(&self.fs), &self.job.out, self.record()?)?;
        let mut times = std::mem::take(&mut self.times);

        let watch = Stopwatch::start();
        let written = self.write(&mut staging, progress, cancel)?;
        times.push(watch.stop(Stage::Write));

        let watch = Stopwatch::start();
        let verified = self.verify(&staging, progress, cancel)?;
        if verified.is_some() {
            times.push(watch.stop(Stage::Verify));
        }
        cancel.check()?;

        let published = timed(Stage::Publish, progress, &mut times, Work::default(), || {
            staging.seal(&proof(self.job.verify, verified.as_ref()))?;
            staging.publish()
        })?;
        let mut notes = self.source.notes().to_vec();
        notes.extend(written.notes);
        notes.extend(published.notes);
        let children = self
            .plan
            .children
            .iter()
            .zip(written.children)
            .map(|(planned, (segments, bytes))| ChildReport {
                shard: planned.shard,
                path: published.path.join(planned.shard.to_string()),
                docs: planned.docs,
                segments,
                bytes,
            })
            .collect();
        Ok(SplitReport { plan: self.plan, children, reads: written.reads, verify: verified, stages: times, notes })
    }

    /// What staging announces before it makes anything.
    fn record(&self) -> Result<SplitRecord> {
        let mut children: Vec<StagedChild> =
            self.routing.children().iter().map(|&shard| StagedChild { shard, segments: Vec::new() }).collect();
        match &self.map {
            Some(map) => {
                let ids = write::child_segment_ids(&self.source, map, self.routing.children());
                for (output, id) in map.groups.iter().flat_map(|group| &group.outputs).zip(ids.into_iter().flatten()) {
                    if let Some(child) = children.get_mut(output.child) {
                        child.segments.push(id);
                    }
                }
            }
            None => {
                for (segment, census) in self.source.segments().iter().zip(&self.assigned.census.segments) {
                    for (child, &docs) in children.iter_mut().zip(&census.children) {
                        if docs > 0 {
                            child.segments.push(segment.id().to_owned());
                        }
                    }
                }
            }
        }
        Ok(SplitRecord {
            source: SourceLineage::of(&self.source)?,
            routing: RoutingRecord {
                split: self.job.split,
                number_of_routing_shards: self.routing.number_of_routing_shards(),
                key: self.job.keys.key.clone(),
                routing_field: self.job.keys.routing_field.clone(),
                policies: self.job.policies,
            },
            method: self.job.method,
            segments: self.plan.segments,
            census: self.assigned.census.clone(),
            children,
        })
    }

    fn write(&mut self, staging: &mut Staging, progress: &dyn Progress, cancel: &Cancel) -> Result<Written> {
        let (segments, reads, notes) = match self.map.take() {
            Some(map) => {
                let shards = self.routing.children();
                let made = write::rewrite(&self.source, &map, shards, staging, self.job.threads(), progress, cancel)?;
                (made.segments, Some(made.reads), Vec::new())
            }
            None => {
                let (segments, notes) =
                    write::link(&self.source, &self.assigned.assignment, staging, progress, cancel)?;
                (segments, None, notes)
            }
        };
        let mut children = Vec::with_capacity(self.plan.children.len());
        for child in 0..self.plan.children.len() {
            let own: Vec<WrittenSegment> = segments.iter().filter(|segment| segment.child == child).cloned().collect();
            staging.add_index_files(child, self.source.meta(), &own)?;
            let bytes = own.iter().flat_map(|segment| &segment.files).map(|file| file.len).sum();
            children.push((own.len(), bytes));
        }
        Ok(Written { children, reads, notes })
    }

    fn verify(&self, staging: &Staging, progress: &dyn Progress, cancel: &Cancel) -> Result<Option<VerifyReport>> {
        if self.job.verify == VerifyLevel::None {
            return Ok(None);
        }
        let children =
            (0..).zip(self.routing.children()).filter_map(|(child, &shard)| Some((shard, staging.child_dir(child)?)));
        let job = VerifyJob {
            source: &self.source,
            children: children.collect(),
            ownership: Some(Ownership { keys: &self.job.keys, routing: &self.routing, policies: self.job.policies }),
            level: self.job.verify,
            threads: self.job.threads(),
            sample: SAMPLE,
            known_file: is_manifest,
        };
        let report = verify(&job, progress, cancel)?;
        if report.is_clean() { Ok(Some(report)) } else { Err(Error::Difference(Box::new(report))) }
    }
}

/// What the writers made.
struct Written {
    /// Per child: segments and bytes.
    children: Vec<(usize, u64)>,
    reads: Option<SourceReads>,
    notes: Vec<String>,
}

fn proof(level: VerifyLevel, report: Option<&VerifyReport>) -> Proof {
    let Some(report) = report else { return Proof { level, ..Proof::default() } };
    Proof {
        level,
        digest: report.source_digest.as_ref().map(ToString::to_string),
        children: report.children.iter().map(|child| child.digest.as_ref().map(ToString::to_string)).collect(),
    }
}

/// Runs a stage that reports its begin and end here, and notes how long it took.
fn timed<T>(
    stage: Stage,
    progress: &dyn Progress,
    times: &mut Vec<StageTime>,
    work: Work,
    run: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let watch = Stopwatch::start();
    if work == Work::default() {
        progress.begin(stage, work);
    }
    let result = run();
    if work == Work::default() {
        progress.end(stage);
    }
    times.push(watch.stop(stage));
    result
}
