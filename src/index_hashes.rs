//! Hash sidecars beside the segments of any index: the one thing that is ever written into a source, on request only.
//!
//! Input: an index directory and its key fields. Output: a sidecar per segment with live documents, so that splits of this
//! index hash nothing. Files are added and none of the index's own is touched: tantivy does not see them. Each is written
//! under a hidden name, synced, and renamed; a sidecar that is there and sound is left alone, one that cannot be used is
//! replaced. Nobody may write to the index or split it meanwhile.
//!
//! Checksums are compared first, which reads every file once: hashes of keys that rotted must not be bound to the
//! checksums of sound ones. Memory: 8 bytes per document of the segments at hand.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::{Error, Result};
use crate::partition::{KeyReading, KeySpec, hash_segment};
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::publish::FileSystem;
use crate::route::RoutingFunction;
use crate::source::{Found, HashedBy, LockMode, PARTIAL_SIDECAR, Segment, Source};
use crate::threads;
use crate::write::SidecarWriter;

/// What to hash.
#[derive(Clone, Debug)]
pub struct IndexHashes {
    /// Index directory.
    pub index: PathBuf,
    /// Fields that decide where documents go.
    pub keys: KeySpec,
    /// Routing function, which says how keys are hashed.
    pub function: RoutingFunction,
    /// routing_partition_size of the index; 1: none.
    pub routing_partition_size: u32,
    /// Worker threads; 0: one per core.
    pub threads: usize,
    /// [`LockMode::Exclusive`], unless the caller answers for it that nobody writes or splits.
    pub lock: LockMode,
}

/// What became of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SidecarAction {
    /// A sidecar was written.
    Written,
    /// One that could not be used was replaced.
    Replaced,
    /// A sound one was there.
    Kept,
    /// No document is alive.
    Skipped,
}

/// One segment.
#[derive(Clone, Debug, Serialize)]
pub struct IndexedSegment {
    /// Segment id.
    pub segment: String,
    /// Live documents.
    pub docs: u32,
    /// Name of the sidecar.
    pub file: String,
    /// What was done.
    pub action: SidecarAction,
    /// Which planes were read; empty if none was.
    pub key_readings: Vec<KeyReading>,
}

/// What was done.
#[derive(Clone, Debug, Serialize)]
pub struct IndexHashesReport {
    /// Index directory.
    pub index: PathBuf,
    /// How keys were hashed.
    pub by: HashedBy,
    /// The segments in the order of `meta.json`.
    pub segments: Vec<IndexedSegment>,
    /// Keys that were hashed.
    pub keys_hashed: u64,
    /// What an operator should know.
    pub notes: Vec<String>,
}

impl IndexHashes {
    /// For the index in `index`, with the defaults of a split.
    #[must_use]
    pub fn new(index: impl Into<PathBuf>, key: impl Into<String>) -> IndexHashes {
        IndexHashes {
            index: index.into(),
            keys: KeySpec { key: key.into(), routing_field: None },
            function: RoutingFunction::default(),
            routing_partition_size: 1,
            threads: 0,
            lock: LockMode::Exclusive,
        }
    }

    /// Writes what is missing.
    ///
    /// # Errors
    /// Those of [`Source::open`]; [`Error::Corrupt`] if a file does not have its checksum; [`Error::Field`];
    /// [`Error::Usage`] for partitioned routing without a routing field; [`Error::Io`]; [`Error::Interrupted`]. Sidecars
    /// finished before stay, and are sound.
    pub fn run(&self, fs: &dyn FileSystem, progress: &dyn Progress, cancel: &Cancel) -> Result<IndexHashesReport> {
        if self.routing_partition_size > 1 && self.keys.routing_field.is_none() {
            return Err(Error::Usage(format!(
                "routing_partition_size {} needs --routing-field: both the routing value and the id decide where a document goes",
                self.routing_partition_size
            )));
        }
        let source = Source::open(&self.index, self.lock)?;
        if let Some(damage) = source.check_checksums(self.threads, Stage::Open, progress, cancel)?.first() {
            return Err(Error::corrupt(source.dir().join(&damage.file), damage.to_string()));
        }
        let by = self.keys.hashed_by(self.function.hash_name(), self.routing_partition_size);
        progress.begin(Stage::Route, Work::docs(source.num_docs()));
        let segments: Vec<&Segment> = source.segments().iter().collect();
        let done =
            threads::each(&segments, self.threads, |segment| self.segment(&source, segment, &by, fs, progress, cancel));
        progress.end(Stage::Route);
        // CRASH: sidecars that are there are whole, whether their names last or not.
        fs.sync_dir(source.dir()).map_err(Error::io("sync", source.dir()))?;
        let segments = done?;
        let keys_hashed = segments.iter().flat_map(|segment| &segment.key_readings).map(|reading| reading.hashed).sum();
        let notes = source.notes().to_vec();
        Ok(IndexHashesReport { index: self.index.clone(), by, segments, keys_hashed, notes })
    }

    fn segment(
        &self,
        source: &Source,
        segment: &Segment,
        by: &HashedBy,
        fs: &dyn FileSystem,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<IndexedSegment> {
        let file = by.file_name(segment.id());
        let done = |action, key_readings| IndexedSegment {
            segment: segment.id().to_owned(),
            docs: segment.num_docs(),
            file: file.clone(),
            action,
            key_readings,
        };
        if segment.num_docs() == 0 {
            return Ok(done(SidecarAction::Skipped, Vec::new()));
        }
        let action = match segment.sidecar(by) {
            Found::Sidecar(_) => return Ok(done(SidecarAction::Kept, Vec::new())),
            Found::Unusable(_) => SidecarAction::Replaced,
            Found::Absent => SidecarAction::Written,
        };
        cancel.check()?;
        let (hashes, readings) = hash_segment(
            source,
            segment,
            &self.keys,
            (self.function.hash_function(), self.routing_partition_size),
            progress,
            cancel,
        )?;
        let path = segment.path().with_file_name(&file);
        let hidden = path.with_file_name(format!("{file}{PARTIAL_SIDECAR}"));
        // Left by a run that was killed; the lock says that it is nobody's now.
        remove(fs, &hidden)?;
        let written = fs
            .create(&hidden)
            .map_err(Error::io("create", &hidden))
            .and_then(|sink| {
                SidecarWriter::new(sink, by, segment.id(), segment.max_doc())?.whole(&hashes, segment.bound())
            })
            .and_then(|_| if action == SidecarAction::Replaced { remove(fs, &path) } else { Ok(()) })
            // CRASH: a hidden file, which the next run removes; the name is free, or still the old one's.
            .and_then(|()| fs.rename_noreplace(&hidden, &path).map_err(Error::io("create", &path)));
        if let Err(error) = written {
            // What cannot be removed either is removed by the next run.
            let _ = remove(fs, &hidden);
            return Err(error);
        }
        Ok(done(action, readings))
    }
}

/// Removes a name if it is there.
fn remove(fs: &dyn FileSystem, path: &Path) -> Result<()> {
    match fs.remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(Error::io("remove", path)),
    }
}
