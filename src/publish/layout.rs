//! Every file name that a run makes, in one place.
//!
//! ```text
//! PARENT/OUT/                        published set
//!          shardsplit.json           set manifest: where it comes from, routing, census, children
//!          routing.json              how documents are routed: makes the set an index directory
//!          <shard number>/           one child: a tantivy index
//!            <segment id>.<ext>      segment files
//!            <segment id>.<tag>.hashes  hash sidecar of a segment (source/sidecar)
//!            .managed.json           tantivy's list of files
//!            shardsplit.json         child manifest: routing, files with lengths and checksums
//!            meta.json               tantivy's index description; written last
//! PARENT/.OUT.shardsplit/            staging, mode 0700; of another user or mode it is not touched
//!          lock                      held by the run that owns it; free after a crash
//!          staging.json              what this run may make; written before anything else is made
//!          children/                 this very directory becomes OUT
//! ```
//!
//! `children/shardsplit.json` is the seal: it stands only once everything it lists is complete, synced and verified.
//! A file that must never be seen half is written under its name with `.partial` behind it, then renamed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::route::ShardNumber;

pub use crate::source::{MANAGED, META};

/// Manifest of a set in its directory, and of a child in its own.
pub const MANIFEST: &str = "shardsplit.json";
/// The routing file of an index directory: a directory of shards.
pub const ROUTING: &str = "routing.json";
/// The staging record.
pub(super) const STAGING_RECORD: &str = "staging.json";
/// Behind the name of a file that is not complete yet.
pub(super) const PARTIAL: &str = ".partial";

const LOCK: &str = "lock";
const CHILDREN: &str = "children";

/// Paths of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    out: PathBuf,
    parent: PathBuf,
    staging: PathBuf,
}

impl Layout {
    /// The paths that belong to the target directory `out`.
    ///
    /// # Errors
    /// [`Error::Usage`] if `out` has no last part that could be a new directory's name (`/`, `..`).
    pub fn new(out: &Path) -> Result<Layout> {
        let name = out.file_name().ok_or_else(|| {
            Error::Usage(format!("--out {} does not name a directory that could be made", out.display()))
        })?;
        let parent = match out.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".shardsplit");
        // Rejoined, so that `out/` and `out` are one target.
        Ok(Layout { out: parent.join(name), staging: parent.join(hidden), parent })
    }

    /// The target.
    #[must_use]
    pub fn out(&self) -> &Path {
        &self.out
    }

    /// The directory that holds the target and its staging directory.
    #[must_use]
    pub fn parent(&self) -> &Path {
        &self.parent
    }

    /// The staging directory.
    #[must_use]
    pub fn staging(&self) -> &Path {
        &self.staging
    }

    /// The staged set.
    #[must_use]
    pub fn children(&self) -> PathBuf {
        self.staging.join(CHILDREN)
    }

    /// A staged child.
    #[must_use]
    pub fn staged_child(&self, shard: ShardNumber) -> PathBuf {
        self.children().join(child_name(shard))
    }

    /// A published child.
    #[must_use]
    pub fn child(&self, shard: ShardNumber) -> PathBuf {
        self.out.join(child_name(shard))
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.staging.join(LOCK)
    }

    pub(super) fn record(&self) -> PathBuf {
        self.staging.join(STAGING_RECORD)
    }

    /// The files directly in the staging directory, in the order in which they are removed.
    // ORDER: the record goes after all that it lists, the lock last.
    pub(super) fn staging_files(&self) -> [PathBuf; 3] {
        [self.staging.join(partial(STAGING_RECORD)), self.record(), self.lock()]
    }
}

/// Whether `name` is that of a manifest: a file of ours that may lie beside an index's own.
#[must_use]
pub fn is_manifest(name: &str) -> bool {
    name == MANIFEST
}

/// The shard number that a directory called `name` stands for. `007` is none.
#[must_use]
pub fn shard_of(name: &str) -> Option<ShardNumber> {
    name.parse::<ShardNumber>().ok().filter(|&shard| child_name(shard) == name)
}

/// Directory name of a child: its shard number in decimal.
#[must_use]
pub fn child_name(shard: ShardNumber) -> String {
    shard.to_string()
}

/// The name under which `name` is written until it is complete.
pub(super) fn partial(name: &str) -> String {
    format!("{name}{PARTIAL}")
}

/// Whether `name` could stand in a child whose segments have these ids: what a run may write there, and what may be
/// removed again. Segment files are `<id>.<extension>`, an extension being lower-case letters, digits and dots.
#[must_use]
pub fn is_child_file<S: AsRef<str>>(name: &str, segments: &[S]) -> bool {
    if [MANIFEST, META, MANAGED].contains(&name) {
        return true;
    }
    let Some((stem, extension)) = name.split_once('.') else { return false };
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'.';
    !extension.is_empty()
        && name.len() <= MAX_NAME
        && extension.bytes().all(plain)
        && segments.iter().any(|id| id.as_ref() == stem)
}

/// Whether `id` is 32 lower-case hexadecimal digits.
#[must_use]
pub fn is_segment_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Longest file name in bytes (`NAME_MAX` everywhere).
const MAX_NAME: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_staging_directory_is_a_hidden_sibling_of_the_target() {
        for (out, parent, staging) in [
            ("a/b/out", "a/b", "a/b/.out.shardsplit"),
            ("out", ".", "./.out.shardsplit"),
            ("/x/out/", "/x", "/x/.out.shardsplit"),
        ] {
            let layout = Layout::new(Path::new(out)).unwrap();
            assert_eq!(layout.parent(), Path::new(parent), "{out}");
            assert_eq!(layout.staging(), Path::new(staging), "{out}");
            assert_eq!(layout.children(), Path::new(staging).join("children"), "{out}");
            assert_eq!(layout.child(3), Path::new(parent).join("out/3"), "{out}");
        }
        for out in ["/", "..", "a/..", ""] {
            assert!(matches!(Layout::new(Path::new(out)), Err(Error::Usage(_))), "{out}");
        }
    }

    #[test]
    fn shards_have_plain_numbers() {
        let shards = ["0", "10", "4294967295", "007", "+1", "-1", "4294967296", "x", ""].map(shard_of);
        assert_eq!(shards, [Some(0), Some(10), Some(u32::MAX), None, None, None, None, None, None]);
    }

    #[test]
    fn only_names_of_known_segments_and_of_index_files_belong_to_a_child() {
        let id = "0123456789abcdef0123456789abcdef";
        let other = "ffffffffffffffffffffffffffffffff";
        for name in ["meta.json", ".managed.json", "shardsplit.json"] {
            assert!(is_child_file(name, &[id]), "{name}");
        }
        for extension in ["term", "idx", "42.del", "store"] {
            assert!(is_child_file(&format!("{id}.{extension}"), &[other, id]), "{extension}");
            assert!(!is_child_file(&format!("{other}.{extension}"), &[id]), "{extension}");
        }
        for name in ["", ".", "..", "x", id, "../meta.json", ".tantivy-writer.lock", "/meta.json"] {
            assert!(!is_child_file(name, &[id]), "{name}");
        }
        for extension in ["", "a/b", "../x", "TERM", "a b", "\u{fc}"] {
            assert!(!is_child_file(&format!("{id}.{extension}"), &[id]), "{extension}");
        }
        assert!(!is_child_file(&format!("{id}.{}", "x".repeat(300)), &[id]));
    }
}
