//! zstd frames: how much they say they hold, and how much they can.
//!
//! A frame is `u32 LE magic ‖ u8 descriptor ‖ [u8 window] ‖ dictionary id ‖ content size ‖ blocks ‖ [u32 checksum]`; a block
//! is three bytes (bit 0: it is the last; bits 1 and 2: its type; the others: a size) and its data. Facts from RFC 8878,
//! section 3.1.1. tantivy writes single frames, with their content size.

use crate::source::bytes::Bytes;

const MAGIC: u32 = 0xFD2F_B528;
/// Bytes that a block gives at most.
const BLOCK_MOST: u64 = 128 * 1024;
/// Bytes of the shortest block: one byte, often repeated.
const BLOCK_LEAST: u64 = 4;

/// What `frame` says it holds or, where it does not say, can hold at most.
///
/// # Errors
/// A clause on what is wrong: it is no frame, or says more than its blocks can give.
pub(super) fn content_size(frame: &[u8]) -> Result<u64, String> {
    let cut_off = || format!("of {} bytes ends within its zstd frame", frame.len());
    let mut bytes = Bytes::new(frame);
    if bytes.u32() != Some(MAGIC) {
        return Err(format!("of {} bytes is no zstd frame", frame.len()));
    }
    let descriptor = bytes.u8().ok_or_else(cut_off)?;
    let single_segment = descriptor & 0x20 != 0;
    let id = match descriptor & 3 {
        3 => 4,
        short => usize::from(short),
    };
    bytes.take(usize::from(!single_segment) + id).ok_or_else(cut_off)?;
    let said = match descriptor >> 6 {
        0 if !single_segment => None,
        0 => Some(bytes.u8().map(u64::from).ok_or_else(cut_off)?),
        1 => Some(bytes.array().map(|size| u64::from(u16::from_le_bytes(size)) + 256).ok_or_else(cut_off)?),
        2 => Some(bytes.u32().map(u64::from).ok_or_else(cut_off)?),
        _ => Some(bytes.u64().ok_or_else(cut_off)?),
    };
    let most = walk_blocks(&mut bytes).ok_or_else(cut_off)?;
    if descriptor & 4 != 0 {
        bytes.u32().ok_or_else(cut_off)?;
    }
    match said {
        _ if bytes.len() != 0 => Err(format!("of {} bytes goes on behind its zstd frame", frame.len())),
        Some(said) if said > most => {
            Err(format!("of {} bytes claims to have {said} uncompressed, {most} at most fit", frame.len()))
        }
        said => Ok(said.unwrap_or(most)),
    }
}

/// What all blocks together can give at most; `None` where they end early.
fn walk_blocks(bytes: &mut Bytes<'_>) -> Option<u64> {
    let mut most = 0u64;
    loop {
        let [low, middle, high] = bytes.array()?;
        let header = u32::from_le_bytes([low, middle, high, 0]);
        let size = header >> 3;
        let (len, gives) = match (header >> 1) & 3 {
            0 => (size, u64::from(size)),
            1 => (1, u64::from(size)),
            _ => (size, BLOCK_MOST),
        };
        bytes.take(usize::try_from(len).ok()?)?;
        most = most.checked_add(gives.min(BLOCK_MOST))?;
        if header & 1 == 1 {
            return Some(most);
        }
    }
}

/// What a frame of `len` bytes can hold at most, whatever they are.
pub(super) fn most_in(len: u64) -> u64 {
    (len / BLOCK_LEAST).saturating_mul(BLOCK_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compress(bytes: &[u8]) -> Vec<u8> {
        zstd::bulk::compress(bytes, 3).unwrap()
    }

    #[test]
    fn frames_as_the_compressor_makes_them_say_what_they_hold() {
        let noise: Vec<u8> = (0..400_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for len in [0, 1, 255, 256, 257, 65_791, 65_792, 131_072, 131_073, 400_000] {
            for bytes in [&noise[..len], &vec![7; len]] {
                let frame = compress(bytes);
                assert_eq!(content_size(&frame), Ok(len as u64), "{len}");
                assert!(len as u64 <= most_in(frame.len() as u64), "{len}");
            }
        }
    }

    #[test]
    fn a_frame_that_does_not_say_is_taken_for_what_its_blocks_can_give() {
        use std::io::Write;
        let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(&[7; 300_000]).unwrap();
        let frame = encoder.finish().unwrap();
        assert!((300_000..=4 * BLOCK_MOST).contains(&content_size(&frame).unwrap()));
    }

    #[test]
    fn sizes_that_no_blocks_can_give_are_refused_and_so_is_what_is_no_frame() {
        // Of one segment, content size in eight bytes: room for any lie.
        let sound = compress(&[7; 100_000]);
        assert_eq!(sound[4], 0xa0, "single segment, content size in four bytes");
        let lie = |size: u64| [&sound[..4], &[0xe0], &size.to_le_bytes()[..], &sound[9..]].concat();
        assert_eq!(content_size(&lie(100_000)), Ok(100_000));
        assert_eq!(content_size(&lie(131_072)), Ok(131_072));
        for size in [131_073, 1 << 32, 1 << 40, u64::MAX] {
            assert!(content_size(&lie(size)).unwrap_err().contains(&format!("claims to have {size} ")));
        }
        for len in 0..sound.len() {
            let problem = content_size(&sound[..len]).unwrap_err();
            assert!(problem.contains("ends within") || len < 4, "cut to {len}: {problem}");
        }
        assert!(content_size(&[&sound[..], &sound[..]].concat()).unwrap_err().contains("goes on behind"));
        // A frame that is skipped, and one of an old form: neither says how much it holds in a way that is checked here.
        for magic in [0x184D_2A50u32, 0xFD2F_B527] {
            assert!(
                content_size(&[&magic.to_le_bytes()[..], &[0; 12]].concat()).unwrap_err().contains("no zstd frame")
            );
        }
    }
}
