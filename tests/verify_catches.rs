//! Verification against children that are wrong in one known way.
//!
//! The children are made by re-indexing, so that neither the writers nor anything else of this crate has a part in
//! them; each test then spoils one thing, by indexing altered documents or by patching bytes (with the checksum made
//! right again, so that content must show it), and asks for the finding that names it.

use std::collections::BTreeSet;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use shardsplit::partition::{KeyPolicies, KeySpec, Placement, Policy};
use shardsplit::progress::{Cancel, Silent};
use shardsplit::route::{SplitRouting, SplitSpec, routing_hash};
use shardsplit::source::{Component, LockMode, Source};
use shardsplit::verify::{Finding, FindingKind, Grade, Ownership, VerifyJob, VerifyLevel, VerifyReport, verify};
use tantivy::directory::footer::Footer;
use tantivy::merge_policy::NoMergePolicy;
use tantivy::schema::{
    BytesOptions, DateOptions, FAST, Facet, FacetOptions, INDEXED, IndexRecordOption, IpAddrOptions, JsonObjectOptions,
    STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::{DateTime, Index, IndexSettings, IndexSortByField, IndexWriter, Order, TantivyDocument, Term};

const CHILDREN: u32 = 3;
const DOCS: u64 = 1500;

/// One document, plane by plane, so that a test can alter one without the others.
#[derive(Clone, Debug, PartialEq)]
struct Doc {
    id: String,
    body: String,
    counted: String,
    basic: String,
    kept: String,
    number: u64,
    signed: Vec<i64>,
    json: String,
}

impl Doc {
    fn number(n: u64) -> Doc {
        let word = |salt: u64| format!("w{}", (n * 2_654_435_761 + salt * 40_503) % 97);
        Doc {
            id: format!("doc-{n}"),
            body: format!("the {} and the {} of {} then only{n} ends", word(1), word(2), word(3)),
            counted: format!("all {} {} {}", word(4), word(4), word(5)),
            basic: format!("plain {} {}", word(6), word(7)),
            kept: format!("stored value of document {n}, {}", word(8)),
            number: n * n,
            signed: (0..n % 4).map(|at| i64::try_from(n * 10 + at).unwrap() - 700).collect(),
            json: format!(
                r#"{{"name": "{} {}", "count": {}, "ratio": {}, "on": {}}}"#,
                word(9),
                word(9),
                n % 50,
                if n.is_multiple_of(2) { format!("{}", n % 7) } else { format!("{}.5", n % 7) },
                n.is_multiple_of(3)
            ),
        }
    }

    fn child(&self) -> usize {
        SplitRouting::new(SplitSpec::new(CHILDREN)).unwrap().child_of(routing_hash(&self.id), 0).unwrap()
    }

    fn add_to(&self, schema: &Schema, writer: &IndexWriter) {
        let field = |name: &str| schema.get_field(name).unwrap();
        let n: u64 = self.id.trim_start_matches("doc-").parse().unwrap();
        let mut doc = TantivyDocument::new();
        doc.add_text(field("id"), &self.id);
        doc.add_text(field("body"), &self.body);
        doc.add_text(field("counted"), &self.counted);
        doc.add_text(field("basic"), &self.basic);
        doc.add_text(field("kept"), &self.kept);
        doc.add_u64(field("number"), self.number);
        for &value in &self.signed {
            doc.add_i64(field("signed"), value);
        }
        if !n.is_multiple_of(5) {
            doc.add_f64(field("float"), f64::from(u32::try_from(n).unwrap()) / 8.0);
        }
        doc.add_bool(field("flag"), n.is_multiple_of(2));
        doc.add_date(
            field("date"),
            DateTime::from_timestamp_nanos(1_600_000_000_123_456_789 + 86_400_000_000_001 * n as i64),
        );
        doc.add_ip_addr(field("ip"), Ipv6Addr::from(u128::from(n) << 64 | 7));
        doc.add_bytes(field("bytes"), &n.to_be_bytes());
        doc.add_facet(field("facet"), Facet::from_text(&format!("/kind/{}", n % 6)).unwrap());
        doc.add_object(field("json"), serde_json::from_str(&self.json).unwrap());
        writer.add_document(doc).unwrap();
    }
}

fn schema() -> Schema {
    let mut builder = Schema::builder();
    let text = |option| {
        let indexing = TextFieldIndexing::default().set_tokenizer("default").set_index_option(option);
        TextOptions::default().set_indexing_options(indexing)
    };
    builder.add_text_field("id", STRING | STORED | FAST);
    builder.add_text_field("body", text(IndexRecordOption::WithFreqsAndPositions));
    builder.add_text_field("counted", text(IndexRecordOption::WithFreqs));
    builder.add_text_field("basic", text(IndexRecordOption::Basic));
    builder.add_text_field("kept", STORED);
    builder.add_u64_field("number", FAST);
    builder.add_i64_field("signed", FAST);
    builder.add_f64_field("float", FAST | STORED);
    builder.add_bool_field("flag", INDEXED | FAST);
    builder.add_date_field("date", DateOptions::from(INDEXED | STORED).set_fast());
    builder.add_ip_addr_field("ip", IpAddrOptions::default().set_indexed().set_fast().set_stored());
    builder.add_bytes_field("bytes", BytesOptions::default().set_indexed().set_fast().set_stored());
    builder.add_facet_field("facet", FacetOptions::default());
    builder.add_json_field(
        "json",
        JsonObjectOptions::default().set_stored().set_fast("raw").set_indexing_options(
            TextFieldIndexing::default().set_index_option(IndexRecordOption::WithFreqsAndPositions),
        ),
    );
    builder.build()
}

/// Indexes `segments`, one segment each, then deletes documents by id.
fn index(dir: &Path, segments: &[Vec<Doc>], deleted: &[String]) {
    index_with(dir, IndexSettings::default(), segments, deleted);
}

fn index_with(dir: &Path, settings: IndexSettings, segments: &[Vec<Doc>], deleted: &[String]) {
    std::fs::create_dir_all(dir).unwrap();
    let index = Index::builder().schema(schema()).settings(settings).create_in_dir(dir).unwrap();
    let schema = index.schema();
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
    writer.set_merge_policy(Box::new(NoMergePolicy));
    for docs in segments {
        docs.iter().for_each(|doc| doc.add_to(&schema, &writer));
        writer.commit().unwrap();
    }
    for id in deleted {
        writer.delete_term(Term::from_field_text(schema.get_field("id").unwrap(), id));
    }
    writer.commit().unwrap();
}

/// Documents per source segment.
const SEGMENT: u64 = DOCS / 3;

fn is_deleted(n: u64) -> bool {
    n % 41 == 3
}

/// Numbers of live documents in source order.
fn live() -> impl Iterator<Item = u64> {
    (0..DOCS).filter(|n| !is_deleted(*n))
}

/// Live documents of child `child`, in source order.
fn docs_of(child: usize) -> Vec<Doc> {
    live().map(Doc::number).filter(|doc| doc.child() == child).collect()
}

/// Indexes one child and gives it the source's opstamp.
fn index_child(dir: &Path, docs: Vec<Doc>) {
    index(dir, &[docs], &[]);
    let opstamp = read_meta(&base().join("source"))["opstamp"].clone();
    edit_meta(dir, |meta| meta["opstamp"] = opstamp);
}

fn read_meta(dir: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(dir.join("meta.json")).unwrap()).unwrap()
}

fn edit_meta(dir: &Path, edit: impl FnOnce(&mut serde_json::Value)) {
    let mut meta = read_meta(dir);
    edit(&mut meta);
    std::fs::write(dir.join("meta.json"), serde_json::to_vec(&meta).unwrap()).unwrap();
}

/// A source of three segments with deletes, and its three children, made once.
fn base() -> &'static Path {
    static BASE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let dir = BASE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let deleted: Vec<String> = (0..DOCS).filter(|n| is_deleted(*n)).map(|n| format!("doc-{n}")).collect();
        let segments = [0, 1, 2].map(|at| (at * SEGMENT..(at + 1) * SEGMENT).map(Doc::number).collect());
        let source = dir.path().join("source");
        index(&source, &segments, &deleted);
        // The writer lists segments in no order; here documents ascend, and every run gives the same children.
        let first = |segment: &serde_json::Value| {
            let id = segment["segment_id"].as_str().unwrap().replace('-', "");
            id_at(&source, &id, 0).trim_start_matches("doc-").parse::<u64>().unwrap()
        };
        edit_meta(&source, |meta| meta["segments"].as_array_mut().unwrap().sort_by_key(first));
        dir
    });
    dir.path()
}

/// Right children, made once.
fn right() -> &'static Path {
    static RIGHT: OnceLock<tempfile::TempDir> = OnceLock::new();
    RIGHT
        .get_or_init(|| {
            let dir = tempfile::tempdir().unwrap();
            for child in 0..CHILDREN as usize {
                index_child(&dir.path().join(child.to_string()), docs_of(child));
            }
            dir
        })
        .path()
}

/// A copy of the right children, to be spoilt.
fn copy() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for child in 0..CHILDREN {
        let (from, to) = (right().join(child.to_string()), dir.path().join(child.to_string()));
        std::fs::create_dir(&to).unwrap();
        for file in std::fs::read_dir(from).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
    dir
}

/// Children of which some are indexed from other documents than they should be.
fn altered(alter: impl Fn(usize, &mut Vec<Doc>)) -> tempfile::TempDir {
    let dir = copy();
    for child in 0..CHILDREN as usize {
        let mut docs = docs_of(child);
        alter(child, &mut docs);
        if docs != docs_of(child) {
            let path = dir.path().join(child.to_string());
            std::fs::remove_dir_all(&path).unwrap();
            index_child(&path, docs);
        }
    }
    dir
}

fn keys() -> KeySpec {
    KeySpec { key: "id".to_owned(), routing_field: None }
}

fn report(children: &Path, level: VerifyLevel, routed: bool, threads: usize) -> VerifyReport {
    let source = Source::open(base().join("source"), LockMode::None).unwrap();
    let routing = SplitRouting::new(SplitSpec::new(CHILDREN)).unwrap();
    let keys = keys();
    let children = (0..CHILDREN).map(|child| (child, children.join(child.to_string()))).collect();
    let mut job = VerifyJob::new(&source, children);
    job.level = level;
    job.threads = threads;
    job.ownership = routed.then_some(Ownership {
        keys: &keys,
        routing: &routing,
        placement: &Placement::Hash,
        policies: KeyPolicies::default(),
    });
    verify(&job, &Silent, &Cancel::new()).unwrap()
}

/// Verifies with and without routing and returns the findings of both.
fn both(children: &Path) -> [Vec<Finding>; 2] {
    [true, false].map(|routed| report(children, VerifyLevel::Full, routed, 2).findings)
}

fn errors(findings: &[Finding]) -> BTreeSet<FindingKind> {
    findings.iter().filter(|finding| finding.grade == Grade::Error).map(|finding| finding.kind).collect()
}

fn show(findings: &[Finding]) -> String {
    findings.iter().map(|finding| format!("  {:?} {:?}: {finding}\n", finding.grade, finding.kind)).collect()
}

/// Asserts that exactly `kinds` are found as errors with routing, and that without routing it is an error too.
#[track_caller]
fn assert_found(children: &Path, kinds: &[FindingKind]) -> Vec<Finding> {
    let [routed, alone] = both(children);
    assert_eq!(errors(&routed), kinds.iter().copied().collect(), "with routing:\n{}", show(&routed));
    assert!(!errors(&alone).is_empty(), "without routing nothing was found");
    routed
}

fn of_kind(findings: &[Finding], kind: FindingKind) -> &Finding {
    findings.iter().find(|finding| finding.kind == kind).unwrap()
}

// Bytes.

fn file_of(child: &Path, extension: &str) -> PathBuf {
    let files = std::fs::read_dir(child).unwrap().map(|file| file.unwrap().path());
    files.into_iter().find(|file| file.extension().is_some_and(|found| found == extension)).unwrap()
}

/// Body and footer of a file.
fn split_footer(bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let len = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize;
    let at = bytes.len() - 8 - len;
    (bytes[..at].to_vec(), bytes[at..].to_vec())
}

/// Changes the body of a file and makes its checksum right.
fn patch(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let (mut body, _) = split_footer(&std::fs::read(path).unwrap());
    change(&mut body);
    write_file(path, body);
}

/// Writes a file with its footer.
fn write_file(path: &Path, mut body: Vec<u8>) {
    let footer = Footer { version: tantivy::version().clone(), crc: crc32fast::hash(&body) };
    let footer = serde_json::to_vec(&footer).unwrap();
    body.extend_from_slice(&footer);
    body.extend_from_slice(&u32::try_from(footer.len()).unwrap().to_le_bytes());
    body.extend_from_slice(&1337u32.to_le_bytes());
    std::fs::write(path, body).unwrap();
}

/// Where the part of `field` begins in the body of a composite file of child 0.
fn field_offset(child: &Path, component: Component, field: &str) -> usize {
    let index = Source::open(child, LockMode::None).unwrap();
    let segment = &index.segments()[0];
    let field = index.schema().get_field(field).unwrap();
    let part = match component {
        Component::Postings => segment.postings(field),
        Component::FieldNorms => segment.norms(field),
        Component::Positions => segment.positions(field),
        _ => unreachable!("not asked for"),
    };
    part.unwrap().unwrap().as_slice().as_ptr() as usize - segment.body(component).as_ptr() as usize
}

#[test]
fn right_children_are_clean_with_and_without_routing() {
    for findings in both(right()) {
        assert!(findings.is_empty(), "{}", show(&findings));
    }
    let report = report(right(), VerifyLevel::Full, true, 1);
    assert_eq!(report.source_digest, report.children_digest);
    assert_eq!(report.docs, report.children.iter().map(|child| child.docs.unwrap()).sum::<u64>());
    assert!(report.children.iter().all(|child| child.docs.unwrap() > 384), "lists of several blocks are wanted");
    assert_eq!(report.summary(), "no difference");
}

#[test]
fn the_report_does_not_depend_on_threads() {
    let dir = altered(|child, docs| {
        if child == 1 {
            docs.remove(7);
        }
    });
    let reports = [1, 2, 5].map(|threads| {
        let mut report = report(dir.path(), VerifyLevel::Full, true, threads);
        report.seconds = 0.0;
        serde_json::to_string(&report).unwrap()
    });
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0], reports[2]);
}

#[test]
fn a_dropped_document_is_lost() {
    let dir = altered(|child, docs| {
        if child == 1 {
            docs.remove(20);
        }
    });
    let lost = docs_of(1)[20].id.clone();
    let findings = assert_found(dir.path(), &[FindingKind::Census, FindingKind::DocumentLost]);
    let finding = of_kind(&findings, FindingKind::DocumentLost);
    assert_eq!((finding.child, finding.count, finding.documents.len()), (Some(1), 1, 1));
    let address = finding.documents[0].source.clone().unwrap();
    assert_eq!(id_at(&base().join("source"), &address.segment, address.doc), lost);
    let [_, alone] = both(dir.path());
    assert_eq!(of_kind(&alone, FindingKind::DocumentLost).documents, finding.documents);
}

fn id_at(dir: &Path, segment: &str, doc: u32) -> String {
    use tantivy::schema::Value;
    let index = Source::open(dir, LockMode::None).unwrap();
    let segment = index.segments().iter().find(|found| found.id() == segment).unwrap();
    let stored: TantivyDocument = segment.reader().get_store_reader(1).unwrap().get(doc).unwrap();
    stored.get_first(index.schema().get_field("id").unwrap()).unwrap().as_str().unwrap().to_owned()
}

#[test]
fn a_doubled_document_is_named_in_the_child_that_has_it_twice() {
    let dir = altered(|child, docs| {
        if child == 2 {
            docs.push(docs[5].clone());
        }
    });
    let findings = assert_found(dir.path(), &[FindingKind::Census, FindingKind::DocumentDoubled]);
    let finding = of_kind(&findings, FindingKind::DocumentDoubled);
    assert_eq!((finding.child, finding.count), (Some(2), 1));
    let address = finding.documents[0].child.clone().unwrap();
    assert_eq!(id_at(&dir.path().join("2"), &address.segment, address.doc), docs_of(2)[5].id);
}

#[test]
fn documents_swapped_between_children_are_strays_and_misplaced() {
    let dir = altered(|child, docs| match child {
        0 => docs[3] = docs_of(1)[4].clone(),
        1 => docs[4] = docs_of(0)[3].clone(),
        _ => {}
    });
    let [findings, alone] = both(dir.path());
    assert_eq!(errors(&findings), [FindingKind::Stray, FindingKind::DocumentMisplaced].into(), "{}", show(&findings));
    for kind in [FindingKind::Stray, FindingKind::DocumentMisplaced] {
        let mut children: Vec<_> = findings.iter().filter(|finding| finding.kind == kind).map(|f| f.child).collect();
        children.sort();
        assert_eq!(children, [Some(0), Some(1)]);
    }
    // As one set nothing is missing: only routing can tell.
    assert!(errors(&alone).is_empty(), "{}", show(&alone));
}

#[test]
fn two_documents_that_changed_places_within_a_child_are_out_of_order() {
    let dir = altered(|child, docs| {
        if child == 0 {
            docs.swap(10, 11);
        }
    });
    let [findings, _] = both(dir.path());
    assert_eq!(errors(&findings), [FindingKind::Reordered].into(), "{}", show(&findings));
    assert_eq!(of_kind(&findings, FindingKind::Reordered).count, 2);
}

/// Alters document 9 of child 1.
fn alter_one(alter: impl Fn(&mut Doc)) -> tempfile::TempDir {
    altered(|child, docs| {
        if child == 1 {
            alter(&mut docs[9]);
        }
    })
}

#[track_caller]
fn assert_altered(dir: &Path, kind: FindingKind, says: &str) {
    let findings = assert_found(dir, &[kind]);
    let finding = of_kind(&findings, kind);
    assert_eq!((finding.child, finding.count), (Some(1), 1));
    assert!(finding.message.contains(says), "{}", finding.message);
    assert!(finding.file.is_some());
    let sighting = finding.documents[0].clone();
    let (source, child) = (sighting.source.unwrap(), sighting.child.unwrap());
    assert_eq!(child.doc, 9);
    assert_eq!(id_at(&base().join("source"), &source.segment, source.doc), docs_of(1)[9].id);
}

#[test]
fn a_changed_frequency_is_named_with_its_term() {
    let dir = alter_one(|doc| {
        let words: Vec<&str> = doc.counted.split(' ').collect();
        doc.counted = format!("{} {} {} {}", words[0], words[1], words[3], words[3]);
    });
    assert_altered(dir.path(), FindingKind::TermFrequency, "field \"counted\"");
}

#[test]
fn a_moved_position_is_found_although_frequencies_are_the_same() {
    let dir = alter_one(|doc| doc.body = doc.body.replace("then only", "only").replace(" ends", " then ends"));
    assert_altered(dir.path(), FindingKind::Positions, "field \"body\"");
}

#[test]
fn a_lost_term_is_named() {
    let dir = alter_one(|doc| doc.body = doc.body.replace("only", "also only").replace("also only", "other"));
    assert_altered(dir.path(), FindingKind::TermLost, "\"only");
}

#[test]
fn a_lost_posting_of_a_term_that_others_have_is_told_from_a_lost_term() {
    let dir = alter_one(|doc| doc.basic = doc.basic.replacen("plain", "strange", 1));
    assert_altered(dir.path(), FindingKind::PostingLost, "term \"plain\" is gone");
}

#[test]
fn an_added_posting_is_found() {
    let dir = alter_one(|doc| doc.json = doc.json.replacen("{", r#"{"more": true, "#, 1));
    let [findings, _] = both(dir.path());
    let kinds = errors(&findings);
    assert_eq!(
        kinds,
        [FindingKind::PostingAdded, FindingKind::StoredBytes, FindingKind::ColumnValue].into(),
        "{}",
        show(&findings)
    );
}

#[test]
fn changed_column_values_are_named_with_before_and_after() {
    let number = docs_of(1)[9].number;
    let dir = alter_one(|doc| doc.number += 1);
    assert_altered(dir.path(), FindingKind::ColumnValue, &format!("[{number}] became [{}]", number + 1));
}

#[test]
fn the_order_of_values_in_a_row_counts() {
    let at = docs_of(1).iter().position(|doc| doc.signed.len() == 3).unwrap();
    let dir = altered(|child, docs| {
        if child == 1 {
            docs[at].signed.swap(0, 2);
        }
    });
    assert_found(dir.path(), &[FindingKind::ColumnValue]);
}

#[test]
fn a_value_that_moved_to_the_next_document_changes_both() {
    let at = docs_of(1).windows(2).position(|pair| pair[0].signed.len() == 3 && pair[1].signed.len() < 3).unwrap();
    let dir = altered(|child, docs| {
        if child == 1 {
            let value = docs[at].signed.pop().unwrap();
            docs[at + 1].signed.insert(0, value);
        }
    });
    let findings = assert_found(dir.path(), &[FindingKind::ColumnValue]);
    assert_eq!(of_kind(&findings, FindingKind::ColumnValue).count, 2);
}

#[test]
fn a_norm_is_compared_even_if_no_posting_shows_it() {
    // A repeated word of a field without frequencies leaves its postings alone.
    let dir = alter_one(|doc| doc.basic = format!("{0} {0} {0}", doc.basic));
    let [findings, _] = both(dir.path());
    assert!(errors(&findings).contains(&FindingKind::FieldNorm), "{}", show(&findings));
    let dir = copy();
    let child = dir.path().join("1");
    let at = field_offset(&child, Component::FieldNorms, "body");
    patch(&file_of(&child, "fieldnorm"), |body| body[at + 9] += 1);
    assert_altered(dir.path(), FindingKind::FieldNorm, "norm id 10 became 11");
}

#[test]
fn a_stored_byte_is_found() {
    let dir = alter_one(|doc| doc.kept = doc.kept.replace("value", "valuf"));
    assert_altered(dir.path(), FindingKind::StoredBytes, "\"65\"".trim_matches('"'));
}

#[test]
fn many_altered_documents_are_counted_and_a_few_named() {
    let dir = altered(|child, docs| {
        if child == 0 {
            docs.iter_mut().for_each(|doc| doc.number += 1);
        }
    });
    let findings = assert_found(dir.path(), &[FindingKind::ColumnValue]);
    let finding = of_kind(&findings, FindingKind::ColumnValue);
    assert_eq!((finding.count, finding.documents.len()), (docs_of(0).len() as u64, 10));
}

#[test]
fn lost_and_altered_documents_of_one_child_are_told_apart() {
    let dir = altered(|child, docs| {
        if child == 1 {
            docs[100].number += 1;
            docs[200].kept.push('!');
            docs.remove(50);
        }
    });
    let findings = assert_found(
        dir.path(),
        &[FindingKind::Census, FindingKind::DocumentLost, FindingKind::ColumnValue, FindingKind::StoredBytes],
    );
    for kind in [FindingKind::DocumentLost, FindingKind::ColumnValue, FindingKind::StoredBytes] {
        assert_eq!(of_kind(&findings, kind).count, 1);
    }
}

#[test]
fn a_wrong_token_total_is_found() {
    for field in ["body", "counted"] {
        let dir = copy();
        let child = dir.path().join("1");
        let at = field_offset(&child, Component::Postings, field);
        patch(&file_of(&child, "idx"), |body| body[at] ^= 1);
        // The average length follows the total, and block maxima hold for the one they were made with only roughly.
        let [findings, _] = both(dir.path());
        assert!(errors(&findings).contains(&FindingKind::TokenTotal), "{}", show(&findings));
        assert!(of_kind(&findings, FindingKind::TokenTotal).message.contains(field));
    }
}

#[test]
fn skip_data_that_would_lose_hits_is_found() {
    let dir = copy();
    let child = dir.path().join("1");
    let index = Source::open(&child, LockMode::None).unwrap();
    let field = index.schema().get_field("body").unwrap();
    let reader = index.segments()[0].reader().inverted_index(field).unwrap();
    let info = reader.terms().get("the").unwrap().unwrap();
    assert!(info.doc_freq >= 256);
    let at = field_offset(&child, Component::Postings, "body") + 8 + info.postings_range.start;
    drop((reader, index));
    // VInt length of the skip data (one byte here), then 12 bytes per block; the last two are norm and frequency of
    // the best document.
    patch(&file_of(&child, "idx"), |body| {
        assert!(body[at] & 0x80 != 0);
        body[at + 1 + 10] = 200;
        body[at + 1 + 11] = 1;
    });
    let findings = assert_found(dir.path(), &[FindingKind::Structure]);
    assert!(of_kind(&findings, FindingKind::Structure).message.contains("promises a score"), "{}", show(&findings));
}

#[test]
fn a_flipped_byte_in_any_file_is_a_wrong_checksum() {
    for component in Component::ALL {
        let dir = copy();
        let path = file_of(&dir.path().join("2"), component.extension());
        let mut bytes = std::fs::read(&path).unwrap();
        let body = split_footer(&bytes).0.len();
        bytes[body / 2] ^= 0x20;
        std::fs::write(&path, bytes).unwrap();
        let [findings, _] = both(dir.path());
        let checksum = of_kind(&findings, FindingKind::Checksum);
        assert_eq!(checksum.file.as_deref(), Some(path.as_path()));
        assert_eq!(checksum.child, Some(2));
    }
}

#[test]
fn a_flipped_byte_with_the_checksum_made_right_is_found_by_what_it_means() {
    for component in Component::ALL {
        let mut missed = Vec::new();
        let flips = 12;
        for flip in 0..flips {
            let dir = copy();
            let path = file_of(&dir.path().join("0"), component.extension());
            let mut at = 0;
            patch(&path, |body| {
                at = body.len() * (2 * flip + 1) / (2 * flips);
                body[at] ^= 0x04;
            });
            let report = report(dir.path(), VerifyLevel::Full, true, 2);
            // Some bytes mean nothing, or the same: table entries for bytes that no term has, another copy of what LZ4
            // repeats.
            let child = dir.path().join("0");
            let harmless = || match component {
                Component::Terms => same_terms(&child),
                Component::Store => same_documents(&child),
                _ => false,
            };
            if report.is_clean() && !harmless() {
                missed.push(at);
            }
        }
        assert!(missed.is_empty(), "{}: {missed:?}", component.extension());
    }
}

/// Whether streaming and looking up all terms of child 0 gives what it gives in the right child 0.
fn same_terms(child: &Path) -> bool {
    let [right, other] = [&right().join("0"), child].map(|dir| Source::open(dir, LockMode::None).unwrap());
    right.schema().fields().all(|(field, _)| {
        let [right, other] = [&right, &other].map(|index| index.segments()[0].terms(field).unwrap());
        let (Some(right), Some(other)) = (right, other) else { return true };
        let (mut stream, mut others) = (right.stream().unwrap(), other.stream().unwrap());
        while let Some((term, info)) = stream.next() {
            if others.next() != Some((term, info)) || other.get(term).unwrap().as_ref() != Some(info) {
                return false;
            }
        }
        others.next().is_none()
    })
}

/// Whether the stored documents of child 0 are those of the right child 0.
fn same_documents(child: &Path) -> bool {
    let [right, other] = [&right().join("0"), child].map(|dir| Source::open(dir, LockMode::None).unwrap());
    let [right, other] = [&right, &other].map(|index| index.segments()[0].reader().get_store_reader(1).unwrap());
    (0..docs_of(0).len() as u32)
        .all(|doc| right.get_document_bytes(doc).unwrap() == other.get_document_bytes(doc).unwrap())
}

#[test]
fn missing_and_unknown_files_are_named() {
    for component in Component::ALL {
        let dir = copy();
        let path = file_of(&dir.path().join("1"), component.extension());
        std::fs::remove_file(&path).unwrap();
        let [findings, _] = both(dir.path());
        assert_eq!(of_kind(&findings, FindingKind::MissingFile).file.as_deref(), Some(path.as_path()));
        assert!(errors(&findings).contains(&FindingKind::ChildUnreadable));
    }
    let dir = copy();
    std::fs::write(dir.path().join("1/stranger"), b"?").unwrap();
    let [findings, _] = both(dir.path());
    assert_eq!(findings.len(), 1, "{}", show(&findings));
    assert_eq!((findings[0].grade, findings[0].kind), (Grade::Warning, FindingKind::UnknownFile));
}

#[test]
fn managed_files_must_be_complete() {
    let dir = copy();
    let path = dir.path().join("0/.managed.json");
    let mut names: Vec<String> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    names.retain(|name| !name.ends_with(".store"));
    std::fs::write(&path, serde_json::to_vec(&names).unwrap()).unwrap();
    std::fs::remove_file(dir.path().join("1/.managed.json")).unwrap();
    let [findings, _] = both(dir.path());
    assert_eq!(findings.len(), 2, "{}", show(&findings));
    for (finding, child) in findings.iter().zip(0..) {
        assert_eq!((finding.kind, finding.child), (FindingKind::ManagedFiles, Some(child)));
    }
}

#[test]
fn a_child_that_is_not_there_does_not_hide_what_is_wrong_with_another() {
    let dir = alter_one(|doc| doc.number += 1);
    std::fs::remove_dir_all(dir.path().join("0")).unwrap();
    let [routed, alone] = both(dir.path());
    assert_eq!(errors(&routed), [FindingKind::ChildUnreadable, FindingKind::ColumnValue].into(), "{}", show(&routed));
    assert!(errors(&alone).contains(&FindingKind::ChildUnreadable));
}

#[test]
fn another_schema_or_settings_are_found() {
    for (key, kind) in [("schema", FindingKind::Schema), ("index_settings", FindingKind::Settings)] {
        let dir = copy();
        edit_meta(&dir.path().join("0"), |meta| match key {
            "schema" => meta["schema"][4]["name"] = "other".into(),
            _ => meta["index_settings"]["docstore_blocksize"] = 7.into(),
        });
        let [findings, _] = both(dir.path());
        assert!(errors(&findings).contains(&kind), "{}", show(&findings));
    }
}

#[test]
fn counts_see_lost_documents_but_read_no_content() {
    let dir = altered(|child, docs| match child {
        0 => docs[0].number += 1,
        1 => drop(docs.pop()),
        _ => {}
    });
    let report = report(dir.path(), VerifyLevel::Counts, false, 1);
    assert_eq!(errors(&report.findings), [FindingKind::Census].into(), "{}", show(&report.findings));
    assert_eq!(report.source_digest, None);
}

#[test]
fn counts_with_routing_are_taken_per_child() {
    let dir = altered(|child, docs| match child {
        0 => docs.push(docs_of(1)[0].clone()),
        1 => drop(docs.remove(0)),
        _ => {}
    });
    let alone = report(dir.path(), VerifyLevel::Counts, false, 1);
    assert!(alone.is_clean(), "{}", show(&alone.findings));
    let routed = report(dir.path(), VerifyLevel::Counts, true, 1);
    let children: Vec<_> = routed.findings.iter().map(|finding| (finding.kind, finding.child)).collect();
    assert_eq!(
        children,
        [(FindingKind::Census, Some(0)), (FindingKind::Census, Some(1))],
        "{}",
        show(&routed.findings)
    );
}

#[test]
fn documents_that_a_policy_placed_are_no_strays() {
    // Seen as shard 1 of 2, half the documents belong elsewhere; a policy sends them to child 5.
    let mut spec = SplitSpec::new(3);
    (spec.source_shards, spec.source_shard, spec.number_of_routing_shards) = (2, 1, Some(12));
    let routing = SplitRouting::new(spec).unwrap();
    let last = *routing.children().last().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut children = Vec::new();
    for (at, &shard) in routing.children().iter().enumerate() {
        let owner = |doc: &Doc| routing.child_of(routing_hash(&doc.id), 0).unwrap_or(routing.children().len() - 1);
        let path = dir.path().join(shard.to_string());
        index_child(&path, live().map(Doc::number).filter(|doc| owner(doc) == at).collect());
        children.push((shard, path));
    }
    let source = Source::open(base().join("source"), LockMode::None).unwrap();
    let keys = keys();
    let run = |stray| {
        let mut job = VerifyJob::new(&source, children.clone());
        let policies = KeyPolicies { stray, ..KeyPolicies::default() };
        job.ownership = Some(Ownership { keys: &keys, routing: &routing, placement: &Placement::Hash, policies });
        verify(&job, &Silent, &Cancel::new()).unwrap()
    };
    let placed = run(Policy::Child(last));
    assert!(placed.findings.is_empty(), "{}", show(&placed.findings));
    let refused = run(Policy::Refuse);
    assert_eq!(errors(&refused.findings), [FindingKind::Keys].into(), "{}", show(&refused.findings));
}

#[test]
fn children_of_a_sorted_index_must_be_sorted_but_not_in_source_order() {
    let sorted = || IndexSettings {
        sort_by_field: Some(IndexSortByField { field: "number".to_owned(), order: Order::Desc }),
        ..IndexSettings::default()
    };
    let docs: Vec<Doc> = (0..400).map(|n| Doc::number(n * 37 % 400)).collect();
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    index_with(&at("source"), sorted(), &[docs[..200].to_vec(), docs[200..].to_vec()], &[]);
    let source = Source::open(at("source"), LockMode::None).unwrap();
    let routing = SplitRouting::new(SplitSpec::new(CHILDREN)).unwrap();
    let keys = keys();
    let settings = read_meta(&at("source"))["index_settings"].clone();
    let run = |unsorted: usize| {
        let mut children = Vec::new();
        for child in 0..CHILDREN as usize {
            let path = at(&format!("{unsorted}-{child}"));
            let own: Vec<Doc> = docs.iter().filter(|doc| doc.child() == child).cloned().collect();
            index_with(&path, if child == unsorted { IndexSettings::default() } else { sorted() }, &[own], &[]);
            edit_meta(&path, |meta| meta["index_settings"] = settings.clone());
            children.push((child as u32, path));
        }
        let mut job = VerifyJob::new(&source, children);
        job.ownership = Some(Ownership {
            keys: &keys,
            routing: &routing,
            placement: &Placement::Hash,
            policies: KeyPolicies::default(),
        });
        verify(&job, &Silent, &Cancel::new()).unwrap().findings
    };
    let findings = run(9);
    assert!(errors(&findings).is_empty(), "{}", show(&findings));
    let findings = run(1);
    assert_eq!(errors(&findings), [FindingKind::Reordered].into(), "{}", show(&findings));
    assert_eq!(of_kind(&findings, FindingKind::Reordered).child, Some(1));
}

/// Children that share the source's files and have alive bitsets of their own.
fn linked() -> tempfile::TempDir {
    let source_dir = base().join("source");
    let source = Source::open(&source_dir, LockMode::None).unwrap();
    let dir = tempfile::tempdir_in(base()).unwrap();
    for child in 0..CHILDREN as usize {
        let path = dir.path().join(child.to_string());
        std::fs::create_dir(&path).unwrap();
        let mut meta = read_meta(&source_dir);
        let mut names = vec!["meta.json".to_owned()];
        for (segment, entry) in source.segments().iter().zip(meta["segments"].as_array_mut().unwrap()) {
            for component in Component::ALL {
                let name = component.file_name(segment.id());
                std::fs::hard_link(source_dir.join(&name), path.join(&name)).unwrap();
                names.push(name);
            }
            let max_doc = segment.max_doc();
            let mut words = vec![0u64; max_doc.div_ceil(64) as usize];
            let mut alive = 0;
            for doc in (0..max_doc).filter(|doc| segment.is_alive(*doc)) {
                let id = id_at(&source_dir, segment.id(), doc);
                if Doc::number(id.trim_start_matches("doc-").parse().unwrap()).child() == child {
                    words[doc as usize / 64] |= 1 << (doc % 64);
                    alive += 1;
                }
            }
            let mut body = max_doc.to_le_bytes().to_vec();
            words.iter().for_each(|word| body.extend_from_slice(&word.to_le_bytes()));
            let name = format!("{}.7.del", segment.id());
            write_file(&path.join(&name), body);
            names.push(name);
            entry["deletes"] = serde_json::json!({"num_deleted_docs": max_doc - alive, "opstamp": 7});
        }
        std::fs::write(path.join("meta.json"), serde_json::to_vec(&meta).unwrap()).unwrap();
        std::fs::write(path.join(".managed.json"), serde_json::to_vec(&names).unwrap()).unwrap();
    }
    dir
}

#[test]
fn linked_children_are_clean_and_a_bit_too_many_or_too_few_is_found() {
    let dir = linked();
    for findings in both(dir.path()) {
        let kinds: Vec<_> = findings.iter().map(|finding| (finding.grade, finding.kind)).collect();
        assert_eq!(kinds, [(Grade::Note, FindingKind::Shared)], "{}", show(&findings));
    }
    // The first two documents that differ change sides: as many documents as before, but not the same.
    let path = file_of(&dir.path().join("1"), "del");
    let alive = |body: &[u8], doc: usize| body[4 + doc / 8] >> (doc % 8) & 1;
    let mut bits = (0, 0);
    patch(&path, |body| {
        let one = (0..SEGMENT as usize).find(|doc| alive(body, *doc) == 1).unwrap();
        let zero = (0..SEGMENT as usize).find(|doc| alive(body, *doc) == 0).unwrap();
        bits = (one, zero);
        for doc in [one, zero] {
            body[4 + doc / 8] ^= 1 << (doc % 8);
        }
    });
    let [routed, alone] = both(dir.path());
    for findings in [&routed, &alone] {
        assert!(errors(findings).contains(&FindingKind::DocumentLost), "{}", show(findings));
        assert_eq!(
            of_kind(findings, FindingKind::DocumentLost).documents[0].source.as_ref().unwrap().doc,
            bits.0 as u32
        );
    }
    assert!(errors(&routed).contains(&FindingKind::Stray), "{}", show(&routed));
}

/// One segment with JSON documents only.
fn json_segments(dir: &Path, segments: &[Vec<serde_json::Value>]) {
    std::fs::create_dir_all(dir).unwrap();
    let mut builder = Schema::builder();
    let field = builder.add_json_field("json", JsonObjectOptions::from(FAST | STORED));
    let index = Index::create_in_dir(dir, builder.build()).unwrap();
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 20_000_000).unwrap();
    writer.set_merge_policy(Box::new(NoMergePolicy));
    for values in segments {
        for value in values {
            let mut doc = TantivyDocument::new();
            doc.add_object(field, serde_json::from_value(value.clone()).unwrap());
            writer.add_document(doc).unwrap();
        }
        writer.commit().unwrap();
    }
}

#[test]
fn numbers_that_change_type_but_not_value_are_no_difference() {
    use serde_json::json;
    // A column of its own type in each segment of the source, of one type in the child.
    let ints = vec![json!({"n": 5}), json!({"n": -7})];
    let floats = vec![json!({"n": 0.5}), json!({"n": [1.5, 2]})];
    let dir = tempfile::tempdir().unwrap();
    json_segments(&dir.path().join("source"), &[ints.clone(), floats.clone()]);
    let source = Source::open(dir.path().join("source"), LockMode::None).unwrap();
    let run = |name: &str, docs: Vec<serde_json::Value>| {
        json_segments(&dir.path().join(name), &[docs]);
        let job = VerifyJob::new(&source, vec![(0, dir.path().join(name))]);
        errors(&verify(&job, &Silent, &Cancel::new()).unwrap().findings)
    };
    assert!(run("equal", [ints.clone(), floats.clone()].concat()).is_empty());
    let other = vec![json!({"n": 5}), json!({"n": -7.25})];
    assert!(!run("other", [other, floats].concat()).is_empty());
}

#[test]
fn verification_can_be_stopped() {
    let source = Source::open(base().join("source"), LockMode::None).unwrap();
    let job = VerifyJob::new(&source, vec![(0, right().join("0"))]);
    let cancel = Cancel::new();
    cancel.cancel();
    assert!(matches!(verify(&job, &Silent, &cancel), Err(shardsplit::Error::Interrupted)));
}
