//! Compressing store blocks; `source/store.rs` draws them, and decompresses.

use tantivy::store::Compressor;

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
