//! What a link shares: the bytes of the source's files, and nothing else. Whoever deletes, merges, collects garbage or
//! removes a whole directory on one side leaves the other as it was, byte by byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tantivy::{IndexWriter, TantivyDocument, Term};

use super::place::{Place, documents, writer};
use crate::common::content::Content;
use crate::common::files::{Entry, snapshot};

type Step = (&'static str, fn(&Path));

/// What an owner does to an index of its own, one after the other.
const STEPS: [Step; 5] = [
    ("a delete", |dir| with_writer(dir, |writer, ids| delete(writer, &ids[..3]))),
    ("an addition and a delete of it", |dir| {
        with_writer(dir, |writer, _| {
            let schema = writer.index().schema();
            let document = TantivyDocument::parse_json(&schema, r#"{"id": "new", "body": "common news"}"#).unwrap();
            writer.add_document(document).unwrap();
            writer.commit().unwrap();
            delete(writer, &["new".to_owned()]);
        });
    }),
    ("a merge", |dir| {
        with_writer(dir, |writer, _| {
            let segments = writer.index().searchable_segment_ids().unwrap();
            writer.merge(&segments).wait().unwrap();
        });
    }),
    ("garbage collection", |dir| {
        with_writer(dir, |writer, _| {
            let removed = writer.garbage_collect_files().wait().unwrap();
            assert!(removed.failed_to_delete_files.is_empty());
        });
    }),
    ("a delete of everything", |dir| {
        with_writer(dir, |writer, _| {
            writer.delete_all_documents().unwrap();
            writer.commit().unwrap();
            writer.garbage_collect_files().wait().unwrap();
        });
    }),
];

fn delete(writer: &mut IndexWriter, ids: &[String]) {
    let id = writer.index().schema().get_field("id").unwrap();
    for value in ids {
        writer.delete_term(Term::from_field_text(id, value));
    }
    writer.commit().unwrap();
}

/// Runs `change` with a writer of tantivy's, which drops and collects what it no longer needs, and the ids there are.
fn with_writer(dir: &Path, change: impl FnOnce(&mut IndexWriter, &[String])) {
    let ids: Vec<String> = Content::read(dir, &["id"]).docs.iter().map(|doc| doc.keys["id"][0].clone()).collect();
    let mut writer = writer(dir);
    change(&mut writer, &ids);
    writer.wait_merging_threads().unwrap();
}

/// Bytes of everything in `dirs`; tantivy's locks, which readers and writers leave behind empty, apart.
fn bytes(dirs: &[PathBuf]) -> BTreeMap<PathBuf, Entry> {
    let all = dirs.iter().flat_map(|dir| snapshot(dir).into_iter().map(|(name, entry)| (dir.join(name), entry)));
    all.filter(|(path, _)| !path.to_string_lossy().ends_with(".lock")).collect()
}

/// A linked set: its source and its children, in this order.
fn linked(place: &Place) -> Vec<PathBuf> {
    place.sound(&["split", "-i", "source", "--into", "3", "--key", "id", "--method", "link", "--out", "linked"]);
    let dirs: Vec<PathBuf> = ["source", "linked/0", "linked/1", "linked/2"].map(|dir| place.path(dir)).into();
    assert_links(&dirs);
    dirs
}

/// Without links there would be nothing to test.
fn assert_links(dirs: &[PathBuf]) {
    use std::os::unix::fs::MetadataExt;
    let store = |dir: &Path| {
        fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|p| p.extension().is_some_and(|e| e == "store"))
            .unwrap()
    };
    let links = fs::metadata(store(&dirs[0])).unwrap().nlink();
    assert!(links >= 3, "{links} names of a linked file");
}

#[test]
fn whatever_is_done_in_the_source_or_in_one_child_leaves_all_others_byte_for_byte() {
    for owner in 0..4 {
        let place = Place::new();
        let dirs = linked(&place);
        let others: Vec<PathBuf> = dirs.iter().filter(|dir| **dir != dirs[owner]).cloned().collect();
        let (before, held) = (bytes(&others), documents(&others).unwrap());
        for (what, step) in STEPS {
            let mine = bytes(std::slice::from_ref(&dirs[owner]));
            step(&dirs[owner]);
            // tantivy's merge may have collected already.
            let idle = what == "garbage collection" || bytes(std::slice::from_ref(&dirs[owner])) != mine;
            assert!(idle, "{what} did nothing in {}", dirs[owner].display());
            assert_eq!(bytes(&others), before, "{what} in {}", dirs[owner].display());
        }
        fs::remove_dir_all(&dirs[owner]).unwrap();
        assert_eq!(bytes(&others), before, "{} was removed", dirs[owner].display());
        assert_eq!(documents(&others).as_ref(), Ok(&held), "as tantivy reads the others");
    }
}

#[test]
fn children_of_linked_children_and_clones_share_as_little() {
    let place = Place::new();
    linked(&place);
    // 3 to 6 shards, all of them links to the source's files, and a clone of the first three.
    place.sound(&["split", "-i", "linked", "--into", "2", "--method", "link", "--out", "six"]);
    place.sound(&["clone", "-i", "linked", "--method", "link", "--out", "clone"]);
    let mut dirs = vec![place.path("source")];
    dirs.extend((0..3).flat_map(|n| [place.path(&format!("linked/{n}")), place.path(&format!("clone/{n}"))]));
    dirs.extend((0..6).map(|n| place.path(&format!("six/{n}"))));
    for owner in [1, 2, 7, 0] {
        let others: Vec<PathBuf> = dirs.iter().filter(|dir| **dir != dirs[owner]).cloned().collect();
        let before = bytes(&others);
        STEPS.iter().for_each(|(_, step)| step(&dirs[owner]));
        assert_eq!(bytes(&others), before, "{}", dirs[owner].display());
    }
}

#[test]
fn a_link_that_is_recovered_or_fails_leaves_the_source_its_files() {
    let place = Place::new();
    let source = [place.path("source")];
    let before = bytes(&source);
    let names = snapshot(&source[0]).len();
    linked(&place);
    fs::remove_dir_all(place.path("linked")).unwrap();
    // A run that cannot be verified: its target is taken meanwhile.
    fs::create_dir(place.path("linked")).unwrap();
    let ran =
        place.run(&["split", "-i", "source", "--into", "3", "--key", "id", "--method", "link", "--out", "linked"]);
    assert_eq!(ran.code, 5, "{}", ran.text);
    assert_eq!(bytes(&source), before);
    assert!(snapshot(&source[0]).len() <= names + 1, "more than tantivy's lock appeared");
}
