//! The source's writer lock is tantivy's own, and opening changes nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::SystemTime;

use crate::small_index::SmallIndex;
use shardsplit::Error;
use shardsplit::error::ErrorKind;
use shardsplit::source::{LockMode, Source};
use tantivy::{Index, IndexWriter, TantivyDocument, TantivyError};

fn writer(dir: &Path) -> tantivy::Result<IndexWriter<TantivyDocument>> {
    Index::open_in_dir(dir)?.writer_with_num_threads(1, 20_000_000)
}

#[test]
fn a_source_that_a_writer_has_open_is_refused_until_the_writer_is_gone() {
    let index = SmallIndex::new();
    let held = writer(index.dir()).unwrap();
    let error = index.refusal();
    assert!(matches!(&error, Error::SourceLocked { path } if path.starts_with(index.dir())), "{error:?}");
    assert_eq!(error.kind(), ErrorKind::Source);
    assert!(Source::open(index.dir(), LockMode::None).is_ok(), "LockMode::None looks at no lock");
    drop(held);
    assert!(index.open().is_ok());
}

#[test]
fn no_writer_can_be_made_while_a_source_lives() {
    let index = SmallIndex::new();
    let source = index.open().unwrap();
    assert!(matches!(writer(index.dir()), Err(TantivyError::LockFailure(..))));
    // Readers do not exclude each other; the writer waits for the last of them.
    let second = index.open().unwrap();
    drop(source);
    assert!(matches!(writer(index.dir()), Err(TantivyError::LockFailure(..))));
    drop(second);
    assert!(writer(index.dir()).is_ok());
}

#[test]
fn a_lock_file_that_a_killed_writer_left_locks_nothing() {
    let index = SmallIndex::new();
    fs::write(index.dir().join(".tantivy-writer.lock"), "").unwrap();
    assert!(index.open().is_ok());
}

type Entry = (Vec<u8>, u32, u64, SystemTime);

fn snapshot(dir: &Path) -> BTreeMap<String, Entry> {
    fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            let name = entry.file_name().into_string().unwrap();
            let state = (
                fs::read(entry.path()).unwrap(),
                metadata.permissions().mode(),
                metadata.ino(),
                metadata.modified().unwrap(),
            );
            (name, state)
        })
        .collect()
}

#[test]
fn opening_leaves_at_most_an_empty_lock_file() {
    let index = SmallIndex::new();
    let lock = ".tantivy-writer.lock";
    let _ = fs::remove_file(index.dir().join(lock));
    let before = snapshot(index.dir());

    drop(Source::open(index.dir(), LockMode::None).unwrap());
    assert_eq!(snapshot(index.dir()), before);

    let source = index.open().unwrap();
    shardsplit::inspect::inspect(&source).unwrap();
    drop(source);
    let mut after = snapshot(index.dir());
    let (content, ..) = after.remove(lock).unwrap();
    assert_eq!(content, b"");
    assert_eq!(after, before);
}

#[test]
fn a_directory_that_cannot_be_written_opens_with_a_note() {
    let index = SmallIndex::new();
    fs::remove_file(index.dir().join(".tantivy-writer.lock")).unwrap();
    let set_mode = |mode| fs::set_permissions(index.dir(), fs::Permissions::from_mode(mode)).unwrap();
    set_mode(0o555);
    let writable = fs::write(index.dir().join("probe"), "").is_ok();
    let opened = if writable { None } else { Some(index.open().map(|source| source.notes().to_vec())) };
    set_mode(0o755);
    match opened {
        Some(notes) => {
            let notes = notes.unwrap();
            assert!(notes.len() == 1 && notes[0].starts_with("no lock was taken"), "{notes:?}");
        }
        None => eprintln!("SKIPPED: permissions do not bind this user, so no directory is read-only"),
    }
}

#[test]
fn symlinked_directories_and_files_are_followed() {
    let index = SmallIndex::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("link");
    std::os::unix::fs::symlink(index.dir(), &link).unwrap();
    assert_eq!(Source::open(&link, LockMode::Writer).unwrap().num_docs(), 237);

    let store = index.file("store");
    let moved = elsewhere.path().join("moved");
    fs::rename(&store, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &store).unwrap();
    assert_eq!(index.open().unwrap().num_docs(), 237);
    fs::remove_file(&moved).unwrap();
    assert!(matches!(index.refusal(), Error::MissingFiles { files, .. } if files.len() == 1), "a dangling link");
}
