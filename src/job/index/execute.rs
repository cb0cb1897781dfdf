//! Spending the plan of a whole index: part after part is written and verified, then all are published at once.

use std::path::PathBuf;
use std::sync::Arc;

use super::{IndexJob, Inner, PartJob, open_part};
use crate::error::{Error, Result};
use crate::job::part::{Options, Pair, Part, Written, WrittenChild};
use crate::job::timed;
use crate::plan::IndexPlan;
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::publish::{
    FileSystem, IndexDirectory, Proof, RoutingFile, SplitRecord, Staging, check_space, check_staging,
};
use crate::report::{ChildReport, IndexReport, StageTime, Stopwatch};
use crate::route::Resize;
use crate::source::WriterLock;
use crate::threads;
use crate::verify::{VerifyLevel, VerifyReport};
use crate::write::SourceReads;

/// A planned job on a whole index. It holds the locks of all shards, but none of them open. Spent by
/// [`PreparedIndex::execute`].
#[derive(Debug)]
pub struct PreparedIndex {
    pub(in crate::job) job: IndexJob,
    pub(super) options: Options,
    /// Parts side by side; at least 1.
    pub(super) parallel: usize,
    pub(super) fs: Arc<dyn FileSystem>,
    pub(super) directory: IndexDirectory,
    pub(super) resize: Resize,
    pub(in crate::job) parts: Vec<PartJob>,
    pub(super) plan: IndexPlan,
    pub(super) times: Vec<StageTime>,
    pub(super) _locks: Vec<WriterLock>,
}

/// A part that was written and verified.
struct Done {
    written: Written,
    verified: Option<VerifyReport>,
    times: [StageTime; 2],
}

impl PreparedIndex {
    /// What [`PreparedIndex::execute`] will do.
    #[must_use]
    pub fn plan(&self) -> &IndexPlan {
        &self.plan
    }

    /// Writes and verifies all parts, publishes the set.
    ///
    /// # Errors
    /// [`Error::SourceChanged`] if a shard is not what was planned with any more, and those of
    /// [`Prepared::execute`](crate::job::Prepared::execute). After any of them nothing is published, and staging is
    /// removed.
    pub fn execute(mut self, progress: &dyn Progress, cancel: &Cancel) -> Result<IndexReport> {
        let mut times = std::mem::take(&mut self.times);
        check_space(self.fs.as_ref(), &self.job.out, self.plan.peak_disk_bytes)?;
        let mut staging = Staging::create(Arc::clone(&self.fs), &self.job.out, self.record()?)?;
        let watch = Stopwatch::start();
        let done = self.write(&staging, progress, cancel)?;
        times.extend(self.stages(&done, watch));
        cancel.check()?;
        let taken_up = staging.taken_up().cloned();

        let mut outcome = Outcome::default();
        for (part, done) in self.parts.iter().zip(done) {
            outcome.add(part, done);
        }
        let source = self.directory.path().to_path_buf();
        let verified = (self.options.verify != VerifyLevel::None)
            .then(|| VerifyReport::of_parts(source, std::mem::take(&mut outcome.verified)));
        let proof = Proof {
            level: self.options.verify,
            digest: verified.as_ref().and_then(|report| report.source_digest).as_ref().map(ToString::to_string),
            parts: std::mem::take(&mut outcome.digests),
            children: std::mem::take(&mut outcome.child_digests),
        };
        let published = timed(Stage::Publish, progress, &mut times, || {
            staging.seal(&proof)?;
            staging.publish()
        })?;
        let mut children = outcome.children;
        children.sort_by_key(|child| child.shard);
        for child in &mut children {
            child.path = published.path.join(child.shard.to_string());
        }
        let mut notes = outcome.notes;
        notes.extend(published.notes);
        let reads = outcome.reads;
        Ok(IndexReport { plan: self.plan, children, taken_up, reads, verify: verified, stages: times, notes })
    }

    fn write(&self, staging: &Staging, progress: &dyn Progress, cancel: &Cancel) -> Result<Vec<Done>> {
        let full = self.options.verify == VerifyLevel::Full;
        progress.begin(Stage::Write, Work::bytes(self.plan.source_bytes));
        if self.options.verify != VerifyLevel::None {
            progress.begin(Stage::Verify, Work::docs(if full { 2 * self.plan.docs } else { 0 }));
        }
        let mut first = 0;
        let mut turns = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            turns.push((part, first));
            first += part.record.children.len();
        }
        let inner = Inner { progress, stages: &[Stage::Write, Stage::Verify] };
        let done = threads::each(&turns, self.parallel, |(part, first)| {
            cancel.check()?;
            self.part(part, (staging, *first), &inner, cancel)
        })?;
        progress.end(Stage::Write);
        if self.options.verify != VerifyLevel::None {
            progress.end(Stage::Verify);
        }
        Ok(done)
    }

    /// Takes one part from its files to verified children.
    fn part(&self, job: &PartJob, place: (&Staging, usize), progress: &dyn Progress, cancel: &Cancel) -> Result<Done> {
        let watch = Stopwatch::start();
        let (options, (staging, first)) = (&job.options, place);
        let source = open_part(&self.directory, &job.routing)?;
        job.pin.check(&source, &job.record.sources)?;
        if let Some(written) = Written::earlier(staging, first, job.record.children.len(), options.method) {
            progress.advance(Stage::Write, Work::bytes(source.num_bytes()));
            let pair = Pair { source: &source, routing: &job.routing };
            pair.check_source(options, progress, cancel)?;
            let write = watch.stop(Stage::Write);
            let watch = Stopwatch::start();
            let verified = pair.verify(options, place, &written.sidecars, progress, cancel)?;
            return Ok(Done { written, verified, times: [write, watch.stop(Stage::Verify)] });
        }
        let mut part = Part::route(source, job.routing.clone(), options, progress, cancel)?;
        if part.assigned.census != job.record.census {
            let problem = "its documents are routed otherwise than they were".to_owned();
            return Err(Error::SourceChanged { path: part.source.dir().to_path_buf(), problem });
        }
        part.pair().check_source(options, progress, cancel)?;
        let written = part.write(options, place, progress, cancel)?;
        let write = watch.stop(Stage::Write);
        let watch = Stopwatch::start();
        let verified = part.pair().verify(options, place, &written.sidecars, progress, cancel)?;
        Ok(Done { written, verified, times: [write, watch.stop(Stage::Verify)] })
    }

    /// How long parts took: added up, or all together where they were worked on side by side.
    fn stages(&self, done: &[Done], watch: Stopwatch) -> Vec<StageTime> {
        if self.parallel > 1 {
            return vec![watch.stop(Stage::Write)];
        }
        let sum = |index: usize, stage: Stage| {
            let times = done.iter().filter_map(|done| done.times.get(index));
            times.fold(StageTime { stage, wall_seconds: 0.0, cpu_seconds: 0.0 }, |sum, time| StageTime {
                stage,
                wall_seconds: sum.wall_seconds + time.wall_seconds,
                cpu_seconds: sum.cpu_seconds + time.cpu_seconds,
            })
        };
        let mut stages = vec![sum(0, Stage::Write)];
        if self.options.verify != VerifyLevel::None {
            stages.push(sum(1, Stage::Verify));
        }
        stages
    }

    /// Fails if the staging directory of another job stands in the way.
    pub(super) fn check_staging(&self) -> Result<()> {
        check_staging(self.fs.as_ref(), &self.job.out, || self.record())
    }

    /// What staging announces before it makes anything.
    fn record(&self) -> Result<SplitRecord> {
        let resolve = |path: PathBuf| std::fs::canonicalize(&path).map_err(Error::io("resolve", &path));
        let shards = self.resize.shards_before().into_iter().map(|shard| self.directory.shard(shard));
        let source_paths = std::iter::once(self.directory.path().to_path_buf()).chain(shards).map(resolve);
        let Some(first) = self.parts.first() else { return Err(Error::defect("an index without shards was planned")) };
        Ok(SplitRecord {
            operation: self.resize.operation(),
            parts: self.parts.iter().map(|part| part.record.clone()).collect(),
            source_paths: source_paths.collect::<Result<_>>()?,
            routing: self.options.record(&first.routing),
            routing_file: match self.resize.table_after() {
                Some(table) => {
                    RoutingFile::of_table(table, self.resize.after().routing_partition_size, &self.options.keys)
                }
                None => RoutingFile::new(self.resize.after(), &self.options.keys),
            },
            method: self.job.method,
            segments: self.plan.segments,
            options: self.options.identity(&self.parts.iter().map(|part| &part.pin).collect::<Vec<_>>()),
        })
    }
}

/// What all parts gave.
#[derive(Default)]
struct Outcome {
    children: Vec<ChildReport>,
    reads: Option<SourceReads>,
    verified: Vec<VerifyReport>,
    digests: Vec<Option<String>>,
    /// By child index over all parts.
    child_digests: Vec<Option<String>>,
    notes: Vec<String>,
}

impl Outcome {
    fn add(&mut self, part: &PartJob, done: Done) {
        let Done { written, verified, .. } = done;
        let docs = part.record.census.children.iter();
        for ((child, written), &docs) in part.record.children.iter().zip(written.children).zip(docs) {
            let WrittenChild { segments, bytes, new_bytes } = written;
            let (shard, path) = (child.shard, PathBuf::new());
            self.children.push(ChildReport { shard, path, docs, segments, bytes, new_bytes });
        }
        if let Some(reads) = &written.reads {
            self.reads.get_or_insert_default().add(reads);
        }
        self.notes.extend(written.notes);
        if let Some(report) = verified {
            self.digests.push(report.source_digest.as_ref().map(ToString::to_string));
            let digests = report.children.iter().map(|child| child.digest.as_ref().map(ToString::to_string));
            self.child_digests.extend(digests);
            self.verified.push(report);
        }
    }
}
