//! A `.fast` file being written: columns one after the other, then the table that finds them.
//!
//! Format (tantivy-columnar 0.27, `src/columnar/format_version.rs`, `writer/serializer.rs`): the bytes of the columns;
//! a sorted string table from key (name, a zero byte, type code) to byte range; its length as u64 LE; the number of
//! rows as u32 LE; version 2 as u32 LE; four magic bytes. Columns must come in the order of their keys, which is that
//! of (name, category). Memory: the table, a few dozen bytes per column.

use std::io::Write;

use tantivy::columnar::ColumnType;
use tantivy_sstable::value::RangeValueWriter;
use tantivy_sstable::{Dictionary, RangeSSTable, Writer};

use super::super::file::FileWriter;
use super::super::output::{ChildFiles, WrittenFile};
use super::union::readable;
use crate::error::{Error, Result};
use crate::source::COLUMNAR_MAGIC;

const VERSION: u32 = 2;

/// The `.fast` file of one output.
pub(super) struct ColumnarFile {
    name: String,
    child: usize,
    num_docs: u32,
    file: FileWriter,
    table: Writer<Vec<u8>, RangeValueWriter>,
    last_key: Vec<u8>,
    /// Where the current column begins.
    start: u64,
}

impl ColumnarFile {
    pub(super) fn create(files: &dyn ChildFiles, child: usize, name: String, num_docs: u32) -> Result<ColumnarFile> {
        let file = FileWriter::create(files, child, name.clone())?;
        let table = Dictionary::<RangeSSTable>::builder(Vec::new()).map_err(Error::io("write", &name))?;
        Ok(ColumnarFile { name, child, num_docs, file, table, last_key: Vec::new(), start: 0 })
    }

    /// Index of the child it belongs to.
    pub(super) fn child(&self) -> usize {
        self.child
    }

    /// File name, for errors.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn num_docs(&self) -> u32 {
        self.num_docs
    }

    /// The bytes of the current column go here.
    pub(super) fn file(&mut self) -> &mut FileWriter {
        &mut self.file
    }

    /// Bytes of the current column so far.
    pub(super) fn column_len(&self) -> u64 {
        self.file.len() - self.start
    }

    /// The current column is complete; what is written from now on belongs to the next one.
    pub(super) fn end_column(&mut self, name: &str, kind: ColumnType) -> Result<()> {
        let mut key = Vec::with_capacity(name.len() + 2);
        key.extend_from_slice(name.as_bytes());
        key.extend_from_slice(&[0, kind.to_code()]);
        if key <= self.last_key {
            // Names with a zero byte could get here; the table's builder would panic on them.
            return Err(Error::corrupt(&self.name, format!("column {:?} is out of order", readable(name))));
        }
        let end = self.file.len();
        self.table.insert(&key, &(self.start..end)).map_err(Error::io("write", &self.name))?;
        self.last_key = key;
        self.start = end;
        Ok(())
    }

    /// Writes the table and closes the file.
    pub(super) fn finish(mut self) -> Result<WrittenFile> {
        let mut tail = self.table.finish().map_err(Error::io("write", &self.name))?;
        let table_len = tail.len() as u64;
        tail.extend_from_slice(&table_len.to_le_bytes());
        tail.extend_from_slice(&self.num_docs.to_le_bytes());
        tail.extend_from_slice(&VERSION.to_le_bytes());
        tail.extend_from_slice(&COLUMNAR_MAGIC);
        self.file.write_all(&tail).map_err(Error::io("write", &self.name))?;
        self.file.finish()
    }
}
