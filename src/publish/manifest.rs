//! What a run writes down about itself: the set manifest, the child manifests, and the staging record.
//!
//! All three are pretty JSON of one object that begins with `format` and `tool`. They hold no time, host or target
//! path, so that the same job gives the same bytes. What was read is checked: file names must be plain names of the child
//! they stand in, shard numbers and names may not repeat. A manifest, whoever wrote it, can therefore name nothing
//! outside the directory it stands in.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::layout::{MANIFEST, ROUTING, is_child_file, is_segment_id};
use crate::error::{Error, Result};
use crate::partition::{Census, KeyPolicies, Placement, SegmentMode};
use crate::plan::Method;
use crate::route::{Operation, ShardNumber, SplitSpec, TableSplit};
use crate::source::{Component, Meta, Segment, Source};
use crate::verify::VerifyLevel;
use crate::write::{WrittenFile, WrittenSegment, source_file};

/// Version of all three formats.
pub const FORMAT: u32 = 1;

/// The program that wrote a manifest, with its version.
pub(super) fn tool() -> String {
    concat!("shardsplit ", env!("CARGO_PKG_VERSION")).to_owned()
}

/// A source shard that children come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceLineage {
    /// Its number.
    pub shard: ShardNumber,
    /// Absolute path of its directory; bytes that are not UTF-8 are replaced.
    pub dir: String,
    /// Opstamp of its last commit.
    pub opstamp: u64,
    /// Its segments in the order of its `meta.json`.
    pub segments: Vec<SegmentLineage>,
}

/// One segment of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SegmentLineage {
    /// 32 hexadecimal digits.
    pub id: String,
    /// Documents, deleted ones included.
    pub max_doc: u32,
    /// Live documents.
    pub num_docs: u32,
    /// Its files with the checksums that their own footers give; the bitset of deleted documents apart.
    pub files: Vec<WrittenFile>,
}

impl SourceLineage {
    /// Writes down where `source` stands and what it is: an entry per directory, whose shard numbers are `shards`. Reads
    /// none of its files.
    pub fn of(source: &Source, shards: &[ShardNumber]) -> Result<Vec<SourceLineage>> {
        let one = |(origin, (dir, meta)): (usize, (&PathBuf, &Meta))| {
            let path = std::fs::canonicalize(dir).map_err(Error::io("resolve", dir))?;
            let opstamp = meta.opstamp();
            let segments = source.segments_of(origin).map(SegmentLineage::of).collect();
            let shard = shards.get(origin).copied().unwrap_or_default();
            Ok(SourceLineage { shard, dir: path.to_string_lossy().into_owned(), opstamp, segments })
        };
        source.dirs().iter().zip(source.metas()).enumerate().map(one).collect()
    }
}

impl SegmentLineage {
    fn of(segment: &Segment) -> SegmentLineage {
        let files = Component::ALL
            .into_iter()
            .map(|component| WrittenFile { linked: false, ..source_file(segment, component) })
            .collect();
        let (id, max_doc, num_docs) = (segment.id().to_owned(), segment.max_doc(), segment.num_docs());
        SegmentLineage { id, max_doc, num_docs, files }
    }
}

/// How documents were routed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoutingRecord {
    /// Routing function and numbers, as asked for. Of a whole index: those of its first part.
    pub split: SplitSpec,
    /// number_of_routing_shards that was used, given or default; `None` for functions that have none.
    pub number_of_routing_shards: Option<u32>,
    /// The tables of the index before and after, where it is routed by one. Of a whole index: with the sources of its first
    /// part. Child manifests leave them to the set manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables: Option<TableSplit>,
    /// What decided where documents went, if it was not the hash of a key. Then of `split` only the number of children
    /// holds, and there is no routing: no id tells where its document is.
    #[serde(default, skip_serializing_if = "Placement::is_hash")]
    pub placement: Placement,
    /// The id field; left out where no key decided.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The field of custom routing values.
    pub routing_field: Option<String>,
    /// Where documents went that routing alone could not place.
    pub policies: KeyPolicies,
}

/// A child in the set manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetChild {
    /// Shard number: the name of its directory.
    pub shard: ShardNumber,
    /// Live documents.
    pub docs: u64,
    /// Content digest that verification computed.
    pub digest: Option<String>,
    /// Its manifest, which in turn lists its files: length and checksum.
    pub manifest: WrittenFile,
}

/// Source shards and the children that they became, which no other shard has to do with: one source and its children in
/// a split, several sources and their child in a merge. A whole index has several parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetPart {
    /// Where the children come from, ascending by shard number.
    pub sources: Vec<SourceLineage>,
    /// Shard numbers of the children, ascending.
    pub children: Vec<ShardNumber>,
    /// Documents per child (by position in `children`) and segment (in the order of `sources`).
    pub census: Census,
    /// Content digest of the sources that verification computed; the children's add up to it.
    pub digest: Option<String>,
}

/// `OUT/shardsplit.json`. Once it stands, everything it lists is complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetManifest {
    /// [`FORMAT`].
    pub format: u32,
    /// Program and version.
    pub tool: String,
    /// What was done.
    pub operation: Operation,
    /// How documents were routed.
    pub routing: RoutingRecord,
    /// How children were made.
    pub method: Method,
    /// Segment layout.
    pub segments: SegmentMode,
    /// How much was verified before publishing.
    pub verified: VerifyLevel,
    /// Live documents.
    pub docs: u64,
    /// Content digest of all sources together that verification computed.
    pub digest: Option<String>,
    /// Where the children come from: one part, or those of a whole index.
    pub parts: Vec<SetPart>,
    /// The routing file beside this manifest.
    pub routing_file: WrittenFile,
    /// The children, ascending by shard number.
    pub children: Vec<SetChild>,
}

/// A segment in a child manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChildSegment {
    /// 32 hexadecimal digits.
    pub id: String,
    /// Documents, those of other children included (link method).
    pub max_doc: u32,
    /// Documents that the child owns.
    pub num_docs: u32,
}

impl From<&WrittenSegment> for ChildSegment {
    fn from(segment: &WrittenSegment) -> ChildSegment {
        ChildSegment { id: segment.id.clone(), max_doc: segment.max_doc, num_docs: segment.num_docs() }
    }
}

/// A source shard in a child manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChildSource {
    /// Its number.
    pub shard: ShardNumber,
    /// Ids of its segments. Another shard may have segments of the same ids.
    pub segments: Vec<String>,
}

impl From<&SourceLineage> for ChildSource {
    fn from(source: &SourceLineage) -> ChildSource {
        let segments = source.segments.iter().map(|segment| segment.id.clone()).collect();
        ChildSource { shard: source.shard, segments }
    }
}

/// `OUT/<n>/shardsplit.json`: the child as it was published. Writers change a child later; this file stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChildManifest {
    /// [`FORMAT`].
    pub format: u32,
    /// Program and version.
    pub tool: String,
    /// Shard number.
    pub shard: ShardNumber,
    /// Live documents.
    pub docs: u64,
    /// How documents were routed.
    pub routing: RoutingRecord,
    /// How it was made.
    pub method: Method,
    /// The source shards that it was made from.
    pub sources: Vec<ChildSource>,
    /// Its segments in the order of its `meta.json`.
    pub segments: Vec<ChildSegment>,
    /// Its files by name, this manifest apart.
    pub files: Vec<WrittenFile>,
}

/// A child in the staging record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StagedChild {
    /// Shard number.
    pub shard: ShardNumber,
    /// Ids of the segments it may get.
    pub segments: Vec<String>,
}

/// `staging.json`: from it follow the names of everything a run may make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StagingRecord {
    pub(super) format: u32,
    pub(super) tool: String,
    /// Which job it is of, see [`super::SplitRecord::identity`]: only that one takes it up.
    #[serde(default)]
    pub(super) job: Option<String>,
    pub(super) children: Vec<StagedChild>,
}

/// A manifest once read: `Err` says what is wrong with it.
pub(super) trait Check {
    fn check(&self) -> Result<(), String>;
}

impl Check for SetManifest {
    fn check(&self) -> Result<(), String> {
        distinct(self.children.iter().map(|child| child.shard), "shard number")?;
        if let Some(child) = self.children.iter().find(|child| child.manifest.name != MANIFEST) {
            return Err(format!("shard {} names {:?} as its manifest", child.shard, child.manifest.name));
        }
        if self.routing_file.name != ROUTING {
            return Err(format!("it names {:?} as its routing file", self.routing_file.name));
        }
        distinct(self.parts.iter().flat_map(|part| &part.sources).map(|source| source.shard), "source shard")?;
        let of_parts: BTreeSet<ShardNumber> = self.parts.iter().flat_map(|part| &part.children).copied().collect();
        let listed: BTreeSet<ShardNumber> = self.children.iter().map(|child| child.shard).collect();
        if of_parts == listed {
            Ok(())
        } else {
            Err(format!("its parts have shards {of_parts:?}, it lists {listed:?}"))
        }
    }
}

impl Check for ChildManifest {
    fn check(&self) -> Result<(), String> {
        let ids: Vec<&str> = self.segments.iter().map(|segment| segment.id.as_str()).collect();
        plain_ids(&ids)?;
        distinct(self.files.iter().map(|file| &file.name), "file")?;
        match self.files.iter().find(|file| file.name == MANIFEST || !is_child_file(&file.name, &ids)) {
            Some(file) => Err(format!("{:?} is not the name of a file of this child", file.name)),
            None => Ok(()),
        }
    }
}

impl Check for StagingRecord {
    fn check(&self) -> Result<(), String> {
        distinct(self.children.iter().map(|child| child.shard), "shard number")?;
        self.children.iter().try_for_each(|child| plain_ids(&child.segments))
    }
}

fn plain_ids<S: AsRef<str>>(ids: &[S]) -> Result<(), String> {
    match ids.iter().map(AsRef::as_ref).find(|id| !is_segment_id(id)) {
        Some(id) => Err(format!("{id:?} is not a segment id")),
        None => distinct(ids.iter().map(AsRef::as_ref), "segment id"),
    }
}

fn distinct<T: Ord + std::fmt::Debug>(values: impl Iterator<Item = T>, what: &str) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for value in values {
        if let Some(twice) = seen.replace(value) {
            return Err(format!("{what} {twice:?} is there twice"));
        }
    }
    Ok(())
}
