//! The terms of a column's dictionary, front to back.
//!
//! One decompressor serves all blocks of a dictionary: making one costs as much as decompressing several blocks, on a
//! virtual machine more (it asks the processor for its features, and the hypervisor answers). Memory: one block.

use std::path::{Path, PathBuf};

use tantivy::directory::OwnedBytes;
use tantivy_sstable::{Dictionary, VoidSSTable};
use zstd::bulk::Decompressor;

use super::table::{Block, check_terms, next_block, next_key};
use crate::error::{Error, Result};
use crate::source::bytes::Bytes;

/// A dictionary being read.
pub(crate) struct ColumnTerms {
    path: PathBuf,
    column: String,
    blocks: OwnedBytes,
    /// Where the next block begins.
    next: usize,
    /// The block being read, uncompressed.
    block: Vec<u8>,
    /// Where its next key begins.
    at: usize,
    decompressor: Option<Decompressor<'static>>,
    key: Vec<u8>,
    /// Terms read so far.
    count: u64,
}

/// The terms of the dictionary of `column`, in the file at `path`, from the first on, after a look at its blocks.
///
/// # Errors
/// [`Error::Corrupt`] where a block claims more than it can hold, [`Error::Io`].
pub(crate) fn terms(path: &Path, column: &str, dictionary: &Dictionary<VoidSSTable>) -> Result<ColumnTerms> {
    check_terms(path, column, dictionary)?;
    let blocks = dictionary.sstable_slice.read_bytes().map_err(Error::io("read a dictionary of", path))?;
    Ok(ColumnTerms {
        path: path.to_path_buf(),
        column: column.replace('\u{1}', "."),
        blocks,
        next: 0,
        block: Vec::new(),
        at: 0,
        decompressor: None,
        key: Vec::new(),
        count: 0,
    })
}

impl ColumnTerms {
    /// Moves to the next term; false at the end.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where a block cannot be decompressed or its keys do not fit it.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool> {
        while self.at == self.block.len() {
            if !self.next_block()? {
                return Ok(false);
            }
        }
        let mut keys = Bytes::new(self.block.get(self.at..).unwrap_or_default());
        if next_key(&mut keys, &mut self.key).is_none() {
            return Err(self.damaged(&format!("a key, the {}th, that is longer than its bytes", self.count)));
        }
        self.at = self.block.len() - keys.len();
        self.count += 1;
        Ok(true)
    }

    /// The current term.
    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// Ordinal of the current term.
    #[inline]
    pub(crate) fn ordinal(&self) -> u64 {
        self.count.saturating_sub(1)
    }

    fn next_block(&mut self) -> Result<bool> {
        let found = match next_block(&self.blocks, self.next) {
            Ok(None) => return Ok(false),
            Ok(Some(block)) => {
                let end = block.range.end;
                read(&block, &mut self.decompressor, &mut self.block).map(|()| end)
            }
            Err(problem) => Err(problem),
        };
        match found {
            Ok(end) => {
                (self.next, self.at) = (end, 0);
                Ok(true)
            }
            Err(problem) => Err(self.damaged(&problem)),
        }
    }

    fn damaged(&self, problem: &str) -> Error {
        Error::corrupt(&self.path, format!("the dictionary of column {:?} has {problem}", self.column))
    }
}

/// The data of `block`, uncompressed.
fn read(block: &Block<'_>, kept: &mut Option<Decompressor<'static>>, to: &mut Vec<u8>) -> Result<(), String> {
    to.clear();
    let Some(size) = block.size() else {
        to.extend_from_slice(block.data());
        return Ok(());
    };
    let cannot = |error: std::io::Error| format!("a block at byte {} ({error})", block.range.start);
    let size = usize::try_from(size).map_err(|_| "a block larger than memory")?;
    to.try_reserve(size).map_err(|_| "a block larger than memory")?;
    let decompressor = match kept {
        Some(decompressor) => decompressor,
        None => kept.insert(Decompressor::new().map_err(cannot)?),
    };
    decompressor.decompress_to_buffer(block.data(), to).map(|_| ()).map_err(cannot)
}

#[cfg(test)]
mod tests {
    use tantivy::HasLen;
    use tantivy_sstable::SSTable;

    use super::*;

    fn dictionary(terms: &[String]) -> (Dictionary<VoidSSTable>, Vec<u8>) {
        let mut writer = VoidSSTable::writer(Vec::new());
        for term in terms {
            writer.insert(term, &()).unwrap();
        }
        let bytes = writer.finish().unwrap();
        (Dictionary::from_bytes(OwnedBytes::new(bytes.clone())).unwrap(), bytes)
    }

    fn read_all(dictionary: &Dictionary<VoidSSTable>) -> Result<Vec<(u64, Vec<u8>)>> {
        let mut terms = terms(Path::new("x.fast"), "c", dictionary)?;
        let mut found = Vec::new();
        while terms.advance()? {
            found.push((terms.ordinal(), terms.key().to_vec()));
        }
        Ok(found)
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the table was just written")]
    fn terms_and_ordinals_are_those_of_tantivys_own_stream() {
        // Short tables are not compressed, long keys need long numbers, and several blocks share one decompressor.
        let long = "x".repeat(3_000);
        let shapes: [Vec<String>; 4] = [
            vec![],
            vec![String::new(), "a".to_owned()],
            (0..30_000).map(|n| format!("some term that repeats itself {n:08}")).collect(),
            (0..50).map(|n| format!("{long}{n:02}")).collect(),
        ];
        for terms in &shapes {
            let (dictionary, _) = dictionary(terms);
            let mut stream = dictionary.stream().unwrap();
            let mut expected = Vec::new();
            while stream.advance() {
                expected.push((stream.term_ord(), stream.key().to_vec()));
            }
            assert_eq!(expected.len(), terms.len());
            assert_eq!(read_all(&dictionary).unwrap(), expected);
        }
    }

    #[test]
    fn a_damaged_block_is_an_error_that_names_file_and_column_wherever_it_is() {
        let terms: Vec<String> = (0..3_000u32).map(|n| format!("{:x}", n.wrapping_mul(0x9e37_79b9))).collect();
        let mut terms = terms;
        terms.sort();
        let (dictionary, bytes) = dictionary(&terms);
        let blocks = dictionary.sstable_slice.len();
        let (mut refused, mut changed) = (0, 0);
        for at in (0..blocks).step_by(7) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            let Ok(dictionary) = Dictionary::from_bytes(OwnedBytes::new(damaged)) else { continue };
            match read_all(&dictionary) {
                Err(error) => {
                    refused += 1;
                    let text = error.to_string();
                    assert!(text.contains("x.fast") && text.contains("column \"c\""), "{text}");
                }
                Ok(_) => changed += 1,
            }
        }
        assert!(refused > 10 && refused + changed > 100, "{refused} {changed}");
    }
}
