//! Encoded lists of one piece, one after the other: short ones are copied together, long ones stay as they were encoded.
//!
//! A term that most documents have takes some bytes per document of the source. Copied, or in a buffer that doubles when
//! it is full, it would take them twice; kept for the next term of one output or one thread, as often as there are such.
//! So what long lists are made of goes round among all of them.

use std::io::{self, Write};
use std::sync::Arc;

use crossbeam::queue::SegQueue;

/// Bytes of a chunk. Shorter lists are copied.
const CHUNK: usize = 64 << 10;

/// Chunks that no list has.
#[derive(Clone, Default)]
pub(super) struct SpareChunks(Arc<SegQueue<Vec<u8>>>);

impl SpareChunks {
    fn take(&self) -> Vec<u8> {
        self.0.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK))
    }

    /// Gives them to the system: a later field may need other things.
    pub(super) fn clear(&self) {
        while self.0.pop().is_some() {}
    }

    fn give_back(&self, mut chunk: Vec<u8>) {
        if chunk.capacity() >= CHUNK {
            chunk.clear();
            self.0.push(chunk);
        }
    }
}

/// Bytes of a list that grows, in chunks.
#[derive(Default)]
pub(super) struct Chunks {
    spare: SpareChunks,
    full: Vec<Vec<u8>>,
    open: Vec<u8>,
}

impl Chunks {
    pub(super) fn new(spare: SpareChunks) -> Chunks {
        Chunks { spare, ..Chunks::default() }
    }

    #[inline]
    pub(super) fn extend_from_slice(&mut self, bytes: &[u8]) {
        if self.open.len() + bytes.len() > CHUNK {
            self.next_chunk();
        }
        self.open.extend_from_slice(bytes);
    }

    #[cold]
    fn next_chunk(&mut self) {
        self.full.push(std::mem::replace(&mut self.open, self.spare.take()));
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
        // One goes and one comes: what grew on its own would go round ever after.
        chunks.next_chunk();
        let full = std::mem::take(&mut chunks.full);
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

    /// Empties it, keeps the buffer of short lists, and gives back what long ones had.
    pub(super) fn clear(&mut self, spare: &SpareChunks) {
        self.bytes.clear();
        self.long.drain(..).flat_map(|(_, chunks)| chunks).for_each(|chunk| spare.give_back(chunk));
        self.long_len = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_out_as_they_went_in_whatever_their_lengths() {
        let spare = SpareChunks::default();
        let (mut lists, mut chunks) = (Lists::default(), Chunks::new(spare.clone()));
        let mut made = 0;
        for _ in 0..9 {
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
            lists.clear(&spare);
            assert_eq!(lists.len(), 0);
            // Those that `chunks` grew itself come to them once.
            assert!(made == 0 || spare.0.len() <= made, "{} instead of {made} chunks", spare.0.len());
            made = spare.0.len();
        }
    }
}
