//! Encoding the posting lists of one output, in tantivy's format (see [`super::decode`]).
//!
//! One [`Encoder`] lives per output and thread; it holds one open term. There is no set-up per term: buffers are kept,
//! and the table of BM25 length factors is shared by all terms of a field.

use bitpacking::{BitPacker, BitPacker4x};
use tantivy::schema::IndexRecordOption;

use super::decode::BLOCK;
use super::lists::{Chunks, SpareChunks};
use super::piece::{Piece, TermEntry};
use super::scores::LengthFactors;
use crate::write::file::write_vint;

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
    /// `spare`: what long lists are made of.
    pub(super) fn new(spare: &SpareChunks) -> Encoder {
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
            blocks: Chunks::new(spare.clone()),
            deltas: [0; BLOCK],
            deltas_len: 0,
            widths: Vec::new(),
            delta_blocks: Chunks::new(spare.clone()),
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
        let docs = self.docs.get_mut(..self.len).unwrap_or_default();
        docs.iter_mut().for_each(|doc| *doc = doc.wrapping_sub(std::mem::replace(&mut last, *doc)));
        write_vints(docs, piece.postings.end());
        if has_freqs {
            write_vints(self.freqs.get(..self.len).unwrap_or_default(), piece.postings.end());
        }
        let positions_start = piece.positions.len();
        if field.record.has_positions() {
            write_vint(self.widths.len() as u64, piece.positions.end());
            if !self.widths.is_empty() {
                piece.positions.end().extend_from_slice(&self.widths);
                piece.positions.take(&mut self.delta_blocks);
                self.widths.clear();
            }
            write_vints(self.deltas.get(..self.deltas_len).unwrap_or_default(), piece.positions.end());
            self.deltas_len = 0;
        }
        let entry = TermEntry {
            doc_freq: self.doc_freq,
            postings_len: (piece.postings.len() - postings_start) as u64,
            positions_len: (piece.positions.len() - positions_start) as u64,
        };
        piece.terms.push(key, entry);
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

/// Appends `numbers`, at most a block of them, to `out`.
#[inline]
fn write_vints(numbers: &[u32], out: &mut Vec<u8>) {
    let bits = numbers.iter().fold(0, |bits, number| bits | number);
    if bits < 0x80 {
        // A byte each: what most are.
        out.extend(numbers.iter().map(|number| number.to_le_bytes()[0] | 0x80));
        return;
    }
    for numbers in numbers.chunks(AT_ONCE) {
        let mut bytes = [0; 5 * AT_ONCE + 8];
        let mut len = 0;
        for &number in numbers {
            let (vint, vint_len) = vint(number);
            if let Some(slot) = bytes.get_mut(len..).and_then(<[u8]>::first_chunk_mut) {
                *slot = vint.to_le_bytes();
            }
            len += vint_len;
        }
        out.extend_from_slice(bytes.get(..len).unwrap_or_default());
    }
}

/// Numbers that are put together before they are appended.
const AT_ONCE: usize = 16;

/// The bytes of a VInt, the first one lowest, and how many they are. Without branches: the lengths of gaps between
/// documents cannot be foreseen.
#[inline]
fn vint(number: u32) -> (u64, usize) {
    let wide = u64::from(number);
    let sevens = wide & 0x7f
        | (wide & 0x7f << 7) << 1
        | (wide & 0x7f << 14) << 2
        | (wide & 0x7f << 21) << 3
        | (wide & 0x7f << 28) << 4;
    let bits = u32::BITS - (number | 1).leading_zeros();
    let len = bits.div_ceil(7);
    // The last byte says that it is the last.
    (sevens | 0x80 << (8 * (len - 1)), len as usize)
}
