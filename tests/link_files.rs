//! Method `link`: children share the source's files, own their documents, and are ordinary indexes.

use crate::linked;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shardsplit::Error;
use shardsplit::partition::{Assignment, NO_CHILD};
use shardsplit::progress::{Cancel, Silent};
use shardsplit::publish::{Access, FileSystem, Kind, Lock, RealFs, Staging, read_child, read_set};
use shardsplit::source::Component;
use shardsplit::write::{OutputFile, link, source_file};
use tantivy::collector::{Count, DocSetCollector};
use tantivy::indexer::LogMergePolicy;
use tantivy::query::{AllQuery, TermQuery};
use tantivy::schema::{IndexRecordOption, Value};
use tantivy::{Index, TantivyDocument, Term, doc};

fn ids(dir: &Path) -> BTreeSet<String> {
    let index = Index::open_in_dir(dir).unwrap();
    let id = index.schema().get_field("id").unwrap();
    let searcher = index.reader().unwrap().searcher();
    let found = searcher.search(&AllQuery, &DocSetCollector).unwrap();
    let ids: Vec<String> = (found.into_iter())
        .map(|addr| searcher.doc::<TantivyDocument>(addr).unwrap())
        .map(|doc| doc.get_first(id).and_then(|value| value.as_str()).unwrap().to_owned())
        .collect();
    let distinct: BTreeSet<String> = ids.iter().cloned().collect();
    assert_eq!(distinct.len(), ids.len(), "{}: a document is there twice", dir.display());
    distinct
}

fn count(dir: &Path, word: &str) -> usize {
    let index = Index::open_in_dir(dir).unwrap();
    let term = Term::from_field_text(index.schema().get_field("body").unwrap(), word);
    index.reader().unwrap().searcher().search(&TermQuery::new(term, IndexRecordOption::Basic), &Count).unwrap()
}

fn names(range: impl Iterator<Item = u64>) -> BTreeSet<String> {
    range.map(|n| format!("doc-{n}")).collect()
}

struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    /// 100 documents in three segments, six of them deleted.
    fn new() -> Bench {
        let bench = Bench { dir: tempfile::tempdir().unwrap() };
        linked::build_index(&bench.source(), &[60, 10, 30], &[0, 3, 59, 64, 65, 98]);
        bench
    }

    fn source(&self) -> PathBuf {
        self.dir.path().join("source")
    }

    fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    fn child(&self, child: usize) -> PathBuf {
        self.out().join((10 + child).to_string())
    }

    /// Splits in `k`; document n goes to n mod k.
    fn split(&self, k: usize) -> Assignment {
        let source = linked::open(&self.source());
        let assignment = linked::assign(&source, k, |n| n as usize % k);
        linked::split(Arc::new(RealFs), &source, &assignment, &self.out()).unwrap();
        assignment
    }
}

#[test]
fn children_share_the_files_and_divide_the_documents() {
    let bench = Bench::new();
    let before = linked::tree(&bench.source());
    let k = 3;
    bench.split(k);
    // Linking leaves bytes and modes alone.
    assert_eq!(linked::tree(&bench.source()), before);

    let all = ids(&bench.source());
    assert_eq!(all.len(), 94);
    let children: Vec<BTreeSet<String>> = (0..k).map(|child| ids(&bench.child(child))).collect();
    assert_eq!(children.iter().map(BTreeSet::len).sum::<usize>(), all.len());
    assert_eq!(children.iter().flatten().cloned().collect::<BTreeSet<_>>(), all);
    for (child, ids) in children.iter().enumerate() {
        let expected = names((0..100).filter(|&n| n % 3 == child as u64));
        assert_eq!(ids, &expected.intersection(&all).cloned().collect(), "child {child}");
    }
    for word in ["common", "word3", "even1", "nothing"] {
        let sum: usize = (0..k).map(|child| count(&bench.child(child), word)).sum();
        assert_eq!(sum, count(&bench.source(), word), "{word}");
    }
    for child in 0..k {
        // What `validate_checksum` finds damaged: nothing. It looks at the files of `.managed.json`.
        let index = Index::open_in_dir(bench.child(child)).unwrap();
        assert!(index.validate_checksum().unwrap().is_empty());
        let managed: BTreeSet<PathBuf> = index.directory().list_managed_files().into_iter().collect();
        let mut standing: BTreeSet<PathBuf> =
            std::fs::read_dir(bench.child(child)).unwrap().map(|entry| entry.unwrap().file_name().into()).collect();
        for unmanaged in [".managed.json", "shardsplit.json", ".tantivy-meta.lock"] {
            standing.remove(Path::new(unmanaged));
        }
        assert_eq!(managed, standing, "child {child}");
    }
}

#[cfg(unix)]
#[test]
fn all_but_the_bitsets_are_the_very_files_of_the_source() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let bench = Bench::new();
    let umask_file = bench.dir.path().join("probe");
    std::fs::write(&umask_file, b"").unwrap();
    let file_mode = std::fs::metadata(&umask_file).unwrap().permissions().mode();
    let umask_dir = bench.dir.path().join("probe-dir");
    std::fs::create_dir(&umask_dir).unwrap();
    let dir_mode = std::fs::metadata(&umask_dir).unwrap().permissions().mode();
    // A mode of its own, to see that it stays.
    let source = linked::open(&bench.source());
    let odd = source.segments()[0].file(Component::Store);
    std::fs::set_permissions(&odd, std::fs::Permissions::from_mode(0o440)).unwrap();
    drop(source);
    bench.split(2);

    assert_eq!(std::fs::metadata(&odd).unwrap().permissions().mode() & 0o777, 0o440);
    assert_eq!(std::fs::metadata(bench.out()).unwrap().permissions().mode(), dir_mode, "OUT is for everybody");
    let mut bitsets = 0;
    for child in 0..2 {
        assert_eq!(std::fs::metadata(bench.child(child)).unwrap().permissions().mode(), dir_mode);
        for entry in std::fs::read_dir(bench.child(child)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let meta = std::fs::symlink_metadata(&path).unwrap();
            let shared = Component::ALL.iter().any(|component| name.ends_with(&format!(".{}", component.extension())));
            if shared {
                let original = std::fs::metadata(bench.source().join(&name)).unwrap();
                assert_eq!((meta.dev(), meta.ino()), (original.dev(), original.ino()), "{name}");
            } else {
                // Names of bitsets may be the source's; the files are not.
                assert_eq!(meta.nlink(), 1, "{name}");
                assert_eq!(meta.permissions().mode(), file_mode, "{name}");
            }
            bitsets += usize::from(name.ends_with(".del"));
        }
    }
    assert_eq!(bitsets, 6, "one per child and segment");
}

#[test]
fn lengths_and_checksums_in_manifests_are_those_of_the_files() {
    let bench = Bench::new();
    bench.split(3);
    let set = read_set(&bench.out()).unwrap();
    assert_eq!(set.children.iter().map(|child| child.shard).collect::<Vec<_>>(), [10, 11, 12]);
    for (child, entry) in set.children.iter().enumerate() {
        let dir = bench.child(child);
        let manifest = read_child(&dir).unwrap();
        assert_eq!((manifest.shard, manifest.docs), (entry.shard, entry.docs));
        assert_eq!(manifest.docs, ids(&dir).len() as u64);
        let max_docs: BTreeSet<u32> = manifest.segments.iter().map(|segment| segment.max_doc).collect();
        assert_eq!(max_docs, BTreeSet::from([10, 30, 60]));
        // 3 segments of 6 files and a bitset, meta.json, .managed.json.
        assert_eq!(manifest.files.len(), 3 * 7 + 2);
        assert_eq!(manifest.files.iter().filter(|file| file.linked).count(), 3 * 6);
        for file in manifest.files.iter().chain([&entry.manifest]) {
            let bytes = std::fs::read(dir.join(&file.name)).unwrap();
            assert_eq!((file.len, file.crc32), (bytes.len() as u64, crc32fast::hash(&bytes)), "{}", file.name);
        }
    }
    assert_eq!(set.parts[0].sources[0].segments.len(), 3);
    for segment in &set.parts[0].sources[0].segments {
        for file in &segment.files {
            let bytes = std::fs::read(bench.source().join(&file.name)).unwrap();
            assert_eq!((file.len, file.crc32), (bytes.len() as u64, crc32fast::hash(&bytes)), "{}", file.name);
        }
    }
}

#[test]
fn a_child_that_owns_a_whole_segment_has_no_bitset_and_one_without_documents_has_no_segments() {
    let dir = tempfile::tempdir().unwrap();
    let (source_dir, out) = (dir.path().join("source"), dir.path().join("out"));
    linked::build_index(&source_dir, &[5, 5, 5], &[7]);
    let source = linked::open(&source_dir);
    // The first segment and the live part of the second to child 0, the third to child 2.
    let assignment = linked::assign(&source, 3, |n| if n < 10 { 0 } else { 2 });
    linked::split(Arc::new(RealFs), &source, &assignment, &out).unwrap();
    let bitsets = |child: &str| {
        let names = std::fs::read_dir(out.join(child)).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_str().unwrap().ends_with(".del")).count()
    };
    assert_eq!((bitsets("10"), bitsets("11"), bitsets("12")), (1, 0, 0));
    assert_eq!(ids(&out.join("10")), names((0..10).filter(|&n| n != 7)));
    assert_eq!(ids(&out.join("11")), BTreeSet::new());
    assert_eq!(ids(&out.join("12")), names(10..15));
    let meta: serde_json::Value = serde_json::from_slice(&std::fs::read(out.join("11/meta.json")).unwrap()).unwrap();
    assert_eq!(meta["segments"], serde_json::json!([]));
    assert_eq!(read_child(&out.join("11")).unwrap().files.len(), 2);
}

#[test]
fn more_children_than_one_batch_holds_get_their_documents_too() {
    let bench = Bench::new();
    let k = 45;
    bench.split(k);
    let found: Vec<BTreeSet<String>> = (0..k).map(|child| ids(&bench.child(child))).collect();
    assert_eq!(found.iter().map(BTreeSet::len).sum::<usize>(), 94);
    assert_eq!(found.into_iter().flatten().collect::<BTreeSet<_>>(), ids(&bench.source()));
}

#[test]
fn a_writer_on_one_child_changes_neither_the_source_nor_a_sibling() {
    let bench = Bench::new();
    let source_before = linked::tree(&bench.source());
    bench.split(3);
    let siblings_before: Vec<BTreeMap<_, _>> = (1..3).map(|child| linked::tree(&bench.child(child))).collect();
    let mut expected = ids(&bench.child(0));

    let index = Index::open_in_dir(bench.child(0)).unwrap();
    let field = |name: &str| index.schema().get_field(name).unwrap();
    let (id, body, number) = (field("id"), field("body"), field("number"));
    let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
    writer.set_merge_policy(Box::new(tantivy::indexer::NoMergePolicy));
    let unchanged = |step: &str| {
        assert_eq!(linked::tree(&bench.source()), source_before, "{step}: the source changed");
        for (child, before) in (1..3).zip(&siblings_before) {
            assert_eq!(&linked::tree(&bench.child(child)), before, "{step}: child {child} changed");
        }
    };

    let gone: Vec<String> = expected.iter().step_by(4).cloned().collect();
    for name in &gone {
        writer.delete_term(Term::from_field_text(id, name));
        expected.remove(name);
    }
    // Documents of siblings, of nobody (deleted before the split), and unknown ones: nothing happens.
    for name in ["doc-1", "doc-2", "doc-0", "doc-98", "doc-12345"] {
        writer.delete_term(Term::from_field_text(id, name));
        expected.remove(name);
    }
    writer.commit().unwrap();
    unchanged("delete");
    assert_eq!(ids(&bench.child(0)), expected);

    writer.add_document(doc!(id => "new", body => "common news", number => 7u64)).unwrap();
    expected.insert("new".to_owned());
    writer.commit().unwrap();
    unchanged("add");
    assert_eq!(ids(&bench.child(0)), expected);

    let all = index.searchable_segment_ids().unwrap();
    assert_eq!(all.len(), 4);
    writer.merge(&all).wait().unwrap();
    unchanged("merge");
    let removed = writer.garbage_collect_files().wait().unwrap();
    assert!(removed.failed_to_delete_files.is_empty());
    writer.set_merge_policy(Box::new(LogMergePolicy::default()));
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    unchanged("garbage collection");

    assert_eq!(ids(&bench.child(0)), expected);
    assert_eq!(count(&bench.child(0), "common"), expected.len());
    // Garbage collection knew all files: what is left belongs to the one merged segment.
    let merged = index.searchable_segment_ids().unwrap();
    assert_eq!(merged.len(), 1);
    let standing: Vec<String> = linked::tree(&bench.child(0)).into_keys().collect();
    let segment_files = standing.iter().filter(|name| !name.starts_with('.') && !name.ends_with(".json"));
    for name in segment_files {
        assert!(name.starts_with(&merged[0].uuid_string()), "{name} was left behind: {standing:?}");
    }
    assert!(standing.contains(&"shardsplit.json".to_owned()), "the manifest is not garbage");
    assert!(index.validate_checksum().unwrap().is_empty());
}

#[test]
fn a_writer_on_the_source_leaves_the_children_as_they_are() {
    let bench = Bench::new();
    bench.split(2);
    let before = linked::tree(&bench.out());
    let index = Index::open_in_dir(bench.source()).unwrap();
    let mut writer = index.writer_with_num_threads::<TantivyDocument>(1, 15_000_000).unwrap();
    let ids_before = [ids(&bench.child(0)), ids(&bench.child(1))];
    writer.merge(&index.searchable_segment_ids().unwrap()).wait().unwrap();
    writer.garbage_collect_files().wait().unwrap();
    writer.wait_merging_threads().unwrap();
    assert_eq!(linked::tree(&bench.out()), before);
    assert_eq!([ids(&bench.child(0)), ids(&bench.child(1))], ids_before);
}

#[test]
fn an_assignment_that_loses_or_revives_documents_is_refused_before_anything_is_linked() {
    let bench = Bench::new();
    let source = linked::open(&bench.source());
    let good = linked::assign(&source, 2, |n| n as usize % 2);
    let segments: Vec<Vec<u16>> = (0..3).map(|segment| good.segment(segment).to_vec()).collect();
    // In the segment of 60: document 1 is alive, document 0 deleted.
    let large = segments.iter().position(|docs| docs.len() == 60).unwrap();
    let mut lost = segments.clone();
    lost[large][1] = NO_CHILD;
    let mut revived = lost.clone();
    revived[large][0] = 1;
    let mut short = segments.clone();
    short[0].pop();
    for (what, segments) in [("lost", lost), ("revived", revived), ("short", short), ("empty", Vec::new())] {
        let bad = Assignment::new(2, segments);
        let staging = Staging::create(Arc::new(RealFs), &bench.out(), linked::record(&source, &good)).unwrap();
        let refused = link(&source, &bad, &[10, 11], &staging, &Silent, &Cancel::new());
        assert!(matches!(refused, Err(Error::Census { .. })), "{what}: {refused:?}");
        assert!(staging.discard().unwrap().unknown.is_empty());
    }
    let cancel = Cancel::new();
    cancel.cancel();
    let staging = Staging::create(Arc::new(RealFs), &bench.out(), linked::record(&source, &good)).unwrap();
    assert!(matches!(link(&source, &good, &[10, 11], &staging, &Silent, &cancel), Err(Error::Interrupted)));
}

/// A real file system whose links fail in one way.
#[derive(Debug)]
struct NoLinks(io::ErrorKind);

#[rustfmt::skip]
impl FileSystem for NoLinks {
    fn create_dir(&self, path: &Path, access: Access) -> io::Result<()> { RealFs.create_dir(path, access) }
    fn create(&self, path: &Path) -> io::Result<Box<dyn OutputFile>> { RealFs.create(path) }
    fn sync_files(&self, paths: &[PathBuf]) -> io::Result<()> { RealFs.sync_files(paths) }
    fn sync_dir(&self, path: &Path) -> io::Result<()> { RealFs.sync_dir(path) }
    fn rename_noreplace(&self, from: &Path, to: &Path) -> io::Result<()> { RealFs.rename_noreplace(from, to) }
    fn hard_link(&self, _from: &Path, _to: &Path) -> io::Result<()> { Err(self.0.into()) }
    fn remove_file(&self, path: &Path) -> io::Result<()> { RealFs.remove_file(path) }
    fn remove_dir(&self, path: &Path) -> io::Result<()> { RealFs.remove_dir(path) }
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> { RealFs.open(path) }
    fn kind(&self, path: &Path) -> io::Result<Option<Kind>> { RealFs.kind(path) }
    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> { RealFs.list(path) }
    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> { RealFs.lock(path) }
}

#[test]
fn where_links_cannot_be_made_bytes_are_copied_and_the_notes_say_why() {
    for (kind, reason) in [
        (io::ErrorKind::CrossesDevices, "different file systems"),
        (io::ErrorKind::PermissionDenied, "not permit"),
        (io::ErrorKind::TooManyLinks, "no more links"),
        (io::ErrorKind::Unsupported, "no hard links"),
    ] {
        let bench = Bench::new();
        let source = linked::open(&bench.source());
        let assignment = linked::assign(&source, 2, |n| n as usize % 2);
        let fs = Arc::new(NoLinks(kind));
        let (staging, written, notes) = linked::stage(fs, &source, &assignment, &bench.out()).unwrap();
        staging.publish().unwrap();
        assert_eq!(notes.len(), 1, "{notes:?}");
        let bytes: u64 = source.segments().iter().map(|segment| segment.num_bytes() * 2).sum();
        assert!(notes[0].contains(reason) && notes[0].contains(&format!("36 files ({bytes} bytes)")), "{notes:?}");
        assert!(written.iter().flat_map(|segment| &segment.files).all(|file| !file.linked));
        drop(source);
        // The copies do not need the source any more.
        std::fs::rename(bench.source(), bench.dir.path().join("elsewhere")).unwrap();
        let both: BTreeSet<String> = ids(&bench.child(0)).union(&ids(&bench.child(1))).cloned().collect();
        assert_eq!(both, ids(&bench.dir.path().join("elsewhere")));
    }
    let bench = Bench::new();
    let source = linked::open(&bench.source());
    let assignment = linked::assign(&source, 2, |n| n as usize % 2);
    let fs = Arc::new(NoLinks(io::ErrorKind::StorageFull));
    let refused = linked::split(fs, &source, &assignment, &bench.out());
    assert!(matches!(refused, Err(Error::Io { operation: "link", .. })), "{refused:?}");
    assert!(!bench.out().exists());
}

#[test]
fn a_copy_of_a_damaged_file_is_refused_by_its_footer() {
    let bench = Bench::new();
    let source = linked::open(&bench.source());
    let path = source.segments()[1].file(Component::Store);
    let sound = source_file(&source.segments()[1], Component::Store);
    drop(source);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[3] ^= 1;
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, bytes).unwrap();

    let source = linked::open(&bench.source());
    assert_eq!(source_file(&source.segments()[1], Component::Store), sound, "what it should be");
    let assignment = linked::assign(&source, 2, |n| n as usize % 2);
    let fs = Arc::new(NoLinks(io::ErrorKind::CrossesDevices));
    match linked::split(fs, &source, &assignment, &bench.out()) {
        Err(Error::Corrupt { path: named, .. }) => assert_eq!(named, path),
        other => panic!("{other:?}"),
    }
    assert!(!bench.out().exists());
}

#[test]
fn the_same_split_twice_gives_the_same_bytes() {
    let bench = Bench::new();
    bench.split(3);
    let first = linked::tree(&bench.out());
    std::fs::rename(bench.out(), bench.dir.path().join("first")).unwrap();
    bench.split(3);
    assert_eq!(linked::tree(&bench.out()), first);
}
