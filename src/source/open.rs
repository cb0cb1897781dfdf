//! An index opened for reading: the lock, then `meta.json`, then every file, checked and mapped. Several indexes can be
//! opened as one: that is how shards are merged.

use std::path::{Path, PathBuf};

use tantivy::Index;
use tantivy::schema::Schema;

use super::directory::MappedDirectory;
use super::guard::guard;
use super::lock::{self, LockMode};
use super::meta::{META, Meta};
use super::preflight;
use super::segment::Segment;
use super::unite::unite;
use crate::error::{Error, Result};

/// An index opened for reading, or several of one kind as one.
pub struct Source {
    dir: PathBuf,
    dirs: Vec<PathBuf>,
    /// By directory.
    metas: Vec<Meta>,
    meta: Meta,
    index: Index,
    segments: Vec<Segment>,
    notes: Vec<String>,
    /// Held until the source is dropped.
    _locks: Vec<lock::WriterLock>,
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
        let dir = dir.as_ref().to_path_buf();
        let opened = Opened::open(dir.clone(), lock, None).map_err(of_the_source)?;
        let Opened { dir: _, meta, index, segments, notes, lock } = opened;
        let (dirs, metas, locks) = (vec![dir.clone()], vec![meta.clone()], lock.into_iter().collect());
        Ok(Source { dir, dirs, metas, meta, index, segments, notes, _locks: locks })
    }

    /// Opens the indexes in `dirs` as one source: the segments of the first, then those of the second, and so on. Their
    /// ids may repeat, as they do in children that were linked to one parent; [`Segment::origin`] says whose a segment is.
    ///
    /// # Errors
    /// Those of [`Source::open`] for any of them; [`Error::Unlike`] if they do not go together: other schema, settings or
    /// another unknown key of `meta.json`; [`Error::Usage`] if there are none.
    pub fn open_all<P: AsRef<Path>>(dirs: &[P], lock: LockMode) -> Result<Source> {
        let dirs: Vec<PathBuf> = dirs.iter().map(|dir| dir.as_ref().to_path_buf()).collect();
        let mut opened = Vec::with_capacity(dirs.len());
        for (origin, dir) in dirs.iter().enumerate() {
            opened.push(Opened::open(dir.clone(), lock, Some(origin)).map_err(of_the_source)?);
        }
        let metas: Vec<(&Path, &Meta)> = opened.iter().map(|one| (one.dir.as_path(), &one.meta)).collect();
        let (meta, mut notes) = unite(&metas)?;
        let mut parts = opened.into_iter();
        let Some(first) = parts.next() else { return Err(Error::Usage("no directory was named".to_owned())) };
        let Opened { dir, meta: first, index, mut segments, notes: mut all, lock } = first;
        let mut metas = vec![first];
        let mut locks: Vec<lock::WriterLock> = lock.into_iter().collect();
        for part in parts {
            metas.push(part.meta);
            segments.extend(part.segments);
            all.extend(part.notes);
            locks.extend(part.lock);
        }
        all.append(&mut notes);
        // What holds them all, where they stand side by side.
        let dir = match dir.parent() {
            Some(parent) if dirs.len() > 1 && dirs.iter().all(|dir| dir.parent() == Some(parent)) => {
                parent.to_path_buf()
            }
            _ => dir,
        };
        Ok(Source { dir, dirs, metas, meta, index, segments, notes: all, _locks: locks })
    }

    /// The index directory, as given; of several, the one that holds them, or the first.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The index directories, as given: one, or several in the order of their segments.
    #[must_use]
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// The segments of one of [`Source::dirs`].
    pub fn segments_of(&self, origin: usize) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(move |segment| segment.origin() == origin)
    }

    /// `meta.json` of each of [`Source::dirs`], as it was read.
    #[must_use]
    pub fn metas(&self) -> &[Meta] {
        &self.metas
    }

    /// `meta.json` as it was read; of several, what describes them together: the segments of all, the greatest opstamp, the
    /// payload if they agree about it.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The index as tantivy sees it, over the mapped files, read-only. Of several, the first: settings and schema are
    /// those of all, segments are not.
    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> Schema {
        self.index.schema()
    }

    /// The segments in the order of `meta.json`, directory by directory.
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

/// One directory, opened.
struct Opened {
    dir: PathBuf,
    meta: Meta,
    index: Index,
    segments: Vec<Segment>,
    notes: Vec<String>,
    lock: Option<lock::WriterLock>,
}

impl Opened {
    /// `origin`: which of several directories it is.
    fn open(dir: PathBuf, lock: LockMode, origin: Option<usize>) -> Result<Opened> {
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
            segments.push(Segment::open(&dir, origin, &index, segment, checked)?);
        }
        Ok(Opened { dir, meta, index, segments, notes, lock })
    }
}

/// Nothing but reading happens here, and what cannot be read is a matter of the source.
fn of_the_source(error: Error) -> Error {
    match error {
        Error::Io { operation, path, source } => Error::Unreadable { operation, path, source },
        other => other,
    }
}
