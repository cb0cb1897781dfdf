//! What one unit gives one output: terms with the lengths of their lists, and the lists.
//!
//! Of most terms everything is short, and there are many more terms of outputs than of the source. So a term takes four
//! bytes and its own: as much as is made of a unit then stays in the caches until it is appended.

use super::lists::{Lists, SpareChunks};

/// The terms of one unit for one output.
#[derive(Default)]
pub(super) struct Piece {
    /// The terms, ascending.
    pub(super) terms: Terms,
    /// Posting lists, one after the other.
    pub(super) postings: Lists,
    /// Positions, one after the other.
    pub(super) positions: Lists,
    /// Sum of term frequencies; a document without frequency counts one.
    pub(super) tokens: u64,
}

impl Piece {
    /// Empties it and keeps its buffers, those of long lists apart.
    pub(super) fn clear(&mut self, spare: &SpareChunks) {
        self.terms.clear();
        self.postings.clear(spare);
        self.positions.clear(spare);
        self.tokens = 0;
    }
}

/// What belongs to a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TermEntry {
    pub(super) doc_freq: u32,
    /// Bytes of its posting list.
    pub(super) postings_len: u64,
    /// Bytes of its positions.
    pub(super) positions_len: u64,
}

/// Terms with their entries.
///
/// Per term four bytes, the length of the term and the three numbers of its entry, and the term; or [`LONG`], the same four
/// as u64 LE, and the term.
#[derive(Default)]
pub(super) struct Terms {
    bytes: Vec<u8>,
    len: usize,
}

/// In place of a length: none of the four fits a byte.
const LONG: u8 = u8::MAX;

impl Terms {
    /// How many.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn push(&mut self, term: &[u8], entry: TermEntry) {
        let numbers = [term.len() as u64, u64::from(entry.doc_freq), entry.postings_len, entry.positions_len];
        self.len += 1;
        if numbers.iter().all(|&number| number < u64::from(LONG)) {
            self.bytes.extend_from_slice(&numbers.map(|number| number.to_le_bytes()[0]));
        } else {
            self.bytes.push(LONG);
            numbers.iter().for_each(|number| self.bytes.extend_from_slice(&number.to_le_bytes()));
        }
        self.bytes.extend_from_slice(term);
    }

    /// The terms and their entries, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], TermEntry)> {
        let mut bytes = self.bytes.as_slice();
        std::iter::from_fn(move || {
            let [len, doc_freq, postings_len, positions_len] = match bytes.split_first()? {
                (&LONG, mut rest) => {
                    let mut numbers = [0; 4];
                    for number in &mut numbers {
                        let (word, others) = rest.split_first_chunk::<8>()?;
                        (*number, rest) = (u64::from_le_bytes(*word), others);
                    }
                    bytes = rest;
                    numbers
                }
                _ => {
                    let (numbers, rest) = bytes.split_first_chunk::<4>()?;
                    bytes = rest;
                    numbers.map(u64::from)
                }
            };
            let term = bytes.split_off(..usize::try_from(len).ok()?)?;
            Some((term, TermEntry { doc_freq: u32::try_from(doc_freq).ok()?, postings_len, positions_len }))
        })
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_come_out_as_they_went_in_whatever_their_lengths() {
        let at_the_edges = [0, 1, 254, 255, 256, 70_000, u64::from(u32::MAX)];
        let mut terms = Terms::default();
        for _ in 0..2 {
            let mut expected = Vec::new();
            for (number, &value) in (0u8..).zip(&at_the_edges) {
                for place in 0..4 {
                    let at = |own: usize| if own == place { value } else { 3 };
                    let term = vec![number; at(0).min(70_000) as usize];
                    let doc_freq = u32::try_from(at(1)).unwrap();
                    let entry = TermEntry { doc_freq, postings_len: at(2), positions_len: at(3) };
                    terms.push(&term, entry);
                    expected.push((term, entry));
                }
            }
            assert_eq!(terms.len(), expected.len());
            let long = expected.iter().map(|(term, _)| term.len() + 33).sum::<usize>();
            assert!(terms.bytes.len() < long, "some are short");
            assert!(terms.iter().eq(expected.iter().map(|(term, entry)| (term.as_slice(), *entry))));
            terms.clear();
            assert_eq!((terms.len(), terms.iter().count()), (0, 0));
        }
    }
}
