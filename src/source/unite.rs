//! Whether several indexes are of one kind, and the `meta.json` that describes them together.
//!
//! Input: what their `meta.json` files say. Output: one that stands for all, or the first difference between two of
//! them. Schema and settings must be the same, since segments of both would stand in one index; so must keys that nobody
//! here knows. Opstamp: the greatest, as Elasticsearch takes the greatest sequence number. Payload: that of all, if they
//! agree; otherwise none, with a note, since no single one is true of the whole.

use std::path::Path;

use serde_json::Value;
use tantivy::IndexSettings;
use tantivy::schema::Schema;

use super::meta::{META, Meta};
use crate::error::{Error, Result};

/// Payload of the last commit.
const PAYLOAD: &str = "payload";

/// `metas`: directories and what their `meta.json` says.
pub(crate) fn unite(metas: &[(&Path, &Meta)]) -> Result<(Meta, Vec<String>)> {
    let [first, others @ ..] = metas else { return Err(Error::Usage("no directory was named".to_owned())) };
    for other in others {
        if let Some(difference) = difference(first.1, other.1) {
            let (left, right) = (first.0.join(META), other.0.join(META));
            return Err(Error::Unlike { left, right, difference });
        }
    }
    let payload = |meta: &Meta| meta.value().get(PAYLOAD).cloned().filter(|value| !value.is_null());
    let kept = payload(first.1);
    let agreed = others.iter().all(|(_, meta)| payload(meta) == kept);
    let mut notes = Vec::new();
    if !agreed {
        notes.push(format!(
            "the payloads of the last commits of {} directories differ, so none is carried over",
            metas.len()
        ));
    }
    let all: Vec<&Meta> = metas.iter().map(|(_, meta)| *meta).collect();
    let payload = if agreed { first.1.value().get(PAYLOAD).cloned() } else { None };
    Ok((Meta::united(first.1, &all, payload), notes))
}

/// The first difference between two indexes, in words; `None` if they are of one kind.
fn difference(left: &Meta, right: &Meta) -> Option<String> {
    let (left, right) = (left.value(), right.value());
    let of = |key: &str| (left.get(key).unwrap_or(&Value::Null), right.get(key).unwrap_or(&Value::Null));
    let (ours, theirs) = of("schema");
    if ours != theirs && !same::<Schema>(ours, theirs) {
        return Some(schema_difference(ours, theirs));
    }
    let (ours, theirs) = of("index_settings");
    if ours != theirs && !same::<IndexSettings>(ours, theirs) {
        return Some(format!("index_settings are {ours} and {theirs}"));
    }
    let settled = ["schema", "index_settings", "segments", "opstamp", PAYLOAD];
    let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
    keys.sort();
    keys.dedup();
    keys.into_iter().filter(|key| !settled.contains(&key.as_str())).find_map(|key| {
        let (ours, theirs) = of(key);
        let nothing = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        (ours != theirs && !(nothing(ours) && nothing(theirs))).then(|| format!("{key} is {ours} and {theirs}"))
    })
}

/// Whether both mean the same: a default may be left out or written down.
fn same<T: serde::de::DeserializeOwned + PartialEq>(left: &Value, right: &Value) -> bool {
    let parse = |value: &Value| serde_json::from_value::<T>(value.clone()).ok();
    matches!((parse(left), parse(right)), (Some(left), Some(right)) if left == right)
}

/// The first field that differs.
fn schema_difference(left: &Value, right: &Value) -> String {
    let none = Vec::new();
    let (left, right) = (left.as_array().unwrap_or(&none), right.as_array().unwrap_or(&none));
    let name = |entry: Option<&Value>| {
        let name = entry.and_then(|entry| entry.get("name")).and_then(Value::as_str);
        name.map_or("nothing".to_owned(), |name| format!("{name:?}"))
    };
    let at = (0..left.len().max(right.len())).find(|&at| left.get(at) != right.get(at)).unwrap_or(0);
    let (ours, theirs) = (left.get(at), right.get(at));
    if name(ours) == name(theirs) {
        let show = |entry: Option<&Value>| entry.map_or("nothing".to_owned(), Value::to_string);
        format!("field {} is {} and {}", name(ours), show(ours), show(theirs))
    } else {
        format!("field {at} of the schema is {} and {}", name(ours), name(theirs))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn meta(change: impl FnOnce(&mut Value)) -> Meta {
        let mut value = json!({
            "index_settings": {"docstore_compression": "lz4", "docstore_blocksize": 16384},
            "segments": [{"segment_id": "01234567-89ab-cdef-0123-456789abcdef", "max_doc": 9, "deletes": null}],
            "schema": [{"name": "id", "type": "text", "options": {"stored": true, "fast": false}}],
            "opstamp": 7, "payload": "p",
        });
        change(&mut value);
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(META), value.to_string()).unwrap();
        Meta::read(dir.path()).unwrap()
    }

    fn of(metas: &[&Meta]) -> Result<(Meta, Vec<String>)> {
        let dirs = [Path::new("a"), Path::new("b"), Path::new("c")];
        unite(&dirs.into_iter().zip(metas.iter().copied()).collect::<Vec<_>>())
    }

    #[test]
    fn indexes_of_one_kind_become_one_with_all_segments_and_the_greatest_opstamp() {
        let later = meta(|value| value["opstamp"] = json!(19));
        let (united, notes) = of(&[&meta(|_| ()), &later, &meta(|_| ())]).unwrap();
        assert_eq!((united.opstamp(), united.segments().len()), (19, 3));
        assert_eq!(united.value()["opstamp"], json!(19));
        assert_eq!(united.value()["segments"].as_array().unwrap().len(), 3);
        assert_eq!(united.value()["payload"], json!("p"));
        assert_eq!(notes, Vec::<String>::new());
    }

    #[test]
    fn payloads_that_differ_are_left_out_with_a_note() {
        let other = meta(|value| value["payload"] = json!("q"));
        let (united, notes) = of(&[&meta(|_| ()), &other]).unwrap();
        assert_eq!(united.value().get("payload"), None);
        assert!(notes[0].contains("payloads"), "{notes:?}");
    }

    #[test]
    fn the_first_difference_is_named_with_both_files() {
        let cases: [(&str, Meta); 5] = [
            ("field \"id\" is", meta(|value| value["schema"][0]["options"]["stored"] = json!(false))),
            ("field 0 of the schema is \"id\" and \"key\"", meta(|value| value["schema"][0]["name"] = json!("key"))),
            ("index_settings are", meta(|value| value["index_settings"]["docstore_compression"] = json!("none"))),
            (
                "index_settings are",
                meta(|value| {
                    value["index_settings"]["sort_by_field"] = json!({"field": "id", "order": "Asc"});
                }),
            ),
            ("more is null and 1", meta(|value| value["more"] = json!(1))),
        ];
        for (words, other) in cases {
            let error = of(&[&meta(|_| ()), &meta(|_| ()), &other]).unwrap_err();
            let Error::Unlike { left, right, difference } = &error else { panic!("{error:?}") };
            assert_eq!((left.as_path(), right.as_path()), (Path::new("a/meta.json"), Path::new("c/meta.json")));
            assert!(difference.contains(words), "{difference}");
        }
    }

    #[test]
    fn a_default_may_be_left_out() {
        let short = meta(|value| drop(value["index_settings"].as_object_mut().unwrap().remove("docstore_blocksize")));
        assert!(of(&[&meta(|_| ()), &short]).is_ok());
    }
}
