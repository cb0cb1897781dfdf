//! The dictionaries of several segments as one ascending stream of distinct terms.
//!
//! Each dictionary is read once, from front to back. Cost: a heap step per term and segment. Memory: a block of each
//! dictionary.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use tantivy::columnar::BytesColumn;

use super::column::SourceColumn;
use crate::error::Result;
use crate::source::{ColumnTerms, terms};

/// A segment's dictionary, standing at a term.
struct Head<'a> {
    terms: ColumnTerms,
    segment: usize,
    ordinal: u32,
    num_terms: u32,
    column: &'a SourceColumn,
}

impl Head<'_> {
    /// Goes to the next term; `false` at the end.
    fn advance(&mut self) -> Result<bool> {
        let ended = !self.terms.advance()?;
        self.ordinal = self.ordinal.wrapping_add(1);
        if ended == (self.ordinal >= self.num_terms) {
            Ok(!ended)
        } else {
            let problem = format!("says it has {} distinct values, its dictionary does not", self.num_terms);
            Err(self.column.corrupt(&problem))
        }
    }
}

impl Ord for Head<'_> {
    // Reversed: a heap gives the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.terms.key(), other.segment).cmp(&(self.terms.key(), self.segment))
    }
}

impl PartialOrd for Head<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head<'_> {}

/// A dictionary with its segment's place in the group.
pub(super) struct Part<'a> {
    pub(super) segment: usize,
    pub(super) column: &'a SourceColumn,
    pub(super) terms: &'a BytesColumn,
    pub(super) num_terms: u32,
}

/// Calls `each` with every distinct term, ascending, and the (segment, ordinal) pairs it has.
pub(super) fn merge(parts: &[Part<'_>], mut each: impl FnMut(&[u8], &[(usize, u32)]) -> Result<()>) -> Result<()> {
    let mut heap = BinaryHeap::with_capacity(parts.len());
    for part in parts {
        let terms = terms(part.column.path(), part.column.name(), part.terms.dictionary())?;
        let (segment, num_terms, column) = (part.segment, part.num_terms, part.column);
        // `advance` makes it 0.
        let mut head = Head { terms, segment, ordinal: u32::MAX, num_terms, column };
        if head.advance()? {
            heap.push(head);
        }
    }
    let mut term = Vec::new();
    let mut places = Vec::with_capacity(parts.len());
    while let Some(head) = heap.peek() {
        term.clear();
        term.extend_from_slice(head.terms.key());
        places.clear();
        while let Some(mut head) = heap.peek_mut() {
            if head.terms.key() != term {
                break;
            }
            places.push((head.segment, head.ordinal));
            if !head.advance()? {
                PeekMut::pop(head);
            } else if head.terms.key() <= term.as_slice() {
                return Err(head.column.corrupt("has a dictionary that is out of order"));
            }
        }
        each(&term, &places)?;
    }
    Ok(())
}
