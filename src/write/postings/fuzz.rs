//! Entrances for fuzzing: see [`crate::fuzz`].

use tantivy::schema::IndexRecordOption;

use super::decode::{Block, PositionBuffer, Positions, Postings};

/// Documents and frequencies of a posting list, if it is one.
pub fn postings(list: &[u8], doc_freq: u32, record: IndexRecordOption) -> Option<(Vec<u32>, Vec<u32>)> {
    let mut postings = Postings::open(list, doc_freq, record, u32::MAX >> 1).ok()?;
    let (mut block, mut docs, mut freqs) = (Block::new(), Vec::new(), Vec::new());
    loop {
        match postings.next(&mut block).ok()? {
            (0, _) => return Some((docs, freqs)),
            (len, has_freqs) => {
                docs.extend_from_slice(block.docs(len));
                freqs.extend_from_slice(if has_freqs { block.freqs(len) } else { &[] });
            }
        }
    }
}

/// Deltas of positions, of so many documents.
pub fn positions(list: &[u8], freqs: &[u32]) -> Option<Vec<u32>> {
    let (mut positions, mut buffer) = (Positions::open(list).ok()?, PositionBuffer::new());
    let mut deltas = Vec::new();
    for &freq in freqs {
        deltas.extend_from_slice(positions.take(freq as usize, &mut buffer).ok()?);
    }
    Some(deltas)
}
