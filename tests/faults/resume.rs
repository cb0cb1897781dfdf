//! A second run takes up what a killed one of the same job had finished: nothing of it is written again, all of it is
//! verified. What is damaged, unfinished, somebody else's or of another job is not used.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use shardsplit::Error;
use shardsplit::job::{Change, IndexJob, Job};
use shardsplit::partition::SegmentMode;
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::publish::{Fault, FaultyFs, FileSystem, TakenUp};
use shardsplit::report::{IndexReport, SplitReport};
use shardsplit::verify::VerifyLevel;

use crate::cli::place::{Ran, ids};
use crate::common::files::{assert_same_bytes, tempdir};
use crate::linked::{self, patiently, tree};

/// A source, an index of four shards, and sets that were made of them undisturbed.
struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let bench = Bench { dir: tempdir() };
        linked::build_index(&bench.path("source"), &[60, 40], &[7]);
        bench.shard("index", 4, &FaultyFs::counting()).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn shard_job(&self, out: &str, into: u32) -> Job {
        Job { threads: 1, ..Job::new(self.path("source"), self.path(out), into, "id") }
    }

    fn shard(&self, out: &str, into: u32, fs: &FaultyFs) -> shardsplit::Result<SplitReport> {
        run_shard(&self.shard_job(out, into), fs)
    }

    fn index_job(&self, out: &str) -> IndexJob {
        let change = Change::Split { into: 2, number_of_routing_shards: None };
        IndexJob { threads: 1, ..IndexJob::new(self.path("index"), self.path(out), change) }
    }

    fn index(&self, out: &str, fs: &FaultyFs) -> shardsplit::Result<IndexReport> {
        let fs: Arc<dyn FileSystem> = Arc::new(fs.clone());
        let cancel = &Cancel::new();
        patiently(|| self.index_job(out).prepare_on(Arc::clone(&fs), &Silent, cancel)?.execute(&Silent, cancel))
    }

    /// An undisturbed run of the whole index, and one to `out` that was killed when two of four shards were finished.
    fn two_of_four(&self, out: &str) -> IndexReport {
        let fs = FaultyFs::counting();
        let whole = self.index("whole", &fs).unwrap();
        let third = |step: &String| step.starts_with("create ") && step.contains("/children/4/");
        let at = fs.steps().iter().position(third).unwrap();
        assert!(self.index(out, &FaultyFs::new(at + 5, Fault::Stop)).is_err());
        assert!(!self.path(out).exists());
        whole
    }

    /// A run of a shard to `out` that was killed while it verified: everything is written, nothing sealed.
    fn verifying(&self, out: &str, into: u32) {
        let fs = FaultyFs::counting();
        self.shard("counted", into, &fs).unwrap();
        std::fs::remove_dir_all(self.path("counted")).unwrap();
        let at = fs.steps().iter().position(|step| step.ends_with("children/routing.json")).unwrap();
        assert!(self.shard(out, into, &FaultyFs::new(at, Fault::Stop)).is_err());
    }

    fn staged(&self, name: &str) -> PathBuf {
        self.path(".out.shardsplit/children").join(name)
    }

    /// A file of a staged child.
    fn staged_file(&self, child: &str, extension: &str) -> PathBuf {
        let mut files = std::fs::read_dir(self.staged(child)).unwrap().map(|entry| entry.unwrap().path());
        files.find(|path| path.extension().is_some_and(|found| found == extension)).unwrap()
    }
}

fn run_shard(job: &Job, fs: &FaultyFs) -> shardsplit::Result<SplitReport> {
    let fs: Arc<dyn FileSystem> = Arc::new(fs.clone());
    let cancel = &Cancel::new();
    patiently(|| job.prepare_on(Arc::clone(&fs), &Silent, cancel)?.execute(&Silent, cancel))
}

/// Steps that make or write files of staged children with these numbers.
fn writes(fs: &FaultyFs, children: &[u32]) -> usize {
    let own = |step: &String| children.iter().any(|child| step.contains(&format!("/children/{child}/")));
    let writing = |step: &&String| ["create ", "write ", "patch "].iter().any(|action| step.starts_with(action));
    fs.steps().iter().filter(writing).filter(|step| own(step)).count()
}

fn sorted(mut ids: Vec<String>) -> Vec<String> {
    ids.sort();
    ids
}

/// The stored ids of all children of a set, read by tantivy.
fn all_ids(set: &Path, shards: u32) -> Vec<String> {
    sorted((0..shards).flat_map(|shard| ids(&set.join(shard.to_string()))).collect())
}

#[test]
fn of_a_whole_index_the_shards_that_were_finished_are_verified_and_not_written_again() {
    let bench = Bench::new();
    let whole = bench.two_of_four("out");
    let again = FaultyFs::counting();
    let report = bench.index("out", &again).unwrap();

    let taken = report.taken_up.unwrap();
    assert_eq!(taken.children, [0, 1, 2, 3]);
    assert!(taken.removed_files > 0, "the third shard had been begun");
    assert_eq!((writes(&again, &[0, 1, 2, 3]), writes(&again, &[4, 5, 6, 7]) > 0), (0, true), "{:?}", again.steps());
    // Half of the postings of an index are read for half of its shards, or so.
    let (reads, all) = (report.reads.unwrap(), whole.reads.unwrap());
    assert!(reads.posting_blocks * 3 < all.posting_blocks * 2, "{reads:?} of {all:?}");
    assert!(reads.store_blocks * 2 <= all.store_blocks, "{reads:?} of {all:?}");
    // All of it is verified, and it is what it would have been.
    let verified = report.verify.unwrap();
    assert_eq!((verified.level, verified.docs, verified.children.len()), (VerifyLevel::Full, 99, 8));
    assert_eq!(verified.source_digest, verified.children_digest);
    assert_same_bytes(&bench.path("whole"), &bench.path("out"));
    assert_eq!(all_ids(&bench.path("out"), 8), sorted(ids(&bench.path("source"))));
    assert!(!bench.path(".out.shardsplit").exists());
}

#[test]
fn after_a_kill_during_verification_nothing_is_written_again() {
    let bench = Bench::new();
    bench.shard("whole", 3, &FaultyFs::counting()).unwrap();
    bench.verifying("out", 3);
    let again = FaultyFs::counting();
    let report = bench.shard("out", 3, &again).unwrap();
    let TakenUp { children, files, bytes, removed_files } = report.taken_up.unwrap();
    assert_eq!((children, removed_files), (vec![0, 1, 2], 0));
    assert_eq!(writes(&again, &[0, 1, 2]), 0, "{:?}", again.steps());
    let standing: u64 = (0..3)
        .flat_map(|child| std::fs::read_dir(bench.path(&format!("out/{child}"))).unwrap())
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert_eq!((files, bytes), (3 * 10, standing), "six files of a segment, its sidecar, three of the index");
    assert!(report.verify.unwrap().is_clean());
    assert_eq!(report.reads.unwrap().posting_blocks, 0);
    // Taken up or not, it is on the disk before it is published: every file of it was synced.
    let synced = again.steps().iter().filter(|step| step.starts_with("sync ") && step.contains("/children/")).count();
    assert!(synced >= 30, "{synced} files were synced");
    assert_same_bytes(&bench.path("whole"), &bench.path("out"));
    assert_eq!(all_ids(&bench.path("out"), 3), sorted(ids(&bench.path("source"))));
    let reported: Vec<(u64, usize, u64)> = report.children.iter().map(|c| (c.docs, c.segments, c.bytes)).collect();
    let other = bench.shard("another", 3, &FaultyFs::counting()).unwrap();
    assert_eq!(reported, other.children.iter().map(|c| (c.docs, c.segments, c.bytes)).collect::<Vec<_>>());
}

#[test]
fn a_run_that_was_sealed_is_verified_once_more_and_published() {
    let bench = Bench::new();
    let fs = FaultyFs::counting();
    bench.shard("whole", 2, &fs).unwrap();
    let publishing = fs.steps().iter().rposition(|step| step.starts_with("rename ")).unwrap();
    assert!(bench.shard("out", 2, &FaultyFs::new(publishing, Fault::Stop)).is_err());
    assert!(bench.staged("shardsplit.json").exists());
    let again = FaultyFs::counting();
    let report = bench.shard("out", 2, &again).unwrap();
    assert_eq!((report.taken_up.unwrap().children, writes(&again, &[0, 1])), (vec![0, 1], 0));
    assert!(report.verify.unwrap().is_clean());
    assert_same_bytes(&bench.path("whole"), &bench.path("out"));
}

#[test]
fn children_that_are_damaged_or_not_finished_are_written_again_and_the_others_are_not() {
    let bench = Bench::new();
    let flip = |path: PathBuf| {
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
    };
    let cut = |path: PathBuf| std::fs::write(&path, &std::fs::read(&path).unwrap()[..20]).unwrap();
    let gone = |path: PathBuf| std::fs::remove_file(path).unwrap();
    type Damage<'a> = (&'a str, Box<dyn Fn() + 'a>);
    let damages: Vec<Damage<'_>> = vec![
        ("a flipped byte", Box::new(|| flip(bench.staged_file("3", "idx")))),
        ("a flipped byte in a sidecar", Box::new(|| flip(bench.staged_file("2", "hashes")))),
        ("a cut file", Box::new(|| cut(bench.staged_file("2", "store")))),
        ("a file is gone", Box::new(|| gone(bench.staged_file("3", "term")))),
        ("no meta.json", Box::new(|| gone(bench.staged("3/meta.json")))),
        ("no manifest", Box::new(|| gone(bench.staged("2/shardsplit.json")))),
        ("half a manifest", Box::new(|| cut(bench.staged("2/shardsplit.json")))),
        ("no child", Box::new(|| std::fs::remove_dir_all(bench.staged("3")).unwrap())),
        (
            "another child",
            Box::new(|| {
                std::fs::remove_dir_all(bench.staged("3")).unwrap();
                std::fs::create_dir(bench.staged("3")).unwrap();
                std::fs::copy(bench.staged("2/shardsplit.json"), bench.staged("3/shardsplit.json")).unwrap();
            }),
        ),
    ];
    for (what, damage) in damages {
        bench.two_of_four("out");
        damage();
        let again = FaultyFs::counting();
        let report = bench.index("out", &again).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(report.taken_up.unwrap().children, [0, 1], "{what}");
        assert_eq!((writes(&again, &[0, 1]), writes(&again, &[2, 3]) > 0), (0, true), "{what}");
        assert_same_bytes(&bench.path("whole"), &bench.path("out"));
        for set in ["whole", "out"] {
            std::fs::remove_dir_all(bench.path(set)).unwrap();
        }
    }
}

#[test]
fn damage_with_a_checksum_made_to_fit_is_found_by_verification_and_nothing_is_published() {
    let bench = Bench::new();
    bench.verifying("out", 2);
    // A value of a column, under checksums of file and manifest that are right.
    let (source, other) = (bench.staged_file("0", "fast"), bench.staged_file("1", "fast"));
    let (mut body, footer) = crate::small_index::split(&std::fs::read(&source).unwrap());
    let at = body.len() / 3;
    body[at] ^= 4;
    let sealed = crate::small_index::seal(&body, &footer);
    assert_ne!(std::fs::read(&other).unwrap(), sealed);
    std::fs::write(&source, &sealed).unwrap();
    let manifest = bench.staged("0/shardsplit.json");
    let mut text: Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    let name = source.file_name().unwrap().to_str().unwrap();
    for file in text["files"].as_array_mut().unwrap().iter_mut().filter(|file| file["name"] == name) {
        file["crc32"] = crc32fast::hash(&sealed).into();
        file["len"] = sealed.len().into();
    }
    std::fs::write(&manifest, text.to_string()).unwrap();
    let error = bench.shard("out", 2, &FaultyFs::counting()).map(drop).unwrap_err();
    assert!(matches!(error, Error::Difference(_) | Error::Corrupt { .. } | Error::Panic { .. }), "{error}");
    assert!(!bench.path("out").exists() && !bench.path(".out.shardsplit").exists());
    bench.shard("out", 2, &FaultyFs::counting()).unwrap();
}

#[test]
fn another_job_and_another_source_take_up_nothing_and_leave_it_as_it_is() {
    let bench = Bench::new();
    bench.verifying("out", 2);
    let before = tree(&bench.path(".out.shardsplit"));
    let job = bench.shard_job("out", 2);
    let other_keys = shardsplit::partition::KeySpec { key: "id".to_owned(), routing_field: Some("body".to_owned()) };
    let others: [(&str, Job); 5] = [
        ("other numbers", bench.shard_job("out", 3)),
        ("another method", Job { method: Method::Link, ..job.clone() }),
        ("another layout", Job { segments: SegmentMode::Keep, ..job.clone() }),
        ("smaller segments", Job { max_docs_per_segment: 10, ..job.clone() }),
        ("other fields", Job { keys: other_keys, ..job.clone() }),
    ];
    for (what, other) in others {
        let refused = run_shard(&other, &FaultyFs::counting()).map(drop);
        assert!(
            matches!(refused, Err(Error::StagingExists { live: false, .. } | Error::Keys(_) | Error::Field { .. })),
            "{what}: {refused:?}"
        );
        assert_eq!(tree(&bench.path(".out.shardsplit")), before, "{what}");
    }
    // The source itself: another payload in its meta.json.
    let meta = bench.path("source/meta.json");
    let text = std::fs::read_to_string(&meta).unwrap();
    let mut changed: Value = serde_json::from_str(&text).unwrap();
    changed["payload"] = "another".into();
    std::fs::write(&meta, changed.to_string()).unwrap();
    let refused = run_shard(&job, &FaultyFs::counting()).map(drop);
    assert!(matches!(refused, Err(Error::StagingExists { live: false, .. })), "{refused:?}");
    assert_eq!(tree(&bench.path(".out.shardsplit")), before);
    std::fs::write(&meta, text).unwrap();
    // How much is verified, and by how many threads, makes no other job of it.
    let same = Job { verify: VerifyLevel::Counts, threads: 3, ..job };
    assert_eq!(run_shard(&same, &FaultyFs::counting()).unwrap().taken_up.unwrap().children, [0, 1]);
}

#[cfg(unix)]
#[test]
fn only_a_directory_that_nobody_else_could_enter_is_taken_up_and_nothing_of_somebody_else_in_it() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let bench = Bench::new();
    bench.verifying("out", 2);
    let staging = bench.path(".out.shardsplit");
    let refused = |what: &str| {
        let refused = bench.shard("out", 2, &FaultyFs::counting()).map(drop);
        assert!(matches!(refused, Err(Error::StagingExists { live: false, .. })), "{what}: {refused:?}");
        assert!(!bench.path("out").exists(), "{what}");
    };
    let mode = |mode| std::fs::set_permissions(&staging, std::fs::Permissions::from_mode(mode)).unwrap();
    for open in [0o750, 0o705, 0o777] {
        mode(open);
        refused("others could enter");
    }
    mode(0o700);
    std::fs::rename(&staging, bench.path("elsewhere")).unwrap();
    symlink(bench.path("elsewhere"), &staging).unwrap();
    refused("a symbolic link");
    std::fs::remove_file(&staging).unwrap();
    std::fs::rename(bench.path("elsewhere"), &staging).unwrap();
    let record = std::fs::read(staging.join("staging.json")).unwrap();
    std::fs::write(staging.join("staging.json"), "{").unwrap();
    refused("a record that cannot be read");
    std::fs::write(staging.join("staging.json"), record).unwrap();
    for foreign in ["children/foreign", "children/1/foreign"] {
        let foreign = staging.join(foreign);
        std::fs::write(&foreign, b"somebody's").unwrap();
        refused("a foreign file");
        assert_eq!(std::fs::read(&foreign).unwrap(), b"somebody's");
        std::fs::remove_file(&foreign).unwrap();
    }
    bench.shard("out", 2, &FaultyFs::counting()).unwrap();
}

#[test]
fn the_program_says_in_text_and_json_what_it_took_up() {
    let bench = Bench::new();
    let run = |line: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_shardsplit"));
        command.args(line.split_whitespace()).current_dir(bench.dir.path()).env_remove("RUST_LOG");
        Ran::new(command.output().unwrap())
    };
    bench.verifying("out", 2);
    let text = run("split -i source --into 2 --key id --out out").expect(0).stdout;
    assert!(text.contains("taken up  2 children that an unfinished run had written: 20 files, "), "{text}");
    assert!(text.contains("no differences (full)"), "{text}");
    std::fs::remove_dir_all(bench.path("out")).unwrap();
    let text = run("split -i source --into 2 --key id --out out").expect(0).stdout;
    assert!(!text.contains("taken up"), "{text}");

    bench.two_of_four("again");
    let lines = run("split -i index --into 2 --out again --json").expect(0).lines();
    assert_eq!(lines[0]["taken_up"]["children"], serde_json::json!([0, 1, 2, 3]));
    assert!(lines[0]["taken_up"]["bytes"].as_u64().unwrap() > 1000);
    // A plan beside an unfinished run of another job is refused as the job would be.
    bench.verifying("third", 2);
    let refused = run("plan -i source --into 3 --key id --out third").expect(5);
    assert!(
        refused.stderr.contains("run that job again to finish it, or `shardsplit recover --out ./third`"),
        "{refused:?}"
    );
    run("plan -i source --into 2 --key id --out third").expect(0);
}
