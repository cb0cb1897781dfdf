//! Writing the table of term infos; `source/dictionary/infos.rs` has its layout.

use std::io::{self, Write};

use tantivy::postings::TermInfo;
use tantivy_bitpacker::{BitPacker, compute_num_bits};

use crate::source::dictionary::INFOS_BLOCK as BLOCK;

#[derive(Default)]
pub(super) struct InfosWriter {
    headers: Vec<u8>,
    packed: Vec<u8>,
    block: Vec<TermInfo>,
    num_terms: u64,
}

impl InfosWriter {
    pub(super) fn push(&mut self, info: &TermInfo) {
        self.block.push(info.clone());
        self.num_terms += 1;
        if self.block.len() == BLOCK {
            self.close_block();
        }
    }

    fn close_block(&mut self) {
        let (Some((first, rest)), Some(last)) = (self.block.split_first(), self.block.last()) else { return };
        let postings = |offset: usize| (offset - first.postings_range.start) as u64;
        let positions = |offset: usize| (offset - first.positions_range.start) as u64;
        let ends = (postings(last.postings_range.end), positions(last.positions_range.end));
        let doc_freq = rest.iter().map(|info| info.doc_freq).max().unwrap_or(0);
        let widths = [compute_num_bits(u64::from(doc_freq)), compute_num_bits(ends.0), compute_num_bits(ends.1)];
        let [doc_freq_bits, postings_bits, positions_bits] = widths;

        let len = |range: &std::ops::Range<usize>| u32::try_from(range.len()).unwrap_or(u32::MAX).to_le_bytes();
        self.headers.extend_from_slice(&(self.packed.len() as u64).to_le_bytes());
        self.headers.extend_from_slice(&first.doc_freq.to_le_bytes());
        self.headers.extend_from_slice(&(first.postings_range.start as u64).to_le_bytes());
        self.headers.extend_from_slice(&len(&first.postings_range));
        self.headers.extend_from_slice(&(first.positions_range.start as u64).to_le_bytes());
        self.headers.extend_from_slice(&len(&first.positions_range));
        self.headers.extend_from_slice(&widths);

        let mut packer = BitPacker::new();
        let packed = &mut self.packed;
        // Writing into memory cannot fail.
        let mut pack = |value: u64, bits: u8| drop(packer.write(value, bits, packed));
        for info in rest {
            pack(postings(info.postings_range.start), postings_bits);
            pack(positions(info.positions_range.start), positions_bits);
            pack(u64::from(info.doc_freq), doc_freq_bits);
        }
        pack(ends.0, postings_bits);
        pack(ends.1, positions_bits);
        drop(packer.flush(&mut self.packed));
        self.block.clear();
    }

    /// Writes the table; returns its length in bytes.
    pub(super) fn finish(&mut self, sink: &mut impl Write) -> io::Result<u64> {
        self.close_block();
        sink.write_all(&(self.headers.len() as u64).to_le_bytes())?;
        sink.write_all(&self.num_terms.to_le_bytes())?;
        sink.write_all(&self.headers)?;
        sink.write_all(&self.packed)?;
        Ok(16 + (self.headers.len() + self.packed.len()) as u64)
    }
}
