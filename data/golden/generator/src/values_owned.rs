//! Documents of tantivy 0.22 and later: a list of values that own what they hold, and nest.

use super::tantivy::DateTime;
use super::tantivy::schema::{Document as _, Facet, Field, OwnedValue, Schema, TantivyDocument};
use super::tantivy::store::StoreReader;
use super::tantivy::tokenizer::{PreTokenizedString, Token};
use crate::documents::{self, Value};

pub fn document(schema: &Schema, document: documents::Document) -> TantivyDocument {
    let mut doc = TantivyDocument::new();
    for (name, value) in document {
        let value = theirs(value);
        super::add_value(&mut doc, schema.get_field(name).unwrap(), value);
    }
    doc
}

fn theirs(value: Value) -> OwnedValue {
    match value {
        Value::Null => OwnedValue::Null,
        Value::Str(text) => OwnedValue::Str(text),
        Value::Tokens(tokens) => OwnedValue::PreTokStr(PreTokenizedString {
            text: "made of tokens".to_owned(),
            tokens: tokens
                .into_iter()
                .map(|(text, position)| Token { offset_from: 0, offset_to: 1, position, text, position_length: 1 })
                .collect(),
        }),
        Value::U64(number) => OwnedValue::U64(number),
        Value::I64(number) => OwnedValue::I64(number),
        Value::F64(number) => OwnedValue::F64(number),
        Value::Bool(value) => OwnedValue::Bool(value),
        Value::Date(nanoseconds) => OwnedValue::Date(DateTime::from_timestamp_nanos(nanoseconds)),
        Value::Ip(address) => OwnedValue::IpAddr(address),
        Value::Bytes(bytes) => OwnedValue::Bytes(bytes),
        Value::Facet(path) => OwnedValue::Facet(Facet::from_text(&path).unwrap()),
        Value::Array(values) => OwnedValue::Array(values.into_iter().map(theirs).collect()),
        Value::Object(entries) => {
            OwnedValue::Object(entries.into_iter().map(|(key, value)| (key, theirs(value))).collect())
        }
    }
}

pub fn stored(store: &StoreReader, doc: u32) -> Vec<(Field, Value)> {
    let doc: TantivyDocument = store.get(doc).unwrap();
    doc.iter_fields_and_values().map(|(field, value)| (field, ours(super::owned(value)))).collect()
}

fn ours(value: OwnedValue) -> Value {
    match value {
        OwnedValue::Null => Value::Null,
        OwnedValue::Str(text) => Value::Str(text),
        OwnedValue::U64(number) => Value::U64(number),
        OwnedValue::I64(number) => Value::I64(number),
        OwnedValue::F64(number) => Value::F64(number),
        OwnedValue::Bool(value) => Value::Bool(value),
        OwnedValue::Date(date) => Value::Date(date.into_timestamp_nanos()),
        OwnedValue::Facet(facet) => Value::Facet(facet.to_path_string()),
        OwnedValue::Bytes(bytes) => Value::Bytes(bytes),
        OwnedValue::IpAddr(address) => Value::Ip(address),
        OwnedValue::Array(values) => Value::Array(values.into_iter().map(ours).collect()),
        OwnedValue::Object(entries) => {
            Value::Object(entries.into_iter().map(|(key, value)| (key, ours(value))).collect())
        }
        other => panic!("{other:?} came out of a doc store"),
    }
}
