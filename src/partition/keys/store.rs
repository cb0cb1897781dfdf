//! Keys from the doc store.

use std::fmt::Write;

use tantivy::DocId;
use tantivy::directory::OwnedBytes;
use tantivy::store::StoreReader;

use super::{Key, KeyField};
use crate::error::{Error, Result};
use crate::source::{Component, Segment, StoredValue, cannot_read, visit_values};

/// Blocks kept decompressed: documents are asked for in ascending order, so the newest is enough.
const CACHED_BLOCKS: usize = 1;

/// Reads keys of stored documents; asked for ascending documents, it decompresses every block once.
pub(in crate::partition) struct StoreCursor<'s> {
    segment: &'s Segment,
    reader: StoreReader,
    current: Option<(DocId, OwnedBytes)>,
    key: String,
    other: String,
}

impl<'s> StoreCursor<'s> {
    pub(in crate::partition) fn open(segment: &'s Segment) -> Result<StoreCursor<'s>> {
        let reader = segment
            .reader()
            .get_store_reader(CACHED_BLOCKS)
            .map_err(Error::io("read", segment.file(Component::Store)))?;
        Ok(StoreCursor { segment, reader, current: None, key: String::new(), other: String::new() })
    }

    /// The key that `field` of `doc` holds.
    pub(in crate::partition) fn read(&mut self, key_field: &KeyField, doc: DocId) -> Result<Key> {
        let field = key_field.field;
        let path = || self.segment.file(Component::Store);
        let bytes = match &self.current {
            Some((current, bytes)) if *current == doc => bytes,
            _ => {
                let bytes = self
                    .reader
                    .get_document_bytes(doc)
                    .map_err(|error| cannot_read(format!("stored document {doc}"), path())(error))?;
                &self.current.insert((doc, bytes)).1
            }
        };
        let (key, other) = (&mut self.key, &mut self.other);
        let (mut values, mut several, mut alien) = (0u64, false, None);
        let mut collect = |value: StoredValue<'_>| {
            let slot = if values == 0 { &mut *key } else { &mut *other };
            slot.clear();
            match value {
                StoredValue::Text(text) => slot.push_str(text),
                StoredValue::Unsigned(number) => write!(slot, "{number}").unwrap_or_default(),
                StoredValue::Signed(number) => write!(slot, "{number}").unwrap_or_default(),
                StoredValue::Other(kind) => alien = Some(kind),
            }
            several |= values > 0 && key != other;
            values += 1;
        };
        let read = visit_values(bytes, field.field_id(), &mut collect);
        let damaged = |problem: &str| Error::corrupt(path(), format!("stored document {doc}: {problem}"));
        read.map_err(damaged)?;
        match (alien, values) {
            (Some(kind), _) => Err(damaged(&format!("its key field number {} holds {kind}", field.field_id()))),
            (None, 0) => Ok(Key::Missing),
            _ if several => Ok(Key::Several),
            _ => Ok(Key::One((key_field.hash)(&self.key))),
        }
    }

    /// The key of the document read last, if it had one.
    pub(in crate::partition) fn key(&self) -> &str {
        &self.key
    }
}
