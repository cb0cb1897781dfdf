//! Compressing store blocks; `source/store.rs` draws them, and decompresses.

use std::io;

use tantivy::store::Compressor;

/// Compresses blocks, one after the other, into the same room.
pub(super) struct BlockCompressor {
    compressor: Compressor,
    room: Vec<u8>,
    /// Kept, since making one takes longer than using it (see `source/claims/terms.rs`).
    zstd: Option<zstd::bulk::Compressor<'static>>,
}

impl BlockCompressor {
    pub(super) fn new(compressor: Compressor) -> BlockCompressor {
        BlockCompressor { compressor, room: Vec::new(), zstd: None }
    }

    /// `block` as it stands in the file.
    pub(super) fn compress(&mut self, block: &[u8]) -> io::Result<&[u8]> {
        let BlockCompressor { compressor, room, zstd } = self;
        let bound = match compressor {
            Compressor::None => {
                room.clear();
                room.extend_from_slice(block);
                return Ok(room);
            }
            Compressor::Lz4 => lz4_flex::block::get_maximum_output_size(block.len()),
            Compressor::Zstd(_) => zstd::zstd_safe::compress_bound(block.len()),
        };
        let len = u32::try_from(block.len()).map_err(io::Error::other)?;
        room.resize(room.len().max(4 + bound), 0);
        let Some((head, body)) = room.split_first_chunk_mut::<4>() else { return Ok(&[]) };
        *head = len.to_le_bytes();
        let written = match compressor {
            Compressor::None => 0,
            Compressor::Lz4 => lz4_flex::block::compress_into(block, body).map_err(io::Error::other)?,
            Compressor::Zstd(settings) => {
                let level = settings.compression_level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL);
                let zstd = match zstd {
                    Some(zstd) => zstd,
                    None => zstd.insert(zstd::bulk::Compressor::new(level)?),
                };
                zstd.compress_to_buffer(block, body)?
            }
        };
        Ok(room.get(..4 + written).unwrap_or_default())
    }

    /// Codec id in the footer of a store.
    pub(super) fn id(&self) -> u8 {
        match self.compressor {
            Compressor::None => 0,
            Compressor::Lz4 => 1,
            Compressor::Zstd(_) => 4,
        }
    }
}
