//! Spending a plan: write, verify, publish.

use std::sync::Arc;

use super::index::pin::Pin;
use super::part::{Options, Part};
use super::{Job, timed};
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::progress::{Cancel, Progress, Stage};
use crate::publish::{FileSystem, Proof, RoutingFile, SplitRecord, Staging, check_space, check_staging};
use crate::report::{ChildReport, SplitReport, StageTime, Stopwatch};
use crate::route::{IndexRouting, Operation};
use crate::verify::{VerifyLevel, VerifyReport};

/// A planned job that holds its source open and locked. Spent by [`Prepared::execute`].
#[derive(Debug)]
pub struct Prepared {
    pub(super) job: Job,
    pub(super) options: Options,
    pub(super) fs: Arc<dyn FileSystem>,
    pub(super) part: Part,
    pub(super) plan: Plan,
    pub(super) times: Vec<StageTime>,
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
    /// not see, checksums first, [`Error::Space`], [`Error::Io`], [`Error::Interrupted`], [`Error::TargetExists`], [`Error::StagingExists`]. After any of
    /// them nothing is published, and staging is removed.
    pub fn execute(mut self, progress: &dyn Progress, cancel: &Cancel) -> Result<SplitReport> {
        let mut times = std::mem::take(&mut self.times);
        let watch = Stopwatch::start();
        self.part.pair().check_source(&self.options, progress, cancel)?;
        check_space(self.fs.as_ref(), &self.job.out, self.plan.peak_disk_bytes)?;
        let mut staging = Staging::create(Arc::clone(&self.fs), &self.job.out, self.record()?)?;
        let written = self.part.write(&self.options, (&staging, 0), progress, cancel)?;
        times.push(watch.stop(Stage::Write));

        let watch = Stopwatch::start();
        let verified = self.part.pair().verify(&self.options, (&staging, 0), &written.sidecars, progress, cancel)?;
        if verified.is_some() {
            times.push(watch.stop(Stage::Verify));
        }
        cancel.check()?;
        let taken_up = staging.taken_up().cloned();

        let published = timed(Stage::Publish, progress, &mut times, || {
            staging.seal(&proof(self.job.verify, verified.as_ref()))?;
            staging.publish()
        })?;
        let mut notes = self.part.source.notes().to_vec();
        notes.append(&mut self.part.assigned.notes);
        notes.extend(written.notes);
        notes.extend(published.notes);
        let children = self
            .plan
            .children
            .iter()
            .zip(written.children)
            .map(|(planned, written)| ChildReport {
                shard: planned.shard,
                path: published.path.join(planned.shard.to_string()),
                docs: planned.docs,
                segments: written.segments,
                bytes: written.bytes,
                new_bytes: written.new_bytes,
            })
            .collect();
        Ok(SplitReport {
            plan: self.plan,
            children,
            taken_up,
            reads: written.reads,
            verify: verified,
            stages: times,
            notes,
        })
    }

    /// Fails if the staging directory of another job stands in the way.
    pub(super) fn check_staging(&self) -> Result<()> {
        check_staging(self.fs.as_ref(), &self.job.out, || self.record())
    }

    /// What staging announces before it makes anything.
    fn record(&self) -> Result<SplitRecord> {
        let (source, routing) = (&self.part.source, &self.part.routing);
        let keys = &self.job.keys;
        let routing_file = match routing.tables() {
            Some(tables) => RoutingFile::of_table(tables.after(), tables.routing_partition_size(), keys),
            None => {
                let after = IndexRouting {
                    function: routing.spec().function,
                    number_of_shards: routing.after().number_of_shards(),
                    number_of_routing_shards: routing.number_of_routing_shards(),
                    routing_partition_size: routing.spec().routing_partition_size,
                };
                RoutingFile::new(&after, keys)
            }
        };
        let resolved = std::fs::canonicalize(source.dir()).map_err(Error::io("resolve", source.dir()))?;
        Ok(SplitRecord {
            operation: Operation::Split,
            parts: vec![self.part.record()?],
            source_paths: vec![resolved],
            routing: self.options.record(routing),
            routing_file,
            method: self.job.method,
            segments: self.plan.segments,
            options: self.options.identity(&[&Pin::of(source)]),
        })
    }
}

fn proof(level: VerifyLevel, report: Option<&VerifyReport>) -> Proof {
    let Some(report) = report else { return Proof { level, ..Proof::default() } };
    let digest = report.source_digest.as_ref().map(ToString::to_string);
    Proof {
        level,
        parts: vec![digest.clone()],
        digest,
        children: report.children.iter().map(|child| child.digest.as_ref().map(ToString::to_string)).collect(),
    }
}
