//! Every shape of index that tantivy writes opens: all field types, all codecs, merges, sorting, no documents at all.

use serde_json::json;
use shardsplit::inspect::inspect;
use shardsplit::progress::{Cancel, Silent, Stage};
use shardsplit::source::{LockMode, Source, StoreCodec};
use tantivy::indexer::merge_filtered_segments;
use tantivy::merge_policy::NoMergePolicy;
use tantivy::schema::{
    FAST, FacetOptions, INDEXED, IndexRecordOption, STORED, STRING, Schema, TEXT, TextFieldIndexing, TextOptions,
};
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::{Index, IndexSettings, IndexSortByField, IndexWriter, Order, TantivyDocument, Term};

fn schema() -> Schema {
    let mut builder = Schema::builder();
    builder.add_text_field("id", STRING | STORED | FAST);
    builder.add_text_field("body", TEXT | STORED);
    let indexing = |record| TextFieldIndexing::default().set_tokenizer("default").set_index_option(record);
    let text = |record, norms| TextOptions::default().set_indexing_options(indexing(record).set_fieldnorms(norms));
    builder.add_text_field("basic", text(IndexRecordOption::Basic, false));
    builder.add_text_field("freqs", text(IndexRecordOption::WithFreqs, true));
    builder.add_text_field("column_only", TextOptions::default().set_fast("raw"));
    builder.add_text_field("stored_only", STORED);
    builder.add_u64_field("unsigned", INDEXED | STORED | FAST);
    builder.add_i64_field("signed", INDEXED | FAST);
    builder.add_f64_field("float", FAST);
    builder.add_bool_field("flag", INDEXED | FAST);
    builder.add_date_field("date", INDEXED | STORED | FAST);
    builder.add_ip_addr_field("address", INDEXED | FAST);
    builder.add_bytes_field("raw", INDEXED | STORED | FAST);
    builder.add_facet_field("facet", FacetOptions::default());
    builder.add_json_field("data", TEXT | STORED | FAST);
    builder.add_u64_field("never_there", INDEXED | FAST);
    builder.build()
}

fn document(schema: &Schema, n: i64) -> TantivyDocument {
    let mut value = json!({
        "id": format!("{n}"), "body": format!("some words {n} words"), "basic": "a b a", "freqs": format!("x x {n}"),
        "column_only": ["p", "q"], "stored_only": "s", "unsigned": n, "signed": -n, "flag": n % 2 == 0,
        "date": "2024-02-03T04:05:06Z", "address": "192.168.0.1", "raw": "YWJj", "facet": "/a/b",
        "data": {"a": {"b": n}, "c": "text", "d": 1.5},
    });
    if n % 3 == 0 {
        value["float"] = json!([0.5, n]);
        value["data"]["only_some"] = json!(true);
    }
    TantivyDocument::parse_json(schema, &value.to_string()).unwrap()
}

fn index(settings: IndexSettings) -> (tempfile::TempDir, Index) {
    let dir = tempfile::tempdir().unwrap();
    let index = Index::builder().schema(schema()).settings(settings).create_in_dir(dir.path()).unwrap();
    (dir, index)
}

/// Two segments of 300 and 100 documents, then five deletes.
fn fill(index: &Index) -> IndexWriter {
    let schema = index.schema();
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 30_000_000).unwrap();
    writer.set_merge_policy(Box::new(NoMergePolicy));
    for range in [0..300, 300..400] {
        for n in range {
            writer.add_document(document(&schema, n)).unwrap();
        }
        writer.commit().unwrap();
    }
    for n in [0, 77, 299, 300, 399] {
        writer.delete_term(Term::from_field_text(schema.get_field("id").unwrap(), &n.to_string()));
    }
    writer.commit().unwrap();
    writer
}

#[track_caller]
fn assert_opens(dir: &std::path::Path, live: u64, deleted: u64) -> Source {
    let source = Source::open(dir, LockMode::None).unwrap();
    assert_eq!((source.num_docs(), source.num_deleted()), (live, deleted));
    assert_eq!(source.check_checksums(1, Stage::Open, &Silent, &Cancel::new()).unwrap(), vec![]);
    inspect(&source).unwrap();
    source
}

#[test]
fn every_field_type_and_store_codec_opens_before_and_after_a_merge() {
    let zstd = Compressor::Zstd(ZstdCompressor { compression_level: Some(3) });
    for (compressor, codec) in
        [(Compressor::None, StoreCodec::None), (Compressor::Lz4, StoreCodec::Lz4), (zstd, StoreCodec::Zstd)]
    {
        let settings =
            IndexSettings { docstore_compression: compressor, docstore_blocksize: 1000, ..Default::default() };
        let (dir, index) = index(settings);
        let mut writer = fill(&index);
        let source = assert_opens(dir.path(), 395, 5);
        assert!(source.segments().iter().all(|segment| segment.store().codec == codec));
        drop(source);
        writer.merge(&index.searchable_segment_ids().unwrap()).wait().unwrap();
        writer.garbage_collect_files().wait().unwrap();
        let source = assert_opens(dir.path(), 395, 0);
        assert_eq!((source.segments().len(), source.notes().len()), (1, 0), "{:?}", source.notes());
    }
}

#[test]
fn sorted_indexes_open() {
    for (field, order) in [("unsigned", Order::Desc), ("id", Order::Asc), ("raw", Order::Asc), ("date", Order::Desc)] {
        let sort = IndexSortByField { field: field.to_owned(), order };
        let (dir, index) = index(IndexSettings { sort_by_field: Some(sort), ..Default::default() });
        drop(fill(&index));
        assert_opens(dir.path(), 395, 5);
    }
}

#[test]
fn indexes_without_documents_open() {
    let (dir, full) = index(IndexSettings::default());
    let source = assert_opens(dir.path(), 0, 0);
    assert!(source.segments().is_empty());
    drop(source);

    // A segment of no documents, as merging nothing but deleted ones leaves it.
    drop(fill(&full));
    let empty = tempfile::tempdir().unwrap();
    let directory = tantivy::directory::MmapDirectory::open(empty.path()).unwrap();
    let segments = full.searchable_segments().unwrap();
    let filters = segments
        .iter()
        .map(|segment| {
            Some(
                tantivy_common::ReadOnlyBitSet::from(&tantivy_common::BitSet::with_max_value(segment.meta().max_doc()))
                    .into(),
            )
        })
        .collect();
    merge_filtered_segments(&segments, full.settings().clone(), filters, directory).unwrap();
    let source = assert_opens(empty.path(), 0, 0);
    assert_eq!(source.segments().len(), 1);
}
