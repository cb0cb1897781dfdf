//! Which values of a column go to which row of an output.
//!
//! A column of the children draws from the columns of several source segments. [`Rows`] gives, per output and in the
//! order of its rows, the rows that have values, and where in which segment these values stand. It can be asked any
//! number of times, so nothing has to be kept between the passes over an output. Values are read a batch at a time
//! ([`Rows::positions`]): one call of a column's codec for many.
//!
//! A column that few rows have is dealt once, from the source's side, and kept (16 bytes a row): indexes with thousands
//! of dynamic columns would otherwise be walked, all rows, for each of them, pass after pass. The others are looked up
//! row by row. What is kept is at most 1 byte per document, or 16 MiB.

use std::ops::Range;

use tantivy::columnar::ColumnIndex;
use tantivy::columnar::column_index::MultiValueIndex;

use super::positions::Positions;
use crate::partition::{Group, RowAddr};

/// A row of an output that has values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// New DocId.
    pub(super) doc: u32,
    /// Index of the source segment within its group.
    pub(super) segment: u32,
    /// Its values in that segment's column.
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Entry {
    pub(super) fn values(&self) -> Range<u32> {
        self.start..self.end
    }
}

/// Rows with values of one column, per output.
pub(super) struct Rows<'a> {
    group: &'a Group,
    /// Per segment of the group.
    pub(super) indexes: Vec<Option<&'a ColumnIndex>>,
    /// Per output, if the column is sparse.
    dealt: Option<Vec<Vec<Entry>>>,
}

/// Rows that are dealt and kept at most: one of so many, or as many as 16 MiB hold.
const KEPT_ONE_IN: u64 = 16;
const KEPT_AT_LEAST: u64 = 1 << 20;

impl<'a> Rows<'a> {
    pub(super) fn new(group: &'a Group, indexes: Vec<Option<&'a ColumnIndex>>) -> Rows<'a> {
        let docs: u64 = group.outputs.iter().map(|output| u64::from(output.num_docs)).sum();
        Rows::keeping(group, indexes, (docs / KEPT_ONE_IN).max(KEPT_AT_LEAST))
    }

    /// As [`Rows::new`], but with its own limit.
    fn keeping(group: &'a Group, indexes: Vec<Option<&'a ColumnIndex>>, limit: u64) -> Rows<'a> {
        let with_values: u64 = indexes.iter().flatten().map(|index| most_rows(index)).sum();
        let dealt = (with_values <= limit).then(|| deal(group, &indexes));
        Rows { group, indexes, dealt }
    }

    /// Rows of `output` that have values, ascending.
    pub(super) fn entries(&self, output: usize) -> impl Iterator<Item = Entry> + '_ {
        match &self.dealt {
            Some(dealt) => Entries::Dealt(dealt.get(output).map_or(&[][..], Vec::as_slice).iter()),
            None => Entries::LookedUp((0..).zip(self.group.rows(output)), &self.indexes),
        }
    }

    /// Where the values of `output` stand, in order.
    pub(super) fn positions(&self, output: usize) -> Positions<impl Iterator<Item = Entry> + '_> {
        Positions::of(self.entries(output))
    }
}

/// The rows of an output that have values.
enum Entries<'a, R> {
    Dealt(std::slice::Iter<'a, Entry>),
    LookedUp(R, &'a [Option<&'a ColumnIndex>]),
}

impl<R: Iterator<Item = (u32, RowAddr)>> Iterator for Entries<'_, R> {
    type Item = Entry;

    #[inline]
    fn next(&mut self) -> Option<Entry> {
        match self {
            Entries::Dealt(entries) => entries.next().copied(),
            Entries::LookedUp(rows, indexes) => rows.find_map(|(doc, RowAddr { segment, doc: row })| {
                let values = match indexes.get(segment).copied().flatten()? {
                    ColumnIndex::Full => row..row + 1,
                    index => index.value_row_ids(row),
                };
                entry(doc, segment, values)
            }),
        }
    }
}

fn entry(doc: u32, segment: usize, values: Range<u32>) -> Option<Entry> {
    let segment = u32::try_from(segment).ok()?;
    // A range that runs backwards is damage, and left for the survey to find.
    (values.start != values.end).then_some(Entry { doc, segment, start: values.start, end: values.end })
}

/// At least the number of rows with values, without a look at each.
fn most_rows(index: &ColumnIndex) -> u64 {
    match index {
        ColumnIndex::Empty { .. } => 0,
        // Nothing is gained by dealing these: a row's value is where the row is.
        ColumnIndex::Full => u64::MAX / 4_096,
        ColumnIndex::Optional(index) => index.num_non_nulls().into(),
        ColumnIndex::Multivalued(MultiValueIndex::MultiValueIndexV1(index)) => index.num_docs().into(),
        ColumnIndex::Multivalued(MultiValueIndex::MultiValueIndexV2(index)) => {
            index.optional_index.num_non_nulls().into()
        }
    }
}

fn deal(group: &Group, indexes: &[Option<&ColumnIndex>]) -> Vec<Vec<Entry>> {
    let mut dealt: Vec<Vec<Entry>> = group.outputs.iter().map(|_| Vec::new()).collect();
    for (segment, index) in indexes.iter().enumerate() {
        let mut give = |doc: u32, values: Range<u32>| {
            let Some((output, new_doc)) = group.lookup(segment, doc) else { return };
            if let Some(entries) = dealt.get_mut(output) {
                entries.extend(entry(new_doc, segment, values));
            }
        };
        match index {
            None | Some(ColumnIndex::Empty { .. } | ColumnIndex::Full) => {}
            Some(ColumnIndex::Optional(index)) => {
                index.iter_non_null_docs().zip(0u32..).for_each(|(doc, value)| give(doc, value..value + 1));
            }
            Some(ColumnIndex::Multivalued(MultiValueIndex::MultiValueIndexV1(index))) => {
                let offsets = &index.start_index_column;
                (0..index.num_docs()).for_each(|doc| give(doc, offsets.get_val(doc)..offsets.get_val(doc + 1)));
            }
            Some(ColumnIndex::Multivalued(MultiValueIndex::MultiValueIndexV2(index))) => {
                let offsets = &index.start_index_column;
                let rows = index.optional_index.iter_non_null_docs().zip(0u32..);
                rows.for_each(|(doc, row)| give(doc, offsets.get_val(row)..offsets.get_val(row + 1)));
            }
        }
    }
    if group.interleaved {
        for entries in &mut dealt {
            entries.sort_unstable_by_key(|entry| entry.doc);
        }
    }
    dealt
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "the tests' numbers are small")]
mod tests {
    use super::super::column::{self, SourceColumn};
    use super::super::{fixture, indexes, union};
    use super::*;
    use crate::partition::SegmentMode;

    #[test]
    fn rows_are_the_same_whether_dealt_or_looked_up() {
        let segments = [fixture::documents(0, 900), fixture::documents(40, 700), fixture::documents(5_000, 3)];
        for sort in [None, Some("u")] {
            let index = fixture::index(fixture::schema(), &segments, &["id-00000000", "id-9e3779b9"], sort);
            let map = fixture::deal(&index.source, 3, SegmentMode::One, |number| (number / 2) as u16);
            let group = &map.groups[0];
            for union in union::unite(&index.source, group).unwrap() {
                let columns: Vec<Option<SourceColumn>> = column::open(&index.source, group, &union).unwrap();
                let full = columns.iter().flatten().any(|column| matches!(column.index, ColumnIndex::Full));
                let dealt = Rows::new(group, indexes(&columns));
                let looked_up = Rows::keeping(group, indexes(&columns), 0);
                assert_eq!(dealt.dealt.is_none(), full, "{}", union.name);
                assert!(looked_up.dealt.is_none() || union.parts.is_empty());
                for output in 0..3 {
                    let entries: Vec<Entry> = dealt.entries(output).collect();
                    assert!(entries.is_sorted_by(|a, b| a.doc < b.doc));
                    assert_eq!(entries, looked_up.entries(output).collect::<Vec<_>>(), "{}", union.name);
                }
            }
        }
    }
}
