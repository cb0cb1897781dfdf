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

/// The values of the column `number` as tantivy reads them, and whether one is beyond the bounds.
fn values(child: &Path) -> (Vec<u64>, bool) {
    let index = Index::open_in_dir(child).unwrap();
    // A reader that reloads by itself would do so while the next byte is spoilt.
    let reader: IndexReader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into().unwrap();
    let reader = reader.searcher().segment_reader(0).fast_fields().u64("number").unwrap();
    let values: Vec<u64> =
        (0..reader.num_docs()).flat_map(|doc| reader.values_for_doc(doc).collect::<Vec<_>>()).collect();
    let (least, greatest) = (reader.min_value(), reader.max_value());
    let beyond = values.iter().any(|value| !(least..=greatest).contains(value));
    (values, beyond)
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
    let (expected, beyond) = values(&out.join("1"));
    assert!(!beyond && !expected.is_empty());
    // Flips after which every value is what it was.
    let mut bounds_alone = 0;
    for (at, mask) in (0..body.len()).flat_map(|at| [1, 2, 4].map(|mask| (at, mask))) {
        let mut spoilt = body.clone();
        spoilt[at] ^= mask;
        // Made anew: what was mapped of the file before stays as it is.
        std::fs::remove_file(&columns).unwrap();
        std::fs::write(&columns, seal(&spoilt, &footer)).unwrap();
        // Many flips make the file unreadable for tantivy.
        let read = std::panic::catch_unwind(|| values(&out.join("1")));
        if read.is_ok_and(|(values, beyond)| beyond && values == expected) {
            bounds_alone += 1;
            let found = findings(&source, &out);
            assert!(
                found.iter().any(|finding| finding.contains("beyond the least and the greatest")),
                "{at}: {found:?}"
            );
        }
    }
    assert!(bounds_alone > 0);
}
