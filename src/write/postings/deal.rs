//! Dealing the documents of one term to the outputs.

use tantivy::directory::OwnedBytes;
use tantivy::postings::TermInfo;

use super::decode::{BLOCK, Block, Damage, PositionBuffer, Positions, Postings};
use super::encode::{Encoder, Piece};
use super::field::IndexedField;
use crate::error::{Error, Result};
use crate::partition::{Group, NO_OUTPUT};
use crate::source::{Component, Segment};

/// Frequencies of documents that have none.
const NO_FREQS: [u32; BLOCK] = [0; BLOCK];

/// Buffers of one thread: a block of the source, and the open term of every output.
pub(super) struct Dealer {
    block: Block,
    positions: PositionBuffer,
    /// Where the documents of the block go, and their norms.
    targets: [(u32, u32); BLOCK],
    norms: [u8; BLOCK],
    encoders: Vec<Encoder>,
    touched: Vec<usize>,
    unordered: Vec<Unordered>,
    unordered_positions: Vec<u32>,
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
    pub(super) fn new(outputs: usize) -> Dealer {
        Dealer {
            block: Block::new(),
            positions: PositionBuffer::new(),
            targets: [(NO_OUTPUT, 0); BLOCK],
            norms: [0; BLOCK],
            encoders: (0..outputs).map(|_| Encoder::new()).collect(),
            touched: Vec::new(),
            unordered: Vec::new(),
            unordered_positions: Vec::new(),
        }
    }

    /// What was dealt since the last call, by output; `spare` gives the next pieces to fill.
    pub(super) fn take_pieces(&mut self, spare: impl Fn() -> Piece) -> Vec<Piece> {
        self.encoders.iter_mut().map(|encoder| std::mem::replace(&mut encoder.piece, spare())).collect()
    }

    /// Deals one term's documents to the outputs. Returns the number of blocks decoded.
    pub(super) fn deal(
        &mut self,
        group: &Group,
        segments: &[&Segment],
        field: &IndexedField,
        key: &[u8],
        matches: &[(usize, TermInfo)],
    ) -> Result<u64> {
        let Dealer { block, positions: buffer, targets, norms: block_norms, encoders, touched, .. } = self;
        let (unordered, unordered_positions) = (&mut self.unordered, &mut self.unordered_positions);
        let unsorted = group.interleaved && matches.len() > 1;
        // Norms serve the block-max data of full blocks only, and a short term has none.
        let scored = matches.iter().map(|(_, info)| u64::from(info.doc_freq)).sum::<u64>() >= BLOCK as u64;
        let mut term_has_freqs = None;
        let (mut blocks, mut kept) = (0, 0u64);
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
            let norms = field.norms.get(segment).and_then(Option::as_ref).map(OwnedBytes::as_slice);
            let mut positions = None;
            buffer.clear();
            loop {
                let (len, has_freqs) = postings.next(block).map_err(damaged(Component::Postings))?;
                if len == 0 {
                    break;
                }
                blocks += 1;
                if *term_has_freqs.get_or_insert(has_freqs) != has_freqs {
                    return Err(mixed_freqs(segments, segment, &field.name, key));
                }
                let with_positions = has_freqs && field.record.has_positions();
                if with_positions && positions.is_none() {
                    let data = slice(&field.positions, segment, &info.positions_range);
                    let opened = data.ok_or(Damage::Positions).and_then(Positions::open);
                    positions = Some(opened.map_err(damaged(Component::Positions))?);
                }
                let docs = block.docs(len);
                group.lookup_all(segment, docs, targets);
                if let Some(norms) = norms.filter(|_| scored) {
                    for (slot, &doc) in block_norms.iter_mut().zip(docs) {
                        *slot = norms.get(doc as usize).copied().unwrap_or(0);
                    }
                }
                let freqs = if has_freqs { block.freqs(len) } else { NO_FREQS.get(..len).unwrap_or(&[]) };
                let mut deltas: &[u32] = &[];
                if let Some(positions) = &mut positions {
                    let len = freqs.iter().map(|&freq| freq as usize).sum();
                    deltas = positions.take(len, buffer).map_err(damaged(Component::Positions))?;
                }
                for ((&freq, &(output, new_doc)), &norm) in freqs.iter().zip(&*targets).zip(&*block_norms) {
                    let mut own: &[u32] = &[];
                    if with_positions {
                        (own, deltas) = deltas.split_at_checked(freq as usize).unwrap_or_default();
                    }
                    if output == NO_OUTPUT {
                        continue;
                    }
                    kept += 1;
                    let output = output as usize;
                    if unsorted {
                        let start = unordered_positions.len();
                        unordered_positions.extend_from_slice(own);
                        let positions = start..unordered_positions.len();
                        unordered.push(Unordered { output, doc: new_doc, freq, norm, positions });
                        continue;
                    }
                    let Some(encoder) = encoders.get_mut(output) else { continue };
                    if encoder.is_untouched() {
                        touched.push(output);
                    }
                    if encoder.push(new_doc, freq, norm) {
                        encoder.write_block(&field.of_output(output), has_freqs);
                    }
                    encoder.push_positions(own);
                }
            }
        }
        let has_freqs = term_has_freqs.unwrap_or(false);
        if unsorted {
            unordered.sort_unstable_by_key(|document| (document.output, document.doc));
            for document in unordered.drain(..) {
                let Some(encoder) = encoders.get_mut(document.output) else { continue };
                if encoder.is_untouched() {
                    touched.push(document.output);
                }
                if encoder.push(document.doc, document.freq, document.norm) {
                    encoder.write_block(&field.of_output(document.output), has_freqs);
                }
                encoder.push_positions(unordered_positions.get(document.positions).unwrap_or(&[]));
            }
            unordered_positions.clear();
        }
        let mut dealt = 0;
        for output in touched.drain(..) {
            if let Some(encoder) = encoders.get_mut(output) {
                dealt += encoder.close(key, &field.of_output(output), has_freqs);
            }
        }
        if dealt == kept {
            Ok(blocks)
        } else {
            let term = key.escape_ascii();
            Err(Error::defect(format!("field {:?}, term \"{term}\": {kept} documents became {dealt}", field.name)))
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
