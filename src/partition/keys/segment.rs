//! The keys of the documents of one segment, each field read from its own cheapest plane.

use tantivy::DocId;

use super::column::{ColumnKey, ColumnKeys};
use super::store::StoreCursor;
use super::terms::TermKeys;
use super::{Key, KeyField, KeyFields, KeyPlane, KeyReading};
use crate::error::{Error, Result};
use crate::partition::bits::Bits;
use crate::progress::Cancel;
use crate::route::RoutingHash;
use crate::source::{Component, Segment};

/// Reads the keys of one segment's documents. Ask in ascending order: the store may be among the planes.
pub(in crate::partition) struct SegmentKeys<'s> {
    segment: &'s Segment,
    id: FieldKeys<'s>,
    routing: Option<FieldKeys<'s>>,
    /// Shared by both fields, so that a document's block is decompressed once.
    store: Option<StoreCursor<'s>>,
}

/// The keys of one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::partition) struct DocKeys {
    pub(in crate::partition) id: Key,
    /// [`Key::Missing`] if there is no routing field.
    pub(in crate::partition) routing: Key,
}

/// What is known about the ids of the documents that were asked for: material for counting distinct ones.
pub(in crate::partition) enum Seen {
    /// Ordinals of the text column's dictionary.
    ColumnTerms(Bits),
    /// Ordinals of the term dictionary.
    Terms(Bits),
    /// They are in the number column.
    Numbers,
    /// Hashes by document, and which documents have one.
    Hashes { hashes: Vec<RoutingHash>, keyed: Bits },
    /// No document was asked for.
    Nothing,
    /// Ids came from more than one plane.
    Unknown,
}

impl<'s> SegmentKeys<'s> {
    pub(in crate::partition) fn open(
        segment: &'s Segment,
        fields: &'s KeyFields,
        cancel: &Cancel,
    ) -> Result<SegmentKeys<'s>> {
        let id = FieldKeys::open(segment, &fields.id, true, cancel)?;
        let routing =
            fields.routing.as_ref().map(|field| FieldKeys::open(segment, field, false, cancel)).transpose()?;
        Ok(SegmentKeys { segment, id, routing, store: None })
    }

    /// The keys of `doc`.
    #[inline]
    pub(in crate::partition) fn read(&mut self, doc: DocId) -> Result<DocKeys> {
        let id = self.id.key(self.segment, doc, &mut self.store)?;
        let routing = match &mut self.routing {
            Some(routing) => routing.key(self.segment, doc, &mut self.store)?,
            None => Key::Missing,
        };
        Ok(DocKeys { id, routing })
    }

    /// Which planes were read, and what is known about the ids.
    pub(in crate::partition) fn finish(self) -> (Vec<KeyReading>, Seen) {
        let mut readings = Vec::new();
        self.id.report(&mut readings);
        if let Some(routing) = &self.routing {
            routing.report(&mut readings);
        }
        (readings, self.id.into_seen())
    }
}

/// One field of one segment.
struct FieldKeys<'s> {
    field: &'s KeyField,
    reader: Reader,
    /// Keys taken from the store.
    stored: u64,
    /// By document, for ids read from the store.
    hashes: Vec<RoutingHash>,
    keyed: Bits,
}

enum Reader {
    Column(ColumnKeys),
    Terms(TermKeys),
    Store,
    /// The segment has no value of the field; the plane where it would be.
    Absent(KeyPlane),
}

impl<'s> FieldKeys<'s> {
    /// `remember`: whether hashes from the store will be asked for again.
    fn open(segment: &Segment, field: &'s KeyField, remember: bool, cancel: &Cancel) -> Result<FieldKeys<'s>> {
        let plane = field.plane(segment)?;
        let mut hashes = Vec::new();
        let reader = match plane {
            KeyPlane::Column => ColumnKeys::open(segment, field, cancel)?.map(Reader::Column),
            KeyPlane::Terms => TermKeys::open(segment, field, cancel)?.map(Reader::Terms),
            KeyPlane::Store => {
                if remember {
                    hashes = vec![0; segment.max_doc() as usize];
                }
                Some(Reader::Store)
            }
        };
        let reader = reader.unwrap_or(Reader::Absent(plane));
        Ok(FieldKeys { field, reader, stored: 0, hashes, keyed: Bits::default() })
    }

    #[inline]
    fn key<'a>(&mut self, segment: &'a Segment, doc: DocId, store: &mut Option<StoreCursor<'a>>) -> Result<Key> {
        let key = match &mut self.reader {
            Reader::Column(keys) => match keys.key(doc) {
                ColumnKey::Exact(key) => return Ok(key),
                ColumnKey::Cut if self.field.stored => Key::Missing,
                ColumnKey::Cut => return Err(self.field.cut_in(segment, doc)),
                ColumnKey::Unknown(ord) => {
                    let problem = format!(
                        "document {doc} has value {ord} of column {:?}, which is not in its dictionary",
                        self.field.name
                    );
                    return Err(Error::corrupt(segment.file(Component::FastFields), problem));
                }
            },
            Reader::Terms(keys) => keys.key(doc),
            Reader::Store => Key::Missing,
            Reader::Absent(_) => return Ok(Key::Missing),
        };
        // A text too long for a term or a column is in the store, if anywhere.
        if key != Key::Missing || !self.field.stored { Ok(key) } else { self.stored_key(segment, doc, store) }
    }

    fn stored_key<'a>(&mut self, segment: &'a Segment, doc: DocId, store: &mut Option<StoreCursor<'a>>) -> Result<Key> {
        let store = match store {
            Some(store) => store,
            None => store.insert(StoreCursor::open(segment)?),
        };
        let key = store.read(self.field.field, doc)?;
        if let Key::One(hash) = key {
            self.stored += 1;
            if let Some(slot) = self.hashes.get_mut(doc as usize) {
                *slot = hash;
                self.keyed.insert(doc as usize);
            }
        }
        Ok(key)
    }

    fn report(&self, readings: &mut Vec<KeyReading>) {
        let mut push = |plane, hashed| readings.push(KeyReading { field: self.field.name.clone(), plane, hashed });
        match &self.reader {
            Reader::Column(keys) => push(KeyPlane::Column, keys.hashed),
            Reader::Terms(keys) => push(KeyPlane::Terms, keys.hashed),
            Reader::Store => {}
            Reader::Absent(plane) => push(*plane, 0),
        }
        if self.stored > 0 || matches!(self.reader, Reader::Store) {
            push(KeyPlane::Store, self.stored);
        }
    }

    fn into_seen(self) -> Seen {
        match self.reader {
            Reader::Column(keys) if self.stored == 0 => keys.into_seen(),
            Reader::Terms(keys) if self.stored == 0 => keys.into_seen(),
            Reader::Column(_) | Reader::Terms(_) => Seen::Unknown,
            Reader::Store => Seen::Hashes { hashes: self.hashes, keyed: self.keyed },
            Reader::Absent(_) => Seen::Nothing,
        }
    }
}
