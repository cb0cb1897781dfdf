//! Writing a sorted string table of terms.
//!
//! Format (tantivy-sstable 0.27, version 3): blocks; an empty block's length, 0 as u32 LE; an index of the blocks, if they
//! are several; its length, its offset and the number of terms as u64 LE; 3 as u32 LE. A block is its length as u32 LE,
//! that counts the byte after it: 1 if a zstd frame follows, 0 if the terms do. A term is the bytes that it shares with
//! the one before, their number and that of its own as two halves of a byte where both are below 16, else as a byte 1 and
//! two VInts (seven bits a byte, low ones first, the top bit set on all but the last byte), then its own bytes. The
//! first term of a block shares nothing.
//!
//! The bytes are those of tantivy's writer, which makes a zstd context for every block: that takes longer than using it.

use std::io::{self, Write};
use std::ops::Range;

use tantivy_sstable::SSTableIndexBuilder;

const VERSION: u32 = 3;
/// A block ends with the term that makes it longer.
const BLOCK: usize = 4_000;
/// Blocks up to this length are not compressed.
const PLAIN: usize = 2_048;
const LEVEL: i32 = 3;

/// Compresses the blocks of any number of tables, one after the other.
pub(super) struct BlockPacker {
    zstd: zstd::bulk::Compressor<'static>,
    packed: Vec<u8>,
}

impl BlockPacker {
    pub(super) fn new() -> io::Result<BlockPacker> {
        Ok(BlockPacker { zstd: zstd::bulk::Compressor::new(LEVEL)?, packed: Vec::new() })
    }

    /// `block` compressed; `None` if that is not shorter, or not worth trying.
    fn pack(&mut self, block: &[u8]) -> io::Result<Option<&[u8]>> {
        if block.len() <= PLAIN {
            return Ok(None);
        }
        self.packed.clear();
        self.packed.reserve(zstd::zstd_safe::compress_bound(block.len()));
        self.zstd.compress_to_buffer(block, &mut self.packed)?;
        Ok(Some(self.packed.as_slice()).filter(|packed| packed.len() < block.len()))
    }
}

/// One table being written.
pub(super) struct TableWriter<W> {
    sink: W,
    written: usize,
    block: Vec<u8>,
    /// The newest term; nothing at the start of a block.
    last: Vec<u8>,
    num_terms: u64,
    /// Ordinal of the first term of the open block.
    first: u64,
    index: SSTableIndexBuilder,
    /// The block before, which enters the index when the term after it is known.
    closed: Option<ClosedBlock>,
}

struct ClosedBlock {
    /// At least its last term, less than the next one.
    bound: Vec<u8>,
    range: Range<usize>,
    first: u64,
}

impl<W: Write> TableWriter<W> {
    pub(super) fn new(sink: W) -> TableWriter<W> {
        TableWriter {
            sink,
            written: 0,
            block: Vec::with_capacity(2 * BLOCK),
            last: Vec::new(),
            num_terms: 0,
            first: 0,
            index: SSTableIndexBuilder::default(),
            closed: None,
        }
    }

    /// Adds a term. Terms ascend strictly.
    pub(super) fn insert(&mut self, term: &[u8], packer: &mut BlockPacker) -> io::Result<()> {
        let shared = self.last.iter().zip(term).take_while(|(left, right)| left == right).count();
        let own = term.get(shared..).unwrap_or_default();
        let ascends = match &self.closed {
            Some(closed) => closed.bound.as_slice() < term,
            None => self.num_terms == 0 || self.last.get(shared) < own.first(),
        };
        if !ascends {
            let problem = format!("term \"{}\" does not follow the one before", term.escape_ascii());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        if let Some(mut closed) = self.closed.take() {
            shorten(&mut closed.bound, term);
            self.index_block(closed);
        }
        match (u8::try_from(shared), u8::try_from(own.len())) {
            (Ok(shared @ ..16), Ok(own @ ..16)) => self.block.push(shared | own << 4),
            _ => {
                self.block.push(1);
                push_vint(shared, &mut self.block);
                push_vint(own.len(), &mut self.block);
            }
        }
        self.block.extend_from_slice(own);
        self.last.truncate(shared);
        self.last.extend_from_slice(own);
        self.num_terms += 1;
        if self.block.len() > BLOCK { self.close_block(packer) } else { Ok(()) }
    }

    fn close_block(&mut self, packer: &mut BlockPacker) -> io::Result<()> {
        let start = self.written;
        let (kind, bytes) = match packer.pack(&self.block)? {
            Some(packed) => (1, packed),
            None => (0, self.block.as_slice()),
        };
        let len = u32::try_from(bytes.len() + 1).map_err(io::Error::other)?;
        self.sink.write_all(&len.to_le_bytes())?;
        self.sink.write_all(&[kind])?;
        self.sink.write_all(bytes)?;
        self.written += 5 + bytes.len();
        self.block.clear();
        let bound = std::mem::take(&mut self.last);
        self.closed = Some(ClosedBlock { bound, range: start..self.written, first: self.first });
        self.first = self.num_terms;
        Ok(())
    }

    fn index_block(&mut self, ClosedBlock { bound, range, first }: ClosedBlock) {
        self.index.add_block(&bound, range, first);
    }

    /// Writes what is left, the index and the numbers.
    pub(super) fn finish(mut self, packer: &mut BlockPacker) -> io::Result<()> {
        if !self.block.is_empty() {
            self.close_block(packer)?;
        }
        if let Some(closed) = self.closed.take() {
            self.index_block(closed);
        }
        self.sink.write_all(&0u32.to_le_bytes())?;
        let offset = self.written as u64 + 4;
        let index_len = self.index.serialize(&mut self.sink)?;
        for number in [index_len, offset, self.num_terms] {
            self.sink.write_all(&number.to_le_bytes())?;
        }
        self.sink.write_all(&VERSION.to_le_bytes())
    }
}

/// Makes `bound` as short as it can easily be, not below itself and below `next`.
fn shorten(bound: &mut Vec<u8>, next: &[u8]) {
    let shared = bound.iter().zip(next).take_while(|(left, right)| left == right).count();
    let end = bound.len();
    let place = bound.iter_mut().enumerate().take(end).skip(shared + 1).find(|(_, byte)| **byte != u8::MAX);
    // Of the last byte nothing is saved.
    if let Some((at, byte)) = place {
        *byte += 1;
        bound.truncate(at + 1);
    }
}

fn push_vint(mut value: usize, out: &mut Vec<u8>) {
    loop {
        let low = value.to_le_bytes()[0] & 0x7f;
        value >>= 7;
        if value == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tantivy_sstable::{SSTable, VoidSSTable};

    use super::*;

    /// As tantivy writes them.
    fn expected(terms: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = VoidSSTable::writer(&mut bytes);
        terms.iter().for_each(|term| writer.insert(term, &()).unwrap());
        writer.finish().unwrap();
        bytes
    }

    fn written(terms: &[Vec<u8>], packer: &mut BlockPacker) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = TableWriter::new(&mut bytes);
        terms.iter().for_each(|term| writer.insert(term, packer).unwrap());
        writer.finish(packer).unwrap();
        bytes
    }

    fn check(mut terms: Vec<Vec<u8>>, packer: &mut BlockPacker) {
        terms.sort();
        terms.dedup();
        assert!(written(&terms, packer) == expected(&terms), "{} terms", terms.len());
    }

    #[test]
    fn the_bytes_are_those_of_tantivys_writer() {
        let mut packer = BlockPacker::new().unwrap();
        let scatter = |n: u32| n.wrapping_mul(2_654_435_761);
        for len in [0, 1, 2, 60, 1_000, 20_000] {
            check((0..len).map(|n| format!("{:08x}{n:08x}", scatter(n)).into_bytes()).collect(), &mut packer);
            check((0..len).map(|n| format!("word {n}").into_bytes()).collect(), &mut packer);
            // Bytes that cannot be counted up when a bound is shortened, and that do not compress.
            check(
                (0..len).map(|n| [&[0xff; 3][..], &scatter(n).to_be_bytes(), &[0xff; 9]].concat()).collect(),
                &mut packer,
            );
            let noise = |n: u32| (0..40).map(|at| (scatter(n * 41 + at) >> 9) as u8).collect();
            check((0..len).map(noise).collect(), &mut packer);
        }
        // Lengths around the border between the two ways to write them, and a term longer than a block.
        let long = |n: usize| [vec![b'a'; n], vec![b'b'; 40 - n.min(40)]].concat();
        check((0..60).map(long).chain([vec![], vec![b'a'; 9_000], vec![b'c'; 300]]).collect(), &mut packer);
    }

    proptest! {
        #[test]
        fn of_any_terms_too(terms in prop::collection::vec(prop::collection::vec(prop_oneof![Just(0u8), Just(255), any::<u8>()], 0..60), 0..400)) {
            check(terms, &mut BlockPacker::new().unwrap());
        }
    }

    #[test]
    fn terms_that_do_not_ascend_are_refused() {
        let mut packer = BlockPacker::new().unwrap();
        for terms in [["b", "a"], ["a", "a"], ["ab", "a"], ["a", ""], ["", ""]] {
            let mut writer = TableWriter::new(Vec::new());
            writer.insert(terms[0].as_bytes(), &mut packer).unwrap();
            let error = writer.insert(terms[1].as_bytes(), &mut packer).unwrap_err();
            assert!(error.to_string().contains("does not follow"), "{terms:?}");
        }
        // Behind a block.
        let mut writer = TableWriter::new(Vec::new());
        writer.insert(&[b'b'; 5_000], &mut packer).unwrap();
        assert!(writer.insert(&[b'b'; 5_000], &mut packer).is_err());
        assert!(writer.insert(b"a", &mut packer).is_err());
        writer.insert(b"c", &mut packer).unwrap();
    }
}
