//! Whether two names stand for one file.

use std::fs::File;
use std::path::{Path, PathBuf};

/// What makes two paths the same file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileId {
    /// Device and inode.
    Inode(u64, u64),
    /// The path itself, where there are no inodes.
    Path(PathBuf),
}

/// The identity of the file that stands at `path` now.
pub(crate) fn file_id(path: &Path) -> FileId {
    of(std::fs::metadata(path).ok(), path)
}

/// The identity of `file`, which was opened at `path`, whatever stands there now.
pub(super) fn id_of(file: &File, path: &Path) -> FileId {
    of(file.metadata().ok(), path)
}

fn of(metadata: Option<std::fs::Metadata>, path: &Path) -> FileId {
    #[cfg(unix)]
    if let Some(metadata) = metadata {
        use std::os::unix::fs::MetadataExt;
        return FileId::Inode(metadata.dev(), metadata.ino());
    }
    #[cfg(not(unix))]
    let _ = metadata;
    FileId::Path(path.to_path_buf())
}
