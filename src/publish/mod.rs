//! Staging, syncing, publishing, recovery: the only module that changes directories.
//!
//! Input: a target and what will be written there. Output: children at `OUT/<shard number>`, all visible at once, or
//! nothing. [`layout`] draws the directories; [`Staging`] takes a set from its first file to the rename; [`recover`]
//! brings a target that a crash left behind back to whole or absent; [`FileSystem`] is where effects happen.

mod fault;
mod fs;
pub mod layout;
mod manifest;
mod recover;
mod removal;
mod staging;

pub use fault::{Fault, FaultyFs};
pub use fs::{Access, FileSystem, Kind, Lock, RealFs};
pub use layout::{Layout, is_manifest};
pub use manifest::{
    ChildManifest, ChildSegment, FORMAT, RoutingRecord, SegmentLineage, SetChild, SetManifest, SourceLineage,
    StagedChild, read_child, read_set,
};
pub use recover::{RecoverAction, RecoverReport, recover};
pub use removal::Removal;
pub use staging::{Proof, Published, SplitRecord, Staging, check_free};
