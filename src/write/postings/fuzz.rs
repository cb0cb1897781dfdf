//! Entrances for fuzzing: see [`crate::fuzz`].

use bitpacking::{BitPacker, BitPacker4x};
use tantivy::schema::IndexRecordOption;

use super::decode::{BLOCK, PositionBuffer, Positions, Postings, Room};

/// Documents and frequencies of a posting list, if it is one.
pub fn postings(list: &[u8], doc_freq: u32, record: IndexRecordOption) -> Option<(Vec<u32>, Vec<u32>)> {
    let mut postings = Postings::open(list, doc_freq, record, u32::MAX >> 1).ok()?;
    let (mut block, mut block_freqs) = ([0; BLOCK], [0; BLOCK]);
    let (mut docs, mut freqs) = (Vec::new(), Vec::new());
    loop {
        let mut room = Room { packer: BitPacker4x::new(), docs: &mut block, freqs: &mut block_freqs };
        match postings.next(&mut room).ok()? {
            (0, _) => return Some((docs, freqs)),
            (len, has_freqs) => {
                docs.extend(block.iter().take(len));
                freqs.extend(block_freqs.iter().take(if has_freqs { len } else { 0 }));
            }
        }
    }
}

/// Deltas of positions, of so many documents.
pub fn positions(list: &[u8], freqs: &[u32]) -> Option<Vec<u32>> {
    let (mut positions, mut buffer) = (Positions::open(list).ok()?, PositionBuffer::new());
    let mut deltas = Vec::new();
    for &freq in freqs {
        positions.claim(freq as usize, &mut buffer).ok()?;
        deltas.extend_from_slice(buffer.take(freq as usize));
    }
    Some(deltas)
}
