//! Indexes that other people's programs wrote; they lie beside the project and may be absent.

use std::path::{Path, PathBuf};

use super::files;

/// An index with a field that can serve as key.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// Directory name.
    pub name: &'static str,
    /// Key field.
    pub key: &'static str,
    /// Whether stored values are in the present format, so that tantivy's merge is right about dates.
    pub current_store: bool,
}

/// Those that can be read.
pub const READABLE: [Shared; 6] = [
    Shared { name: "v7-web-pages", key: "url", current_store: true },
    Shared { name: "v7-live-deletes", key: "title_id", current_store: true },
    Shared { name: "v6-bible-31k", key: "ref", current_store: false },
    Shared { name: "v5-bytes-columns", key: "path", current_store: false },
    Shared { name: "v6-stored-date", key: "label", current_store: false },
    Shared { name: "v7-stored-date", key: "label", current_store: true },
];

/// Where an index lies, or `None` and a remark.
pub fn path(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/indexes").join(name);
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("SKIPPED: {} is absent; nothing was tested with it", path.display());
    None
}

/// Copies an index to `to`: tests run at the same time, and each takes the writer lock of its source.
pub fn copy(name: &str, to: &Path) -> bool {
    path(name).map(|path| files::copy_dir(&path, to)).is_some()
}
