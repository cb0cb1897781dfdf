//! The engine: source shards and their children, from routing to verification. A job has one part; a job on a whole
//! index has one after the other, in one staging directory.
//!
//! Input: an open source and its routing. Memory: that of the doc map (see [`crate::partition`]) while a [`Part`] lives.

use std::path::PathBuf;

use crate::error::{Error, Result};
use crate::partition::{
    Assigned, Assigning, DocMap, Group, KeyPolicies, KeySpec, MAX_DOCS_PER_SEGMENT, Placement, SegmentHashes,
    SegmentMode,
};
use crate::plan::{Method, PlannedChild, REHEARSED, predict_by_census, predict_linked, predict_rewritten, rehearse};
use crate::progress::{Cancel, Progress, Stage};
use crate::publish::{PartRecord, RoutingRecord, SourceLineage, StagedChild, Staging, is_manifest};
use crate::route::{RoutingHash, SplitRouting};
use crate::source::{HashState, Source, sidecar_bytes};
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

/// Source shards whose documents were routed.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) source: Source,
    pub(super) routing: SplitRouting,
    pub(super) assigned: Assigned,
    /// Rewrite only; spent by writing.
    map: Option<DocMap>,
}

/// What the writers made.
pub(super) struct Written {
    /// Per child: segments and bytes.
    pub(super) children: Vec<(usize, u64)>,
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
        let map = match options.method {
            Method::Rewrite => {
                let assignment = std::mem::take(&mut assigned.assignment);
                let most = options.max_docs_per_segment;
                let mut map = DocMap::build(&source, &assignment, options.segments, most)?;
                drop(assignment);
                if let Some(hashes) = assigned.hashes.take() {
                    map.carry(hashes);
                }
                write::check(&source, &map)?;
                Some(map)
            }
            Method::Link => None,
        };
        Ok(Part { source, routing, assigned, map })
    }

    /// Calls `see` with segment, number and hash of every live document that has a hash.
    pub(super) fn for_each_hash(&self, see: &mut dyn FnMut(usize, u32, RoutingHash)) {
        let mut one = |index: usize, hashes: &SegmentHashes| {
            let Some(segment) = self.source.segments().get(index).filter(|segment| segment.num_docs() > 0) else {
                return;
            };
            hashes.for_each(segment.max_doc(), |doc, hash, state| {
                if state == HashState::Hashed && segment.is_alive(doc) {
                    see(index, doc, hash);
                }
            });
        };
        match &self.map {
            Some(map) => {
                for group in &map.groups {
                    group.with_hashes(|hashes| {
                        group.segments.iter().zip(&hashes.segments).for_each(|(&index, hashes)| one(index, hashes));
                    });
                }
            }
            None => {
                let hashes = self.assigned.hashes.iter().flat_map(|hashes| &hashes.segments);
                hashes.enumerate().for_each(|(index, hashes)| one(index, hashes));
            }
        }
    }

    /// Small sources are written to nowhere; of damaged ones the real writing says more, checksums first.
    fn predict_rewritten(&self, map: &DocMap) -> Result<Vec<u64>> {
        if self.source.num_bytes() <= REHEARSED
            && let Ok(exact) = rehearse(&self.source, map, self.routing.children())
        {
            return Ok(exact);
        }
        predict_rewritten(&self.source, map)
    }

    /// Predicted bytes of all children, by either method.
    pub(super) fn predict_method(&self, method: Method) -> Result<u64> {
        let children = match (method, &self.map) {
            (Method::Rewrite, Some(map)) => self.predict_rewritten(map)?,
            (Method::Rewrite, None) => predict_by_census(&self.source, &self.assigned)?,
            (Method::Link, _) => predict_linked(&self.source, &self.assigned),
        };
        // Of a rewrite the hashes are with the doc map; linked segments would get them as sidecars.
        let hashed = method == Method::Link && self.map.iter().flat_map(|map| &map.groups).any(Group::has_hashes);
        let sidecars = self.source.segments().iter().filter(|segment| hashed && segment.num_docs() > 0);
        Ok(children.iter().sum::<u64>() + sidecars.map(|segment| sidecar_bytes(segment.max_doc())).sum::<u64>())
    }

    /// The children with their predicted sizes.
    pub(super) fn predict(&self) -> Result<Vec<PlannedChild>> {
        let census = &self.assigned.census;
        let (predicted, segments) = match &self.map {
            Some(map) => {
                let mut segments = vec![0; map.num_children];
                for output in map.groups.iter().flat_map(|group| &group.outputs) {
                    if let Some(count) = segments.get_mut(output.child) {
                        *count += 1;
                    }
                }
                (self.predict_rewritten(map)?, segments)
            }
            None => {
                let owned = |child: usize| {
                    let owns = |docs: &Vec<u64>| docs.get(child).is_some_and(|&docs| docs > 0);
                    census.segments.iter().filter(|segment| owns(&segment.children)).count()
                };
                (predict_linked(&self.source, &self.assigned), (0..census.children.len()).map(owned).collect())
            }
        };
        let children = self.routing.children().iter().zip(&census.children).zip(segments.into_iter().zip(predicted));
        let child =
            |((&shard, &docs), (segments, predicted_bytes))| PlannedChild { shard, docs, segments, predicted_bytes };
        Ok(children.map(child).collect())
    }

    /// What staging announces before it makes anything.
    pub(super) fn record(&self) -> Result<PartRecord> {
        let mut children: Vec<StagedChild> =
            self.routing.children().iter().map(|&shard| StagedChild { shard, segments: Vec::new() }).collect();
        match &self.map {
            Some(map) => {
                let ids = write::child_segment_ids(&self.source, map, self.routing.children());
                for (output, id) in map.groups.iter().flat_map(|group| &group.outputs).zip(ids.into_iter().flatten()) {
                    if let Some(child) = children.get_mut(output.child) {
                        child.segments.push(id);
                    }
                }
            }
            None => {
                let ids = write::linked_segment_ids(&self.source, self.routing.children());
                for (id, census) in ids.iter().zip(&self.assigned.census.segments) {
                    for (child, &docs) in children.iter_mut().zip(&census.children) {
                        if docs > 0 {
                            child.segments.push(id.clone());
                        }
                    }
                }
            }
        }
        let sources = SourceLineage::of(&self.source, self.routing.sources())?;
        Ok(PartRecord { sources, census: self.assigned.census.clone(), children })
    }

    /// Compares the source's files with their checksums: what is copied from a damaged file would get a new, valid one.
    /// Links keep the old ones, so there full verification is soon enough to ask.
    pub(super) fn check_source(&self, options: &Options, progress: &dyn Progress, cancel: &Cancel) -> Result<()> {
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

    /// Writes the children, the first of which has the index `first` in `staging`.
    pub(super) fn write(
        &mut self,
        options: &Options,
        (staging, first): (&Staging, usize),
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<Written> {
        let (files, shards) = (staging.part(first), self.routing.children());
        let (segments, reads, notes) = match self.map.take() {
            Some(map) => {
                let made = write::rewrite(&self.source, &map, shards, &files, options.threads, progress, cancel)?;
                (made.segments, Some(made.reads), Vec::new())
            }
            None => {
                let assignment = &self.assigned.assignment;
                let (mut segments, notes) = write::link(&self.source, assignment, shards, &files, progress, cancel)?;
                if let Some(hashes) = self.assigned.hashes.take() {
                    write::link_sidecars(&self.source, &hashes, &files, &mut segments, cancel)?;
                }
                (segments, None, notes)
            }
        };
        let mut children = Vec::with_capacity(shards.len());
        let mut sidecars = Vec::new();
        for child in 0..shards.len() {
            let own: Vec<WrittenSegment> = segments.iter().filter(|segment| segment.child == child).cloned().collect();
            staging.add_index_files(first + child, self.source.meta(), &own)?;
            let bytes = own.iter().flat_map(WrittenSegment::all_files).map(|file| file.len).sum();
            if let Some(dir) = staging.child_dir(first + child) {
                sidecars.extend(own.iter().filter_map(|segment| Some(dir.join(&segment.sidecar.as_ref()?.name))));
            }
            children.push((own.len(), bytes));
        }
        Ok(Written { children, sidecars, reads, notes })
    }

    /// Compares the staged children with the source.
    pub(super) fn verify(
        &self,
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
            source: &self.source,
            children: children.filter_map(|(child, &shard)| Some((shard, staging.child_dir(child)?))).collect(),
            ownership: Some(Ownership {
                keys: &options.keys,
                routing: &self.routing,
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

/// What an operator should know of `children`, whatever the source.
pub(super) fn warnings(children: &[PlannedChild], options: &Options) -> Vec<String> {
    let mut warnings = Vec::new();
    let empty = children.iter().filter(|child| child.docs == 0).count();
    if empty > 0 {
        warnings.push(format!("{empty} of {} children get no document", children.len()));
    }
    warnings.extend(uneven(children));
    if options.method == Method::Link && options.max_docs_per_segment < MAX_DOCS_PER_SEGMENT {
        warnings.push("linked children keep the source's segments: --max-docs-per-segment has no effect".to_owned());
    }
    warnings
}

/// That a child gets more than twice the mean. Small numbers vary by chance.
fn uneven(children: &[PlannedChild]) -> Option<String> {
    let largest = children.iter().max_by_key(|child| child.docs)?;
    let (docs, mean) =
        (largest.docs, children.iter().map(|child| child.docs).sum::<u64>() / children.len().max(1) as u64);
    (mean >= SMALL && docs > 2 * mean).then(|| {
        format!("child {} gets {docs} documents, more than twice the mean of {mean}; plan --explain names the heaviest keys", largest.shard)
    })
}

/// Documents of a mean child below which nothing is said of how even children are.
const SMALL: u64 = 100;
