//! Dealing the documents of terms to the outputs.
//!
//! Terms are decoded into a [`Batch`]; when that is full, its documents are looked up together and pushed to the encoders
//! of their outputs. A term may span batches: encoders keep it open.

use tantivy::directory::OwnedBytes;
use tantivy::postings::TermInfo;

use super::batch::{Batch, Run};
use super::decode::{BLOCK, Damage, PositionBuffer, Positions, Postings};
use super::encode::Encoder;
use super::field::IndexedField;
use super::lists::SpareChunks;
use super::piece::Piece;
use crate::error::{Error, Result};
use crate::partition::{Group, NO_OUTPUT};
use crate::source::{Component, Segment};

/// Buffers of one thread: what was decoded of the source, and the open term of every output.
pub(super) struct Dealer {
    batch: Batch,
    positions: PositionBuffer,
    outputs: Outputs,
}

/// The open term of every output.
struct Outputs {
    encoders: Vec<Encoder>,
    /// Those that have documents of the open term.
    touched: Vec<usize>,
    unordered: Vec<Unordered>,
    unordered_positions: Vec<u32>,
    has_freqs: bool,
    /// Documents pushed, and documents in lists that were closed.
    kept: u64,
    closed: u64,
}

/// A document of a term whose documents do not ascend yet (index sort over several segments).
struct Unordered {
    output: usize,
    doc: u32,
    freq: u32,
    norm: u8,
    positions: std::ops::Range<usize>,
}

impl Dealer {
    /// `spare`: what long lists are made of.
    pub(super) fn new(outputs: usize, spare: &SpareChunks) -> Dealer {
        Dealer {
            batch: Batch::new(),
            positions: PositionBuffer::new(),
            outputs: Outputs {
                encoders: (0..outputs).map(|_| Encoder::new(spare)).collect(),
                touched: Vec::new(),
                unordered: Vec::new(),
                unordered_positions: Vec::new(),
                has_freqs: false,
                kept: 0,
                closed: 0,
            },
        }
    }

    /// Deals one term's documents to the outputs, now or with terms that follow. Returns the number of blocks decoded.
    pub(super) fn deal(
        &mut self,
        group: &Group,
        segments: &[&Segment],
        field: &IndexedField,
        key: &[u8],
        matches: &[(usize, TermInfo)],
    ) -> Result<u64> {
        let unsorted = group.interleaved && matches.len() > 1;
        // Norms serve the block-max data of full blocks only, and a short term has none.
        let scored = matches.iter().map(|(_, info)| u64::from(info.doc_freq)).sum::<u64>() >= BLOCK as u64;
        let mut term_has_freqs = None;
        let mut blocks = 0;
        for (segment, info) in matches {
            let segment = *segment;
            let damaged = |component: Component| {
                move |damage: Damage| damage_error(segments, segment, component, &field.name, key, damage)
            };
            let max_doc = segments.get(segment).map_or(0, |segment| segment.max_doc());
            let data = slice(&field.postings, segment, &info.postings_range);
            let data = data.ok_or(Damage::Short).map_err(damaged(Component::Postings))?;
            let mut postings =
                Postings::open(data, info.doc_freq, field.record, max_doc).map_err(damaged(Component::Postings))?;
            let norms = field.norms_of(segment);
            let mut positions = None;
            loop {
                if self.batch.room().is_none() {
                    self.spread(group, field);
                }
                let Some(mut room) = self.batch.room() else { return Err(Error::defect("a batch has no room")) };
                let (len, has_freqs) = postings.next(&mut room).map_err(damaged(Component::Postings))?;
                if len == 0 {
                    break;
                }
                blocks += 1;
                if *term_has_freqs.get_or_insert(has_freqs) != has_freqs {
                    return Err(mixed_freqs(segments, segment, &field.name, key));
                }
                let freqs = self.batch.push(Run { segment, len, scored, has_freqs, unsorted }, group, norms);
                if has_freqs && field.record.has_positions() {
                    let positions = match &mut positions {
                        Some(positions) => positions,
                        None => {
                            let data = slice(&field.positions, segment, &info.positions_range);
                            let opened = data.ok_or(Damage::Positions).and_then(Positions::open);
                            positions.insert(opened.map_err(damaged(Component::Positions))?)
                        }
                    };
                    let deltas = freqs.iter().map(|&freq| freq as usize).sum();
                    positions.claim(deltas, &mut self.positions).map_err(damaged(Component::Positions))?;
                }
            }
            self.positions.end_list();
        }
        self.batch.end_term(key);
        Ok(blocks)
    }

    /// Has the outputs fill these pieces, which are empty.
    pub(super) fn fill(&mut self, spare: impl Fn() -> Option<Piece>) {
        self.outputs.encoders.iter_mut().for_each(|encoder| encoder.piece = spare().unwrap_or_default());
    }

    /// What was dealt since [`Dealer::fill`], by output.
    ///
    /// # Errors
    /// [`Error::Defect`] if documents came out more or fewer than they went in.
    pub(super) fn take_pieces(&mut self, group: &Group, field: &IndexedField) -> Result<Vec<Piece>> {
        self.spread(group, field);
        let Outputs { encoders, kept, closed, .. } = &mut self.outputs;
        let (kept, closed) = (std::mem::take(kept), std::mem::take(closed));
        if kept != closed {
            return Err(Error::defect(format!("field {:?}: {kept} documents became {closed}", field.name)));
        }
        Ok(encoders.iter_mut().map(|encoder| std::mem::take(&mut encoder.piece)).collect())
    }

    /// Deals what the batch has, and empties it.
    fn spread(&mut self, group: &Group, field: &IndexedField) {
        let Dealer { batch, positions, outputs, .. } = self;
        batch.gather(group, |segment| field.norms_of(segment));
        let mut postings = batch.postings();
        let mut terms = batch.terms().peekable();
        for (index, run) in batch.runs().iter().enumerate() {
            while let Some((_, key)) = terms.next_if(|(end, _)| *end == index) {
                outputs.close(key, field);
            }
            outputs.has_freqs = run.has_freqs;
            let with_positions = run.has_freqs && field.record.has_positions();
            for (&freq, (&(output, doc), &norm)) in postings.next(run.len) {
                let deltas = if with_positions { positions.take(freq as usize) } else { &[] };
                if output == NO_OUTPUT {
                    continue;
                }
                let output = output as usize;
                outputs.kept += 1;
                if run.unsorted {
                    outputs.keep_unordered(output, doc, freq, norm, deltas);
                } else {
                    outputs.push(field, output, (doc, freq, norm), deltas);
                }
            }
        }
        for (_, key) in terms {
            outputs.close(key, field);
        }
        batch.clear();
        positions.compact();
    }
}

impl Outputs {
    /// Adds a document (number, frequency, norm) to the open term of `output`. Called in two places, which the compiler
    /// takes for too many.
    #[inline(always)]
    fn push(&mut self, field: &IndexedField, output: usize, (doc, freq, norm): (u32, u32, u8), deltas: &[u32]) {
        let Some(encoder) = self.encoders.get_mut(output) else { return };
        if encoder.is_untouched() {
            self.touched.push(output);
        }
        if encoder.push(doc, freq, norm) {
            encoder.write_block(&field.of_output(output), self.has_freqs);
        }
        encoder.push_positions(deltas);
    }

    fn keep_unordered(&mut self, output: usize, doc: u32, freq: u32, norm: u8, deltas: &[u32]) {
        let start = self.unordered_positions.len();
        self.unordered_positions.extend_from_slice(deltas);
        let positions = start..self.unordered_positions.len();
        self.unordered.push(Unordered { output, doc, freq, norm, positions });
    }

    /// Ends the open term.
    fn close(&mut self, key: &[u8], field: &IndexedField) {
        if !self.unordered.is_empty() {
            let (mut unordered, positions) =
                (std::mem::take(&mut self.unordered), std::mem::take(&mut self.unordered_positions));
            unordered.sort_unstable_by_key(|document| (document.output, document.doc));
            for Unordered { output, doc, freq, norm, positions: range } in unordered.drain(..) {
                self.push(field, output, (doc, freq, norm), positions.get(range).unwrap_or(&[]));
            }
            self.unordered = unordered;
            self.unordered_positions = positions;
            self.unordered_positions.clear();
        }
        for output in self.touched.drain(..) {
            if let Some(encoder) = self.encoders.get_mut(output) {
                self.closed += encoder.close(key, &field.of_output(output), self.has_freqs);
            }
        }
    }
}

fn damage_error(
    segments: &[&Segment],
    segment: usize,
    component: Component,
    field: &str,
    key: &[u8],
    damage: Damage,
) -> Error {
    let term = String::from_utf8_lossy(key.get(..key.len().min(64)).unwrap_or(key)).escape_debug().to_string();
    let path = segments.get(segment).map(|segment| segment.file(component)).unwrap_or_default();
    Error::corrupt(path, format!("field {field:?}, term \"{term}\": {damage}"))
}

fn mixed_freqs(segments: &[&Segment], segment: usize, field: &str, key: &[u8]) -> Error {
    let term = String::from_utf8_lossy(key).escape_debug().to_string();
    let path = segments.get(segment).map(|segment| segment.file(Component::Postings)).unwrap_or_default();
    Error::Unsupported {
        path,
        what: "a term that has frequencies in one segment and none in another",
        found: format!("field {field:?}, term \"{term}\""),
        expected: "one of the two everywhere".to_owned(),
        hint: "use --segments keep".to_owned(),
    }
}

fn slice<'b>(parts: &'b [OwnedBytes], segment: usize, range: &std::ops::Range<usize>) -> Option<&'b [u8]> {
    parts.get(segment)?.as_slice().get(range.clone())
}
