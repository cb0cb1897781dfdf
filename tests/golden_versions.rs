//! Every format that tantivy 0.27 can read survives a split: indexes that old releases wrote, split every way, against
//! what the release that wrote each of them reads in it.
//!
//! The children are read with tantivy 0.27. The sources are not: where 0.27 misreads an old format, a comparison of
//! both sides would not show it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::check;
use crate::common::content::{Content, Doc};
use crate::common::files::{assert_source_unchanged, snapshot};
use crate::common::golden::{self, Expected, Golden};
use crate::common::oracle::filtered_merge;
use crate::common::routing::{self, Routing};
use crate::small_index;
use shardsplit::error::{Error, ErrorKind};
use shardsplit::job::Job;
use shardsplit::partition::SegmentMode;
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::source::{LockMode, Source};
use shardsplit::verify::{FindingKind, Grade, VerifyJob, verify};
use tantivy::schema::IndexRecordOption;
use tantivy::{Index, IndexSettings};

/// What a child has to hold, in any order of segments.
struct Case<'a> {
    source: &'a Index,
    golden: &'a Golden,
    rewritten: bool,
}

/// Splits one index with both methods and both segment modes into 1, 3 and 8, and judges every child.
fn split_every_way(name: &str) {
    let dir = tempfile::tempdir().unwrap();
    let source_dir = dir.path().join("source");
    golden::copy(name, &source_dir);
    let source = Index::open_in_dir(&source_dir).unwrap();
    let golden = Golden::read(name, &source.schema());
    let before = snapshot(&source_dir);
    for into in [1, 3, 8] {
        for method in [Method::Rewrite, Method::Link] {
            for segments in [SegmentMode::One, SegmentMode::Keep] {
                let way = format!("{method:?}-{segments:?}-{into}");
                let out = dir.path().join(&way);
                let job = Job { method, segments, ..Job::new(&source_dir, &out, into, "id") };
                let report =
                    job.run(&Silent, &Cancel::new()).unwrap_or_else(|error| panic!("{name} {way}: {}", chain(&error)));
                assert!(report.verify.as_ref().is_some_and(shardsplit::verify::VerifyReport::is_clean));

                let case = Case { source: &source, golden: &golden, rewritten: method == Method::Rewrite };
                let found = case.differences(&out, into);
                assert!(found.is_empty(), "{name} {way}:\n{}", found.join("\n"));
                std::fs::remove_dir_all(&out).unwrap();
            }
        }
    }
    assert_source_unchanged(&before, &snapshot(&source_dir));
}

impl Case<'_> {
    /// What is wrong with the children in `out`; empty if they are right.
    fn differences(&self, out: &Path, into: u32) -> Vec<String> {
        let mut found = Vec::new();
        let routing = Routing::by_key("id", into);
        let mut expected: BTreeMap<u32, Vec<&Expected>> = (0..into).map(|shard| (shard, vec![])).collect();
        for doc in &self.golden.docs {
            expected.get_mut(&routing::shard(&routing.split, &doc.id, &doc.id)).unwrap().push(doc);
        }
        for (shard, docs) in &expected {
            let dir = out.join(shard.to_string());
            // Linked stores are the source's, in which tantivy 0.27 cannot read what looks like a date in JSON.
            let unreadable = !self.rewritten && self.golden.json_is_text();
            let read = if unreadable { Content::read_without_store } else { Content::read };
            let child = read(&dir, &["id"]);
            let label = format!("child {shard}");
            if unreadable {
                self.compare_stores(&label, &dir, &mut found);
            }
            compare_docs(&label, docs, &child, !unreadable, &mut found);
            self.compare_meta(&label, &child, &mut found);
            self.check_tokens(&label, &child, &mut found);
            check::check_required_columns(&label, &child, &mut found);
            if is_sorted(self.golden) {
                check::check_sorted(&label, &child, &mut found);
            }
        }
        found
    }

    /// Every doc store of a linked child is one of the source, byte by byte.
    fn compare_stores(&self, label: &str, child: &Path, found: &mut Vec<String>) {
        let stores = |dir: &Path| -> Vec<Vec<u8>> {
            let paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
            paths
                .filter(|path| path.extension().is_some_and(|extension| extension == "store"))
                .map(|path| std::fs::read(path).unwrap())
                .collect()
        };
        let theirs = stores(&golden::root().join(&self.golden.name).join("index"));
        if !stores(child).iter().all(|store| theirs.contains(store)) {
            found.push(format!("{label}: has a doc store that is none of the source's"));
        }
    }

    fn compare_meta(&self, label: &str, child: &Content, found: &mut Vec<String>) {
        let facts = &self.golden.facts;
        let settings: IndexSettings = serde_json::from_value(facts["settings"].clone()).unwrap();
        if child.index.settings() != &settings {
            found.push(format!("{label}: settings are {:?}, not {settings:?}", child.index.settings()));
        }
        let metas = child.index.load_metas().unwrap();
        if (metas.payload.as_deref(), Some(metas.opstamp)) != (facts["payload"].as_str(), facts["opstamp"].as_u64()) {
            found.push(format!("{label}: payload {:?} and opstamp {}", metas.payload, metas.opstamp));
        }
        if metas.schema != self.source.schema() {
            found.push(format!("{label}: the schema differs"));
        }
        match child.index.validate_checksum() {
            Ok(damaged) if damaged.is_empty() => {}
            other => found.push(format!("{label}: checksums: {other:?}")),
        }
    }

    /// In written segments the recorded tokens of fields whose postings all have frequencies are those of the postings.
    fn check_tokens(&self, label: &str, child: &Content, found: &mut Vec<String>) {
        let schema = child.schema();
        for (name, facts) in child.segments.iter().flat_map(|segment| &segment.fields) {
            let kind = schema.get_field_entry(schema.get_field(name).unwrap()).field_type();
            let counted = !kind.is_json() && kind.get_index_record_option().is_some_and(IndexRecordOption::has_freq);
            if self.rewritten && counted && facts.total_tokens != facts.counted_tokens {
                let (recorded, counted) = (facts.total_tokens, facts.counted_tokens);
                found.push(format!("{label}: {name} records {recorded} tokens, its postings have {counted}"));
            }
        }
    }
}

/// Whether every segment is in the order of the index sort, documents without a value before or after all others.
fn is_sorted(golden: &Golden) -> bool {
    let sort = &golden.facts["settings"]["sort_by_field"];
    let place = |doc: &Expected| {
        let column = doc.columns.iter().find(|column| column[0] == sort["field"]);
        column.map(|column| (column[2][0].as_i64(), column[2][0].as_str().map(str::to_owned)))
    };
    golden.docs.is_sorted_by(|left, right| match sort["order"].as_str() {
        _ if left.segment != right.segment => true,
        Some("Asc") => place(left) <= place(right),
        Some("Desc") => place(left) >= place(right),
        _ => true,
    })
}

/// The documents by id, and their order: that of the source, but that documents of different segments of a sorted index
/// may be merged.
fn compare_docs(label: &str, expected: &[&Expected], child: &Content, stored: bool, found: &mut Vec<String>) {
    let id = |doc: &Doc| doc.keys["id"].join(" ");
    let ids: Vec<String> = child.docs.iter().map(id).collect();
    let due: Vec<String> = expected.iter().map(|doc| doc.id.clone()).collect();
    let (mut sorted, mut sorted_due) = (ids.clone(), due.clone());
    sorted.sort();
    sorted_due.sort();
    let in_order = if child.index.settings().sort_by_field.is_some() {
        let segments = 0..expected.last().map_or(0, |doc| doc.segment + 1);
        segments.into_iter().all(|segment| {
            let due: Vec<&String> = expected.iter().filter(|doc| doc.segment == segment).map(|doc| &doc.id).collect();
            ids.iter().filter(|id| due.contains(id)).eq(due.iter().copied())
        })
    } else {
        ids == due
    };
    if sorted != sorted_due {
        found.push(format!("{label}: has the documents {ids:?}, not {due:?}"));
    } else if !in_order {
        found.push(format!("{label}: has the documents in the order {ids:?}, not {due:?}"));
    }
    for doc in &child.docs {
        let Some(expected) = expected.iter().find(|expected| expected.id == id(doc)) else { continue };
        let mut lines = doc.lines.clone();
        lines.sort();
        let due: Vec<String> =
            expected.lines.iter().filter(|line| stored || !line.starts_with("stored ")).cloned().collect();
        let only = |left: &[String], right: &[String]| {
            left.iter().filter(|line| !right.contains(line)).cloned().collect::<Vec<_>>().join(" | ")
        };
        if lines != due {
            let (gone, new) = (only(&due, &lines), only(&lines, &due));
            found.push(format!("{label}: document {:?} lacks «{gone}» and has «{new}»", expected.id));
        }
    }
}

/// An error with its causes.
fn chain(error: &Error) -> String {
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        message += &format!(": {error}");
        cause = error.source();
    }
    message
}

/// One test for each index that can be read, and their names.
macro_rules! survivors {
    ($($test:ident: $name:literal,)*) => {
        const SURVIVORS: &[&str] = &[$($name),*];
        $(#[test]
        fn $test() {
            split_every_way($name);
        })*
    };
}

survivors! {
    an_index_of_tantivy_0_20_survives: "v0_20/plain",
    an_index_of_tantivy_0_21_survives: "v0_21/plain",
    a_sorted_index_of_tantivy_0_21_survives: "v0_21/sorted",
    an_index_of_tantivy_0_22_survives: "v0_22/plain",
    a_sorted_index_of_tantivy_0_22_survives: "v0_22/sorted",
    an_index_of_tantivy_0_24_survives: "v0_24/plain",
    an_index_of_tantivy_0_25_survives: "v0_25/plain",
    an_index_of_tantivy_0_26_survives: "v0_26/plain",
    an_index_of_tantivy_0_27_survives: "v0_27/plain",
    a_sorted_index_of_tantivy_0_27_survives: "v0_27/sorted",
}

/// Those that tantivy 0.27 cannot read: without columns, in codecs that it does not have. And what a message has to call
/// what was found.
const REFUSED: [(&str, &str); 4] = [
    ("v0_19/numbers", "tantivy 0.19.2 (index format 5)"),
    ("v0_19/texts", "tantivy 0.19.2 (index format 5)"),
    ("v0_20/brotli", "brotli"),
    ("v0_20/snappy", "snappy"),
];

#[test]
fn every_bundled_index_has_a_test_and_is_of_the_release_that_its_directory_names() {
    let mut tested: Vec<&str> = SURVIVORS.iter().copied().chain(REFUSED.map(|(name, _)| name)).collect();
    tested.sort_unstable();
    assert_eq!(golden::names(), tested);
    for name in tested {
        let text = std::fs::read_to_string(golden::root().join(name).join("expected.json")).unwrap();
        let facts: serde_json::Value = serde_json::from_str(&text).unwrap();
        let release = name.split('/').next().unwrap().replace('v', "").replace('_', ".");
        assert!(facts["tantivy"].as_str().unwrap().starts_with(&format!("{release}.")), "{name}");
    }
}

#[test]
fn only_the_order_of_0_22_is_not_that_of_0_27() {
    for name in SURVIVORS.iter().filter(|name| name.ends_with("sorted")) {
        let schema = Index::open_in_dir(golden::root().join(name).join("index")).unwrap().schema();
        let golden = Golden::read(name, &schema);
        assert!(golden.facts["settings"]["sort_by_field"].is_object(), "{name}");
        assert_eq!(is_sorted(&golden), *name != "v0_22/sorted", "{name}");
    }
}

#[test]
fn what_0_27_cannot_read_is_refused_with_file_what_was_found_and_what_to_do() {
    for (name, words) in REFUSED {
        let dir = tempfile::tempdir().unwrap();
        let source_dir = dir.path().join("source");
        golden::copy(name, &source_dir);
        for method in [Method::Rewrite, Method::Link] {
            let out = dir.path().join("out");
            let error =
                Job { method, ..Job::new(&source_dir, &out, 2, "id") }.run(&Silent, &Cancel::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Source, "{name}: {error}");
            match &error {
                Error::Unsupported { path, found, hint, .. } => {
                    assert!(path.starts_with(&source_dir) && path.is_file(), "{error}");
                    assert!(found.contains(words), "{error}");
                    assert!(hint.starts_with("re-index"), "{error}");
                }
                other => panic!("{name}: {other:?}"),
            }
            assert!(!out.exists());
        }
    }
}

/// Splits an index into one child.
fn split_in_one(source: &Path, out: &Path) {
    let report = Job::new(source, out, 1, "id").run(&Silent, &Cancel::new()).unwrap();
    assert!(report.verify.is_some_and(|report| report.is_clean()));
}

/// Stored dates in nanoseconds, those inside and those outside of JSON.
fn stored_dates<'a>(lines: impl IntoIterator<Item = &'a String>, in_json: bool) -> Vec<i64> {
    let stored = lines.into_iter().filter(|line| line.starts_with("stored ") && line.contains(" json_") == in_json);
    let dates = stored.flat_map(|line| line.split("Date(").skip(1));
    dates.map(|rest| rest.split(')').next().unwrap().parse().unwrap()).collect()
}

#[test]
fn tantivys_merge_divides_old_stored_dates_by_a_thousand_and_a_split_does_not() {
    for name in ["v0_20/plain", "v0_21/plain", "v0_22/plain"] {
        let dir = tempfile::tempdir().unwrap();
        let [source_dir, merged_dir, out] = ["source", "merged", "out"].map(|name| dir.path().join(name));
        golden::copy(name, &source_dir);
        let source = Content::read_without_store(&source_dir, &["id"]);
        filtered_merge(&source, &merged_dir, |_| true);
        split_in_one(&source_dir, &out);
        let merged = Content::read(&merged_dir, &["id"]);
        let child = Content::read(&out.join("0"), &["id"]);
        let golden = Golden::read(name, &source.schema());

        let mut seen = Vec::new();
        for in_json in [false, true] {
            for expected in &golden.docs {
                let dates = |content: &Content| {
                    let doc = content.docs.iter().find(|doc| doc.keys["id"] == [expected.id.clone()]).unwrap();
                    let mut lines = doc.lines.clone();
                    lines.sort();
                    stored_dates(&lines, in_json)
                };
                let right = stored_dates(&expected.lines, in_json);
                assert_eq!(dates(&child), right, "{name} {}", expected.id);
                // JSON that is text has no number to misread.
                if !(in_json && golden.json_is_text()) {
                    let divided: Vec<i64> = right.iter().map(|date| date / 1_000).collect();
                    assert_eq!(dates(&merged), divided, "tantivy has mended its merge: {name} {}", expected.id);
                }
                seen.extend(right.into_iter().map(|date| (in_json, date)));
            }
        }
        // By value: outside of JSON and inside, where format 5 has texts, to the nanosecond.
        let in_json = if golden.json_is_text() { 1_700_000_000_123_456_789 } else { 1_700_000_000_123_456_000 };
        for date in [(false, 1_700_000_000_123_456_000), (false, -1_000), (true, in_json), (true, 123_000)] {
            assert!(seen.contains(&date), "{name} has no date {date:?}");
        }
    }
}

#[test]
fn stored_dates_of_0_22_in_objects_and_arrays_are_right_by_value() {
    let dir = tempfile::tempdir().unwrap();
    let (source_dir, out) = (dir.path().join("source"), dir.path().join("out"));
    golden::copy("v0_22/plain", &source_dir);
    split_in_one(&source_dir, &out);
    let child = Content::read(&out.join("0"), &["id"]);
    let stored = |part: &str| child.docs.iter().flat_map(|doc| &doc.lines).any(|line| line.contains(part));
    for part in
        [r#""when": Date(1700000000123456000)"#, r#""list": [Date(-2000000000000000000), "#, r#""when": Date(-1000)}"#]
    {
        assert!(stored(part), "no {part}");
    }
}

#[test]
fn what_is_altered_in_a_document_with_json_of_format_5_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let (source_dir, out) = (dir.path().join("source"), dir.path().join("out"));
    golden::copy("v0_21/sorted", &source_dir);
    split_in_one(&source_dir, &out);
    let child = out.join("0");
    let paths = std::fs::read_dir(&child).unwrap().map(|entry| entry.unwrap().path());
    let store = paths.into_iter().find(|path| path.extension().is_some_and(|name| name == "store")).unwrap();
    let right = std::fs::read(&store).unwrap();
    let source = Source::open(&source_dir, LockMode::None).unwrap();
    let found = || {
        let report = verify(&VerifyJob::new(&source, vec![(0, child.clone())]), &Silent, &Cancel::new()).unwrap();
        let errors = report.findings.iter().filter(|finding| finding.grade == Grade::Error);
        errors.map(|finding| finding.kind).collect::<Vec<_>>()
    };
    assert_eq!(found(), []);
    // A date that stands in JSON, and one beside JSON: both are of the document 文書/142.
    let before = 1_700_000_000_123_456_000i64.to_le_bytes();
    let after = 1_700_000_000_123_456i64.to_le_bytes();
    for (before, after) in
        [(&b"1969-12-31T23:59:59.999998999Z"[..], &b"1969-12-31T23:59:59.999998998Z"[..]), (&before, &after)]
    {
        let (mut body, footer) = small_index::split(&right);
        let at = body.windows(before.len()).position(|window| window == before).unwrap();
        body[at..at + before.len()].copy_from_slice(after);
        std::fs::write(&store, small_index::seal(&body, &footer)).unwrap();
        assert_eq!(found(), [FindingKind::StoredBytes]);
    }
}
