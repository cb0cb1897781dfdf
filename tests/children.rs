//! Children are ordinary indexes: tantivy searches them, writes to them, merges them, and nobody else notices.

use crate::common;
use std::collections::BTreeSet;
use std::path::Path;

use crate::common::content::Content;
use crate::common::files::{assert_source_unchanged, snapshot};
use crate::common::fixture::{Batch, Fixture};
use crate::common::{oracle, schema, search};
use shardsplit::job::Job;
use shardsplit::partition::{KeySpec, SegmentMode};
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use tantivy::collector::Count;
use tantivy::indexer::NoMergePolicy;
use tantivy::query::QueryParser;
use tantivy::{Index, Term};

/// A field with norms, and words that are frequent in it. Not `lamp`: some documents consist of nothing else, and score
/// above what tantivy takes for the best possible score of a term (`Bm25Weight::max_score` of 0.27.0), so that its
/// skipping misses them in any index.
const FIELD: &str = "text_default_WithFreqsAndPositions_norms";
const WORDS: [&str; 6] = ["stone", "river", "naïve", "über", "東京", "42"];

fn split(source: &Path, out: &Path, into: u32, method: Method, segments: SegmentMode) {
    let keys = KeySpec { key: "id".to_owned(), routing_field: Some("routing".to_owned()) };
    let job = Job { keys, method, segments, ..Job::new(source, out, into, "id") };
    job.run(&Silent, &Cancel::new()).unwrap();
}

/// tantivy draws a tie-breaker for every new document, so a schema with one cannot be compared.
fn fixture() -> Fixture {
    let mut fixture = Fixture::everything(3, 80).delete_every(7);
    fixture.fields.retain(|field| field.kind != schema::Kind::TieBreaker);
    fixture
}

#[test]
fn a_writer_adds_deletes_merges_and_collects_garbage_in_a_child_and_nobody_else_changes() {
    for (method, segments) in
        [(Method::Rewrite, SegmentMode::One), (Method::Rewrite, SegmentMode::Keep), (Method::Link, SegmentMode::One)]
    {
        let dir = tempfile::tempdir().unwrap();
        let (source, out) = (dir.path().join("source"), dir.path().join("out"));
        let fixture = fixture();
        fixture.build(&source);
        split(&source, &out, 2, method, segments);
        let (before_source, before_sibling) = (snapshot(&source), snapshot(&out.join("0")));
        let child = out.join("1");
        let before = Content::read(&child, &["id"]);
        assert!(before.docs.len() > 20);
        let victim = before.docs[3].keys["id"][0].clone();
        let kept = before.docs.iter().filter(|doc| doc.keys["id"][0] != victim);
        let mut expected: Vec<Vec<String>> = kept.map(|doc| doc.lines.clone()).collect();
        drop(before);

        write_to(&child, &fixture, &victim);

        let after = Content::read(&child, &["id"]);
        assert_eq!(after.segments.len(), 1);
        let is_new = |doc: &&common::content::Doc| doc.keys["id"][0].starts_with("new ");
        assert_eq!(after.docs.iter().filter(is_new).count(), 25);
        let mut actual: Vec<Vec<String>> =
            after.docs.iter().filter(|doc| !is_new(doc)).map(|doc| doc.lines.clone()).collect();
        expected.sort();
        actual.sort();
        assert!(expected == actual, "{method:?} {segments:?}: old documents changed");
        assert_only_live_segments(&child, &after);
        assert_source_unchanged(&before_source, &snapshot(&source));
        assert_eq!(before_sibling, snapshot(&out.join("0")), "{method:?} {segments:?}");
    }
}

/// Adds 25 documents, deletes one old and one new, commits, merges everything into one segment, collects garbage.
fn write_to(child: &Path, fixture: &Fixture, victim: &str) {
    let index = Index::open_in_dir(child).unwrap();
    let schema = index.schema();
    let id = schema.get_field("id").unwrap();
    let mut writer = index.writer_with_num_threads(1, 20_000_000).unwrap();
    writer.set_merge_policy(Box::new(NoMergePolicy));
    // Without the id, which is set here.
    let specs: Vec<_> = fixture.specs().into_iter().filter(|spec| spec.name != "id").collect();
    for number in 0..26u32 {
        let mut doc = fixture.document(&schema, &specs, number * 17 + 5);
        doc.add_text(id, format!("new {number}"));
        writer.add_document(doc).unwrap();
    }
    writer.delete_term(Term::from_field_text(id, victim));
    writer.delete_term(Term::from_field_text(id, "new 13"));
    let before = index.load_metas().unwrap().opstamp;
    assert!(writer.commit().unwrap() > before, "opstamps go on where the source's ended");
    writer.merge(&index.searchable_segment_ids().unwrap()).wait().unwrap();
    writer.garbage_collect_files().wait().unwrap();
    writer.wait_merging_threads().unwrap();
}

/// `.managed.json` was complete: whatever tantivy no longer needs, its garbage collection could remove. It leaves hash
/// sidecars alone, which it does not know.
fn assert_only_live_segments(child: &Path, content: &Content) {
    let live: BTreeSet<String> =
        content.segments.iter().map(|segment| segment.reader.segment_id().uuid_string()).collect();
    for entry in std::fs::read_dir(child).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let stem = name.split('.').next().unwrap();
        let is_segment = stem.len() == 32 && stem.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(!is_segment || name.ends_with(".hashes") || live.contains(stem), "{name} was left behind");
    }
}

#[test]
fn tantivys_reader_and_query_parser_find_every_document_by_its_serial_number() {
    let dir = tempfile::tempdir().unwrap();
    let (source, out) = (dir.path().join("source"), dir.path().join("out"));
    let fixture = fixture();
    fixture.build(&source);
    for (method, segments) in [(Method::Rewrite, SegmentMode::One), (Method::Link, SegmentMode::One)] {
        let out = out.join(format!("{method:?}"));
        std::fs::create_dir_all(out.parent().unwrap()).unwrap();
        split(&source, &out, 3, method, segments);
        let mut found = Vec::new();
        for shard in 0..3 {
            let index = Index::open_in_dir(out.join(shard.to_string())).unwrap();
            let searcher = index.reader().unwrap().searcher();
            let parser = QueryParser::for_index(&index, Vec::new());
            for number in 0..240u32 {
                let query = parser.parse_query(&format!("serial:{number}")).unwrap();
                let hits = searcher.search(&query, &Count).unwrap();
                found.extend(std::iter::repeat_n(number, hits));
            }
        }
        found.sort_unstable();
        assert_eq!(found, fixture.live(), "{method:?}");
    }
}

/// Two segments of long and short texts, with deletes; every frequent word has many blocks.
fn long_lists() -> Fixture {
    let mut fixture = Fixture::everything(2, 2_500).delete_every(13);
    fixture.fields.retain(|field| field.name == "text_default_WithFreqsAndPositions_norms");
    fixture
}

#[test]
fn skipping_blocks_that_cannot_score_finds_the_same_best_documents_as_scoring_all() {
    let dir = tempfile::tempdir().unwrap();
    let (source, out) = (dir.path().join("source"), dir.path().join("out"));
    long_lists().build(&source);
    split(&source, &out, 2, Method::Rewrite, SegmentMode::One);
    for shard in 0..2 {
        let missed = search::missed_by_skipping(&out.join(shard.to_string()), FIELD, &WORDS);
        assert!(missed.is_empty(), "child {shard}:\n{}", missed.join("\n"));
    }
}

#[test]
fn indexes_that_tantivy_made_pass_the_same_test_of_skipping() {
    let dir = tempfile::tempdir().unwrap();
    let add = long_lists().live();
    let anew = Fixture { batches: vec![Batch { add, delete: Vec::new() }], ..long_lists() };
    anew.build(&dir.path().join("anew"));
    assert_eq!(search::missed_by_skipping(&dir.path().join("anew"), FIELD, &WORDS), Vec::<String>::new());

    let fixture = long_lists();
    fixture.build(&dir.path().join("source"));
    let source = Content::read(&dir.path().join("source"), &["id", "routing"]);
    let routing = fixture.routing(2);
    for shard in 0..2 {
        let merged = dir.path().join(format!("merged-{shard}"));
        oracle::filtered_merge(&source, &merged, |doc| routing.shard(&doc.keys) == shard);
        assert_eq!(search::missed_by_skipping(&merged, FIELD, &WORDS), Vec::<String>::new());
    }
}
