//! Directories as bytes: to prove that one did not change, or that two are the same.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A directory to work in: in memory where the machine has room there and nobody asked for another place with
/// `TMPDIR`. Writing, and above all syncing, is then free; what hardware does is not what these tests are about.
pub fn tempdir() -> tempfile::TempDir {
    const ROOM: u64 = 256 << 20;
    let memory = Path::new("/dev/shm");
    let has_room = rustix::fs::statvfs(memory).is_ok_and(|space| space.f_bavail * space.f_frsize > ROOM);
    if std::env::var_os("TMPDIR").is_none()
        && has_room
        && let Ok(dir) = tempfile::Builder::new().prefix("shardsplit-").tempdir_in(memory)
    {
        return dir;
    }
    tempfile::tempdir().unwrap()
}

/// A file or directory at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Length in bytes; 0 for directories.
    pub len: u64,
    /// CRC-32 of the content; 0 for directories.
    pub crc: u32,
    /// File mode.
    pub mode: u32,
}

/// Everything below `dir`, by path relative to it.
pub fn snapshot(dir: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut entries = BTreeMap::new();
    walk(dir, dir, &mut |path, name| {
        let metadata = fs::symlink_metadata(path).unwrap();
        let bytes = if metadata.is_file() { fs::read(path).unwrap() } else { Vec::new() };
        let entry =
            Entry { len: bytes.len() as u64, crc: crc32fast::hash(&bytes), mode: metadata.permissions().mode() };
        entries.insert(name.to_path_buf(), entry);
    });
    entries
}

/// Whether two snapshots of a source are the same; tantivy's empty lock file may have appeared.
pub fn assert_source_unchanged(before: &BTreeMap<PathBuf, Entry>, after: &BTreeMap<PathBuf, Entry>) {
    let lock = Path::new(".tantivy-writer.lock");
    for (name, entry) in after {
        match before.get(name) {
            Some(old) => assert_eq!(old, entry, "{} of the source changed", name.display()),
            None => assert!(name == lock && entry.len == 0, "{} appeared in the source", name.display()),
        }
    }
    for name in before.keys() {
        assert!(after.contains_key(name), "{} disappeared from the source", name.display());
    }
}

/// Asserts that two directories hold files of the same names and bytes.
pub fn assert_same_bytes(left: &Path, right: &Path) {
    let (left_files, right_files) = (files(left), files(right));
    assert_eq!(
        left_files.keys().collect::<Vec<_>>(),
        right_files.keys().collect::<Vec<_>>(),
        "{} and {} hold different files",
        left.display(),
        right.display()
    );
    for (name, bytes) in &left_files {
        let other = &right_files[name];
        let differs = bytes.iter().zip(other).position(|(left, right)| left != right);
        let at = differs.or_else(|| (bytes.len() != other.len()).then(|| bytes.len().min(other.len())));
        if let Some(at) = at {
            panic!(
                "{} differs between {} ({} bytes) and {} ({} bytes), first at byte {at}",
                name.display(),
                left.display(),
                bytes.len(),
                right.display(),
                other.len()
            );
        }
    }
}

fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    walk(dir, dir, &mut |path, name| {
        if path.is_file() {
            files.insert(name.to_path_buf(), fs::read(path).unwrap());
        }
    });
    files
}

/// Copies the files of an index directory into `to`, which is made.
pub fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            fs::write(&target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

fn walk(root: &Path, dir: &Path, see: &mut dyn FnMut(&Path, &Path)) {
    let mut paths: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        see(&path, path.strip_prefix(root).unwrap());
        if path.is_dir() {
            walk(root, &path, see);
        }
    }
}
