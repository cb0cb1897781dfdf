//! The doc map: (segment, DocId) → (output segment, new DocId), and back.
//!
//! Outputs are the child segments that will be written. They come in groups: a group is a set of source segments that
//! is read in one pass, and the outputs that this pass feeds. With one segment per child there is one group of all
//! source segments; with `--segments keep` every source segment is a group of its own.
//!
//! Invariants: within an output, new DocIds are 0..num_docs without gaps and keep source order (the index sort order
//! where there is one); every assigned document is in exactly one output. Memory: 2 bytes per source document forward
//! (3 for more than 63 outputs) and 2 back; 4 and 4 with an index sort or more than 127 outputs, or 8 and 8 where segment
//! and document numbers do not fit 32 bits together. The way back is made when it is asked for first, so that routing hashes, which have to be written
//! before that, are gone by then, and goes when columns are written, so that long posting lists have its room.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::hashes::{RoutingHashes, SegmentHashes};
use super::owners::{Assignment, NO_CHILD};
use super::pairs::{NOTHING, Pairs};
use super::ranks::Ranks;
use super::sort::SortKeys;
use super::ways::{Back, Forward, Rows};
use crate::error::{Error, Result};
use crate::source::{MAX_DOCS, Source};

/// How source segments become child segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentMode {
    /// One segment per child, cut where the most documents per segment are reached.
    #[default]
    One,
    /// One child segment per source segment.
    Keep,
}

/// Most documents in a child segment: tantivy refuses to merge beyond.
pub const MAX_DOCS_PER_SEGMENT: u32 = MAX_DOCS;

/// What [`Group::lookup_all`] gives for a document that goes nowhere: deleted.
pub const NO_OUTPUT: u32 = NOTHING;

/// A segment that will be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// Index of the child it belongs to (0..k; not the shard number).
    pub child: usize,
    /// Documents it gets; never 0.
    pub num_docs: u32,
}

/// Where a document stands in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowAddr {
    /// Index of the segment within its group.
    pub segment: usize,
    /// DocId in that segment.
    pub doc: u32,
}

/// Source segments read in one pass, and the outputs this pass feeds.
#[derive(Debug)]
pub struct Group {
    /// Indexes into [`Source::segments`], ascending.
    pub segments: Vec<usize>,
    /// The segments to write, ascending by child.
    pub outputs: Vec<Output>,
    /// Whether documents of different source segments alternate in an output (index sort). If not, new DocIds ascend
    /// with (segment, doc).
    pub interleaved: bool,
    /// Per document, segment after segment: output and new DocId.
    forward: Forward,
    /// Where each segment's documents stand in `forward`.
    ranges: Vec<Range<usize>>,
    /// Per output, by new DocId: where it is in the source; while somebody needs it.
    back: Mutex<Option<Arc<Back>>>,
    /// What [`DocMap::carry`] gave, until it is taken.
    hashes: Mutex<Option<RoutingHashes>>,
}

impl Group {
    /// Output (index into [`Group::outputs`]) and new DocId of a document; `None` if it goes nowhere.
    #[inline]
    #[must_use]
    pub fn lookup(&self, segment: usize, doc: u32) -> Option<(usize, u32)> {
        let index = self.range(segment).nth(doc as usize)?;
        let (output, doc) = self.forward.get(index)?;
        Some((output as usize, doc))
    }

    #[inline]
    fn range(&self, segment: usize) -> Range<usize> {
        self.ranges.get(segment).cloned().unwrap_or_default()
    }

    /// [`Group::lookup`] of many documents of one segment; an output of [`NO_OUTPUT`] for those that go nowhere. Faster
    /// than one by one: cache misses overlap.
    #[inline]
    pub fn lookup_all(&self, segment: usize, docs: &[u32], targets: &mut [(u32, u32)]) {
        self.forward.gather(self.range(segment), docs, targets);
    }

    /// Says that [`Group::lookup_all`] will be asked for these documents, so that they are in the caches by then. Worth it
    /// where they are far apart.
    #[inline]
    pub fn prefetch(&self, segment: usize, docs: &[u32]) {
        self.forward.prefetch(self.range(segment), docs);
    }

    /// Documents of an output by ascending new DocId.
    pub fn rows(&self, output: usize) -> Rows<'_> {
        let mut back = self.back.lock().unwrap_or_else(PoisonError::into_inner);
        let lens = || self.outputs.iter().map(|output| output.num_docs as usize);
        let back = Arc::clone(back.get_or_insert_with(|| Arc::new(self.forward.back(&self.ranges, lens()))));
        let len = self.outputs.get(output).map_or(0, |output| output.num_docs as usize);
        Rows::new((&self.forward, &self.ranges, back), output, len)
    }

    /// Gives the room for [`Group::rows`] back, as soon as nobody reads them. It is taken again where they are asked for.
    pub fn forget_rows(&self) {
        *self.back.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether routing hashes were given and not taken yet.
    #[must_use]
    pub fn has_hashes(&self) -> bool {
        self.hashes.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// A copy of the routing hashes, if they were given and not taken yet.
    pub(crate) fn copy_hashes(&self) -> Option<RoutingHashes> {
        self.hashes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Gives routing hashes back that were taken for nothing.
    pub(crate) fn return_hashes(&self, hashes: Option<RoutingHashes>) {
        *self.hashes.lock().unwrap_or_else(PoisonError::into_inner) = hashes;
    }

    /// Shows the routing hashes, if they were given and not taken yet.
    pub(crate) fn with_hashes(&self, see: impl FnOnce(&RoutingHashes)) {
        if let Some(hashes) = self.hashes.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            see(hashes);
        }
    }

    /// Routing hashes of the group's segments, in its order; `None` if none were given or they were taken before.
    #[must_use]
    pub fn take_hashes(&self) -> Option<RoutingHashes> {
        self.hashes.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The doc map of a whole job.
#[derive(Debug)]
pub struct DocMap {
    /// Number of children, those without documents included.
    pub num_children: usize,
    /// The passes to make. A group without outputs is left out.
    pub groups: Vec<Group>,
}

impl DocMap {
    /// Lays out the child segments for `assignment`.
    ///
    /// # Errors
    /// [`Error::Tantivy`], [`Error::Corrupt`] or [`Error::Io`] if the column of an index sort cannot be read;
    /// [`Error::Census`] if the map does not hold every assigned document: a defect.
    pub fn build(
        source: &Source,
        assignment: &Assignment,
        mode: SegmentMode,
        max_docs_per_segment: u32,
    ) -> Result<DocMap> {
        let max_docs = max_docs_per_segment.clamp(1, MAX_DOCS_PER_SEGMENT);
        let live = |index: &usize| assignment.segment(*index).iter().any(|&child| child != NO_CHILD);
        let all: Vec<usize> = (0..source.segments().len()).filter(live).collect();
        let sets: Vec<Vec<usize>> = match mode {
            SegmentMode::One => vec![all],
            SegmentMode::Keep => all.into_iter().map(|segment| vec![segment]).collect(),
        };
        let mut groups = Vec::with_capacity(sets.len());
        for segments in sets {
            let sort = if segments.len() > 1 { SortKeys::open(source, &segments)? } else { None };
            let group = build_group(assignment, segments, max_docs, sort.as_ref());
            if !group.outputs.is_empty() {
                groups.push(group);
            }
        }
        let map = DocMap { num_children: assignment.num_children(), groups };
        let (kept, live) = (map.num_docs(), assignment.num_assigned());
        if kept == live {
            Ok(map)
        } else {
            Err(Error::Census { path: source.dir().to_path_buf(), live, children: kept })
        }
    }

    /// Gives routing hashes along, by segment of the source: with them the writers make hash sidecars.
    pub fn carry(&mut self, hashes: RoutingHashes) {
        let RoutingHashes { by, segments } = hashes;
        let mut segments: Vec<Option<SegmentHashes>> = segments.into_iter().map(Some).collect();
        for group in &mut self.groups {
            let own: Vec<SegmentHashes> =
                group.segments.iter().filter_map(|&segment| segments.get_mut(segment)?.take()).collect();
            // Hashes of some other source would be worse than none.
            if own.len() == group.segments.len() {
                group.hashes = Mutex::new(Some(RoutingHashes { by: by.clone(), segments: own }));
            }
        }
    }

    /// Documents over all outputs.
    #[must_use]
    pub fn num_docs(&self) -> u64 {
        self.groups.iter().flat_map(|group| &group.outputs).map(|output| u64::from(output.num_docs)).sum()
    }
}

pub(super) fn build_group(
    assignment: &Assignment,
    segments: Vec<usize>,
    max_docs: u32,
    sort: Option<&SortKeys>,
) -> Group {
    let children: Vec<&[u16]> = segments.iter().map(|&segment| assignment.segment(segment)).collect();

    // Sizes first: how many documents each child gets, and so which outputs there are.
    let mut per_child = vec![0u64; assignment.num_children()];
    for &child in children.iter().copied().flatten() {
        if let Some(count) = per_child.get_mut(usize::from(child)) {
            *count += 1;
        }
    }
    let mut outputs = Vec::new();
    // Per child: where its next document goes.
    let mut next: Vec<(u32, u32)> = Vec::with_capacity(per_child.len());
    for (child, &docs) in per_child.iter().enumerate() {
        next.push((u32::try_from(outputs.len()).unwrap_or(u32::MAX), 0));
        let mut left = docs;
        while left > 0 {
            let num_docs = u32::try_from(left).unwrap_or(u32::MAX).min(max_docs);
            outputs.push(Output { child, num_docs });
            left -= u64::from(num_docs);
        }
    }

    let most_docs = outputs.iter().map(|output| output.num_docs).max().unwrap_or(0);
    let (mut all, mut ranges) = (0, Vec::with_capacity(children.len()));
    for docs in &children {
        ranges.push(all..all + docs.len());
        all += docs.len();
    }
    let mut deal = |child: u16| -> Option<(u32, u32)> {
        let (output, new_doc) = next.get_mut(usize::from(child))?;
        if *new_doc == max_docs {
            (*output, *new_doc) = (*output + 1, 0);
        }
        *new_doc += 1;
        Some((*output, *new_doc - 1))
    };
    let in_order = || children.iter().copied().flatten().copied();
    let ranks = match sort {
        None => Ranks::of(all, outputs.len(), in_order().map(&mut deal)),
        Some(_) => None,
    };
    let forward = match ranks {
        Some(ranks) => Forward::Ranks(ranks),
        None => {
            let mut pairs = Pairs::filled(all, outputs.len(), most_docs as usize);
            let mut set = |index: usize, child: u16| {
                if let Some((output, new_doc)) = deal(child) {
                    pairs.set(index, output, new_doc);
                }
            };
            match sort {
                Some(keys) => {
                    let child_of = |segment: u32, doc: u32| -> u16 {
                        let docs = children.get(segment as usize);
                        docs.and_then(|docs| docs.get(doc as usize)).copied().unwrap_or(NO_CHILD)
                    };
                    let lens: Vec<usize> = children.iter().map(|docs| docs.len()).collect();
                    keys.merge(&lens, |segment, doc| child_of(segment, doc) != NO_CHILD, &mut |segment, doc| {
                        if let Some(range) = ranges.get(segment as usize) {
                            set(range.start + doc as usize, child_of(segment, doc));
                        }
                    });
                }
                None => in_order().enumerate().for_each(|(index, child)| set(index, child)),
            }
            Forward::Pairs(pairs)
        }
    };
    let (back, hashes) = (Mutex::default(), Mutex::default());
    Group { segments, outputs, interleaved: sort.is_some(), forward, ranges, back, hashes }
}
