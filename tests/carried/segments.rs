//! Indexes of no, few, empty and very many segments.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::{Case, WAYS, parse, schema};
use crate::common::check::assert_split;
use crate::common::content::Content;
use crate::common::routing::Routing;
use serde_json::{Value, json};
use tantivy::schema::{Schema, TEXT};
use tantivy::store::Compressor;
use tantivy::{Index, IndexSettings};

fn text_schema() -> Schema {
    let (mut builder, _) = schema();
    builder.add_text_field("text", TEXT);
    builder.build()
}

fn document(n: u64) -> Value {
    json!({"id": n.to_string(), "text": format!("word{} and word{}", n % 3, n % 4)})
}

fn meta(dir: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(dir.join("meta.json")).unwrap()).unwrap()
}

#[test]
fn an_index_without_segments_gives_children_without_segments() {
    let schema = text_schema();
    let case = Case::plain(&schema, &[]);
    case.split(|split| {
        for (_, child) in &split.children {
            assert_eq!(meta(&child.dir)["segments"], json!([]));
        }
    });
}

#[test]
fn one_document_has_one_child_and_the_others_have_no_segment() {
    let schema = text_schema();
    let case = Case::plain(&schema, &[parse(&schema, [document(5)])]);
    case.split(|split| {
        let with = split.children.iter().filter(|(_, child)| meta(&child.dir)["segments"] != json!([])).count();
        assert_eq!((split.docs().count(), with), (1, 1));
        split.assert_lines("5", &["term text \"word2\" tf=1 pos=[0]", "term text \"word1\" tf=1 pos=[2]"]);
    });
}

/// Adds the segments of the index in `from` to that in `to`.
fn add_segments(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.path().file_stem().is_some_and(|stem| stem.len() == 32) {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
    let (mut meta, added) = (meta(to), meta(from));
    let segments = meta["segments"].as_array_mut().unwrap();
    segments.splice(0..0, added["segments"].as_array().unwrap().iter().cloned());
    std::fs::write(to.join("meta.json"), meta.to_string()).unwrap();
}

#[test]
fn segments_without_documents_are_left_out() {
    let schema = text_schema();
    let full = parse(&schema, (0..40).map(document));
    let case = Case::plain(&schema, &[full.clone(), full[..10].to_vec()]);
    // A segment of no documents, as merging nothing but deleted ones leaves it.
    let empty = tempfile::tempdir().unwrap();
    crate::common::oracle::filtered_merge(&Content::read(&case.source(), &["id"]), empty.path(), |_| false);
    assert_eq!(meta(empty.path())["segments"][0]["max_doc"], json!(0));
    add_segments(empty.path(), &case.source());

    let alone = Case::new(&schema, IndexSettings::default(), &[]);
    add_segments(empty.path(), &alone.source());
    for (case, docs) in [(case, 50), (alone, 0)] {
        case.split(|split| {
            assert_eq!(split.docs().count(), docs);
            for segment in split.children.iter().flat_map(|(_, child)| &child.segments) {
                assert!(segment.reader.num_docs() > 0, "{:?}", split.way);
            }
        });
    }
}

/// An index of `segments` segments of one document each: 50 different ones, linked again under new ids.
fn many_segments(segments: usize) -> Case {
    let schema = text_schema();
    let settings = IndexSettings { docstore_compression: Compressor::None, ..IndexSettings::default() };
    let batches: Vec<_> = (0..50).map(|n| parse(&schema, [document(n)])).collect();
    let case = Case::new(&schema, settings, &batches);
    let source = case.source();
    let mut meta = meta(&source);
    let originals = meta["segments"].as_array().unwrap().clone();
    for number in originals.len()..segments {
        let mut entry = originals[number % originals.len()].clone();
        let original = entry["segment_id"].as_str().unwrap().replace('-', "");
        let id = uuid::Uuid::from_u128(number as u128 + 1);
        for extension in ["term", "idx", "pos", "fieldnorm", "fast", "store"] {
            let copy = source.join(format!("{}.{extension}", id.simple()));
            std::fs::hard_link(source.join(format!("{original}.{extension}")), copy).unwrap();
        }
        entry["segment_id"] = json!(id.hyphenated().to_string());
        meta["segments"].as_array_mut().unwrap().push(entry);
    }
    std::fs::write(source.join("meta.json"), meta.to_string()).unwrap();
    case
}

/// Splits 2,500 segments by the program, which may have 1,024 files open, and compares.
fn split_many(arguments: &[&str]) {
    let case = many_segments(2_500);
    let out = case.source().parent().unwrap().join("out");
    let program = env!("CARGO_BIN_EXE_shardsplit");
    let output = Command::new("sh")
        .args(["-c", "ulimit -n 1024; exec \"$0\" \"$@\"", program, "split", "--key", "id", "--into", "2", "-i"])
        .arg(case.source())
        .arg("--out")
        .arg(&out)
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let source = Content::read(&case.source(), &["id"]);
    assert_eq!(source.segments.len(), 2_500);
    let children = assert_split(&source, &out, &Routing::by_key("id", 2));
    let segments: usize = children.iter().map(|(_, child)| child.segments.len()).sum();
    assert_eq!(segments, if arguments.is_empty() { 2 } else { 2_500 });
    let ids: BTreeSet<_> = children.iter().flat_map(|(_, child)| &child.docs).map(|doc| &doc.keys["id"][0]).collect();
    assert_eq!(ids.len(), 50);
}

#[test]
fn segments_2_500_of_them_become_one_with_the_usual_limit_of_open_files() {
    split_many(&[]);
}

#[test]
fn segments_2_500_of_them_are_linked_with_the_usual_limit_of_open_files() {
    split_many(&["--method", "link"]);
}

#[test]
fn several_segments_in_one_directory_stay_apart_where_they_are_kept() {
    let schema = text_schema();
    let segments: Vec<_> = (0..6).map(|at| parse(&schema, (at * 30..at * 30 + 30).map(document))).collect();
    let case = Case::plain(&schema, &segments);
    case.split_as(&[1, 3], &WAYS, |split| {
        for (_, child) in &split.children {
            assert_eq!(child.segments.len(), if split.united() { 1 } else { 6 });
            assert_eq!(
                Index::open_in_dir(&child.dir).unwrap().searchable_segments().unwrap().len(),
                child.segments.len()
            );
        }
    });
}
