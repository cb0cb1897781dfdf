//! Compressing and decompressing store blocks. A compressed block is its uncompressed length as u32 LE, then an LZ4
//! block or a zstd frame; without compression it is the block itself.

use tantivy::store::Compressor;

use crate::source::{StoreCodec, block_size};

/// Decompresses `compressed` into `block`.
pub(super) fn decompress(codec: StoreCodec, compressed: &[u8], block: &mut Vec<u8>) -> Result<(), String> {
    block.clear();
    if codec == StoreCodec::None {
        block.extend_from_slice(compressed);
        return Ok(());
    }
    let len = block_size(codec, compressed)?;
    let data = compressed.get(4..).unwrap_or_default();
    block.try_reserve(len).map_err(|error| error.to_string())?;
    block.resize(len, 0);
    let written = match codec {
        StoreCodec::Lz4 => lz4_flex::block::decompress_into(data, block).map_err(|error| error.to_string())?,
        _ => zstd::bulk::decompress_to_buffer(data, block.as_mut_slice()).map_err(|error| error.to_string())?,
    };
    if written == len { Ok(()) } else { Err(format!("a block has {written} bytes uncompressed, it claims {len}")) }
}

/// Compresses `block` into `compressed`.
pub(super) fn compress(compressor: Compressor, block: &[u8], compressed: &mut Vec<u8>) -> std::io::Result<()> {
    compressed.clear();
    let bound = match compressor {
        Compressor::None => {
            compressed.extend_from_slice(block);
            return Ok(());
        }
        Compressor::Lz4 => lz4_flex::block::get_maximum_output_size(block.len()),
        Compressor::Zstd(_) => zstd::zstd_safe::compress_bound(block.len()),
    };
    let len = u32::try_from(block.len()).map_err(std::io::Error::other)?;
    compressed.resize(4 + bound, 0);
    let Some((head, body)) = compressed.split_first_chunk_mut::<4>() else { return Ok(()) };
    *head = len.to_le_bytes();
    let written = match compressor {
        Compressor::None => 0,
        Compressor::Lz4 => lz4_flex::block::compress_into(block, body).map_err(std::io::Error::other)?,
        Compressor::Zstd(zstd) => {
            let level = zstd.compression_level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL);
            zstd::bulk::compress_to_buffer(block, body, level)?
        }
    };
    compressed.truncate(4 + written);
    Ok(())
}

/// Codec id in the footer of a store.
pub(super) fn id(compressor: Compressor) -> u8 {
    match compressor {
        Compressor::None => 0,
        Compressor::Lz4 => 1,
        Compressor::Zstd(_) => 4,
    }
}
