//! Writing the doc store of one output: documents are cut into blocks, blocks are compressed, and written.
//!
//! Cutting and writing go in order. Compressing, which takes as long as all the rest, does not: [`BlockCutter`] and
//! [`StoreWriter`] stand apart so that any thread can do it in between.

use std::io::{self, Write};
use std::ops::Range;

use super::codec::BlockCompressor;
use crate::error::{Error, Result};
use crate::source::{Component, STORE_FOOTER};
use crate::write::file::{FileWriter, write_vint};
use crate::write::output::{ChildFiles, WrittenFile};

/// Checkpoints per block of the skip index.
const CHECKPOINTS: usize = 8;
/// Version of what is written: dates in nanoseconds.
const VERSION: u32 = 2;

/// Consecutive blocks, one after the other.
#[derive(Default)]
pub(super) struct Blocks {
    bytes: Vec<u8>,
    /// Documents and bytes of each.
    lens: Vec<(u32, usize)>,
}

impl Blocks {
    pub(super) fn is_empty(&self) -> bool {
        self.lens.is_empty()
    }

    /// Empties it and keeps its buffers.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.lens.clear();
    }

    /// Appends these blocks, compressed, to `to`.
    pub(super) fn compress(&self, compressor: &mut BlockCompressor, to: &mut Blocks) -> io::Result<()> {
        let mut bytes = self.bytes.as_slice();
        for &(docs, len) in &self.lens {
            let packed = compressor.compress(bytes.split_off(..len).unwrap_or_default())?;
            to.bytes.extend_from_slice(packed);
            to.lens.push((docs, packed.len()));
        }
        Ok(())
    }
}

/// Cuts the documents of one output into blocks.
pub(super) struct BlockCutter {
    block_size: usize,
    /// Full blocks, and behind them the bytes of the open one.
    blocks: Blocks,
    /// Where the open block begins.
    open: usize,
    /// Where its documents start.
    starts: Vec<u32>,
}

impl BlockCutter {
    pub(super) fn new(block_size: usize) -> BlockCutter {
        BlockCutter { block_size, blocks: Blocks::default(), open: 0, starts: Vec::new() }
    }

    /// Adds the next documents.
    pub(super) fn cut<D: AsRef<[u8]>>(&mut self, docs: impl Iterator<Item = D>) -> Result<()> {
        for doc in docs {
            let offset = u32::try_from(self.blocks.bytes.len() - self.open).map_err(|_| {
                Error::Usage("a block of the doc store exceeds 4 GiB; its block size setting is too large".to_owned())
            })?;
            self.starts.push(offset);
            self.blocks.bytes.extend_from_slice(doc.as_ref());
            // tantivy counts 8 bytes a document here (`src/store/writer.rs`); so do we, for equal blocks.
            if self.blocks.bytes.len() - self.open + self.starts.len() * 8 > self.block_size {
                self.close()?;
            }
        }
        Ok(())
    }

    /// The blocks that are full. `spare`: empty, for those that follow; it is asked for only where there are some.
    pub(super) fn take_full(&mut self, spare: impl FnOnce() -> Blocks) -> Blocks {
        if self.blocks.is_empty() {
            return Blocks::default();
        }
        let mut next = spare();
        next.bytes.extend_from_slice(self.blocks.bytes.get(self.open..).unwrap_or_default());
        let mut full = std::mem::replace(&mut self.blocks, next);
        full.bytes.truncate(std::mem::take(&mut self.open));
        full
    }

    /// Ends the open block, if it has a document, and gives what was not taken.
    pub(super) fn finish(mut self) -> Result<Blocks> {
        if !self.starts.is_empty() {
            self.close()?;
        }
        Ok(self.blocks)
    }

    fn close(&mut self) -> Result<()> {
        let Blocks { bytes, lens } = &mut self.blocks;
        let docs = u32::try_from(self.starts.len()).map_err(|_| Error::defect("a block of 2^32 documents"))?;
        self.starts.iter().for_each(|start| bytes.extend_from_slice(&start.to_le_bytes()));
        bytes.extend_from_slice(&docs.to_le_bytes());
        lens.push((docs, bytes.len() - self.open));
        self.open = bytes.len();
        self.starts.clear();
        Ok(())
    }
}

/// A doc store being written.
pub(super) struct StoreWriter {
    file: FileWriter,
    index: SkipIndex,
    docs: u32,
}

impl StoreWriter {
    pub(super) fn create(files: &dyn ChildFiles, child: usize, id: &str) -> Result<StoreWriter> {
        let file = FileWriter::create(files, child, Component::Store.file_name(id))?;
        Ok(StoreWriter { file, index: SkipIndex::default(), docs: 0 })
    }

    /// Writes the next blocks, which are compressed.
    pub(super) fn write(&mut self, blocks: &Blocks) -> Result<()> {
        let mut start = self.file.len();
        self.file.write_all(&blocks.bytes).map_err(Error::io("write", "a doc store"))?;
        for &(docs, len) in &blocks.lens {
            let end = start + len as u64;
            self.index.push(Checkpoint { docs: self.docs..self.docs + docs, bytes: start..end });
            self.docs += docs;
            start = end;
        }
        Ok(())
    }

    /// Writes the skip index and the footer. `codec`: id of the codec of the blocks. Returns the file and its number of
    /// documents.
    pub(super) fn finish(mut self, codec: u8) -> Result<(WrittenFile, u32)> {
        let offset = self.file.len();
        let mut tail = self.index.serialize();
        let footer = tail.len();
        tail.extend_from_slice(&VERSION.to_le_bytes());
        tail.extend_from_slice(&offset.to_le_bytes());
        tail.push(codec);
        tail.resize(footer + STORE_FOOTER, 0);
        self.file.write_all(&tail).map_err(Error::io("write", "a doc store"))?;
        Ok((self.file.finish()?, self.docs))
    }
}

/// Documents and bytes of a block, or of a block of checkpoints one layer below.
#[derive(Clone, Debug)]
struct Checkpoint {
    docs: Range<u32>,
    bytes: Range<u64>,
}

#[derive(Default)]
struct Layer {
    open: Vec<Checkpoint>,
    bytes: Vec<u8>,
}

impl Layer {
    /// Closes the open block of checkpoints: the checkpoint that stands for it one layer above.
    fn close(&mut self) -> Option<Checkpoint> {
        let (first, last) = (self.open.first()?, self.open.last()?);
        let docs = first.docs.start..last.docs.end;
        let start = self.bytes.len() as u64;
        write_vint(self.open.len() as u64, &mut self.bytes);
        write_vint(u64::from(first.docs.start), &mut self.bytes);
        write_vint(first.bytes.start, &mut self.bytes);
        for checkpoint in &self.open {
            write_vint(u64::from(checkpoint.docs.end - checkpoint.docs.start), &mut self.bytes);
            write_vint(checkpoint.bytes.end - checkpoint.bytes.start, &mut self.bytes);
        }
        self.open.clear();
        Some(Checkpoint { docs, bytes: start..self.bytes.len() as u64 })
    }
}

/// The skip index: layers of checkpoints, finest first here, finest last in the file.
#[derive(Default)]
struct SkipIndex {
    layers: Vec<Layer>,
}

impl SkipIndex {
    fn push(&mut self, checkpoint: Checkpoint) {
        let mut above = Some(checkpoint);
        let mut number = 0;
        while let Some(checkpoint) = above {
            if number == self.layers.len() {
                self.layers.push(Layer::default());
            }
            let Some(layer) = self.layers.get_mut(number) else { return };
            layer.open.push(checkpoint);
            above = if layer.open.len() >= CHECKPOINTS { layer.close() } else { None };
            number += 1;
        }
    }

    fn serialize(mut self) -> Vec<u8> {
        let mut above = None;
        for layer in &mut self.layers {
            layer.open.extend(above);
            above = layer.close();
        }
        let mut bytes = Vec::new();
        write_vint(self.layers.len() as u64, &mut bytes);
        let mut end = 0;
        for layer in self.layers.iter().rev() {
            end += layer.bytes.len() as u64;
            write_vint(end, &mut bytes);
        }
        for layer in self.layers.iter().rev() {
            bytes.extend_from_slice(&layer.bytes);
        }
        bytes
    }
}
