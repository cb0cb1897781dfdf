//! Which values of a column go to which row of an output.
//!
//! A column of the children draws from the columns of several source segments. [`Rows`] gives, per output and in the
//! order of its rows, the rows that have values, and where in which segment these values stand. It can be asked any
//! number of times, so nothing has to be kept between the passes over an output.
//!
//! A column that few rows have is dealt once, from the source's side, and kept (16 bytes a row): indexes with thousands
//! of dynamic columns would otherwise be walked, all rows, for each of them. The others are looked up row by row. The
//! kept part is at most 1 byte per document, or 64 KiB.

use std::ops::Range;

use tantivy::columnar::column_index::MultiValueIndex;
use tantivy::columnar::{Cardinality, ColumnIndex};

use crate::error::Result;
use crate::partition::Group;

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
    indexes: Vec<Option<&'a ColumnIndex>>,
    /// Per output, if the column is sparse.
    dealt: Option<Vec<Vec<Entry>>>,
}

/// A column with fewer rows than one in so many is sparse.
const SPARSE_ONE_IN: u64 = 16;
const SPARSE_AT_LEAST: u64 = 4_096;

impl<'a> Rows<'a> {
    pub(super) fn new(group: &'a Group, indexes: Vec<Option<&'a ColumnIndex>>) -> Rows<'a> {
        let docs: u64 = group.outputs.iter().map(|output| u64::from(output.num_docs)).sum();
        let with_values: u64 = indexes.iter().flatten().map(|index| u64::from(most_rows(index))).sum();
        let dealt = (with_values <= (docs / SPARSE_ONE_IN).max(SPARSE_AT_LEAST)).then(|| deal(group, &indexes));
        Rows { group, indexes, dealt }
    }

    /// Rows of `output` that have values, ascending.
    pub(super) fn entries(&self, output: usize) -> impl Iterator<Item = Entry> + '_ {
        let dealt = self.dealt.as_ref().map(|dealt| dealt.get(output).map_or(&[][..], Vec::as_slice));
        let looked_up = dealt.is_none().then(|| {
            self.group.rows(output).zip(0u32..).filter_map(|(row, doc)| {
                let values = self.indexes.get(row.segment).copied().flatten()?.value_row_ids(row.doc);
                entry(doc, row.segment, values)
            })
        });
        dealt.unwrap_or_default().iter().copied().chain(looked_up.into_iter().flatten())
    }

    /// Counts the rows and values of `output`. `check` sees every entry first; ones that run backwards or beyond the
    /// column's values must fail there.
    pub(super) fn survey(&self, output: usize, check: impl Fn(Entry) -> Result<()>) -> Result<Survey> {
        let mut survey = Survey { segments: vec![0; self.indexes.len()], ..Survey::default() };
        for entry in self.entries(output) {
            check(entry)?;
            let values = entry.end.saturating_sub(entry.start);
            survey.rows += 1;
            survey.values += u64::from(values);
            survey.several |= values > 1;
            if let Some(count) = survey.segments.get_mut(entry.segment as usize) {
                *count += u64::from(values);
            }
        }
        Ok(survey)
    }
}

fn entry(doc: u32, segment: usize, values: Range<u32>) -> Option<Entry> {
    let segment = u32::try_from(segment).ok()?;
    // A range that runs backwards is damage, and left for the survey to find.
    (values.start != values.end).then_some(Entry { doc, segment, start: values.start, end: values.end })
}

/// At least the number of rows with values, without a look at each.
fn most_rows(index: &ColumnIndex) -> u32 {
    match index {
        ColumnIndex::Empty { .. } => 0,
        // The number of rows is not known here; it is that of the segment.
        ColumnIndex::Full => u32::MAX,
        ColumnIndex::Optional(index) => index.num_non_nulls(),
        ColumnIndex::Multivalued(MultiValueIndex::MultiValueIndexV1(index)) => index.num_docs(),
        ColumnIndex::Multivalued(MultiValueIndex::MultiValueIndexV2(index)) => index.optional_index.num_non_nulls(),
    }
}

fn deal(group: &Group, indexes: &[Option<&ColumnIndex>]) -> Vec<Vec<Entry>> {
    let mut dealt: Vec<Vec<Entry>> = group.outputs.iter().map(|_| Vec::new()).collect();
    for (segment, index) in indexes.iter().enumerate() {
        let Some(index) = index else { continue };
        let mut give = |doc: u32| {
            let Some((output, new_doc)) = group.lookup(segment, doc) else { return };
            if let Some(entries) = dealt.get_mut(output) {
                entries.extend(entry(new_doc, segment, index.value_row_ids(doc)));
            }
        };
        match index {
            ColumnIndex::Empty { .. } | ColumnIndex::Full => {}
            ColumnIndex::Optional(index) => index.iter_non_null_docs().for_each(&mut give),
            ColumnIndex::Multivalued(index) => index.iter_non_null_docs().for_each(&mut give),
        }
    }
    if group.interleaved {
        for entries in &mut dealt {
            entries.sort_unstable_by_key(|entry| entry.doc);
        }
    }
    dealt
}

/// What an output gets of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Survey {
    /// Rows with values.
    pub(super) rows: u32,
    /// Values.
    pub(super) values: u64,
    /// Whether some row has more than one.
    several: bool,
    /// Values by segment of the group.
    segments: Vec<u64>,
}

impl Survey {
    /// Whether the output gets a value from `segment`.
    pub(super) fn draws_from(&self, segment: usize) -> bool {
        self.segments.get(segment).is_some_and(|&values| values > 0)
    }

    /// The narrowest cardinality that fits.
    pub(super) fn cardinality(&self, num_docs: u32) -> Cardinality {
        if self.several {
            Cardinality::Multivalued
        } else if self.rows < num_docs {
            Cardinality::Optional
        } else {
            Cardinality::Full
        }
    }
}
