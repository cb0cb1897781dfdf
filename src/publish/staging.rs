//! Staging: children are written into a hidden directory beside the target, and one rename makes all of them visible.
//!
//! Input: the target, and what will be written ([`SplitRecord`]). Flow: [`Staging::create`], files through
//! [`crate::write::ChildFiles`], [`Staging::add_index_files`] for each child, verification of what stands in
//! [`Staging::child_dir`], [`Staging::seal`], [`Staging::publish`].
//!
//! Invariants: the target is absent until the rename and complete after it. Whatever is made was announced in the
//! staging record first, so that it can be found and removed by name; a file that was not announced is refused. A value
//! that is dropped before the rename removes what it made. After a crash [`super::recover`] does the same, or finishes
//! the publish if the set was sealed; a run of the same job takes up what is finished (`take_up`).
//!
//! Cost: large files go to the disk while others are written, all are synced when the set is sealed, directories once.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::files::Unsynced;
use super::fs::{Access, FileSystem, Kind, Lock};
use super::layout::{Layout, MANIFEST, STAGING_RECORD, is_segment_id, partial};
use super::manifest::{FORMAT, SetChild, StagedChild, StagingRecord, tool};
use super::manifest_file::to_bytes;
use super::record::SplitRecord;
use super::removal::{Removal, remove_staging};
use super::take_up::{FinishedChild, TakenUp};
use crate::error::{Error, Result};
use crate::route::ShardNumber;

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
    pub(super) fs: Arc<dyn FileSystem>,
    pub(super) layout: Layout,
    pub(super) record: SplitRecord,
    /// Manifests of finished children, by child index.
    pub(super) finished: Mutex<Vec<Option<SetChild>>>,
    /// What an earlier run had finished, by child index; empty if there was none.
    pub(super) taken: Vec<Option<FinishedChild>>,
    pub(super) taken_up: Option<TakenUp>,
    /// Held as long as the staging directory is ours.
    pub(super) lock: Option<Lock>,
    pub(super) sealed: bool,
    /// Files that are complete but not durable: synced together by `seal`.
    pub(super) unsynced: Arc<Unsynced>,
    /// The staging directory is gone, or is left to `recover`.
    pub(super) closed: bool,
}

impl Staging {
    /// Makes the staging directory for `out` and an empty directory for every child in it; or takes up the one that a
    /// killed run of the same job left, with what that had finished ([`Staging::finished_part`]).
    ///
    /// # Errors
    /// [`Error::TargetExists`] if anything stands at `out`, a dangling symbolic link too; [`Error::StagingExists`] if
    /// another run is at work there, or one of another job was stopped; [`Error::Usage`] if the directory that is to hold `out` does not
    /// exist or lies in the source; [`Error::Io`], also where the file system cannot lock files.
    pub fn create(fs: Arc<dyn FileSystem>, out: &Path, record: SplitRecord) -> Result<Staging> {
        let layout = Layout::new(out)?;
        check_target(fs.as_ref(), &layout, &record)?;
        match fs.create_dir(layout.staging(), Access::Owner) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Staging::take_up(fs, layout, record);
            }
            other => other.map_err(Error::io("create", layout.staging()))?,
        }
        // CRASH: an empty staging directory without a lock; `recover` removes it.
        let finished = Mutex::new(record.children().map(|_| None).collect());
        let mut staging = Staging {
            fs,
            layout,
            record,
            finished,
            taken: Vec::new(),
            taken_up: None,
            lock: None,
            sealed: false,
            unsynced: Arc::default(),
            closed: false,
        };
        staging.prepare()?;
        Ok(staging)
    }

    fn prepare(&mut self) -> Result<()> {
        let (fs, layout) = (self.fs.as_ref(), &self.layout);
        self.lock = match fs.lock(&layout.lock()) {
            Ok(lock) => lock,
            Err(error) => {
                // A file system that cannot lock may have made the file all the same; nothing else is ours yet.
                if let Ok(Some(Kind::File { .. })) = fs.kind(&layout.lock()) {
                    fs.remove_file(&layout.lock()).map_err(Error::io("remove", layout.lock()))?;
                }
                return Err(Error::io("lock", layout.lock())(error));
            }
        };
        if self.lock.is_none() {
            // A `recover` got in between; the directory is its own now.
            self.closed = true;
            return Err(staging_exists(fs, layout));
        }
        // CRASH: an empty staging directory with a free lock; `recover` removes both.
        self.announce()?;
        let children = layout.children();
        let access = access(&self.record)?;
        fs.create_dir(&children, access).map_err(Error::io("create", &children))?;
        for child in self.record.children() {
            let path = layout.staged_child(child.shard);
            fs.create_dir(&path, access).map_err(Error::io("create", &path))?;
        }
        Ok(())
    }

    /// Writes down what may stand in `children`.
    pub(super) fn announce(&self) -> Result<()> {
        let layout = &self.layout;
        let record = StagingRecord {
            format: FORMAT,
            tool: tool(),
            job: Some(self.record.identity()?),
            children: self.record.children().cloned().collect(),
        };
        let bytes = to_bytes(&layout.record(), &record)?;
        self.write_whole(layout.staging(), STAGING_RECORD, &bytes)?;
        // ORDER: the record is durable, and so is the way to it, before anything that it lists is made.
        self.sync_dir(layout.staging())?;
        self.sync_dir(layout.parent())
        // CRASH: from here until the seal the record says what may stand in `children`; the next run of the same job takes
        // up what is finished of it, `recover` removes it.
    }

    /// The paths of this run.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Where a child is staged; `None` if there is none with this index.
    #[must_use]
    pub fn child_dir(&self, child: usize) -> Option<PathBuf> {
        self.record.children().nth(child).map(|staged| self.layout.staged_child(staged.shard))
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
            let children: Vec<StagedChild> = self.record.children().cloned().collect();
            return remove_staging(self.fs.as_ref(), &self.layout, &children);
        }
        // Without the lock the directory has nothing of ours in it.
        let staging = self.layout.staging();
        self.fs.remove_dir(staging).map_err(Error::io("remove", staging))?;
        Ok(Removal::default())
    }

    pub(super) fn child(&self, child: usize) -> Result<(ShardNumber, PathBuf)> {
        let staged = self.record.children().nth(child).ok_or_else(|| Error::Manifest {
            path: self.layout.record(),
            problem: format!("it announces {} children, none with index {child}", self.record.children().count()),
        })?;
        Ok((staged.shard, self.layout.staged_child(staged.shard)))
    }

    /// Writes a file that is never seen half, and is durable at once.
    pub(super) fn write_whole(&self, dir: &Path, name: &str, bytes: &[u8]) -> Result<()> {
        let (hidden, path) = (dir.join(partial(name)), dir.join(name));
        let mut file = self.fs.create(&hidden).map_err(Error::io("create", &hidden))?;
        file.write_all(bytes).map_err(Error::io("write", &hidden))?;
        file.close().map_err(Error::io("sync", &hidden))?;
        self.fs.rename_noreplace(&hidden, &path).map_err(Error::io("create", &path))
    }

    pub(super) fn sync_dir(&self, path: &Path) -> Result<()> {
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

/// Whether a run could make `out` now: nothing stands there, and no other run is at work. One that was stopped is looked
/// at when it is known which job it would have to be of ([`super::check_staging`]).
///
/// # Errors
/// [`Error::TargetExists`], [`Error::StagingExists`], [`Error::Usage`], [`Error::Io`].
pub fn check_free(fs: &dyn FileSystem, out: &Path) -> Result<()> {
    let layout = Layout::new(out)?;
    check_absent(fs, &layout)?;
    match fs.kind(layout.staging()).map_err(Error::io("look at", layout.staging()))? {
        Some(_) => match staging_exists(fs, &layout) {
            live @ Error::StagingExists { live: true, .. } => Err(live),
            _ => Ok(()),
        },
        None => Ok(()),
    }
}

/// Whether children of so many predicted bytes fit beside `out`. A prediction may be a little too large: nine tenths of it
/// must fit. What a killed run left there counts as theirs, so then nothing is said.
///
/// # Errors
/// [`Error::Space`] if they do not; [`Error::Io`].
pub fn check_space(fs: &dyn FileSystem, out: &Path, predicted: u64) -> Result<()> {
    let layout = Layout::new(out)?;
    let parent = layout.parent();
    if fs.kind(layout.staging()).map_err(Error::io("look at", layout.staging()))?.is_some() {
        return Ok(());
    }
    match fs.free_bytes(parent) {
        Ok(Some(free)) if free < predicted - predicted / 10 => {
            Err(Error::Space { path: parent.to_path_buf(), need: predicted, free })
        }
        // A parent that cannot be asked is refused when something is to be made in it.
        _ => Ok(()),
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
    if let Some(id) = record.children().flat_map(|child| &child.segments).find(|id| !is_segment_id(id)) {
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
    match record.source_paths.iter().find(|source| canonical.starts_with(source)) {
        None => Ok(()),
        Some(source) => Err(Error::Usage(format!(
            "--out {} lies in the source {}, where nothing is written; choose a place outside",
            out.display(),
            source.display()
        ))),
    }
}

/// Who may enter the set: nobody whom a source keeps out.
#[cfg(unix)]
pub(super) fn access(record: &SplitRecord) -> Result<Access> {
    use std::os::unix::fs::PermissionsExt;
    let mut mode = 0o777;
    for path in &record.source_paths {
        mode &= std::fs::metadata(path).map_err(Error::io("look at", path))?.permissions().mode();
    }
    Ok(Access::Within(mode))
}

#[cfg(not(unix))]
pub(super) fn access(_record: &SplitRecord) -> Result<Access> {
    Ok(Access::Umask)
}

pub(super) fn staging_exists(fs: &dyn FileSystem, layout: &Layout) -> Error {
    // Only a regular lock file is asked; whatever cannot be told counts as not running, `recover` looks again.
    let lock = layout.lock();
    let live = matches!(fs.kind(&lock), Ok(Some(Kind::File { .. }))) && matches!(fs.lock(&lock), Ok(None));
    Error::StagingExists { path: layout.staging().to_path_buf(), target: layout.out().to_path_buf(), live }
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
