//! A whole index: all shards are split, merged or cloned together, or documents move between them, and the new set is
//! published at once.
//!
//! Input: an [`IndexJob`] on an index directory. [`IndexJob::prepare`] takes the writer locks of all shards, opens one part
//! (a shard, or the shards that become one) after the other, routes and plans it and lets go of it again, and refuses on
//! any problem; it writes nothing. [`PreparedIndex::execute`] then takes part after part through writing and verification
//! in one staging directory, and publishes with one rename.
//!
//! Invariants: what was planned with must still be there when its turn comes, or nothing is published. Cost: keys are
//! read twice, once to plan and once to write. Memory: the bound of one part at a time, or of
//! [`parallel`](IndexJob::parallel) parts, and the lineage of all.

mod check;
mod execute;
pub(super) mod pin;
mod plan;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::part::Options;
use crate::error::{Error, Result};
use crate::limits::Need;
use crate::partition::{KeyPolicies, MAX_DOCS_PER_SEGMENT, Placement, SegmentMode};
use crate::plan::Method;
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::publish::{FileSystem, IndexDirectory, RealFs, check_free};
use crate::report::{IndexReport, Stopwatch};
use crate::route::{Resize, RoutingTable, SplitRouting};
use crate::source::{LockMode, Meta, Source, WriterLock, acquire, unite};
use crate::threads;
use crate::verify::VerifyLevel;

pub use check::IndexVerifyJob;
pub use execute::PreparedIndex;
use plan::{PartJob, Planned, check_policies, live, plan_of, plan_part};

/// What becomes of the shards of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Every shard becomes so many.
    Split {
        /// Children per shard.
        into: u32,
        /// number_of_routing_shards of the new index, which only an index of one shard can choose; `None`:
        /// Elasticsearch's default there, what it is everywhere else.
        number_of_routing_shards: Option<u32>,
    },
    /// Shards go together, so that so many are left.
    Merge {
        /// Shards of the new index.
        into: u32,
    },
    /// Every shard becomes one: compacted by a rewrite, shared by links.
    Clone,
    /// Documents move between shards, from the table of the index to [`IndexJob::to`]. By links what stays in its shard is
    /// shared, and only what arrives in another is written; by a rewrite all is written.
    Move,
}

/// Everything that a split, merge, clone or move of a whole index needs to know. Routing and keys stand in its routing file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexJob {
    /// Index directory: a routing file and its shards.
    pub source: PathBuf,
    /// Directory to make; shards stand at `out/<shard number>`, with a routing file beside them.
    pub out: PathBuf,
    /// What is done.
    pub change: Change,
    /// The table of the new index, of a [`Change::Move`]; `None` for any other change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Box<RoutingTable>>,
    /// What to do with documents that cannot be placed. A policy that names a shard holds for the part which that shard is
    /// made of; other parts refuse.
    pub policies: KeyPolicies,
    /// Rewrite or link.
    pub method: Method,
    /// Segment layout of children (rewrite only).
    pub segments: SegmentMode,
    /// Most documents per child segment.
    pub max_docs_per_segment: u32,
    /// How much is verified before publishing.
    pub verify: VerifyLevel,
    /// Worker threads over all parts; 0 means one per core. The bytes written do not depend on it.
    pub threads: usize,
    /// Parts that are worked on side by side; 0 counts as 1. Memory grows with it, the bytes written do not depend on it.
    pub parallel: usize,
    /// Whether to take the writer locks of the shards.
    pub lock: LockMode,
}

impl IndexJob {
    /// A job with the defaults: rewrite, one segment per child, full verification, all cores, one part at a time.
    #[must_use]
    pub fn new(source: impl Into<PathBuf>, out: impl Into<PathBuf>, change: Change) -> IndexJob {
        IndexJob {
            source: source.into(),
            out: out.into(),
            change,
            to: None,
            policies: KeyPolicies::default(),
            method: Method::default(),
            segments: SegmentMode::default(),
            max_docs_per_segment: MAX_DOCS_PER_SEGMENT,
            verify: VerifyLevel::default(),
            threads: 0,
            parallel: 1,
            lock: LockMode::default(),
        }
    }

    /// A job that takes an index that is routed by a table to another one, with the defaults of [`IndexJob::new`], but by
    /// links: what stays in its shard is not written again.
    #[must_use]
    pub fn moved(source: impl Into<PathBuf>, out: impl Into<PathBuf>, to: RoutingTable) -> IndexJob {
        let job = IndexJob::new(source, out, Change::Move);
        IndexJob { to: Some(Box::new(to)), method: Method::Link, ..job }
    }

    /// Opens, routes and plans all shards. Writes nothing.
    ///
    /// # Errors
    /// Whatever would make the job fail later, as far as it can be known: [`Error::IndexDirectory`], [`Error::Route`],
    /// [`Error::Unlike`], and those of [`super::Job::prepare`] for any of the shards.
    pub fn prepare(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<PreparedIndex> {
        self.prepare_on(Arc::new(RealFs), progress, cancel)
    }

    /// [`IndexJob::prepare`] with another file system to write to: one that fails on purpose.
    ///
    /// # Errors
    /// Those of [`IndexJob::prepare`].
    pub fn prepare_on(
        &self,
        fs: Arc<dyn FileSystem>,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<PreparedIndex> {
        check_free(fs.as_ref(), &self.out)?;
        let watch = Stopwatch::start();
        let directory = open(&self.source)?;
        let resize = resize(&directory, self)?;
        let keys = directory.routing().keys();
        check_policies(&resize, &self.policies)?;

        let mut notes = directory.notes().to_vec();
        let shards: Vec<PathBuf> = resize.shards_before().into_iter().map(|shard| directory.shard(shard)).collect();
        // ORDER: all locks before anything is read, and until all is published: an index is split as it is at one moment.
        let mut locks: Vec<WriterLock> = Vec::new();
        for shard in &shards {
            locks.extend(acquire(shard, self.lock, &mut notes).map_err(unreadable)?);
        }
        let metas = shards.iter().map(|shard| Meta::read(shard).map_err(unreadable)).collect::<Result<Vec<_>>>()?;
        let kinds: Vec<(&Path, &Meta)> = shards.iter().map(PathBuf::as_path).zip(&metas).collect();
        unite(&kinds)?;
        drop(kinds);

        let parallel = self.parallel.clamp(1, resize.parts().len().max(1));
        let options = Options {
            keys,
            placement: Placement::Hash,
            policies: self.policies,
            method: self.method,
            segments: self.segments,
            max_docs_per_segment: self.max_docs_per_segment,
            verify: self.verify,
            threads: threads::number(self.threads).div_ceil(parallel),
        };
        progress.begin(Stage::Route, Work::docs(metas.iter().map(live).sum()));
        drop(metas);
        let silent = Inner { progress, stages: &[Stage::Route] };
        let routed = threads::each(resize.parts(), parallel, |routing| {
            cancel.check()?;
            plan_part(&directory, routing, &options, &silent, cancel)
        })?;
        progress.end(Stage::Route);

        let (parts, planned): (Vec<PartJob>, Vec<Planned>) = routed.into_iter().unzip();
        let mut needs: Vec<Need> = parts.iter().map(|part| part.need).collect();
        needs.sort_by_key(|need| std::cmp::Reverse(need.files.max(need.maps)));
        needs.into_iter().take(parallel).fold(Need::default(), Need::and).check()?;
        let plan = plan_of(self, &resize, &options, planned, notes);
        let times = vec![watch.stop(Stage::Route)];
        let prepared = PreparedIndex {
            job: self.clone(),
            options,
            parallel,
            fs,
            directory,
            resize,
            parts,
            plan,
            times,
            _locks: locks,
        };
        prepared.check_staging()?;
        Ok(prepared)
    }

    /// Prepares and executes.
    ///
    /// # Errors
    /// Those of [`IndexJob::prepare`] and [`PreparedIndex::execute`].
    pub fn run(&self, progress: &dyn Progress, cancel: &Cancel) -> Result<IndexReport> {
        self.prepare(progress, cancel)?.execute(progress, cancel)
    }
}

/// The index directory at `path`.
fn open(path: &Path) -> Result<IndexDirectory> {
    IndexDirectory::open(path)?.ok_or_else(|| Error::IndexDirectory {
        path: path.to_path_buf(),
        problem:
            "it has no routing.json beside its shards, or is itself an index; to split a single index use `split` with \
                  --key, to make a routing.json see the README"
                .to_owned(),
    })
}

fn resize(directory: &IndexDirectory, job: &IndexJob) -> Result<Resize> {
    let (before, change) = (directory.routing().routing(), job.change);
    if job.to.is_some() != (change == Change::Move) {
        return Err(Error::Usage("a move, and nothing else, needs the table of the new index".to_owned()));
    }
    if let Some(to) = &job.to {
        let Some(table) = directory.routing().table() else {
            return Err(Error::IndexDirectory {
                path: directory.path().to_path_buf(),
                problem: format!(
                    "its routing.json says {} routing, and documents move from one table to another; merge the index into one \
                     shard, and split that by the new table",
                    before.function.name()
                ),
            });
        };
        return Ok(Resize::moved(table, &Arc::new((**to).clone()), before.routing_partition_size)?);
    }
    if let Some(table) = directory.routing().table() {
        let partition_size = before.routing_partition_size;
        return Ok(match change {
            Change::Split { number_of_routing_shards: Some(asked), .. }
                if Some(asked) != before.number_of_routing_shards =>
            {
                return Err(Error::Usage(format!(
                    "--number-of-routing-shards {asked} contradicts routing.json: a table stays as fine as it is; leave the flag away"
                )));
            }
            Change::Split { into, .. } => Resize::split_table(table, partition_size, into)?,
            Change::Merge { into } => Resize::merge_table(table, partition_size, into)?,
            Change::Clone | Change::Move => Resize::clone_table(table, partition_size)?,
        });
    }
    Ok(match change {
        Change::Split { into, number_of_routing_shards } => Resize::split(before, into, number_of_routing_shards)?,
        Change::Merge { into } => Resize::merge(before, into)?,
        Change::Clone | Change::Move => Resize::cloned(before)?,
    })
}

/// Opens the sources of a part. Their locks are held already.
fn open_part(directory: &IndexDirectory, routing: &SplitRouting) -> Result<Source> {
    let dirs: Vec<PathBuf> = routing.sources().iter().map(|&shard| directory.shard(shard)).collect();
    Source::open_all(&dirs, LockMode::None)
}

/// Nothing but reading happens here.
fn unreadable(error: Error) -> Error {
    match error {
        Error::Io { operation, path, source } => Error::Unreadable { operation, path, source },
        other => other,
    }
}

/// Passes on what parts advance in `stages`; that they begin and end concerns the whole index.
struct Inner<'a> {
    progress: &'a dyn Progress,
    stages: &'a [Stage],
}

impl Progress for Inner<'_> {
    fn advance(&self, stage: Stage, done: Work) {
        if self.stages.contains(&stage) {
            self.progress.advance(stage, done);
        }
    }
}
