//! Which child gets each document, and the census.

use std::fmt;

use serde::Serialize;

use super::keys::{KeyReading, KeySpec};
use crate::error::Result;
use crate::progress::{Cancel, Progress};
use crate::route::SplitRouting;
use crate::source::Source;

/// Marks a document that goes to no child: deleted.
pub const NO_CHILD: u16 = u16::MAX;

/// Per segment and document, the index of its child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    num_children: usize,
    segments: Vec<Vec<u16>>,
}

impl Assignment {
    /// `segments`: per source segment, per document, a child index below `num_children`, or [`NO_CHILD`].
    #[must_use]
    pub fn new(num_children: usize, segments: Vec<Vec<u16>>) -> Assignment {
        Assignment { num_children, segments }
    }

    /// Number of children.
    #[must_use]
    pub fn num_children(&self) -> usize {
        self.num_children
    }

    /// Child indexes of the documents of a segment.
    #[must_use]
    pub fn segment(&self, segment: usize) -> &[u16] {
        self.segments.get(segment).map_or(&[], Vec::as_slice)
    }

    /// Documents that go to some child.
    #[must_use]
    pub fn num_assigned(&self) -> u64 {
        self.segments.iter().flatten().filter(|&&child| usize::from(child) < self.num_children).count() as u64
    }
}

/// Where a document stands: printed as `segment <id> doc <n>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct DocAddress {
    /// Segment id, 32 hexadecimal digits.
    pub segment: String,
    /// DocId.
    pub doc: u32,
}

impl fmt::Display for DocAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "segment {} doc {}", self.segment, self.doc)
    }
}

/// What to do with documents that routing alone cannot place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Stop the run before anything is written.
    #[default]
    Refuse,
    /// Give them to the child with this shard number.
    Child(u32),
}

/// Policies for documents that routing alone cannot place. Documents with several keys are always refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeyPolicies {
    /// Documents without a key.
    pub missing: Policy,
    /// Documents whose hash says that they belong to another source shard.
    pub stray: Policy,
}

/// Documents that stopped a run: counts and the first addresses of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeyProblems {
    /// Documents without a key.
    pub missing: u64,
    /// Documents with several keys.
    pub several: u64,
    /// Documents of another source shard.
    pub stray: u64,
    /// First addresses of documents without a key.
    pub missing_sample: Vec<DocAddress>,
    /// First addresses of documents with several keys.
    pub several_sample: Vec<DocAddress>,
    /// First addresses of documents of another shard, with the shard they belong to.
    pub stray_sample: Vec<(DocAddress, u32)>,
}

impl fmt::Display for KeyProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} documents without a key, {} with several, {} of another shard",
            self.missing, self.several, self.stray
        )
    }
}

/// Documents per child of one source segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct SegmentCensus {
    /// Segment id.
    pub segment: String,
    /// Live documents.
    pub live: u64,
    /// Deleted documents.
    pub deleted: u64,
    /// Documents by child index.
    pub children: Vec<u64>,
}

/// Documents per child and per segment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Census {
    /// Live documents of the source.
    pub live: u64,
    /// Deleted documents of the source.
    pub deleted: u64,
    /// Documents by child index.
    pub children: Vec<u64>,
    /// The same by source segment.
    pub segments: Vec<SegmentCensus>,
    /// Distinct keys, where the plane that was read tells.
    pub distinct_keys: Option<u64>,
    /// Documents that share their key with an earlier one, where the plane that was read tells.
    pub duplicate_keys: Option<u64>,
    /// Documents placed by [`KeyPolicies::missing`].
    pub missing_placed: u64,
    /// Documents placed by [`KeyPolicies::stray`].
    pub stray_placed: u64,
}

/// What [`assign`] found.
#[derive(Clone, Debug)]
pub struct Assigned {
    /// Which child gets each document.
    pub assignment: Assignment,
    /// Documents per child and segment.
    pub census: Census,
    /// Which planes were read.
    pub readings: Vec<KeyReading>,
}

/// Routes every live document of `source`.
pub fn assign(
    source: &Source,
    keys: &KeySpec,
    routing: &SplitRouting,
    policies: &KeyPolicies,
    threads: usize,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Assigned> {
    let _ = (source, keys, routing, policies, threads, progress, cancel);
    Err(crate::Error::Usage("not built yet".to_owned()))
}
