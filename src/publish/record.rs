//! What a run says of itself before it makes anything.

use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::layout::{ROUTING, STAGING_RECORD};
use super::manifest::{FORMAT, tool};
use super::manifest::{RoutingRecord, SourceLineage, StagedChild};
use super::manifest_file::to_bytes;
use super::routing_file::RoutingFile;
use crate::error::Result;
use crate::partition::{Census, SegmentMode};
use crate::plan::Method;
use crate::route::Operation;

/// What a run is going to write; all of it goes into manifests.
#[derive(Clone, Debug)]
pub struct SplitRecord {
    /// What is done.
    pub operation: Operation,
    /// Where children come from and which there will be. Child indexes run through all parts.
    pub parts: Vec<PartRecord>,
    /// Directories of the sources, resolved: nothing may be made in there.
    pub source_paths: Vec<PathBuf>,
    /// How documents are routed.
    pub routing: RoutingRecord,
    /// How the index that the children belong to is routed; without effect where `routing` names another placement than hashes.
    pub routing_file: RoutingFile,
    /// How children are made.
    pub method: Method,
    /// Segment layout.
    pub segments: SegmentMode,
    /// Whatever else decides the bytes of children, as text.
    pub options: String,
}

/// Source shards and their children.
#[derive(Clone, Debug)]
pub struct PartRecord {
    /// The sources.
    pub sources: Vec<SourceLineage>,
    /// Documents per child and segment.
    pub census: Census,
    /// By child index within the part: shard number, and the ids of the segments it may get.
    pub children: Vec<StagedChild>,
}

/// Namespace of the identities of jobs.
const JOB_NAMESPACE: Uuid = Uuid::from_u128(0x1c9e_63b0_8a4f_5d27_9b1e_f04d_a2c7_5836);

impl SplitRecord {
    /// The job as 32 hexadecimal digits: the same for a job that would write the same bytes, by this very version of the
    /// program, from the same source; another for every other. How much is verified and by how many threads plays no part.
    ///
    /// # Errors
    /// [`crate::Error::Manifest`] if it cannot be written as JSON.
    pub(super) fn identity(&self) -> Result<String> {
        let path = Path::new(STAGING_RECORD);
        let parts: Vec<_> = self.parts.iter().map(|part| (&part.sources, &part.census, &part.children)).collect();
        let routing_file = self.routing_file.to_bytes(Path::new(ROUTING))?;
        let of = (
            (FORMAT, tool(), self.operation, self.method, self.segments),
            (&self.routing, &self.options, String::from_utf8_lossy(&routing_file)),
            parts,
        );
        Ok(Uuid::new_v5(&JOB_NAMESPACE, &to_bytes(path, &of)?).simple().to_string())
    }

    /// All children by their index.
    pub(super) fn children(&self) -> impl Iterator<Item = &StagedChild> {
        self.parts.iter().flat_map(|part| &part.children)
    }

    /// The part of the child with this index, and the child's index in there.
    pub(super) fn part_of(&self, child: usize) -> Option<(&PartRecord, usize)> {
        let mut first = 0;
        for part in &self.parts {
            if child < first + part.children.len() {
                return Some((part, child - first));
            }
            first += part.children.len();
        }
        None
    }
}
