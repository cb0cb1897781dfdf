//! The least and the greatest value that a column names: range queries go by them, so a wrong one loses hits although every
//! value is right.

use std::path::Path;

use shardsplit::job::Job;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::source::{LockMode, Source};
use shardsplit::verify::{VerifyJob, verify};
use tantivy::schema::{FAST, STORED, STRING, Schema};
use tantivy::{Index, IndexReader, ReloadPolicy, TantivyDocument};

use crate::small_index::{seal, split};

fn findings(source: &Path, out: &Path) -> Vec<String> {
    let source = Source::open(source, LockMode::None).unwrap();
    let children = (0..2).map(|shard| (shard, out.join(shard.to_string()))).collect();
    let mut job = VerifyJob::new(&source, children);
    job.known_file = shardsplit::publish::is_manifest;
    verify(&job, &Silent, &Cancel::new()).unwrap().findings.iter().map(ToString::to_string).collect()
}

/// Whether tantivy itself reads a value beyond the bounds of the column `number`.
fn is_beyond(child: &Path) -> bool {
    let index = Index::open_in_dir(child).unwrap();
    // A reader that reloads by itself would do so while the next byte is spoilt.
    let reader: IndexReader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().unwrap();
    let reader = reader.searcher().segment_reader(0).fast_fields().u64("number").unwrap();
    let values = (0..reader.num_docs()).flat_map(|doc| reader.values_for_doc(doc).collect::<Vec<_>>());
    let (least, greatest) = (reader.min_value(), reader.max_value());
    values.into_iter().any(|value| !(least..=greatest).contains(&value))
}

#[test]
fn a_value_beyond_the_bounds_of_its_column_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let (source, out) = (dir.path().join("source"), dir.path().join("out"));
    std::fs::create_dir(&source).unwrap();
    let mut schema = Schema::builder();
    let (id, number) = (schema.add_text_field("id", STRING | STORED), schema.add_u64_field("number", FAST));
    let index = Index::create_in_dir(&source, schema.build()).unwrap();
    let mut writer = index.writer_with_num_threads(1, 20_000_000).unwrap();
    for n in 0..60u64 {
        let mut document = TantivyDocument::new();
        document.add_text(id, n.to_string());
        document.add_u64(number, 1_000 + n * n);
        writer.add_document(document).unwrap();
    }
    writer.commit().unwrap();
    drop(writer);
    Job::new(&source, &out, 2, "id").run(&Silent, &Cancel::new()).unwrap();
    assert_eq!(findings(&source, &out), [""; 0]);

    let mut entries = std::fs::read_dir(out.join("1")).unwrap().map(|entry| entry.unwrap().path());
    let columns = entries.find(|path| path.extension().is_some_and(|found| found == "fast")).unwrap();
    let right = std::fs::read(&columns).unwrap();
    let (body, footer) = split(&right);
    let mut beyond = 0;
    for at in 0..body.len() {
        let mut spoilt = body.clone();
        spoilt[at] ^= 1;
        // Made anew: what was mapped of the file before stays as it is.
        std::fs::remove_file(&columns).unwrap();
        std::fs::write(&columns, seal(&spoilt, &footer)).unwrap();
        let found = findings(&source, &out);
        // Most flips show in values too, or make the file unreadable for tantivy.
        let lost = std::panic::catch_unwind(|| is_beyond(&out.join("1"))).unwrap_or(false);
        if lost {
            beyond += 1;
            assert!(!found.is_empty(), "byte {at}");
        }
        if found.len() == 1 && found[0].contains("beyond the least and the greatest") {
            assert!(lost, "byte {at}: {found:?}");
        }
    }
    assert!(beyond > 0);
}
