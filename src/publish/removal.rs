//! Removing a staging directory: exactly what its run can have made, nothing else.
//!
//! Works from names: a name is removed if the staging record lets the run make it, it stands where the run would have
//! put it, and it is a regular file there (a linked one loses this name, the source's own stays). Everything else is
//! left, with the directories around it, and reported. Symbolic links are neither followed nor removed.
//!
//! A crash in between leaves a staging directory that the next call finishes: the seal goes first, so that a set that
//! misses files can't be taken for a complete one; the record goes after all that it lists.

use std::path::{Path, PathBuf};

use super::fs::{FileSystem, Kind};
use super::layout::{Layout, MANIFEST, ROUTING, child_name, is_child_file, partial};
use super::manifest::StagedChild;
use crate::error::{Error, Result};

/// What was removed, and what was left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removal {
    /// Files removed.
    pub files: u64,
    /// Sum of their lengths; linked files free nothing.
    pub bytes: u64,
    /// Names that no run of ours made; they and the directories around them were left.
    pub unknown: Vec<PathBuf>,
}

/// Removes the staging directory of `layout`, whose record lists `children`. Its lock must be held.
pub(super) fn remove_staging(fs: &dyn FileSystem, layout: &Layout, children: &[StagedChild]) -> Result<Removal> {
    let mut removal = Remover { fs, done: Removal::default() };
    removal.children(layout, children)?;
    if removal.done.unknown.is_empty() {
        removal.staging(layout)?;
    }
    Ok(removal.done)
}

/// Removes from a staged child what its run may have made there, and leaves the directory. Returns how many files.
pub(super) fn remove_child(fs: &dyn FileSystem, dir: &Path, segments: &[String]) -> Result<u64> {
    let mut removal = Remover { fs, done: Removal::default() };
    removal.own_files(dir, |name| is_child_file(name, segments))?;
    Ok(removal.done.files)
}

struct Remover<'a> {
    fs: &'a dyn FileSystem,
    done: Removal,
}

impl Remover<'_> {
    fn children(&mut self, layout: &Layout, children: &[StagedChild]) -> Result<()> {
        let dir = layout.children();
        if !self.is_dir(&dir)? {
            return Ok(());
        }
        let seal = dir.join(MANIFEST);
        if self.file(&seal)? {
            // ORDER: the seal is gone for good before anything that it vouches for.
            self.fs.sync_dir(&dir).map_err(Error::io("sync", &dir))?;
        }
        self.file(&dir.join(partial(MANIFEST)))?;
        self.file(&dir.join(ROUTING))?;
        // CRASH: an unsealed set with some of its files; removed by the next call.
        for child in children {
            let path = layout.staged_child(child.shard);
            if self.is_dir(&path)? {
                self.contents(&path, |name| is_child_file(name, &child.segments))?;
            }
        }
        self.emptied(&dir, |name| {
            name == MANIFEST
                || name == ROUTING
                || name == partial(MANIFEST)
                || children.iter().any(|child| child_name(child.shard) == name)
        })
    }

    fn staging(&mut self, layout: &Layout) -> Result<()> {
        let dir = layout.staging();
        let ours = layout.staging_files();
        for name in self.names(dir)? {
            let path = dir.join(name);
            if !(ours.contains(&path) && matches!(self.kind(&path)?, Some(Kind::File { .. }))) {
                self.done.unknown.push(path);
            }
        }
        if !self.done.unknown.is_empty() {
            return Ok(());
        }
        for path in ours {
            // CRASH: a staging directory without children, without or with its record: nothing else is left to know.
            self.file(&path)?;
        }
        self.emptied(dir, |_| false)
    }

    /// Removes the files of `dir` whose names are `ours`, then `dir` if nothing is left.
    fn contents(&mut self, dir: &Path, ours: impl Fn(&str) -> bool) -> Result<()> {
        self.own_files(dir, ours)?;
        self.emptied(dir, |_| false)
    }

    fn own_files(&mut self, dir: &Path, ours: impl Fn(&str) -> bool) -> Result<()> {
        for name in self.names(dir)? {
            if name.to_str().is_some_and(&ours) {
                self.file(&dir.join(name))?;
            }
        }
        Ok(())
    }

    /// Removes `dir` if it is empty; else what is in it is unknown, names apart that were `reported` on their own.
    fn emptied(&mut self, dir: &Path, reported: impl Fn(&str) -> bool) -> Result<()> {
        let left = self.names(dir)?;
        if left.is_empty() {
            return self.fs.remove_dir(dir).map_err(Error::io("remove", dir));
        }
        for name in left {
            let path = dir.join(&name);
            let known = name.to_str().is_some_and(&reported);
            let inside = self.done.unknown.iter().any(|unknown| unknown.starts_with(&path));
            if !(known && inside) {
                self.done.unknown.push(path);
            }
        }
        Ok(())
    }

    /// Removes a regular file; whether there was one. What else stands there is found by `emptied`.
    fn file(&mut self, path: &Path) -> Result<bool> {
        let Some(Kind::File { len }) = self.kind(path)? else { return Ok(false) };
        self.fs.remove_file(path).map_err(Error::io("remove", path))?;
        self.done.files += 1;
        self.done.bytes += len;
        Ok(true)
    }

    fn is_dir(&self, path: &Path) -> Result<bool> {
        Ok(self.kind(path)? == Some(Kind::Directory))
    }

    fn kind(&self, path: &Path) -> Result<Option<Kind>> {
        self.fs.kind(path).map_err(Error::io("look at", path))
    }

    fn names(&self, dir: &Path) -> Result<Vec<std::ffi::OsString>> {
        self.fs.list(dir).map_err(Error::io("list", dir))
    }
}
