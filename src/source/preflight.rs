//! Everything that would make a later stage fail, checked before anything is written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tantivy::directory::OwnedBytes;

use super::meta::Meta;
use super::mmap;
use super::segment::Component;
use crate::error::{Error, Result};

/// Maps every file that `meta` names and checks it. Returned by file name.
pub(super) fn map_and_check(
    dir: &Path,
    meta: &Meta,
    _notes: &mut Vec<String>,
) -> Result<BTreeMap<PathBuf, OwnedBytes>> {
    let mut files = BTreeMap::new();
    let mut missing = Vec::new();
    for segment in meta.segments() {
        let names = Component::ALL.iter().map(|component| component.file_name(&segment.id)).chain(
            segment
                .deletes
                .filter(|(deleted, _)| *deleted > 0)
                .map(|(_, opstamp)| format!("{}.{opstamp}.del", segment.id)),
        );
        for name in names {
            match mmap::map(&dir.join(&name)) {
                Ok(bytes) => {
                    files.insert(PathBuf::from(name), bytes);
                }
                Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => missing.push(name),
                Err(error) => return Err(error),
            }
        }
    }
    if missing.is_empty() { Ok(files) } else { Err(Error::MissingFiles { path: dir.to_path_buf(), files: missing }) }
}
