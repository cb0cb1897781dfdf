//! The engine: source shards and their children, from routing to verification. A job has one part; a job on a whole
//! index has one after the other, in one staging directory.
//!
//! Input: an open source and its routing. Memory: that of the doc map (see [`crate::partition`]) while a [`Part`] lives.

use std::path::PathBuf;

use super::index::pin::Pin;
use crate::error::{Error, Result};
use crate::limits::Need;
use crate::partition::{Assigned, Assigning, Assignment, DocMap, KeyPolicies, KeySpec, Placement, SegmentMode};
use crate::plan::Method;
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::publish::{PartRecord, RoutingRecord, SourceLineage, StagedChild, Staging, is_manifest};
use crate::route::SplitRouting;
use crate::source::{Segment, Source};
use crate::verify::{Ownership, SAMPLE, VerifyJob, VerifyLevel, VerifyReport, verify};
use crate::write::{self, SourceReads, WrittenSegment};

/// How children are made and checked.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) keys: KeySpec,
    pub(super) placement: Placement,
    pub(super) policies: KeyPolicies,
    pub(super) method: Method,
    pub(super) segments: SegmentMode,
    pub(super) max_docs_per_segment: u32,
    pub(super) verify: VerifyLevel,
    /// At least 1.
    pub(super) threads: usize,
}

impl Options {
    /// Segment layout of the children: linked ones keep the source's.
    pub(super) fn layout(&self) -> SegmentMode {
        match self.method {
            Method::Rewrite => self.segments,
            Method::Link => SegmentMode::Keep,
        }
    }

    /// Whether the source's checksums are compared before anything is written.
    pub(super) fn checks_source(&self) -> bool {
        self.method == Method::Rewrite || self.verify == VerifyLevel::Full
    }

    /// Routing: sidecars are read first, and hashes are kept to be written beside the children.
    fn assigning<'a>(&'a self, source: &'a Source, routing: &'a SplitRouting) -> Assigning<'a> {
        let (keys, placement, policies, threads) = (&self.keys, &self.placement, self.policies, self.threads);
        Assigning { source, keys, routing, placement, policies, threads, read_sidecars: true, keep_hashes: true }
    }

    /// What decides the bytes of children beside what manifests say: with the `meta.json` of the sources, pinned.
    pub(super) fn identity(&self, pins: &[&Pin]) -> String {
        format!("at most {} documents a segment, {pins:?}", self.max_docs_per_segment)
    }

    pub(super) fn record(&self, routing: &SplitRouting) -> RoutingRecord {
        RoutingRecord {
            split: *routing.spec(),
            number_of_routing_shards: routing.number_of_routing_shards().filter(|_| self.placement.is_hash()),
            tables: routing.tables().cloned(),
            placement: self.placement.clone(),
            key: self.keys.key.clone(),
            routing_field: self.keys.routing_field.clone(),
            policies: self.policies,
        }
    }
}

/// Files that a segment has, its bitset of deleted documents included.
const FILES_OF_A_SEGMENT: u64 = 7;

/// Source shards whose documents were routed.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) source: Source,
    pub(super) routing: SplitRouting,
    /// Without the assignment, which is in the two below.
    pub(super) assigned: Assigned,
    /// What is linked; spent by writing. Method link only.
    pub(super) links: Option<Assignment>,
    /// What is written anew; spent by writing. Everything under rewrite; where documents move by links, those that leave
    /// their shard.
    pub(super) map: Option<DocMap>,
}

/// What the writers made of one child.
#[derive(Clone, Copy)]
pub(super) struct WrittenChild {
    pub(super) segments: usize,
    /// Bytes of all its segment files.
    pub(super) bytes: u64,
    /// Bytes of those that are not the source's own.
    pub(super) new_bytes: u64,
}

/// What the writers made.
pub(super) struct Written {
    /// By child index.
    pub(super) children: Vec<WrittenChild>,
    /// Where hash sidecars are staged.
    pub(super) sidecars: Vec<PathBuf>,
    pub(super) reads: Option<SourceReads>,
    pub(super) notes: Vec<String>,
}

impl Part {
    /// Routes every document, and finds out whatever would keep the children from being written. Writes nothing.
    pub(super) fn route(
        source: Source,
        routing: SplitRouting,
        options: &Options,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Part> {
        let mut assigned = options.assigning(&source, &routing).run(progress, cancel)?;
        let assignment = std::mem::take(&mut assigned.assignment);
        let (links, rewritten) = match options.method {
            Method::Rewrite => (None, Some(assignment)),
            Method::Link if routing.moves() => {
                let origin = |segment: usize| source.segments().get(segment).map_or(usize::MAX, Segment::origin);
                let (stay, leave) = assignment.divide(|segment, child| !routing.stays(origin(segment), child));
                (Some(stay), Some(leave))
            }
            Method::Link => (Some(assignment), None),
        };
        let most = options.max_docs_per_segment;
        let map = rewritten.map(|assignment| DocMap::build(&source, &assignment, options.segments, most));
        let mut map = map.transpose()?;
        if let Some(map) = &mut map {
            // Links, if there are any, need the hashes first.
            let hashes = if links.is_none() { assigned.hashes.take() } else { None };
            if let Some(hashes) = hashes {
                map.carry(hashes);
            }
            write::check(&source, map)?;
        }
        Ok(Part { source, routing, assigned, links, map })
    }

    /// What the part holds at once, at most, beside the maps of its source.
    pub(super) fn need(&self, options: &Options) -> Need {
        let (mut files, mut segments) = (1, 0);
        if let Some(map) = &self.map {
            let mut outputs: Vec<u64> = map.groups.iter().map(|group| group.outputs.len() as u64).collect();
            outputs.sort_unstable_by_key(|&outputs| std::cmp::Reverse(outputs));
            let side_by_side = write::groups_at_once(outputs.len(), options.threads);
            let written: u64 = outputs.iter().take(side_by_side).sum();
            files = files.max(written * write::OPEN_FILES);
            segments += outputs.iter().sum::<u64>();
        }
        if let Some(links) = &self.links {
            let linked = |index| links.children_of(index).len() as u64;
            segments += (0..self.source.segments().len()).map(linked).sum::<u64>();
        }
        // Verification opens all children at once.
        let maps = if options.verify == VerifyLevel::None { 0 } else { segments * FILES_OF_A_SEGMENT };
        Need { files, maps }
    }

    pub(super) fn pair(&self) -> Pair<'_> {
        Pair { source: &self.source, routing: &self.routing }
    }

    /// What staging announces before it makes anything.
    pub(super) fn record(&self) -> Result<PartRecord> {
        let mut children: Vec<StagedChild> =
            self.routing.children().iter().map(|&shard| StagedChild { shard, segments: Vec::new() }).collect();
        if let Some(links) = &self.links {
            let ids = self.linked_ids();
            for (index, id) in ids.iter().enumerate() {
                for child in links.children_of(index) {
                    if let Some(child) = children.get_mut(child) {
                        child.segments.push(id.clone());
                    }
                }
            }
        }
        if let Some(map) = &self.map {
            let ids = write::child_segment_ids(&self.source, map, self.routing.children());
            for (output, id) in map.groups.iter().flat_map(|group| &group.outputs).zip(ids.into_iter().flatten()) {
                if let Some(child) = children.get_mut(output.child) {
                    child.segments.push(id);
                }
            }
        }
        let sources = SourceLineage::of(&self.source, self.routing.sources())?;
        Ok(PartRecord { sources, census: self.assigned.census.clone(), children })
    }

    /// Ids under which the source's segments are linked.
    fn linked_ids(&self) -> Vec<String> {
        if self.routing.moves() {
            self.source.segments().iter().map(|segment| segment.id().to_owned()).collect()
        } else {
            write::linked_segment_ids(&self.source, self.routing.children())
        }
    }

    /// Writes the children, the first of which has the index `first` in `staging`; or takes those that stand there
    /// finished.
    pub(super) fn write(
        &mut self,
        options: &Options,
        (staging, first): (&Staging, usize),
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Written> {
        let (files, shards) = (staging.part(first), self.routing.children());
        if let Some(written) = Written::earlier(staging, first, shards.len(), options.method) {
            progress.begin(Stage::Write, Work::bytes(self.source.num_bytes()));
            progress.advance(Stage::Write, Work::bytes(self.source.num_bytes()));
            progress.end(Stage::Write);
            return Ok(written);
        }
        let (mut segments, mut notes, mut reads) = (Vec::new(), Vec::new(), None);
        if let Some(links) = self.links.take() {
            (segments, notes) = if self.routing.moves() {
                write::link_stays(&self.source, &links, &files, cancel)?
            } else {
                write::link(&self.source, &links, shards, &files, progress, cancel)?
            };
            if let Some(hashes) = &self.assigned.hashes {
                write::link_sidecars(&self.source, hashes, &files, &mut segments, cancel)?;
            }
        }
        let hashes = self.assigned.hashes.take();
        if let Some(mut map) = self.map.take() {
            if let Some(hashes) = hashes {
                map.carry(hashes);
            }
            let made = write::rewrite(&self.source, &map, shards, &files, options.threads, progress, cancel)?;
            segments.extend(made.segments);
            reads = Some(made.reads);
        }
        let mut children = Vec::with_capacity(shards.len());
        let mut sidecars = Vec::new();
        for child in 0..shards.len() {
            let own: Vec<WrittenSegment> = segments.iter().filter(|segment| segment.child == child).cloned().collect();
            staging.add_index_files(first + child, self.source.meta(), &own)?;
            let files = || own.iter().flat_map(WrittenSegment::all_files);
            let bytes = files().map(|file| file.len).sum();
            let new_bytes = files().filter(|file| !file.linked).map(|file| file.len).sum();
            if let Some(dir) = staging.child_dir(first + child) {
                sidecars.extend(own.iter().filter_map(|segment| Some(dir.join(&segment.sidecar.as_ref()?.name))));
            }
            children.push(WrittenChild { segments: own.len(), bytes, new_bytes });
        }
        Ok(Written { children, sidecars, reads, notes })
    }
}

impl Written {
    /// What a killed run of the same job had finished: the `count` children from index `first` on.
    pub(super) fn earlier(staging: &Staging, first: usize, count: usize, method: Method) -> Option<Written> {
        let found = staging.finished_part(first, count)?;
        // Nothing that is linked is taken up.
        let children = found.iter().map(|&(segments, bytes, _)| WrittenChild { segments, bytes, new_bytes: bytes });
        let children = children.collect();
        let sidecars = found.into_iter().flat_map(|(.., sidecars)| sidecars).collect();
        let reads = (method == Method::Rewrite).then(SourceReads::default);
        Some(Written { children, sidecars, reads, notes: Vec::new() })
    }
}

/// A source and its children, once they need no doc map any more.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) source: &'a Source,
    pub(super) routing: &'a SplitRouting,
}

impl Pair<'_> {
    /// Compares the source's files with their checksums: what is copied from a damaged file would get a new, valid one.
    /// Links keep the old ones, so there full verification is soon enough to ask.
    pub(super) fn check_source(self, options: &Options, progress: &dyn Progress, cancel: &Cancel) -> Result<()> {
        if !options.checks_source() {
            return Ok(());
        }
        let problems = self.source.check_checksums(options.threads, Stage::Open, progress, cancel)?;
        match problems.first() {
            None => Ok(()),
            Some(first) => {
                let others = match problems.len() - 1 {
                    0 => String::new(),
                    others => format!(", and so are {others} more files"),
                };
                let problem = format!(
                    "its bytes have checksum {:08x}, its footer says {:08x}{others}",
                    first.found, first.expected
                );
                Err(Error::corrupt(&first.path, problem))
            }
        }
    }

    /// Compares the staged children with the source.
    pub(super) fn verify(
        self,
        options: &Options,
        (staging, first): (&Staging, usize),
        sidecars: &[PathBuf],
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Option<VerifyReport>> {
        if options.verify == VerifyLevel::None {
            return Ok(None);
        }
        let children = (first..).zip(self.routing.children());
        let job = VerifyJob {
            source: self.source,
            children: children.filter_map(|(child, &shard)| Some((shard, staging.child_dir(child)?))).collect(),
            ownership: Some(Ownership {
                keys: &options.keys,
                routing: self.routing,
                placement: &options.placement,
                policies: options.policies,
            }),
            level: options.verify,
            threads: options.threads,
            sample: SAMPLE,
            known_file: is_manifest,
            sidecars: sidecars.to_vec(),
            source_checked: options.checks_source(),
        };
        let report = verify(&job, progress, cancel)?;
        if report.is_clean() { Ok(Some(report)) } else { Err(Error::Difference(Box::new(report))) }
    }
}
