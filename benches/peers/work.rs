//! What is measured: our jobs, the peer's, and the two floors below them, reading and copying.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use shardsplit::index_hashes::IndexHashes;
use shardsplit::job::Job;
use shardsplit::partition::{KeyPolicies, KeySpec, Placement, assign};
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::publish::RealFs;
use shardsplit::report::StageTime;
use shardsplit::route::{SplitRouting, SplitSpec};
use shardsplit::source::{LockMode, Source};
use shardsplit::verify::{Ownership, VerifyJob, VerifyLevel, verify};
use tantivy::directory::MmapDirectory;
use tantivy::fastfield::AliveBitSet;
use tantivy::indexer::merge_filtered_segments;
use tantivy_common::{BitSet, ReadOnlyBitSet};

/// Kinds of work, in the order of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Our split by rewriting, unverified.
    Rewrite,
    /// Our split by linking, unverified.
    Link,
    /// The same of a source that has hash sidecars.
    HashedLink,
    /// Our full verification of what the rewrite made.
    Verify,
    /// One filtered merge of tantivy per child.
    Merge,
    /// A copy of what the rewrite made, synced.
    Copy,
    /// The source, read from end to end.
    Read,
}

impl Work {
    /// In the order of the table.
    pub const ALL: [Work; 7] =
        [Work::Rewrite, Work::Link, Work::HashedLink, Work::Verify, Work::Merge, Work::Copy, Work::Read];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Work::Rewrite => "rewrite",
            Work::Link => "link",
            Work::HashedLink => "hashed-link",
            Work::Verify => "verify",
            Work::Merge => "merge",
            Work::Copy => "copy",
            Work::Read => "read",
        }
    }

    /// As in the table.
    pub fn title(self) -> &'static str {
        match self {
            Work::Merge => "k x merge_filtered",
            Work::Copy => "copy and sync",
            Work::Read => "read the source",
            Work::HashedLink => "link with sidecars",
            _ => self.name(),
        }
    }

    /// Most anonymous bytes that DESIGN.md promises, for `docs` documents of the source; `None` for what is not ours.
    pub fn memory_bound(self, docs: u64, children: u32, threads: usize) -> Option<u64> {
        let per_document = match self {
            Work::Rewrite | Work::Link | Work::HashedLink => 10,
            Work::Verify => 24,
            _ => return None,
        };
        Some(per_document * docs + (64 << 20) + (2 << 20) * u64::from(children) * threads as u64)
    }
}

/// One run, as it is handed to the process that does it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// What to do.
    pub work: Work,
    /// The source; for a copy, what is copied.
    pub index: PathBuf,
    /// Where results go; for a verification, the children.
    pub out: PathBuf,
    /// Key field.
    pub key: String,
    /// Routing field.
    pub routing_field: Option<String>,
    /// k.
    pub children: u32,
    /// Worker threads.
    pub threads: usize,
    /// A control group to enter first.
    pub memory_group: Option<PathBuf>,
}

impl Run {
    /// Does it. Returns the stages that the job reported.
    pub fn perform(&self) -> Vec<StageTime> {
        match self.work {
            Work::Rewrite => return self.split(Method::Rewrite),
            Work::Link | Work::HashedLink => return self.split(Method::Link),
            Work::Verify => self.verified(),
            Work::Merge => self.merged(),
            Work::Copy => copied(&self.index, &self.out),
            Work::Read => read(&self.index),
        }
        Vec::new()
    }

    /// Bytes that it left on disk: those of files that it does not share with anyone.
    pub fn written(&self) -> u64 {
        match self.work {
            Work::Verify | Work::Read => 0,
            _ => size_of(&self.out, |file| file.nlink() == 1),
        }
    }

    /// Makes the source in `dir`, of the files of `index` and their hash sidecars.
    pub fn with_sidecars(&self, index: &Path, dir: &Path) {
        fs::create_dir(dir).unwrap();
        for entry in fs::read_dir(index).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
            fs::hard_link(entry.path(), dir.join(entry.file_name())).unwrap();
        }
        let hashes = IndexHashes { keys: self.keys(), ..IndexHashes::new(dir, self.key.as_str()) };
        hashes.run(&RealFs, &Silent, &Cancel::new()).unwrap();
    }

    fn keys(&self) -> KeySpec {
        KeySpec { key: self.key.clone(), routing_field: self.routing_field.clone() }
    }

    fn split(&self, method: Method) -> Vec<StageTime> {
        let mut job = Job::new(&self.index, &self.out, self.children, self.key.as_str());
        job.keys = self.keys();
        job.method = method;
        job.verify = VerifyLevel::None;
        job.threads = self.threads;
        job.run(&Silent, &Cancel::new()).unwrap().stages
    }

    fn verified(&self) {
        let source = Source::open(&self.index, LockMode::None).unwrap();
        let routing = SplitRouting::new(SplitSpec::new(self.children)).unwrap();
        let keys = self.keys();
        let dirs = routing.children().iter().map(|&shard| (shard, self.out.join(shard.to_string()))).collect();
        let mut job = VerifyJob::new(&source, dirs);
        job.ownership = Some(Ownership {
            keys: &keys,
            routing: &routing,
            placement: &Placement::Hash,
            policies: KeyPolicies::default(),
        });
        job.threads = self.threads;
        job.known_file = shardsplit::publish::is_manifest;
        let report = verify(&job, &Silent, &Cancel::new()).unwrap();
        assert!(report.is_clean(), "{:?}", report.findings);
    }

    /// One merge per child, as many at a time as there are threads. Whoever splits that way has to route the documents
    /// first, so that is counted, as it is for us.
    fn merged(&self) {
        let source = Source::open(&self.index, LockMode::None).unwrap();
        let routing = SplitRouting::new(SplitSpec::new(self.children)).unwrap();
        let policies = KeyPolicies::default();
        let assigned =
            assign(&source, &self.keys(), &routing, &policies, self.threads, &Silent, &Cancel::new()).unwrap();
        let index = tantivy::Index::open_in_dir(&self.index).unwrap();
        // In the order of our source: tantivy lists segments in none.
        let mut segments = index.searchable_segments().unwrap();
        let order: Vec<&str> = source.segments().iter().map(shardsplit::source::Segment::id).collect();
        segments.sort_by_key(|segment| order.iter().position(|id| *id == segment.id().uuid_string()));
        let next = AtomicUsize::new(0);
        let work = || {
            loop {
                let child = next.fetch_add(1, Ordering::Relaxed);
                if child >= self.children as usize {
                    return;
                }
                let filters = (0..segments.len())
                    .map(|segment| {
                        let owners = assigned.assignment.segment(segment);
                        let mut own = BitSet::with_max_value(owners.len() as u32);
                        for (doc, &owner) in (0..).zip(owners) {
                            if usize::from(owner) == child {
                                own.insert(doc);
                            }
                        }
                        Some(AliveBitSet::from(ReadOnlyBitSet::from(&own)))
                    })
                    .collect();
                let target = self.out.join(child.to_string());
                fs::create_dir_all(&target).unwrap();
                let directory = MmapDirectory::open(&target).unwrap();
                merge_filtered_segments(&segments, index.settings().clone(), filters, directory).unwrap();
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads {
                scope.spawn(work);
            }
            work();
        });
    }
}

/// As `cp -r` does it, each file synced.
fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copied(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            File::open(&target).unwrap().sync_all().unwrap();
        }
    }
}

/// As `cat` does it.
pub fn read(dir: &Path) {
    let mut buffer = vec![0; 1 << 20];
    for path in files(dir) {
        let mut file = File::open(path).unwrap();
        while file.read(&mut buffer).unwrap() > 0 {}
    }
}

/// All files below `dir`.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

/// Bytes of the files below `dir` that `counted` takes.
pub fn size_of(dir: &Path, counted: impl Fn(&fs::Metadata) -> bool) -> u64 {
    let files = files(dir).into_iter().map(|path| fs::symlink_metadata(path).unwrap());
    files.filter(|file| counted(file)).map(|file| file.len()).sum()
}
