//! The indexes in `data/golden`, and what the releases that wrote them read in them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tantivy::DateTime;
use tantivy::schema::{Facet, OwnedValue, Schema};

use super::columns::float;
use super::files;
use super::values::{render, render_value};

/// What `expected.json` says of an index.
pub struct Golden {
    /// Directory below `data/golden`.
    pub name: String,
    /// Everything but the documents.
    pub facts: Value,
    /// Live documents in the order of the index.
    pub docs: Vec<Expected>,
}

/// What `expected.json` says of a live document.
pub struct Expected {
    /// The id.
    pub id: String,
    /// Its segment.
    pub segment: usize,
    /// Columns as `[name, type, values]`.
    pub columns: Vec<Value>,
    /// The lines that [`super::content::Content`] has to have, sorted.
    pub lines: Vec<String>,
}

/// Where the indexes lie.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/golden")
}

/// All of them, as `release/variant`.
pub fn names() -> Vec<String> {
    let list = |dir: &Path| {
        let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
        let dirs = entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().into_string().unwrap());
        dirs.collect::<Vec<String>>()
    };
    let releases = list(&root()).into_iter().filter(|name| name.starts_with('v'));
    let mut names: Vec<String> = releases
        .flat_map(|release| list(&root().join(&release)).into_iter().map(move |variant| format!("{release}/{variant}")))
        .collect();
    names.sort();
    names
}

/// Copies an index to `to`: tests run at the same time, and each takes the writer lock of its source.
pub fn copy(name: &str, to: &Path) {
    files::copy_dir(&root().join(name).join("index"), to);
}

impl Golden {
    /// Reads what is expected of an index with this schema.
    pub fn read(name: &str, schema: &Schema) -> Golden {
        let text = fs::read_to_string(root().join(name).join("expected.json")).unwrap();
        let mut facts: Value = serde_json::from_str(&text).unwrap();
        let dates_are_texts = json_is_text(&facts);
        let docs = facts["docs"].take();
        let counts = facts["segments"].as_array().unwrap().iter().map(|segment| segment["docs"].as_u64().unwrap());
        let segments = counts.enumerate().flat_map(|(ord, count)| (0..count).map(move |_| ord));
        let docs = docs.as_array().unwrap().iter().zip(segments).map(|(doc, segment)| Expected {
            id: doc["id"].as_str().unwrap().to_owned(),
            segment,
            columns: doc["columns"].as_array().unwrap().clone(),
            lines: lines(doc, schema, dates_are_texts),
        });
        let docs = docs.collect();
        Golden { name: name.to_owned(), facts, docs }
    }

    /// Whether JSON is stored as its text.
    pub fn json_is_text(&self) -> bool {
        json_is_text(&self.facts)
    }
}

/// Before format 6 it was.
fn json_is_text(facts: &Value) -> bool {
    facts["index_format"].as_u64().unwrap() < 6
}

/// A document of `expected.json` as the lines that [`super::content::Content::read`] makes of it, sorted.
fn lines(doc: &Value, schema: &Schema, dates_are_texts: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for (ord, stored) in doc["stored"].as_array().unwrap().iter().enumerate() {
        let value = render_value(&stored_value(&stored[1], dates_are_texts));
        lines.push(format!("stored {ord} {} {value}", stored[0].as_str().unwrap()));
    }
    for (_, entry) in schema.fields().filter(|(_, entry)| entry.is_indexed() && entry.has_fieldnorms()) {
        lines.push(format!("norm {} {}", entry.name(), doc["norms"][entry.name()].as_u64().unwrap_or(0)));
    }
    for (field, terms) in doc["terms"].as_object().unwrap() {
        for term in terms.as_array().unwrap() {
            let mut line = format!("term {field} {} tf=", render(&bytes(&term[0])));
            line += &term[1].as_u64().map_or("-".to_owned(), |tf| tf.to_string());
            if let Some(positions) = term[2].as_array() {
                let positions: Vec<u64> = positions.iter().map(|position| position.as_u64().unwrap()).collect();
                line += &format!(" pos={positions:?}");
            }
            lines.push(line);
        }
    }
    for column in doc["columns"].as_array().unwrap() {
        let (name, kind) = (column[0].as_str().unwrap(), column[1].as_str().unwrap());
        let numerical = ["I64", "U64", "F64"].contains(&kind);
        let label = if numerical && schema.get_field(name).is_err() { "num" } else { kind };
        let values: Vec<String> = column[2].as_array().unwrap().iter().map(|value| column_value(kind, value)).collect();
        lines.push(format!("column {name:?} {label} [{}]", values.join(", ")));
    }
    lines.sort();
    lines
}

fn column_value(kind: &str, value: &Value) -> String {
    match kind {
        "F64" => float(value.as_str().unwrap().parse().unwrap()),
        "Bytes" => render(&bytes(value)),
        "Str" => render(value.as_str().unwrap().as_bytes()),
        "IpAddr" => value.as_str().unwrap().to_owned(),
        _ => value.to_string(),
    }
}

/// A stored value; with `dates_are_texts` as tantivy 0.27 presents the texts in JSON of old doc stores: what can be a
/// date is one.
fn stored_value(value: &Value, dates_are_texts: bool) -> OwnedValue {
    let Some((kind, value)) = value.as_object().and_then(|value| value.iter().next()) else { return OwnedValue::Null };
    let text = || value.as_str().unwrap();
    match kind.as_str() {
        "str" => OwnedValue::Str(text().to_owned()),
        "u64" => OwnedValue::U64(value.as_u64().unwrap()),
        "i64" => OwnedValue::I64(value.as_i64().unwrap()),
        "f64" => OwnedValue::F64(text().parse().unwrap()),
        "bool" => OwnedValue::Bool(value.as_bool().unwrap()),
        "date_ns" => OwnedValue::Date(DateTime::from_timestamp_nanos(value.as_i64().unwrap())),
        "ip" => OwnedValue::IpAddr(text().parse().unwrap()),
        "bytes" => OwnedValue::Bytes(bytes(value)),
        "facet" => OwnedValue::Facet(Facet::from_text(text()).unwrap()),
        "array" => OwnedValue::Array(
            value.as_array().unwrap().iter().map(|value| json_value(value, dates_are_texts)).collect(),
        ),
        "object" => OwnedValue::Object(
            value
                .as_array()
                .unwrap()
                .iter()
                .map(|entry| (entry[0].as_str().unwrap().to_owned(), json_value(&entry[1], dates_are_texts)))
                .collect(),
        ),
        other => panic!("{other} in expected.json"),
    }
}

/// A value in an array or object.
fn json_value(value: &Value, dates_are_texts: bool) -> OwnedValue {
    match stored_value(value, dates_are_texts) {
        OwnedValue::Str(text) if dates_are_texts => OwnedValue::from(Value::String(text)),
        value => value,
    }
}

fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().unwrap();
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}
