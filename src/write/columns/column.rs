//! One source segment's column, opened and checked.
//!
//! Its index and its values say how many rows and values there are; both are checked against the segment here, before
//! anything is looked up, so that a damaged column is an error that names it.

use std::net::Ipv6Addr;
use std::sync::Arc;

use tantivy::columnar::column_index::MultiValueIndex;
use tantivy::columnar::{
    BytesColumn, ColumnIndex, ColumnType, ColumnValues, DynamicColumn, DynamicColumnHandle, EmptyColumnValues,
};

use super::union::{Union, readable, segments};
use crate::error::{Error, Result};
use crate::partition::Group;
use crate::source::{Component, Segment, Source};

/// Values of a column by position.
pub(super) enum Data {
    /// Numbers, booleans, dates: in the order-preserving 64-bit form in which they are stored.
    Words(Arc<dyn ColumnValues<u64>>),
    /// Strings and bytes.
    Terms(BytesColumn),
    /// Addresses.
    Addresses(Arc<dyn ColumnValues<Ipv6Addr>>),
}

/// A column of one source segment.
pub(super) struct SourceColumn {
    pub(super) kind: ColumnType,
    pub(super) index: ColumnIndex,
    pub(super) data: Data,
    pub(super) num_values: u32,
    /// What to say about it.
    path: std::path::PathBuf,
    name: String,
}

impl SourceColumn {
    fn open(segment: &Segment, name: &str, handle: &DynamicColumnHandle) -> Result<SourceColumn> {
        let path = segment.file(Component::FastFields);
        let kind = handle.column_type();
        let unreadable = |error| Error::io("read the columns of", &path)(error);
        let (index, data, num_values) = match kind {
            ColumnType::Str | ColumnType::Bytes | ColumnType::IpAddr => match handle.open().map_err(unreadable)? {
                DynamicColumn::Str(column) => terms(column.into()),
                DynamicColumn::Bytes(column) => terms(column),
                DynamicColumn::IpAddr(column) => {
                    let num_values = column.values.num_vals();
                    (column.index, Data::Addresses(column.values), num_values)
                }
                // `open` gives the handle's own type; anything else has nothing to give.
                _ => (ColumnIndex::Empty { num_docs: 0 }, Data::Words(Arc::new(EmptyColumnValues)), 0),
            },
            _ => {
                let column = handle.open_u64_lenient().map_err(unreadable)?;
                let column = column
                    .ok_or_else(|| Error::corrupt(&path, format!("column {:?} has no values", readable(name))))?;
                let num_values = column.values.num_vals();
                (column.index, Data::Words(column.values), num_values)
            }
        };
        let column = SourceColumn { kind, index, data, num_values, path, name: readable(name) };
        column.check(segment.max_doc())?;
        Ok(column)
    }

    /// Compares the sizes of index and values with each other and with the segment.
    fn check(&self, max_doc: u32) -> Result<()> {
        let (rows, values) = match &self.index {
            ColumnIndex::Empty { num_docs } => (*num_docs, Some(0)),
            ColumnIndex::Full => (self.num_values, None),
            ColumnIndex::Optional(index) => (index.num_docs(), Some(index.num_non_nulls())),
            ColumnIndex::Multivalued(MultiValueIndex::MultiValueIndexV1(index)) => {
                // One offset per row, and the end of the last row's values.
                let Some(last) = index.start_index_column.num_vals().checked_sub(1) else {
                    return Err(self.corrupt("has an index without offsets"));
                };
                (last, Some(index.start_index_column.get_val(last)))
            }
            ColumnIndex::Multivalued(MultiValueIndex::MultiValueIndexV2(index)) => {
                let with_values = index.optional_index.num_non_nulls();
                let offsets = index.start_index_column.num_vals();
                if offsets.checked_sub(1) != Some(with_values) {
                    return Err(self.corrupt(&format!("has {offsets} offsets for {with_values} rows with values")));
                }
                (index.optional_index.num_docs(), Some(index.start_index_column.get_val(with_values)))
            }
        };
        if rows != max_doc {
            return Err(self.corrupt(&format!("has {rows} rows for {max_doc} documents")));
        }
        match values {
            Some(values) if values != self.num_values => {
                Err(self.corrupt(&format!("has {} values, its index {values}", self.num_values)))
            }
            _ => Ok(()),
        }
    }

    /// The column contradicts itself.
    pub(super) fn corrupt(&self, problem: &str) -> Error {
        Error::corrupt(&self.path, format!("column {:?} {problem}", self.name))
    }

    /// Its name for people.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The file it is in.
    pub(super) fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Words of a numeric column, ordinals of one with a dictionary.
    pub(super) fn words(&self) -> Option<&Arc<dyn ColumnValues<u64>>> {
        match &self.data {
            Data::Words(words) => Some(words),
            Data::Terms(column) => Some(&column.ords().values),
            Data::Addresses(_) => None,
        }
    }
}

fn terms(column: BytesColumn) -> (ColumnIndex, Data, u32) {
    let (index, num_values) = (column.ords().index.clone(), column.ords().values.num_vals());
    (index, Data::Terms(column), num_values)
}

/// The values at `positions`, in place of what `values` has.
#[inline]
pub(super) fn look_up(words: &Arc<dyn ColumnValues<u64>>, positions: &[u32], values: &mut Vec<u64>) {
    values.resize(positions.len(), 0);
    words.get_vals(positions, values);
}

/// Opens the parts of `union`, by segment of the group.
pub(super) fn open(source: &Source, group: &Group, union: &Union) -> Result<Vec<Option<SourceColumn>>> {
    let mut columns: Vec<Option<SourceColumn>> = group.segments.iter().map(|_| None).collect();
    let segments: Vec<&Segment> = segments(source, group).collect();
    for (index, handle) in &union.parts {
        if let (Some(column), Some(segment)) = (columns.get_mut(*index), segments.get(*index)) {
            *column = Some(SourceColumn::open(segment, &union.name, handle)?);
        }
    }
    Ok(columns)
}
