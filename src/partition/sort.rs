//! Index sort: merging the documents of several sorted segments in the order of their sort field.
//!
//! Every segment of an index with `sort_by_field` is sorted already; a child segment made of several of them has to be
//! merged. Documents without a value come first ascending and last descending, as in tantivy 0.27
//! (`src/indexer/merger.rs`); equal values keep source order.

use std::cmp::Ordering;

use tantivy::Order;
use tantivy::columnar::{BytesColumn, Column, DynamicColumn, compute_merged_term_ord_mapping};
use tantivy::schema::Type;

use crate::error::{Error, Result};
use crate::source::{Component, Source, check_terms};

/// Sort keys of the documents of several segments, comparable across them.
pub(super) struct SortKeys {
    descending: bool,
    segments: Vec<Keys>,
}

struct Keys {
    column: Column<u64>,
    /// Ordinals of this segment's dictionary → ordinals of the merged one, for strings and bytes.
    merged: Option<Vec<u64>>,
}

impl Keys {
    fn get(&self, doc: u32) -> Option<u64> {
        let value = self.column.first(doc)?;
        match &self.merged {
            Some(merged) => merged.get(usize::try_from(value).ok()?).copied(),
            None => Some(value),
        }
    }
}

impl SortKeys {
    /// Opens the sort field of `segments`; `None` if the index is not sorted.
    pub(super) fn open(source: &Source, segments: &[usize]) -> Result<Option<SortKeys>> {
        let settings = source.index().settings();
        let Some(sort) = settings.sort_by_field.as_ref() else { return Ok(None) };
        let schema = source.schema();
        let field = schema.get_field(&sort.field).map_err(Error::tantivy("the sort field", source.dir()))?;
        let kind = schema.get_field_entry(field).field_type().value_type();
        let descending = sort.order == Order::Desc;

        let mut columns = Vec::with_capacity(segments.len());
        let mut dictionaries = Vec::new();
        for segment in segments.iter().filter_map(|&index| source.segments().get(index)) {
            let path = segment.file(Component::FastFields);
            let missing = || Error::corrupt(&path, format!("the column of the sort field {:?} is missing", sort.field));
            if matches!(kind, Type::Str | Type::Bytes) {
                let handle = segment.column_handles(&sort.field).first().ok_or_else(missing)?;
                let bytes: BytesColumn = match handle.open().map_err(Error::io("read", &path))? {
                    DynamicColumn::Str(column) => column.into(),
                    DynamicColumn::Bytes(column) => column,
                    _ => return Err(missing()),
                };
                check_terms(&path, &sort.field, bytes.dictionary())?;
                columns.push(bytes.ords().clone());
                dictionaries.push(bytes);
            } else {
                let handle = segment.column_handles(&sort.field).first().ok_or_else(missing)?;
                let column = handle.open_u64_lenient().map_err(Error::io("read", &path))?;
                columns.push(column.ok_or_else(missing)?);
            }
        }
        let mut merged = if dictionaries.is_empty() {
            columns.iter().map(|_| None).collect::<Vec<_>>()
        } else {
            let mapping = compute_merged_term_ord_mapping(&dictionaries)
                .map_err(Error::io("read the sort field of", source.dir()))?;
            mapping.into_iter().map(Some).collect()
        };
        let segments =
            columns.into_iter().zip(merged.drain(..)).map(|(column, merged)| Keys { column, merged }).collect();
        Ok(Some(SortKeys { descending, segments }))
    }

    /// Calls `emit` for every document for which `kept` holds, in sort order. `lens`: documents per segment.
    pub(super) fn merge(&self, lens: &[usize], kept: impl Fn(u32, u32) -> bool, emit: &mut dyn FnMut(u32, u32)) {
        struct Head {
            key: Option<u64>,
            segment: u32,
            doc: u32,
            descending: bool,
        }
        impl Ord for Head {
            // Reversed: BinaryHeap gives the greatest first.
            fn cmp(&self, other: &Head) -> Ordering {
                let keys = self.key.cmp(&other.key);
                let keys = if self.descending { keys } else { keys.reverse() };
                keys.then_with(|| other.segment.cmp(&self.segment))
            }
        }
        impl PartialOrd for Head {
            fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }
        impl PartialEq for Head {
            fn eq(&self, other: &Head) -> bool {
                self.cmp(other) == Ordering::Equal
            }
        }
        impl Eq for Head {}

        let next = |segment: u32, from: u32| -> Option<Head> {
            let len = u32::try_from(*lens.get(segment as usize)?).unwrap_or(u32::MAX);
            let doc = (from..len).find(|&doc| kept(segment, doc))?;
            let key = self.segments.get(segment as usize).and_then(|keys| keys.get(doc));
            Some(Head { key, segment, doc, descending: self.descending })
        };
        let mut heap: std::collections::BinaryHeap<Head> =
            (0..).zip(&self.segments).filter_map(|(segment, _)| next(segment, 0)).collect();
        while let Some(head) = heap.pop() {
            emit(head.segment, head.doc);
            heap.extend(next(head.segment, head.doc + 1));
        }
    }
}
