//! Mapping files: the only unsafe code of the crate.

use std::path::Path;

use memmap2::Mmap;
use tantivy::directory::OwnedBytes;

use super::file_id::{FileId, id_of};
use super::regular::open_regular;
use crate::error::{Error, Result};

/// Maps `path` for reading, and says which file that was. An empty file gives empty bytes.
///
/// The system is told that it will be read from front to back: it reads ahead, and what was read gives way before the
/// pages of others do, so that a source larger than the memory does not empty the page cache.
///
/// The bytes live as long as any clone of the result, even if the file is unlinked meanwhile.
#[expect(unsafe_code, reason = "a map cannot be made otherwise; who promises what is said below")]
pub(super) fn map(path: &Path) -> Result<(OwnedBytes, FileId)> {
    let file = open_regular(path).map_err(Error::io("open", path))?;
    let id = id_of(&file, path);
    if file.metadata().map_err(Error::io("stat", path))?.len() == 0 {
        return Ok((OwnedBytes::empty(), id));
    }
    // SAFETY: a map is sound while nobody changes or truncates the file. tantivy promises that for segment files:
    // they are written once under a fresh name, and garbage collection unlinks but never truncates them. We hold the
    // writer lock of a source while its maps live, except where the caller answers for it (`LockMode::None`) or nobody
    // can write (a note says so); children in staging are ours alone. Should somebody truncate a file nevertheless,
    // reading its lost pages ends the process with SIGBUS; nothing is published in that case, and `recover` removes the
    // staging directory.
    let mmap = unsafe { Mmap::map(&file) }.map_err(Error::io("map", path))?;
    // Where the advice is not taken, reading is slower and nothing else.
    #[cfg(unix)]
    drop(mmap.advise(memmap2::Advice::Sequential));
    Ok((OwnedBytes::new(mmap), id))
}
