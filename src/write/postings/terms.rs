//! The merged term stream of several segments over a range of terms.

use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use tantivy::postings::TermInfo;
use tantivy::termdict::{TermDictionary, TermStreamer};

use crate::error::{Error, Result};

/// Half-open range of terms: from `ge` (included; `None`: the first) to `lt` (excluded; `None`: the end).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TermRange {
    pub(super) ge: Option<Vec<u8>>,
    pub(super) lt: Option<Vec<u8>>,
}

/// Walks the terms of several dictionaries in order, equal ones together.
pub(super) struct MergedTerms<'a> {
    cursors: BinaryHeap<Cursor<'a>>,
    key: Vec<u8>,
    matches: Vec<(usize, TermInfo)>,
}

struct Cursor<'a> {
    segment: usize,
    stream: TermStreamer<'a>,
}

impl Ord for Cursor<'_> {
    // Reversed: the heap gives the greatest first, we want the least term, then the least segment.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.stream.key().cmp(self.stream.key()).then_with(|| other.segment.cmp(&self.segment))
    }
}

impl PartialOrd for Cursor<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Cursor<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == std::cmp::Ordering::Equal
    }
}

impl Eq for Cursor<'_> {}

impl<'a> MergedTerms<'a> {
    /// `dictionaries`: by segment of the group; `None` where a segment has no term of the field.
    pub(super) fn open(dictionaries: &'a [Option<TermDictionary>], range: &TermRange) -> Result<MergedTerms<'a>> {
        let mut cursors = Vec::with_capacity(dictionaries.len());
        for (segment, dictionary) in dictionaries.iter().enumerate() {
            let Some(dictionary) = dictionary else { continue };
            let mut terms = dictionary.range();
            if let Some(ge) = &range.ge {
                terms = terms.ge(ge);
            }
            if let Some(lt) = &range.lt {
                terms = terms.lt(lt);
            }
            let mut stream = terms.into_stream().map_err(Error::io("stream", "the term dictionary"))?;
            if stream.advance() {
                cursors.push(Cursor { segment, stream });
            }
        }
        Ok(MergedTerms { cursors: BinaryHeap::from(cursors), key: Vec::new(), matches: Vec::new() })
    }

    /// Moves to the next term; false at the end.
    pub(super) fn advance(&mut self) -> bool {
        self.matches.clear();
        while let Some(mut top) = self.cursors.peek_mut() {
            if self.matches.is_empty() {
                self.key.clear();
                self.key.extend_from_slice(top.stream.key());
            } else if top.stream.key() != self.key {
                break;
            }
            self.matches.push((top.segment, top.stream.value().clone()));
            if !top.stream.advance() {
                PeekMut::pop(top);
            }
        }
        !self.matches.is_empty()
    }

    /// The current term, and the segments that have it, ascending, with their term infos.
    pub(super) fn current(&self) -> (&[u8], &[(usize, TermInfo)]) {
        (&self.key, &self.matches)
    }
}
