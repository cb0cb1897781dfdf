//! A child's `meta.json` and `.managed.json`, and the ids of its segments.
//!
//! `meta.json` is the source's, value by value and in its order (settings, schema, opstamp, payload, keys that nobody
//! here knows), with other segments. What tantivy could open as the source it can therefore open as a child.
//!
//! `.managed.json` lists the files that tantivy's garbage collection may remove once no segment needs them; files that
//! are not tantivy's (our manifest, hash sidecars) must not be in it, since they would be removed at once.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::output::WrittenSegment;
use crate::error::{Error, Result};
use crate::partition::DocMap;
use crate::route::ShardNumber;
use crate::source::{MANAGED, META, Meta, Segment, Source};

/// Namespace of child segment ids; part of the format, never to be changed.
const SEGMENT_NAMESPACE: Uuid = Uuid::from_u128(0x6f0c_2a57_9d0b_5e0e_8f43_71d2_4b9c_e6a1);

/// `meta.json` of a child: `source`'s with `segments` instead of its own. Pretty JSON and a newline, as tantivy writes.
///
/// A linked segment keeps whatever else the source's entry says.
pub fn meta_json(source: &Meta, segments: &[WrittenSegment]) -> Result<Vec<u8>> {
    let mut value = source.value().clone();
    let known: Vec<Value> = match value.get("segments") {
        Some(Value::Array(entries)) => entries.clone(),
        _ => Vec::new(),
    };
    let mut entries = Vec::with_capacity(segments.len());
    for segment in segments {
        let id = Uuid::try_parse(&segment.id).map_err(|_| not_an_id(&segment.id))?;
        let original = segment.linked.and_then(|index| known.get(index)).and_then(Value::as_object);
        let mut entry = original.cloned().unwrap_or_else(Map::new);
        entry.insert("segment_id".to_owned(), json!(id.hyphenated().to_string()));
        entry.insert("max_doc".to_owned(), json!(segment.max_doc));
        let deletes =
            segment.deletes.map(|(deleted, opstamp)| json!({"num_deleted_docs": deleted, "opstamp": opstamp}));
        entry.insert("deletes".to_owned(), deletes.unwrap_or(Value::Null));
        entries.push(Value::Object(entry));
    }
    value.insert("segments".to_owned(), Value::Array(entries));
    let mut bytes = serde_json::to_vec_pretty(&value).map_err(|error| not_json(META, error))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// `.managed.json` of a child: all its files, `meta.json` included, as a sorted JSON array and a newline.
pub fn managed_json(segments: &[WrittenSegment]) -> Result<Vec<u8>> {
    let files = segments.iter().flat_map(|segment| &segment.files).map(|file| file.name.as_str());
    let mut names: Vec<&str> = files.chain([META]).collect();
    names.sort_unstable();
    let mut bytes = serde_json::to_vec(&names).map_err(|error| not_json(MANAGED, error))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn not_json(name: &str, error: serde_json::Error) -> Error {
    Error::Io { operation: "serialise", path: name.into(), source: error.into() }
}

fn not_an_id(id: &str) -> Error {
    Error::defect(format!("a segment was written under {id:?}, which is not a segment id"))
}

/// Id of a child segment: 32 hexadecimal digits, the same for the same job, different for every other.
///
/// It is the version 5 UUID (RFC 9562, SHA-1) of the ids of the source segments it was made from, in their order, the
/// shard number of its child, and its ordinal among the segments of that child, one per line. Where the source has
/// several directories, an id stands behind the number of its directory and a slash: ids may repeat in them.
#[must_use]
pub fn child_segment_id<S: AsRef<str>>(sources: &[S], shard: ShardNumber, ordinal: usize) -> String {
    let mut name = String::with_capacity(sources.len() * 33 + 24);
    for source in sources {
        name.push_str(source.as_ref());
        name.push('\n');
    }
    name.push_str(&format!("{shard}\n{ordinal}\n"));
    Uuid::new_v5(&SEGMENT_NAMESPACE, name.as_bytes()).simple().to_string()
}

/// Ids of all segments that a rewrite will make: one per output of every group of `map`, in that order. `shards`: shard
/// number by child index.
#[must_use]
pub fn child_segment_ids(source: &Source, map: &DocMap, shards: &[ShardNumber]) -> Vec<Vec<String>> {
    let mut ordinals = vec![0usize; map.num_children];
    let mut ids = Vec::with_capacity(map.groups.len());
    for group in &map.groups {
        let segments = group.segments.iter().filter_map(|&index| source.segments().get(index));
        let sources: Vec<String> = segments.map(|segment| source_id(source, segment)).collect();
        let mut id = |child: usize| {
            let shard = shards.get(child).copied().unwrap_or(ShardNumber::MAX);
            let ordinal = ordinals.get_mut(child).map_or(0, |next| std::mem::replace(next, *next + 1));
            child_segment_id(&sources, shard, ordinal)
        };
        ids.push(group.outputs.iter().map(|output| id(output.child)).collect());
    }
    ids
}

/// Ids under which the segments of `source` are linked: their own, unless they repeat. `shards`: as above.
///
/// A segment whose id another directory has too gets one of its own, as if it were the first of a rewritten child.
#[must_use]
pub fn linked_segment_ids(source: &Source, shards: &[ShardNumber]) -> Vec<String> {
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for segment in source.segments() {
        *times.entry(segment.id()).or_default() += 1;
    }
    let shard = shards.first().copied().unwrap_or(ShardNumber::MAX);
    let own = |segment: &Segment| times.get(segment.id()).is_none_or(|&times| times == 1);
    let id = |segment: &Segment| {
        if own(segment) { segment.id().to_owned() } else { child_segment_id(&[source_id(source, segment)], shard, 0) }
    };
    source.segments().iter().map(id).collect()
}

/// The id of a source segment, with its directory where there are several.
fn source_id(source: &Source, segment: &Segment) -> String {
    match source.dirs().len() {
        1 => segment.id().to_owned(),
        _ => format!("{}/{}", segment.origin(), segment.id()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::WrittenFile;

    fn meta(json: &str) -> Meta {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("meta.json"), json).unwrap();
        Meta::read(dir.path()).unwrap()
    }

    fn segment(id: &str, deletes: Option<(u32, u64)>) -> WrittenSegment {
        let file = |extension: &str| WrittenFile { name: format!("{id}.{extension}"), len: 1, crc32: 0, linked: false };
        let (linked, files) = ((id == KEPT).then_some(0), vec![file("term"), file("idx")]);
        let sidecar = Some(file("01234567.hashes"));
        WrittenSegment { child: 0, id: id.to_owned(), linked, max_doc: 9, deletes, files, sidecar }
    }

    const KEPT: &str = "0123456789abcdef0123456789abcdef";
    const NEW: &str = "fedcba9876543210fedcba9876543210";
    const SOURCE: &str = r#"{"zeta":{"b":1,"a":18446744073709551615},"index_settings":{"docstore_blocksize":7},"segments":[
        {"extra":[1],"segment_id":"01234567-89ab-cdef-0123-456789abcdef","max_doc":9,"deletes":null}],
        "schema":[{"name":"x","boost":0.1}],"opstamp":77,"payload":"kept \u00fc"}"#;

    #[test]
    fn everything_but_the_segments_stays_as_it_was() {
        let bytes = meta_json(&meta(SOURCE), &[segment(NEW, None), segment(KEPT, Some((4, 77)))]).unwrap();
        assert_eq!(bytes.last(), Some(&b'\n'));
        let value: Map<String, Value> = serde_json::from_slice(&bytes).unwrap();
        let before: Map<String, Value> = serde_json::from_str(SOURCE).unwrap();
        assert_eq!(value.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "keys keep their order");
        for (key, kept) in before.iter().filter(|(key, _)| *key != "segments") {
            assert_eq!(serde_json::to_string(&value[key]).unwrap(), serde_json::to_string(kept).unwrap(), "{key}");
        }
        let expected = json!([
            {"segment_id": "fedcba98-7654-3210-fedc-ba9876543210", "max_doc": 9, "deletes": null},
            {"extra": [1], "segment_id": "01234567-89ab-cdef-0123-456789abcdef", "max_doc": 9,
             "deletes": {"num_deleted_docs": 4, "opstamp": 77}},
        ]);
        assert_eq!(value["segments"], expected);
    }

    #[test]
    fn a_child_without_documents_has_no_segments() {
        let bytes = meta_json(&meta(SOURCE), &[]).unwrap();
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(value["segments"], json!([]));
        assert_eq!(managed_json(&[]).unwrap(), b"[\"meta.json\"]\n");
    }

    #[test]
    fn managed_files_are_sorted_and_complete() {
        let bytes = managed_json(&[segment(NEW, None), segment(KEPT, None)]).unwrap();
        let names: Vec<String> = serde_json::from_slice(&bytes).unwrap();
        let mut expected: Vec<String> =
            [NEW, KEPT].iter().flat_map(|id| ["idx", "term"].map(|extension| format!("{id}.{extension}"))).collect();
        expected.push("meta.json".to_owned());
        expected.sort();
        assert_eq!(names, expected);
    }

    #[test]
    fn segment_ids_are_fixed_and_differ_in_every_part() {
        // Computed once; a change would make the same job give other bytes.
        assert_eq!(child_segment_id(&[KEPT, NEW], 3, 1), "06333c999d725e57a71c8555067b5c5a");
        let ids = [
            child_segment_id(&[KEPT, NEW], 3, 1),
            child_segment_id(&[NEW, KEPT], 3, 1),
            child_segment_id(&[KEPT], 3, 1),
            child_segment_id(&[KEPT, NEW], 4, 1),
            child_segment_id(&[KEPT, NEW], 3, 2),
            child_segment_id(&[KEPT, NEW], 31, 0),
        ];
        let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len());
        assert!(ids.iter().all(|id| id.len() == 32 && Uuid::try_parse(id).is_ok()));
    }
}
