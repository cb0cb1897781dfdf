//! A small source, and a split of it by method `link`: the shortest whole run there is.
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use shardsplit::partition::{
    Assignment, Census, KeyPolicies, KeySpec, NO_CHILD, Placement, SegmentCensus, SegmentMode,
};
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::publish::{
    FileSystem, PartRecord, Proof, Published, RoutingFile, RoutingRecord, SourceLineage, SplitRecord, StagedChild,
    Staging,
};
use shardsplit::route::{IndexRouting, Operation, RoutingFunction, SplitSpec};
use shardsplit::source::{LockMode, Source};
use shardsplit::write::{WrittenSegment, link};
use shardsplit::{Error, Result};
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::{FAST, STORED, STRING, Schema, TEXT};
use tantivy::{Index, Term, doc};

/// Builds an index in `dir`: one segment per entry of `segments`, each with so many documents; then deletes those
/// documents whose number is in `deleted`. Documents are numbered through: document n has id `doc-n`.
pub fn build_index(dir: &Path, segments: &[u64], deleted: &[u64]) {
    fs::create_dir_all(dir).unwrap();
    let mut schema = Schema::builder();
    let id = schema.add_text_field("id", STRING | STORED | FAST);
    let body = schema.add_text_field("body", TEXT | STORED);
    let number = schema.add_u64_field("number", FAST | STORED);
    let index = Index::create_in_dir(dir, schema.build()).unwrap();
    let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
    writer.set_merge_policy(Box::new(NoMergePolicy));
    let mut next = 0u64;
    for &docs in segments {
        for n in next..next + docs {
            let text = format!("common word{} even{}", n % 7, n % 2);
            writer.add_document(doc!(id => format!("doc-{n}"), body => text, number => n * 1000)).unwrap();
        }
        next += docs;
        writer.commit().unwrap();
    }
    for n in deleted {
        writer.delete_term(Term::from_field_text(id, &format!("doc-{n}")));
    }
    if !deleted.is_empty() {
        writer.commit().unwrap();
    }
    writer.wait_merging_threads().unwrap();
}

pub fn open(dir: &Path) -> Source {
    Source::open(dir, LockMode::None).unwrap()
}

/// Gives every live document n to `child(n)`. (The order of segments in `meta.json` is anybody's guess.)
pub fn assign(source: &Source, children: usize, child: impl Fn(u64) -> usize) -> Assignment {
    let segments = source.segments().iter().map(|segment| {
        let number = segment.reader().fast_fields().u64("number").unwrap();
        let one = |doc| match number.first(doc) {
            Some(number) if segment.is_alive(doc) => u16::try_from(child(number / 1000)).unwrap(),
            _ => NO_CHILD,
        };
        (0..segment.max_doc()).map(one).collect()
    });
    Assignment::new(children, segments.collect())
}

/// Census of an assignment.
pub fn census(source: &Source, assignment: &Assignment) -> Census {
    let count = |segment: usize, child: usize| {
        assignment.segment(segment).iter().filter(|&&owner| usize::from(owner) == child).count() as u64
    };
    let children = 0..assignment.num_children();
    let segments: Vec<SegmentCensus> = (source.segments().iter().enumerate())
        .map(|(index, segment)| SegmentCensus {
            segment: segment.id().to_owned(),
            live: u64::from(segment.num_docs()),
            deleted: u64::from(segment.max_doc() - segment.num_docs()),
            children: children.clone().map(|child| count(index, child)).collect(),
        })
        .collect();
    Census {
        live: source.num_docs(),
        deleted: source.num_deleted(),
        children: children.map(|child| segments.iter().map(|segment| segment.children[child]).sum()).collect(),
        segments,
        ..Census::default()
    }
}

/// What a link run announces. Shard numbers are 10, 11, …: not the child indexes.
pub fn record(source: &Source, assignment: &Assignment) -> SplitRecord {
    let into = u32::try_from(assignment.num_children()).unwrap();
    let ids: Vec<String> = source.segments().iter().map(|segment| segment.id().to_owned()).collect();
    let keys = KeySpec { key: "id".to_owned(), routing_field: None };
    let routing = IndexRouting {
        function: RoutingFunction::Elasticsearch,
        number_of_shards: into,
        number_of_routing_shards: Some(1024),
        routing_partition_size: 1,
    };
    SplitRecord {
        operation: Operation::Split,
        parts: vec![PartRecord {
            sources: SourceLineage::of(source, &[0]).unwrap(),
            census: census(source, assignment),
            children: (0..into).map(|child| StagedChild { shard: 10 + child, segments: ids.clone() }).collect(),
        }],
        source_paths: vec![std::fs::canonicalize(source.dir()).unwrap()],
        routing: RoutingRecord {
            split: SplitSpec::new(into),
            number_of_routing_shards: Some(1024),
            tables: None,
            placement: Placement::Hash,
            key: "id".to_owned(),
            routing_field: None,
            policies: KeyPolicies::default(),
        },
        routing_file: RoutingFile::new(&routing, &keys),
        method: Method::Link,
        segments: SegmentMode::Keep,
        options: String::new(),
    }
}

/// Creates, links, completes, seals: everything but the rename.
pub fn stage(
    fs: Arc<dyn FileSystem>,
    source: &Source,
    assignment: &Assignment,
    out: &Path,
) -> Result<(Staging, Vec<WrittenSegment>, Vec<String>)> {
    let mut staging = Staging::create(fs, out, record(source, assignment))?;
    let shards: Vec<u32> = (10..).take(assignment.num_children()).collect();
    let (written, notes) = link(source, assignment, &shards, &staging, &Silent, &Cancel::new())?;
    for child in 0..assignment.num_children() {
        let segments: Vec<WrittenSegment> = written.iter().filter(|segment| segment.child == child).cloned().collect();
        staging.add_index_files(child, source.meta(), &segments)?;
    }
    staging.seal(&Proof::default())?;
    Ok((staging, written, notes))
}

/// The whole run.
pub fn split(fs: Arc<dyn FileSystem>, source: &Source, assignment: &Assignment, out: &Path) -> Result<Published> {
    stage(fs, source, assignment, out)?.0.publish()
}

/// Runs it again as long as a lock is in the way: a process that another test starts holds all files of ours open for a
/// moment, and with them their locks.
pub fn patiently<T>(mut run: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 0..1000 {
        match run() {
            Err(Error::StagingExists { live: true, .. }) => std::thread::sleep(std::time::Duration::from_millis(5)),
            other => return other,
        }
    }
    run()
}

/// What stands in a directory: bytes of files, targets of symbolic links, directories, by relative path; with modes.
pub fn tree(dir: &Path) -> BTreeMap<String, String> {
    fn walk(root: &Path, dir: &Path, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            // tantivy's readers leave it behind, empty.
            if path.ends_with(".tantivy-meta.lock") {
                continue;
            }
            let meta = fs::symlink_metadata(&path).unwrap();
            #[cfg(unix)]
            let mode = std::os::unix::fs::PermissionsExt::mode(&meta.permissions());
            #[cfg(not(unix))]
            let mode = 0;
            let what = if meta.is_symlink() {
                format!("link to {}", fs::read_link(&path).unwrap().display())
            } else if meta.is_dir() {
                walk(root, &path, found);
                "directory".to_owned()
            } else {
                let bytes = fs::read(&path).unwrap();
                format!("{} bytes, {:08x}", bytes.len(), crc32fast::hash(&bytes))
            };
            let name = path.strip_prefix(root).unwrap().display().to_string();
            found.insert(name, format!("{what}, mode {mode:o}"));
        }
    }
    let mut found = BTreeMap::new();
    walk(dir, dir, &mut found);
    found
}
