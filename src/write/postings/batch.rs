//! Postings of several terms that were decoded and wait to be dealt.
//!
//! Where a document goes is a look-up in the doc map, and most of these leave the caches. Decoded one short list at a
//! time, each list waits for its own; gathered for a batch, they overlap, and come while the rest of the batch is decoded.
//! A batch holds a thousand documents or so: its arrays stay in the first caches.

use std::iter::Zip;
use std::slice::Iter;

use bitpacking::{BitPacker, BitPacker4x};
use prefetch_index::prefetch_index;

use super::decode::Room;
use crate::partition::{Group, NO_OUTPUT};

/// Documents in a batch.
const DOCS: usize = 1_024;

/// Mean distance of documents from which on what is looked up for them is fetched before. Closer ones share cache lines.
const FAR: usize = 16;

/// Consecutive documents of one term in one segment.
pub(super) struct Run {
    pub(super) segment: usize,
    pub(super) len: usize,
    /// Whether norms are needed.
    pub(super) scored: bool,
    pub(super) has_freqs: bool,
    /// Whether the term's documents do not ascend over its runs.
    pub(super) unsorted: bool,
}

/// Decoded postings, in the order of terms, segments and documents.
pub(super) struct Batch {
    packer: BitPacker4x,
    docs: Box<[u32; DOCS]>,
    freqs: Box<[u32; DOCS]>,
    targets: Box<[(u32, u32); DOCS]>,
    norms: Box<[u8; DOCS]>,
    len: usize,
    runs: Vec<Run>,
    /// Terms that end in the batch: how many runs are before their end, and where their keys end.
    ended: Vec<(usize, usize)>,
    keys: Vec<u8>,
}

impl Batch {
    pub(super) fn new() -> Batch {
        Batch {
            packer: BitPacker4x::new(),
            docs: Box::new([0; DOCS]),
            freqs: Box::new([0; DOCS]),
            targets: Box::new([(NO_OUTPUT, 0); DOCS]),
            norms: Box::new([0; DOCS]),
            len: 0,
            runs: Vec::new(),
            ended: Vec::new(),
            keys: Vec::new(),
        }
    }

    /// Where to decode the next block; `None` if the batch is full.
    #[inline]
    pub(super) fn room(&mut self) -> Option<Room<'_>> {
        let docs = self.docs.get_mut(self.len..)?.first_chunk_mut()?;
        Some(Room { packer: self.packer, docs, freqs: self.freqs.get_mut(self.len..)?.first_chunk_mut()? })
    }

    /// Adds the documents that were decoded to [`Batch::room`], as many as `run` says. Returns their frequencies, 0 where
    /// there are none. `norms`: of the segment.
    #[inline]
    pub(super) fn push(&mut self, run: Run, group: &Group, norms: Option<&[u8]>) -> &[u32] {
        let range = self.len..self.len + run.len;
        self.len = range.end;
        let docs = self.docs.get(range.clone()).unwrap_or_default();
        if let (Some(first), Some(last)) = (docs.first(), docs.last())
            && (last - first) as usize >= FAR * (docs.len() - 1)
        {
            group.prefetch(run.segment, docs);
            if let Some(norms) = norms.filter(|_| run.scored) {
                docs.iter().for_each(|&doc| prefetch_index(norms, doc as usize));
            }
        }
        let freqs = self.freqs.get_mut(range).unwrap_or_default();
        if !run.has_freqs {
            freqs.fill(0);
        }
        self.runs.push(run);
        freqs
    }

    /// The term whose runs came last ends here.
    #[inline]
    pub(super) fn end_term(&mut self, key: &[u8]) {
        self.keys.extend_from_slice(key);
        self.ended.push((self.runs.len(), self.keys.len()));
    }

    /// Looks up where all documents go, and the norms of those that need them. `norms`: by segment of the group.
    pub(super) fn gather<'n>(&mut self, group: &Group, norms: impl Fn(usize) -> Option<&'n [u8]>) {
        let Batch { docs, targets, norms: found, runs, .. } = self;
        let (mut docs, mut targets, mut found) = (docs.as_slice(), targets.as_mut_slice(), found.as_mut_slice());
        for run in runs {
            let room = targets.split_off_mut(..run.len).zip(found.split_off_mut(..run.len));
            let Some((docs, (targets, found))) = docs.split_off(..run.len).zip(room) else { return };
            group.lookup_all(run.segment, docs, targets);
            if let Some(norms) = norms(run.segment).filter(|_| run.scored) {
                for (slot, &doc) in found.iter_mut().zip(docs) {
                    *slot = norms.get(doc as usize).copied().unwrap_or(0);
                }
            }
        }
    }

    pub(super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Terms that end here: how many runs are before their end, and their keys.
    pub(super) fn terms(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let mut start = 0;
        self.ended.iter().map(move |&(runs, end)| {
            let key = self.keys.get(std::mem::replace(&mut start, end)..end).unwrap_or_default();
            (runs, key)
        })
    }

    /// What was gathered, run by run.
    pub(super) fn postings(&self) -> Gathered<'_> {
        Gathered { freqs: &*self.freqs, targets: &*self.targets, norms: &*self.norms }
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.runs.clear();
        self.ended.clear();
        self.keys.clear();
    }
}

/// Postings and where they go.
pub(super) struct Gathered<'a> {
    freqs: &'a [u32],
    targets: &'a [(u32, u32)],
    norms: &'a [u8],
}

/// Frequency, (output, new document), norm.
type Postings<'a> = Zip<Iter<'a, u32>, Zip<Iter<'a, (u32, u32)>, Iter<'a, u8>>>;

impl<'a> Gathered<'a> {
    /// The next `len` postings.
    #[inline]
    pub(super) fn next(&mut self, len: usize) -> Postings<'a> {
        let freqs = self.freqs.split_off(..len).unwrap_or_default();
        let targets = self.targets.split_off(..len).unwrap_or_default();
        freqs.iter().zip(targets.iter().zip(self.norms.split_off(..len).unwrap_or_default()))
    }
}
