//! Where children's files go, and the proof of what was written.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::error::Result;

/// Creates files of children. Implemented by staging; tests implement it in memory.
pub trait ChildFiles: Sync {
    /// Creates the file `name` in child `child` (index, not shard number). The file must not exist.
    fn create(&self, child: usize, name: &str) -> Result<Box<dyn OutputFile>>;
}

/// A file that is being written.
pub trait OutputFile: Write + Send {
    /// Overwrites bytes that were written before.
    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// The last byte was written: flushes and makes the file durable.
    fn close(self: Box<Self>) -> io::Result<()>;
}

/// A file as it was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WrittenFile {
    /// Name within the child's directory.
    pub name: String,
    /// Length in bytes.
    pub len: u64,
    /// CRC-32 (IEEE) of all bytes that the sink accepted.
    pub crc32: u32,
    /// Whether the file is the source's own, by hard link.
    pub linked: bool,
}

/// A child segment as it was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenSegment {
    /// Index of its child.
    pub child: usize,
    /// 32 hexadecimal digits.
    pub id: String,
    /// Documents, deleted ones included.
    pub max_doc: u32,
    /// Documents that the child does not own, and the opstamp in the name of the `.del` file (link method).
    pub deletes: Option<(u32, u64)>,
    /// Its files, by name.
    pub files: Vec<WrittenFile>,
}
