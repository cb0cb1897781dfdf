//! Bugs that were found once, each as a test of its whole kind.

use crate::linked;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::check::assert_split;
use crate::common::content::Content;
use crate::common::files::copy_dir;
use crate::common::fixture::Fixture;
use crate::common::routing::Routing;
use shardsplit::job::Job;
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::publish::{RealFs, RecoverAction, recover};
use shardsplit::source::{LockMode, Source};
use shardsplit::verify::{Grade, VerifyJob, VerifyLevel, verify};
use shardsplit::{Error, ErrorKind};
use tantivy::schema::{STORED, STRING, Schema, TextOptions};
use tantivy::{Index, IndexWriter, doc};

fn build(dir: &Path) -> PathBuf {
    let source = dir.join("source");
    Fixture::everything(2, 120).delete_every(9).build(&source);
    source
}

fn segment_files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.file_stem().is_some_and(|stem| stem.len() >= 32));
    files.sort();
    files
}

#[test]
fn bytes_that_rotted_under_their_checksum_never_get_a_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let source = build(dir.path());
    for (number, file) in segment_files(&source).into_iter().enumerate() {
        let bytes = fs::read(&file).unwrap();
        // The middle of the body: pre-flight has no reason to look at it.
        let at = bytes.len() / 3;
        let mut rotten = bytes.clone();
        rotten[at] ^= 0x10;
        fs::remove_file(&file).unwrap();
        fs::write(&file, rotten).unwrap();
        for method in [Method::Rewrite, Method::Link] {
            let out = dir.path().join(format!("out-{number}-{method:?}"));
            let mut job = Job::new(&source, &out, 3, "id");
            job.method = method;
            let error = job.run(&Silent, &Cancel::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Source, "{}, {method:?}: {error}", file.display());
            assert!(!out.exists(), "{}, {method:?}", file.display());
        }
        let mut job = Job::new(&source, dir.path().join("unverified"), 3, "id");
        job.verify = VerifyLevel::None;
        assert!(job.run(&Silent, &Cancel::new()).is_err(), "{}: a rewrite always looks", file.display());
        fs::write(&file, bytes).unwrap();
    }
    Job::new(&source, dir.path().join("whole"), 3, "id").run(&Silent, &Cancel::new()).unwrap();
}

#[test]
fn verify_does_not_call_children_clean_that_repeat_a_damaged_source() {
    let dir = tempfile::tempdir().unwrap();
    let source = build(dir.path());
    let out = dir.path().join("out");
    let report = Job::new(&source, &out, 2, "id").run(&Silent, &Cancel::new()).unwrap();
    let norms = segment_files(&source).into_iter().find(|path| path.extension().unwrap() == "fieldnorm").unwrap();
    let mut bytes = fs::read(&norms).unwrap();
    bytes[3] ^= 1;
    fs::remove_file(&norms).unwrap();
    fs::write(&norms, bytes).unwrap();
    let open = Source::open(&source, LockMode::None).unwrap();
    let children = report.children.iter().map(|child| (child.shard, child.path.clone())).collect();
    let report = verify(&VerifyJob::new(&open, children), &Silent, &Cancel::new()).unwrap();
    let named =
        report.findings.iter().any(|finding| finding.grade == Grade::Error && finding.file == Some(norms.clone()));
    assert!(named, "{:?}", report.findings);
}

#[test]
fn a_child_whose_list_of_files_tantivy_cannot_read_is_not_clean() {
    let dir = tempfile::tempdir().unwrap();
    let source = build(dir.path());
    let out = dir.path().join("out");
    Job::new(&source, &out, 2, "id").run(&Silent, &Cancel::new()).unwrap();
    for junk in ["[", "", "{}", "7", "[1]", "\u{0}"] {
        fs::write(out.join("0/.managed.json"), junk).unwrap();
        assert!(tantivy::Index::open_in_dir(out.join("0")).is_err(), "{junk:?}");
        let open = Source::open(&source, LockMode::None).unwrap();
        let mut job = VerifyJob::new(&open, (0..2).map(|shard| (shard, out.join(shard.to_string()))).collect());
        job.known_file = shardsplit::publish::is_manifest;
        assert!(!verify(&job, &Silent, &Cancel::new()).unwrap().is_clean(), "{junk:?}");
    }
}

#[test]
fn recover_keeps_a_complete_set_when_something_else_stands_at_the_target() {
    let dir = tempfile::tempdir().unwrap();
    let source_dir = dir.path().join("source");
    linked::build_index(&source_dir, &[40, 30], &[]);
    let source = linked::open(&source_dir);
    let assignment = linked::assign(&source, 2, |number| usize::from(number % 2 == 0));
    let out = dir.path().join("out");
    let (staging, ..) = linked::stage(Arc::new(RealFs), &source, &assignment, &out).unwrap();
    // As a kill leaves it: everything stands, nobody holds the lock.
    let kept = dir.path().join("kept");
    copy_dir(staging.layout().staging(), &kept);
    drop(staging);
    let hidden = dir.path().join(".out.shardsplit");
    fs::rename(&kept, &hidden).unwrap();

    fs::create_dir(&out).unwrap();
    fs::write(out.join("mine"), "precious").unwrap();
    let before = linked::tree(&hidden);
    assert!(matches!(recover(&RealFs, &out), Err(Error::TargetExists { .. })));
    assert_eq!(linked::tree(&hidden), before, "the complete set is still there");
    assert_eq!(fs::read_to_string(out.join("mine")).unwrap(), "precious");

    fs::remove_dir_all(&out).unwrap();
    assert_eq!(recover(&RealFs, &out).unwrap().action, RecoverAction::Published);
    assert!(out.join("11/meta.json").is_file());
}

#[test]
fn several_readers_of_one_source_do_not_exclude_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let source = build(dir.path());
    let first = Source::open(&source, LockMode::Writer).unwrap();
    let second = Source::open(&source, LockMode::Writer).unwrap();
    let index = tantivy::Index::open_in_dir(&source).unwrap();
    assert!(index.writer::<tantivy::TantivyDocument>(15_000_000).is_err(), "but a writer is kept out");
    drop((first, second));
    index.writer::<tantivy::TantivyDocument>(15_000_000).unwrap();
}

#[test]
fn a_number_of_threads_that_no_machine_has_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    let source = build(dir.path());
    let mut job = Job::new(&source, dir.path().join("out"), 2, "id");
    job.threads = 1_000_000;
    job.run(&Silent, &Cancel::new()).unwrap();
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let source = build(dir.path());
    for file in segment_files(&source).into_iter().filter(|path| path.extension().unwrap() != "del") {
        let bytes = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        let error = Source::open(&source, LockMode::None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Source, "{error}");
        fs::remove_dir(&file).unwrap();
        let status = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
        assert!(status.success());
        let error = Source::open(&source, LockMode::None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Source, "{error}");
        fs::remove_file(&file).unwrap();
        fs::write(&file, bytes).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_is_written_into_a_source_whatever_its_name_is() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let dir = tempfile::tempdir().unwrap();
    let built = build(dir.path());
    for name in [OsStr::from_bytes(b"s\xff"), OsStr::new("s p a c e"), OsStr::new("\u{1f980}")] {
        let source = dir.path().join(name);
        copy_dir(&built, &source);
        let error = Job::new(&source, source.join("in"), 2, "id").run(&Silent, &Cancel::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert!(!source.join("in").exists());
    }
}

/// An index whose `id` has these options, with ids around and beyond the 65,535 bytes that a column keeps of a text, and
/// characters of two bytes across that bound.
fn build_long_ids(dir: &Path, options: TextOptions) {
    fs::create_dir(dir).unwrap();
    let mut schema = Schema::builder();
    let id = schema.add_text_field("id", options);
    let index = Index::create_in_dir(dir, schema.build()).unwrap();
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 30_000_000).unwrap();
    for bytes in [3, 65_529, 65_533, 65_535, 65_536, 65_537, 70_000, 140_000] {
        for (start, letter) in [("", "x"), ("", "é"), ("y", "é")] {
            let letters = (bytes - start.len()) / letter.len();
            writer.add_document(doc!(id => format!("{start}{}", letter.repeat(letters)))).unwrap();
        }
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
}

#[test]
fn an_id_longer_than_a_column_keeps_is_routed_by_all_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let column = TextOptions::default().set_fast("raw");
    for (nth, options) in [column.clone() | STORED, column.clone() | STRING | STORED].into_iter().enumerate() {
        let (source, out) = (dir.path().join(format!("source-{nth}")), dir.path().join(format!("out-{nth}")));
        build_long_ids(&source, options);
        Job::new(&source, &out, 7, "id").run(&Silent, &Cancel::new()).unwrap();
        let routing = Routing::by_key("id", 7);
        assert_split(&Content::read(&source, &routing.fields()), &out, &routing);
    }
    // Nothing else has the rest of it.
    build_long_ids(&dir.path().join("cut"), column);
    let error =
        Job::new(dir.path().join("cut"), dir.path().join("out"), 7, "id").run(&Silent, &Cancel::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
    assert!(error.to_string().contains("\"id\" is too long in segment"), "{error}");
}
