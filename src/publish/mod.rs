//! Staging, syncing, publishing, recovery: the only module that changes directories.
//!
//! Input: a target and what will be written there. Output: children at `OUT/<shard number>`, all visible at once, or
//! nothing. [`layout`] draws the directories; [`Staging`] takes a set from its first file to the rename; [`recover`]
//! brings a target that a crash left behind back to whole or absent; [`FileSystem`] is where effects happen.

mod files;
mod fs;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzz;
mod index_directory;
pub mod layout;
mod manifest;
mod manifest_file;
mod plan_file;
mod record;
mod recover;
mod removal;
mod routing_file;
mod seal;
mod staging;
mod take_up;
mod unrouted_file;
mod write_behind;

pub use files::PartFiles;
pub use fs::{Access, Fault, FaultyFs, FileSystem, Kind, Lock, RealFs};
pub use index_directory::{IndexDirectory, index_of_shard};
pub use layout::{Layout, is_manifest};
pub use manifest::{
    ChildManifest, ChildSegment, ChildSource, FORMAT, RoutingRecord, SegmentLineage, SetChild, SetManifest, SetPart,
    SourceLineage, StagedChild,
};
pub use manifest_file::{published_sidecars, read_child, read_set};
pub use plan_file::{read_plan_file, write_plan_file, write_table_file};
pub use record::{PartRecord, SplitRecord};
pub use recover::{RecoverAction, RecoverReport, recover};
pub use removal::Removal;
pub use routing_file::{RoutingFile, read_routing};
pub use seal::Proof;
pub use staging::{Published, Staging, check_free, check_space};
pub use take_up::{TakenUp, check_staging};
pub use unrouted_file::UnroutedFile;
