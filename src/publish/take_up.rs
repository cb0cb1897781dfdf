//! Taking up what a killed run of the same job had finished, so that it is not written again.
//!
//! Input: a staging directory that stands already, and the job that wants it. Output: a [`Staging`] whose finished parts
//! need only be verified; all else that its record lists was removed. A part is a source (or those that are merged) and
//! its children, which are finished together.
//!
//! Invariants: only a directory of this very user that nobody else can enter is taken up, only under its lock, and only if
//! its record names the same job: the same source by segments, opstamp and checksums, routing, options, program. A child
//! counts as finished if its manifest parses and says what the job would, and every file it lists is there with length and
//! checksum, and nothing else. Verification runs on what was taken up as on anything else. Where this fails, what was
//! found is left for [`super::recover`].
//!
//! Cost: finished children are read once. Those that share files with the source are linked anew: that is as quick.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::fs::{Access, FileSystem, Kind};
use super::layout::{Layout, MANAGED, MANIFEST, META, ROUTING, partial};
use super::manifest::{ChildManifest, SetChild, StagingRecord};
use super::manifest_file::{parse, read, read_bytes};
use super::record::{PartRecord, SplitRecord};
use super::removal::remove_child;
use super::seal::{routing_of, written};
use super::staging::{Staging, access, staging_exists};
use crate::error::{Error, Result};
use crate::route::ShardNumber;
use crate::source::sidecar_segment;
use crate::threads;
use crate::write::WrittenFile;

/// Mode bits of others.
const OTHERS: u32 = 0o077;

/// What of a killed run was used again.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct TakenUp {
    /// Shard numbers of the children that were found finished, ascending; they were verified, and not written again.
    pub children: Vec<ShardNumber>,
    /// Their files.
    pub files: u64,
    /// Sum of their lengths in bytes.
    pub bytes: u64,
    /// Files of unfinished or damaged children, which were removed.
    pub removed_files: u64,
}

/// A child that was found finished.
#[derive(Clone, Debug)]
pub(super) struct FinishedChild {
    pub(super) entry: SetChild,
    manifest: ChildManifest,
}

impl FinishedChild {
    /// Segments, and bytes of their files.
    pub(super) fn size(&self) -> (usize, u64) {
        let own = self.manifest.files.iter().filter(|file| file.name != META && file.name != MANAGED);
        (self.manifest.segments.len(), own.map(|file| file.len).sum())
    }

    /// Names of its hash sidecars.
    pub(super) fn sidecars(&self) -> impl Iterator<Item = &str> {
        self.manifest.files.iter().map(|file| file.name.as_str()).filter(|name| sidecar_segment(name).is_some())
    }
}

/// Whether a staging directory stands in the way of a job: one that it could not take up. Changes nothing. `record` is
/// asked for only where there is one.
///
/// # Errors
/// [`Error::StagingExists`] if it does; [`Error::Io`].
pub fn check_staging(fs: &dyn FileSystem, out: &Path, record: impl FnOnce() -> Result<SplitRecord>) -> Result<()> {
    let layout = Layout::new(out)?;
    match fs.kind(layout.staging()).map_err(Error::io("look at", layout.staging()))? {
        None => Ok(()),
        Some(_) if is_ours(fs, &layout, &record()?)? => Ok(()),
        Some(_) => Err(staging_exists(fs, &layout)),
    }
}

/// Whether what stands at the staging directory is what a run of this job left, or could have left before it began.
fn is_ours(fs: &dyn FileSystem, layout: &Layout, record: &SplitRecord) -> Result<bool> {
    let staging = layout.staging();
    if !fs.is_own(staging, OTHERS).map_err(Error::io("look at", staging))? {
        return Ok(false);
    }
    match kind(fs, &layout.record())? {
        Some(Kind::File { .. }) => match read::<StagingRecord>(fs, &layout.record()) {
            Ok(found) => Ok(found.job == Some(record.identity()?)),
            Err(Error::Manifest { .. }) => Ok(false),
            Err(error) => Err(error),
        },
        Some(_) => Ok(false),
        // Killed before it wrote down what it was going to do, and so before it did any of it.
        None => {
            let ours = layout.staging_files();
            let names = fs.list(staging).map_err(Error::io("list", staging))?;
            Ok(names.iter().all(|name| ours.contains(&staging.join(name))))
        }
    }
}

impl Staging {
    /// Takes up the staging directory that stands already.
    pub(super) fn take_up(fs: Arc<dyn FileSystem>, layout: Layout, record: SplitRecord) -> Result<Staging> {
        if !is_ours(fs.as_ref(), &layout, &record)? {
            return Err(staging_exists(fs.as_ref(), &layout));
        }
        let Some(lock) = fs.lock(&layout.lock()).map_err(Error::io("lock", layout.lock()))? else {
            return Err(staging_exists(fs.as_ref(), &layout));
        };
        // ORDER: once more under the lock; until then `recover` or another run could have had it.
        if !is_ours(fs.as_ref(), &layout, &record)? {
            return Err(in_the_way(&layout));
        }
        let finished = Mutex::new(record.children().map(|_| None).collect());
        let mut staging = Staging {
            fs,
            layout,
            record,
            finished,
            taken: Vec::new(),
            taken_up: None,
            lock: Some(lock),
            sealed: false,
            unsynced: Arc::default(),
            // Until all is looked through it is not this run's to remove.
            closed: true,
        };
        staging.look_through()?;
        staging.closed = false;
        Ok(staging)
    }

    fn look_through(&mut self) -> Result<()> {
        let (fs, layout) = (Arc::clone(&self.fs), self.layout.clone());
        let fs = fs.as_ref();
        if kind(fs, &layout.record())?.is_none() {
            remove(fs, &layout.staging_files()[0])?;
            self.announce()?;
        } else {
            // The run before may have been killed before these.
            self.sync_dir(layout.staging())?;
            self.sync_dir(layout.parent())?;
        }
        let (children, allowed) = (layout.children(), access(&self.record)?);
        create_dir(fs, &children, allowed)?;
        // ORDER: what was sealed is no set any more once something is added to it or taken away, so the seal goes first,
        // for good.
        if remove(fs, &children.join(MANIFEST))? > 0 {
            fs.sync_dir(&children).map_err(Error::io("sync", &children))?;
        }
        // CRASH: an unsealed set with some of its children finished: taken up by the next run, or removed by `recover`.
        let mut taken_up = TakenUp::default();
        taken_up.removed_files += remove(fs, &children.join(partial(MANIFEST)))?;
        remove(fs, &children.join(ROUTING))?;
        let mut taken = Vec::new();
        for part in &self.record.parts {
            let mut found = Vec::with_capacity(part.children.len());
            for place in 0..part.children.len() {
                found.push(self.finished_child(part, place)?);
            }
            if !found.is_empty() && found.iter().all(Option::is_some) {
                taken.append(&mut found);
                continue;
            }
            for child in &part.children {
                let dir = layout.staged_child(child.shard);
                match kind(fs, &dir)? {
                    None => {}
                    Some(Kind::Directory) => taken_up.removed_files += remove_child(fs, &dir, &child.segments)?,
                    Some(_) => return Err(in_the_way(&layout)),
                }
                create_dir(fs, &dir, allowed)?;
                // Somebody else's file would become part of the set.
                if !fs.list(&dir).map_err(Error::io("list", &dir))?.is_empty() {
                    return Err(in_the_way(&layout));
                }
            }
            taken.extend(part.children.iter().map(|_| None));
        }
        let names: BTreeSet<PathBuf> = self.record.children().map(|child| layout.staged_child(child.shard)).collect();
        let strange = fs.list(&children).map_err(Error::io("list", &children))?;
        if strange.iter().any(|name| !names.contains(&children.join(name))) {
            return Err(in_the_way(&layout));
        }
        for child in taken.iter().flatten() {
            self.count(child, &mut taken_up);
        }
        taken_up.children.sort_unstable();
        *self.finished.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner) =
            taken.iter().map(|child| child.as_ref().map(|child| child.entry.clone())).collect();
        (self.taken, self.taken_up) = (taken, Some(taken_up));
        Ok(())
    }

    /// Takes a finished child into account; its files may not be on the disk yet.
    fn count(&self, child: &FinishedChild, taken_up: &mut TakenUp) {
        let dir = self.layout.staged_child(child.entry.shard);
        taken_up.children.push(child.entry.shard);
        for file in child.manifest.files.iter().chain([&child.entry.manifest]) {
            self.unsynced.add(dir.join(&file.name));
            taken_up.files += 1;
            taken_up.bytes += file.len;
        }
    }

    /// The child of this place in `part`, if it is finished.
    fn finished_child(&self, part: &PartRecord, place: usize) -> Result<Option<FinishedChild>> {
        let fs = self.fs.as_ref();
        let Some(staged) = part.children.get(place) else { return Ok(None) };
        let dir = self.layout.staged_child(staged.shard);
        if kind(fs, &dir)? != Some(Kind::Directory) {
            return Ok(None);
        }
        let path = dir.join(MANIFEST);
        let read = read_bytes(fs, &path).and_then(|bytes| Ok((parse::<ChildManifest>(&path, &bytes)?, bytes)));
        let (manifest, bytes) = match read {
            Ok(read) => read,
            Err(Error::Manifest { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let docs = part.census.children.get(place).copied().unwrap_or(0);
        let ids: Vec<&String> = manifest.segments.iter().map(|segment| &segment.id).collect();
        let said = manifest.shard == staged.shard
            && manifest.docs == docs
            && manifest.routing == routing_of(&self.record.routing, part)
            && manifest.method == self.record.method
            && ids.iter().all(|id| staged.segments.contains(id))
            && [META, MANAGED].iter().all(|name| manifest.files.iter().any(|file| file.name == *name))
            && manifest.files.iter().all(|file| !file.linked);
        if !said {
            return Ok(None);
        }
        let mut names: BTreeSet<&str> = manifest.files.iter().map(|file| file.name.as_str()).collect();
        names.insert(MANIFEST);
        let found = fs.list(&dir).map_err(Error::io("list", &dir))?;
        if found.len() != names.len()
            || !found.iter().all(|name| name.to_str().is_some_and(|name| names.contains(name)))
        {
            return Ok(None);
        }
        let whole = threads::each(&manifest.files, 0, |file| is_whole(fs, &dir, file))?;
        if whole.contains(&false) {
            return Ok(None);
        }
        let entry = SetChild { shard: manifest.shard, docs, digest: None, manifest: written(MANIFEST, &bytes) };
        Ok(Some(FinishedChild { entry, manifest }))
    }

    /// What of an earlier run was used; `None` if none stood in the way.
    #[must_use]
    pub fn taken_up(&self) -> Option<&TakenUp> {
        self.taken_up.as_ref()
    }

    /// Segments, bytes and sidecars of the `count` children from index `first` on, if they were found finished.
    #[must_use]
    pub fn finished_part(&self, first: usize, count: usize) -> Option<Vec<(usize, u64, Vec<PathBuf>)>> {
        let part = self.taken.get(first..first.checked_add(count)?)?;
        let one = |child: &Option<FinishedChild>| {
            let child = child.as_ref()?;
            let dir = self.layout.staged_child(child.entry.shard);
            let (segments, bytes) = child.size();
            Some((segments, bytes, child.sidecars().map(|name| dir.join(name)).collect()))
        };
        part.iter().map(one).collect()
    }
}

/// It cannot be taken up, and no other run is at work in it: this one holds the lock.
fn in_the_way(layout: &Layout) -> Error {
    Error::StagingExists { path: layout.staging().to_path_buf(), target: layout.out().to_path_buf(), live: false }
}

/// Whether `dir` has this very file.
fn is_whole(fs: &dyn FileSystem, dir: &Path, file: &WrittenFile) -> Result<bool> {
    let path = dir.join(&file.name);
    if kind(fs, &path)? != Some(Kind::File { len: file.len }) {
        return Ok(false);
    }
    Ok(super::recover::checksum(fs, &path).map_err(Error::io("read", &path))? == file.crc32)
}

fn kind(fs: &dyn FileSystem, path: &Path) -> Result<Option<Kind>> {
    fs.kind(path).map_err(Error::io("look at", path))
}

/// Removes a regular file; how many there were. What else stands there is in the way later on.
fn remove(fs: &dyn FileSystem, path: &Path) -> Result<u64> {
    let Some(Kind::File { .. }) = kind(fs, path)? else { return Ok(0) };
    fs.remove_file(path).map_err(Error::io("remove", path))?;
    Ok(1)
}

/// Makes a directory, if there is none.
fn create_dir(fs: &dyn FileSystem, path: &Path, allowed: Access) -> Result<()> {
    match fs.create_dir(path, allowed) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && kind(fs, path)? == Some(Kind::Directory) => Ok(()),
        other => other.map_err(Error::io("create", path)),
    }
}
