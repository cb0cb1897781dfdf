//! Entrances for fuzzing: see [`crate::fuzz`].

use tantivy::directory::OwnedBytes;

use super::positions::PositionList;
use super::short_list::ShortList;
use crate::source::guard;

/// Documents and frequencies of a posting list of less than a block, if it is one.
pub fn short_list(list: &[u8], doc_freq: u32, with_freqs: bool) -> Option<(Vec<u32>, Vec<u32>)> {
    let mut short = ShortList::new();
    short.read(list, doc_freq, with_freqs).then(|| (short.docs().to_vec(), short.freqs().to_vec()))
}

/// Deltas of positions, of so many documents.
pub fn positions(list: &[u8], freqs: &[u32]) -> Option<Vec<u32>> {
    let bytes = OwnedBytes::new(list.to_vec());
    // As where units are read.
    let read = guard("a.pos", "positions", || {
        let Ok(mut list) = PositionList::open(&bytes, 0..bytes.len()) else { return Ok(None) };
        let (mut deltas, mut buffer) = (Vec::new(), Vec::new());
        for &freq in freqs {
            if !list.next(u64::from(freq), &mut buffer) {
                return Ok(None);
            }
            deltas.extend_from_slice(&buffer);
        }
        Ok(Some(deltas))
    });
    read.ok().flatten()
}
