//! What `meta.json` says and cannot be carried over, or contradicts itself, is refused at opening.

use std::fs;
use std::path::PathBuf;

use crate::small_index::{SmallIndex, assert_corrupt, assert_unsupported};
use serde_json::{Value, json};
use shardsplit::Error;

fn meta_json(index: &SmallIndex) -> PathBuf {
    index.dir().join("meta.json")
}

#[test]
fn a_meta_json_that_contradicts_itself_is_damage() {
    type Edit = fn(&mut Value);
    let edits: [(&str, Edit); 5] = [
        ("twice", |meta| meta["segments"][1]["segment_id"] = meta["segments"][0]["segment_id"].clone()),
        ("tantivy's limit", |meta| meta["segments"][0]["max_doc"] = json!(1u32 << 31)),
        ("201 documents deleted of 200", |meta| {
            let segments = meta["segments"].as_array_mut().unwrap();
            let deleted = segments.iter_mut().find(|segment| !segment["deletes"].is_null()).unwrap();
            deleted["deletes"]["num_deleted_docs"] = json!(201);
        }),
        ("\"body\" twice", |meta| meta["schema"][0]["name"] = json!("body")),
        ("which the schema does not have", |meta| {
            meta["index_settings"]["sort_by_field"] = json!({"field": "nothing", "order": "Asc"});
        }),
    ];
    for (words, edit) in edits {
        let index = SmallIndex::new();
        index.edit_meta(edit);
        assert_corrupt(&index, &meta_json(&index), words);
    }
    let index = SmallIndex::new();
    fs::write(meta_json(&index), b"").unwrap();
    assert_corrupt(&index, &meta_json(&index), "not JSON");
}

#[test]
fn settings_and_fields_that_cannot_be_carried_over_are_unsupported() {
    type Edit = fn(&mut Value);
    let edits: [(&str, Edit); 7] = [
        ("extensions is vec, geo", |meta| meta["persisted_custom_extensions"] = json!(["vec", "geo"])),
        ("custom (body)", |meta| meta["schema"][1]["type"] = json!("custom")),
        ("\"brotli\"", |meta| meta["index_settings"]["docstore_compression"] = json!("brotli")),
        ("\"zstd(\"", |meta| meta["index_settings"]["docstore_compression"] = json!("zstd(")),
        ("zstd(level=3)", |meta| meta["index_settings"]["docstore_compression"] = json!("zstd(level=3)")),
        ("\"body\" (no column, ", |meta| {
            meta["index_settings"]["sort_by_field"] = json!({"field": "body", "order": "Asc"});
        }),
        ("one that tantivy", |meta| meta["schema"][0]["type"] = json!("geometry")),
    ];
    for (words, edit) in edits {
        let index = SmallIndex::new();
        index.edit_meta(edit);
        assert_unsupported(&index, &meta_json(&index), words);
    }
}

#[test]
fn settings_that_can_be_carried_over_are_accepted() {
    for setting in ["none", "zstd", "zstd(compression_level=7)", "zstd(compression_level=-3)"] {
        let index = SmallIndex::new();
        index.edit_meta(|meta| meta["index_settings"]["docstore_compression"] = json!(setting));
        assert!(index.open().is_ok(), "{setting}");
    }
}

#[test]
fn a_schema_of_the_old_form_is_refused_with_the_version_that_wrote_it() {
    let index = SmallIndex::new();
    for path in index.files() {
        index.edit_footer(&path, |footer| {
            footer["version"] = json!({"major": 0, "minor": 19, "patch": 2, "index_format_version": 5});
        });
    }
    index.edit_meta(|meta| meta["schema"][2]["options"]["fast"] = json!("single"));
    assert_unsupported(&index, &meta_json(&index), "of the old form, written by tantivy 0.19.2");
}

#[test]
fn a_sort_field_without_a_column_is_damage_of_the_column_file() {
    let index = SmallIndex::new();
    // The schema promises a column that the segments, written before, do not have.
    index.edit_meta(|meta| {
        let mut field = meta["schema"][2].clone();
        field["name"] = json!("added");
        field["options"]["indexed"] = json!(false);
        field["options"]["fieldnorms"] = json!(false);
        meta["schema"].as_array_mut().unwrap().push(field);
        meta["index_settings"]["sort_by_field"] = json!({"field": "added", "order": "Desc"});
    });
    let error = index.refusal();
    assert!(matches!(&error, Error::Corrupt { path, .. } if path.extension().unwrap() == "fast"), "{error:?}");
    assert!(error.to_string().contains("\"added\""), "{error}");
}
