//! Decoding posting lists and positions block by block, with every length checked.
//!
//! Format (tantivy 0.27, `src/postings/{serializer,skip}.rs`, `src/positions/serializer.rs`). A list of n documents is,
//! if n ≥ 128, a VInt length of skip data and the skip data; then n / 128 blocks of 128; then the rest as VInts. A skip
//! entry is the block's last document as u32 LE, a byte with its bit width (bits 0–4; bit 6: deltas are minus one), and,
//! with frequencies, their bit width, with positions also the sum of frequencies as u32 LE, and two bytes of block-max
//! data. A block is 128 bit-packed document deltas and, with frequencies, 128 bit-packed frequencies, minus one where
//! document deltas are. Positions of a term are a VInt number of bit widths, the bit widths, that many blocks of 128
//! bit-packed deltas, and the rest as VInts.

use bitpacking::{BitPacker, BitPacker4x};
use tantivy::schema::IndexRecordOption;

/// Documents per block.
pub(super) const BLOCK: usize = BitPacker4x::BLOCK_LEN;

/// What is wrong with the bytes of a posting list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Damage {
    #[error("its posting list ends early")]
    Short,
    #[error("its skip data has {found} bytes for {blocks} blocks")]
    SkipLength { found: usize, blocks: usize },
    #[error("a number in it is {0}, beyond 32 bits")]
    Number(u64),
    #[error("a bit width of {0} is impossible")]
    BitWidth(u8),
    #[error("document {doc} follows {previous}, in a segment of {max_doc} documents")]
    Order { doc: u32, previous: u32, max_doc: u32 },
    #[error("its positions end early")]
    Positions,
}

type Result<T> = std::result::Result<T, Damage>;

/// Where a block is decoded to.
pub(super) struct Room<'r> {
    pub(super) packer: BitPacker4x,
    pub(super) docs: &'r mut [u32; BLOCK],
    /// Left alone where documents have no frequencies.
    pub(super) freqs: &'r mut [u32; BLOCK],
}

/// A posting list being read.
pub(super) struct Postings<'a> {
    data: &'a [u8],
    skip: &'a [u8],
    record: IndexRecordOption,
    remaining: u32,
    /// Last document of the block before, 0 at first.
    last: u32,
    first: bool,
    max_doc: u32,
    has_freqs: bool,
}

impl<'a> Postings<'a> {
    /// `data`: the bytes that the term info names; `record`: the field's option; `max_doc`: of the segment.
    pub(super) fn open(
        mut data: &'a [u8],
        doc_freq: u32,
        record: IndexRecordOption,
        max_doc: u32,
    ) -> Result<Postings<'a>> {
        let mut record = record;
        let mut skip: &[u8] = &[];
        let blocks = doc_freq as usize / BLOCK;
        if blocks > 0 {
            let len = usize::try_from(read_vint(&mut data)?).map_err(|_| Damage::Short)?;
            (skip, data) = data.split_at_checked(len).ok_or(Damage::Short)?;
            if skip.len() < 8 * blocks {
                // A numeric term of a JSON field: the field has frequencies, this term has none.
                record = IndexRecordOption::Basic;
            }
            if skip.len() < blocks * entry_len(record) {
                return Err(Damage::SkipLength { found: skip.len(), blocks });
            }
        }
        let has_freqs = record.has_freq();
        Ok(Postings { data, skip, record, remaining: doc_freq, last: 0, first: true, max_doc, has_freqs })
    }

    /// Reads the next block into `room`: how many documents it has, 0 at the end, and whether they have frequencies.
    pub(super) fn next(&mut self, room: &mut Room<'_>) -> Result<(usize, bool)> {
        let len = if self.remaining as usize >= BLOCK {
            self.next_packed(room)?;
            BLOCK
        } else if self.remaining > 0 {
            self.next_vints(room)?
        } else {
            return Ok((0, self.has_freqs));
        };
        let docs = room.docs.get(..len).unwrap_or(&[]);
        self.check(docs)?;
        self.last = docs.last().copied().unwrap_or(0);
        self.first = false;
        self.remaining -= u32::try_from(len).unwrap_or(self.remaining);
        Ok((len, self.has_freqs))
    }

    fn next_packed(&mut self, room: &mut Room<'_>) -> Result<()> {
        let entry = self.skip.split_off(..entry_len(self.record)).ok_or(Damage::Short)?;
        let (width, strict) = entry.get(4).map_or((0, false), |byte| (byte & 0x1f, byte & 0x40 != 0));
        let packed = self.data.split_off(..packed_len(width)).ok_or(Damage::Short)?;
        if strict {
            let initial = (self.last != 0).then_some(self.last);
            room.packer.decompress_strictly_sorted(initial, packed, room.docs, width);
        } else {
            room.packer.decompress_sorted(self.last, packed, room.docs, width);
        }
        if self.has_freqs {
            let width = entry.get(5).copied().unwrap_or(0);
            if width > 32 {
                return Err(Damage::BitWidth(width));
            }
            let packed = self.data.split_off(..packed_len(width)).ok_or(Damage::Short)?;
            room.packer.decompress(packed, room.freqs, width);
            if strict {
                room.freqs.iter_mut().for_each(|freq| *freq = freq.wrapping_add(1));
            }
        }
        Ok(())
    }

    fn next_vints(&mut self, room: &mut Room<'_>) -> Result<usize> {
        let len = self.remaining as usize;
        let mut doc = self.last;
        for slot in room.docs.iter_mut().take(len) {
            doc = doc.wrapping_add(read_vint32(&mut self.data)?);
            *slot = doc;
        }
        if self.has_freqs {
            // Short numeric terms of a JSON field are told by what is missing.
            self.has_freqs = !self.data.is_empty();
        }
        if self.has_freqs {
            let freqs = room.freqs.get_mut(..len).unwrap_or_default();
            if self.data.len() == len {
                // A byte each, which ends the list: what most are.
                read_bytes(self.data, freqs)?;
                self.data = &[];
            } else {
                freqs.iter_mut().try_for_each(|slot| read_vint32(&mut self.data).map(|freq| *slot = freq))?;
            }
        }
        Ok(len)
    }

    fn check(&self, docs: &[u32]) -> Result<()> {
        let ascending = docs.windows(2).all(|pair| matches!(pair, [left, right] if left < right));
        let head = docs.first().copied().unwrap_or(0);
        let tail = docs.last().copied().unwrap_or(0);
        if ascending && tail < self.max_doc && (self.first || head > self.last) {
            return Ok(());
        }
        let mut previous = self.last;
        let mut first = self.first;
        for &doc in docs {
            if doc >= self.max_doc || (!first && doc <= previous) {
                return Err(Damage::Order { doc, previous, max_doc: self.max_doc });
            }
            (previous, first) = (doc, false);
        }
        Ok(())
    }
}

/// Position deltas of a term, in document order.
pub(super) struct Positions<'a> {
    widths: &'a [u8],
    data: &'a [u8],
}

/// Position deltas of several lists that were decoded and not taken yet.
pub(super) struct PositionBuffer {
    packer: BitPacker4x,
    deltas: Vec<u32>,
    /// Up to here they were taken.
    taken: usize,
    /// Up to here they were claimed; what is beyond belongs to the open list.
    claimed: usize,
}

impl PositionBuffer {
    pub(super) fn new() -> PositionBuffer {
        PositionBuffer { packer: BitPacker4x::new(), deltas: Vec::new(), taken: 0, claimed: 0 }
    }

    /// Forgets what the open list has beyond what was claimed.
    pub(super) fn end_list(&mut self) {
        self.deltas.truncate(self.claimed);
    }

    /// The next `len` of those claimed; nothing if they are fewer.
    #[inline]
    pub(super) fn take(&mut self, len: usize) -> &[u32] {
        let end = self.taken.saturating_add(len);
        let taken = self.deltas.get(self.taken..end.min(self.claimed)).unwrap_or_default();
        self.taken = end.min(self.claimed);
        taken
    }

    /// Makes room where deltas were taken.
    pub(super) fn compact(&mut self) {
        self.deltas.drain(..self.taken);
        self.claimed -= self.taken;
        self.taken = 0;
    }
}

impl<'a> Positions<'a> {
    /// `data`: the bytes that the term info names.
    pub(super) fn open(mut data: &'a [u8]) -> Result<Positions<'a>> {
        let len = read_vint(&mut data).map_err(|_| Damage::Positions)?;
        let len = usize::try_from(len).map_err(|_| Damage::Positions)?;
        let (widths, data) = data.split_at_checked(len).ok_or(Damage::Positions)?;
        Ok(Positions { widths, data })
    }

    /// Decodes until `buffer` has the next `len` deltas, for [`PositionBuffer::take`].
    pub(super) fn claim(&mut self, len: usize, buffer: &mut PositionBuffer) -> Result<()> {
        let claimed = buffer.claimed.checked_add(len).ok_or(Damage::Positions)?;
        while buffer.deltas.len() < claimed {
            self.decode_block(buffer)?;
        }
        buffer.claimed = claimed;
        Ok(())
    }

    fn decode_block(&mut self, buffer: &mut PositionBuffer) -> Result<()> {
        if let Some((&width, rest)) = self.widths.split_first() {
            if width > 32 {
                return Err(Damage::BitWidth(width));
            }
            self.widths = rest;
            let packed = self.data.split_off(..packed_len(width)).ok_or(Damage::Positions)?;
            let mut block = [0u32; BLOCK];
            buffer.packer.decompress(packed, &mut block, width);
            buffer.deltas.extend_from_slice(&block);
        } else {
            if self.data.is_empty() {
                return Err(Damage::Positions);
            }
            if self.data.iter().all(|byte| byte & 0x80 != 0) {
                buffer.deltas.extend(self.data.iter().map(|byte| u32::from(byte & 0x7f)));
                self.data = &[];
            }
            while !self.data.is_empty() {
                buffer.deltas.push(read_vint32(&mut self.data).map_err(|_| Damage::Positions)?);
            }
        }
        Ok(())
    }
}

fn entry_len(record: IndexRecordOption) -> usize {
    match record {
        IndexRecordOption::Basic => 5,
        IndexRecordOption::WithFreqs => 8,
        IndexRecordOption::WithFreqsAndPositions => 12,
    }
}

fn packed_len(width: u8) -> usize {
    usize::from(width) * BLOCK / 8
}

fn read_vint(data: &mut &[u8]) -> Result<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = data.split_first().ok_or(Damage::Short)?;
        *data = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 != 0 {
            return Ok(value);
        }
    }
    Err(Damage::Short)
}

/// Reads `bytes` as VInts of one byte each.
#[inline]
fn read_bytes(bytes: &[u8], numbers: &mut [u32]) -> Result<()> {
    let ended = bytes.iter().fold(0x80, |ended, byte| ended & byte);
    for (number, byte) in numbers.iter_mut().zip(bytes) {
        *number = u32::from(byte & 0x7f);
    }
    // One that goes on has no byte left to end with.
    if ended == 0 { Err(Damage::Short) } else { Ok(()) }
}

#[inline]
fn read_vint32(data: &mut &[u8]) -> Result<u32> {
    let (&byte, rest) = data.split_first().ok_or(Damage::Short)?;
    *data = rest;
    if byte & 0x80 != 0 {
        return Ok(u32::from(byte & 0x7f));
    }
    let mut value = u64::from(byte);
    for shift in (7..35).step_by(7) {
        let (&byte, rest) = data.split_first().ok_or(Damage::Short)?;
        *data = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 != 0 {
            return u32::try_from(value).map_err(|_| Damage::Number(value));
        }
    }
    Err(Damage::Short)
}
