//! Encoding the posting lists of one output, in tantivy's format (see [`super::decode`]).
//!
//! One [`Encoder`] lives per output and thread; it holds one open term. There is no set-up per term: buffers are kept,
//! and the table of BM25 length factors is shared by all terms of a field.

use bitpacking::{BitPacker, BitPacker4x};
use tantivy::schema::IndexRecordOption;

use super::decode::BLOCK;
use super::lists::{Chunks, Lists};
use super::scores::LengthFactors;
use crate::write::file::write_vint;

/// The terms of one unit for one output.
#[derive(Default)]
pub(super) struct Piece {
    /// Term bytes, one after the other.
    pub(super) keys: Vec<u8>,
    /// Per term.
    pub(super) terms: Vec<TermEntry>,
    /// Posting lists, one after the other.
    pub(super) postings: Lists,
    /// Positions, one after the other.
    pub(super) positions: Lists,
    /// Sum of term frequencies; a document without frequency counts one.
    pub(super) tokens: u64,
}

impl Piece {
    /// Empties it and keeps its buffers.
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.terms.clear();
        self.postings.clear();
        self.positions.clear();
        self.tokens = 0;
    }
}

/// Lengths of what belongs to a term.
#[derive(Clone, Copy)]
pub(super) struct TermEntry {
    pub(super) key_len: u32,
    pub(super) doc_freq: u32,
    pub(super) postings_len: u64,
    pub(super) positions_len: u64,
}

/// Encodes terms of one output.
pub(super) struct Encoder {
    packer: BitPacker4x,
    packed: [u8; 4 * BLOCK],
    docs: [u32; BLOCK],
    freqs: [u32; BLOCK],
    norms: [u8; BLOCK],
    len: usize,
    last: u32,
    doc_freq: u32,
    tokens: u64,
    skip: Vec<u8>,
    blocks: Chunks,
    deltas: [u32; BLOCK],
    deltas_len: usize,
    widths: Vec<u8>,
    delta_blocks: Chunks,
    pub(super) piece: Piece,
}

impl Encoder {
    pub(super) fn new() -> Encoder {
        Encoder {
            packer: BitPacker4x::new(),
            packed: [0; 4 * BLOCK],
            docs: [0; BLOCK],
            freqs: [0; BLOCK],
            norms: [0; BLOCK],
            len: 0,
            last: 0,
            doc_freq: 0,
            tokens: 0,
            skip: Vec::new(),
            blocks: Chunks::default(),
            deltas: [0; BLOCK],
            deltas_len: 0,
            widths: Vec::new(),
            delta_blocks: Chunks::default(),
            piece: Piece::default(),
        }
    }

    /// Whether the open term has no document yet.
    #[inline]
    pub(super) fn is_untouched(&self) -> bool {
        self.doc_freq == 0
    }

    /// Adds a document to the open term. Documents ascend. If it says that the block is full, [`Encoder::write_block`]
    /// is due before the next one.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "the remainder is below the length, and the compiler sees it")]
    #[must_use]
    pub(super) fn push(&mut self, doc: u32, freq: u32, norm: u8) -> bool {
        let at = self.len % BLOCK;
        self.docs[at] = doc;
        self.freqs[at] = freq;
        self.norms[at] = norm;
        self.len += 1;
        self.doc_freq += 1;
        self.tokens += u64::from(freq);
        self.len == BLOCK
    }

    /// Adds position deltas of the document pushed last.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "the remainder is below the length, and the compiler sees it")]
    pub(super) fn push_positions(&mut self, mut deltas: &[u32]) {
        if let [only] = deltas {
            // Most documents have a word once.
            self.deltas[self.deltas_len % BLOCK] = *only;
            self.deltas_len += 1;
            if self.deltas_len == BLOCK {
                self.write_deltas();
            }
            return;
        }
        while !deltas.is_empty() {
            let room = BLOCK - self.deltas_len;
            let (now, later) = deltas.split_at(room.min(deltas.len()));
            if let Some(slots) = self.deltas.get_mut(self.deltas_len..self.deltas_len + now.len()) {
                slots.copy_from_slice(now);
            }
            self.deltas_len += now.len();
            deltas = later;
            if self.deltas_len == BLOCK {
                self.write_deltas();
            }
        }
    }

    fn write_deltas(&mut self) {
        let width = self.packer.num_bits(&self.deltas);
        let len = self.packer.compress(&self.deltas, &mut self.packed, width);
        self.widths.push(width);
        self.delta_blocks.extend_from_slice(self.packed.get(..len).unwrap_or(&[]));
        self.deltas_len = 0;
    }

    /// Writes the full block.
    pub(super) fn write_block(&mut self, field: &Field<'_>, has_freqs: bool) {
        let initial = (self.last != 0).then_some(self.last);
        let width = self.packer.num_bits_strictly_sorted(initial, &self.docs);
        let len = self.packer.compress_strictly_sorted(initial, &self.docs, &mut self.packed, width);
        self.blocks.extend_from_slice(self.packed.get(..len).unwrap_or(&[]));
        self.last = self.docs.last().copied().unwrap_or(0);
        self.skip.extend_from_slice(&self.last.to_le_bytes());
        self.skip.push(width | 0x40);
        if has_freqs {
            let best = match field.factors {
                Some(factors) => factors.bound(&self.norms, &self.freqs),
                None => (0, 0),
            };
            let sum: u32 = self.freqs.iter().copied().fold(0, u32::wrapping_add);
            self.freqs.iter_mut().for_each(|freq| *freq = freq.wrapping_sub(1));
            let width = self.packer.num_bits(&self.freqs);
            let len = self.packer.compress(&self.freqs, &mut self.packed, width);
            self.blocks.extend_from_slice(self.packed.get(..len).unwrap_or(&[]));
            self.skip.push(width);
            if field.record.has_positions() {
                self.skip.extend_from_slice(&sum.to_le_bytes());
            }
            self.skip.extend_from_slice(&[best.0, u8::try_from(best.1).unwrap_or(u8::MAX)]);
        }
        self.len = 0;
    }

    /// Ends the open term and adds it to the piece; returns its number of documents.
    pub(super) fn close(&mut self, key: &[u8], field: &Field<'_>, has_freqs: bool) -> u64 {
        let piece = &mut self.piece;
        let postings_start = piece.postings.len();
        if self.doc_freq as usize >= BLOCK {
            write_vint(self.skip.len() as u64, piece.postings.end());
            piece.postings.end().extend_from_slice(&self.skip);
            piece.postings.take(&mut self.blocks);
            self.skip.clear();
        }
        let mut last = self.last;
        let docs = self.docs.iter().take(self.len);
        let docs = docs.map(|&doc| doc.wrapping_sub(std::mem::replace(&mut last, doc)));
        write_vints(docs, piece.postings.end());
        if has_freqs {
            write_small_vints(self.freqs.get(..self.len).unwrap_or_default(), piece.postings.end());
        }
        let positions_start = piece.positions.len();
        if field.record.has_positions() {
            write_vint(self.widths.len() as u64, piece.positions.end());
            piece.positions.end().extend_from_slice(&self.widths);
            piece.positions.take(&mut self.delta_blocks);
            write_small_vints(self.deltas.get(..self.deltas_len).unwrap_or_default(), piece.positions.end());
            self.widths.clear();
            self.deltas_len = 0;
        }
        piece.keys.extend_from_slice(key);
        piece.terms.push(TermEntry {
            key_len: u32::try_from(key.len()).unwrap_or(u32::MAX),
            doc_freq: self.doc_freq,
            postings_len: (piece.postings.len() - postings_start) as u64,
            positions_len: (piece.positions.len() - positions_start) as u64,
        });
        piece.tokens += if has_freqs { self.tokens } else { u64::from(self.doc_freq) };
        (self.len, self.last, self.tokens) = (0, 0, 0);
        u64::from(std::mem::take(&mut self.doc_freq))
    }
}

/// What encoding needs to know of a field in one output.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) record: IndexRecordOption,
    /// `None` for fields without norms.
    pub(super) factors: Option<&'a LengthFactors>,
}

/// As [`write_vints`], of numbers most of which are below 128: a byte each.
#[inline]
fn write_small_vints(numbers: &[u32], out: &mut Vec<u8>) {
    let bits = numbers.iter().fold(0, |bits, number| bits | number);
    if bits < 0x80 {
        out.extend(numbers.iter().map(|number| number.to_le_bytes()[0] | 0x80));
    } else {
        write_vints(numbers.iter().copied(), out);
    }
}

/// Appends `numbers` to `out`: room is made once, and cut where they end.
#[inline]
fn write_vints(numbers: impl ExactSizeIterator<Item = u32>, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + 5 * numbers.len(), 0);
    let mut len = start;
    let mut slots = out.get_mut(start..).unwrap_or_default().iter_mut();
    let mut put = |byte: u8| {
        if let Some(slot) = slots.next() {
            *slot = byte;
            len += 1;
        }
    };
    for mut number in numbers {
        while number >= 0x80 {
            put(number.to_le_bytes()[0] & 0x7f);
            number >>= 7;
        }
        put(number.to_le_bytes()[0] | 0x80);
    }
    out.truncate(len);
}
