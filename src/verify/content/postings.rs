//! Postings of one field: terms, documents, frequencies, positions.
//!
//! Posting lists of a block or more, and every 64th of the shorter ones, are read through tantivy's own cursors. Terms come from [`TermReader`], which is several times as fast
//! as tantivy's stream; that tantivy finds them is looked up for every 64th term, and for the branches where looking up
//! differs from reading on. In JSON fields, where terms with and without frequencies stand side by side,
//! every term gets a fresh one: a cursor that is reused keeps the frequencies of the term before, which would hide a
//! term that lost its own. Strict views also check what no document shows but searches need: the dictionary's entries,
//! skip data, block maxima.

use std::cell::Cell;
use std::ops::Range;

use tantivy::directory::OwnedBytes;
use tantivy::index::InvertedIndexReader;
use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::{Field, IndexRecordOption, Type};

use super::dictionary::{EntryCheck, show};
use super::digest::{self, Seed, Tag};
use super::maxima::{BLOCK, Maxima};
use super::positions::PositionList;
use super::short_list::{SHORT, ShortList};
use super::sums::{Adder, SegmentSums};
use super::unit::{Detail, Outcome, Tokens, View};
use crate::error::{Error, Result};
use crate::progress::Cancel;
use crate::source::Component;
use crate::source::dictionary::{Damaged, TermReader};
use crate::verify::finding::FindingKind;

/// Of the short lists, every so many are read by tantivy's cursor.
const BY_CURSOR: u64 = 64;

/// Reads the terms with ordinals in `range`.
pub(super) fn read(
    view: &View<'_>,
    (field, detail): (Field, Detail),
    range: Range<u64>,
    sums: &SegmentSums,
    outcome: &mut Outcome,
    (at, cancel): (&Cell<Component>, &Cancel),
) -> Result<()> {
    let entry = view.schema.get_field_entry(field);
    let Some(option) = entry.field_type().get_index_record_option() else { return Ok(()) };
    let segment = view.segment;
    let reader =
        segment.reader().inverted_index(field).map_err(Error::tantivy(entry.name(), segment.file(Component::Terms)))?;
    let tokens = Tokens { stored: reader.total_num_tokens(), ..Tokens::default() };
    let positions =
        if option.has_positions() && detail == Detail::Positions { segment.positions(field)? } else { None };
    let mut walk = Walk {
        view,
        field,
        detail,
        option,
        reader: &reader,
        bytes: segment.postings(field)?.unwrap_or_else(OwnedBytes::empty),
        positions: positions.as_ref(),
        reuse: entry.field_type().value_type() != Type::Json,
        maxima: if view.strict && option.has_freq() && entry.has_fieldnorms() {
            Maxima::open(view, field, tokens.stored)
        } else {
            None
        },
        has_deletes: segment.num_docs() < segment.max_doc(),
        adder: sums.adder(),
        buffer: Vec::new(),
        values: Vec::new(),
        tokens,
        outcome,
        at,
    };
    let result = walk.terms(range, cancel);
    let tokens = walk.tokens;
    drop(walk);
    outcome.tokens = Some(tokens);
    result
}

/// The posting list at hand.
struct List {
    cursor: Option<BlockSegmentPostings>,
    short: ShortList,
}

struct Walk<'a> {
    view: &'a View<'a>,
    field: Field,
    detail: Detail,
    option: IndexRecordOption,
    reader: &'a InvertedIndexReader,
    /// Total of tokens as u64, then the posting lists.
    bytes: OwnedBytes,
    positions: Option<&'a OwnedBytes>,
    /// Whether a cursor may go on to the next term: only where all terms of the field have frequencies, or none.
    reuse: bool,
    maxima: Option<Maxima>,
    has_deletes: bool,
    adder: Adder<'a>,
    buffer: Vec<u32>,
    /// By posting of a block: frequency and positions.
    values: Vec<u64>,
    tokens: Tokens,
    outcome: &'a mut Outcome,
    at: &'a Cell<Component>,
}

impl Walk<'_> {
    fn terms(&mut self, range: Range<u64>, cancel: &Cancel) -> Result<()> {
        let dictionary = self.reader.terms();
        let view = self.view;
        let mut bound = Vec::new();
        if range.start > 0 {
            let known = dictionary.ord_to_term(range.start, &mut bound);
            known.map_err(|error| view.cannot_read(Component::Terms, error))?;
        }
        let bytes = view.segment.terms_bytes(self.field)?.unwrap_or_else(OwnedBytes::empty);
        let name = view.schema.get_field_name(self.field);
        let damaged = |damaged: Damaged| {
            Error::corrupt(view.segment.file(Component::Terms), format!("field {name:?}: {damaged}"))
        };
        let mut ordinal = range.start;
        let mut entries = EntryCheck::new(dictionary);
        let mut list = List { cursor: None, short: ShortList::new() };
        let mut stream =
            if range.is_empty() { None } else { Some(TermReader::open(&bytes, Some(&bound)).map_err(damaged)?) };
        while let Some(terms) = stream.as_mut().filter(|_| ordinal < range.end) {
            self.at.set(Component::Terms);
            if !terms.advance().map_err(damaged)? {
                break;
            }
            let checked = if view.strict { entries.check(terms, ordinal) } else { entries.sample(terms, ordinal) };
            let (term, info) = (terms.key(), terms.info());
            if let Some(problem) = checked.map_err(|error| view.cannot_read(Component::Terms, error))? {
                self.fault(Component::Terms, || format!("term {} {problem}", show(term)));
            }
            self.postings(term, info, &mut list)?;
            ordinal += 1;
            if ordinal.is_multiple_of(1024) {
                cancel.check()?;
            }
        }
        if ordinal != range.end {
            let (found, range) = (ordinal, range.clone());
            self.fault(Component::Terms, || format!("the dictionary gives terms up to {found} of {range:?}"));
        }
        Ok(())
    }

    fn postings(&mut self, term: &[u8], info: &TermInfo, list: &mut List) -> Result<()> {
        self.at.set(Component::Postings);
        let wanted = if self.detail == Detail::Documents { IndexRecordOption::Basic } else { self.option };
        let open = || {
            self.reader
                .read_block_postings_from_terminfo(info, wanted)
                .map_err(|error| self.view.cannot_read(Component::Postings, error))
        };
        let is_short = (info.doc_freq as usize) < SHORT && !self.tokens.terms.is_multiple_of(BY_CURSOR);
        let has_freqs = if is_short {
            let bytes = self.bytes.get(8..).and_then(|lists| lists.get(info.postings_range.clone()));
            if !bytes.is_some_and(|bytes| list.short.read(bytes, info.doc_freq, wanted.has_freq())) {
                let range = info.postings_range.clone();
                self.fault(Component::Postings, || format!("term {} has no posting list at {range:?}", show(term)));
            }
            list.short.has_freqs()
        } else {
            match &mut list.cursor {
                Some(cursor) if self.reuse => self
                    .reader
                    .reset_block_postings_from_terminfo(info, cursor)
                    .map_err(|error| self.view.cannot_read(Component::Postings, error))?,
                cursor => *cursor = Some(open()?),
            }
            list.cursor.as_ref().is_some_and(|cursor| !cursor.freqs().is_empty())
        };
        let tag = match self.detail {
            Detail::Documents => Tag::Posting,
            _ if has_freqs => Tag::PostingFreq,
            _ => Tag::PostingNoFreq,
        };
        let seed = Seed::new(tag, self.field.field_id(), term);
        let mut positions = match (self.positions, has_freqs) {
            (Some(bytes), false) if self.view.strict => {
                let list = PositionList::open(bytes, info.positions_range.clone());
                if list.is_ok_and(|list| list.len() > 0) {
                    self.fault(Component::Positions, || {
                        format!("term {} has positions but no frequencies", show(term))
                    });
                }
                None
            }
            (Some(bytes), true) => {
                self.at.set(Component::Positions);
                let list = PositionList::open(bytes, info.positions_range.clone())
                    .map_err(|error| self.view.cannot_read(Component::Positions, error))?;
                self.at.set(Component::Postings);
                Some(list)
            }
            _ => None,
        };

        let mut last = None;
        let mut seen: u64 = 0;
        if is_short {
            let (docs, freqs) = (list.short.docs(), list.short.freqs());
            if self.block(term, seed, (docs, freqs), None, positions.as_mut(), &mut last) {
                seen = docs.len() as u64;
            }
        } else if let Some(cursor) = &mut list.cursor {
            while !cursor.docs().is_empty() {
                let promise = self.maxima.as_ref().and_then(|maxima| maxima.promise(cursor));
                let block = (cursor.docs(), cursor.freqs());
                if !self.block(term, seed, block, promise, positions.as_mut(), &mut last) {
                    break;
                }
                seen += cursor.docs().len() as u64;
                cursor.advance();
            }
        }
        self.tokens.terms += 1;
        self.tokens.postings += seen;
        if seen != u64::from(info.doc_freq) {
            self.fault(Component::Postings, || format!("term {} has {seen} of {} postings", show(term), info.doc_freq));
        }
        if let Some(list) = positions.filter(|list| list.read() != list.len()) {
            self.fault(Component::Positions, || {
                format!("term {} has {} positions, its frequencies sum to {}", show(term), list.len(), list.read())
            });
        }
        // The end of every block but the last is the base of the next one's deltas, so reading on has proved it.
        if self.view.strict
            && info.doc_freq as usize >= BLOCK
            && (info.doc_freq as usize).is_multiple_of(BLOCK)
            && let Some(last) = last
        {
            let mut cursor = open()?;
            let index = cursor.seek(last);
            if cursor.docs().get(index) != Some(&last) {
                self.fault(Component::Postings, || format!("seeking doc {last} of term {} passes it", show(term)));
            }
        }
        Ok(())
    }

    /// Adds one block; `false` if the list cannot be read on.
    fn block(
        &mut self,
        term: &[u8],
        seed: Seed,
        (docs, freqs): (&[u32], &[u32]),
        promise: Option<f32>,
        positions: Option<&mut PositionList<'_>>,
        last: &mut Option<u32>,
    ) -> bool {
        if !freqs.is_empty() && freqs.len() != docs.len() {
            let (docs, freqs) = (docs.len(), freqs.len());
            self.fault(Component::Postings, || {
                format!("term {} has {freqs} frequencies for {docs} postings", show(term))
            });
            return false;
        }
        let sum: u64 = freqs.iter().map(|&freq| u64::from(freq)).sum();
        let mut deltas: &[u32] = &[];
        let with_positions = positions.is_some();
        if let Some(list) = positions {
            self.at.set(Component::Positions);
            if !list.next(sum, &mut self.buffer) {
                let len = list.len();
                self.fault(Component::Positions, || {
                    format!("term {} has {len} positions, its frequencies sum to more", show(term))
                });
                return false;
            }
            self.at.set(Component::Postings);
            deltas = &self.buffer;
        }

        self.values.clear();
        if with_positions && !freqs.is_empty() {
            self.values.extend(freqs.iter().map(|&freq| {
                let (mine, rest) = deltas.split_at_checked(freq as usize).unwrap_or_default();
                deltas = rest;
                digest::positions(freq, mine)
            }));
        } else if freqs.is_empty() {
            self.values.resize(docs.len(), 0);
        } else {
            self.values.extend(freqs.iter().map(|&freq| u64::from(freq)));
        }
        let ascending = docs.windows(2).all(|pair| matches!(pair, [left, right] if left < right));
        let follows = last.is_none_or(|last| docs.first().is_none_or(|&first| last < first));
        *last = docs.last().copied().or(*last);
        let sound = self.adder.add_all(docs, &self.values, seed) & ascending & follows;
        let tokens = if freqs.is_empty() { docs.len() as u64 } else { sum };
        self.tokens.all += tokens;
        self.tokens.live += if self.has_deletes { self.live(docs, freqs) } else { tokens };

        if !sound {
            self.fault(Component::Postings, || format!("documents of term {} do not ascend, or are none", show(term)));
        }
        let broken = promise.and_then(|promise| Some((promise, self.maxima.as_ref()?.broken(promise, docs, freqs)?)));
        if let Some((promise, score)) = broken {
            self.fault(Component::Postings, || {
                format!("a block of term {} promises a score of at most {promise}, it has {score}", show(term))
            });
        }
        true
    }

    fn live(&self, docs: &[u32], freqs: &[u32]) -> u64 {
        docs.iter()
            .enumerate()
            .filter(|(_, doc)| **doc < self.view.segment.max_doc() && self.view.segment.is_alive(**doc))
            .map(|(index, _)| freqs.get(index).map_or(1, |&freq| u64::from(freq)))
            .sum()
    }

    fn fault(&mut self, component: Component, message: impl FnOnce() -> String) {
        let name = self.view.schema.get_field_name(self.field);
        self.outcome.fault(FindingKind::Structure, component, || format!("field {name:?}: {}", message()));
    }
}
