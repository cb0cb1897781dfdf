//! Blocks of a doc store. A compressed one is its uncompressed size as u32 LE, then an LZ4 block or a zstd frame.

use std::io;
use std::path::Path;

use tantivy::TantivyError;

use super::frame;
use crate::error::Error;
use crate::source::StoreCodec;

/// LZ4 gains at most this factor: a run of one byte.
const LZ4_MOST: usize = 255;
/// The uncompressed size before the data.
const HEADER: u64 = 4;

/// Bytes that `block`, as it stands in the file, says it has uncompressed.
///
/// # Errors
/// What is wrong: it says more than its bytes can give.
pub(crate) fn block_size(codec: StoreCodec, block: &[u8]) -> Result<usize, String> {
    if codec == StoreCodec::None {
        return Ok(block.len());
    }
    let (said, data) = block.split_first_chunk::<4>().ok_or("a compressed block ends early")?;
    let said = u32::from_le_bytes(*said) as usize;
    let most = match codec {
        StoreCodec::Zstd => {
            let size = frame::content_size(data).map_err(|problem| format!("a block {problem}"))?;
            usize::try_from(size).unwrap_or(usize::MAX)
        }
        _ => data.len().saturating_mul(LZ4_MOST).saturating_add(LZ4_MOST),
    };
    if said <= most {
        return Ok(said);
    }
    Err(format!("a block of {} bytes claims to have {said} uncompressed, {most} at most fit", block.len()))
}

/// Bytes that a block of `len` bytes can have uncompressed at most, whatever they are.
pub(in crate::source) fn most_in_block(codec: StoreCodec, len: u64) -> u64 {
    let data = len.saturating_sub(HEADER);
    match codec {
        StoreCodec::None => len,
        StoreCodec::Lz4 => data.saturating_mul(LZ4_MOST as u64).saturating_add(LZ4_MOST as u64),
        StoreCodec::Zstd => frame::most_in(data),
    }
}

/// Why a block was not handed to tantivy.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(in crate::source) struct Lie(pub(in crate::source) String);

impl From<Lie> for io::Error {
    fn from(lie: Lie) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, lie)
    }
}

/// Wraps an error of reading stored documents; a block that was not handed out is damage.
pub(crate) fn cannot_read(what: impl Into<String>, path: impl AsRef<Path>) -> impl FnOnce(TantivyError) -> Error {
    let what = what.into();
    move |error| match &error {
        TantivyError::IoError(cause) if cause.get_ref().is_some_and(|inner| inner.is::<Lie>()) => {
            Error::corrupt(path, format!("{what}: {cause}"))
        }
        _ => Error::tantivy(what, path)(error),
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "lengths in these tests are small")]
mod tests {
    use super::*;

    fn block(said: u32, data: &[u8]) -> Vec<u8> {
        [&said.to_le_bytes()[..], data].concat()
    }

    #[test]
    fn what_a_codec_can_give_passes_and_what_it_cannot_does_not() {
        for len in [1usize, 13, 1_000, 70_000, 2_000_000] {
            let bytes = vec![3u8; len];
            let mut lz4 = vec![0; lz4_flex::block::get_maximum_output_size(len)];
            let written = lz4_flex::block::compress_into(&bytes, &mut lz4).unwrap();
            lz4.truncate(written);
            let zstd = zstd::bulk::compress(&bytes, 3).unwrap();
            for (codec, data) in [(StoreCodec::Lz4, lz4), (StoreCodec::Zstd, zstd)] {
                let sound = block(len as u32, &data);
                assert_eq!(block_size(codec, &sound), Ok(len));
                assert!(len as u64 <= most_in_block(codec, sound.len() as u64), "{codec:?}, {len}");
                for said in [u32::MAX, (data.len() * 255 + 256).max(len + 1) as u32] {
                    let problem = block_size(codec, &block(said, &data)).unwrap_err();
                    assert!(problem.contains(&format!("claims to have {said} ")), "{problem}");
                }
            }
        }
        assert_eq!(block_size(StoreCodec::None, &[0xff; 9]), Ok(9));
        assert!(block_size(StoreCodec::Lz4, &[1, 2, 3]).is_err());
        assert!(block_size(StoreCodec::Zstd, &block(5, b"abcde")).unwrap_err().contains("no zstd frame"));
    }

    #[test]
    fn only_a_lie_becomes_damage() {
        let wrap = |error: io::Error| cannot_read("stored document 3", "a.store")(TantivyError::from(error));
        let lie = wrap(Lie("a block lies".to_owned()).into());
        assert!(matches!(&lie, Error::Corrupt { .. }), "{lie:?}");
        assert!(lie.to_string().contains("stored document 3: a block lies"), "{lie}");
        assert!(matches!(wrap(io::Error::other("gone")), Error::Tantivy { .. }));
    }
}
