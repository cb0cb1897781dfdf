//! An inspection says what is on disk, to the byte.

use std::fs;

use crate::small_index::{EXTENSIONS, SmallIndex};
use serde_json::Value;
use shardsplit::inspect::{Inspection, inspect};

fn inspection(index: &SmallIndex) -> Inspection {
    inspect(&index.open().unwrap()).unwrap()
}

#[test]
fn sizes_of_components_are_those_of_the_files() {
    let index = SmallIndex::new();
    let inspection = inspection(&index);
    let bytes = inspection.totals.bytes;
    let found = [bytes.terms, bytes.postings, bytes.positions, bytes.norms, bytes.columns, bytes.store, bytes.deletes];
    for (extension, found) in EXTENSIONS.iter().zip(found) {
        let files = index.files();
        let sizes = files.iter().filter(|path| path.extension().unwrap() == *extension);
        assert_eq!(found, sizes.map(|path| fs::metadata(path).unwrap().len()).sum::<u64>(), "{extension}");
    }
    assert_eq!(bytes.total(), found.iter().sum::<u64>());
}

#[test]
fn sizes_of_fields_add_up_to_their_files_without_tables_and_footers() {
    let index = SmallIndex::new();
    let inspection = inspection(&index);
    let sum = |of: fn(&shardsplit::inspect::ComponentBytes) -> u64| -> (u64, u64) {
        (inspection.fields.iter().map(|field| of(&field.bytes)).sum(), of(&inspection.totals.bytes))
    };
    for (what, (fields, files)) in [
        ("terms", sum(|bytes| bytes.terms)),
        ("postings", sum(|bytes| bytes.postings)),
        ("positions", sum(|bytes| bytes.positions)),
        ("norms", sum(|bytes| bytes.norms)),
    ] {
        // Two segments, each with a table of at most 7 bytes a field and a footer of about 100 bytes.
        assert!(fields > 0 && fields < files && files - fields < 2 * 160, "{what}: {fields} of {files}");
    }
    let (fields, files) = sum(|bytes| bytes.columns);
    assert!(fields > files / 2 && fields < files, "columns: {fields} of {files}");
    let norms: Vec<u64> = inspection.fields.iter().map(|field| field.bytes.norms).collect();
    assert_eq!(norms, [240, 240, 240, 0, 0], "a byte per document and field with norms");
}

#[test]
fn fields_are_told_as_the_schema_has_them() {
    let index = SmallIndex::new();
    let inspection = inspection(&index);
    let told: Vec<_> = inspection
        .fields
        .iter()
        .map(|field| {
            let flags = (field.stored, field.fast, field.norms);
            (field.name.as_str(), field.kind.as_str(), field.record, field.tokenizer.as_deref(), flags)
        })
        .collect();
    assert_eq!(
        told,
        [
            ("id", "text", Some("basic"), Some("raw"), (true, true, true)),
            ("body", "text", Some("position"), Some("default"), (true, false, true)),
            ("number", "u64", Some("basic"), None, (true, true, true)),
            ("numbers", "u64", None, None, (false, true, false)),
            ("data", "json_object", Some("position"), Some("default"), (true, true, false)),
        ]
    );
    let column = |name: &str| inspection.fields.iter().find(|field| field.name == name).unwrap().bytes.columns;
    assert!(column("data") > 0, "columns below a JSON field count for it");
    assert_eq!(column("body"), 0);
}

#[test]
fn segments_documents_and_settings_are_told() {
    let index = SmallIndex::new();
    index.edit_meta(|meta| meta["payload"] = "third commit".into());
    let opstamp = index.meta()["opstamp"].as_u64().unwrap();
    let inspection = inspection(&index);
    assert_eq!((inspection.opstamp, inspection.payload.as_deref()), (opstamp, Some("third commit")));
    assert_eq!((inspection.totals.segments, inspection.totals.live, inspection.totals.deleted), (2, 237, 3));
    let mut docs: Vec<_> = inspection.segments.iter().map(|s| (s.max_doc, s.live, s.deleted)).collect();
    docs.sort_unstable();
    assert_eq!(docs, [(40, 40, 0), (200, 197, 3)]);
    assert_eq!(inspection.settings.docstore_compression, "lz4");
    assert_eq!(inspection.settings.docstore_blocksize, 300);
    assert_eq!(inspection.settings.sort_by_field, None);
    assert_eq!(inspection.written_by.len(), 1);

    let json: Value = serde_json::to_value(&inspection).unwrap();
    assert_eq!(json["segments"][0]["store"]["codec"], "lz4");
    assert_eq!(json["fields"][0]["type"], "text");
    assert_eq!(json["written_by"][0]["index_format"], 7);
}
