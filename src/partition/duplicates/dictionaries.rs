//! Distinct terms of several dictionaries.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::sync::atomic::{AtomicUsize, Ordering};

use tantivy::directory::OwnedBytes;

use super::Repeated;
use crate::error::{Error, Result};
use crate::partition::bits::Bits;
use crate::partition::keys::{KeyField, SeenTerms, text_dictionary};
use crate::progress::Cancel;
use crate::source::dictionary::{Damaged, TermReader};
use crate::source::{ColumnTerms, Component, Segment, guard, terms};
use crate::threads;

const TERMS_PER_CHECK: u64 = 1 << 16;

/// What lies beside a term that is kept, in bytes.
const PER_TERM: usize = size_of::<Box<[u8]>>();

/// One segment's dictionary of ids.
pub(in crate::partition) struct Dictionary<'s> {
    pub(in crate::partition) segment: &'s Segment,
    pub(in crate::partition) plane: Plane,
    /// Those that live documents have.
    pub(in crate::partition) terms: SeenTerms,
}

/// Where a dictionary stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::partition) enum Plane {
    Column,
    Terms,
}

/// Distinct terms that live documents have. `room`: bytes of terms with hashes that are not unique that may be kept; if they
/// are more, dictionaries are merged.
pub(in crate::partition) fn distinct(
    field: &KeyField,
    dictionaries: &[Dictionary<'_>],
    room: usize,
    threads: usize,
    cancel: &Cancel,
) -> Result<u64> {
    let live = dictionaries.iter().map(|dictionary| dictionary.terms.live.count()).sum();
    if dictionaries.len() == 1 {
        return Ok(live);
    }
    let hashes = || dictionaries.iter().flat_map(|dictionary| dictionary.terms.live_hashes().map(|(_, hash)| hash));
    let repeated = Repeated::find(hashes, threads, cancel)?;
    if repeated.hashes.is_empty() {
        return Ok(live);
    }
    let kept = Kept { room, bytes: AtomicUsize::new(0) };
    // Each hash has two terms at least.
    if 2 * repeated.hashes.len() * PER_TERM > room {
        return merge(field, dictionaries, cancel);
    }
    let read = |dictionary: &Dictionary<'_>| dictionary.repeated(field, &repeated, &kept, cancel);
    let candidates = threads::each(dictionaries, threads, read)?;
    if !kept.fits(0) {
        drop(candidates);
        return merge(field, dictionaries, cancel);
    }
    let mut terms: Vec<Box<[u8]>> = candidates.into_iter().flatten().collect();
    let all = terms.len();
    terms.sort_unstable();
    terms.dedup();
    Ok(live - (all - terms.len()) as u64)
}

/// What is kept, by all threads together.
struct Kept {
    room: usize,
    bytes: AtomicUsize,
}

impl Kept {
    /// Whether so many bytes more fit; those that do are taken.
    fn fits(&self, bytes: usize) -> bool {
        self.bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= self.room
    }
}

impl Dictionary<'_> {
    /// The live terms whose hash is among `repeated`, as far as there is room.
    fn repeated(&self, field: &KeyField, repeated: &Repeated, kept: &Kept, cancel: &Cancel) -> Result<Vec<Box<[u8]>>> {
        let candidates = self.terms.live_hashes().filter(|(_, hash)| repeated.contains(*hash));
        let ordinals: Vec<u64> = candidates.map(|(ordinal, _)| ordinal as u64).collect();
        cancel.check()?;
        let mut found = Vec::new();
        let mut keep = |term: &[u8]| {
            if kept.fits(term.len() + PER_TERM) {
                found.push(Box::from(term));
            }
        };
        let path = self.segment.file(match self.plane {
            Plane::Column => Component::FastFields,
            Plane::Terms => Component::Terms,
        });
        let all = guard(&path, format!("the ids of {:?}", field.name), || {
            let failed = Error::io("read a dictionary of", &path);
            match self.plane {
                Plane::Column => match text_dictionary(self.segment, field)? {
                    Some(dictionary) => dictionary.sorted_ords_to_term_cb(&ordinals, keep).map_err(failed),
                    None => Ok(false),
                },
                Plane::Terms => {
                    let Some(dictionary) = self.segment.terms(field.field)? else { return Ok(false) };
                    let mut term = Vec::new();
                    let mut get = |ordinal: &u64| -> std::io::Result<bool> {
                        let known = dictionary.ord_to_term(*ordinal, &mut term)?;
                        keep(&term);
                        Ok(known)
                    };
                    let mut known = ordinals.iter().map(&mut get);
                    known.try_fold(true, |all, known| Ok(all & known?)).map_err(failed)
                }
            }
        })?;
        if !all {
            return Err(Error::corrupt(
                path,
                format!("field {:?}: a term was there before and is not found", field.name),
            ));
        }
        Ok(found)
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

enum Opened {
    Column(std::sync::Arc<tantivy_sstable::Dictionary<tantivy_sstable::VoidSSTable>>),
    Inverted(OwnedBytes),
}

/// Merges the dictionaries, whose terms ascend.
fn merge(field: &KeyField, all: &[Dictionary<'_>], cancel: &Cancel) -> Result<u64> {
    let mut dictionaries = Vec::with_capacity(all.len());
    for Dictionary { segment, plane, terms } in all {
        let dictionary = match plane {
            Plane::Column => text_dictionary(segment, field)?.map(Opened::Column),
            Plane::Terms => segment.terms_bytes(field.field)?.map(Opened::Inverted),
        };
        dictionaries.extend(dictionary.map(|dictionary| (*segment, dictionary, &terms.live)));
    }
    let damaged = |segment: &Segment, damaged: Damaged| {
        Error::corrupt(segment.file(Component::Terms), format!("field {:?}: {damaged}", field.name))
    };
    let mut streams = Vec::with_capacity(dictionaries.len());
    let mut heap = BinaryHeap::with_capacity(dictionaries.len());
    for (segment, dictionary, live) in &dictionaries {
        let stream = match dictionary {
            Opened::Column(dictionary) => {
                Terms::Column(terms(&segment.file(Component::FastFields), &field.name, dictionary)?)
            }
            Opened::Inverted(bytes) => {
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
            PeekMut::pop(head);
        }
    }
    Ok(distinct)
}
