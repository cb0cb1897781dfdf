//! Staging: children are written into a hidden directory beside the target, and one rename makes all of them visible.
//!
//! Input: the target, and what will be written ([`SplitRecord`]). Flow: [`Staging::create`], files through
//! [`ChildFiles`], [`Staging::add_index_files`] for each child, verification of what stands in [`Staging::child_dir`],
//! [`Staging::seal`], [`Staging::publish`].
//!
//! Invariants: the target is absent until the rename and complete after it. Whatever is made was announced in the
//! staging record first, so that it can be found and removed by name; a file that was not announced is refused. A value
//! that is dropped before the rename removes what it made. After a crash [`super::recover`] does the same, or finishes
//! the publish if the set was sealed.
//!
//! Cost: one sync per file as it is closed, one per directory.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::fs::{Access, FileSystem, Kind, Lock};
use super::layout::{Layout, MANAGED, MANIFEST, META, STAGING_RECORD, is_child_file, is_segment_id, partial};
use super::manifest::{
    ChildManifest, ChildSegment, FORMAT, RoutingRecord, SetChild, SetManifest, SourceLineage, StagedChild,
    StagingRecord, to_bytes, tool,
};
use super::removal::{Removal, remove_staging};
use crate::error::{Error, Result};
use crate::partition::{Census, SegmentMode};
use crate::plan::Method;
use crate::route::ShardNumber;
use crate::source::Meta;
use crate::verify::VerifyLevel;
use crate::write::{ChildFiles, Linked, OutputFile, WrittenFile, WrittenSegment, managed_json, meta_json};

/// What a run is going to write; all of it goes into manifests.
#[derive(Clone, Debug)]
pub struct SplitRecord {
    /// The source.
    pub source: SourceLineage,
    /// How documents are routed.
    pub routing: RoutingRecord,
    /// How children are made.
    pub method: Method,
    /// Segment layout.
    pub segments: SegmentMode,
    /// Documents per child and segment.
    pub census: Census,
    /// By child index: shard number, and the ids of the segments it may get.
    pub children: Vec<StagedChild>,
}

/// What verification of the staged children showed.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// How much was verified.
    pub level: VerifyLevel,
    /// Content digest of the source.
    pub digest: Option<String>,
    /// Content digests by child index; may be empty.
    pub children: Vec<Option<String>>,
}

/// A set that was made visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The target.
    pub path: PathBuf,
    /// What could not be tidied up afterwards; the set is complete all the same.
    pub notes: Vec<String>,
}

/// A set of children that nobody sees yet. Removed when dropped, unless it was published.
#[derive(Debug)]
pub struct Staging {
    fs: Arc<dyn FileSystem>,
    layout: Layout,
    record: SplitRecord,
    /// Manifests of finished children, by child index.
    finished: Vec<Option<SetChild>>,
    /// Held as long as the staging directory is ours.
    lock: Option<Lock>,
    sealed: bool,
    /// The staging directory is gone, or is left to `recover`.
    closed: bool,
}

impl Staging {
    /// Makes the staging directory for `out` and an empty directory for every child in it.
    ///
    /// # Errors
    /// [`Error::TargetExists`] if anything stands at `out`, a dangling symbolic link too; [`Error::StagingExists`] if
    /// another run is at work there or was stopped; [`Error::Usage`] if the directory that is to hold `out` does not
    /// exist or lies in the source; [`Error::Io`], also where the file system cannot lock files.
    pub fn create(fs: Arc<dyn FileSystem>, out: &Path, record: SplitRecord) -> Result<Staging> {
        let layout = Layout::new(out)?;
        check_target(fs.as_ref(), &layout, &record)?;
        match fs.create_dir(layout.staging(), Access::Owner) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(staging_exists(fs.as_ref(), &layout));
            }
            other => other.map_err(Error::io("create", layout.staging()))?,
        }
        // CRASH: an empty staging directory without a lock; `recover` removes it.
        let finished = record.children.iter().map(|_| None).collect();
        let mut staging = Staging { fs, layout, record, finished, lock: None, sealed: false, closed: false };
        staging.prepare()?;
        Ok(staging)
    }

    fn prepare(&mut self) -> Result<()> {
        let (fs, layout) = (self.fs.as_ref(), &self.layout);
        self.lock = fs.lock(&layout.lock()).map_err(Error::io("lock", layout.lock()))?;
        if self.lock.is_none() {
            // A `recover` got in between; the directory is its own now.
            self.closed = true;
            return Err(staging_exists(fs, layout));
        }
        // CRASH: an empty staging directory with a free lock; `recover` removes both.
        let record = StagingRecord { format: FORMAT, tool: tool(), children: self.record.children.clone() };
        let bytes = to_bytes(&layout.record(), &record)?;
        self.write_whole(layout.staging(), STAGING_RECORD, &bytes)?;
        // ORDER: the record is durable, and so is the way to it, before anything that it lists is made.
        self.sync_dir(layout.staging())?;
        self.sync_dir(layout.parent())?;
        // CRASH: from here until the seal the record says what may stand in `children`; `recover` removes it.
        let children = layout.children();
        fs.create_dir(&children, Access::Umask).map_err(Error::io("create", &children))?;
        for child in &self.record.children {
            let path = layout.staged_child(child.shard);
            fs.create_dir(&path, Access::Umask).map_err(Error::io("create", &path))?;
        }
        Ok(())
    }

    /// The paths of this run.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Where a child is staged; `None` if there is none with this index.
    #[must_use]
    pub fn child_dir(&self, child: usize) -> Option<PathBuf> {
        self.record.children.get(child).map(|staged| self.layout.staged_child(staged.shard))
    }

    /// Completes a child: writes `.managed.json`, the child manifest, and `meta.json` last. `segments` are those of
    /// this child, in the order in which `meta.json` shall name them.
    ///
    /// # Errors
    /// [`Error::Census`] if they do not hold as many documents as the census says; [`Error::Manifest`] if they belong
    /// to another child; [`Error::Io`].
    pub fn add_index_files(&mut self, child: usize, source: &Meta, segments: &[WrittenSegment]) -> Result<()> {
        let (shard, dir) = self.child(child)?;
        let refuse = |problem: String| Error::Manifest { path: dir.join(MANIFEST), problem };
        if let Some(other) = segments.iter().find(|segment| segment.child != child) {
            return Err(refuse(format!("segment {} belongs to child {}, not {child}", other.id, other.child)));
        }
        let docs = segments.iter().map(|segment| u64::from(segment.num_docs())).sum();
        let expected = self.record.census.children.get(child).copied().unwrap_or(0);
        if docs != expected {
            return Err(Error::Census { path: dir, live: expected, children: docs });
        }
        let (meta, managed) = (meta_json(source, segments)?, managed_json(segments)?);
        let mut files: Vec<WrittenFile> = segments.iter().flat_map(|segment| segment.files.iter().cloned()).collect();
        files.extend([written(META, &meta), written(MANAGED, &managed)]);
        files.sort();
        let manifest = ChildManifest {
            format: FORMAT,
            tool: tool(),
            shard,
            docs,
            routing: self.record.routing.clone(),
            method: self.record.method,
            source_segments: self.record.source.segments.iter().map(|segment| segment.id.clone()).collect(),
            segments: segments.iter().map(ChildSegment::from).collect(),
            files,
        };
        let manifest = to_bytes(&dir.join(MANIFEST), &manifest)?;
        self.write(&dir.join(MANAGED), &managed)?;
        self.write(&dir.join(MANIFEST), &manifest)?;
        // ORDER: without meta.json the directory is no index, so half a child cannot be opened by accident.
        self.write(&dir.join(META), &meta)?;
        let entry = SetChild { shard, docs, digest: None, manifest: written(MANIFEST, &manifest) };
        if let Some(finished) = self.finished.get_mut(child) {
            *finished = Some(entry);
        }
        Ok(())
    }

    /// Makes all children durable and seals the set: after a crash from here on `recover` publishes it.
    ///
    /// # Errors
    /// [`Error::Manifest`] if a child was not completed; [`Error::Io`].
    pub fn seal(&mut self, proof: &Proof) -> Result<()> {
        let dir = self.layout.children();
        let mut children = Vec::with_capacity(self.finished.len());
        for (index, finished) in self.finished.iter().enumerate() {
            let Some(mut child) = finished.clone() else {
                let problem = format!("child {index} was not completed");
                return Err(Error::Manifest { path: dir.join(MANIFEST), problem });
            };
            child.digest = proof.children.get(index).cloned().flatten();
            children.push(child);
        }
        children.sort_by_key(|child| child.shard);
        for child in &children {
            self.sync_dir(&self.layout.staged_child(child.shard))?;
        }
        self.sync_dir(&dir)?;
        self.sync_dir(self.layout.staging())?;
        // ORDER: every file, and the way to it, is durable before the seal says so.
        let manifest = SetManifest {
            format: FORMAT,
            tool: tool(),
            source: self.record.source.clone(),
            routing: self.record.routing.clone(),
            method: self.record.method,
            segments: self.record.segments,
            census: self.record.census.clone(),
            verified: proof.level,
            digest: proof.digest.clone(),
            children,
        };
        self.write_whole(&dir, MANIFEST, &to_bytes(&dir.join(MANIFEST), &manifest)?)?;
        // CRASH: the seal may or may not have lasted; either is whole, and `recover` removes or publishes accordingly.
        self.sync_dir(&dir)?;
        self.sealed = true;
        Ok(())
    }

    /// Makes the set visible at the target, durably, and removes the staging directory.
    ///
    /// # Errors
    /// [`Error::TargetExists`] if something was put there meanwhile; [`Error::Manifest`] without a seal; [`Error::Io`].
    /// If the parent directory could not be synced the set is visible nevertheless; `recover` repeats the sync.
    pub fn publish(mut self) -> Result<Published> {
        if !self.sealed {
            let problem = "the set is not sealed".to_owned();
            return Err(Error::Manifest { path: self.layout.children().join(MANIFEST), problem });
        }
        // CRASH: a sealed set; `recover` publishes it.
        rename_to_target(self.fs.as_ref(), &self.layout)?;
        self.closed = true;
        // CRASH: the target is whole; record, lock and an empty staging directory are left, `recover` removes them. If
        // the power fails the rename may be undone: a sealed set again.
        self.sync_dir(self.layout.parent())?;
        let mut notes = Vec::new();
        match remove_staging(self.fs.as_ref(), &self.layout, &[]) {
            Ok(removal) => notes.extend(removal.unknown.iter().map(|path| format!("{} was left", path.display()))),
            Err(error) => notes.push(format!("{} was left: {error}", self.layout.staging().display())),
        }
        Ok(Published { path: self.layout.out().to_path_buf(), notes })
    }

    /// Gives up: removes what was made, and says what was left.
    ///
    /// # Errors
    /// [`Error::Io`]; `recover` can try again.
    pub fn discard(mut self) -> Result<Removal> {
        self.remove()
    }

    fn remove(&mut self) -> Result<Removal> {
        self.closed = true;
        if self.lock.is_some() {
            return remove_staging(self.fs.as_ref(), &self.layout, &self.record.children);
        }
        // Without the lock the directory has nothing of ours in it.
        let staging = self.layout.staging();
        self.fs.remove_dir(staging).map_err(Error::io("remove", staging))?;
        Ok(Removal::default())
    }

    fn child(&self, child: usize) -> Result<(ShardNumber, PathBuf)> {
        let staged = self.record.children.get(child).ok_or_else(|| Error::Manifest {
            path: self.layout.record(),
            problem: format!("it announces {} children, none with index {child}", self.record.children.len()),
        })?;
        Ok((staged.shard, self.layout.staged_child(staged.shard)))
    }

    /// Path of a file of a child, if it was announced.
    fn announced(&self, child: usize, name: &str) -> Result<PathBuf> {
        let (_, dir) = self.child(child)?;
        let segments = self.record.children.get(child).map_or(&[][..], |staged| staged.segments.as_slice());
        if is_child_file(name, segments) {
            Ok(dir.join(name))
        } else {
            let problem =
                format!("it does not announce {name:?} for child {child}, so that could not be removed again");
            Err(Error::Manifest { path: self.layout.record(), problem })
        }
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let mut file = self.fs.create(path).map_err(Error::io("create", path))?;
        file.write_all(bytes).map_err(Error::io("write", path))?;
        file.close().map_err(Error::io("sync", path))
    }

    /// Writes a file that is never seen half.
    fn write_whole(&self, dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
        let (hidden, path) = (dir.join(partial(name)), dir.join(name));
        self.write(&hidden, bytes)?;
        self.fs.rename_noreplace(&hidden, &path).map_err(Error::io("create", &path))
    }

    fn sync_dir(&self, path: &Path) -> Result<()> {
        self.fs.sync_dir(path).map_err(Error::io("sync", path))
    }
}

/// The rename that publishes.
pub(super) fn rename_to_target(fs: &dyn FileSystem, layout: &Layout) -> Result<()> {
    match fs.rename_noreplace(&layout.children(), layout.out()) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(Error::TargetExists { path: layout.out().to_path_buf() })
        }
        other => other.map_err(Error::io("publish", layout.out())),
    }
}

fn written(name: &str, bytes: &[u8]) -> WrittenFile {
    WrittenFile { name: name.to_owned(), len: bytes.len() as u64, crc32: crc32fast::hash(bytes), linked: false }
}

/// Whether a run could make `out` now: nothing stands there, and no other run is at work or was stopped.
///
/// # Errors
/// [`Error::TargetExists`], [`Error::StagingExists`], [`Error::Usage`], [`Error::Io`].
pub fn check_free(fs: &dyn FileSystem, out: &Path) -> Result<()> {
    let layout = Layout::new(out)?;
    check_absent(fs, &layout)?;
    match fs.kind(layout.staging()).map_err(Error::io("look at", layout.staging()))? {
        Some(_) => Err(staging_exists(fs, &layout)),
        None => Ok(()),
    }
}

fn check_absent(fs: &dyn FileSystem, layout: &Layout) -> Result<()> {
    let out = layout.out();
    match fs.kind(out).map_err(Error::io("look at", out))? {
        Some(_) => Err(Error::TargetExists { path: out.to_path_buf() }),
        None => Ok(()),
    }
}

fn check_target(fs: &dyn FileSystem, layout: &Layout, record: &SplitRecord) -> Result<()> {
    let (out, parent) = (layout.out(), layout.parent());
    check_absent(fs, layout)?;
    if let Some(id) = record.children.iter().flat_map(|child| &child.segments).find(|id| !is_segment_id(id)) {
        return Err(Error::Manifest { path: layout.record(), problem: format!("{id:?} is not a segment id") });
    }
    // The parent may well be a symbolic link to a directory: canonical is what it leads to.
    let canonical = match std::fs::canonicalize(parent) {
        Ok(canonical) if canonical.is_dir() => canonical,
        _ => {
            return Err(Error::Usage(format!(
                "{} is not a directory; make it first, --out makes only {} in it",
                parent.display(),
                out.display()
            )));
        }
    };
    if canonical.starts_with(&record.source.dir) {
        return Err(Error::Usage(format!(
            "--out {} lies in the source {}, where nothing is written; choose a place outside",
            out.display(),
            record.source.dir
        )));
    }
    Ok(())
}

fn staging_exists(fs: &dyn FileSystem, layout: &Layout) -> Error {
    // Only a regular lock file is asked; whatever cannot be told counts as not running, `recover` looks again.
    let lock = layout.lock();
    let live = matches!(fs.kind(&lock), Ok(Some(Kind::File { .. }))) && matches!(fs.lock(&lock), Ok(None));
    Error::StagingExists { path: layout.staging().to_path_buf(), target: layout.out().to_path_buf(), live }
}

impl ChildFiles for Staging {
    fn create(&self, child: usize, name: &str) -> Result<Box<dyn OutputFile>> {
        let path = self.announced(child, name)?;
        self.fs.create(&path).map_err(Error::io("create", path))
    }

    fn link(&self, child: usize, name: &str, from: &Path) -> Result<Linked> {
        use std::io::ErrorKind::{CrossesDevices, PermissionDenied, TooManyLinks, Unsupported};
        let path = self.announced(child, name)?;
        match self.fs.hard_link(from, &path) {
            Ok(()) => Ok(Linked::Shared),
            Err(error) => {
                let reason = match error.kind() {
                    CrossesDevices => "source and target are on different file systems",
                    PermissionDenied => "the system does not permit links to these files",
                    TooManyLinks => "the file system allows no more links to these files",
                    Unsupported => "the file system has no hard links",
                    _ => return Err(Error::io("link", path)(error)),
                };
                self.copy(child, name, from, reason)
            }
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.closed {
            return;
        }
        match self.remove() {
            Ok(removal) if removal.unknown.is_empty() => {}
            Ok(removal) => tracing::warn!(unknown = ?removal.unknown, "left in the staging directory"),
            Err(error) => tracing::warn!(%error, staging = %self.layout.staging().display(), "staging was not removed"),
        }
    }
}
