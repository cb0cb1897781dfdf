//! Stored documents.
//!
//! Blocks are read in order by our own reader; every 64th through tantivy's too, document by document, as searches do.
//! Documents are taken as bytes, normally: what is stored must come out byte by byte. Stores of format version 1 hold dates as
//! microseconds, those of version 2 as nanoseconds, so where both are compared the documents are decoded by tantivy
//! (which knows the version) and encoded again here, the same way for both.
//!
//! But for documents with JSON of format 5, which is its text. There tantivy 0.27 makes dates of texts that look like
//! dates, and then, in stores of version 1, takes their nanoseconds for microseconds: 1000 times too many, or an
//! overflow (`src/schema/document/de.rs`, `ValueType::JSONObject`). The text is the same in both versions; such
//! documents are compared as bytes, with the dates outside of it converted.

use std::ops::Range;

use tantivy::TantivyDocument;
use tantivy::schema::Value;
use tantivy::schema::document::{ReferenceValue, ReferenceValueLeaf};

use super::digest::{Seed, Tag};
use super::sums::SegmentSums;
use super::unit::View;
use crate::error::{Error, Result};
use crate::progress::Cancel;
use crate::source::store::{BlockReader, Documents, blocks};
use crate::source::{Component, cannot_read, check_document, holds_json_text, visit_dates};

/// Of the blocks, every so many are read by tantivy too.
const BY_TANTIVY: usize = 64;

/// Reads the documents in `range`.
pub(super) fn read(view: &View<'_>, range: Range<u64>, sums: &SegmentSums, cancel: &Cancel) -> Result<()> {
    let path = view.segment.file(Component::Store);
    let store = view.segment.reader().get_store_reader(1).map_err(Error::io("read", &path))?;
    let body = view.segment.body(Component::Store);
    let mut adder = sums.adder();
    let (mut reader, mut buffer) = (BlockReader::default(), Vec::new());
    let wanted = |doc: u32| range.contains(&u64::from(doc));
    for (number, addr) in blocks(view.segment)?.into_iter().enumerate() {
        if !(wanted(addr.docs.start) || addr.docs.contains(&u32::try_from(range.start).unwrap_or(u32::MAX))) {
            continue;
        }
        cancel.check()?;
        let damaged = |problem: String| Error::corrupt(&path, format!("documents {:?}: {problem}", addr.docs));
        let compressed = body.get(addr.bytes.clone()).unwrap_or_default();
        let block = reader.decompress(view.segment.store().codec, compressed).map_err(damaged)?;
        let documents = Documents::open(block, addr.docs.len()).map_err(damaged)?;
        for (index, doc) in addr.docs.clone().enumerate().filter(|(_, doc)| wanted(*doc)) {
            let what = || format!("stored document {doc}");
            let damaged = |problem: &str| Error::corrupt(&path, format!("{}: {problem}", what()));
            let bytes = documents.get(index).ok_or_else(|| damaged("it lies outside its block"))?;
            if number.is_multiple_of(BY_TANTIVY) {
                let known = store.get_document_bytes(doc).map_err(|error| cannot_read(what(), &path)(error))?;
                if known.as_slice() != bytes {
                    return Err(damaged("the skip index leads elsewhere than to its block"));
                }
            }
            let seed = if !view.decoded {
                Seed::new(Tag::Stored, 0, bytes)
            } else if holds_json_text(bytes).map_err(damaged)? {
                buffer.clear();
                buffer.extend_from_slice(bytes);
                if view.segment.store().version == 1 {
                    dates_to_nanoseconds(&mut buffer).map_err(damaged)?;
                }
                Seed::new(Tag::Stored, 0, &buffer)
            } else {
                check_document(bytes).map_err(damaged)?;
                let document: TantivyDocument = store.get(doc).map_err(|error| cannot_read(what(), &path)(error))?;
                buffer.clear();
                encode_document(&document, &mut buffer);
                Seed::new(Tag::Decoded, 0, &buffer)
            };
            adder.add(doc, seed.alone());
        }
    }
    Ok(())
}

/// Makes the microseconds of version 1 the nanoseconds of version 2.
fn dates_to_nanoseconds(document: &mut [u8]) -> Result<(), &'static str> {
    let mut ends = Vec::new();
    visit_dates(document, &mut |at| ends.push(at + 8))?;
    for end in ends {
        let date = document.get_mut(..end).and_then(|head| head.last_chunk_mut::<8>());
        let date = date.ok_or("it ends within a date")?;
        let nanoseconds = i64::from_le_bytes(*date).checked_mul(1_000).ok_or("a date does not fit nanoseconds")?;
        *date = nanoseconds.to_le_bytes();
    }
    Ok(())
}

/// Encodes a document so that equal documents, and only they, give equal bytes: field ids and values in stored order,
/// each value as a tag, a length where it has none of its own, and its bytes.
fn encode_document(document: &TantivyDocument, out: &mut Vec<u8>) {
    for (field, value) in document.field_values() {
        out.extend_from_slice(&field.field_id().to_le_bytes());
        encode(value, out);
    }
}

fn encode<'a, V: Value<'a>>(value: V, out: &mut Vec<u8>) {
    match value.as_value() {
        ReferenceValue::Leaf(leaf) => encode_leaf(leaf, out),
        ReferenceValue::Array(items) => {
            out.push(b'[');
            items.for_each(|item| encode(item, out));
            out.push(b']');
        }
        ReferenceValue::Object(entries) => {
            out.push(b'{');
            for (key, value) in entries {
                encode_bytes(b'k', key.as_bytes(), out);
                encode(value, out);
            }
            out.push(b'}');
        }
    }
}

fn encode_leaf(leaf: ReferenceValueLeaf<'_>, out: &mut Vec<u8>) {
    let mut fixed = |tag: u8, bytes: &[u8]| {
        out.push(tag);
        out.extend_from_slice(bytes);
    };
    match leaf {
        ReferenceValueLeaf::Null => fixed(b'0', &[]),
        ReferenceValueLeaf::U64(value) => fixed(b'u', &value.to_le_bytes()),
        ReferenceValueLeaf::I64(value) => fixed(b'i', &value.to_le_bytes()),
        ReferenceValueLeaf::F64(value) => fixed(b'f', &value.to_bits().to_le_bytes()),
        ReferenceValueLeaf::Date(value) => fixed(b'd', &value.into_timestamp_nanos().to_le_bytes()),
        ReferenceValueLeaf::IpAddr(value) => fixed(b'a', &value.octets()),
        ReferenceValueLeaf::Bool(value) => fixed(b'b', &[u8::from(value)]),
        ReferenceValueLeaf::Str(value) => encode_bytes(b's', value.as_bytes(), out),
        ReferenceValueLeaf::Facet(value) => encode_bytes(b'h', value.as_bytes(), out),
        ReferenceValueLeaf::Bytes(value) => encode_bytes(b'x', value, out),
        ReferenceValueLeaf::Custom(value) => encode_bytes(b'c', value, out),
        ReferenceValueLeaf::PreTokStr(value) => {
            encode_bytes(b'p', value.text.as_bytes(), out);
            for token in &value.tokens {
                encode_bytes(b't', token.text.as_bytes(), out);
                for number in [token.offset_from, token.offset_to, token.position, token.position_length] {
                    out.extend_from_slice(&(number as u64).to_le_bytes());
                }
            }
        }
    }
}

fn encode_bytes(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tantivy::schema::Schema;

    fn encoded(json: &str) -> Vec<u8> {
        let mut builder = Schema::builder();
        builder.add_json_field("j", tantivy::schema::STORED);
        builder.add_date_field("d", tantivy::schema::STORED);
        let document = TantivyDocument::parse_json(&builder.build(), json).unwrap();
        let mut out = Vec::new();
        encode_document(&document, &mut out);
        out
    }

    #[test]
    fn documents_that_differ_anywhere_encode_differently() {
        let documents = [
            r#"{"j": {"a": [1, 2]}}"#,
            r#"{"j": {"a": [2, 1]}}"#,
            r#"{"j": {"a": [[1], 2]}}"#,
            r#"{"j": {"a": [1, [2]]}}"#,
            r#"{"j": {"a": [1, 2.0]}}"#,
            r#"{"j": {"b": [1, 2]}}"#,
            r#"{"j": {"a": "1"}}"#,
            r#"{"j": {"a": null}}"#,
            r#"{"j": {"a": true}}"#,
            r#"{"j": {"a": {"b": 1}, "c": 2}}"#,
            r#"{"j": {"a": {"b": 1, "c": 2}}}"#,
            r#"{"j": {"d": "1970-01-01T00:00:01Z"}}"#,
            r#"{"d": "1970-01-01T00:00:01Z"}"#,
            r#"{"d": "1970-01-01T00:00:01.000001Z"}"#,
        ];
        let mut seen = std::collections::HashMap::new();
        for document in documents {
            if let Some(other) = seen.insert(encoded(document), document) {
                panic!("{document} and {other} encode alike");
            }
        }
    }
}
