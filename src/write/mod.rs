//! Writing child segments: one pass over each plane of the source feeds all children together.
//!
//! Input: a [`crate::source::Source`] and a [`crate::partition::DocMap`]. Output: files, through [`ChildFiles`], and a
//! [`WrittenSegment`] per child segment as proof of what was written. Nothing here decides where files go, syncs or
//! renames: that is [`crate::publish`].

mod alive;
mod columns;
mod dictionary;
mod file;
mod link;
mod meta;
mod norms;
mod output;
mod pool;
mod postings;
mod rewrite;
mod sidecar;
mod store;

pub use link::{link, link_stays, source_file};
pub use meta::{child_segment_id, child_segment_ids, linked_segment_ids, managed_json, meta_json};
pub use output::{ChildFiles, Linked, OutputFile, SyncBehind, WrittenFile, WrittenSegment};
#[cfg(feature = "fuzzing")]
pub(crate) use postings::fuzz;
pub use rewrite::{OPEN_FILES, Rewritten, SourceReads, check, groups_at_once, rewrite};
pub use sidecar::{SidecarWriter, link_sidecars};
