//! Encoded lists of one piece, one after the other: short ones are copied together, long ones stay as they were encoded.
//!
//! A term that most documents have takes some bytes per document of the source. Copied, or in a buffer that doubles when
//! it is full, it would take them twice; kept for the next term, until the end.

use std::io::{self, Write};

/// Bytes of a chunk. Shorter lists are copied.
const CHUNK: usize = 64 << 10;

/// Bytes of a list that grows, in chunks.
#[derive(Default)]
pub(super) struct Chunks {
    full: Vec<Vec<u8>>,
    open: Vec<u8>,
}

impl Chunks {
    #[inline]
    pub(super) fn extend_from_slice(&mut self, bytes: &[u8]) {
        if self.open.len() + bytes.len() > CHUNK {
            self.next_chunk();
        }
        self.open.extend_from_slice(bytes);
    }

    #[cold]
    fn next_chunk(&mut self) {
        self.full.push(std::mem::replace(&mut self.open, Vec::with_capacity(CHUNK)));
    }
}

/// Lists of a piece.
#[derive(Default)]
pub(super) struct Lists {
    bytes: Vec<u8>,
    /// Long ones: how many of `bytes` come before, and their chunks.
    long: Vec<(usize, Vec<Vec<u8>>)>,
    long_len: usize,
}

impl Lists {
    pub(super) fn len(&self) -> usize {
        self.bytes.len() + self.long_len
    }

    /// The end, to append to.
    #[inline]
    pub(super) fn end(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Appends what `chunks` has, and empties it.
    #[inline]
    pub(super) fn take(&mut self, chunks: &mut Chunks) {
        if chunks.full.is_empty() {
            self.bytes.extend_from_slice(&chunks.open);
            chunks.open.clear();
            return;
        }
        let mut full = std::mem::take(&mut chunks.full);
        full.push(std::mem::take(&mut chunks.open));
        self.long_len += full.iter().map(Vec::len).sum::<usize>();
        self.long.push((self.bytes.len(), full));
    }

    pub(super) fn write_to(&self, sink: &mut impl Write) -> io::Result<()> {
        let mut written = 0;
        for (before, chunks) in &self.long {
            sink.write_all(self.bytes.get(written..*before).unwrap_or_default())?;
            chunks.iter().try_for_each(|chunk| sink.write_all(chunk))?;
            written = *before;
        }
        sink.write_all(self.bytes.get(written..).unwrap_or_default())
    }

    /// Empties it and keeps the buffer of short lists.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.long.clear();
        self.long_len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_out_as_they_went_in_whatever_their_lengths() {
        let (mut lists, mut chunks) = (Lists::default(), Chunks::default());
        for _ in 0..2 {
            let mut expected: Vec<u8> = Vec::new();
            for len in [0, 1, CHUNK - 1, CHUNK, 3, CHUNK + 1, 5 * CHUNK, 0, 10 * CHUNK + 7, 4] {
                let list: Vec<u8> = (0..len).map(|at| (at * 7 + len) as u8).collect();
                list.chunks(500).for_each(|some| chunks.extend_from_slice(some));
                lists.end().extend_from_slice(b"before");
                lists.take(&mut chunks);
                expected.extend_from_slice(b"before");
                expected.extend_from_slice(&list);
                assert_eq!(lists.len(), expected.len());
            }
            let mut written = Vec::new();
            lists.write_to(&mut written).unwrap();
            assert!(written == expected);
            assert!(lists.bytes.len() < 5 * CHUNK, "long lists are not copied");
            lists.clear();
            assert_eq!(lists.len(), 0);
        }
    }
}
