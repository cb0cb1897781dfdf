//! The doc stores of a group as a [`Track`] of the pool.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam::queue::SegQueue;
use tantivy::store::Compressor;

use super::codec::BlockCompressor;
use super::dates;
use super::writer::{BlockCutter, Blocks, StoreWriter};
use crate::error::{Error, Result};
use crate::partition::{Group, RowAddr};
use crate::progress::{Progress, Stage, Work};
use crate::source::store::{BlockAddr, BlockReader, Documents, blocks};
use crate::source::{Component, Segment, Source};
use crate::write::output::{ChildFiles, WrittenFile};
use crate::write::pool::{InOrder, Track};

/// Compressed bytes that a unit aims to read.
const UNIT_BYTES: usize = 256 * 1024;

/// All stored documents of a group, dealt to its outputs.
pub(in crate::write) struct StoreTrack<'a> {
    group: &'a Group,
    segments: Vec<&'a Segment>,
    units: Vec<Unit>,
    compressor: Compressor,
    cutters: InOrder<Piece, Cutter<'a>>,
    writers: InOrder<Blocks, Writer>,
    /// What threads lay down when they have done a unit, for the next one to take up.
    readers: SegQueue<BlockReader>,
    compressors: SegQueue<BlockCompressor>,
    /// What was passed on, to be filled again: documents of pieces, blocks of units, blocks of outputs.
    spare_docs: SegQueue<Vec<Range<usize>>>,
    spare_rooms: SegQueue<Vec<u8>>,
    spare_blocks: SegQueue<Blocks>,
    progress: &'a dyn Progress,
    blocks_decoded: AtomicU64,
}

/// Blocks that follow each other in one segment.
struct Unit {
    segment: usize,
    blocks: Vec<BlockAddr>,
}

/// Documents of one unit for one output.
struct Piece {
    unit: usize,
    segment: usize,
    /// The blocks of the unit, which all its pieces share.
    blocks: Arc<Vec<u8>>,
    /// Where in them the documents are.
    docs: Vec<Range<usize>>,
}

impl Piece {
    fn docs(&self) -> impl Iterator<Item = &[u8]> {
        self.docs.iter().map(|doc| self.blocks.get(doc.clone()).unwrap_or_default())
    }
}

impl<'a> StoreTrack<'a> {
    /// `ids`: segment ids by output.
    pub(in crate::write) fn open(
        source: &'a Source,
        group: &'a Group,
        files: &dyn ChildFiles,
        ids: &[String],
        progress: &'a dyn Progress,
    ) -> Result<StoreTrack<'a>> {
        let segments: Vec<&Segment> = group.segments.iter().filter_map(|&index| source.segments().get(index)).collect();
        let mut units = Vec::new();
        for (number, segment) in segments.iter().enumerate() {
            let mut unit = Unit { segment: number, blocks: Vec::new() };
            let mut bytes = 0;
            for block in blocks(segment)? {
                bytes += block.bytes.len();
                unit.blocks.push(block);
                if bytes >= UNIT_BYTES {
                    units.push(std::mem::replace(&mut unit, Unit { segment: number, blocks: Vec::new() }));
                    bytes = 0;
                }
            }
            if !unit.blocks.is_empty() {
                units.push(unit);
            }
        }
        if group.interleaved {
            in_order_of_need(group, &mut units);
        }
        let settings = source.index().settings();
        let cutters = (0..group.outputs.len()).map(|number| Cutter {
            blocks: BlockCutter::new(settings.docstore_blocksize),
            order: group.interleaved.then(|| MergeOrder::new(group, number, segments.len())),
        });
        let cutters = InOrder::new(cutters);
        let writers = group.outputs.iter().zip(ids).map(|(output, id)| {
            Ok(Writer { store: StoreWriter::create(files, output.child, id)?, expected: output.num_docs })
        });
        let writers = InOrder::new(writers.collect::<Result<Vec<_>>>()?);
        Ok(StoreTrack {
            group,
            segments,
            units,
            compressor: settings.docstore_compression,
            cutters,
            writers,
            readers: SegQueue::new(),
            compressors: SegQueue::new(),
            spare_docs: SegQueue::new(),
            spare_rooms: SegQueue::new(),
            spare_blocks: SegQueue::new(),
            progress,
            blocks_decoded: AtomicU64::new(0),
        })
    }

    /// Closes the files; one per output, after all units.
    pub(in crate::write) fn finish(self) -> Result<Vec<WrittenFile>> {
        let mut compressor = BlockCompressor::new(self.compressor);
        let finish = |(cutter, mut writer): (Cutter<'_>, Writer)| {
            let (last, mut packed) = (cutter.blocks.finish()?, Blocks::default());
            last.compress(&mut compressor, &mut packed).map_err(Error::io("compress", "a doc store"))?;
            writer.store.write(&packed)?;
            writer.finish(compressor.id())
        };
        self.cutters.into_appenders().zip(self.writers.into_appenders()).map(finish).collect()
    }

    /// Blocks decompressed so far.
    pub(in crate::write) fn blocks_decoded(&self) -> u64 {
        self.blocks_decoded.load(Ordering::Relaxed)
    }

    /// Takes what a unit has apart, by output.
    fn deal(&self, number: usize, unit: &Unit, reader: &mut BlockReader) -> Result<Vec<Piece>> {
        let Some(segment) = self.segments.get(unit.segment) else { return Ok(Vec::new()) };
        let store = segment.store();
        let body = segment.body(Component::Store);
        let spare = |_| self.spare_docs.pop().unwrap_or_default();
        let mut dealt: Vec<Vec<Range<usize>>> = self.group.outputs.iter().map(spare).collect();
        let (mut room, mut start) = (self.spare_rooms.pop().unwrap_or_default(), 0);
        let mut bytes = 0;
        for addr in &unit.blocks {
            let damaged = |problem: String| {
                Error::corrupt(segment.file(Component::Store), format!("documents {:?}: {problem}", addr.docs))
            };
            let compressed = body.get(addr.bytes.clone()).unwrap_or(&[]);
            let end = start + reader.decompress_to(store.codec, compressed, &mut room, start).map_err(damaged)?;
            bytes += addr.bytes.len() as u64;
            let mut own = Vec::new();
            let block = room.get(start..end).unwrap_or_default();
            let docs = Documents::open(block, addr.docs.len()).map_err(damaged)?;
            for (index, doc) in addr.docs.clone().enumerate() {
                let Some((output, _)) = self.group.lookup(unit.segment, doc) else { continue };
                let Some(dealt) = dealt.get_mut(output) else { continue };
                let stored =
                    docs.range(index).ok_or_else(|| damaged(format!("document {doc} lies outside its block")))?;
                let stored = start + stored.start..start + stored.end;
                if store.version == 1 {
                    // They are converted where they are, so none may be part of another.
                    if own.last().is_some_and(|(_, before): &(u32, Range<usize>)| before.end > stored.start) {
                        return Err(damaged(format!("document {doc} lies within the one before")));
                    }
                    own.push((doc, stored.clone()));
                }
                dealt.push(stored);
            }
            for (doc, stored) in own {
                let stored = room.get_mut(stored).unwrap_or_default();
                dates::to_nanoseconds(stored).map_err(|problem| damaged(format!("document {doc}: {problem}")))?;
            }
            start = end;
        }
        self.blocks_decoded.fetch_add(unit.blocks.len() as u64, Ordering::Relaxed);
        self.progress.advance(Stage::Write, Work::bytes(bytes));
        let blocks = Arc::new(room);
        let piece = |docs| Piece { unit: number, segment: unit.segment, blocks: Arc::clone(&blocks), docs };
        Ok(dealt.into_iter().map(piece).collect())
    }
}

impl Track for StoreTrack<'_> {
    fn units(&self) -> usize {
        self.units.len()
    }

    fn appended(&self) -> usize {
        self.writers.appended()
    }

    fn run(&self, number: usize) -> Result<()> {
        let Some(unit) = self.units.get(number) else { return Ok(()) };
        let mut reader = self.readers.pop().unwrap_or_default();
        let pieces = self.deal(number, unit, &mut reader)?;
        self.readers.push(reader);

        // Of this unit, and of later ones that waited for it.
        let cut = RefCell::new(Vec::new());
        self.cutters.deliver(number, pieces, |output, cutter, piece| {
            cutter.append(&piece)?;
            let full = cutter.blocks.take_full(|| self.spare_blocks.pop().unwrap_or_default());
            cut.borrow_mut().push((output, piece.unit, full));
            self.give_back_piece(piece);
            Ok(())
        })?;
        let mut compressor = self.compressors.pop().unwrap_or_else(|| BlockCompressor::new(self.compressor));
        for (output, unit, blocks) in cut.into_inner() {
            let mut packed = Blocks::default();
            if !blocks.is_empty() {
                packed = self.spare_blocks.pop().unwrap_or_default();
                blocks.compress(&mut compressor, &mut packed).map_err(Error::io("compress", "a doc store"))?;
                self.give_back(blocks);
            }
            self.writers.deliver_to(output, unit, packed, |writer, packed| {
                writer.store.write(&packed)?;
                if !packed.is_empty() {
                    self.give_back(packed);
                }
                Ok(())
            })?;
        }
        self.compressors.push(compressor);
        Ok(())
    }
}

// Enough is kept for two units; more would only take room.
impl StoreTrack<'_> {
    fn give_back_piece(&self, piece: Piece) {
        let Piece { blocks, mut docs, .. } = piece;
        if self.spare_docs.len() < 2 * self.group.outputs.len() {
            docs.clear();
            self.spare_docs.push(docs);
        }
        // The last piece of a unit has its blocks to give.
        if let Some(room) = Arc::into_inner(blocks)
            && self.spare_rooms.len() < 2
        {
            self.spare_rooms.push(room);
        }
    }

    fn give_back(&self, mut blocks: Blocks) {
        if self.spare_blocks.len() < 2 * self.group.outputs.len() {
            blocks.clear();
            self.spare_blocks.push(blocks);
        }
    }
}

/// Cuts the documents of an output into blocks.
struct Cutter<'a> {
    blocks: BlockCutter,
    /// For outputs whose documents alternate between source segments.
    order: Option<MergeOrder<'a>>,
}

impl Cutter<'_> {
    fn append(&mut self, piece: &Piece) -> Result<()> {
        let Some(order) = &mut self.order else { return self.blocks.cut(piece.docs()) };
        order.queue(piece);
        self.blocks.cut(std::iter::from_fn(|| order.next()))
    }
}

/// Writes the store of an output.
struct Writer {
    store: StoreWriter,
    expected: u32,
}

impl Writer {
    fn finish(self, codec: u8) -> Result<WrittenFile> {
        let (file, docs) = self.store.finish(codec)?;
        if docs == self.expected {
            Ok(file)
        } else {
            Err(Error::defect(format!("a doc store got {docs} documents of {}", self.expected)))
        }
    }
}

/// Documents that wait for their turn, per source segment.
struct MergeOrder<'a> {
    rows: std::iter::Peekable<Box<dyn Iterator<Item = RowAddr> + Send + 'a>>,
    waiting: Vec<VecDeque<Vec<u8>>>,
}

impl<'a> MergeOrder<'a> {
    fn new(group: &'a Group, output: usize, segments: usize) -> MergeOrder<'a> {
        let rows: Box<dyn Iterator<Item = RowAddr> + Send + 'a> = Box::new(group.rows(output));
        MergeOrder { rows: rows.peekable(), waiting: vec![VecDeque::new(); segments] }
    }

    fn queue(&mut self, piece: &Piece) {
        if let Some(waiting) = self.waiting.get_mut(piece.segment) {
            waiting.extend(piece.docs().map(<[u8]>::to_vec));
        }
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        let segment = self.rows.peek()?.segment;
        let doc = self.waiting.get_mut(segment)?.pop_front()?;
        self.rows.next();
        Some(doc)
    }
}

/// Orders units by when the outputs need their first document, so that few documents wait. Units of one segment keep
/// their order, without which an output could not tell its documents apart.
fn in_order_of_need(group: &Group, units: &mut Vec<Unit>) {
    let mut reached = vec![0.0f64; group.segments.len()];
    let mut keyed: Vec<(f64, Unit)> = std::mem::take(units)
        .into_iter()
        .map(|unit| {
            let docs = unit.blocks.iter().flat_map(|block| block.docs.clone());
            let share = docs.filter_map(|doc| group.lookup(unit.segment, doc)).next().map_or(0.0, |(output, doc)| {
                let docs = group.outputs.get(output).map_or(1, |output| output.num_docs);
                f64::from(doc) / f64::from(docs)
            });
            let mut key = share;
            if let Some(reached) = reached.get_mut(unit.segment) {
                key = key.max(*reached);
                *reached = key;
            }
            (key, unit)
        })
        .collect();
    keyed.sort_by(|(left, _), (right, _)| left.total_cmp(right));
    units.extend(keyed.into_iter().map(|(_, unit)| unit));
}
