//! What a run says of itself before it makes anything.

use std::path::PathBuf;

use super::manifest::{RoutingRecord, SourceLineage, StagedChild};
use super::routing_file::RoutingFile;
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

impl SplitRecord {
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
