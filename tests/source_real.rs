//! Indexes that other people's programs wrote: what tantivy 0.20 to 0.27 wrote opens, older and incomplete ones do not.
//!
//! They are not part of this project; without them these tests say that they were skipped.

use std::path::PathBuf;

use shardsplit::Error;
use shardsplit::error::ErrorKind;
use shardsplit::inspect::inspect;
use shardsplit::progress::{Cancel, Silent, Stage};
use shardsplit::source::{LockMode, Source};

fn real_index(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/indexes").join(name);
    if !path.is_dir() {
        eprintln!("SKIPPED: {} is not there", path.display());
        return None;
    }
    Some(path)
}

fn refusal(name: &str) -> Option<Error> {
    let error = Source::open(real_index(name)?, LockMode::None).expect_err(name);
    assert_eq!(error.kind(), ErrorKind::Source, "{error:?}");
    Some(error)
}

#[test]
fn readable_indexes_open_with_their_documents_and_sound_checksums() {
    for (name, segments, live, deleted, version, columns) in [
        ("v7-web-pages", 4, 497, 0, "tantivy 0.25.0 (index format 7)", 2),
        ("v7-live-deletes", 5, 9, 3, "tantivy 0.25.0 (index format 7)", 2),
        ("v6-bible-31k", 3, 31_101, 0, "tantivy 0.22.0 (index format 6)", 1),
        ("v5-bytes-columns", 5, 99, 0, "tantivy 0.21.1 (index format 5)", 1),
        ("v6-stored-date", 1, 1, 0, "tantivy 0.23.0 (index format 6)", 2),
        ("v7-stored-date", 1, 1, 0, "tantivy 0.23.0 (index format 7)", 2),
    ] {
        let Some(path) = real_index(name) else { continue };
        let source = Source::open(path, LockMode::None).unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = (source.segments().len(), source.num_docs(), source.num_deleted());
        assert_eq!(found, (segments, live, deleted), "{name}");
        for segment in source.segments() {
            assert_eq!(segment.written_by().to_string(), version, "{name}");
            let body = segment.body(shardsplit::source::Component::FastFields);
            assert_eq!(u32::from_le_bytes(*body[body.len() - 8..].first_chunk().unwrap()), columns, "{name}");
        }
        let problems = source.check_checksums(2, Stage::Open, &Silent, &Cancel::new()).unwrap();
        assert_eq!(problems, vec![], "{name}");
        let inspection = inspect(&source).unwrap();
        assert_eq!(inspection.totals.live, live, "{name}");
    }
}

#[test]
fn an_index_that_lacks_files_is_refused_with_their_names() {
    let Some(error) = refusal("v6-missing-files") else { return };
    match &error {
        Error::MissingFiles { files, .. } => {
            let extensions: Vec<_> = files.iter().filter_map(|file| file.split_once('.')).map(|(_, e)| e).collect();
            assert_eq!(extensions, ["pos", "store"], "{error}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_index_of_format_4_is_refused_with_the_version_that_wrote_it() {
    let Some(error) = refusal("v4-unreadable") else { return };
    assert!(matches!(&error, Error::Unsupported { what: "the index format", .. }), "{error:?}");
    assert!(error.to_string().contains("tantivy 0.16.1"), "{error}");
}

#[test]
fn an_index_from_before_footers_is_refused_as_old_and_not_as_damaged() {
    let Some(error) = refusal("v0-no-footer") else { return };
    assert!(matches!(&error, Error::Unsupported { what: "the file format", .. }), "{error:?}");
    assert!(error.to_string().contains("0.10"), "{error}");
}
