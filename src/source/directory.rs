//! A read-only tantivy [`Directory`] over files mapped beforehand.
//!
//! tantivy sees exactly the files and the `meta.json` that pre-flight saw: nothing is opened twice, nothing that
//! changes on disk later can reach it, and nothing can be written through it.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{DirectoryLock, FileHandle, Lock, OwnedBytes, WatchCallback, WatchHandle, WritePtr};
use tantivy_common::HasLen;

use super::claims::{Lie, block_size};
use super::meta::META;
use super::preflight::StoreCodec;

/// The mapped files of one index, by file name, and its `meta.json`.
#[derive(Clone, Debug)]
pub(super) struct MappedDirectory {
    files: Arc<BTreeMap<PathBuf, OwnedBytes>>,
    stores: Arc<BTreeMap<PathBuf, Blocks>>,
    meta: Arc<Vec<u8>>,
}

/// The blocks at the beginning of a doc store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    pub(super) codec: StoreCodec,
    /// Bytes of all blocks.
    pub(super) len: usize,
}

impl MappedDirectory {
    /// `files` by name relative to the index directory, those that are doc stores in `stores` too, `meta` as read.
    pub(super) fn new(
        files: BTreeMap<PathBuf, OwnedBytes>,
        stores: BTreeMap<PathBuf, Blocks>,
        meta: Vec<u8>,
    ) -> MappedDirectory {
        MappedDirectory { files: Arc::new(files), stores: Arc::new(stores), meta: Arc::new(meta) }
    }
}

/// A doc store that hands out no block which claims more than its bytes can give. tantivy's reader asks for each block
/// by itself, so the look at it comes when its bytes are needed anyway.
#[derive(Debug)]
struct StoreFile {
    bytes: OwnedBytes,
    blocks: Blocks,
}

impl HasLen for StoreFile {
    fn len(&self) -> usize {
        self.bytes.len()
    }
}

impl FileHandle for StoreFile {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        let bytes = self.bytes.read_bytes(range.clone())?;
        if range.end <= self.blocks.len {
            block_size(self.blocks.codec, &bytes).map_err(Lie)?;
        }
        Ok(bytes)
    }
}

fn read_only() -> io::Error {
    io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "the source is never written")
}

impl Directory for MappedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        match self.files.get(path) {
            Some(bytes) => Ok(match self.stores.get(path) {
                Some(blocks) => Arc::new(StoreFile { bytes: bytes.clone(), blocks: *blocks }),
                None => Arc::new(bytes.clone()),
            }),
            None => Err(OpenReadError::FileDoesNotExist(path.to_path_buf())),
        }
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::IoError { io_error: Arc::new(read_only()), filepath: path.to_path_buf() })
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        Ok(path == Path::new(META) || self.files.contains_key(path))
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::IoError { io_error: Arc::new(read_only()), filepath: path.to_path_buf() })
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        // `.managed.json` is absent on purpose: it only serves garbage collection, and a damaged one must not stop a split.
        if path == Path::new(META) {
            Ok(self.meta.to_vec())
        } else {
            Err(OpenReadError::FileDoesNotExist(path.to_path_buf()))
        }
    }

    fn atomic_write(&self, _path: &Path, _data: &[u8]) -> io::Result<()> {
        Err(read_only())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, _lock: &Lock) -> Result<DirectoryLock, LockError> {
        Err(LockError::IoError(Arc::new(read_only())))
    }

    fn watch(&self, _watch_callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}
