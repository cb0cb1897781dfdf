//! Writing the doc store of one output.

use std::io::{self, Write};
use std::ops::Range;

use tantivy::store::Compressor;

use super::codec::BlockCompressor;
use crate::error::{Error, Result};
use crate::source::{Component, STORE_FOOTER};
use crate::write::file::{FileWriter, write_vint};
use crate::write::output::{ChildFiles, WrittenFile};

/// Checkpoints per block of the skip index.
const CHECKPOINTS: usize = 8;
/// Version of what is written: dates in nanoseconds.
const VERSION: u32 = 2;

/// A doc store being written.
pub(super) struct StoreWriter {
    file: FileWriter,
    compressor: BlockCompressor,
    block_size: usize,
    block: Vec<u8>,
    starts: Vec<u32>,
    index: SkipIndex,
    docs: u32,
}

impl StoreWriter {
    pub(super) fn create(
        files: &dyn ChildFiles,
        child: usize,
        id: &str,
        compressor: Compressor,
        block_size: usize,
    ) -> Result<StoreWriter> {
        Ok(StoreWriter {
            file: FileWriter::create(files, child, Component::Store.file_name(id))?,
            compressor: BlockCompressor::new(compressor),
            block_size,
            block: Vec::new(),
            starts: Vec::new(),
            index: SkipIndex::default(),
            docs: 0,
        })
    }

    /// Adds the next document.
    pub(super) fn push(&mut self, doc: &[u8]) -> Result<()> {
        let start = u32::try_from(self.block.len()).map_err(|_| {
            Error::Usage("a block of the doc store exceeds 4 GiB; its block size setting is too large".to_owned())
        })?;
        self.starts.push(start);
        self.block.extend_from_slice(doc);
        // tantivy counts 8 bytes a document here (`src/store/writer.rs`); so do we, for equal blocks.
        if self.block.len() + self.starts.len() * 8 > self.block_size {
            self.flush_block().map_err(Error::io("write", "a doc store"))?;
        }
        Ok(())
    }

    fn flush_block(&mut self) -> io::Result<()> {
        if self.starts.is_empty() {
            return Ok(());
        }
        for start in &self.starts {
            self.block.extend_from_slice(&start.to_le_bytes());
        }
        let len = u32::try_from(self.starts.len()).map_err(io::Error::other)?;
        self.block.extend_from_slice(&len.to_le_bytes());
        let start = self.file.len();
        self.file.write_all(self.compressor.compress(&self.block)?)?;
        self.index.push(Checkpoint { docs: self.docs..self.docs + len, bytes: start..self.file.len() });
        self.docs += len;
        self.starts.clear();
        self.block.clear();
        Ok(())
    }

    /// Writes what is left, the skip index and the footer. Returns the file and its number of documents.
    pub(super) fn finish(mut self) -> Result<(WrittenFile, u32)> {
        self.finish_body().map_err(Error::io("write", "a doc store"))?;
        Ok((self.file.finish()?, self.docs))
    }

    fn finish_body(&mut self) -> io::Result<()> {
        self.flush_block()?;
        let offset = self.file.len();
        let index = std::mem::take(&mut self.index).serialize();
        self.file.write_all(&index)?;
        let mut footer = Vec::with_capacity(STORE_FOOTER);
        footer.extend_from_slice(&VERSION.to_le_bytes());
        footer.extend_from_slice(&offset.to_le_bytes());
        footer.push(self.compressor.id());
        footer.resize(STORE_FOOTER, 0);
        self.file.write_all(&footer)
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
