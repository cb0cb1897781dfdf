//! Documents of tantivy 0.20 and 0.21: a list of values, JSON as the map of `serde_json`, in which dates are texts.

use serde_json::Value as Json;

use super::tantivy::DateTime;
use super::tantivy::schema::{Document, Facet, Field, Schema, Value as Theirs};
use super::tantivy::store::StoreReader;
use super::tantivy::time::format_description::well_known::Rfc3339;
use super::tantivy::tokenizer::{PreTokenizedString, Token};
use crate::documents::{self, Value};

pub fn document(schema: &Schema, document: documents::Document) -> Document {
    let mut doc = Document::new();
    for (name, value) in document {
        doc.add_field_value(schema.get_field(name).unwrap(), theirs(value));
    }
    doc
}

fn theirs(value: Value) -> Theirs {
    match value {
        Value::Str(text) => Theirs::Str(text),
        Value::Tokens(tokens) => Theirs::PreTokStr(PreTokenizedString {
            text: "made of tokens".to_owned(),
            tokens: tokens
                .into_iter()
                .map(|(text, position)| Token { offset_from: 0, offset_to: 1, position, text, position_length: 1 })
                .collect(),
        }),
        Value::U64(number) => Theirs::U64(number),
        Value::I64(number) => Theirs::I64(number),
        Value::F64(number) => Theirs::F64(number),
        Value::Bool(value) => Theirs::Bool(value),
        Value::Date(nanoseconds) => Theirs::Date(DateTime::from_timestamp_nanos(nanoseconds)),
        Value::Ip(address) => Theirs::IpAddr(address),
        Value::Bytes(bytes) => Theirs::Bytes(bytes),
        Value::Facet(path) => Theirs::Facet(Facet::from_text(&path).unwrap()),
        Value::Object(entries) => {
            Theirs::JsonObject(entries.into_iter().map(|(key, value)| (key, json(value))).collect())
        }
        Value::Null | Value::Array(_) => panic!("{value:?} stands outside of JSON"),
    }
}

fn json(value: Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Str(text) => Json::from(text),
        Value::U64(number) => Json::from(number),
        Value::I64(number) => Json::from(number),
        Value::F64(number) => Json::from(number),
        Value::Bool(value) => Json::from(value),
        Value::Date(nanoseconds) => {
            Json::from(DateTime::from_timestamp_nanos(nanoseconds).into_utc().format(&Rfc3339).unwrap())
        }
        Value::Array(values) => values.into_iter().map(json).collect(),
        Value::Object(entries) => entries.into_iter().map(|(key, value)| (key, json(value))).collect(),
        Value::Tokens(_) | Value::Ip(_) | Value::Bytes(_) | Value::Facet(_) => panic!("{value:?} in JSON"),
    }
}

pub fn stored(store: &StoreReader, doc: u32) -> Vec<(Field, Value)> {
    let doc = store.get(doc).unwrap();
    doc.field_values().iter().map(|value| (value.field(), ours(value.value()))).collect()
}

fn ours(value: &Theirs) -> Value {
    match value {
        Theirs::Str(text) => Value::Str(text.clone()),
        Theirs::PreTokStr(text) => panic!("{text:?} came out of a doc store"),
        Theirs::U64(number) => Value::U64(*number),
        Theirs::I64(number) => Value::I64(*number),
        Theirs::F64(number) => Value::F64(*number),
        Theirs::Bool(value) => Value::Bool(*value),
        Theirs::Date(date) => Value::Date(date.into_timestamp_nanos()),
        Theirs::Facet(facet) => Value::Facet(facet.to_path_string()),
        Theirs::Bytes(bytes) => Value::Bytes(bytes.clone()),
        Theirs::IpAddr(address) => Value::Ip(*address),
        Theirs::JsonObject(entries) => {
            Value::Object(entries.iter().map(|(key, value)| (key.clone(), ours_json(value))).collect())
        }
    }
}

fn ours_json(value: &Json) -> Value {
    match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::String(text) => Value::Str(text.clone()),
        Json::Number(number) => match (number.as_u64(), number.as_i64()) {
            (_, Some(number)) => Value::I64(number),
            (Some(number), None) => Value::U64(number),
            (None, None) => Value::F64(number.as_f64().unwrap()),
        },
        Json::Array(values) => Value::Array(values.iter().map(ours_json).collect()),
        Json::Object(entries) => {
            Value::Object(entries.iter().map(|(key, value)| (key.clone(), ours_json(value))).collect())
        }
    }
}
