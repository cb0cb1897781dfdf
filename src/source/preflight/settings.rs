//! `meta.json`: that its settings and schema are ones a split can carry over.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use tantivy::schema::{FieldType, Schema, Type};

use super::WrittenBy;
use crate::error::{Error, Result};
use crate::source::guard::guard;
use crate::source::meta::Meta;

/// First version whose schemas tantivy 0.27 reads: since it, fast fields are columns.
pub(super) const FIRST_READABLE: (u32, u32) = (0, 20);

/// Checks what needs no segment file.
pub(super) fn check(path: &Path, meta: &Meta) -> Result<()> {
    check_extensions(path, meta)?;
    check_compression(path, meta)
}

fn unsupported(path: &Path, what: &'static str, found: impl Into<String>, expected: &str, hint: &str) -> Error {
    Error::Unsupported {
        path: path.to_path_buf(),
        what,
        found: found.into(),
        expected: expected.to_owned(),
        hint: hint.to_owned(),
    }
}

/// Segment plugins keep planes of their own, which nobody but the plugin can split.
fn check_extensions(path: &Path, meta: &Meta) -> Result<()> {
    let extensions: Vec<String> = match meta.value().get("persisted_custom_extensions") {
        Some(Value::Array(extensions)) => extensions
            .iter()
            .map(|extension| extension.as_str().map_or_else(|| extension.to_string(), str::to_owned))
            .collect(),
        _ => Vec::new(),
    };
    if !extensions.is_empty() {
        return Err(unsupported(
            path,
            "the list of custom segment extensions",
            extensions.join(", "),
            "none",
            "their plugins alone can split these files; re-index instead",
        ));
    }
    let custom: Vec<&str> = schema_entries(meta)
        .filter(|entry| entry.get("type").and_then(Value::as_str) == Some("custom"))
        .filter_map(|entry| entry.get("name").and_then(Value::as_str))
        .collect();
    if custom.is_empty() {
        return Ok(());
    }
    Err(unsupported(
        path,
        "the type of a field",
        format!("custom ({})", custom.join(", ")),
        "a type of tantivy's own",
        "its plugin alone can split what it holds; re-index instead",
    ))
}

fn schema_entries(meta: &Meta) -> impl Iterator<Item = &Value> {
    meta.value().get("schema").and_then(Value::as_array).into_iter().flatten()
}

fn check_compression(path: &Path, meta: &Meta) -> Result<()> {
    let setting = meta.value().get("index_settings").and_then(|settings| settings.get("docstore_compression"));
    let Some(setting) = setting.and_then(Value::as_str) else { return Ok(()) };
    // tantivy slices what follows "zstd" unchecked, so the whole form is checked here.
    let level = |options: &str| {
        let level = options.strip_prefix("(compression_level=")?.strip_suffix(')')?;
        level.parse::<i32>().ok()
    };
    match setting {
        "none" | "lz4" | "zstd" => Ok(()),
        other if other.strip_prefix("zstd").and_then(level).is_some() => Ok(()),
        other => Err(unsupported(
            path,
            "docstore_compression",
            format!("{other:?}"),
            "none, lz4, zstd or zstd(compression_level=N)",
            "re-index with one of these codecs",
        )),
    }
}

/// Parses the schema. `written_by` is the oldest version that wrote a segment file, where there is one.
pub(super) fn parse_schema(path: &Path, meta: &Meta, written_by: Option<WrittenBy>) -> Result<Schema> {
    let Some(value) = meta.value().get("schema") else {
        return Err(Error::corrupt(path, "it has no schema"));
    };
    let mut names = BTreeSet::new();
    for name in schema_entries(meta).filter_map(|entry| entry.get("name").and_then(Value::as_str)) {
        if !names.insert(name) {
            return Err(Error::corrupt(path, format!("its schema names the field {name:?} twice")));
        }
    }
    guard(path, "the schema", || {
        serde_json::from_value(value.clone()).map_err(|error| {
            let (found, hint) = match written_by {
                Some(by) if (by.major, by.minor) < FIRST_READABLE => (
                    format!("of the old form, written by {by}"),
                    "re-index the documents with a current tantivy".to_owned(),
                ),
                Some(by) => (
                    format!("one that tantivy {} cannot read ({error}), written by {by}", tantivy::version()),
                    "restore meta.json, or use a build for the newer release".to_owned(),
                ),
                None => (
                    format!("one that tantivy {} cannot read ({error})", tantivy::version()),
                    "the index has no segments: make it anew".to_owned(),
                ),
            };
            unsupported(path, "the schema", found, "a schema of tantivy 0.20 to 0.27", &hint)
        })
    })
}

/// The field that documents are sorted by, where there is one: it must exist and be a column of a type tantivy sorts.
pub(super) fn check_sort(path: &Path, meta: &Meta, schema: &Schema) -> Result<Option<String>> {
    let sort = meta.value().get("index_settings").and_then(|settings| settings.get("sort_by_field"));
    let Some(sort) = sort.filter(|sort| !sort.is_null()) else { return Ok(None) };
    let name = sort.get("field").and_then(Value::as_str);
    let Some(name) = name else { return Err(Error::corrupt(path, "its sort_by_field names no field")) };
    let Ok(field) = schema.get_field(name) else {
        return Err(Error::corrupt(path, format!("its sort_by_field is {name:?}, which the schema does not have")));
    };
    let entry = schema.get_field_entry(field);
    let sortable = [Type::I64, Type::U64, Type::F64, Type::Date, Type::Str, Type::Bytes];
    let kind = entry.field_type().value_type();
    if entry.is_fast() && sortable.contains(&kind) && !matches!(entry.field_type(), FieldType::TieBreaker) {
        return Ok(Some(name.to_owned()));
    }
    let fast = if entry.is_fast() { "" } else { "no column, " };
    Err(unsupported(
        path,
        "the sort field",
        format!("{name:?} ({fast}type {kind:?})"),
        "a column of integers, floats, dates, strings or bytes",
        "its order cannot be kept; re-index without sort_by_field",
    ))
}
