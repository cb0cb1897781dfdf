//! How many distinct ids the live documents have, exactly.
//!
//! Equal hashes prove nothing, so ids themselves are compared, as cheaply as the plane they were read from allows:
//!
//! - dictionaries (columns of text, terms): one bit per term says whether a live document has it; of one segment the
//!   bits are counted, of several the sorted dictionaries are merged. Memory: one bit per term.
//! - columns of numbers: the numbers are sorted. Memory: 8 bytes per document.
//! - the store: hashes are sorted, a part of all possible ones at a time, and only documents whose hash is not unique are
//!   read once more. Memory: 4 bytes per document and some [`PARTS`]th of that, and the text of repeated ids up to
//!   [`REPEATED_BYTES`].
//!
//! Where ids of one job came from planes that cannot be compared, or too many are repeated in a store, there is no
//! number.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use tantivy::directory::OwnedBytes;

use super::bits::Bits;
use super::keys::{Key, KeyField, Seen, StoreCursor, number_at, numbers, text_dictionary};
use crate::error::{Error, Result};
use crate::progress::Cancel;
use crate::route::RoutingHash;
use crate::source::dictionary::{Damaged, TermReader};
use crate::source::{ColumnTerms, Component, Segment, Source, terms};

/// Most bytes of distinct repeated ids that are kept in memory to compare them.
const REPEATED_BYTES: usize = 32 << 20;
const TERMS_PER_CHECK: u64 = 1 << 16;
/// Parts of all hashes that are sorted one after the other.
const PARTS: u32 = 16;

/// Distinct ids among `with_id` live documents; `seen` by segment of `source`.
pub(super) fn count_distinct(
    source: &Source,
    field: &KeyField,
    seen: Vec<Seen>,
    with_id: u64,
    cancel: &Cancel,
) -> Result<Option<u64>> {
    let (mut dictionaries, mut number_columns, mut stores, mut unknown) = (Vec::new(), Vec::new(), Vec::new(), false);
    for (segment, seen) in source.segments().iter().zip(seen) {
        match seen {
            Seen::ColumnTerms(live) => dictionaries.push((segment, true, live)),
            Seen::Terms(live) => dictionaries.push((segment, false, live)),
            Seen::Numbers => number_columns.push(segment),
            Seen::Hashes { hashes, keyed } => stores.push((segment, hashes, keyed)),
            Seen::Nothing => {}
            Seen::Unknown => unknown = true,
        }
    }
    if unknown {
        return Ok(None);
    }
    match (dictionaries.as_slice(), number_columns.as_slice(), stores.as_slice()) {
        ([], [], []) => Ok(Some(0)),
        ([(_, _, live)], [], []) => Ok(Some(live.count())),
        (_, [], []) => merge_dictionaries(field, &dictionaries, cancel).map(Some),
        ([], _, []) => sort_numbers(field, &number_columns, with_id, cancel).map(Some),
        ([], [], _) => Ok(repeated_in_stores(field, stores, cancel)?.map(|repeated| with_id.saturating_sub(repeated))),
        _ => Ok(None),
    }
}

/// A sorted stream over one segment's dictionary.
enum Terms<'d> {
    Column(ColumnTerms),
    Inverted(TermReader<'d>),
}

impl Terms<'_> {
    /// The next term that a live document has, into `term`. `damaged`: what to say of an inverted index that is.
    fn next_live(&mut self, live: &Bits, term: &mut Vec<u8>, damaged: impl Fn(Damaged) -> Error) -> Result<bool> {
        loop {
            let more = match self {
                Terms::Column(terms) => terms.advance()?,
                Terms::Inverted(terms) => terms.advance().map_err(&damaged)?,
            };
            if !more {
                return Ok(false);
            }
            let (key, ord) = match self {
                Terms::Column(terms) => (terms.key(), terms.ordinal()),
                Terms::Inverted(terms) => (terms.key(), terms.ordinal()),
            };
            if live.contains(usize::try_from(ord).unwrap_or(usize::MAX)) {
                term.clear();
                term.extend_from_slice(key);
                return Ok(true);
            }
        }
    }
}

enum Dictionary {
    Column(std::sync::Arc<tantivy_sstable::Dictionary<tantivy_sstable::VoidSSTable>>),
    Inverted(OwnedBytes),
}

fn merge_dictionaries(field: &KeyField, segments: &[(&Segment, bool, Bits)], cancel: &Cancel) -> Result<u64> {
    let mut dictionaries = Vec::with_capacity(segments.len());
    for (segment, in_column, live) in segments {
        let dictionary = if *in_column {
            text_dictionary(segment, field)?.map(Dictionary::Column)
        } else {
            segment.terms_bytes(field.field)?.map(Dictionary::Inverted)
        };
        dictionaries.extend(dictionary.map(|dictionary| (*segment, dictionary, live)));
    }
    let damaged = |segment: &Segment, damaged: Damaged| {
        Error::corrupt(segment.file(Component::Terms), format!("field {:?}: {damaged}", field.name))
    };
    let mut streams = Vec::with_capacity(dictionaries.len());
    let mut heap = BinaryHeap::with_capacity(dictionaries.len());
    for (segment, dictionary, live) in &dictionaries {
        let stream = match dictionary {
            Dictionary::Column(dictionary) => {
                Terms::Column(terms(&segment.file(Component::FastFields), &field.name, dictionary)?)
            }
            Dictionary::Inverted(bytes) => {
                let terms = TermReader::open(bytes, None).map_err(|error| damaged(segment, error))?;
                Terms::Inverted(terms)
            }
        };
        let mut stream = (stream, *live);
        let mut term = Vec::new();
        if stream.0.next_live(stream.1, &mut term, |error| damaged(segment, error))? {
            heap.push(Reverse((term, streams.len())));
            streams.push((*segment, stream));
        }
    }
    let (mut distinct, mut last) = (0u64, Vec::new());
    while let Some(mut head) = heap.peek_mut() {
        let Reverse((term, index)) = &mut *head;
        if distinct == 0 || *term != last {
            distinct += 1;
            last.clone_from(term);
            if distinct.is_multiple_of(TERMS_PER_CHECK) {
                cancel.check()?;
            }
        }
        let more = match streams.get_mut(*index) {
            Some((segment, (stream, live))) => stream.next_live(live, term, |error| damaged(segment, error))?,
            None => false,
        };
        if !more {
            std::collections::binary_heap::PeekMut::pop(head);
        }
    }
    Ok(distinct)
}

fn sort_numbers(field: &KeyField, segments: &[&Segment], with_id: u64, cancel: &Cancel) -> Result<u64> {
    let mut all: Vec<u64> = Vec::with_capacity(usize::try_from(with_id).unwrap_or_default());
    for segment in segments {
        cancel.check()?;
        let Some(column) = numbers(segment, field)? else { continue };
        let live = (0..segment.max_doc()).filter(|&doc| segment.is_alive(doc));
        all.extend(live.filter_map(|doc| number_at(&column, doc)));
    }
    all.sort_unstable();
    all.dedup();
    Ok(all.len() as u64)
}

/// Documents whose id an earlier one has; `None` if the repeated ids are too many to be compared.
fn repeated_in_stores(
    field: &KeyField,
    segments: Vec<(&Segment, Vec<RoutingHash>, Bits)>,
    cancel: &Cancel,
) -> Result<Option<u64>> {
    let of = |segment: &Segment, keyed: &Bits| {
        let keyed = keyed.clone();
        (0..segment.max_doc()).filter(move |&doc| keyed.contains(doc as usize))
    };
    let mut sorted: Vec<RoutingHash> = Vec::new();
    let mut part: Vec<RoutingHash> = Vec::new();
    for nth in 0..PARTS {
        cancel.check()?;
        part.clear();
        for (segment, hashes, keyed) in &segments {
            let hashes = of(segment, keyed).filter_map(|doc| hashes.get(doc as usize).copied());
            part.extend(hashes.filter(|hash| hash.cast_unsigned() % PARTS == nth));
        }
        part.sort_unstable();
        // What comes at least twice, once.
        for pair in part.chunk_by(|left, right| left == right).filter(|equal| equal.len() > 1) {
            sorted.extend(pair.first());
        }
        // Each has at least one id of its own below.
        if sorted.len() * size_of::<Box<str>>() > REPEATED_BYTES {
            return Ok(None);
        }
    }
    drop(part);
    sorted.sort_unstable();

    let (mut repeated, mut bytes) = (0u64, 0usize);
    let mut ids: HashSet<Box<str>> = HashSet::new();
    for (segment, hashes, keyed) in &segments {
        if sorted.is_empty() {
            break;
        }
        let mut store = StoreCursor::open(segment)?;
        for doc in of(segment, keyed) {
            let candidate = hashes.get(doc as usize).is_some_and(|hash| sorted.binary_search(hash).is_ok());
            if !candidate || !matches!(store.read(field, doc)?, Key::One(_)) {
                continue;
            }
            if ids.contains(store.key()) {
                repeated += 1;
                continue;
            }
            bytes += store.key().len() + size_of::<Box<str>>();
            if bytes > REPEATED_BYTES {
                return Ok(None);
            }
            ids.insert(store.key().into());
            if ids.len().is_multiple_of(1024) {
                cancel.check()?;
            }
        }
    }
    Ok(Some(repeated))
}
