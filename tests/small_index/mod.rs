//! A small index with every kind of file, and the means to damage it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shardsplit::error::ErrorKind;
use shardsplit::source::{LockMode, Source};
use shardsplit::{Error, Result};
use tantivy::schema::{FAST, Field, INDEXED, STORED, STRING, Schema, TEXT};
use tantivy::{Index, IndexSettings, IndexWriter, TantivyDocument, Term};

/// Extensions of a segment's files.
pub const EXTENSIONS: [&str; 7] = ["term", "idx", "pos", "fieldnorm", "fast", "store", "del"];

/// Two segments of 200 and 40 documents; three documents of the first are deleted.
pub struct SmallIndex {
    dir: tempfile::TempDir,
}

fn document(schema: &Schema, n: u64) -> TantivyDocument {
    let words: Vec<String> = (0..n % 7 + 1).map(|word| format!("word{}", n * word % 50)).collect();
    let text = json!({
        "id": format!("id-{n:05}"),
        "body": words.join(" "),
        "number": n,
        "numbers": [n % 3, n],
        "data": {"colour": if n.is_multiple_of(2) { "red" } else { "blue" }, "size": n},
    });
    TantivyDocument::parse_json(schema, &text.to_string()).unwrap()
}

impl SmallIndex {
    pub fn new() -> SmallIndex {
        let mut builder = Schema::builder();
        let id: Field = builder.add_text_field("id", STRING | STORED | FAST);
        builder.add_text_field("body", TEXT | STORED);
        builder.add_u64_field("number", INDEXED | STORED | FAST);
        builder.add_u64_field("numbers", FAST);
        builder.add_json_field("data", TEXT | STORED | FAST);
        let schema = builder.build();
        let dir = tempfile::tempdir().unwrap();
        // Small blocks, so that the skip index of the store has several layers.
        let settings = IndexSettings { docstore_blocksize: 300, ..IndexSettings::default() };
        let index = Index::builder().schema(schema.clone()).settings(settings).create_in_dir(dir.path()).unwrap();
        let mut writer: IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
        writer.set_merge_policy(Box::new(tantivy::merge_policy::NoMergePolicy));
        for range in [0..200, 200..240] {
            for n in range {
                writer.add_document(document(&schema, n)).unwrap();
            }
            writer.commit().unwrap();
        }
        for n in [3u64, 64, 199] {
            writer.delete_term(Term::from_field_text(id, &format!("id-{n:05}")));
        }
        writer.commit().unwrap();
        writer.wait_merging_threads().unwrap();
        SmallIndex { dir }
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn open(&self) -> Result<Source> {
        Source::open(self.dir(), LockMode::Writer)
    }

    /// The error that opening gives.
    pub fn refusal(&self) -> Error {
        self.open().expect_err("the index was opened")
    }

    pub fn meta(&self) -> Value {
        serde_json::from_slice(&fs::read(self.dir().join("meta.json")).unwrap()).unwrap()
    }

    pub fn edit_meta(&self, edit: impl FnOnce(&mut Value)) {
        let mut meta = self.meta();
        edit(&mut meta);
        fs::write(self.dir().join("meta.json"), meta.to_string()).unwrap();
    }

    /// The file with this extension, of the segment that has deletes.
    pub fn file(&self, extension: &str) -> PathBuf {
        let meta = self.meta();
        let segments = meta["segments"].as_array().unwrap();
        let segment = segments.iter().find(|segment| !segment["deletes"].is_null()).unwrap();
        let id = segment["segment_id"].as_str().unwrap().replace('-', "");
        let opstamp = &segment["deletes"]["opstamp"];
        let name = if extension == "del" { format!("{id}.{opstamp}.del") } else { format!("{id}.{extension}") };
        self.dir().join(name)
    }

    /// All segment files.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = fs::read_dir(self.dir()).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|e| EXTENSIONS.iter().any(|known| e == *known)));
        files.sort();
        files
    }

    /// Changes the body of a file and gives it a footer with the right checksum.
    pub fn edit_body(&self, path: &Path, edit: impl FnOnce(&mut Vec<u8>)) {
        let (mut body, footer) = split(&fs::read(path).unwrap());
        edit(&mut body);
        fs::write(path, seal(&body, &footer)).unwrap();
    }

    /// Changes the footer of a file.
    pub fn edit_footer(&self, path: &Path, edit: impl FnOnce(&mut Value)) {
        let (body, mut footer) = split(&fs::read(path).unwrap());
        edit(&mut footer);
        fs::write(path, append(&body, &footer)).unwrap();
    }
}

/// Body and footer of a file.
pub fn split(file: &[u8]) -> (Vec<u8>, Value) {
    let end = file.len() - 8;
    let len = u32::from_le_bytes(file[end..end + 4].try_into().unwrap()) as usize;
    (file[..end - len].to_vec(), serde_json::from_slice(&file[end - len..end]).unwrap())
}

/// A file of `body` and `footer`, whose checksum is corrected.
pub fn seal(body: &[u8], footer: &Value) -> Vec<u8> {
    let mut footer = footer.clone();
    footer["crc"] = json!(crc32fast::hash(body));
    append(body, &footer)
}

fn append(body: &[u8], footer: &Value) -> Vec<u8> {
    let text = footer.to_string();
    [body, text.as_bytes(), &(text.len() as u32).to_le_bytes(), &1337u32.to_le_bytes()].concat()
}

/// Overwrites the u32 LE that begins `from_end` bytes before the end.
pub fn set_u32(body: &mut [u8], from_end: usize, value: u32) {
    let at = body.len() - from_end;
    body[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Asserts that opening is refused as damage of `path` (a file of the index), with `words` in the message.
#[track_caller]
pub fn assert_corrupt(index: &SmallIndex, path: &Path, words: &str) {
    let error = index.refusal();
    assert!(matches!(&error, Error::Corrupt { path: named, .. } if named == path), "{error:?}");
    assert_names(&error, path, words);
}

/// Asserts that opening is refused as unsupported because of `path`, with `words` in the message.
#[track_caller]
pub fn assert_unsupported(index: &SmallIndex, path: &Path, words: &str) {
    let error = index.refusal();
    assert!(matches!(&error, Error::Unsupported { path: named, .. } if named == path), "{error:?}");
    assert_names(&error, path, words);
}

#[track_caller]
fn assert_names(error: &Error, path: &Path, words: &str) {
    let text = error.to_string();
    assert!(text.contains(path.file_name().unwrap().to_str().unwrap()), "no file name: {text}");
    assert!(text.contains(words), "no {words:?}: {text}");
    assert_eq!(error.kind(), ErrorKind::Source);
}
