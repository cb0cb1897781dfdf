//! The one home of effects on directories: creating, syncing, linking, renaming, removing.
//!
//! Everything in [`crate::publish`], and through it every byte of a child, goes through [`FileSystem`], so that tests
//! can fail or stop a run at every single step ([`FaultyFs`]).
//!
//! Invariants: a file is created under a name that was free, or not at all; nothing that exists is replaced,
//! truncated, or changed in mode; a symbolic link is never followed to something that is then changed or removed.

mod fault;
mod real;

pub use fault::{Fault, FaultyFs};
pub use real::RealFs;

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::write::OutputFile;

/// Who may enter a new directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Everybody the umask lets in.
    Umask,
    /// Of those, everybody who is in this mode; its owner always.
    Within(u32),
    /// Its owner alone (mode 0700).
    Owner,
}

/// What stands under a name; symbolic links are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File {
        /// Its length in bytes.
        len: u64,
    },
    /// A directory.
    Directory,
    /// A symbolic link, socket, device.
    Other,
}

/// A lock that is held until dropped, or until the process ends in whatever way.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Effects on directories, and the few reads that decide about them.
pub trait FileSystem: Send + Sync + fmt::Debug {
    /// Creates a directory whose name is free.
    fn create_dir(&self, path: &Path, access: Access) -> io::Result<()>;

    /// Creates a file whose name is free. It is durable once closed, its name once its directory is synced.
    fn create(&self, path: &Path) -> io::Result<Box<dyn OutputFile>>;

    /// Makes the bytes of files durable, several at a time. They were created here and dropped without closing.
    fn sync_files(&self, paths: &[PathBuf]) -> io::Result<()>;

    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Renames; fails with [`io::ErrorKind::AlreadyExists`] if `to` is taken.
    fn rename_noreplace(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Gives the file `from` a second name. If `from` is a symbolic link, the file it leads to gets the name.
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a name that is not a directory.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Removes a directory that is empty.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Opens a file for reading.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>>;

    /// Whether `path` is a directory of this process's user for which nobody else has one of `permissions` (mode bits, where
    /// there are users). Only what is in such a one is used again or recovered; the default says that none is.
    fn is_own(&self, path: &Path, permissions: u32) -> io::Result<bool> {
        let _ = (path, permissions);
        Ok(false)
    }

    /// Bytes that are free on the file system of a directory; `None` where nobody knows, as the default says.
    fn free_bytes(&self, path: &Path) -> io::Result<Option<u64>> {
        let _ = path;
        Ok(None)
    }

    /// What stands at `path`; `None` if nothing does.
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>>;

    /// The names in a directory, sorted.
    fn list(&self, path: &Path) -> io::Result<Vec<OsString>>;

    /// Takes the exclusive lock on a file, which is created if need be; `None` while another holds it.
    fn lock(&self, path: &Path) -> io::Result<Option<Lock>>;
}
