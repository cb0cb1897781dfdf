//! Building an index and writing down what it holds, with one release of tantivy.
//!
//! Compiled once for every release, as a child of that release's module, which says which crate `tantivy` is and
//! covers what changed between releases.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value as Json, json};

use super::tantivy::columnar::{ColumnarReader, DynamicColumn};
use super::tantivy::merge_policy::NoMergePolicy;
use super::tantivy::postings::Postings;
use super::tantivy::schema::{
    BytesOptions, DateOptions, DateTimePrecision, FacetOptions, IndexRecordOption, IpAddrOptions, JsonObjectOptions,
    NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use super::tantivy::store::Compressor;
use super::tantivy::{DocId, DocSet, Index, IndexSettings, IndexWriter, SegmentReader, TERMINATED, Term};
use crate::documents::{self, Field, Flags, Indexing, Kind, Precision, Record, Value};
use crate::files;

/// An index to build.
pub struct Plan {
    pub fields: Vec<Field>,
    pub compressor: Compressor,
    /// Bytes of a block of the doc store before compression.
    pub blocksize: usize,
    /// Whether the doc store is compressed by a thread of its own.
    pub dedicated_thread: bool,
    /// A field to sort by, and whether from the largest value down.
    pub sort: Option<(&'static str, bool)>,
    /// Numbers of the documents of each commit.
    pub commits: Vec<std::ops::Range<u32>>,
    /// Every so many documents one is deleted.
    pub delete_every: u32,
    /// How many of the smallest segments to merge in the end.
    pub merge: usize,
}

#[allow(dead_code, reason = "no release needs all of them")]
impl Plan {
    /// Three segments, one of them merged from two commits, two with deleted documents.
    pub fn full(compressor: Compressor) -> Plan {
        Plan {
            fields: documents::fields(false),
            compressor,
            blocksize: 16_384,
            dedicated_thread: true,
            sort: None,
            commits: vec![0..138, 138..146, 146..152, 152..156],
            delete_every: 19,
            merge: 2,
        }
    }

    /// Two sorted segments with deleted documents, and few fields.
    pub fn sorted(compressor: Compressor, field: &'static str, descending: bool) -> Plan {
        Plan {
            fields: documents::few_fields(&["id", "rank", "body", "kept", "u64_ifs", "date_ifs", "json_all"], false),
            sort: Some((field, descending)),
            commits: vec![118..140, 140..151],
            delete_every: 11,
            merge: 0,
            ..Plan::full(compressor)
        }
    }

    /// One segment of a few documents.
    pub fn tiny(compressor: Compressor) -> Plan {
        Plan {
            fields: documents::few_fields(&["id", "body"], false),
            commits: vec![0..2, 2..3],
            delete_every: 100,
            merge: 0,
            ..Plan::full(compressor)
        }
    }
}

/// Builds the index in `dir/index` and writes what it holds to `dir/expected.json`.
pub fn write(plan: &Plan, dir: &Path) {
    let index_dir = dir.join("index");
    fs::create_dir_all(&index_dir).unwrap();
    build(plan, &index_dir);
    files::settle(&index_dir);
    let index = Index::open_in_dir(&index_dir).unwrap();
    fs::write(dir.join("expected.json"), expected(&index)).unwrap();
}

fn build(plan: &Plan, dir: &Path) {
    let schema = schema(&plan.fields);
    let mut settings = IndexSettings { docstore_compression: plan.compressor, ..IndexSettings::default() };
    settings.docstore_blocksize = plan.blocksize;
    settings.docstore_compress_dedicated_thread = plan.dedicated_thread;
    if let Some((field, descending)) = plan.sort {
        super::sort_by(&mut settings, field, descending);
    }
    let index = Index::builder().schema(schema.clone()).settings(settings).create_in_dir(dir).unwrap();
    // One thread: documents stand in the segment in the order in which they were added.
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
    writer.set_merge_policy(Box::new(NoMergePolicy));
    let id = schema.get_field("id").unwrap();
    for (ord, commit) in plan.commits.iter().enumerate() {
        for number in commit.clone() {
            let mut document = documents::document(number);
            document.retain(|(name, _)| schema.get_field(name).is_ok());
            writer.add_document(super::document(&schema, document)).unwrap();
        }
        for number in commit.clone().filter(|number| number % plan.delete_every == 3) {
            writer.delete_term(Term::from_field_text(id, &documents::id(number)));
        }
        let mut prepared = writer.prepare_commit().unwrap();
        if ord + 1 == plan.commits.len() {
            prepared.set_payload("written by an old release");
        }
        prepared.commit().unwrap();
    }
    let mut metas = index.searchable_segment_metas().unwrap();
    metas.sort_by_key(|meta| meta.max_doc());
    let merged: Vec<_> = metas.iter().take(plan.merge).map(|meta| meta.id()).collect();
    // Files that something still knows of are not collected.
    drop(metas);
    if merged.len() > 1 {
        writer.merge(&merged).wait().unwrap();
    }
    writer.garbage_collect_files().wait().unwrap();
    writer.wait_merging_threads().unwrap();
}

fn schema(fields: &[Field]) -> Schema {
    let mut builder = Schema::builder();
    for field in fields {
        let name = field.name;
        match field.kind {
            Kind::Text { index, fast, stored } => {
                let mut options = TextOptions::default();
                options = if stored { options.set_stored() } else { options };
                options = index.map_or(options.clone(), |index| options.set_indexing_options(indexing(index)));
                builder.add_text_field(name, super::fast_text(options, fast));
            }
            Kind::Json { index, fast, stored, dots } => {
                let mut options = JsonObjectOptions::default();
                options = if stored { options.set_stored() } else { options };
                options = if dots { options.set_expand_dots_enabled() } else { options };
                options = index.map_or(options.clone(), |index| options.set_indexing_options(indexing(index)));
                builder.add_json_field(name, super::fast_json(options, fast));
            }
            Kind::U64(flags) => drop(builder.add_u64_field(name, numeric(flags))),
            Kind::I64(flags) => drop(builder.add_i64_field(name, numeric(flags))),
            Kind::F64(flags) => drop(builder.add_f64_field(name, numeric(flags))),
            Kind::Bool(flags) => drop(builder.add_bool_field(name, numeric(flags))),
            Kind::Date(flags, precision) => {
                let mut options = DateOptions::default().set_precision(match precision {
                    Precision::Seconds => DateTimePrecision::Seconds,
                    Precision::Milliseconds => DateTimePrecision::Milliseconds,
                    Precision::Microseconds => DateTimePrecision::Microseconds,
                    Precision::Nanoseconds => DateTimePrecision::Nanoseconds,
                });
                options = if flags.indexed() { options.set_indexed() } else { options };
                options = if flags.fast() { options.set_fast() } else { options };
                builder.add_date_field(name, if flags.stored() { options.set_stored() } else { options });
            }
            Kind::Ip(flags) => {
                let mut options = IpAddrOptions::default();
                options = if flags.indexed() { options.set_indexed() } else { options };
                options = if flags.fast() { options.set_fast() } else { options };
                builder.add_ip_addr_field(name, if flags.stored() { options.set_stored() } else { options });
            }
            Kind::Bytes(flags) => {
                let mut options = BytesOptions::default();
                options = if flags.indexed() { options.set_indexed() } else { options };
                options = if flags.fast() { options.set_fast() } else { options };
                builder.add_bytes_field(name, if flags.stored() { options.set_stored() } else { options });
            }
            Kind::Facet { stored } => {
                let options = FacetOptions::default();
                builder.add_facet_field(name, if stored { options.set_stored() } else { options });
            }
            Kind::TieBreaker => super::add_tie_breaker(&mut builder, name),
        }
    }
    builder.build()
}

fn indexing(index: Indexing) -> TextFieldIndexing {
    TextFieldIndexing::default().set_tokenizer(index.tokenizer).set_fieldnorms(index.norms).set_index_option(
        match index.record {
            Record::Basic => IndexRecordOption::Basic,
            Record::Freqs => IndexRecordOption::WithFreqs,
            Record::Positions => IndexRecordOption::WithFreqsAndPositions,
        },
    )
}

fn numeric(flags: Flags) -> NumericOptions {
    let mut options = NumericOptions::default();
    options = if flags.indexed() { options.set_indexed() } else { options };
    options = if flags.fast() { options.set_fast() } else { options };
    options = if flags.stored() { options.set_stored() } else { options };
    if flags.norms() { options.set_fieldnorm() } else { options }
}

/// What `expected.json` says of one document.
#[derive(Default)]
struct Doc {
    id: String,
    stored: Vec<Json>,
    terms: BTreeMap<String, Vec<Json>>,
    columns: Vec<Json>,
    norms: BTreeMap<String, u8>,
}

/// The whole index as JSON, a document a line.
fn expected(index: &Index) -> String {
    // As "tantivy v0.21.1, index_format v5".
    let version = format!("{:?}", super::tantivy::version());
    let (release, format) = version.split_once(", index_format v").unwrap();
    let metas = index.load_metas().unwrap();
    let mut out = String::from("{\n");
    let mut say = |key: &str, value: Json| writeln!(out, "{}: {value},", json!(key)).unwrap();
    say("tantivy", json!(release.strip_prefix("tantivy v")));
    say("index_format", json!(format.parse::<u32>().unwrap()));
    say("unit_of_dates", json!("nanoseconds since 1970-01-01T00:00:00Z"));
    say("settings", serde_json::to_value(index.settings()).unwrap());
    say("payload", json!(metas.payload));
    say("opstamp", json!(metas.opstamp));
    let mut segments = Vec::new();
    let mut docs = Vec::new();
    for segment in index.searchable_segments().unwrap() {
        let reader = SegmentReader::open(&segment).unwrap();
        let counts = json!({"segment": segment.id().uuid_string(), "docs": reader.num_docs(), "deleted": reader.num_deleted_docs()});
        segments.push(counts);
        let file = segment.open_read(super::fast_fields_component()).unwrap();
        docs.extend(read_segment(index, &reader, &ColumnarReader::open(file).unwrap()));
    }
    say("segments", json!(segments));
    out += "\"docs\": [\n";
    let lines: Vec<String> = docs.iter().map(line).collect();
    out += &lines.join(",\n");
    out += "\n]\n}\n";
    out
}

/// A document in a fixed order of keys, the id first.
fn line(doc: &Doc) -> String {
    format!(
        r#"{{"id":{},"stored":{},"terms":{},"columns":{},"norms":{}}}"#,
        json!(doc.id),
        json!(doc.stored),
        json!(doc.terms),
        json!(doc.columns),
        json!(doc.norms)
    )
}

fn read_segment(index: &Index, reader: &SegmentReader, columns: &ColumnarReader) -> Vec<Doc> {
    let schema = index.schema();
    let mut docs: Vec<Option<Doc>> =
        (0..reader.max_doc()).map(|doc| (!reader.is_deleted(doc)).then(Doc::default)).collect();
    let store = reader.get_store_reader(1).unwrap();
    let live = |docs: &mut Vec<Option<Doc>>, see: &mut dyn FnMut(DocId, &mut Doc)| {
        docs.iter_mut().enumerate().for_each(|(id, doc)| doc.iter_mut().for_each(|doc| see(id as DocId, doc)));
    };
    live(&mut docs, &mut |id, doc| {
        for (field, value) in super::stored(&store, id) {
            let name = schema.get_field_name(field);
            if let ("id", Value::Str(id)) = (name, &value) {
                doc.id = id.clone();
            }
            doc.stored.push(json!([name, stored_json(&value)]));
        }
    });
    for (field, entry) in schema.fields() {
        if entry.is_indexed() {
            read_terms(reader, field, entry.name(), entry.field_type().get_index_record_option(), &mut docs);
        }
        if entry.is_indexed() && entry.has_fieldnorms() {
            let norms = reader.get_fieldnorms_reader(field).unwrap();
            live(&mut docs, &mut |id, doc| {
                // Of most fields most documents have nothing: norm 0 is not written down.
                let norm = norms.fieldnorm_id(id);
                if norm != 0 {
                    doc.norms.insert(entry.name().to_owned(), norm);
                }
            });
        }
    }
    for (name, handle) in columns.list_columns().unwrap() {
        let column = handle.open().unwrap();
        live(&mut docs, &mut |id, doc| {
            let (kind, values) = column_values(&column, id);
            if !values.is_empty() {
                doc.columns.push(json!([name, kind, values]));
            }
        });
    }
    docs.into_iter().flatten().collect()
}

/// Terms as `[hex]`, `[hex, frequency]` or `[hex, frequency, positions]`, as the postings record.
fn read_terms(
    reader: &SegmentReader,
    field: super::tantivy::schema::Field,
    name: &str,
    record: Option<IndexRecordOption>,
    docs: &mut [Option<Doc>],
) {
    let inverted = reader.inverted_index(field).unwrap();
    let mut stream = inverted.terms().stream().unwrap();
    while stream.advance() {
        let info = stream.value().clone();
        let blocks = inverted.read_block_postings_from_terminfo(&info, IndexRecordOption::WithFreqs).unwrap();
        let with_freqs = !blocks.freqs().is_empty();
        let option = match record {
            Some(IndexRecordOption::WithFreqsAndPositions) if with_freqs => IndexRecordOption::WithFreqsAndPositions,
            _ if with_freqs => IndexRecordOption::WithFreqs,
            _ => IndexRecordOption::Basic,
        };
        let mut postings = inverted.read_postings_from_terminfo(&info, option).unwrap();
        let mut positions = Vec::new();
        while postings.doc() != TERMINATED {
            let mut term = vec![json!(hex(stream.key()))];
            if with_freqs {
                term.push(json!(postings.term_freq()));
            }
            if option == IndexRecordOption::WithFreqsAndPositions {
                postings.positions(&mut positions);
                term.push(json!(positions));
            }
            if let Some(doc) = &mut docs[postings.doc() as usize] {
                doc.terms.entry(name.to_owned()).or_default().push(Json::Array(term));
            }
            postings.advance();
        }
    }
}

/// Type and values of a column for a document.
fn column_values(column: &DynamicColumn, doc: DocId) -> (&'static str, Vec<Json>) {
    match column {
        DynamicColumn::Bool(column) => ("Bool", column.values_for_doc(doc).map(|value| json!(value)).collect()),
        DynamicColumn::I64(column) => ("I64", column.values_for_doc(doc).map(|value| json!(value)).collect()),
        DynamicColumn::U64(column) => ("U64", column.values_for_doc(doc).map(|value| json!(value)).collect()),
        DynamicColumn::F64(column) => ("F64", column.values_for_doc(doc).map(|value| json!(float(value))).collect()),
        DynamicColumn::IpAddr(column) => {
            ("IpAddr", column.values_for_doc(doc).map(|value| json!(value.to_string())).collect())
        }
        DynamicColumn::DateTime(column) => {
            ("DateTime", column.values_for_doc(doc).map(|value| json!(value.into_timestamp_nanos())).collect())
        }
        DynamicColumn::Bytes(column) => {
            let term = |ord| {
                let mut term = Vec::new();
                assert!(column.ord_to_bytes(ord, &mut term).unwrap());
                json!(hex(&term))
            };
            ("Bytes", column.term_ords(doc).map(term).collect())
        }
        DynamicColumn::Str(column) => {
            let term = |ord| {
                let mut term = String::new();
                assert!(column.ord_to_str(ord, &mut term).unwrap());
                json!(term)
            };
            ("Str", column.term_ords(doc).map(term).collect())
        }
    }
}

/// A stored value with its type; floats as text, since JSON has no infinity and no negative zero.
fn stored_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Str(text) => json!({ "str": text }),
        Value::Tokens(tokens) => panic!("{tokens:?} came out of a doc store"),
        Value::U64(number) => json!({ "u64": number }),
        Value::I64(number) => json!({ "i64": number }),
        Value::F64(number) => json!({ "f64": float(*number) }),
        Value::Bool(value) => json!({ "bool": value }),
        Value::Date(nanoseconds) => json!({ "date_ns": nanoseconds }),
        Value::Ip(address) => json!({ "ip": address.to_string() }),
        Value::Bytes(bytes) => json!({ "bytes": hex(bytes) }),
        Value::Facet(path) => json!({ "facet": path }),
        Value::Array(values) => json!({ "array": values.iter().map(stored_json).collect::<Vec<_>>() }),
        Value::Object(entries) => {
            json!({ "object": entries.iter().map(|(key, value)| json!([key, stored_json(value)])).collect::<Vec<_>>() })
        }
    }
}

/// The shortest text that gives the same float again.
fn float(value: f64) -> String {
    format!("{value:?}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
