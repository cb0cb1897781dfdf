//! What to do with what a crash left: finish a publish that was sealed, remove anything else.
//!
//! Input: a target. Reads its staging directory as nobody's word to be taken: the manifests may be damaged or forged.
//! Invariants: nothing outside the staging directory is removed; the target is made only by the publishing rename, and
//! only from a set whose every listed file is there with its length and checksum. A crash in here is recovered from
//! like any other. Cost: nothing is read but names, except for a sealed set, which is read whole.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::fs::{FileSystem, Kind};
use super::layout::{Layout, MANIFEST, ROUTING, child_name};
use super::manifest::{ChildManifest, FORMAT, SetChild, SetManifest, StagingRecord, tool};
use super::manifest_file;
use super::removal::{Removal, remove_staging};
use super::staging::rename_to_target;
use crate::error::{Error, Result};
use crate::route::ShardNumber;
use crate::write::WrittenFile;

/// Mode bits that let others write.
const OTHERS_WRITE: u32 = 0o022;

/// What [`recover`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RecoverAction {
    /// There was no staging directory.
    NothingToDo,
    /// A sealed set was complete and is published now.
    Published,
    /// The target is published; what was left beside it was removed.
    RemovedLeftovers,
    /// An unfinished or damaged set was removed; the target is as it was.
    RemovedUnfinished,
    /// Names were found that no run makes. They and the directories around them were left, for a person to look at.
    LeftUnknown,
}

/// What [`recover`] found and did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecoverReport {
    /// The target.
    pub out: PathBuf,
    /// What was done.
    pub action: RecoverAction,
    /// Files removed.
    pub removed_files: u64,
    /// Sum of their lengths; linked files free nothing.
    pub removed_bytes: u64,
    /// Names that no run of ours made.
    pub unknown: Vec<PathBuf>,
    /// Why a sealed set was removed instead of published.
    pub problems: Vec<String>,
}

impl RecoverReport {
    fn new(layout: &Layout, action: RecoverAction, removal: Removal, problems: Vec<String>) -> RecoverReport {
        let action = if removal.unknown.is_empty() { action } else { RecoverAction::LeftUnknown };
        RecoverReport {
            out: layout.out().to_path_buf(),
            action,
            removed_files: removal.files,
            removed_bytes: removal.bytes,
            unknown: removal.unknown,
            problems,
        }
    }
}

/// Brings the target `out` back to one of two states, whole or absent, and removes what a crash left beside it.
///
/// # Errors
/// [`Error::StagingExists`] if the run still goes on; [`Error::TargetExists`] if a complete set waits here and something
/// else was put at the target: move that away and recover again; [`Error::Manifest`] if children are staged but the staging record
/// cannot be read, so that nothing says which files are ours, or if the staging directory belongs to another user or others can
/// write to it: nothing is removed then; [`Error::Io`].
pub fn recover(fs: &dyn FileSystem, out: &Path) -> Result<RecoverReport> {
    let layout = Layout::new(out)?;
    let staging = layout.staging();
    match kind(fs, staging)? {
        None => {
            return Ok(RecoverReport::new(&layout, RecoverAction::NothingToDo, Removal::default(), Vec::new()));
        }
        Some(Kind::Directory) => {}
        Some(_) => {
            let problem = "it is not a directory, so no run of shardsplit made it".to_owned();
            return Err(Error::Manifest { path: staging.to_path_buf(), problem });
        }
    }
    if !fs.is_own(staging, OTHERS_WRITE).map_err(Error::io("look at", staging))? {
        // Runs make it for their user alone. What else has its name may hold whatever its owner likes to see published.
        let problem =
            "it belongs to another user, or others can write to it; recover as the user who ran shardsplit, or \
                       remove it by hand"
                .to_owned();
        return Err(Error::Manifest { path: staging.to_path_buf(), problem });
    }
    let live = || Error::StagingExists { path: staging.to_path_buf(), target: layout.out().to_path_buf(), live: true };
    let _lock = fs.lock(&layout.lock()).map_err(Error::io("lock", layout.lock()))?.ok_or_else(live)?;
    let record = read_record(fs, &layout)?;

    // Where its children are still staged, what stands at the target is not this set; the rename below replaces nothing.
    if kind(fs, layout.out())?.is_some() && kind(fs, &layout.children())?.is_none() {
        // The crash may have come between the rename and this.
        sync_parent(fs, &layout)?;
        let removal = remove_staging(fs, &layout, &record.children)?;
        return Ok(RecoverReport::new(&layout, RecoverAction::RemovedLeftovers, removal, Vec::new()));
    }
    let seal = layout.children().join(MANIFEST);
    let sealed = kind(fs, &layout.children())? == Some(Kind::Directory) && kind(fs, &seal)?.is_some();
    let Checked { problems, unknown } = if sealed { check_set(fs, &layout, &record)? } else { Checked::default() };
    if sealed && problems.is_empty() {
        if !unknown.is_empty() {
            // Complete, but with something in it that would become visible: neither published nor thrown away.
            let nothing = Removal { unknown, ..Removal::default() };
            return Ok(RecoverReport::new(&layout, RecoverAction::LeftUnknown, nothing, problems));
        }
        // ORDER: the crash may have come before the name of the seal was durable; all else was when the seal was made.
        let children = layout.children();
        fs.sync_dir(&children).map_err(Error::io("sync", &children))?;
        rename_to_target(fs, &layout)?;
        // CRASH: as in `Staging::publish`.
        sync_parent(fs, &layout)?;
        let removal = remove_staging(fs, &layout, &[])?;
        return Ok(RecoverReport::new(&layout, RecoverAction::Published, removal, problems));
    }
    let removal = remove_staging(fs, &layout, &record.children)?;
    Ok(RecoverReport::new(&layout, RecoverAction::RemovedUnfinished, removal, problems))
}

/// The staging record; an empty one if the run did not get so far as to write it.
fn read_record(fs: &dyn FileSystem, layout: &Layout) -> Result<StagingRecord> {
    if kind(fs, &layout.record())?.is_none() {
        return Ok(StagingRecord { format: FORMAT, tool: tool(), job: None, children: Vec::new() });
    }
    manifest_file::read(fs, &layout.record())
}

fn sync_parent(fs: &dyn FileSystem, layout: &Layout) -> Result<()> {
    fs.sync_dir(layout.parent()).map_err(Error::io("sync", layout.parent()))
}

fn kind(fs: &dyn FileSystem, path: &Path) -> Result<Option<Kind>> {
    fs.kind(path).map_err(Error::io("look at", path))
}

/// What keeps a sealed set from being published.
#[derive(Default)]
struct Checked {
    /// What is not as its manifests say.
    problems: Vec<String>,
    /// What its manifests do not list.
    unknown: Vec<PathBuf>,
}

fn check_set(fs: &dyn FileSystem, layout: &Layout, record: &StagingRecord) -> Result<Checked> {
    let mut checked = Checked::default();
    let path = layout.children().join(MANIFEST);
    let set: SetManifest = match manifest_file::read(fs, &path) {
        Ok(set) => set,
        Err(Error::Manifest { problem, .. }) => {
            checked.problems.push(format!("{}: {problem}", path.display()));
            return Ok(checked);
        }
        Err(error) => return Err(error),
    };
    let announced: BTreeSet<ShardNumber> = record.children.iter().map(|child| child.shard).collect();
    let listed: BTreeSet<ShardNumber> = set.children.iter().map(|child| child.shard).collect();
    if announced != listed {
        checked.problems.push(format!("the set has shards {listed:?}, the staging record {announced:?}"));
    }
    let mut names: BTreeSet<String> = listed.into_iter().map(child_name).collect();
    names.extend([MANIFEST, ROUTING].map(str::to_owned));
    checked.list(fs, &layout.children(), &names)?;
    checked.file(fs, &layout.children(), &set.routing_file)?;
    for child in &set.children {
        checked.child(fs, &layout.staged_child(child.shard), child)?;
    }
    Ok(checked)
}

impl Checked {
    fn child(&mut self, fs: &dyn FileSystem, dir: &Path, child: &SetChild) -> Result<()> {
        if kind(fs, dir)? != Some(Kind::Directory) {
            self.problems.push(format!("{} is not a directory", dir.display()));
            return Ok(());
        }
        if !self.file(fs, dir, &child.manifest)? {
            return Ok(());
        }
        let path = dir.join(MANIFEST);
        let manifest: ChildManifest = match manifest_file::read(fs, &path) {
            Ok(manifest) => manifest,
            Err(error) => {
                self.problems.push(error.to_string());
                return Ok(());
            }
        };
        if (manifest.shard, manifest.docs) != (child.shard, child.docs) {
            self.problems.push(format!("{} is not the manifest of shard {}", path.display(), child.shard));
        }
        for file in &manifest.files {
            self.file(fs, dir, file)?;
        }
        let mut names: BTreeSet<String> = manifest.files.into_iter().map(|file| file.name).collect();
        names.insert(MANIFEST.to_owned());
        self.list(fs, dir, &names)
    }

    /// Whether `dir` has this very file.
    fn file(&mut self, fs: &dyn FileSystem, dir: &Path, file: &WrittenFile) -> Result<bool> {
        let path = dir.join(&file.name);
        let problem = match kind(fs, &path)? {
            None => "is missing".to_owned(),
            Some(Kind::File { len }) if len != file.len => format!("has {len} bytes, its manifest says {}", file.len),
            Some(Kind::File { .. }) => {
                let crc32 = checksum(fs, &path).map_err(Error::io("read", &path))?;
                if crc32 == file.crc32 {
                    return Ok(true);
                }
                format!("has checksum {crc32:08x}, its manifest says {:08x}", file.crc32)
            }
            Some(_) => "is not a regular file".to_owned(),
        };
        self.problems.push(format!("{} {problem}", path.display()));
        Ok(false)
    }

    /// Takes note of names in `dir` that are not `listed`.
    fn list(&mut self, fs: &dyn FileSystem, dir: &Path, listed: &BTreeSet<String>) -> Result<()> {
        let found = fs.list(dir).map_err(Error::io("list", dir))?;
        let extra = found.into_iter().filter(|name| !name.to_str().is_some_and(|name| listed.contains(name)));
        self.unknown.extend(extra.map(|name| dir.join(name)));
        Ok(())
    }
}

pub(super) fn checksum(fs: &dyn FileSystem, path: &Path) -> io::Result<u32> {
    let (mut file, mut crc) = (fs.open(path)?, crc32fast::Hasher::new());
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut buffer)?;
        match buffer.get(..read) {
            Some(bytes) if !bytes.is_empty() => crc.update(bytes),
            _ => return Ok(crc.finalize()),
        }
    }
}
