//! The postings of a group as a [`Track`] of the pool.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam::queue::SegQueue;
use tantivy::schema::{Field, IndexRecordOption};

use super::appender::Appender;
use super::deal::Dealer;
use super::field::IndexedField;
use super::lists::SpareChunks;
use super::piece::Piece;
use super::terms::{MergedTerms, TermRange};
use super::totals;
use super::units;
use crate::error::{Error, Result};
use crate::partition::Group;
use crate::progress::{Progress, Stage, Work};
use crate::source::dictionary::Damaged;
use crate::source::{Component, Segment, Source};
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
    dealers: SegQueue<Dealer>,
    /// Pieces that were appended, to be filled again, and what their long lists had.
    spare: SegQueue<Piece>,
    spare_chunks: SpareChunks,
    progress: &'a dyn Progress,
    /// Blocks of postings decoded so far, partial ones included.
    blocks_decoded: AtomicU64,
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

/// Ranges of terms by indexed field.
pub(in crate::write) struct Cuts(Vec<Vec<TermRange>>);

/// Cuts the indexed fields of a group, in the order of the schema. Looks terms up: worth a thread of its own.
pub(in crate::write) fn cut(source: &Source, group: &Group) -> Result<Cuts> {
    let segments: Vec<&Segment> = group.segments.iter().filter_map(|&index| source.segments().get(index)).collect();
    let schema = source.schema();
    let indexed = schema.fields().filter(|(_, entry)| entry.is_indexed());
    let cut = |(field, _)| {
        let mut bytes = 0;
        let mut dictionaries = Vec::with_capacity(segments.len());
        for segment in &segments {
            bytes += segment.field_bytes(Component::Postings, field) + segment.field_bytes(Component::Positions, field);
            dictionaries.push(segment.terms(field)?);
        }
        units::cut(&dictionaries, bytes, group.outputs.len())
    };
    indexed.map(cut).collect::<Result<_>>().map(Cuts)
}

impl<'a> PostingsTrack<'a> {
    /// `ids`: segment ids by output; `cuts`: what [`cut`] gave; `lengths`: by indexed field, `None` for fields without
    /// norms.
    pub(in crate::write) fn open(
        source: &'a Source,
        group: &'a Group,
        files: &dyn ChildFiles,
        (ids, cuts): (&[String], Cuts),
        mut lengths: impl FnMut(Field) -> Option<FieldLengths>,
        progress: &'a dyn Progress,
    ) -> Result<PostingsTrack<'a>> {
        let segments: Vec<&Segment> = group.segments.iter().filter_map(|&index| source.segments().get(index)).collect();
        let mut cuts = cuts.0.into_iter();
        let mut fields = Vec::new();
        let mut units = Vec::new();
        for (field, entry) in source.schema().fields() {
            if !entry.is_indexed() {
                continue;
            }
            let record = entry.field_type().get_index_record_option().unwrap_or(IndexRecordOption::Basic);
            let opened = IndexedField::open(&segments, group, field, entry.name(), record, lengths(field))?;
            let ranges = cuts.next().ok_or_else(|| Error::defect("an indexed field was not cut"))?;
            let last = ranges.len().saturating_sub(1);
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
            dealers: SegQueue::new(),
            spare: SegQueue::new(),
            spare_chunks: SpareChunks::default(),
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
                IndexRecordOption::Basic => {
                    let tokens = (field.source_tokens, surplus);
                    totals::without_freqs(output, counted, tokens, field.lengths.as_ref())
                }
                _ => counted,
            })?;
            self.spare_chunks.clear();
        }
        Ok(())
    }

    /// The pieces of a unit.
    fn produce(&self, unit: &Unit, dealer: &mut Dealer) -> Result<Vec<Piece>> {
        let Some(field) = self.fields.get(unit.field) else { return Ok(Vec::new()) };
        let damaged = |(segment, damaged): (usize, Damaged)| {
            let path = self.segments.get(segment).map(|segment| segment.file(Component::Terms)).unwrap_or_default();
            Error::corrupt(path, format!("field {:?}: {damaged}", field.name))
        };
        let mut terms = MergedTerms::open(&field.dictionaries, &unit.range).map_err(damaged)?;
        dealer.fill(|| self.spare.pop());
        let (mut doc_freqs, mut bytes, mut blocks) = (0, 0, 0);
        while terms.advance().map_err(damaged)? {
            let (key, matches) = terms.current();
            blocks += dealer.deal(self.group, &self.segments, field, key, matches)?;
            for (_, info) in matches {
                doc_freqs += u64::from(info.doc_freq);
                bytes += (info.postings_range.len() + info.positions_range.len()) as u64;
            }
        }
        field.source_doc_freqs.fetch_add(doc_freqs, Ordering::Release);
        self.blocks_decoded.fetch_add(blocks, Ordering::Relaxed);
        self.progress.advance(Stage::Write, Work::bytes(bytes));
        dealer.take_pieces(self.group, field)
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
        let mut dealer =
            self.dealers.pop().unwrap_or_else(|| Dealer::new(self.group.outputs.len(), &self.spare_chunks));
        let pieces = self.produce(range, &mut dealer)?;
        self.dealers.push(dealer);
        let deliveries = pieces.into_iter().map(|piece| Delivery { unit, piece }).collect();
        self.lanes.deliver(unit, deliveries, |output, appender, mut delivery| {
            self.append(output, appender, &delivery)?;
            delivery.piece.clear(&self.spare_chunks);
            self.spare.push(delivery.piece);
            Ok(())
        })
    }
}
