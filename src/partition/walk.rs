//! One segment: keys → hashes → children, and the segment's part of the census.
//!
//! Only live documents are looked at: a deleted document needs no key. Memory: 2 bytes per document for the result,
//! and what [`super::keys`] takes.

use super::NO_CHILD;
use super::assignment::SegmentCensus;
use super::keys::{Key, KeyFields, KeyReading, Seen, SegmentKeys};
use super::problems::{DocAddress, KeyProblems};
use crate::error::{Error, Result};
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::route::{RoutingHash, ShardNumber, SplitRouting};
use crate::source::{Component, Segment, guard};

const DOCS_PER_CHECK: u32 = 1 << 12;

/// What every segment is walked with.
pub(super) struct Walk<'a> {
    pub(super) fields: &'a KeyFields,
    pub(super) routing: &'a SplitRouting,
    /// Whether each directory of the source is one of the source shards, so that a document must belong to its own.
    pub(super) apart: bool,
    /// Child index of documents without a key; `None`: they are a problem.
    pub(super) missing: Option<u16>,
    /// Child index of documents of another shard; `None`: they are a problem.
    pub(super) stray: Option<u16>,
    pub(super) progress: &'a dyn Progress,
    pub(super) cancel: &'a Cancel,
}

/// A segment that was walked.
pub(super) struct Walked {
    pub(super) children: Vec<u16>,
    pub(super) census: SegmentCensus,
    pub(super) problems: KeyProblems,
    pub(super) missing_placed: u64,
    pub(super) stray_placed: u64,
    /// Live documents that have an id.
    pub(super) with_id: u64,
    pub(super) readings: Vec<KeyReading>,
    pub(super) seen: Seen,
}

enum Destination {
    Missing,
    Several,
    At { hash: RoutingHash, offset: i32 },
}

impl Walk<'_> {
    /// Walks one segment. What panics in the reading of damaged files is an error here.
    pub(super) fn segment(&self, segment: &Segment) -> Result<Walked> {
        guard(segment.path(), "a plane with keys", || self.walk(segment))
    }

    fn walk(&self, segment: &Segment) -> Result<Walked> {
        let max_doc = segment.max_doc();
        // Memory is sized by max_doc, so two files must agree on it.
        if segment.columns().num_docs() != max_doc {
            return Err(Error::corrupt(
                segment.file(Component::FastFields),
                format!("it has {} documents, meta.json says {max_doc}", segment.columns().num_docs()),
            ));
        }
        let mut walked = Walked {
            children: vec![NO_CHILD; max_doc as usize],
            census: SegmentCensus {
                segment: segment.id().to_owned(),
                live: 0,
                deleted: 0,
                children: vec![0; self.routing.children().len()],
            },
            problems: KeyProblems::default(),
            missing_placed: 0,
            stray_placed: 0,
            with_id: 0,
            readings: Vec::new(),
            seen: Seen::Nothing,
        };
        if segment.num_docs() > 0 {
            let mut keys = SegmentKeys::open(segment, self.fields, self.cancel)?;
            self.deal(segment, &mut keys, &mut walked)?;
            (walked.readings, walked.seen) = keys.finish();
        } else {
            walked.census.deleted = u64::from(max_doc);
        }
        Ok(walked)
    }

    fn deal(&self, segment: &Segment, keys: &mut SegmentKeys<'_>, walked: &mut Walked) -> Result<()> {
        let mut children = std::mem::take(&mut walked.children);
        let mut reported = 0;
        for (doc, slot) in (0..segment.max_doc()).zip(&mut children) {
            if doc.is_multiple_of(DOCS_PER_CHECK) {
                self.cancel.check()?;
                self.progress.advance(Stage::Route, Work::docs(walked.census.live - reported));
                reported = walked.census.live;
            }
            if !segment.is_alive(doc) {
                walked.census.deleted += 1;
                continue;
            }
            walked.census.live += 1;
            let Some(child) = self.child(segment, doc, keys, walked)? else { continue };
            if let Some(count) = walked.census.children.get_mut(usize::from(child)) {
                *slot = child;
                *count += 1;
            }
        }
        self.progress.advance(Stage::Route, Work::docs(walked.census.live - reported));
        walked.children = children;
        Ok(())
    }

    /// The child of a live document; `None` if it has become a problem.
    #[inline]
    fn child(
        &self,
        segment: &Segment,
        doc: u32,
        keys: &mut SegmentKeys<'_>,
        walked: &mut Walked,
    ) -> Result<Option<u16>> {
        let keys = keys.read(doc)?;
        walked.with_id += u64::from(matches!(keys.id, Key::One(_)));
        Ok(match self.destination(keys.id, keys.routing) {
            Destination::At { hash, offset } => match self.route(segment, hash, offset) {
                Ok(child) => u16::try_from(child).ok(),
                Err(owner) => {
                    match self.stray {
                        Some(_) => walked.stray_placed += 1,
                        None => walked.problems.add_stray(|| DocAddress::of(segment, doc), owner),
                    }
                    self.stray
                }
            },
            Destination::Missing => {
                match self.missing {
                    Some(_) => walked.missing_placed += 1,
                    None => walked.problems.add_missing(|| DocAddress::of(segment, doc)),
                }
                self.missing
            }
            Destination::Several => {
                walked.problems.add_several(|| DocAddress::of(segment, doc));
                None
            }
        })
    }

    #[inline]
    fn route(&self, segment: &Segment, hash: RoutingHash, offset: i32) -> Result<usize, ShardNumber> {
        if self.apart {
            self.routing.child_from(segment.origin(), hash, offset)
        } else {
            self.routing.child_of(hash, offset)
        }
    }

    /// Effective routing: the routing value where there is one, else the id. A partitioned index needs both.
    #[inline]
    fn destination(&self, id: Key, routing: Key) -> Destination {
        match (id, routing, self.routing.is_partitioned()) {
            (Key::Several, _, _) | (_, Key::Several, _) => Destination::Several,
            (Key::One(id), Key::One(hash), true) => Destination::At { hash, offset: self.routing.partition_offset(id) },
            (_, _, true) => Destination::Missing,
            (_, Key::One(hash), false) | (Key::One(hash), Key::Missing, false) => Destination::At { hash, offset: 0 },
            (Key::Missing, Key::Missing, false) => Destination::Missing,
        }
    }
}
