//! Real documents, indexed with a schema that has every field type. They lie beside the project and may be absent.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{
    DateOptions, DateTimePrecision, FAST, Facet, FacetOptions, INDEXED, JsonObjectOptions, OwnedValue, STORED, STRING,
    Schema, TEXT, TextFieldIndexing,
};
use tantivy::time::OffsetDateTime;
use tantivy::time::format_description::well_known::Rfc3339;
use tantivy::{DateTime, Index, TantivyDocument};

/// Names of the corpora.
pub const NAMES: [&str; 7] = ["poems", "bible", "emoji", "tldr", "advisories", "ratings", "books_para"];

/// The documents of a corpus, or `None` and a remark.
pub fn documents(name: &str) -> Option<Vec<Value>> {
    let path: PathBuf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpora").join(format!("{name}.jsonl.gz"));
    let Ok(file) = std::fs::File::open(&path) else {
        eprintln!("SKIPPED: {} is absent; nothing was tested with it", path.display());
        return None;
    };
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// The schema: every field type, with `id` and `routing` as Elasticsearch has them.
pub fn schema() -> Schema {
    let mut builder = Schema::builder();
    builder.add_text_field("id", STRING | STORED | FAST);
    builder.add_text_field("routing", STRING | STORED);
    builder.add_text_field("title", TEXT | STORED);
    builder.add_text_field("body", TEXT | STORED);
    let date = DateOptions::default().set_precision(DateTimePrecision::Microseconds);
    builder.add_date_field("ts", date.set_indexed().set_fast().set_stored());
    builder.add_facet_field("category", FacetOptions::default().set_stored());
    builder.add_text_field("keyword", STRING | FAST);
    let attrs = JsonObjectOptions::default().set_stored().set_fast("raw");
    builder.add_json_field("attrs", attrs.set_indexing_options(TextFieldIndexing::default()));
    builder.add_f64_field("score", INDEXED | FAST | STORED);
    builder.add_u64_field("length", INDEXED | FAST);
    builder.add_i64_field("below_zero", FAST | STORED);
    builder.add_bool_field("has_body", INDEXED | FAST);
    builder.add_bytes_field("prefix", FAST | STORED | INDEXED);
    builder.add_ip_addr_field("address", INDEXED | FAST | STORED);
    builder.build()
}

/// Indexes `documents` in `dir` as `segments` segments and deletes every 50th. `false` if the corpus is absent.
pub fn build(name: &str, dir: &Path, segments: usize) -> bool {
    let Some(documents) = documents(name) else { return false };
    std::fs::create_dir_all(dir).unwrap();
    let index = Index::create_in_dir(dir, schema()).unwrap();
    let mut writer = index.writer_with_num_threads(1, 30_000_000).unwrap();
    writer.set_merge_policy(Box::new(NoMergePolicy));
    for chunk in documents.chunks(documents.len().div_ceil(segments)) {
        for document in chunk {
            writer.add_document(convert(&index.schema(), document)).unwrap();
        }
        writer.commit().unwrap();
    }
    let id = index.schema().get_field("id").unwrap();
    for document in documents.iter().step_by(50) {
        writer.delete_term(tantivy::Term::from_field_text(id, document["id"].as_str().unwrap()));
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    true
}

/// A document of a corpus as tantivy takes it.
pub fn convert(schema: &Schema, document: &Value) -> TantivyDocument {
    let field = |name: &str| schema.get_field(name).unwrap();
    let text = |name: &str| document.get(name).and_then(Value::as_str);
    let mut doc = TantivyDocument::new();
    for name in ["id", "routing", "title", "body"] {
        if let Some(text) = text(name) {
            doc.add_text(field(name), text);
        }
    }
    if let Some(ts) = text("ts").and_then(|ts| OffsetDateTime::parse(ts, &Rfc3339).ok()) {
        // Years that do not fit nanoseconds in 64 bits wrap, as in tantivy's own parser.
        let nanos = ts.unix_timestamp_nanos() as i64;
        doc.add_date(field("ts"), DateTime::from_timestamp_nanos(nanos));
    }
    if let Some(category) = text("category") {
        doc.add_facet(field("category"), Facet::from_path(["kind", category]));
        doc.add_text(field("keyword"), category);
    }
    if let Some(attrs) = document.get("attrs").and_then(Value::as_object) {
        let entries = attrs.iter().map(|(key, value)| (key.clone(), OwnedValue::from(value.clone())));
        doc.add_object(field("attrs"), entries.collect());
    }
    if let Some(score) = document.get("score").and_then(Value::as_f64) {
        doc.add_f64(field("score"), score);
    }
    let body = text("body").unwrap_or_default();
    doc.add_u64(field("length"), body.len() as u64);
    doc.add_i64(field("below_zero"), -i64::try_from(body.len()).unwrap());
    doc.add_bool(field("has_body"), !body.is_empty());
    doc.add_bytes(field("prefix"), &body.as_bytes()[..body.len().min(7)]);
    let id = crc32fast::hash(text("id").unwrap().as_bytes());
    doc.add_ip_addr(field("address"), std::net::Ipv4Addr::from(id).to_ipv6_mapped());
    doc
}
