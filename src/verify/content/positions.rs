//! Position lists of terms.
//!
//! A list is: VInt n, n bit widths, n bit-packed blocks of 128 deltas, then one VInt (seven bits a byte, low ones first,
//! the top bit set on the last byte) for each delta that is left. Most lists have no block; for them tantivy's reader
//! would cost more than the list, so they are decoded here. Lists with blocks go through tantivy's reader, which does
//! not know where they end and gives what its buffer holds beyond: their length is counted here.

use std::io;
use std::ops::Range;

use tantivy::directory::OwnedBytes;
use tantivy::positions::PositionReader;

/// Positions in a block.
const BLOCK: usize = 128;

/// The positions of one term, read from front to back.
pub(super) struct PositionList<'a> {
    deltas: Deltas<'a>,
    len: u64,
    next: u64,
}

enum Deltas<'a> {
    /// VInts.
    Tail(&'a [u8]),
    Blocks(Box<PositionReader>),
}

impl<'a> PositionList<'a> {
    /// Over the bytes of one term within those of its field.
    pub(super) fn open(field: &'a OwnedBytes, range: Range<usize>) -> io::Result<PositionList<'a>> {
        let bytes = field.as_slice().get(range.clone()).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("positions {range:?} of {} bytes", field.len()))
        })?;
        let (blocks, rest) = vint(bytes).unwrap_or((0, &[]));
        if blocks == 0 {
            let len = rest.iter().filter(|byte| **byte & 0x80 != 0).count() as u64;
            return Ok(PositionList { deltas: Deltas::Tail(rest), len, next: 0 });
        }
        let Some(len) = count(blocks, rest) else {
            let problem = format!("{blocks} blocks of positions in {} bytes", bytes.len());
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        };
        Ok(PositionList { deltas: Deltas::Blocks(Box::new(PositionReader::open(field.slice(range))?)), len, next: 0 })
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// How many were read.
    pub(super) fn read(&self) -> u64 {
        self.next
    }

    /// Fills `buffer` with the next `num` deltas; `false` if there are fewer.
    pub(super) fn next(&mut self, num: u64, buffer: &mut Vec<u32>) -> bool {
        let (Some(end), Ok(len)) = (self.next.checked_add(num).filter(|end| *end <= self.len), usize::try_from(num))
        else {
            return false;
        };
        match &mut self.deltas {
            Deltas::Tail(rest) => {
                buffer.clear();
                if rest.len() as u64 == self.len - self.next {
                    // A byte each, to the end: what most are.
                    let Some((now, later)) = rest.split_at_checked(len) else { return false };
                    buffer.extend(now.iter().map(|byte| u32::from(byte & 0x7f)));
                    (*rest, self.next) = (later, end);
                    return true;
                }
                for _ in 0..num {
                    let Some((delta, left)) = vint(rest) else { return false };
                    let Ok(delta) = u32::try_from(delta) else { return false };
                    buffer.push(delta);
                    *rest = left;
                }
            }
            Deltas::Blocks(reader) => {
                // Bounded by the length of the list, and that by 128 times its bytes.
                buffer.resize(len, 0);
                if num > 0 {
                    reader.read(self.next, buffer);
                }
            }
        }
        self.next = end;
        true
    }
}

/// The VInt at the front, and what follows it.
#[inline]
fn vint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (at, &byte) in bytes.iter().take(9).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 != 0 {
            return Some((value, bytes.get(at + 1..)?));
        }
    }
    None
}

/// Positions in a list of `blocks` blocks, of which `rest` follows; `None` if they do not fit.
fn count(blocks: u64, rest: &[u8]) -> Option<u64> {
    let widths = rest.get(..usize::try_from(blocks).ok()?)?;
    let packed: usize = widths.iter().map(|&width| usize::from(width) * BLOCK / 8).sum();
    let tail = rest.get(widths.len() + packed..)?;
    Some(blocks * BLOCK as u64 + tail.iter().filter(|byte| **byte & 0x80 != 0).count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_counted_and_read_as_tantivy_writes_them() {
        let lens = [0u32, 1, 127, 128, 129, 256, 300, 20_000];
        // Of two bytes, of one, and of both.
        for (len, least, most) in
            lens.into_iter().flat_map(|len| [(len, 0, 1_000), (len, 0, 127), (len, 128, 900), (len, 100, 60)])
        {
            let mut bytes = Vec::new();
            let mut serializer = tantivy::positions::PositionSerializer::new(&mut bytes);
            let deltas: Vec<u32> = (0..len).map(|n| least + n * 37 % most).collect();
            serializer.write_positions_delta(&deltas);
            serializer.close_term().unwrap();
            serializer.close().unwrap();

            let end = bytes.len();
            bytes.extend_from_slice(&[0x81; 3]);
            let bytes = OwnedBytes::new(bytes);
            let mut list = PositionList::open(&bytes, 0..end).unwrap();
            assert_eq!(list.len(), u64::from(len));
            let (mut all, mut buffer) = (Vec::new(), Vec::new());
            for piece in deltas.chunks(77) {
                assert!(list.next(piece.len() as u64, &mut buffer));
                all.extend_from_slice(&buffer);
            }
            assert_eq!(all, deltas);
            assert_eq!(list.read(), list.len());
            assert!(!list.next(1, &mut buffer));
        }
    }

    #[test]
    fn long_numbers_may_come_first_and_bytes_without_an_end_last() {
        // 129, then 1, 2, 3; with and without a number that nothing ends.
        for bytes in [&[0x80, 1, 0x81, 0x81, 0x82, 0x83][..], &[0x80, 1, 0x81, 0x81, 0x82, 0x83, 5]] {
            let bytes = OwnedBytes::new(bytes.to_vec());
            let mut list = PositionList::open(&bytes, 0..bytes.len()).unwrap();
            assert_eq!(list.len(), 4);
            let (mut all, mut buffer) = (Vec::new(), Vec::new());
            for num in [1, 0, 2, 1] {
                assert!(list.next(num, &mut buffer));
                all.extend_from_slice(&buffer);
            }
            assert_eq!((all.as_slice(), list.read()), (&[129, 1, 2, 3][..], 4));
            assert!(!list.next(1, &mut buffer));
        }
    }

    #[test]
    fn broken_lists_have_no_positions() {
        let bytes = OwnedBytes::new(vec![0x7f; 12]);
        assert_eq!(PositionList::open(&bytes, 0..12).unwrap().len(), 0);
        assert_eq!(PositionList::open(&bytes, 5..5).unwrap().len(), 0);
        assert!(PositionList::open(&bytes, 5..13).is_err());
        // One block of width 0 promises 128, but more blocks than bytes promise nothing.
        let bytes = OwnedBytes::new(vec![0x81, 0, 0x85]);
        assert_eq!(PositionList::open(&bytes, 0..3).unwrap().len(), 129);
        assert!(PositionList::open(&bytes, 2..3).is_err());
    }
}
