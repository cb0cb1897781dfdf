//! A tantivy file being written: body, checksum, footer; and composite files, one part per field.
//!
//! Format (tantivy 0.27, `src/directory/footer.rs`, `composite_file.rs`): body, then the footer as JSON
//! `{"version":{..},"crc":n}`, its length as u32 LE, and 1337 as u32 LE. The checksum covers the body. A composite body
//! is the fields' parts, then a VInt number of parts, per part a VInt offset delta, the field id as u32 LE and a VInt
//! index (always 0), then the length of this table as u32 LE.

use std::io::{self, Write};

use crc32fast::Hasher;
use tantivy::directory::footer::Footer;
use tantivy::schema::Field;

use super::output::{ChildFiles, OutputFile, WrittenFile};
use crate::error::{Error, Result};
use crate::source::FOOTER_MAGIC;

/// Large writes cost the system less per page.
const BUFFER: usize = 256 * 1024;

/// One file of a child segment.
pub(super) struct FileWriter {
    name: String,
    sink: Box<dyn OutputFile>,
    buffer: Vec<u8>,
    /// Bytes handed to `self`, buffered ones included.
    len: u64,
    /// Checksum of everything before the newest hole, filled holes included, then of what came after it.
    parts: Vec<Part>,
}

enum Part {
    Bytes(Hasher),
    Hole { offset: u64, value: Option<[u8; 8]> },
}

/// Eight bytes that are filled in later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hole(usize);

impl FileWriter {
    pub(super) fn create(files: &dyn ChildFiles, child: usize, name: String) -> Result<FileWriter> {
        let sink = files.create(child, &name)?;
        Ok(FileWriter {
            name,
            sink,
            buffer: Vec::with_capacity(BUFFER),
            len: 0,
            parts: vec![Part::Bytes(Hasher::new())],
        })
    }

    /// Bytes written so far.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Leaves eight bytes open.
    pub(super) fn hole(&mut self) -> io::Result<Hole> {
        // What is buffered belongs to the part before the hole.
        self.flush_buffer()?;
        self.parts.push(Part::Hole { offset: self.len, value: None });
        let hole = Hole(self.parts.len() - 1);
        self.sink.write_all(&[0; 8])?;
        self.len += 8;
        self.parts.push(Part::Bytes(Hasher::new()));
        Ok(hole)
    }

    /// Fills a hole.
    pub(super) fn fill(&mut self, hole: Hole, bytes: [u8; 8]) {
        if let Some(Part::Hole { value, .. }) = self.parts.get_mut(hole.0) {
            *value = Some(bytes);
        }
    }

    fn flush_buffer(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.sink.write_all(&self.buffer)?;
            if let Some(Part::Bytes(hasher)) = self.parts.last_mut() {
                hasher.update(&self.buffer);
            }
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes the footer and closes the file.
    pub(super) fn finish(self) -> Result<WrittenFile> {
        let name = self.name.clone();
        self.finish_inner().map_err(Error::io("write", name))
    }

    fn finish_inner(mut self) -> io::Result<WrittenFile> {
        self.flush_buffer()?;
        let mut crc = Hasher::new();
        for part in &self.parts {
            match part {
                Part::Bytes(hasher) => crc.combine(hasher),
                Part::Hole { offset, value } => {
                    let value = value.unwrap_or_default();
                    self.sink.patch(*offset, &value)?;
                    let mut hasher = Hasher::new();
                    hasher.update(&value);
                    crc.combine(&hasher);
                }
            }
        }
        let footer = Footer { version: tantivy::version().clone(), crc: crc.clone().finalize() };
        let mut tail = serde_json::to_vec(&footer).map_err(io::Error::other)?;
        let json_len = u32::try_from(tail.len()).map_err(io::Error::other)?;
        tail.extend_from_slice(&json_len.to_le_bytes());
        tail.extend_from_slice(&FOOTER_MAGIC.to_le_bytes());
        self.sink.write_all(&tail)?;
        crc.update(&tail);
        self.len += tail.len() as u64;
        self.sink.close()?;
        Ok(WrittenFile { name: self.name, len: self.len, crc32: crc.finalize(), linked: false })
    }
}

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.flush_buffer()?;
        }
        if bytes.len() >= BUFFER {
            self.sink.write_all(bytes)?;
            if let Some(Part::Bytes(hasher)) = self.parts.last_mut() {
                hasher.update(bytes);
            }
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        self.len += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // Nothing waits for these bytes before `finish`; large writes are what matters.
        Ok(())
    }
}

/// The table of parts of a composite file.
#[derive(Debug, Default)]
pub(super) struct PartTable {
    parts: Vec<(Field, u64)>,
}

impl PartTable {
    /// The part of `field` begins at `offset`. Fields ascend.
    pub(super) fn begin(&mut self, field: Field, offset: u64) {
        self.parts.push((field, offset));
    }

    /// Writes the table behind the parts and closes the file.
    pub(super) fn finish(self, mut file: FileWriter) -> Result<WrittenFile> {
        let mut table = Vec::new();
        write_vint(self.parts.len() as u64, &mut table);
        let mut previous = 0;
        for (field, offset) in &self.parts {
            write_vint(offset - previous, &mut table);
            table.extend_from_slice(&field.field_id().to_le_bytes());
            write_vint(0, &mut table);
            previous = *offset;
        }
        let len = u32::try_from(table.len()).unwrap_or(u32::MAX);
        table.extend_from_slice(&len.to_le_bytes());
        file.write_all(&table).map_err(Error::io("write", &file.name))?;
        file.finish()
    }
}

/// A composite file: one part per field, ascending.
pub(super) struct CompositeWriter {
    file: FileWriter,
    table: PartTable,
}

impl CompositeWriter {
    pub(super) fn create(files: &dyn ChildFiles, child: usize, name: String) -> Result<CompositeWriter> {
        Ok(CompositeWriter { file: FileWriter::create(files, child, name)?, table: PartTable::default() })
    }

    /// Begins the part of `field`; what is written from now on belongs to it.
    pub(super) fn begin(&mut self, field: Field) -> &mut FileWriter {
        self.table.begin(field, self.file.len());
        &mut self.file
    }

    /// The file, to go on with the current part.
    pub(super) fn file(&mut self) -> &mut FileWriter {
        &mut self.file
    }

    /// Writes the table of parts and closes the file.
    pub(super) fn finish(self) -> Result<WrittenFile> {
        self.table.finish(self.file)
    }
}

/// tantivy's VInt: seven bits a byte, low ones first, the top bit set on the last byte.
pub(super) fn write_vint(mut value: u64, out: &mut Vec<u8>) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            out.push(byte | 0x80);
            return;
        }
        out.push(byte);
    }
}
