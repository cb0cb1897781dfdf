//! The postings of a group as a [`Track`] of the pool.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam::queue::SegQueue;
use tantivy::directory::OwnedBytes;
use tantivy::postings::TermInfo;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::termdict::TermDictionary;

use super::appender::Appender;
use super::decode::{Block, Damage, PositionBuffer, Positions, Postings};
use super::encode::{Encoder, Field as FieldOfOutput, LengthFactors, Piece};
use super::terms::{MergedTerms, TermRange};
use super::totals;
use super::units;
use crate::error::{Error, Result};
use crate::partition::Group;
use crate::progress::{Progress, Stage, Work};
use crate::source::{Component, Segment, Source};
use crate::write::dictionary::Damaged;
use crate::write::norms::FieldLengths;
use crate::write::output::{ChildFiles, WrittenFile};
use crate::write::pool::{InOrder, Track};

/// All indexed fields of a group, dealt to its outputs.
pub(in crate::write) struct PostingsTrack<'a> {
    group: &'a Group,
    segments: Vec<&'a Segment>,
    fields: Vec<IndexedField>,
    units: Vec<Unit>,
    lanes: InOrder<Delivery, Appender>,
    scratch: SegQueue<Scratch>,
    /// Pieces that were appended, to be filled again.
    spare: SegQueue<Piece>,
    progress: &'a dyn Progress,
    /// Blocks of postings decoded so far, partial ones included.
    blocks_decoded: AtomicU64,
}

struct IndexedField {
    field: Field,
    name: String,
    record: IndexRecordOption,
    dictionaries: Vec<Option<OwnedBytes>>,
    postings: Vec<OwnedBytes>,
    positions: Vec<OwnedBytes>,
    norms: Vec<Option<OwnedBytes>>,
    lengths: Option<FieldLengths>,
    /// By output; empty for fields without norms.
    factors: Vec<LengthFactors>,
    /// Tokens that the source segments count.
    source_tokens: u64,
    /// Documents in the source's posting lists, deleted ones included, as units count them.
    source_doc_freqs: AtomicU64,
}

struct Unit {
    field: usize,
    range: TermRange,
    first: bool,
    last: bool,
}

struct Delivery {
    unit: usize,
    piece: Piece,
}

/// Buffers of one thread.
struct Scratch {
    block: Block,
    positions: PositionBuffer,
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

impl<'a> PostingsTrack<'a> {
    /// `ids`: segment ids by output; `lengths`: by indexed field, `None` for fields without norms.
    pub(in crate::write) fn open(
        source: &'a Source,
        group: &'a Group,
        files: &dyn ChildFiles,
        ids: &[String],
        mut lengths: impl FnMut(Field) -> Option<FieldLengths>,
        progress: &'a dyn Progress,
    ) -> Result<PostingsTrack<'a>> {
        let segments: Vec<&Segment> = group.segments.iter().filter_map(|&index| source.segments().get(index)).collect();
        let mut fields = Vec::new();
        let mut units = Vec::new();
        for (field, entry) in source.schema().fields() {
            if !entry.is_indexed() {
                continue;
            }
            let record = entry.field_type().get_index_record_option().unwrap_or(IndexRecordOption::Basic);
            let opened = IndexedField::open(&segments, group, field, entry.name(), record, lengths(field))?;
            let bytes = opened.postings.iter().chain(&opened.positions).map(|part| part.len() as u64).sum();
            let dictionaries: Vec<Option<TermDictionary>> =
                segments.iter().map(|segment| segment.terms(field)).collect::<Result<_>>()?;
            let ranges = units::cut(&dictionaries, bytes)?;
            let last = ranges.len() - 1;
            units.extend(ranges.into_iter().enumerate().map(|(index, range)| Unit {
                field: fields.len(),
                range,
                first: index == 0,
                last: index == last,
            }));
            fields.push(opened);
        }
        let appenders = group
            .outputs
            .iter()
            .zip(ids)
            .map(|(output, id)| Appender::create(files, output.child, id))
            .collect::<Result<Vec<_>>>()?;
        Ok(PostingsTrack {
            group,
            segments,
            fields,
            units,
            lanes: InOrder::new(appenders),
            scratch: SegQueue::new(),
            spare: SegQueue::new(),
            progress,
            blocks_decoded: AtomicU64::new(0),
        })
    }

    /// Closes the files; per output, after all units.
    pub(in crate::write) fn finish(self) -> Result<Vec<Vec<WrittenFile>>> {
        self.lanes.into_appenders().map(Appender::finish).collect()
    }

    /// Blocks of postings decoded so far, partial ones included.
    pub(in crate::write) fn blocks_decoded(&self) -> u64 {
        self.blocks_decoded.load(Ordering::Relaxed)
    }

    fn append(&self, output: usize, appender: &mut Appender, delivery: &Delivery) -> Result<()> {
        let Some((unit, field)) =
            self.units.get(delivery.unit).and_then(|unit| Some((unit, self.fields.get(unit.field)?)))
        else {
            return Ok(());
        };
        if unit.first {
            appender.begin(field.field)?;
        }
        appender.append(&delivery.piece)?;
        if unit.last {
            // ORDER: all units of the field were produced before this one was appended, so its counters are complete.
            let surplus = field.source_tokens.saturating_sub(field.source_doc_freqs.load(Ordering::Acquire));
            appender.end(|counted| match field.record {
                IndexRecordOption::Basic => totals::without_freqs(output, counted, surplus, field.lengths.as_ref()),
                _ => counted,
            })?;
        }
        Ok(())
    }

    fn produce(&self, unit: &Unit, scratch: &mut Scratch) -> Result<Vec<Piece>> {
        let Some(field) = self.fields.get(unit.field) else { return Ok(Vec::new()) };
        let damaged = |(segment, damaged): (usize, Damaged)| {
            let path = self.segments.get(segment).map(|segment| segment.file(Component::Terms)).unwrap_or_default();
            Error::corrupt(path, format!("field {:?}: {damaged}", field.name))
        };
        let mut terms = MergedTerms::open(&field.dictionaries, &unit.range).map_err(damaged)?;
        let (mut doc_freqs, mut bytes, mut blocks) = (0, 0, 0);
        while terms.advance().map_err(damaged)? {
            let (key, matches) = terms.current();
            blocks += self.deal(field, key, matches, scratch)?;
            for (_, info) in matches {
                doc_freqs += u64::from(info.doc_freq);
                bytes += (info.postings_range.len() + info.positions_range.len()) as u64;
            }
        }
        field.source_doc_freqs.fetch_add(doc_freqs, Ordering::Release);
        self.blocks_decoded.fetch_add(blocks, Ordering::Relaxed);
        self.progress.advance(Stage::Write, Work::bytes(bytes));
        let spare = || self.spare.pop().unwrap_or_default();
        Ok(scratch.encoders.iter_mut().map(|encoder| std::mem::replace(&mut encoder.piece, spare())).collect())
    }

    /// Deals one term's documents to the outputs. Returns the number of blocks decoded.
    fn deal(
        &self,
        field: &IndexedField,
        key: &[u8],
        matches: &[(usize, TermInfo)],
        scratch: &mut Scratch,
    ) -> Result<u64> {
        let Scratch { block, positions: buffer, encoders, touched, unordered, unordered_positions } = scratch;
        let unsorted = self.group.interleaved && matches.len() > 1;
        let mut term_has_freqs = None;
        let mut blocks = 0;
        for (segment, info) in matches {
            let segment = *segment;
            let damaged =
                |component: Component| move |damage: Damage| self.damaged(segment, component, &field.name, key, damage);
            let max_doc = self.segments.get(segment).map_or(0, |segment| segment.max_doc());
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
                    return Err(self.mixed_freqs(segment, &field.name, key));
                }
                let with_positions = has_freqs && field.record.has_positions();
                if with_positions && positions.is_none() {
                    let data = slice(&field.positions, segment, &info.positions_range);
                    let opened = data.ok_or(Damage::Positions).and_then(Positions::open);
                    positions = Some(opened.map_err(damaged(Component::Positions))?);
                }
                for (&doc, &freq) in block.docs(len).iter().zip(block.freqs(len)) {
                    let freq = if has_freqs { freq } else { 0 };
                    let deltas = match &mut positions {
                        Some(positions) if with_positions => {
                            positions.take(freq as usize, buffer).map_err(damaged(Component::Positions))?
                        }
                        _ => &[],
                    };
                    let Some((output, new_doc)) = self.group.lookup(segment, doc) else { continue };
                    let norm = norms.and_then(|norms| norms.get(doc as usize)).copied().unwrap_or(0);
                    if unsorted {
                        let start = unordered_positions.len();
                        unordered_positions.extend_from_slice(deltas);
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
                    encoder.push_positions(deltas);
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
        for output in touched.drain(..) {
            if let Some(encoder) = encoders.get_mut(output) {
                encoder.close(key, &field.of_output(output), has_freqs);
            }
        }
        Ok(blocks)
    }

    fn damaged(&self, segment: usize, component: Component, field: &str, key: &[u8], damage: Damage) -> Error {
        let term = String::from_utf8_lossy(key.get(..key.len().min(64)).unwrap_or(key)).escape_debug().to_string();
        let path = self.segments.get(segment).map(|segment| segment.file(component)).unwrap_or_default();
        Error::corrupt(path, format!("field {field:?}, term \"{term}\": {damage}"))
    }

    fn mixed_freqs(&self, segment: usize, field: &str, key: &[u8]) -> Error {
        let term = String::from_utf8_lossy(key).escape_debug().to_string();
        let path = self.segments.get(segment).map(|segment| segment.file(Component::Postings)).unwrap_or_default();
        Error::Unsupported {
            path,
            what: "a term that has frequencies in one segment and none in another",
            found: format!("field {field:?}, term \"{term}\""),
            expected: "one of the two everywhere".to_owned(),
            hint: "use --segments keep".to_owned(),
        }
    }
}

impl IndexedField {
    fn open(
        segments: &[&Segment],
        group: &Group,
        field: Field,
        name: &str,
        record: IndexRecordOption,
        lengths: Option<FieldLengths>,
    ) -> Result<IndexedField> {
        let mut opened = IndexedField {
            field,
            name: name.to_owned(),
            record,
            dictionaries: Vec::new(),
            postings: Vec::new(),
            positions: Vec::new(),
            norms: Vec::new(),
            factors: Vec::new(),
            lengths,
            source_tokens: 0,
            source_doc_freqs: AtomicU64::new(0),
        };
        for segment in segments {
            opened.dictionaries.push(segment.terms_bytes(field)?);
            let postings = segment.postings(field)?.unwrap_or_else(OwnedBytes::empty);
            // A part begins with the number of tokens; ranges count from behind it.
            let tokens = postings.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes));
            opened.source_tokens += tokens.unwrap_or(0);
            opened.postings.push(if tokens.is_some() { postings.slice(8..postings.len()) } else { postings });
            opened.positions.push(segment.positions(field)?.unwrap_or_else(OwnedBytes::empty));
            opened.norms.push(segment.norms(field)?);
        }
        if let Some(lengths) = &opened.lengths {
            opened.factors = group
                .outputs
                .iter()
                .zip(lengths.outputs.iter().zip(&lengths.most))
                .map(|(output, (&least, &most))| {
                    let docs = output.num_docs as f32;
                    LengthFactors::new(least as f32 / docs, most as f32 / docs)
                })
                .collect();
        }
        Ok(opened)
    }

    fn of_output(&self, output: usize) -> FieldOfOutput<'_> {
        FieldOfOutput { record: self.record, factors: self.factors.get(output) }
    }
}

impl Scratch {
    fn new(outputs: usize) -> Scratch {
        Scratch {
            block: Block::new(),
            positions: PositionBuffer::new(),
            encoders: (0..outputs).map(|_| Encoder::new()).collect(),
            touched: Vec::new(),
            unordered: Vec::new(),
            unordered_positions: Vec::new(),
        }
    }
}

impl Track for PostingsTrack<'_> {
    fn units(&self) -> usize {
        self.units.len()
    }

    fn appended(&self) -> usize {
        self.lanes.appended()
    }

    fn run(&self, unit: usize) -> Result<()> {
        let Some(range) = self.units.get(unit) else { return Ok(()) };
        let mut scratch = self.scratch.pop().unwrap_or_else(|| Scratch::new(self.group.outputs.len()));
        let pieces = self.produce(range, &mut scratch)?;
        self.scratch.push(scratch);
        let deliveries = pieces.into_iter().map(|piece| Delivery { unit, piece }).collect();
        self.lanes.deliver(unit, deliveries, |output, appender, mut delivery| {
            self.append(output, appender, &delivery)?;
            delivery.piece.clear();
            self.spare.push(delivery.piece);
            Ok(())
        })
    }
}

fn slice<'b>(parts: &'b [OwnedBytes], segment: usize, range: &std::ops::Range<usize>) -> Option<&'b [u8]> {
    parts.get(segment)?.as_slice().get(range.clone())
}
