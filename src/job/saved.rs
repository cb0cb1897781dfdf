//! Saved plans: what was planned is written down, and later run exactly so, or refused.
//!
//! A file of pretty JSON with one object:
//!
//! | key | value |
//! |---|---|
//! | `format` | 1 |
//! | `tool` | program and version that planned |
//! | `job` | `shard` or `index`, and everything the job was asked; paths are absolute |
//! | `parts` | per source and its children: segments, opstamp and all checksums of the source, `meta.json` as length and checksum, the census, the segments of the children |
//!
//! What is read is distrusted: its size is bounded, an unknown format or key is refused, paths must be absolute and plain.
//! It can name nothing but a source to read and a target that must not exist.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Job;
use super::execute::Prepared;
use super::index::pin::{Pin, difference};
use super::index::{IndexJob, PreparedIndex};
use crate::error::{Error, Result};
use crate::partition::Census;
use crate::progress::{Cancel, Progress};
use crate::publish::layout::is_segment_id;
use crate::publish::{PartRecord, RealFs, SourceLineage, StagedChild, read_plan_file, write_plan_file};
use crate::report::{IndexReport, SplitReport};

const FORMAT: u32 = 1;

/// A plan that was written down.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedPlan {
    format: u32,
    tool: String,
    job: SavedJob,
    parts: Vec<SavedPart>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedJob {
    Shard(Job),
    Index(IndexJob),
}

/// Sources and their children, as planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SavedPart {
    sources: Vec<SourceLineage>,
    metas: Pin,
    census: Census,
    children: Vec<StagedChild>,
}

impl SavedPart {
    pub(super) fn new(record: &PartRecord, metas: Pin) -> SavedPart {
        let PartRecord { sources, census, children } = record.clone();
        SavedPart { sources, metas, census, children }
    }

    /// Fails if what is there now is not what was planned with.
    fn check(&self, now: &SavedPart) -> Result<(), Changed> {
        if self.sources.len() != now.sources.len() {
            return Err(Changed::Source(None, "it has another number of shards".to_owned()));
        }
        for (at, (before, after)) in self.sources.iter().zip(&now.sources).enumerate() {
            let problem = difference(before, after);
            let problem = problem
                .or_else(|| self.metas.differs(&now.metas, at).then(|| "its meta.json was rewritten".to_owned()));
            if let Some(problem) = problem {
                return Err(Changed::Source(Some(PathBuf::from(&after.dir)), problem));
            }
        }
        if self.census != now.census {
            return Err(Changed::Plan("documents would go to other children than it says"));
        }
        if self.children != now.children {
            return Err(Changed::Plan("other segments would be written than it says"));
        }
        Ok(())
    }

    fn problem(&self) -> Option<String> {
        let ids = self.children.iter().flat_map(|child| &child.segments);
        let ids = ids.chain(self.sources.iter().flat_map(|source| &source.segments).map(|segment| &segment.id));
        let wrong = ids.into_iter().find(|id| !is_segment_id(id)).map(|id| format!("{id:?} is not a segment id"));
        wrong.or_else(|| {
            let absolute = |source: &&SourceLineage| !is_plain(Path::new(&source.dir));
            self.sources.iter().find(absolute).map(|source| format!("{:?} is not a plain absolute path", source.dir))
        })
    }
}

enum Changed {
    Source(Option<PathBuf>, String),
    Plan(&'static str),
}

/// A saved plan that still holds; its source is open and locked.
#[derive(Debug)]
pub enum PreparedPlan {
    /// A split of a single shard.
    Shard(Box<Prepared>),
    /// A split, merge or clone of a whole index.
    Index(Box<PreparedIndex>),
}

/// What running a saved plan gave.
#[derive(Debug)]
pub enum PlanReport {
    /// Of a single shard.
    Shard(Box<SplitReport>),
    /// Of a whole index.
    Index(Box<IndexReport>),
}

impl SavedPlan {
    /// Reads a plan.
    ///
    /// # Errors
    /// [`Error::PlanFile`] if it is absent, too large, of another format or contradicts itself; [`Error::Io`].
    pub fn read(path: &Path) -> Result<SavedPlan> {
        let bytes = read_plan_file(&RealFs, path)?;
        SavedPlan::parse(&bytes).map_err(|problem| Error::PlanFile { path: path.to_path_buf(), problem })
    }

    /// Program and version that planned.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Where the job reads.
    #[must_use]
    pub fn source(&self) -> &Path {
        match &self.job {
            SavedJob::Shard(job) => &job.source,
            SavedJob::Index(job) => &job.source,
        }
    }

    /// What the job makes.
    #[must_use]
    pub fn out(&self) -> &Path {
        match &self.job {
            SavedJob::Shard(job) => &job.out,
            SavedJob::Index(job) => &job.out,
        }
    }

    /// Plans once more, and compares with what was planned then. Writes nothing.
    ///
    /// # Errors
    /// [`Error::SourceChanged`] if the source is not what was planned with; [`Error::TargetExists`] if the target was
    /// taken meanwhile; [`Error::PlanFile`] (with `path`) if this program would do something else than the plan says; those
    /// of [`Job::prepare`] and [`IndexJob::prepare`].
    pub fn prepare(&self, path: &Path, progress: &dyn Progress, cancel: &Cancel) -> Result<PreparedPlan> {
        let (prepared, now) = match &self.job {
            SavedJob::Shard(job) => {
                let pin = self.parts.first().map(|part| (&part.metas, part.sources.as_slice()));
                let prepared = job.prepare_pinned(Arc::new(RealFs), pin, progress, cancel)?;
                let now = vec![prepared.saved()?];
                (PreparedPlan::Shard(Box::new(prepared)), now)
            }
            SavedJob::Index(job) => {
                let prepared = job.prepare(progress, cancel)?;
                let now = prepared.saved();
                (PreparedPlan::Index(Box::new(prepared)), now)
            }
        };
        let same = if self.parts.len() == now.len() {
            self.parts.iter().zip(&now).try_for_each(|(before, after)| before.check(after))
        } else {
            Err(Changed::Source(None, "it has another number of shards".to_owned()))
        };
        match same {
            Ok(()) => Ok(prepared),
            Err(Changed::Source(dir, problem)) => {
                Err(Error::SourceChanged { path: dir.unwrap_or_else(|| self.source().to_path_buf()), problem })
            }
            Err(Changed::Plan(problem)) => {
                let problem = format!("{problem} (it was made by {}); plan again", self.tool);
                Err(Error::PlanFile { path: path.to_path_buf(), problem })
            }
        }
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<SavedPlan, String> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
            tool: String,
        }
        let unparsed = |error: serde_json::Error| format!("it does not parse: {error}");
        // The version first: a later format may not parse as this one, and the message should say why.
        let Version { format, tool } = serde_json::from_slice(bytes).map_err(unparsed)?;
        if format != FORMAT {
            return Err(format!(
                "format {format} (written by {tool:?}) is not known here, format {FORMAT} is; plan again"
            ));
        }
        let plan: SavedPlan = serde_json::from_slice(bytes).map_err(unparsed)?;
        for path in [plan.source(), plan.out()] {
            if !is_plain(path) {
                return Err(format!("{} is not a plain absolute path", path.display()));
            }
        }
        if plan.parts.is_empty() || (matches!(plan.job, SavedJob::Shard(_)) && plan.parts.len() != 1) {
            return Err(format!("it has {} parts", plan.parts.len()));
        }
        match plan.parts.iter().find_map(SavedPart::problem) {
            Some(problem) => Err(problem),
            None => Ok(plan),
        }
    }

    fn write(self, path: &Path) -> Result<SavedPlan> {
        let bytes = serde_json::to_vec_pretty(&self);
        let mut bytes =
            bytes.map_err(|error| Error::PlanFile { path: path.to_path_buf(), problem: error.to_string() })?;
        bytes.push(b'\n');
        write_plan_file(&RealFs, path, &bytes)?;
        Ok(self)
    }

    fn new(job: SavedJob, parts: Vec<SavedPart>) -> SavedPlan {
        SavedPlan { format: FORMAT, tool: concat!("shardsplit ", env!("CARGO_PKG_VERSION")).to_owned(), job, parts }
    }
}

impl PreparedPlan {
    /// Writes, verifies, publishes.
    ///
    /// # Errors
    /// Those of [`Prepared::execute`] and [`PreparedIndex::execute`].
    pub fn execute(self, progress: &dyn Progress, cancel: &Cancel) -> Result<PlanReport> {
        Ok(match self {
            PreparedPlan::Shard(prepared) => PlanReport::Shard(Box::new(prepared.execute(progress, cancel)?)),
            PreparedPlan::Index(prepared) => PlanReport::Index(Box::new(prepared.execute(progress, cancel)?)),
        })
    }
}

impl Prepared {
    /// Writes the plan down at `path`, where nothing may stand, pinned to the source as it is now.
    ///
    /// # Errors
    /// [`Error::PlanFile`] if something stands there, or if a path is not UTF-8; [`Error::Io`].
    pub fn save(&self, path: &Path) -> Result<SavedPlan> {
        let (source, out) = absolute(&self.job.source, &self.job.out)?;
        let job = Job { source, out, ..self.job.clone() };
        SavedPlan::new(SavedJob::Shard(job), vec![self.saved()?]).write(path)
    }

    fn saved(&self) -> Result<SavedPart> {
        Ok(SavedPart::new(&self.part.record()?, Pin::of(&self.part.source)))
    }
}

impl PreparedIndex {
    /// Writes the plan down at `path`, where nothing may stand, pinned to all shards as they are now.
    ///
    /// # Errors
    /// As [`Prepared::save`].
    pub fn save(&self, path: &Path) -> Result<SavedPlan> {
        let (source, out) = absolute(&self.job.source, &self.job.out)?;
        let job = IndexJob { source, out, ..self.job.clone() };
        SavedPlan::new(SavedJob::Index(job), self.saved()).write(path)
    }

    fn saved(&self) -> Vec<SavedPart> {
        self.parts.iter().map(|part| SavedPart::new(&part.record, part.pin.clone())).collect()
    }
}

/// Both paths as any process finds them.
fn absolute(source: &Path, out: &Path) -> Result<(PathBuf, PathBuf)> {
    let resolve = |path: &Path| std::fs::canonicalize(path).map_err(Error::io("resolve", path));
    let layout = crate::publish::Layout::new(out)?;
    let parent = resolve(layout.parent())?;
    Ok((resolve(source)?, layout.out().file_name().map_or(parent.clone(), |name| parent.join(name))))
}

/// Absolute, without `.` and `..`.
fn is_plain(path: &Path) -> bool {
    path.is_absolute()
        && path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Prefix(_) | Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"format":1,"tool":"shardsplit 0.0.0","job":{"shard":{"source":"/a","out":"/b","split":{"function":"elasticsearch","from":1,"into":2,"source_shards":1,"source_shard":0,"number_of_routing_shards":null,"routing_partition_size":1},"keys":{"key":"id","routing_field":null},"placement":{"by":"hash"},"policies":{"missing":"refuse","stray":"refuse"},"method":"rewrite","segments":"one","max_docs_per_segment":5,"verify":"full","threads":0,"lock":"writer"}},"parts":[{"sources":[{"shard":0,"dir":"/a","opstamp":1,"segments":[]}],"metas":[[10,20]],"census":{"live":0,"deleted":0,"children":[0,0],"segments":[],"distinct_keys":0,"duplicate_keys":0,"missing_placed":0,"stray_placed":0},"children":[{"shard":0,"segments":["0123456789abcdef0123456789abcdef"]}]}]}"#;

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        SavedPlan::parse(GOOD.as_bytes()).unwrap();
        for (from, to, words) in [
            ("\"format\":1", "\"format\":2", "format 2 (written by \"shardsplit 0.0.0\") is not known"),
            ("\"out\":\"/b\"", "\"out\":\"b\"", "not a plain absolute path"),
            ("\"out\":\"/b\"", "\"out\":\"/a/../b\"", "not a plain absolute path"),
            ("\"source\":\"/a\"", "\"source\":\"/a/..\"", "not a plain absolute path"),
            ("\"dir\":\"/a\"", "\"dir\":\"../a\"", "not a plain absolute path"),
            ("0123456789abcdef0123456789abcdef", "../../../../etc/passwd", "is not a segment id"),
            ("\"tool\"", "\"more\":1,\"tool\"", "unknown field `more`"),
            ("\"threads\":0", "\"threads\":0,\"more\":1", "unknown field `more`"),
            ("\"threads\":0", "\"threads\":-1", "does not parse"),
            ("\"by\":\"hash\"", "\"by\":\"magic\"", "unknown variant"),
        ] {
            let changed = GOOD.replacen(from, to, 1);
            assert_ne!(changed, GOOD, "{from}");
            let problem = SavedPlan::parse(changed.as_bytes()).unwrap_err();
            assert!(problem.contains(words), "{to}: {problem}");
        }
        for bytes in [&b""[..], b"null", b"[]", b"{", b"\xff"] {
            assert!(SavedPlan::parse(bytes).unwrap_err().contains("does not parse"), "{bytes:?}");
        }
    }
}
