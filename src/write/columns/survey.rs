//! What an output gets of a column: rows, values, and from which segments.
//!
//! Of a column that every row has, nothing is read for it: documents are counted once for all columns ([`Shares`]).

use tantivy::columnar::{Cardinality, ColumnIndex};

use super::rows::{Entry, Rows};
use super::union;
use crate::error::{Error, Result};
use crate::partition::Group;
use crate::source::Source;

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
    /// Values that the output gets from `segment`.
    pub(super) fn values_of(&self, segment: usize) -> u64 {
        self.segments.get(segment).copied().unwrap_or(0)
    }

    /// Whether the output gets a value from `segment`.
    pub(super) fn draws_from(&self, segment: usize) -> bool {
        self.values_of(segment) > 0
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

/// How many documents each output gets from each segment.
pub(super) struct Shares {
    /// By output, then by segment of the group.
    docs: Vec<Vec<u64>>,
    /// By segment: whether all its documents go to some output.
    pub(super) whole: Vec<bool>,
}

impl Shares {
    pub(super) fn of(source: &Source, group: &Group) -> Shares {
        let mut docs = vec![vec![0u64; group.segments.len()]; group.outputs.len()];
        let mut whole = Vec::with_capacity(group.segments.len());
        for (index, segment) in union::segments(source, group).enumerate() {
            let mut all = true;
            for doc in 0..segment.max_doc() {
                let Some((output, _)) = group.lookup(index, doc) else {
                    all = false;
                    continue;
                };
                if let Some(docs) = docs.get_mut(output).and_then(|docs| docs.get_mut(index)) {
                    *docs += 1;
                }
            }
            whole.push(all);
        }
        Shares { docs, whole }
    }
}

impl Rows<'_> {
    /// Whether every row of the segments that have the column has one value.
    fn are_full(&self) -> bool {
        self.indexes.iter().flatten().all(|index| matches!(index, ColumnIndex::Full))
    }

    /// Counts the rows and values of `output`. `check` sees every entry first, unless all rows have one value; entries
    /// that run backwards or beyond the column's values must fail there.
    pub(super) fn survey(
        &self,
        output: usize,
        shares: &Shares,
        mut check: impl FnMut(Entry) -> Result<()>,
    ) -> Result<Survey> {
        if self.are_full() {
            let docs = shares.docs.get(output).map_or(&[][..], Vec::as_slice).iter().zip(&self.indexes);
            let segments: Vec<u64> = docs.map(|(&docs, index)| if index.is_some() { docs } else { 0 }).collect();
            let values = segments.iter().sum();
            // An output has no more documents than fit.
            let rows = u32::try_from(values).unwrap_or(u32::MAX);
            return Ok(Survey { rows, values, several: false, segments });
        }
        let mut survey = Survey { segments: vec![0; self.indexes.len()], ..Survey::default() };
        self.entries(output).try_for_each(|entry| {
            check(entry)?;
            let values = entry.end.saturating_sub(entry.start);
            survey.rows += 1;
            survey.values += u64::from(values);
            survey.several |= values > 1;
            if let Some(count) = survey.segments.get_mut(entry.segment as usize) {
                *count += u64::from(values);
            }
            Ok::<_, Error>(())
        })?;
        Ok(survey)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{column, fixture, indexes};
    use super::*;
    use crate::partition::SegmentMode;

    #[test]
    fn columns_that_every_row_has_are_surveyed_as_if_they_were_walked() {
        let segments = [fixture::documents(0, 900), fixture::documents(40, 700), fixture::documents(5_000, 3)];
        for deleted in [&[][..], &["id-00000000", "id-9e3779b9"]] {
            let index = fixture::index(fixture::schema(), &segments, deleted, None);
            let map = fixture::deal(&index.source, 3, SegmentMode::One, |number| (number / 2) as u16);
            let group = &map.groups[0];
            let shares = Shares::of(&index.source, group);
            assert_eq!(shares.whole.iter().all(|whole| *whole), deleted.is_empty());
            let mut full = 0;
            for union in union::unite(&index.source, group).unwrap() {
                let columns = column::open(&index.source, group, &union).unwrap();
                // As it is, and as if the second segment had no such column.
                for absent in [false, true] {
                    let mut of_segments = indexes(&columns);
                    of_segments[1] = of_segments[1].filter(|_| !absent);
                    let rows = Rows::new(group, of_segments);
                    for output in 0..3 {
                        let survey = rows.survey(output, &shares, |_| Ok(())).unwrap();
                        let entries: Vec<Entry> = rows.entries(output).collect();
                        assert_eq!(survey.rows as usize, entries.len(), "{}", union.name);
                        for segment in 0..columns.len() {
                            let of_segment = entries.iter().filter(|entry| entry.segment as usize == segment);
                            let values: usize = of_segment.map(|entry| entry.values().len()).sum();
                            assert_eq!(survey.values_of(segment), values as u64, "{}", union.name);
                        }
                        full += usize::from(rows.are_full() && !entries.is_empty());
                    }
                }
            }
            assert!(full > 3, "the fixture has columns that every row has");
        }
    }
}
