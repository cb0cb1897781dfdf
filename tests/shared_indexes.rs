//! Indexes that other people's programs wrote, split every way; and those that cannot be read, refused by name.

use crate::common::check::assert_split;
use crate::common::content::Content;
use crate::common::files::{assert_source_unchanged, snapshot};
use crate::common::routing::Routing;
use crate::common::shared::{self, READABLE, Shared};
use shardsplit::error::ErrorKind;
use shardsplit::job::Job;
use shardsplit::partition::SegmentMode;
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::source::LockMode;

/// Splits one index with k = 2, 3, 8, both methods, both segment modes, and judges every result.
fn split_every_way(shared: Shared) {
    let dir = tempfile::tempdir().unwrap();
    let source_dir = dir.path().join("source");
    if !shared::copy(shared.name, &source_dir) {
        return;
    }
    let source = Content::read(&source_dir, &[shared.key]);
    let before = snapshot(&source_dir);
    for into in [2, 3, 8] {
        let ways = [
            (Method::Rewrite, SegmentMode::One),
            (Method::Rewrite, SegmentMode::Keep),
            (Method::Link, SegmentMode::One),
            (Method::Link, SegmentMode::Keep),
        ];
        for (method, segments) in ways {
            let out = dir.path().join(format!("{method:?}-{segments:?}-{into}"));
            let job = Job { method, segments, ..Job::new(&source_dir, &out, into, shared.key) };
            let report = job.run(&Silent, &Cancel::new()).unwrap_or_else(|error| panic!("{}: {error}", out.display()));

            let children = assert_split(&source, &out, &Routing::by_key(shared.key, into));
            let docs: Vec<u64> = children.iter().map(|(_, child)| child.docs.len() as u64).collect();
            assert_eq!(report.children.iter().map(|child| child.docs).collect::<Vec<_>>(), docs);
            assert_eq!(
                report.children.iter().map(|child| child.shard).collect::<Vec<_>>(),
                (0..into).collect::<Vec<_>>()
            );
            assert!(report.verify.as_ref().is_some_and(shardsplit::verify::VerifyReport::is_clean));
            if method == Method::Rewrite && segments == SegmentMode::One {
                assert!(children.iter().all(|(_, child)| child.segments.len() <= 1 && !child.has_deletes()));
            }
            std::fs::remove_dir_all(&out).unwrap();
        }
    }
    assert_source_unchanged(&before, &snapshot(&source_dir));
}

fn readable(name: &str) -> Shared {
    *READABLE.iter().find(|shared| shared.name == name).unwrap()
}

#[test]
fn web_pages_with_long_bodies_split_every_way() {
    split_every_way(readable("v7-web-pages"));
}

#[test]
fn an_index_with_deleted_documents_splits_every_way_and_they_stay_deleted() {
    split_every_way(readable("v7-live-deletes"));
}

#[test]
fn a_real_index_of_format_6_splits_every_way() {
    split_every_way(readable("v6-bible-31k"));
}

#[test]
fn a_real_index_of_format_5_with_old_columns_splits_every_way() {
    split_every_way(readable("v5-bytes-columns"));
}

#[test]
fn stored_dates_of_format_6_keep_their_value() {
    let shared = readable("v6-stored-date");
    split_every_way(shared);
    // The judge reads both sides with tantivy; so the value itself is asserted once.
    if let Some(path) = shared::path(shared.name) {
        let source = Content::read(&path, &[]);
        assert!(
            source.docs[0].lines.iter().any(|line| line.ends_with("date Date(123000)")),
            "{:?}",
            source.docs[0].lines
        );
    }
}

#[test]
fn stored_dates_of_format_7_keep_their_value() {
    split_every_way(readable("v7-stored-date"));
}

#[test]
fn an_index_is_split_where_it_lies_without_a_lock() {
    let shared = readable("v7-live-deletes");
    let Some(source_dir) = shared::path(shared.name) else { return };
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let before = snapshot(&source_dir);
    let job = Job { lock: LockMode::None, ..Job::new(&source_dir, &out, 3, shared.key) };
    job.run(&Silent, &Cancel::new()).unwrap();
    assert_split(&Content::read(&source_dir, &[shared.key]), &out, &Routing::by_key(shared.key, 3));
    assert_eq!(before, snapshot(&source_dir));
}

/// Runs a split that must be refused because of the source; returns the message.
fn refused(name: &str, key: &str) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    let source_dir = dir.path().join("source");
    if !shared::copy(name, &source_dir) {
        return None;
    }
    let before = snapshot(dir.path());
    for method in [Method::Rewrite, Method::Link] {
        let job = Job { method, ..Job::new(&source_dir, dir.path().join("out"), 2, key) };
        let error = job.run(&Silent, &Cancel::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Source, "{name}: {error}");
    }
    let job = Job::new(&source_dir, dir.path().join("out"), 2, key);
    let error = job.run(&Silent, &Cancel::new()).unwrap_err();
    let after = snapshot(dir.path());
    let appeared: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    assert!(appeared.iter().all(|path| path.ends_with(".tantivy-writer.lock")), "{appeared:?}");
    assert!(
        before
            .iter()
            .all(|(path, entry)| after.get(path).is_some_and(|now| now.len == entry.len && now.crc == entry.crc))
    );
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        message += &format!(": {error}");
        cause = error.source();
    }
    Some(message)
}

#[test]
fn an_index_that_lacks_files_is_refused_and_they_are_named() {
    let Some(message) = refused("v6-missing-files", "file_id") else { return };
    let dir = shared::path("v6-missing-files").unwrap();
    let meta: serde_json::Value = serde_json::from_slice(&std::fs::read(dir.join("meta.json")).unwrap()).unwrap();
    let mut missing = 0;
    for segment in meta["segments"].as_array().unwrap() {
        let id = segment["segment_id"].as_str().unwrap().replace('-', "");
        for extension in ["pos", "store", "idx", "term", "fast", "fieldnorm"] {
            let name = format!("{id}.{extension}");
            if !dir.join(&name).exists() {
                missing += 1;
                assert!(message.contains(&name), "{message:?} does not name {name}");
            }
        }
    }
    assert_eq!(missing, 2);
}

#[test]
fn an_index_with_a_schema_of_the_old_form_is_refused_with_the_version_that_wrote_it() {
    let Some(message) = refused("v4-unreadable", "text") else { return };
    assert!(message.contains("0.16.1"), "{message}");
}

#[test]
fn an_index_without_footers_is_refused_with_the_file_that_lacks_one() {
    let Some(message) = refused("v0-no-footer", "body") else { return };
    assert!(message.contains("footer") || message.contains("meta.json"), "{message}");
}
