//! Encoded lists of one piece, one after the other: short ones are copied together, long ones stay as they were encoded.
//!
//! A term that most documents have takes some bytes per document of the source. Copied, or in a buffer that doubles when
//! it is full, it would take them twice; kept for the next term of one output or one thread, as often as there are such.
//! So what long lists are made of goes round among all of them.

use std::io::{self, Write};
use std::sync::Arc;

use crossbeam::queue::SegQueue;

use crate::huge::Chunk;

/// Longer lists are kept in chunks, not copied.
const SHORT: usize = 64 << 10;
/// Bytes of a chunk.
const CHUNK: usize = 256 << 10;

/// Chunks that no list has.
#[derive(Clone, Default)]
pub(super) struct SpareChunks(Arc<SegQueue<Chunk>>);

impl SpareChunks {
    fn take(&self) -> Chunk {
        self.0.pop().unwrap_or_else(|| Chunk::new(CHUNK))
    }

    /// Gives them to the system: a later field may need other things.
    pub(super) fn clear(&self) {
        while self.0.pop().is_some() {}
    }

    fn give_back(&self, mut chunk: Chunk) {
        chunk.clear();
        self.0.push(chunk);
    }
}

/// Bytes of a list that grows.
#[derive(Default)]
pub(super) struct Chunks {
    spare: SpareChunks,
    /// All of it while it is short.
    short: Vec<u8>,
    long: Vec<Chunk>,
}

impl Chunks {
    pub(super) fn new(spare: SpareChunks) -> Chunks {
        Chunks { spare, ..Chunks::default() }
    }

    #[inline]
    pub(super) fn extend_from_slice(&mut self, bytes: &[u8]) {
        if self.long.is_empty() && self.short.len() + bytes.len() <= SHORT {
            self.short.extend_from_slice(bytes);
        } else {
            self.extend_long(bytes);
        }
    }

    fn extend_long(&mut self, bytes: &[u8]) {
        if self.long.is_empty() {
            let mut first = self.spare.take();
            first.append(&self.short);
            self.short.clear();
            self.long.push(first);
        }
        for bytes in bytes.chunks(CHUNK) {
            if !self.long.last_mut().is_some_and(|last| last.append(bytes)) {
                let mut next = self.spare.take();
                next.append(bytes);
                self.long.push(next);
            }
        }
    }
}

/// Lists of a piece.
#[derive(Default)]
pub(super) struct Lists {
    bytes: Vec<u8>,
    /// Long ones: how many of `bytes` come before, and their chunks.
    long: Vec<(usize, Vec<Chunk>)>,
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
        if chunks.long.is_empty() {
            self.bytes.extend_from_slice(&chunks.short);
            chunks.short.clear();
            return;
        }
        let long = std::mem::take(&mut chunks.long);
        self.long_len += long.iter().map(|chunk| chunk.as_slice().len()).sum::<usize>();
        self.long.push((self.bytes.len(), long));
    }

    pub(super) fn write_to(&self, sink: &mut impl Write) -> io::Result<()> {
        let mut written = 0;
        for (before, chunks) in &self.long {
            sink.write_all(self.bytes.get(written..*before).unwrap_or_default())?;
            chunks.iter().try_for_each(|chunk| sink.write_all(chunk.as_slice()))?;
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
            for len in [0, 1, SHORT - 1, SHORT, 3, SHORT + 1, CHUNK, CHUNK + 1, 5 * CHUNK, 0, 10 * CHUNK + 7, 4] {
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
            assert!(lists.bytes.len() < 3 * SHORT, "long lists are not copied");
            lists.clear(&spare);
            assert_eq!(lists.len(), 0);
            assert!(made == 0 || spare.0.len() == made, "{} instead of {made} chunks", spare.0.len());
            made = spare.0.len();
        }
    }
}
