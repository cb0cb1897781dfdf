//! One segment: hashes → children, and the segment's part of the census.
//!
//! Hashes come from the segment's sidecar, else from its keys. Only live documents are looked at: a deleted document
//! needs no key. Memory: 2 bytes per document for the result, 4 for hashes that are not in a sidecar, and what
//! [`super::keys`] takes.

use super::NO_CHILD;
use super::assignment::SegmentCensus;
use super::hashes::SegmentHashes;
use super::keys::{Compared, KeyFields, KeyPlane, KeyReading, Seen, read_keys};
use super::problems::{DocAddress, KeyProblems};
use crate::error::{Error, Result};
use crate::progress::{Cancel, Progress, Stage, Work};
use crate::route::{RoutingHash, STRAY, ShardNumber, SplitRouting};
use crate::source::{Component, Found, HashState, HashStates, HashedBy, Segment, guard};

/// Documents that are routed at a time.
const CHUNK: usize = 1 << 12;

/// What every segment is walked with.
pub(super) struct Walk<'a> {
    pub(super) fields: &'a KeyFields,
    pub(super) routing: &'a SplitRouting,
    /// How keys become hashes.
    pub(super) by: &'a HashedBy,
    /// Whether sidecars are believed.
    pub(super) read_sidecars: bool,
    /// With what ids will be compared.
    pub(super) compared: Compared,
    /// Whether hashes outlive the walk.
    pub(super) keep_hashes: bool,
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
    /// If they are to be kept; of no document where none is alive.
    pub(super) hashes: Option<SegmentHashes>,
    /// Why the segment's sidecar was not used, although there is one.
    pub(super) note: Option<String>,
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
            children: Vec::new(),
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
            hashes: None,
            note: None,
        };
        let hashes = if segment.num_docs() > 0 {
            let hashes = self.hashes(segment, &mut walked)?;
            // Not before: while keys are read, their planes need the room.
            walked.children = vec![NO_CHILD; max_doc as usize];
            self.deal(segment, &hashes, &mut walked)?;
            hashes
        } else {
            walked.children = vec![NO_CHILD; max_doc as usize];
            walked.census.deleted = u64::from(max_doc);
            SegmentHashes::new(Vec::new(), HashStates::default())
        };
        walked.hashes = self.keep_hashes.then_some(hashes);
        Ok(walked)
    }

    /// The hashes of the segment's documents: from its sidecar, which is the cheapest place, else from its keys.
    fn hashes(&self, segment: &Segment, walked: &mut Walked) -> Result<SegmentHashes> {
        let found = if self.read_sidecars { segment.sidecar(self.by) } else { Found::Absent };
        match found {
            Found::Sidecar(sidecar) => {
                let fields = [Some(&self.fields.id), self.fields.routing.as_ref()].into_iter().flatten();
                let reading = |name: &String| KeyReading { field: name.clone(), plane: KeyPlane::Sidecar, hashed: 0 };
                walked.readings.extend(fields.map(|field| reading(&field.name)));
                walked.seen = Seen::Unknown;
                self.progress.advance(Stage::Route, Work::docs(u64::from(segment.num_docs())));
                return Ok(SegmentHashes::mapped(sidecar));
            }
            Found::Unusable(problem) => {
                let name = self.by.file_name(segment.id());
                walked.note = Some(format!("hash sidecar {name} {problem}; it is ignored, and keys are hashed"));
            }
            Found::Absent => {}
        }
        let advance = |docs| self.progress.advance(Stage::Route, Work::docs(docs));
        let keys =
            read_keys(segment, self.fields, self.by.routing_partition_size, self.compared, self.cancel, &advance)?;
        (walked.with_id, walked.readings, walked.seen) = (keys.with_id, keys.readings, keys.seen);
        Ok(keys.hashes)
    }

    fn deal(&self, segment: &Segment, hashes: &SegmentHashes, walked: &mut Walked) -> Result<()> {
        let mut children = std::mem::take(&mut walked.children);
        let bulk = self.routing.bulk(self.apart.then(|| segment.origin()));
        let states = hashes.states();
        let all_hashed = states.all_hashed();
        let (mut some, mut targets) = ([0; CHUNK], [0; CHUNK]);
        for (first, slots) in (0..).step_by(CHUNK).zip(children.chunks_mut(CHUNK)) {
            self.cancel.check()?;
            hashes.copy(first, &mut some);
            bulk.children(&some, &mut targets);
            for ((doc, slot), (&hash, &target)) in (first..).zip(slots).zip(some.iter().zip(&targets)) {
                if !segment.is_alive(doc) {
                    walked.census.deleted += 1;
                    continue;
                }
                walked.census.live += 1;
                let child = match u16::try_from(target) {
                    Ok(child) if all_hashed => Some(child),
                    _ => self.child(segment, doc, states.get(doc), hash, target, walked),
                };
                if let Some(child) = child
                    && let Some(count) = walked.census.children.get_mut(usize::from(child))
                {
                    *slot = child;
                    *count += 1;
                }
            }
        }
        walked.children = children;
        Ok(())
    }

    /// The child of a live document; `None` if it has become a problem.
    fn child(
        &self,
        segment: &Segment,
        doc: u32,
        state: HashState,
        hash: RoutingHash,
        target: u32,
        walked: &mut Walked,
    ) -> Option<u16> {
        match state {
            HashState::Hashed if target != STRAY => u16::try_from(target).ok(),
            HashState::Hashed => {
                match (self.stray, self.route(segment, hash)) {
                    (None, Err(owner)) => walked.problems.add_stray(|| DocAddress::of(segment, doc), owner),
                    _ => walked.stray_placed += 1,
                }
                self.stray
            }
            HashState::Missing | HashState::Unread => {
                match self.missing {
                    Some(_) => walked.missing_placed += 1,
                    None => walked.problems.add_missing(|| DocAddress::of(segment, doc)),
                }
                self.missing
            }
            HashState::Several => {
                walked.problems.add_several(|| DocAddress::of(segment, doc));
                None
            }
        }
    }

    fn route(&self, segment: &Segment, hash: RoutingHash) -> Result<usize, ShardNumber> {
        if self.apart { self.routing.child_from(segment.origin(), hash, 0) } else { self.routing.child_of(hash, 0) }
    }
}
