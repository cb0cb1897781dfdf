//! `meta.json` against the source's, and whether the parts of each segment fit together.

use serde_json::Value;
use tantivy::columnar::ColumnType;
use tantivy::schema::Type;

use super::VerifyJob;
use super::files::Child;
use super::finding::{Finding, FindingKind, Grade};
use crate::error::{Error, Result};
use crate::source::{Component, META, Meta, Segment, Source, guard};

/// Everything in `meta.json` but the segments must be as in the source.
pub(super) fn compare(source: &Source, child: &Child, meta: &Meta, findings: &mut Vec<Finding>) {
    let path = child.path.join(META);
    let mut find = |grade: Grade, kind: FindingKind, message: String| {
        findings.push(Finding::new(grade, kind, message).in_child(child.shard).in_file(&path));
    };
    let (ours, theirs) = (meta.value(), source.meta().value());
    // Parsed values decide where text differs: a default may be left out or written down.
    let parsed = child.index.as_ref().map(|index| index.index());
    if ours.get("schema") != theirs.get("schema") && parsed.is_none_or(|index| index.schema() != source.schema()) {
        find(Grade::Error, FindingKind::Schema, "the schema is not the source's".to_owned());
    }
    let settings = "index_settings";
    if ours.get(settings) != theirs.get(settings)
        && parsed.is_none_or(|index| index.settings() != source.index().settings())
    {
        find(Grade::Error, FindingKind::Settings, "the index settings are not the source's".to_owned());
    }
    let absent = |value: Option<&Value>| {
        value.is_none_or(|value| value.is_null() || value.as_array().is_some_and(Vec::is_empty))
    };
    let mut keys: Vec<&String> = ours.keys().chain(theirs.keys()).collect();
    keys.sort();
    keys.dedup();
    for key in keys.into_iter().filter(|key| !["schema", settings, "segments"].contains(&key.as_str())) {
        let (ours, theirs) = (ours.get(key), theirs.get(key));
        if ours != theirs && !(absent(ours) && absent(theirs)) {
            let show = |value: Option<&Value>| value.map_or("absent".to_owned(), Value::to_string);
            find(
                Grade::Warning,
                FindingKind::Meta,
                format!("{key} is {}, the source has {}", show(ours), show(theirs)),
            );
        }
    }
}

/// Whether each segment's parts agree about its documents and are all there.
pub(super) fn structure(job: &VerifyJob<'_>, child: &Child, findings: &mut Vec<Finding>) {
    let Some(index) = &child.index else { return };
    for (segment, entry) in index.segments().iter().zip(index.meta().segments()) {
        let before = findings.len();
        let result = guard(segment.path(), "the segment", || {
            counts(segment, entry.deletes.map_or(0, |(deleted, _)| deleted), findings)?;
            parts(job.source, index, segment, findings)?;
            columns_by_name(segment, findings)
        });
        if let Err(error) = result {
            findings.push(Finding::error(FindingKind::Unreadable, error.one_line()).in_file(segment.path()));
        }
        for finding in findings.iter_mut().skip(before) {
            finding.child = Some(child.shard);
        }
    }
}

fn counts(segment: &Segment, deleted: u32, findings: &mut Vec<Finding>) -> Result<()> {
    let max_doc = segment.max_doc();
    if max_doc == 0 {
        findings.push(
            Finding::new(Grade::Warning, FindingKind::MaxDoc, "a segment without documents").in_file(segment.path()),
        );
    }
    let mut differ = |file, message: String| findings.push(Finding::error(FindingKind::MaxDoc, message).in_file(file));
    let rows = segment.columns().num_docs();
    if rows != max_doc {
        differ(segment.file(Component::FastFields), format!("has {rows} rows, meta.json says {max_doc} documents"));
    }
    let live = segment.num_docs();
    if u64::from(live) + u64::from(deleted) != u64::from(max_doc) {
        differ(
            segment.path().to_path_buf(),
            format!("{live} documents are live and {deleted} deleted, meta.json says {max_doc} in all"),
        );
    }
    let path = segment.file(Component::Store);
    let store = segment.reader().get_store_reader(1).map_err(Error::io("read", &path))?;
    if store.get_document_bytes(max_doc).is_ok() {
        differ(path.clone(), format!("has a document {max_doc}, meta.json says {max_doc} documents"));
    }
    if max_doc > 0
        && let Err(error) = store.get_document_bytes(max_doc - 1)
    {
        differ(path, format!("has no document {}: {error}", max_doc - 1));
    }
    Ok(())
}

/// Columns and norms that the schema promises, as far as the source keeps the promise.
fn parts(source: &Source, index: &Source, segment: &Segment, findings: &mut Vec<Finding>) -> Result<()> {
    let mut missing = |component: Component, message: String| {
        findings.push(Finding::error(FindingKind::MissingPart, message).in_file(segment.file(component)));
    };
    for (field, entry) in index.schema().fields() {
        let name = entry.name();
        if entry.is_indexed() && entry.has_fieldnorms() && segment.norms(field)?.is_none() {
            let kept = source.segments().iter().all(|segment| matches!(segment.norms(field), Ok(Some(_))));
            if kept {
                missing(Component::FieldNorms, format!("field {name:?} has no norms"));
            }
        }
        let Some(column) = column_type(entry.field_type().value_type()).filter(|_| entry.is_fast()) else { continue };
        if !has_column(segment, name, column) {
            let kept = source.segments().iter().all(|segment| has_column(segment, name, column));
            if kept {
                missing(Component::FastFields, format!("there is no column {name:?} of type {column}"));
            }
        }
    }
    Ok(())
}

/// Whether each column is found by its name: programs look columns up, while everything here reads them one after the
/// other.
fn columns_by_name(segment: &Segment, findings: &mut Vec<Finding>) -> Result<()> {
    let path = segment.file(Component::FastFields);
    for name in segment.column_names() {
        let found = segment.columns().read_columns(name).map_err(Error::io("read", &path))?.len();
        let there = segment.column_handles(name).len();
        if found != there {
            let message = format!("of {there} columns {:?}, {found} are found by the name", name.replace('\u{1}', "."));
            findings.push(Finding::error(FindingKind::Structure, message).in_file(&path));
        }
    }
    Ok(())
}

fn has_column(segment: &Segment, name: &str, kind: ColumnType) -> bool {
    segment.column_handles(name).iter().any(|column| column.column_type() == kind)
}

/// The column type of a fast field; `None` for JSON and custom fields, whose columns depend on the documents.
fn column_type(kind: Type) -> Option<ColumnType> {
    match kind {
        Type::Str | Type::Facet => Some(ColumnType::Str),
        Type::U64 => Some(ColumnType::U64),
        Type::I64 => Some(ColumnType::I64),
        Type::F64 => Some(ColumnType::F64),
        Type::Bool => Some(ColumnType::Bool),
        Type::Date => Some(ColumnType::DateTime),
        Type::Bytes => Some(ColumnType::Bytes),
        Type::IpAddr => Some(ColumnType::IpAddr),
        _ => None,
    }
}
