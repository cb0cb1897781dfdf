//! `meta.json`, read once, kept word for word.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::regular::read_regular;
use super::segment::{Component, deletes_file_name};
use crate::error::{Error, Result};

/// tantivy's description of an index.
pub const META: &str = "meta.json";
/// tantivy's list of files that its garbage collection may remove.
pub const MANAGED: &str = ".managed.json";
/// Most documents of a segment: tantivy refuses to merge beyond.
pub const MAX_DOCS: u32 = (1 << 31) - 1;

/// One segment as `meta.json` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentEntry {
    /// 32 hexadecimal digits: the stem of the segment's file names.
    pub id: String,
    /// Documents, deleted ones included.
    pub max_doc: u32,
    /// Deleted documents and the opstamp in the name of the `.del` file.
    pub deletes: Option<(u32, u64)>,
}

impl SegmentEntry {
    /// Names of its files: one for each of [`Component::ALL`], then the `.del` file (`None`) if it has one.
    ///
    /// tantivy itself opens segments without `.pos`, but no version writes such.
    pub fn files(&self) -> impl Iterator<Item = (Option<Component>, String)> + '_ {
        let components =
            Component::ALL.into_iter().map(move |component| (Some(component), component.file_name(&self.id)));
        let deletes = self.deletes.filter(|(deleted, _)| *deleted > 0);
        components.chain(deletes.map(|(_, opstamp)| (None, deletes_file_name(&self.id, opstamp))))
    }
}

/// `meta.json` of an index.
#[derive(Clone, Debug)]
pub struct Meta {
    bytes: Vec<u8>,
    value: Map<String, Value>,
    segments: Vec<SegmentEntry>,
    opstamp: u64,
}

#[derive(Deserialize)]
struct RawMeta {
    segments: Vec<RawSegment>,
    opstamp: u64,
}

#[derive(Deserialize)]
struct RawSegment {
    segment_id: uuid::Uuid,
    max_doc: u32,
    deletes: Option<RawDeletes>,
}

#[derive(Deserialize)]
struct RawDeletes {
    num_deleted_docs: u32,
    opstamp: u64,
}

fn check_segments(segments: &[SegmentEntry]) -> Result<(), String> {
    let mut ids = BTreeSet::new();
    for SegmentEntry { id, max_doc, deletes } in segments {
        if !ids.insert(id) {
            return Err(format!("it names segment {id} twice"));
        }
        if *max_doc > MAX_DOCS {
            return Err(format!("segment {id} is said to have {max_doc} documents, tantivy's limit is {MAX_DOCS}"));
        }
        let deleted = deletes.map_or(0, |(deleted, _)| deleted);
        if deleted > *max_doc {
            return Err(format!("segment {id} is said to have {deleted} documents deleted of {max_doc}"));
        }
    }
    Ok(())
}

impl Meta {
    /// Reads `dir/meta.json`.
    pub fn read(dir: &Path) -> Result<Meta> {
        let path = dir.join(META);
        let not_an_index = |problem: String| Error::NotAnIndex { path: dir.to_path_buf(), problem };
        let bytes = match read_regular(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let problem = if dir.is_dir() { "it has no meta.json" } else { "there is no such directory" };
                return Err(not_an_index(problem.to_owned()));
            }
            Err(source) => return Err(Error::Io { operation: "read", path, source }),
        };
        Meta::parse(dir, bytes)
    }

    /// `dir`: whose `meta.json` has these `bytes`.
    pub(super) fn parse(dir: &Path, bytes: Vec<u8>) -> Result<Meta> {
        let path = dir.join(META);
        let not_an_index = |problem: String| Error::NotAnIndex { path: dir.to_path_buf(), problem };
        let value: Map<String, Value> = serde_json::from_slice(&bytes)
            .map_err(|error| Error::corrupt(&path, format!("it is not JSON: {error}")))?;
        let raw: RawMeta = serde_json::from_slice(&bytes)
            .map_err(|error| not_an_index(format!("its meta.json is not one of tantivy's: {error}")))?;
        let segments: Vec<SegmentEntry> = raw
            .segments
            .into_iter()
            .map(|segment| SegmentEntry {
                id: segment.segment_id.simple().to_string(),
                max_doc: segment.max_doc,
                deletes: segment.deletes.map(|deletes| (deletes.num_deleted_docs, deletes.opstamp)),
            })
            .collect();
        check_segments(&segments).map_err(|problem| Error::corrupt(&path, problem))?;
        Ok(Meta { bytes, value, segments, opstamp: raw.opstamp })
    }

    /// What several indexes have in common, as the one that they become: `first` with the segments of all, directory by
    /// directory, the greatest opstamp, and `payload`.
    pub(super) fn united(first: &Meta, all: &[&Meta], payload: Option<Value>) -> Meta {
        let mut value = first.value.clone();
        let entries = |meta: &&Meta| meta.value.get("segments").and_then(Value::as_array).cloned().unwrap_or_default();
        value.insert("segments".to_owned(), Value::Array(all.iter().flat_map(entries).collect()));
        let opstamp = all.iter().map(|meta| meta.opstamp).max().unwrap_or(first.opstamp);
        value.insert("opstamp".to_owned(), Value::from(opstamp));
        match payload {
            Some(payload) => value.insert("payload".to_owned(), payload),
            // Keys keep their order.
            None => value.shift_remove("payload"),
        };
        let segments = all.iter().flat_map(|meta| meta.segments.iter().cloned()).collect();
        Meta { bytes: first.bytes.clone(), value, segments, opstamp }
    }

    /// The file's bytes; of several indexes, those of the first.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The JSON object, keys in file order, unknown ones included.
    #[must_use]
    pub fn value(&self) -> &Map<String, Value> {
        &self.value
    }

    /// The segments in file order.
    #[must_use]
    pub fn segments(&self) -> &[SegmentEntry] {
        &self.segments
    }

    /// Opstamp of the last commit.
    #[must_use]
    pub fn opstamp(&self) -> u64 {
        self.opstamp
    }
}
