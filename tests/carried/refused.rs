//! Names in `meta.json` that are none: nothing outside the index is opened, and the refusal is one line.

use std::process::Command;

use crate::small_index::SmallIndex;
use serde_json::{Value, json};
use shardsplit::Error;
use shardsplit::error::ErrorKind;
use shardsplit::job::Job;
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};

const TRICKS: [&str; 11] = [
    "../../etc/passwd",
    "/etc/passwd",
    "..",
    ".",
    "",
    "a/b",
    "a\\b",
    "with\u{0}nul",
    "two\nlines",
    "\u{1b}[2Jclear",
    "0123456789abcdef0123456789abcde/",
];

#[test]
fn segment_ids_that_are_no_ids_are_refused_before_any_file_is_opened() {
    for trick in TRICKS {
        let index = SmallIndex::new();
        index.edit_meta(|meta| meta["segments"][0]["segment_id"] = json!(trick));
        let error = index.refusal();
        assert!(matches!(&error, Error::NotAnIndex { path, .. } if path == index.dir()), "{trick:?}: {error:?}");
        assert_one_line(&error);
    }
}

#[test]
fn custom_extensions_are_refused_whatever_they_are_called() {
    for trick in TRICKS.into_iter().chain(["vec"]) {
        let index = SmallIndex::new();
        index.edit_meta(|meta| meta["persisted_custom_extensions"] = json!(["geo", trick]));
        let error = index.refusal();
        let meta = index.dir().join("meta.json");
        assert!(matches!(&error, Error::Unsupported { path, .. } if *path == meta), "{trick:?}: {error:?}");
        assert!(error.to_string().contains("geo") && error.to_string().contains("re-index"), "{error}");
        assert_one_line(&error);
    }
}

#[test]
fn opstamps_and_counts_that_are_no_numbers_are_refused() {
    type Edit = fn(&mut Value);
    let edits: [Edit; 6] = [
        |meta| meta["opstamp"] = json!("../7"),
        |meta| meta["opstamp"] = json!(-1),
        |meta| meta["segments"][0]["max_doc"] = json!(1u64 << 32),
        |meta| meta["segments"][0]["max_doc"] = json!(0.5),
        |meta| meta["segments"][0]["deletes"] = json!({"num_deleted_docs": 1, "opstamp": "../../7"}),
        |meta| meta["segments"] = json!({"0": "x"}),
    ];
    for edit in edits {
        let index = SmallIndex::new();
        index.edit_meta(edit);
        let error = index.refusal();
        assert!(matches!(&error, Error::NotAnIndex { .. }), "{error:?}");
        assert_one_line(&error);
    }
}

#[test]
fn nothing_is_left_at_the_target_of_a_job_that_was_refused() {
    let index = SmallIndex::new();
    index.edit_meta(|meta| meta["segments"][0]["segment_id"] = json!("../../etc/passwd"));
    let target = tempfile::tempdir().unwrap();
    for method in [Method::Rewrite, Method::Link] {
        let job = Job { method, ..Job::new(index.dir(), target.path().join("out"), 2, "id") };
        let error = job.run(&Silent, &Cancel::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Source, "{error:?}");
        assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0);
    }
}

#[test]
fn names_that_would_drive_the_terminal_are_escaped() {
    for trick in TRICKS {
        let index = SmallIndex::new();
        index.edit_meta(|meta| meta["persisted_custom_extensions"] = json!([trick]));
        let program = env!("CARGO_BIN_EXE_shardsplit");
        let output = Command::new(program).arg("inspect").arg("-i").arg(index.dir()).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{text}");
        assert!(text.starts_with("error: ") && !text.trim_end().contains(char::is_control), "{text:?}");
    }
}

/// Refused as the source's fault, in one line.
#[track_caller]
fn assert_one_line(error: &Error) {
    let line = error.one_line();
    assert!(!line.contains(['\n', '\r']), "{line:?}");
    assert_eq!(error.kind(), ErrorKind::Source);
}
