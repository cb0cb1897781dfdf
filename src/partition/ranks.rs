//! The doc map in two bytes a document each way, for outputs whose documents keep their order.
//!
//! Documents of the source, counted through all segments, are taken in blocks of 2^n. Per document there are its output
//! and its rank among those of the block that go there; per block and output, how many documents went there before. With
//! 32 outputs a block has 1,024 documents, and its numbers add an eighth of a byte to each; with 127 they add one. Backwards, a document of an
//! output is a place in a block; which block, follows from the same numbers. Half the bytes are half the cache lines that
//! postings wait for.

use std::ops::Range;

use prefetch_index::prefetch_index;

use super::pairs::NOTHING;
use crate::huge::Entries;

/// With more outputs blocks would be so short that their numbers outweigh what is saved.
const MOST_OUTPUTS: usize = 127;

/// The way forward.
#[derive(Debug)]
pub(super) struct Ranks {
    /// Bits of a rank, and of a place in a block.
    bits: u32,
    outputs: usize,
    /// Little endian: output, and `bits` bits of rank. All ones: goes nowhere.
    entries: Entries<2>,
    /// Per block and output: documents before.
    before: Vec<u32>,
}

impl Ranks {
    /// From (output, new DocId) of each of `len` documents, new DocIds of an output being 0, 1, …; `None` for one that goes
    /// nowhere. Not made, and `targets` not asked, if there are too many outputs.
    pub(super) fn of(len: usize, outputs: usize, targets: impl Iterator<Item = Option<(u32, u32)>>) -> Option<Ranks> {
        if outputs > MOST_OUTPUTS {
            return None;
        }
        // The number of outputs must fit too, so that no entry is all ones.
        let bits = u16::BITS - (usize::BITS - outputs.leading_zeros());
        let mut entries = Entries::filled(len, u8::MAX);
        let mut before = Vec::with_capacity(len.div_ceil(1 << bits) * outputs);
        let mut counts = vec![0u32; outputs];
        for (index, (entry, target)) in entries.as_mut_slice().iter_mut().zip(targets).enumerate() {
            if index % (1 << bits) == 0 {
                before.extend_from_slice(&counts);
            }
            let Some((output, new_doc)) = target else { continue };
            let block = before.len() - outputs;
            let Some((before, count)) = before.get(block + output as usize).zip(counts.get_mut(output as usize)) else {
                continue;
            };
            let [low, high, ..] = (output << bits | (new_doc - before)).to_le_bytes();
            (*entry, *count) = ([low, high], new_doc + 1);
        }
        Some(Ranks { bits, outputs, entries, before })
    }

    /// What an entry says, and what the numbers of its block add: output and new DocId.
    #[inline]
    fn target(&self, index: usize, entry: u16) -> (u32, u32) {
        let (output, rank) = (u32::from(entry) >> self.bits, u32::from(entry) & ((1 << self.bits) - 1));
        match self.before.get((index >> self.bits) * self.outputs + output as usize) {
            Some(before) if entry != u16::MAX => (output, before + rank),
            _ => (NOTHING, 0),
        }
    }

    /// Output and new DocId of a document.
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<(u32, u32)> {
        let entry = u16::from_le_bytes(*self.entries.as_slice().get(index)?);
        Some(self.target(index, entry)).filter(|(output, _)| *output != NOTHING)
    }

    /// Says that [`Ranks::gather`] will ask for these.
    #[inline]
    pub(super) fn prefetch(&self, range: Range<usize>, docs: &[u32]) {
        let entries = self.entries.as_slice().get(range).unwrap_or_default();
        docs.iter().for_each(|&doc| prefetch_index(entries, doc as usize));
    }

    /// Where the `docs` of those in `range` go; an output of [`NOTHING`] for those that go nowhere.
    #[inline]
    pub(super) fn gather(&self, range: Range<usize>, docs: &[u32], found: &mut [(u32, u32)]) {
        let start = range.start;
        let entries = self.entries.as_slice().get(range).unwrap_or_default();
        for (slot, &doc) in found.iter_mut().zip(docs) {
            let entry = entries.get(doc as usize).map_or(u16::MAX, |entry| u16::from_le_bytes(*entry));
            *slot = self.target(start + doc as usize, entry);
        }
    }

    /// The way back: per output, by new DocId, its place in its block. `lens`: documents by output.
    pub(super) fn places(&self, lens: impl Iterator<Item = usize>) -> Vec<Entries<2>> {
        let mut places: Vec<Entries<2>> = lens.map(|len| Entries::filled(len, 0)).collect();
        for index in 0..self.entries.as_slice().len() {
            let Some((output, new_doc)) = self.get(index) else { continue };
            let places = places.get_mut(output as usize).map(Entries::as_mut_slice);
            if let Some(place) = places.and_then(|places| places.get_mut(new_doc as usize)) {
                let [low, high, ..] = (index % (1 << self.bits)).to_le_bytes();
                *place = [low, high];
            }
        }
        places
    }

    /// Index of the document at `place` of a block.
    #[inline]
    pub(super) fn index(&self, block: usize, place: [u8; 2]) -> usize {
        block << self.bits | usize::from(u16::from_le_bytes(place))
    }

    /// Documents of `output` before `block`; of the block behind the last one, more than there are.
    #[inline]
    pub(super) fn before(&self, block: usize, output: usize) -> usize {
        self.before.get(block * self.outputs + output).map_or(usize::MAX, |&before| before as usize)
    }
}
