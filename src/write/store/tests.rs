//! Our store writer against tantivy's: equal bytes, whatever the documents, codec and block size. Documents have at least
//! the byte that every stored document has; of an empty one at the end tantivy's writer would lose track.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use tantivy::directory::{Directory, FileSlice, RamDirectory};
use tantivy::store::{Compressor, StoreReader, StoreWriter as TantivyWriter, ZstdCompressor};

use super::codec::BlockCompressor;
use super::writer::{BlockCutter, Blocks, StoreWriter};
use crate::write::output::{ChildFiles, OutputFile};

/// Files in memory whose sinks take at most three bytes at a time.
#[derive(Default)]
struct InMemory(Arc<Mutex<HashMap<String, Vec<u8>>>>);

struct Sink {
    name: String,
    bytes: Vec<u8>,
    files: Arc<Mutex<HashMap<String, Vec<u8>>>>,
}

impl ChildFiles for InMemory {
    fn create(&self, _child: usize, name: &str) -> crate::Result<Box<dyn OutputFile>> {
        Ok(Box::new(Sink { name: name.to_owned(), bytes: Vec::new(), files: Arc::clone(&self.0) }))
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len().min(3);
        self.bytes.extend_from_slice(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl OutputFile for Sink {
    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let start = offset as usize;
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        self.files.lock().unwrap().insert(self.name, self.bytes);
        Ok(())
    }
}

fn compressors() -> impl Strategy<Value = Compressor> {
    prop::sample::select(vec![
        Compressor::None,
        Compressor::Lz4,
        Compressor::Zstd(ZstdCompressor::default()),
        Compressor::Zstd(ZstdCompressor { compression_level: Some(7) }),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn our_store_is_tantivys_byte_for_byte(
        docs in prop::collection::vec(prop::collection::vec(0u8..5, 1..400), 0..300),
        compressor in compressors(),
        block_size in prop_oneof![1usize..200, 1000usize..20_000],
    ) {
        let ram = RamDirectory::create();
        let mut theirs = TantivyWriter::new(ram.open_write(Path::new("s")).unwrap(), compressor, block_size, false).unwrap();
        let files = InMemory::default();
        let mut ours = StoreWriter::create(&files, 0, "s").unwrap();
        let (mut cutter, mut packer) = (BlockCutter::new(block_size), BlockCompressor::new(compressor));
        let mut packed = Blocks::default();
        for some in docs.chunks(3) {
            some.iter().for_each(|doc| theirs.store_bytes(doc).unwrap());
            cutter.cut(some.iter()).unwrap();
            // Now and then, so that there are none, one or several blocks at once.
            if some[0].len() % 3 == 0 {
                cutter.take_full(Blocks::default).compress(&mut packer, &mut packed).unwrap();
                ours.write(&packed).unwrap();
                packed.clear();
            }
        }
        theirs.close().unwrap();
        cutter.finish().unwrap().compress(&mut packer, &mut packed).unwrap();
        ours.write(&packed).unwrap();
        let (written, num_docs) = ours.finish(packer.id()).unwrap();
        prop_assert_eq!(num_docs as usize, docs.len());

        let files = files.0.lock().unwrap();
        let bytes = &files["s.store"];
        prop_assert_eq!(written.len, bytes.len() as u64);
        prop_assert_eq!(written.crc32, crc32fast::hash(bytes));
        // RamDirectory writes no footer: the body must be all of it.
        let theirs = ram.open_read(Path::new("s")).unwrap().read_bytes().unwrap();
        let (footer, body) = tantivy::directory::footer::Footer::extract_footer(FileSlice::from(bytes.clone())).unwrap();
        let body = body.read_bytes().unwrap();
        prop_assert_eq!(body.as_slice(), theirs.as_slice());
        prop_assert_eq!(footer.crc, crc32fast::hash(&body));

        let reader = StoreReader::open(FileSlice::from(body.to_vec()), 10).unwrap();
        for (number, doc) in docs.iter().enumerate() {
            let read = reader.get_document_bytes(number as u32).unwrap();
            prop_assert_eq!(read.as_slice(), doc.as_slice());
        }
    }
}
