//! An index opened for reading: the lock, then `meta.json`, then every file, checked and mapped.

use std::path::{Path, PathBuf};

use tantivy::Index;
use tantivy::schema::Schema;

use super::directory::MappedDirectory;
use super::guard::guard;
use super::lock::{self, LockMode};
use super::meta::{META, Meta};
use super::preflight;
use super::segment::Segment;
use crate::error::{Error, Result};

/// An index opened for reading.
pub struct Source {
    dir: PathBuf,
    meta: Meta,
    index: Index,
    segments: Vec<Segment>,
    notes: Vec<String>,
    /// Held until the source is dropped.
    _lock: Option<lock::WriterLock>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("dir", &self.dir).field("segments", &self.segments.len()).finish_non_exhaustive()
    }
}

impl Source {
    /// Opens the index in `dir`.
    ///
    /// # Errors
    /// [`Error::NotAnIndex`], [`Error::SourceLocked`], [`Error::MissingFiles`], [`Error::Unsupported`],
    /// [`Error::Corrupt`], [`Error::Panic`], [`Error::Unreadable`]: whatever would make a split of this index fail later.
    pub fn open(dir: impl AsRef<Path>, lock: LockMode) -> Result<Source> {
        Self::open_inner(dir.as_ref().to_path_buf(), lock).map_err(|error| match error {
            // Nothing but reading happens here, and what cannot be read is a matter of the source.
            Error::Io { operation, path, source } => Error::Unreadable { operation, path, source },
            other => other,
        })
    }

    fn open_inner(dir: PathBuf, lock: LockMode) -> Result<Source> {
        let mut notes = Vec::new();
        // ORDER: lock first; a writer that still runs could replace meta.json between our reads.
        let lock = lock::acquire(&dir, lock, &mut notes)?;
        let meta = Meta::read(&dir)?;
        let checked = preflight::map_and_check(&dir, &meta, &mut notes)?;
        let stores = checked.stores();
        let directory = MappedDirectory::new(checked.files, stores, meta.bytes().to_vec());
        let index = guard(&dir, "the index", || Index::open(directory).map_err(Error::tantivy("the index", &dir)))?;
        let metas = index.searchable_segment_metas().map_err(Error::tantivy(META, &dir))?;
        let mut segments = Vec::with_capacity(metas.len());
        for (segment, checked) in metas.iter().zip(checked.segments) {
            segments.push(Segment::open(&dir, &index, segment, checked)?);
        }
        Ok(Source { dir, meta, index, segments, notes, _lock: lock })
    }

    /// The index directory, as given.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// `meta.json` as it was read.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The index as tantivy sees it, over the mapped files, read-only.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> Schema {
        self.index.schema()
    }

    /// The segments in the order of `meta.json`.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Live documents over all segments.
    #[must_use]
    pub fn num_docs(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.num_docs())).sum()
    }

    /// Deleted documents over all segments.
    #[must_use]
    pub fn num_deleted(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.max_doc() - segment.num_docs())).sum()
    }

    /// Bytes of all segment files.
    #[must_use]
    pub fn num_bytes(&self) -> u64 {
        self.segments.iter().map(Segment::num_bytes).sum()
    }

    /// What an operator should know: no lock could be taken, files that `meta.json` does not name.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}
