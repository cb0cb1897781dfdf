//! The keys of the documents of one segment, each field read from its own cheapest plane, as routing hashes.
//!
//! Fields are read one after the other, the routing field first, so that what one plane takes in memory is given back
//! before the next is opened. Only where both are in the doc store they are read together: it is decompressed once.

use tantivy::DocId;

use super::column::{ColumnKey, ColumnKeys};
use super::store::StoreCursor;
use super::terms::TermKeys;
use super::{Key, KeyField, KeyFields, KeyPlane, KeyReading};
use crate::error::{Error, Result};
use crate::partition::bits::Bits;
use crate::partition::hashes::SegmentHashes;
use crate::progress::Cancel;
use crate::route::{RoutingHash, partition_offset};
use crate::source::{Component, HashState, HashStates, Segment};

const DOCS_PER_CHECK: u32 = 1 << 12;

/// The keys of one segment's live documents, hashed.
pub(in crate::partition) struct SegmentKeys {
    pub(in crate::partition) hashes: SegmentHashes,
    /// Live documents that have an id.
    pub(in crate::partition) with_id: u64,
    /// Which planes were read.
    pub(in crate::partition) readings: Vec<KeyReading>,
    /// What is known about the ids.
    pub(in crate::partition) seen: Seen,
}

/// What is known about the ids of the documents that were asked for: material for counting distinct ones.
pub(in crate::partition) enum Seen {
    /// They are in the text column's dictionary.
    ColumnTerms(SeenTerms),
    /// They are in the term dictionary.
    Terms(SeenTerms),
    /// They are in the number column.
    Numbers,
    /// Hashes by document, and which documents have one.
    Hashes { hashes: Vec<RoutingHash>, keyed: Bits },
    /// No document was asked for.
    Nothing,
    /// Ids came from more than one plane, or were not read.
    Unknown,
}

/// With what ids will be compared later, which decides what is remembered of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::partition) enum Compared {
    Not,
    /// With ids of the same segment.
    Within,
    /// With ids of other segments too.
    Across,
}

/// Which terms of a dictionary were asked for.
pub(in crate::partition) struct SeenTerms {
    /// Their ordinals.
    pub(in crate::partition) live: Bits,
    /// Hashes of all terms, by ordinal; empty unless they are [`Compared::Across`].
    pub(in crate::partition) hashes: Vec<RoutingHash>,
}

impl SeenTerms {
    /// Ordinals and hashes of the terms that were asked for.
    pub(in crate::partition) fn live_hashes(&self) -> impl Iterator<Item = (usize, RoutingHash)> {
        self.hashes.iter().copied().enumerate().filter(|(ordinal, _)| self.live.contains(*ordinal))
    }
}

/// Reads and hashes the keys of the live documents of `segment`. `partition_size`: routing_partition_size, whose offset
/// is added to the hashes; 1: none. `compared`: what becomes of the ids. `advance` is told of live documents as they are
/// read.
pub(in crate::partition) fn read_keys(
    segment: &Segment,
    fields: &KeyFields,
    partition_size: u32,
    compared: Compared,
    cancel: &Cancel,
    advance: &dyn Fn(u64),
) -> Result<SegmentKeys> {
    let max_doc = segment.max_doc();
    let mut store = None;
    let mut hashes: Vec<RoutingHash> = vec![0; max_doc as usize];
    let mut states = HashStates::default();
    let mut routing_readings = Vec::new();

    let both_stored = fields.id.plane(segment)? == KeyPlane::Store
        && fields.routing.as_ref().map(|field| field.plane(segment)).transpose()? == Some(KeyPlane::Store);
    let mut beside = None;
    if let Some(field) = &fields.routing {
        let mut routing = FieldKeys::open(segment, field, Compared::Not, cancel)?;
        if both_stored {
            beside = Some(routing);
        } else {
            for (doc, slot) in (0..max_doc).zip(&mut hashes) {
                if doc.is_multiple_of(DOCS_PER_CHECK) {
                    cancel.check()?;
                }
                if segment.is_alive(doc) {
                    let key = routing.key(segment, doc, &mut store)?;
                    keep(key, doc, slot, &mut states);
                }
            }
            routing.report(&mut routing_readings);
        }
    }

    let mut id = FieldKeys::open(segment, &fields.id, compared, cancel)?;
    let (mut with_id, mut live, mut reported) = (0, 0, 0);
    for (doc, slot) in (0..max_doc).zip(&mut hashes) {
        if doc.is_multiple_of(DOCS_PER_CHECK) {
            cancel.check()?;
            advance(live - reported);
            reported = live;
        }
        if !segment.is_alive(doc) {
            states.set(doc, HashState::Unread);
            continue;
        }
        live += 1;
        let routing = match (&mut beside, &fields.routing) {
            (Some(routing), _) => routing.key(segment, doc, &mut store)?,
            (None, Some(_)) => kept(doc, *slot, &states),
            (None, None) => Key::Missing,
        };
        let id = id.key(segment, doc, &mut store)?;
        with_id += u64::from(matches!(id, Key::One(_)));
        keep(effective(id, routing, partition_size), doc, slot, &mut states);
    }
    advance(live - reported);

    let mut readings = Vec::new();
    id.report(&mut readings);
    beside.iter().for_each(|routing| routing.report(&mut routing_readings));
    readings.append(&mut routing_readings);
    Ok(SegmentKeys { hashes: SegmentHashes::new(hashes, states), with_id, readings, seen: id.into_seen() })
}

fn keep(key: Key, doc: DocId, slot: &mut RoutingHash, states: &mut HashStates) {
    let (hash, state) = match key {
        Key::One(hash) => (hash, HashState::Hashed),
        Key::Missing => (0, HashState::Missing),
        Key::Several => (0, HashState::Several),
    };
    *slot = hash;
    states.set(doc, state);
}

fn kept(doc: DocId, hash: RoutingHash, states: &HashStates) -> Key {
    match states.get(doc) {
        HashState::Hashed => Key::One(hash),
        HashState::Several => Key::Several,
        HashState::Missing | HashState::Unread => Key::Missing,
    }
}

/// Effective routing: the routing value where there is one, else the id. A partitioned index needs both.
#[inline]
fn effective(id: Key, routing: Key, partition_size: u32) -> Key {
    match (id, routing, partition_size > 1) {
        (Key::Several, _, _) | (_, Key::Several, _) => Key::Several,
        (Key::One(id), Key::One(hash), true) => Key::One(hash.wrapping_add(partition_offset(id, partition_size))),
        (_, _, true) | (Key::Missing, Key::Missing, false) => Key::Missing,
        (_, Key::One(hash), false) | (Key::One(hash), Key::Missing, false) => Key::One(hash),
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
    fn open(segment: &Segment, field: &'s KeyField, compared: Compared, cancel: &Cancel) -> Result<FieldKeys<'s>> {
        let plane = field.plane(segment)?;
        let mut hashes = Vec::new();
        let reader = match plane {
            KeyPlane::Column => ColumnKeys::open(segment, field, compared, cancel)?.map(Reader::Column),
            KeyPlane::Terms => TermKeys::open(segment, field, compared, cancel)?.map(Reader::Terms),
            // A sidecar has whole documents, not fields.
            KeyPlane::Store | KeyPlane::Sidecar => {
                if compared != Compared::Not {
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
        let key = store.read(self.field, doc)?;
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
