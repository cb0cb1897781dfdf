//! Keys from a term dictionary: each term is hashed once, its postings give the documents.
//!
//! Terms of raw-indexed text are the text; terms of numbers are eight bytes, big-endian, signed numbers with their top
//! bit flipped. Posting lists of fewer than 128 documents are VInts of document deltas, the first against 0 (term
//! frequencies follow and are left alone); they are decoded here, because nearly all terms of an id field have one
//! document. Longer lists go through tantivy's block cursor. Terms come from our own reader, which is faster than a stream of
//! tantivy's where all of them are wanted.

use tantivy::index::InvertedIndexReader;
use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, u64_to_i64};

use super::column::hash_decimal;
use super::field::{KeyField, KeyKind};
use super::{Compared, Key, Seen, SeenTerms};
use crate::error::{Error, Result};
use crate::partition::bits::Bits;
use crate::progress::Cancel;
use crate::route::RoutingHash;
use crate::source::dictionary::{Damaged, TermReader};
use crate::source::{Bytes, Component, Segment};

/// Documents in a full posting block: lists from this length on have blocks and a skip list.
const BLOCK: u32 = 128;
/// total_num_tokens stands before the postings of a field.
const POSTINGS_START: usize = 8;
const TERMS_PER_CHECK: u64 = 1 << 14;

/// Keys of one field of one segment, by document.
pub(super) struct TermKeys {
    hashes: Vec<RoutingHash>,
    seen: Bits,
    several: Bits,
    /// Terms that a live document has.
    terms: SeenTerms,
    /// Terms hashed.
    pub(super) hashed: u64,
}

impl TermKeys {
    /// `None` if the segment has no terms for the field.
    pub(super) fn open(
        segment: &Segment,
        field: &KeyField,
        compared: Compared,
        cancel: &Cancel,
    ) -> Result<Option<TermKeys>> {
        let Some(dictionary) = segment.terms_bytes(field.field)? else { return Ok(None) };
        let lists = PostingLists::open(segment, field)?;
        let mut keys = TermKeys {
            hashes: vec![0; segment.max_doc() as usize],
            seen: Bits::default(),
            several: Bits::default(),
            terms: SeenTerms { live: Bits::default(), hashes: Vec::new() },
            hashed: 0,
        };
        let damaged = |damaged: Damaged| {
            Error::corrupt(segment.file(Component::Terms), format!("field {:?}: {damaged}", field.name))
        };
        let mut terms = TermReader::open(&dictionary, None).map_err(damaged)?;
        while terms.advance().map_err(damaged)? {
            let hash = hash_term(segment, field, terms.key(), keys.hashed)?;
            // Ordinals ascend by one from 0.
            let ord = usize::try_from(keys.hashed).unwrap_or(usize::MAX);
            lists.for_each(terms.info(), |doc| keys.add(doc, hash, segment.is_alive(doc).then_some(ord)))?;
            if compared == Compared::Across {
                keys.terms.hashes.push(hash);
            }
            keys.hashed += 1;
            if keys.hashed.is_multiple_of(TERMS_PER_CHECK) {
                cancel.check()?;
            }
        }
        Ok(Some(keys))
    }

    #[inline]
    fn add(&mut self, doc: DocId, hash: RoutingHash, live: Option<usize>) {
        let index = doc as usize;
        if !self.seen.insert(index) {
            // Terms are distinct, so this is another value even if the hash is the same.
            self.several.insert(index);
        }
        if let Some(slot) = self.hashes.get_mut(index) {
            *slot = hash;
        }
        if let Some(ord) = live {
            self.terms.live.insert(ord);
        }
    }

    #[inline]
    pub(super) fn key(&self, doc: DocId) -> Key {
        let index = doc as usize;
        match self.hashes.get(index) {
            Some(_) if self.several.contains(index) => Key::Several,
            Some(&hash) if self.seen.contains(index) => Key::One(hash),
            _ => Key::Missing,
        }
    }

    pub(super) fn into_seen(self) -> Seen {
        Seen::Terms(self.terms)
    }
}

fn hash_term(segment: &Segment, field: &KeyField, term: &[u8], nth: u64) -> Result<RoutingHash> {
    let damaged = |what: &str| {
        Error::corrupt(segment.file(Component::Terms), format!("term {nth} of field {:?} is {what}", field.name))
    };
    let number = || term.try_into().map(u64::from_be_bytes).map_err(|_| damaged("not a number of eight bytes"));
    Ok(match field.kind {
        KeyKind::Text => (field.hash)(std::str::from_utf8(term).map_err(|_| damaged("not UTF-8"))?),
        KeyKind::Unsigned => hash_decimal(field.hash, number()?),
        KeyKind::Signed => hash_decimal(field.hash, u64_to_i64(number()?)),
    })
}

/// The documents of the terms of one field.
struct PostingLists<'s> {
    segment: &'s Segment,
    name: &'s str,
    bytes: tantivy::directory::OwnedBytes,
    long: std::sync::Arc<InvertedIndexReader>,
}

impl<'s> PostingLists<'s> {
    fn open(segment: &'s Segment, field: &'s KeyField) -> Result<PostingLists<'s>> {
        let path = segment.file(Component::Postings);
        let bytes = segment
            .postings(field.field)?
            .ok_or_else(|| Error::corrupt(&path, format!("field {:?} has terms but no postings", field.name)))?;
        let long = segment
            .reader()
            .inverted_index(field.field)
            .map_err(Error::tantivy::<tantivy::TantivyError>(format!("the postings of {:?}", field.name), &path))?;
        Ok(PostingLists { segment, name: &field.name, bytes, long })
    }

    /// Calls `emit` with the documents of a term, ascending, all of them below max_doc.
    fn for_each(&self, term: &TermInfo, emit: impl FnMut(DocId)) -> Result<()> {
        let found = if term.doc_freq < BLOCK { self.short(term, emit) } else { self.long(term, emit) };
        found.map_err(|problem| {
            Error::corrupt(
                self.segment.file(Component::Postings),
                format!("postings of field {:?} at byte {}: {problem}", self.name, term.postings_range.start),
            )
        })
    }

    fn short(&self, term: &TermInfo, mut emit: impl FnMut(DocId)) -> Result<(), String> {
        let range = &term.postings_range;
        let body = self.bytes.as_slice().get(POSTINGS_START..).unwrap_or_default();
        let bytes = body.get(range.clone()).ok_or_else(|| format!("they reach to byte {}", range.end))?;
        let (mut bytes, mut doc) = (Bytes::new(bytes), 0u32);
        for nth in 0..term.doc_freq {
            let delta = bytes.vint32().ok_or_else(|| format!("document {nth} of {} is cut off", term.doc_freq))?;
            if nth > 0 && delta == 0 {
                return Err(format!("document {doc} comes twice"));
            }
            doc = doc.checked_add(delta).filter(|&doc| doc < self.segment.max_doc()).ok_or_else(|| self.beyond(doc))?;
            emit(doc);
        }
        Ok(())
    }

    fn long(&self, term: &TermInfo, mut emit: impl FnMut(DocId)) -> Result<(), String> {
        let mut cursor = self
            .long
            .read_block_postings_from_terminfo(term, IndexRecordOption::Basic)
            .map_err(|error| error.to_string())?;
        let (mut count, mut least) = (0, 0);
        while !cursor.docs().is_empty() {
            for &doc in cursor.docs() {
                if doc < least || doc >= self.segment.max_doc() {
                    return Err(self.beyond(doc));
                }
                least = doc + 1;
                count += 1;
                emit(doc);
            }
            cursor.advance();
        }
        if count == term.doc_freq { Ok(()) } else { Err(format!("{count} documents instead of {}", term.doc_freq)) }
    }

    fn beyond(&self, doc: DocId) -> String {
        format!("document {doc} is followed by a smaller one or one beyond the segment's {}", self.segment.max_doc())
    }
}
