//! Reading a doc store: its skip index, its blocks, and the documents in them.
//!
//! The skip index and its layers are drawn where they are checked before a split, in `preflight/store.rs`. Here only
//! the finest layer, which stands last, is read: it names every block. A compressed block is its uncompressed length as
//! u32 LE, then an LZ4 block or a zstd frame; without compression it is the block itself. A block is documents, then
//! the start of each as u32 LE, then their number as u32 LE.

use std::ops::Range;

use zstd::bulk::Decompressor;

use super::{Bytes, Component, STORE_FOOTER, Segment, StoreCodec, block_size};
use crate::error::{Error, Result};

/// One compressed block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockAddr {
    pub(crate) docs: Range<u32>,
    pub(crate) bytes: Range<usize>,
}

/// The blocks of a segment's store, checked to cover every document once and every byte once.
pub(crate) fn blocks(segment: &Segment) -> Result<Vec<BlockAddr>> {
    let body = segment.body(Component::Store);
    parse(body, segment.max_doc()).map_err(|problem| Error::corrupt(segment.file(Component::Store), problem))
}

pub(super) fn parse(body: &[u8], max_doc: u32) -> Result<Vec<BlockAddr>, String> {
    let footer = body.len().checked_sub(STORE_FOOTER).and_then(|start| body.get(start..)).ok_or("it has no footer")?;
    let offset = footer.get(4..12).and_then(|bytes| bytes.first_chunk::<8>()).map(|bytes| u64::from_le_bytes(*bytes));
    let offset = offset.and_then(|offset| usize::try_from(offset).ok()).ok_or("its footer ends early")?;
    let index = body
        .get(offset..body.len() - STORE_FOOTER)
        .ok_or_else(|| format!("its skip index would begin at byte {offset}"))?;
    let finest = finest_layer(index).ok_or("the layers of its skip index do not fit")?;
    let mut found: Vec<BlockAddr> = Vec::new();
    let mut rest = Bytes::new(finest);
    while rest.len() != 0 {
        checkpoint_block(&mut rest, &mut found)
            .ok_or_else(|| format!("its skip index ends early, behind block {}", found.len()))?;
    }
    let (mut doc, mut byte) = (0, 0);
    for (number, block) in found.iter().enumerate() {
        if block.docs.start != doc || block.bytes.start != byte || block.docs.is_empty() {
            return Err(format!(
                "block {number} of its skip index covers documents {:?}, bytes {:?}; expected to begin at document {doc}, byte {byte}",
                block.docs, block.bytes
            ));
        }
        (doc, byte) = (block.docs.end, block.bytes.end);
    }
    if (doc, byte) != (max_doc, offset) {
        return Err(format!("its skip index covers {doc} documents and {byte} bytes of {max_doc} and {offset}"));
    }
    Ok(found)
}

fn finest_layer(index: &[u8]) -> Option<&[u8]> {
    let mut index = Bytes::new(index);
    let layers = index.vint()?;
    let (mut start, mut end) = (0, 0);
    for _ in 0..layers {
        start = end;
        end = usize::try_from(index.vint()?).ok()?;
    }
    index.rest().get(start..end)
}

fn checkpoint_block(data: &mut Bytes<'_>, found: &mut Vec<BlockAddr>) -> Option<()> {
    let len = data.vint()?;
    if len == 0 {
        return Some(());
    }
    let mut doc = u32::try_from(data.vint()?).ok()?;
    let mut byte = usize::try_from(data.vint()?).ok()?;
    for _ in 0..len {
        let doc_end = doc.checked_add(u32::try_from(data.vint()?).ok()?)?;
        let byte_end = byte.checked_add(usize::try_from(data.vint()?).ok()?)?;
        found.push(BlockAddr { docs: doc..doc_end, bytes: byte..byte_end });
        (doc, byte) = (doc_end, byte_end);
    }
    Some(())
}

/// Decompresses blocks.
#[derive(Default)]
pub(crate) struct BlockReader {
    room: Vec<u8>,
    /// Kept, since making one takes longer than using it (see `claims/terms.rs`).
    zstd: Option<Decompressor<'static>>,
}

impl BlockReader {
    /// The bytes of the block that is `compressed`, in room that the next one takes.
    pub(crate) fn decompress(&mut self, codec: StoreCodec, compressed: &[u8]) -> Result<&[u8], String> {
        let mut room = std::mem::take(&mut self.room);
        let len = self.decompress_to(codec, compressed, &mut room, 0);
        self.room = room;
        Ok(self.room.get(..len?).unwrap_or_default())
    }

    /// Puts the bytes of the block that is `compressed` into `room`, from `start` on, whatever stands there; `room` grows
    /// where it has to. Returns their number.
    pub(crate) fn decompress_to(
        &mut self,
        codec: StoreCodec,
        compressed: &[u8],
        room: &mut Vec<u8>,
        start: usize,
    ) -> Result<usize, String> {
        let len = if codec == StoreCodec::None { compressed.len() } else { block_size(codec, compressed)? };
        let end = start.checked_add(len).ok_or("a block is larger than memory")?;
        if room.len() < end {
            room.try_reserve(end - room.len()).map_err(|error| error.to_string())?;
            room.resize(end, 0);
        }
        let block = room.get_mut(start..end).unwrap_or_default();
        let data = compressed.get(4..).unwrap_or_default();
        let written = match codec {
            StoreCodec::None => {
                block.copy_from_slice(compressed);
                len
            }
            StoreCodec::Lz4 => lz4_flex::block::decompress_into(data, block).map_err(|error| error.to_string())?,
            StoreCodec::Zstd => {
                let decompressor = match &mut self.zstd {
                    Some(decompressor) => decompressor,
                    None => self.zstd.insert(Decompressor::new().map_err(|error| error.to_string())?),
                };
                decompressor.decompress_to_buffer(data, block).map_err(|error| error.to_string())?
            }
        };
        if written == len { Ok(len) } else { Err(format!("a block has {written} bytes uncompressed, it claims {len}")) }
    }
}

/// The documents of a decompressed block.
pub(crate) struct Documents<'a> {
    docs: &'a [u8],
    starts: &'a [[u8; 4]],
}

impl<'a> Documents<'a> {
    /// `expected`: documents that the skip index promises.
    pub(crate) fn open(block: &'a [u8], expected: usize) -> Result<Documents<'a>, String> {
        let (rest, count) = block.split_last_chunk::<4>().ok_or("a block ends early")?;
        let count = u32::from_le_bytes(*count) as usize;
        if count != expected {
            return Err(format!("a block has {count} documents, its skip index says {expected}"));
        }
        let split = count.checked_mul(4).and_then(|len| rest.len().checked_sub(len)).ok_or("a block ends early")?;
        let (docs, starts) = rest.split_at_checked(split).ok_or("a block ends early")?;
        Ok(Documents { docs, starts: starts.as_chunks::<4>().0 })
    }

    /// Bytes of document `index` of the block.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&'a [u8]> {
        self.docs.get(self.range(index)?)
    }

    /// Where in the block document `index` is.
    #[inline]
    pub(crate) fn range(&self, index: usize) -> Option<Range<usize>> {
        let start = u32::from_le_bytes(*self.starts.get(index)?) as usize;
        let end = self.starts.get(index + 1).map_or(self.docs.len(), |start| u32::from_le_bytes(*start) as usize);
        (start <= end && end <= self.docs.len()).then_some(start..end)
    }
}
