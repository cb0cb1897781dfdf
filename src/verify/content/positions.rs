//! Position lists of terms.

use std::io;

use tantivy::directory::OwnedBytes;
use tantivy::positions::PositionReader;

/// Positions in a block.
const BLOCK: usize = 128;

/// The positions of one term, read from front to back.
pub(super) struct PositionList {
    reader: PositionReader,
    len: u64,
    next: u64,
}

impl PositionList {
    /// Over the bytes of one term.
    pub(super) fn open(bytes: OwnedBytes) -> io::Result<PositionList> {
        let len = count(&bytes);
        Ok(PositionList { reader: PositionReader::open(bytes)?, len, next: 0 })
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
        // Bounded by the length of the list, and that by 128 times its bytes.
        buffer.resize(len, 0);
        if num > 0 {
            self.reader.read(self.next, buffer);
        }
        self.next = end;
        true
    }
}

/// Positions in a list: VInt n, n bit widths, n blocks of 128, then one VInt each. The reader itself does not know,
/// and gives what its buffer holds beyond the end.
fn count(list: &[u8]) -> u64 {
    let mut blocks: u64 = 0;
    let mut header: usize = 0;
    for byte in list.iter().take(9) {
        blocks |= u64::from(byte & 0x7f) << (7 * header);
        header += 1;
        if byte & 0x80 != 0 {
            break;
        }
    }
    let widths = usize::try_from(blocks).ok().and_then(|blocks| list.get(header..header.checked_add(blocks)?));
    let Some(widths) = widths else { return 0 };
    let packed: usize = widths.iter().map(|&width| usize::from(width) * BLOCK / 8).sum();
    let tail = list.get(header + widths.len() + packed..).unwrap_or(&[]);
    blocks * BLOCK as u64 + tail.iter().filter(|byte| **byte & 0x80 != 0).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_counted_and_read_as_tantivy_writes_them() {
        for len in [0u32, 1, 127, 128, 129, 256, 300, 20_000] {
            let mut bytes = Vec::new();
            let mut serializer = tantivy::positions::PositionSerializer::new(&mut bytes);
            let deltas: Vec<u32> = (0..len).map(|n| n * 37 % 1000).collect();
            serializer.write_positions_delta(&deltas);
            serializer.close_term().unwrap();
            serializer.close().unwrap();

            let mut list = PositionList::open(OwnedBytes::new(bytes)).unwrap();
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
        assert_eq!(count(&[]), 0);
        assert_eq!(count(&[0x7f; 12]), 0);
    }
}
