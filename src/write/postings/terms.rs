//! The merged term stream of several segments over a range of terms.

use std::cmp::Ordering;

use tantivy::directory::OwnedBytes;
use tantivy::postings::TermInfo;

use crate::source::dictionary::{Damaged, TermReader};

/// Half-open range of terms: from `ge` (included; `None`: the first) to `lt` (excluded; `None`: the end).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TermRange {
    pub(super) ge: Option<Vec<u8>>,
    pub(super) lt: Option<Vec<u8>>,
}

/// Walks the terms of several dictionaries in order, equal ones together.
pub(super) struct MergedTerms<'a> {
    cursors: Vec<Cursor<'a>>,
    /// Indexes of cursors that stand on a term, the least (term, segment) last.
    order: Vec<usize>,
    key: Vec<u8>,
    matches: Vec<(usize, TermInfo)>,
    /// Cursors that stand on the current term.
    taken: Vec<usize>,
}

struct Cursor<'a> {
    segment: usize,
    terms: TermReader<'a>,
    lt: Option<&'a [u8]>,
    /// The first eight bytes of its term, for a quick look.
    head: u64,
}

impl Cursor<'_> {
    fn advance(&mut self) -> Result<bool, Damaged> {
        if !self.terms.advance()? {
            return Ok(false);
        }
        let key = self.terms.key();
        if self.lt.is_some_and(|lt| key >= lt) {
            return Ok(false);
        }
        self.head = match key.first_chunk::<8>() {
            Some(bytes) => u64::from_be_bytes(*bytes),
            None => key
                .iter()
                .zip((0..64).step_by(8))
                .fold(0, |head, (&byte, shift)| head | u64::from(byte) << (56 - shift)),
        };
        Ok(true)
    }

    fn cmp(&self, other: &Cursor<'_>) -> Ordering {
        let keys = self.head.cmp(&other.head).then_with(|| self.terms.key().cmp(other.terms.key()));
        keys.then(self.segment.cmp(&other.segment))
    }
}

impl<'a> MergedTerms<'a> {
    /// `dictionaries`: by segment of the group; `None` where a segment has no term of the field.
    ///
    /// # Errors
    /// With the segment whose dictionary is damaged.
    pub(super) fn open(
        dictionaries: &'a [Option<OwnedBytes>],
        range: &'a TermRange,
    ) -> Result<MergedTerms<'a>, (usize, Damaged)> {
        let mut merged = MergedTerms {
            cursors: Vec::with_capacity(dictionaries.len()),
            order: Vec::with_capacity(dictionaries.len()),
            key: Vec::new(),
            matches: Vec::new(),
            taken: Vec::new(),
        };
        for (segment, dictionary) in dictionaries.iter().enumerate() {
            let Some(dictionary) = dictionary else { continue };
            let terms = TermReader::open(dictionary, range.ge.as_deref()).map_err(|damaged| (segment, damaged))?;
            merged.taken.push(merged.cursors.len());
            merged.cursors.push(Cursor { segment, terms, lt: range.lt.as_deref(), head: 0 });
        }
        Ok(merged)
    }

    /// Moves to the next term; false at the end.
    ///
    /// # Errors
    /// With the segment whose dictionary is damaged.
    pub(super) fn advance(&mut self) -> Result<bool, (usize, Damaged)> {
        while let Some(index) = self.taken.pop() {
            self.put_back(index)?;
        }
        self.matches.clear();
        while let Some((&index, cursor)) = self.order.last().and_then(|index| Some((index, self.cursors.get(*index)?)))
        {
            if self.matches.is_empty() {
                self.key.clear();
                self.key.extend_from_slice(cursor.terms.key());
            } else if cursor.terms.key() != self.key {
                break;
            }
            self.matches.push((cursor.segment, cursor.terms.info().clone()));
            self.taken.push(index);
            self.order.pop();
        }
        Ok(!self.matches.is_empty())
    }

    /// Advances a cursor and puts it where it belongs.
    fn put_back(&mut self, index: usize) -> Result<(), (usize, Damaged)> {
        let Some(cursor) = self.cursors.get_mut(index) else { return Ok(()) };
        if !cursor.advance().map_err(|damaged| (cursor.segment, damaged))? {
            return Ok(());
        }
        let Some(cursor) = self.cursors.get(index) else { return Ok(()) };
        let greater =
            |&other: &usize| self.cursors.get(other).is_some_and(|other| other.cmp(cursor) == Ordering::Greater);
        let place = self.order.partition_point(greater);
        self.order.insert(place, index);
        Ok(())
    }

    /// The current term, and the segments that have it, ascending, with their term infos.
    pub(super) fn current(&self) -> (&[u8], &[(usize, TermInfo)]) {
        (&self.key, &self.matches)
    }
}
