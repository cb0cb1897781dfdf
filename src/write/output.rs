//! Where children's files go, and the proof of what was written.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

const COPY_BUFFER: usize = 1 << 20;

/// Creates files of children. Implemented by staging; tests implement it in memory.
pub trait ChildFiles: Sync {
    /// Creates the file `name` in child `child` (index, not shard number). The file must not exist.
    fn create(&self, child: usize, name: &str) -> Result<Box<dyn OutputFile>>;

    /// Makes `from` the file `name` of child `child`: by hard link where that can be done, else by copying its bytes.
    /// The default always copies.
    fn link(&self, child: usize, name: &str, from: &Path) -> Result<Linked> {
        self.copy(child, name, from, "hard links are not made here")
    }

    /// Gives the file `name` of child `of`, which is closed, to child `child` too, as a second name. `false`: that is not
    /// possible here, and it has to be written again. The default never shares.
    fn share(&self, of: usize, child: usize, name: &str) -> Result<bool> {
        let _ = (of, child, name);
        Ok(false)
    }

    /// Copies `from` to the file `name` of child `child`, and says that it did so for `reason`.
    fn copy(&self, child: usize, name: &str, from: &Path, reason: &str) -> Result<Linked> {
        let mut source = File::open(from).map_err(Error::io("open", from))?;
        let mut sink = self.create(child, name)?;
        let mut crc = crc32fast::Hasher::new();
        let mut buffer = vec![0; COPY_BUFFER];
        let mut len = 0;
        loop {
            let read = source.read(&mut buffer).map_err(Error::io("read", from))?;
            let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
            sink.write_all(bytes).map_err(Error::io("write", name))?;
            crc.update(bytes);
            len += bytes.len() as u64;
        }
        sink.close().map_err(Error::io("write", name))?;
        Ok(Linked::Copied { reason: reason.to_owned(), len, crc32: crc.finalize() })
    }
}

/// How a file of the source became a file of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Linked {
    /// It is the same file under a second name.
    Shared,
    /// It is a copy.
    Copied {
        /// Why it could not be linked.
        reason: String,
        /// Bytes copied.
        len: u64,
        /// CRC-32 (IEEE) of the bytes copied.
        crc32: u32,
    },
}

/// A file that is being written.
pub trait OutputFile: Write + Send {
    /// Overwrites bytes that were written before.
    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// The last byte was written. The file is durable now, or by the time the set is sealed.
    fn close(self: Box<Self>) -> io::Result<()>;

    /// Work that takes what was written so far to the disk, for another thread to do while the file grows. `None`
    /// where there is no disk, or no way.
    fn sync_behind(&self) -> Option<SyncBehind> {
        None
    }
}

/// A sync that can be done by any thread.
pub type SyncBehind = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// A file as it was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WrittenFile {
    /// Name within the child's directory.
    pub name: String,
    /// Length in bytes.
    pub len: u64,
    /// CRC-32 (IEEE) of all its bytes: of those that the sink accepted, or, for a linked file, as its own footer says
    /// (the footer has the CRC of the body; with the footer's bytes it makes the CRC of the file, no other byte read).
    pub crc32: u32,
    /// Whether the file is the source's own, by hard link.
    pub linked: bool,
}

/// A child segment as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenSegment {
    /// Index of its child.
    pub child: usize,
    /// 32 hexadecimal digits.
    pub id: String,
    /// Index of the source segment whose files it has (link method).
    pub linked: Option<usize>,
    /// Documents, deleted ones included.
    pub max_doc: u32,
    /// Documents that the child does not own, and the opstamp in the name of the `.del` file (link method).
    pub deletes: Option<(u32, u64)>,
    /// Its files, by name.
    pub files: Vec<WrittenFile>,
    /// Its hash sidecar, which tantivy does not know of.
    pub sidecar: Option<WrittenFile>,
}

impl WrittenSegment {
    /// Its files and its sidecar.
    pub fn all_files(&self) -> impl Iterator<Item = &WrittenFile> {
        self.files.iter().chain(&self.sidecar)
    }

    /// Documents that the child owns.
    #[must_use]
    pub fn num_docs(&self) -> u32 {
        self.max_doc.saturating_sub(self.deletes.map_or(0, |(deleted, _)| deleted))
    }
}
