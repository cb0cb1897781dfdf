//! Files of staged children: announced names only, linked where the system lets us, durable by the time of the seal.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::layout::is_child_file;
use super::staging::Staging;
use super::write_behind::WriteBehind;
use crate::error::{Error, Result};
use crate::write::{ChildFiles, Linked, OutputFile};

/// Files of at least so many bytes are on their way to the disk from when they are closed. For smaller ones a sync of
/// their own costs more than the writing; they wait for the seal, where many share the waiting.
const LARGE: u64 = 4 << 20;

/// Files that are not durable yet.
#[derive(Debug, Default)]
pub(super) struct Unsynced {
    /// Those that are complete: the seal syncs them.
    closed: Mutex<Vec<PathBuf>>,
    behind: WriteBehind,
}

impl Unsynced {
    /// A complete file whose bytes may not be on the disk.
    pub(super) fn add(&self, path: PathBuf) {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner).push(path);
    }
}

/// A file that is being written into staging.
struct StagedFile {
    path: PathBuf,
    file: Box<dyn OutputFile>,
    len: u64,
    /// Bytes that nobody was told of.
    untold: u64,
    unsynced: Arc<Unsynced>,
}

/// Puts the path into an error: writers know a file by its name within a child only.
fn located(path: &Path) -> impl FnOnce(io::Error) -> io::Error + '_ {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

impl Write for StagedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes).map_err(located(&self.path))?;
        self.len += written as u64;
        self.untold = self.unsynced.behind.offer(self.file.as_ref(), self.untold + written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(located(&self.path))
    }
}

impl OutputFile for StagedFile {
    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.patch(offset, bytes).map_err(located(&self.path))
    }

    fn close(mut self: Box<Self>) -> io::Result<()> {
        self.file.flush().map_err(located(&self.path))?;
        if self.len >= LARGE && self.untold > 0 {
            self.unsynced.behind.last(self.file.as_ref());
        }
        let path = std::mem::take(&mut self.path);
        self.unsynced.add(path);
        Ok(())
    }
}

impl Staging {
    /// Creates a file that the seal will not precede on disk.
    pub(super) fn create_file(&self, path: &Path) -> Result<Box<dyn OutputFile>> {
        let file = self.fs.create(path).map_err(Error::io("create", path))?;
        Ok(Box::new(StagedFile {
            path: path.to_path_buf(),
            file,
            len: 0,
            untold: 0,
            unsynced: Arc::clone(&self.unsynced),
        }))
    }

    /// Writes a small file.
    pub(super) fn write_file(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let mut file = self.create_file(path)?;
        file.write_all(bytes).map_err(Error::io("write", path))?;
        file.close().map_err(Error::io("write", path))
    }

    /// Makes all closed files durable.
    pub(super) fn sync_files(&self) -> Result<()> {
        let mut paths = std::mem::take(&mut *self.unsynced.closed.lock().unwrap_or_else(PoisonError::into_inner));
        // Threads close files in any order; tests count steps.
        paths.sort();
        let synced = self.fs.sync_files(&paths);
        // ORDER: what was written behind may have met an error that the sync of the same file is not told again.
        synced.and(self.unsynced.behind.finish()).map_err(Error::io("sync files in", self.layout.children()))
    }

    /// Path of a file of a child, if it was announced.
    fn announced(&self, child: usize, name: &str) -> Result<PathBuf> {
        let (_, dir) = self.child(child)?;
        let segments = self.record.children().nth(child).map_or(&[][..], |staged| staged.segments.as_slice());
        if is_child_file(name, segments) {
            Ok(dir.join(name))
        } else {
            let problem =
                format!("it does not announce {name:?} for child {child}, so that could not be removed again");
            Err(Error::Manifest { path: self.layout.record(), problem })
        }
    }
}

impl ChildFiles for Staging {
    fn create(&self, child: usize, name: &str) -> Result<Box<dyn OutputFile>> {
        let path = self.announced(child, name)?;
        self.create_file(&path)
    }

    fn share(&self, of: usize, child: usize, name: &str) -> Result<bool> {
        use std::io::ErrorKind::{PermissionDenied, TooManyLinks, Unsupported};
        let (from, path) = (self.announced(of, name)?, self.announced(child, name)?);
        match self.fs.hard_link(&from, &path) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.kind(), PermissionDenied | TooManyLinks | Unsupported) => Ok(false),
            Err(error) => Err(Error::io("link", path)(error)),
        }
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

/// The files of one part of a set: a writer counts its children from 0.
#[derive(Clone, Copy, Debug)]
pub struct PartFiles<'a> {
    staging: &'a Staging,
    first: usize,
}

impl Staging {
    /// The children from index `first` on, counted from 0.
    #[must_use]
    pub fn part(&self, first: usize) -> PartFiles<'_> {
        PartFiles { staging: self, first }
    }
}

impl ChildFiles for PartFiles<'_> {
    fn create(&self, child: usize, name: &str) -> Result<Box<dyn OutputFile>> {
        self.staging.create(self.first + child, name)
    }

    fn link(&self, child: usize, name: &str, from: &Path) -> Result<Linked> {
        self.staging.link(self.first + child, name, from)
    }
}
