//! A small index with every kind of file and plane, and edits to its files that bytes spell out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use shardsplit::job::Job;
use shardsplit::progress::{Cancel, Silent};
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{FAST, INDEXED, STORED, STRING, Schema, TEXT};
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::{Index, IndexSettings, IndexWriter, SegmentReader, TantivyDocument, Term};

/// Documents of the two segments.
const DOCS: [std::ops::Range<u64>; 2] = [0..150, 150..170];

fn schema() -> Schema {
    let mut builder = Schema::builder();
    builder.add_text_field("id", STRING | STORED | FAST);
    builder.add_text_field("body", TEXT | STORED);
    builder.add_u64_field("number", INDEXED | STORED | FAST);
    builder.add_i64_field("numbers", FAST);
    builder.add_date_field("date", INDEXED | STORED | FAST);
    builder.add_bytes_field("bytes", INDEXED | STORED | FAST);
    builder.add_json_field("data", TEXT | STORED | FAST);
    builder.build()
}

fn document(schema: &Schema, n: u64) -> TantivyDocument {
    let words: Vec<String> = (0..n % 7 + 1).map(|word| format!("w{}", n * word % 50)).collect();
    let mut text = json!({
        "id": format!("id-{n:03}"),
        "body": format!("common {}", words.join(" ")),
        "number": n * 1_000_003,
        "numbers": [n % 3, n],
        "date": format!("2024-01-{:02}T00:00:00Z", n % 28 + 1),
        "bytes": "aGVsbG8=",
        "data": {"colour": if n % 2 == 0 { "red" } else { "blue" }, "size": n},
    });
    if n % 5 == 0 {
        text["numbers"] = json!([]);
    }
    TantivyDocument::parse_json(schema, &text.to_string()).unwrap()
}

/// Builds the index in `dir`, which is made.
pub fn build(dir: &Path, docstore_compression: Compressor) {
    fs::create_dir_all(dir).unwrap();
    let schema = schema();
    let settings = IndexSettings { docstore_compression, docstore_blocksize: 600, ..IndexSettings::default() };
    let index = Index::builder().schema(schema.clone()).settings(settings).create_in_dir(dir).unwrap();
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
    writer.set_merge_policy(Box::new(NoMergePolicy));
    for range in DOCS {
        range.for_each(|n| assert!(writer.add_document(document(&schema, n)).is_ok()));
        writer.commit().unwrap();
    }
    let id = schema.get_field("id").unwrap();
    [3u64, 64, 149, 151]
        .iter()
        .for_each(|n| assert!(writer.delete_term(Term::from_field_text(id, &format!("id-{n:03}"))) > 0));
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
}

/// zstd, as of its default level.
pub fn zstd() -> Compressor {
    Compressor::Zstd(ZstdCompressor::default())
}

/// Live documents, as tantivy opens the index.
pub fn live(dir: &Path) -> u64 {
    let index = Index::open_in_dir(dir).unwrap();
    let segments = index.searchable_segments().unwrap();
    segments.iter().map(|segment| u64::from(SegmentReader::open(segment).unwrap().num_docs())).sum()
}

/// Live documents as `meta.json` has them; whatever the other files say.
pub fn live_by_meta(dir: &Path) -> u64 {
    let meta: Value = serde_json::from_slice(&fs::read(dir.join("meta.json")).unwrap()).unwrap();
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    let segments = meta["segments"].as_array().unwrap().iter();
    segments.map(|segment| count(&segment["max_doc"]) - count(&segment["deletes"]["num_deleted_docs"])).sum()
}

/// An index, and perhaps its children, in a directory of its own.
pub struct Bench {
    dir: tempfile::TempDir,
    /// Where edits go: to what the directory holds, in this order.
    victims: Vec<PathBuf>,
    sound: BTreeMap<PathBuf, Vec<u8>>,
}

/// What was changed.
pub struct Tampered {
    files: Vec<PathBuf>,
    /// Bytes of the files that there are.
    pub bytes: usize,
    /// Whether the body of a segment file does not fit its checksum, or the file has no footer.
    pub stale: bool,
}

impl Bench {
    /// With children: it is one of them that is tampered with, else the index itself.
    pub fn new(children: bool) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("source");
        build(&source, if children { zstd() } else { Compressor::Lz4 });
        let mut place = source.clone();
        if children {
            Job { threads: 1, ..Job::new(&source, dir.path().join("children"), 2, "id") }
                .run(&Silent, &Cancel::new())
                .unwrap();
            place = dir.path().join("children/0");
        }
        let mut names: Vec<PathBuf> = fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.retain(|path| !path.to_string_lossy().ends_with(".lock"));
        // Segment ids are drawn; the order of files must not be, or seeds would mean something else each time.
        let order = segments(&place);
        names.sort_by_key(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let (stem, rest) = name.split_once('.').map(|(stem, rest)| (stem.to_owned(), rest.to_owned())).unwrap();
            let extension = rest.rsplit('.').next().unwrap().to_owned();
            (order.iter().position(|id| *id == stem), extension, rest)
        });
        let sound = names.iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
        Bench { dir, victims: names, sound }
    }

    /// A path in the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Files that edits go to, in their order.
    pub fn victims(&self) -> &[PathBuf] {
        &self.victims
    }

    /// Does what `edits` spell out, each in [`Edit::LEN`] bytes, eight at most.
    pub fn tamper(&self, edits: &[u8]) -> Tampered {
        let mut by_file: BTreeMap<usize, Vec<Edit>> = BTreeMap::new();
        for bytes in edits.chunks_exact(Edit::LEN).take(8) {
            by_file.entry(usize::from(bytes[0]) % self.victims.len()).or_default().push(Edit::read(bytes));
        }
        let mut tampered = Tampered { files: Vec::new(), bytes: 0, stale: false };
        tampered.bytes = self.sound.values().map(Vec::len).sum();
        for (victim, edits) in by_file {
            let path = &self.victims[victim];
            let sound = &self.sound[path];
            let sealed = edits.iter().any(|edit| edit.sealed);
            let (mut bytes, footer) = match split(sound) {
                Some((body, footer)) if sealed => (body.to_vec(), Some(footer)),
                _ => (sound.clone(), None),
            };
            let other = &self.sound[&self.victims[(victim + self.victims.len() / 2) % self.victims.len()]];
            edits.iter().for_each(|edit| edit.apply(&mut bytes, other));
            if let Some(footer) = &footer {
                bytes = seal(&bytes, footer);
            }
            if bytes == *sound {
                continue;
            }
            tampered.bytes += bytes.len();
            tampered.stale |= split(sound).is_some() && !fits(&bytes);
            // Removed first: the old bytes may be mapped, or another name's too.
            fs::remove_file(path).unwrap();
            fs::write(path, bytes).unwrap();
            tampered.files.push(path.clone());
        }
        tampered
    }

    /// Takes all changes back.
    pub fn mend(&self, tampered: Tampered) {
        for path in tampered.files {
            let _ = fs::remove_file(&path);
            fs::write(&path, &self.sound[&path]).unwrap();
        }
    }
}

/// Ids of the segments, in order.
fn segments(dir: &Path) -> Vec<String> {
    let meta: Value = serde_json::from_slice(&fs::read(dir.join("meta.json")).unwrap()).unwrap();
    let ids = meta["segments"].as_array().unwrap().iter().map(|segment| segment["segment_id"].as_str().unwrap());
    ids.map(|id| id.replace('-', "")).collect()
}

/// Body and footer of a segment file; `None` for what is none.
pub fn split(file: &[u8]) -> Option<(&[u8], Value)> {
    let end = file.len().checked_sub(8)?;
    let word = |at: usize| Some(u32::from_le_bytes(*file.get(at..)?.first_chunk()?));
    let start = end.checked_sub(word(end)? as usize)?;
    if word(end + 4)? != 1337 {
        return None;
    }
    let footer: Value = serde_json::from_slice(&file[start..end]).ok()?;
    footer.get("crc")?;
    Some((&file[..start], footer))
}

/// A file of `body`, with the checksum that fits it.
pub fn seal(body: &[u8], footer: &Value) -> Vec<u8> {
    let mut footer = footer.clone();
    footer["crc"] = json!(crc32fast::hash(body));
    let text = footer.to_string();
    [body, text.as_bytes(), &(text.len() as u32).to_le_bytes(), &1337u32.to_le_bytes()].concat()
}

fn fits(file: &[u8]) -> bool {
    split(file).is_some_and(|(body, footer)| footer["crc"] == json!(crc32fast::hash(body)))
}

/// One change to one file.
struct Edit {
    what: u8,
    /// Whether the checksum is made to fit.
    sealed: bool,
    /// From the beginning, or, with the top bit, from the end.
    at: u32,
    value: [u8; 4],
}

impl Edit {
    /// File, what (the top bit: with its checksum), three bytes of where, four of value.
    const LEN: usize = 9;

    fn read(bytes: &[u8]) -> Edit {
        let at = u32::from_le_bytes([bytes[2], bytes[3], bytes[4], 0]);
        let value = [bytes[5], bytes[6], bytes[7], bytes[8]];
        Edit { what: bytes[1] & 0x7f, sealed: bytes[1] & 0x80 != 0, at, value }
    }

    fn apply(&self, bytes: &mut Vec<u8>, other: &[u8]) {
        let len = bytes.len();
        if len == 0 {
            return;
        }
        let far = (self.at & 0x7f_ffff) as usize % len;
        let at = if self.at & 0x80_0000 == 0 { far } else { len - 1 - far };
        let number = u32::from_le_bytes(self.value);
        let put = |bytes: &mut Vec<u8>, new: &[u8]| {
            let end = (at + new.len()).min(bytes.len());
            bytes[at..end].copy_from_slice(&new[..end - at]);
        };
        let run = 1 + (number as usize >> 8) % 512;
        match self.what % 12 {
            0 => bytes[at] ^= self.value[0].max(1),
            1 => bytes[at] = self.value[0],
            2 => put(bytes, &self.value),
            3 => put(bytes, &u64::from(number).to_le_bytes()),
            4 => put(bytes, &i64::from(number as i32).to_le_bytes()),
            5 => bytes.truncate(at),
            6 => bytes.extend(std::iter::repeat_n(self.value[0], run)),
            7 => bytes[at..(at + run).min(len)].fill(self.value[0]),
            8 => drop(bytes.splice(at..at, self.value)),
            9 => drop(bytes.drain(at..(at + run).min(len))),
            10 => {
                let from = number as usize % len;
                let copied = bytes[from..(from + 64).min(len)].to_vec();
                put(bytes, &copied);
            }
            _ => *bytes = other.to_vec(),
        }
    }
}
