//! tantivy's writer lock on the source: an advisory lock on `.tantivy-writer.lock`.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::meta::META;
use super::regular::{open_lock, open_regular};
use crate::error::{Error, Result};

/// Whether to take tantivy's writer lock on an index that is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LockMode {
    /// Take it; fail with [`Error::SourceLocked`] if a writer holds it. On a medium that cannot be written a note is
    /// left instead, since no writer can be there either.
    #[default]
    Writer,
    /// Take it as a writer does, so that neither writers nor readers of ours work meanwhile: for what adds files.
    Exclusive,
    /// Do not lock: the caller answers for it that nothing writes.
    None,
}

/// A lock held until dropped.
#[derive(Debug)]
pub(crate) struct WriterLock {
    _file: File,
}

/// The lock file, which tantivy leaves behind empty.
pub const WRITER_LOCK: &str = ".tantivy-writer.lock";

/// How long a lock is waited for that somebody else has, and between two looks.
const PATIENCE: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(5);

/// Takes the lock on `dir` as `mode` says.
pub(crate) fn acquire(dir: &Path, mode: LockMode, notes: &mut Vec<String>) -> Result<Option<WriterLock>> {
    if mode == LockMode::None || !dir.join(META).exists() {
        // What is no index gets its own, better error from reading meta.json, and no lock file.
        return Ok(None);
    }
    let path = dir.join(WRITER_LOCK);
    let file = match open_lock(&path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied) => {
            match open_regular(&path) {
                Ok(file) => file,
                Err(_) => {
                    notes.push(format!("no lock was taken: {} cannot be written", dir.display()));
                    return Ok(None);
                }
            }
        }
        Err(source) => return Err(Error::Io { operation: "open the lock file", path, source }),
    };
    match lock_patiently(&file, mode) {
        Ok(()) => Ok(Some(WriterLock { _file: file })),
        Err(TryLockError::WouldBlock) => Err(Error::SourceLocked { path }),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
            notes.push(format!("no lock was taken: the file system of {} cannot lock", dir.display()));
            Ok(None)
        }
        Err(TryLockError::Error(source)) => Err(Error::Io { operation: "lock", path, source }),
    }
}

/// Tries for a moment: a process that is being started holds the locks of its parent until it has become its own program.
fn lock_patiently(file: &File, mode: LockMode) -> std::result::Result<(), TryLockError> {
    let began = Instant::now();
    loop {
        // Shared: it keeps writers out, who lock exclusively, and lets other readers of ours in.
        let locked = if mode == LockMode::Exclusive { file.try_lock() } else { file.try_lock_shared() };
        match locked {
            Err(TryLockError::WouldBlock) if began.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
}
