//! The bundled index is what its generator makes.

use crate::common;
use crate::corpus;
use std::path::Path;

use crate::common::content::{Content, Doc};

#[test]
fn the_bundled_index_holds_the_generators_documents() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/library");
    let bundled = Content::read(&library, &["id", "author"]);
    let dir = tempfile::tempdir().unwrap();
    corpus::write(dir.path(), &corpus::Shape::library(), 3, Some(40));
    let made = Content::read(dir.path(), &["id", "author"]);

    // tantivy lists the segments of a commit in no fixed order, so documents are compared by id.
    let by_id = |content: &'_ Content| -> Vec<Doc> {
        let mut docs = content.docs.clone();
        docs.sort_by(|left, right| left.keys["id"].cmp(&right.keys["id"]));
        docs
    };
    let (made, sorted) = (by_id(&made), by_id(&bundled));
    let (left, right): (Vec<&Doc>, Vec<&Doc>) = (made.iter().collect(), sorted.iter().collect());
    let mut found = Vec::new();
    common::check::compare_sequences("data/library", &left, &right, &mut found);
    assert!(found.is_empty(), "run the generator anew:\n{}", found.join("\n"));
    assert_eq!(bundled.segments.len(), 3);
    assert_eq!(bundled.docs.len(), 1_950);
    assert!(bundled.segments.iter().all(|segment| segment.reader.has_deletes()));
}

#[test]
fn the_bundled_index_is_small_and_whole() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/library");
    let files = common::files::snapshot(&library);
    assert!(files.values().map(|entry| entry.len).sum::<u64>() < 1_500_000);
    let index = tantivy::Index::open_in_dir(&library).unwrap();
    assert!(index.validate_checksum().unwrap().is_empty());
}

#[test]
fn generated_documents_depend_on_nothing_but_their_shape() {
    let first = corpus::Documents::new(corpus::Shape::library()).nth(1_234).unwrap();
    let again = corpus::Documents::new(corpus::Shape::library()).nth(1_234).unwrap();
    assert_eq!(first, again);
    let ids: std::collections::BTreeSet<String> =
        corpus::Documents::new(corpus::Shape::reference(5_000)).map(|document| document.id).collect();
    assert_eq!(ids.len(), 5_000);
    assert!(ids.iter().all(|id| id.len() == 32));
}

#[test]
fn the_reference_shape_makes_about_a_kilobyte_of_index_per_document() {
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    let shape = corpus::Shape::reference(10_000);
    corpus::build(&index, &shape, 2);
    let files = common::files::snapshot(&index);
    // About 0.8 kB at a million documents; rare words weigh more where there are few.
    let bytes_per_doc = files.values().map(|entry| entry.len).sum::<u64>() / shape.docs;
    assert!((700..1_050).contains(&bytes_per_doc), "{bytes_per_doc}");

    // Complete, so not built again; of another shape, so built again.
    corpus::build(&index, &shape, 2);
    assert_eq!(files, common::files::snapshot(&index));
    corpus::build(&index, &corpus::Shape::reference(10), 1);
    assert_eq!(tantivy::Index::open_in_dir(&index).unwrap().load_metas().unwrap().segments.len(), 1);
}
