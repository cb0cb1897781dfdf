//! Alive bitsets: which documents of a shared segment a child owns.
//!
//! Format of `<segment id>.<opstamp>.del` (tantivy 0.27, `src/fastfield/alive_bitset.rs`, `common/src/bitset.rs`): the
//! number of documents as u32 LE, then ⌈documents / 64⌉ words of u64 LE, the bit of a document 1 while it is alive and
//! 0 beyond the last document, then the footer of every tantivy file.

use std::io::Write;

use super::file::FileWriter;
use super::output::{ChildFiles, WrittenFile};
use crate::error::{Error, Result};

/// Set of alive documents of a segment; one bit each.
pub(super) struct AliveBitset {
    max_doc: u32,
    words: Vec<u64>,
}

impl AliveBitset {
    /// Nobody alive among `max_doc` documents.
    pub(super) fn none(max_doc: u32) -> AliveBitset {
        AliveBitset { max_doc, words: vec![0; max_doc.div_ceil(64) as usize] }
    }

    /// `doc` is alive. A document past the end is left out, as it would be on disk.
    #[inline]
    pub(super) fn insert(&mut self, doc: u32) {
        debug_assert!(doc < self.max_doc);
        if let Some(word) = self.words.get_mut((doc / 64) as usize) {
            *word |= 1 << (doc % 64);
        }
    }

    /// Writes the set as the file `name` of a child.
    pub(super) fn write(&self, files: &dyn ChildFiles, child: usize, name: String) -> Result<WrittenFile> {
        let mut file = FileWriter::create(files, child, name.clone())?;
        let mut body = Vec::with_capacity(4 + self.words.len() * 8);
        body.extend_from_slice(&self.max_doc.to_le_bytes());
        body.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
        file.write_all(&body).map_err(Error::io("write", name))?;
        file.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use tantivy::directory::{FileSlice, footer::Footer};
    use tantivy::fastfield::AliveBitSet;

    use super::*;
    use crate::write::OutputFile;

    /// Takes one byte at a time.
    struct OneFile(Arc<Mutex<Vec<u8>>>);

    impl Write for OneFile {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes.first());
            Ok(bytes.len().min(1))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl OutputFile for OneFile {
        fn patch(&mut self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
            unreachable!("a bitset has no holes")
        }
        fn close(self: Box<Self>) -> io::Result<()> {
            Ok(())
        }
    }

    impl ChildFiles for OneFile {
        fn create(&self, _child: usize, _name: &str) -> Result<Box<dyn OutputFile>> {
            Ok(Box::new(OneFile(self.0.clone())))
        }
    }

    #[test]
    fn tantivy_reads_back_every_bit_at_every_width() {
        for max_doc in [1u32, 63, 64, 65, 127, 128, 1000] {
            let alive = |doc: u32| doc.is_multiple_of(3) || doc + 1 == max_doc;
            let mut bits = AliveBitset::none(max_doc);
            (0..max_doc).filter(|&doc| alive(doc)).for_each(|doc| bits.insert(doc));
            let sink = OneFile(Arc::default());
            let written = bits.write(&sink, 0, "x.1.del".to_owned()).unwrap();

            let bytes = sink.0.lock().unwrap().clone();
            assert_eq!((written.len, written.crc32), (bytes.len() as u64, crc32fast::hash(&bytes)));
            assert!(!written.linked);
            let (footer, body) = Footer::extract_footer(FileSlice::from(bytes)).unwrap();
            let body = body.read_bytes().unwrap();
            assert_eq!(footer.crc, crc32fast::hash(&body));
            assert_eq!(body.len(), 4 + max_doc.div_ceil(64) as usize * 8, "{max_doc} documents");
            let read = AliveBitSet::open(body);
            assert_eq!(read.num_alive_docs(), (0..max_doc).filter(|&doc| alive(doc)).count());
            assert!((0..max_doc).all(|doc| read.is_alive(doc) == alive(doc)), "{max_doc} documents");
        }
    }
}
