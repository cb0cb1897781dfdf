//! What cannot be split is refused at opening, with an error of the right kind that names the file.

use crate::small_index;
use std::fs;

use crate::small_index::{EXTENSIONS, SmallIndex, assert_corrupt, assert_unsupported, set_u32};
use serde_json::json;
use shardsplit::error::ErrorKind;
use shardsplit::source::{LockMode, Source, StoreCodec};
use shardsplit::{Error, Result};

#[test]
fn a_sound_index_opens_without_notes() {
    let index = SmallIndex::new();
    let source = index.open().unwrap();
    assert_eq!((source.num_docs(), source.num_deleted(), source.segments().len()), (237, 3, 2));
    assert_eq!(source.notes(), &[] as &[String]);
    for segment in source.segments() {
        assert_eq!(segment.written_by().index_format, 7);
        assert_eq!((segment.store().version, segment.store().codec), (2, StoreCodec::Lz4));
    }
}

#[test]
fn all_missing_files_of_all_segments_are_named_at_once() {
    let index = SmallIndex::new();
    let files = index.files();
    let gone: Vec<String> = files
        .iter()
        .filter(|path| ["pos", "store", "del"].iter().any(|extension| path.extension().unwrap() == *extension))
        .map(|path| {
            fs::remove_file(path).unwrap();
            path.file_name().unwrap().to_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(gone.len(), 5);
    match index.refusal() {
        Error::MissingFiles { files, .. } => assert_eq!(files, gone),
        error => panic!("{error:?}"),
    }
}

#[test]
fn files_that_are_empty_or_cut_off_are_damage() {
    for extension in EXTENSIONS {
        let index = SmallIndex::new();
        let path = index.file(extension);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, b"").unwrap();
        assert_corrupt(&index, &path, "empty");
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert_corrupt(&index, &path, "cut off");
        fs::write(&path, &bytes[bytes.len() - 20..]).unwrap();
        assert_corrupt(&index, &path, "its footer claims");
    }
}

#[test]
fn other_index_formats_are_refused_with_the_version_that_wrote_them() {
    for (format, minor) in [(4, 16), (8, 31)] {
        let index = SmallIndex::new();
        let path = index.file("idx");
        index.edit_footer(&path, |footer| {
            footer["version"] = json!({"major": 0, "minor": minor, "patch": 1, "index_format_version": format});
        });
        assert_unsupported(&index, &path, &format!("tantivy 0.{minor}.1 (index format {format})"));
    }
}

#[test]
fn an_index_without_any_footers_is_of_an_old_version() {
    let index = SmallIndex::new();
    for path in index.files() {
        let (body, _) = small_index::split(&fs::read(&path).unwrap());
        fs::write(&path, body).unwrap();
    }
    let error = index.refusal();
    assert!(matches!(&error, Error::Unsupported { what: "the file format", .. }), "{error:?}");
    assert!(error.to_string().contains("0.10") && error.to_string().contains(".term"), "{error}");
}

#[test]
fn tables_of_fields_that_lie_are_damage() {
    for extension in ["term", "idx", "pos", "fieldnorm"] {
        let index = SmallIndex::new();
        let path = index.file(extension);
        index.edit_body(&path, |body| set_u32(body, 4, u32::MAX));
        assert_corrupt(&index, &path, "its table of fields");
        let index = SmallIndex::new();
        let path = index.file(extension);
        index.edit_body(&path, |body| body.truncate(3));
        assert_corrupt(&index, &path, "its table of fields");
    }
}

#[test]
fn dictionaries_of_other_kinds_and_versions_are_unsupported() {
    // What stands before the table of fields ends in: u64 length, u32 version, u32 kind.
    let table = |body: &[u8]| u32::from_le_bytes(*body.last_chunk().unwrap()) as usize + 4;
    for (before_table, value, words) in [(4, 2, "quickwit"), (8, 2, "the version of the term dictionary")] {
        let index = SmallIndex::new();
        let path = index.file("term");
        index.edit_body(&path, |body| {
            let at = table(body) + before_table;
            set_u32(body, at, value)
        });
        assert_unsupported(&index, &path, words);
    }
    let index = SmallIndex::new();
    let path = index.file("term");
    index.edit_body(&path, |body| {
        let at = table(body) + 4;
        set_u32(body, at, 9)
    });
    assert_corrupt(&index, &path, "kind 9");
}

#[test]
fn postings_shorter_than_their_dictionary_says_are_damage() {
    for (extension, other) in [("idx", "postings"), ("pos", "positions")] {
        let index = SmallIndex::new();
        let path = index.file(extension);
        // All parts begin eight bytes earlier, so the last one is longer and the first one shorter.
        let first_part = index.open().unwrap().segments()[0]
            .field_bytes(shardsplit::source::Component::Postings, tantivy::schema::Field::from_field_id(0));
        assert!(first_part > 8);
        index.edit_body(&path, |body| {
            let table = body.len() - 4 - u32::from_le_bytes(*body.last_chunk().unwrap()) as usize;
            let last = body[..table].len();
            body.drain(last - 8..last);
        });
        assert_corrupt(&index, &index.file("term"), other);
    }
}

#[test]
fn stores_of_other_versions_and_codecs_are_unsupported() {
    let footer: [(usize, u32, &str); 3] =
        [(28, 3, "version of the doc store is 3"), (16, 2, "2 (brotli)"), (16, 3, "3 (snappy)")];
    for (from_end, value, words) in footer {
        let index = SmallIndex::new();
        let path = index.file("store");
        index.edit_body(&path, |body| set_u32(body, from_end, value));
        assert_unsupported(&index, &path, words);
    }
}

#[test]
fn a_store_whose_skip_index_does_not_cover_its_documents_is_damage() {
    let index = SmallIndex::new();
    let path = index.file("store");
    index.edit_body(&path, |body| set_u32(body, 20, u32::MAX));
    assert_corrupt(&index, &path, "beyond");

    // The last checkpoint of the last layer: VInt documents, VInt bytes, then the footer.
    let index = SmallIndex::new();
    let path = index.file("store");
    index.edit_body(&path, |body| {
        let end = body.len() - 28;
        let docs = (0..end - 2).rev().find(|&at| body[at] & 0x80 != 0).unwrap();
        body[docs] ^= 1;
    });
    assert_corrupt(&index, &path, "of 200 in");

    // One byte of blocks too many.
    let index = SmallIndex::new();
    let path = index.file("store");
    index.edit_body(&path, |body| {
        let at = body.len() - 24;
        let offset = u64::from_le_bytes(body[at..at + 8].try_into().unwrap());
        body[at..at + 8].copy_from_slice(&(offset + 1).to_le_bytes());
        body.insert(offset as usize, 0);
    });
    assert_corrupt(&index, &path, "covers 200 documents");
}

#[test]
fn columns_of_other_versions_and_row_counts_are_refused() {
    let index = SmallIndex::new();
    let path = index.file("fast");
    index.edit_body(&path, |body| set_u32(body, 8, 3));
    assert_unsupported(&index, &path, "version of the columns is 3");

    for (from_end, value, words) in
        [(4, 0, "magic"), (12, 199, "199 rows for 200 documents"), (16, u32::MAX, "dictionary of columns claims")]
    {
        let index = SmallIndex::new();
        let path = index.file("fast");
        index.edit_body(&path, |body| set_u32(body, from_end, value));
        assert_corrupt(&index, &path, words);
    }
}

#[test]
fn a_column_whose_bytes_are_damaged_is_refused_by_name() {
    let index = SmallIndex::new();
    let path = index.file("fast");
    // Columns stand first; each ends in the lengths of its pieces.
    index.edit_body(&path, |body| body[..400].fill(0xff));
    let error = index.refusal();
    assert!(error.to_string().contains(path.file_name().unwrap().to_str().unwrap()), "{error}");
    assert_eq!(error.kind(), ErrorKind::Source, "{error:?}");
}

#[test]
fn norms_and_deletes_that_do_not_fit_the_documents_are_damage() {
    let index = SmallIndex::new();
    let path = index.file("fieldnorm");
    index.edit_body(&path, |body| body.insert(0, 1));
    assert_corrupt(&index, &path, "201 norms for 200 documents");

    let index = SmallIndex::new();
    let path = index.file("del");
    index.edit_body(&path, |body| body[4] ^= 1);
    assert_corrupt(&index, &path, "196 documents as live, meta.json says 197 of 200");
}

#[test]
fn what_is_no_index_is_refused_and_gets_no_lock_file() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().to_path_buf(), dir.path().join("absent")] {
        let error = Source::open(&path, LockMode::Writer).unwrap_err();
        assert!(matches!(&error, Error::NotAnIndex { path: named, .. } if *named == path), "{error:?}");
    }
    fs::write(dir.path().join("other.txt"), "").unwrap();
    assert!(Source::open(dir.path(), LockMode::Writer).is_err());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    fs::write(dir.path().join("meta.json"), r#"{"name": "some other program's"}"#).unwrap();
    let error = Source::open(dir.path(), LockMode::Writer).unwrap_err();
    assert!(matches!(&error, Error::NotAnIndex { .. }), "{error:?}");
}

#[test]
fn files_that_meta_json_does_not_name_are_noted_once() -> Result<()> {
    let index = SmallIndex::new();
    fs::write(index.dir().join("00000000000000000000000000000000.store"), "12345").unwrap();
    fs::write(index.dir().join("00000000000000000000000000000000.idx"), "1").unwrap();
    let source = index.open()?;
    assert_eq!(source.notes().len(), 1);
    assert!(source.notes()[0].starts_with("2 files (6 bytes)"), "{:?}", source.notes());
    Ok(())
}

#[test]
fn a_file_that_cannot_be_read_makes_the_source_unreadable() {
    let index = SmallIndex::new();
    let path = index.file("term");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let error = index.refusal();
    assert!(matches!(&error, Error::Unreadable { path: named, .. } if *named == path), "{error:?}");
    assert_eq!(error.kind(), ErrorKind::Source);
}
