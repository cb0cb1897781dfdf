//! Spending a plan: write, verify, publish.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Job, timed};
use crate::error::{Error, Result};
use crate::partition::{Assigned, DocMap};
use crate::plan::{Method, Plan};
use crate::progress::{Cancel, Progress, Stage};
use crate::publish::{FileSystem, Proof, RoutingRecord, SourceLineage, SplitRecord, StagedChild, Staging, is_manifest};
use crate::report::{ChildReport, SplitReport, StageTime, Stopwatch};
use crate::route::SplitRouting;
use crate::source::Source;
use crate::verify::{Ownership, SAMPLE, VerifyJob, VerifyLevel, VerifyReport, verify};
use crate::write::{self, SourceReads, WrittenSegment};

/// A planned job that holds its source open and locked. Spent by [`Prepared::execute`].
#[derive(Debug)]
pub struct Prepared {
    pub(super) job: Job,
    pub(super) fs: Arc<dyn FileSystem>,
    pub(super) source: Source,
    pub(super) routing: SplitRouting,
    pub(super) assigned: Assigned,
    /// Rewrite only.
    pub(super) map: Option<DocMap>,
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
    /// not see, checksums first, [`Error::Io`], [`Error::Interrupted`], [`Error::TargetExists`], [`Error::StagingExists`]. After any of
    /// them nothing is published, and staging is removed.
    pub fn execute(mut self, progress: &dyn Progress, cancel: &Cancel) -> Result<SplitReport> {
        let mut times = std::mem::take(&mut self.times);
        let watch = Stopwatch::start();
        self.check_source(progress, cancel)?;
        let mut staging = Staging::create(Arc::clone(&self.fs), &self.job.out, self.record()?)?;
        let written = self.write(&mut staging, progress, cancel)?;
        times.push(watch.stop(Stage::Write));

        let watch = Stopwatch::start();
        let verified = self.verify(&staging, &written.sidecars, progress, cancel)?;
        if verified.is_some() {
            times.push(watch.stop(Stage::Verify));
        }
        cancel.check()?;

        let published = timed(Stage::Publish, progress, &mut times, || {
            staging.seal(&proof(self.job.verify, verified.as_ref()))?;
            staging.publish()
        })?;
        let mut notes = self.source.notes().to_vec();
        notes.append(&mut self.assigned.notes);
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

    /// Compares the source's files with their checksums: what is copied from a damaged file would get a new, valid one.
    /// Links keep the old ones, so there full verification is soon enough to ask.
    fn check_source(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<()> {
        if !self.source_is_checked() {
            return Ok(());
        }
        let problems = self.source.check_checksums(self.job.threads, Stage::Open, progress, cancel)?;
        match problems.first() {
            None => Ok(()),
            Some(first) => {
                let others = match problems.len() - 1 {
                    0 => String::new(),
                    others => format!(", and so are {others} more files"),
                };
                let problem = format!(
                    "its bytes have checksum {:08x}, its footer says {:08x}{others}",
                    first.found, first.expected
                );
                Err(Error::corrupt(self.source.dir().join(&first.file), problem))
            }
        }
    }

    fn source_is_checked(&self) -> bool {
        self.job.method == Method::Rewrite || self.job.verify == VerifyLevel::Full
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
            source_path: std::fs::canonicalize(self.source.dir()).map_err(Error::io("resolve", self.source.dir()))?,
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
                let (mut segments, notes) =
                    write::link(&self.source, &self.assigned.assignment, staging, progress, cancel)?;
                if let Some(hashes) = self.assigned.hashes.take() {
                    write::link_sidecars(&self.source, &hashes, staging, &mut segments, cancel)?;
                }
                (segments, None, notes)
            }
        };
        let mut children = Vec::with_capacity(self.plan.children.len());
        let mut sidecars = Vec::new();
        for child in 0..self.plan.children.len() {
            let own: Vec<WrittenSegment> = segments.iter().filter(|segment| segment.child == child).cloned().collect();
            staging.add_index_files(child, self.source.meta(), &own)?;
            let bytes = own.iter().flat_map(WrittenSegment::all_files).map(|file| file.len).sum();
            if let Some(dir) = staging.child_dir(child) {
                sidecars.extend(own.iter().filter_map(|segment| Some(dir.join(&segment.sidecar.as_ref()?.name))));
            }
            children.push((own.len(), bytes));
        }
        Ok(Written { children, sidecars, reads, notes })
    }

    fn verify(
        &self,
        staging: &Staging,
        sidecars: &[PathBuf],
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Option<VerifyReport>> {
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
            sidecars: sidecars.to_vec(),
            source_checked: self.source_is_checked(),
        };
        let report = verify(&job, progress, cancel)?;
        if report.is_clean() { Ok(Some(report)) } else { Err(Error::Difference(Box::new(report))) }
    }
}

/// What the writers made.
struct Written {
    /// Per child: segments and bytes.
    children: Vec<(usize, u64)>,
    /// Where hash sidecars are staged.
    sidecars: Vec<PathBuf>,
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
