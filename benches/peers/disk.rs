//! The page cache, and room on the disk.

use std::fs::File;
use std::path::Path;

use rustix::fs::{Advice, fadvise, statvfs};

use crate::work::{files, read};

/// What the page cache holds of a run's input when it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// All of it, as far as memory goes.
    Warm,
    /// Nothing of it.
    Cold,
}

impl Cache {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Cache::Warm => "warm",
            Cache::Cold => "cold",
        }
    }

    /// Brings the files below `dirs` into this state.
    pub fn prepare(self, dirs: &[&Path]) {
        for dir in dirs {
            match self {
                Cache::Warm => read(dir),
                Cache::Cold => drop_pages(dir),
            }
        }
    }
}

/// Lets the page cache forget the files below `dir`. Pages that are not on disk yet cannot be dropped: they are written
/// first. (What stays is what another process has mapped.)
fn drop_pages(dir: &Path) {
    for path in files(dir) {
        let file = File::open(path).unwrap();
        file.sync_all().unwrap();
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    }
}

/// Bytes free for us on the file system of `dir`.
pub fn free_bytes(dir: &Path) -> u64 {
    let found = statvfs(dir).unwrap();
    found.f_bavail * found.f_frsize
}
