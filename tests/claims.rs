//! Sizes that damaged blocks claim, under checksums that fit: refused or found by the name of the file, never believed.
//!
//! Believed, each of these would have the allocator end the process, which no test could report.

use std::path::{Path, PathBuf};

use crate::common::documents::RoutingValues;
use crate::common::fixture::Fixture;
use crate::common::schema::{FieldSpec, Flags, KeyKind, Kind};
use crate::small_index::{seal, split};
use shardsplit::Error;
use shardsplit::error::ErrorKind;
use shardsplit::job::Job;
use shardsplit::plan::Method;
use shardsplit::progress::{Cancel, Silent};
use shardsplit::source::{LockMode, Source};
use shardsplit::verify::{FindingKind, VerifyJob, VerifyLevel, VerifyReport, verify};
use tantivy::store::{Compressor, ZstdCompressor};

const TERABYTE: u64 = 1 << 40;
const METHODS: [Method; 2] = [Method::Rewrite, Method::Link];

fn zstd() -> Compressor {
    Compressor::Zstd(ZstdCompressor::default())
}

/// A source of one segment, its ids in the plane that `key` says, and stored text.
fn fixture(key: KeyKind, compressor: Compressor) -> Fixture {
    let text = Kind::Text { index: None, fast: None, stored: true };
    let columns = Flags { fast: true, ..Flags::default() };
    let fields = vec![
        FieldSpec { name: "text".to_owned(), kind: text },
        FieldSpec { name: "number".to_owned(), kind: Kind::U64(columns) },
    ];
    Fixture { fields, key, compressor, routing: RoutingValues::Never, ..Fixture::everything(1, 4_000) }
}

struct Spoilt {
    dir: tempfile::TempDir,
}

impl Spoilt {
    fn new(key: KeyKind, compressor: Compressor) -> Spoilt {
        let dir = tempfile::tempdir().unwrap();
        fixture(key, compressor).build(&dir.path().join("source"));
        Spoilt { dir }
    }

    fn source(&self) -> PathBuf {
        self.dir.path().join("source")
    }

    fn job(&self, method: Method) -> Job {
        Job { method, ..Job::new(self.source(), self.dir.path().join("out"), 2, "id") }
    }

    /// Asserts that splitting fails because of `file`, which the message names with `words`, and leaves nothing.
    #[track_caller]
    fn assert_refused(&self, method: Method, file: &Path, words: &str) {
        let error = self.job(method).run(&Silent, &Cancel::new()).unwrap_err();
        let text = match &error {
            Error::Difference(report) => findings(report),
            other => other.one_line(),
        };
        assert!(matches!(error.kind(), ErrorKind::Source | ErrorKind::Difference), "{method:?}: {error:?}");
        assert!(text.contains(&name(file)) && text.contains(words), "{method:?}: {text}");
        assert!(!self.dir.path().join("out").exists());
    }
}

/// A folder, an empty one in it for a source, and where its children may go.
fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (source, out) = (dir.path().join("source"), dir.path().join("out"));
    std::fs::create_dir(&source).unwrap();
    (dir, source, out)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

fn findings(report: &VerifyReport) -> String {
    report.findings.iter().map(|finding| format!("{finding} in {:?}\n", finding.file)).collect()
}

/// The file of a segment in `dir`.
fn file(dir: &Path, extension: &str) -> PathBuf {
    let mut paths = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths.find(|path| path.extension().is_some_and(|found| found == extension)).unwrap()
}

/// Changes the body of a file, whose checksum is corrected. The file is made anew: it may be linked.
fn edit(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let (mut body, footer) = split(&std::fs::read(path).unwrap());
    change(&mut body);
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, seal(&body, &footer)).unwrap();
}

/// The first block of the store claims 4 GiB.
fn lie_in_store(body: &mut [u8]) {
    body[..4].copy_from_slice(&u32::MAX.to_le_bytes());
}

/// The first compressed block of a dictionary becomes a frame of one block, as long as before, that claims a terabyte.
fn lie_in_dictionary(body: &mut [u8]) {
    let magic = [0x28, 0xb5, 0x2f, 0xfd];
    let at = body.windows(4).position(|window| window == magic).expect("a compressed block");
    assert_eq!(body[at - 1], 1, "the flag of a compressed block");
    let len = u32::from_le_bytes(body[at - 5..at - 1].try_into().unwrap()) as usize - 1;
    let rest = u32::try_from(len - 16).unwrap();
    body[at + 4] = 0xe0;
    body[at + 5..at + 13].copy_from_slice(&TERABYTE.to_le_bytes());
    body[at + 13..at + 16].copy_from_slice(&(rest << 3 | 1).to_le_bytes()[..3]);
}

/// The only block of the table that finds the columns counts 2^40 of them.
fn lie_about_columns(body: &mut Vec<u8>) {
    let end = body.len() - 20;
    let len = u64::from_le_bytes(body[end..end + 8].try_into().unwrap()) as usize;
    let (columns, table) = body[..end].split_at(end - len);
    let block = u32::from_le_bytes(table[..4].try_into().unwrap());
    assert_eq!(table[4], 0, "a block that is not compressed");
    let count = [0x80, 0x80, 0x80, 0x80, 0x80, 0x20];
    let more = count.len() - 1;
    let index = u64::from_le_bytes(table[len - 20..len - 12].try_into().unwrap()) + more as u64;
    let table = [
        &(block + more as u32).to_le_bytes()[..],
        &[0],
        &count,
        &table[6..len - 20],
        &index.to_le_bytes(),
        &table[len - 12..],
    ]
    .concat();
    let footer = [&(table.len() as u64).to_le_bytes()[..], &body[end + 8..]].concat();
    *body = [columns, &table, &footer].concat();
}

#[test]
fn a_block_of_the_doc_store_that_claims_4_gib_is_refused_wherever_keys_are_read() {
    for compressor in [Compressor::Lz4, zstd()] {
        for key in [KeyKind::Stored, KeyKind::Column] {
            let spoilt = Spoilt::new(key, compressor);
            let store = file(&spoilt.source(), "store");
            edit(&store, |body| lie_in_store(body));
            for method in METHODS {
                spoilt.assert_refused(method, &store, "claims to have 4294967295 uncompressed");
            }
        }
    }
}

#[test]
fn a_damaged_store_of_a_child_is_a_finding() {
    for compressor in [Compressor::Lz4, zstd()] {
        let spoilt = Spoilt::new(KeyKind::Stored, compressor);
        for method in METHODS {
            let out = spoilt.dir.path().join("out");
            spoilt.job(method).run(&Silent, &Cancel::new()).unwrap();
            let store = file(&out.join("1"), "store");
            edit(&store, |body| lie_in_store(body));
            assert_found(&spoilt.source(), &out, FindingKind::Unreadable, &store, "claims to have 4294967295");
            std::fs::remove_dir_all(out).unwrap();
        }
    }
}

#[test]
fn a_sort_columns_dictionary_that_counts_more_words_than_it_has_is_refused() {
    use tantivy::schema::{FAST, STORED, STRING, Schema, TextOptions};
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    std::fs::create_dir(&source).unwrap();
    let mut builder = Schema::builder();
    let id = builder.add_text_field("id", STRING | STORED | FAST);
    let rank = builder.add_text_field("rank", TextOptions::default().set_fast("raw"));
    let sort = tantivy::IndexSortByField { field: "rank".to_owned(), order: tantivy::Order::Asc };
    let settings = tantivy::IndexSettings { sort_by_field: Some(sort), ..Default::default() };
    let index = tantivy::Index::builder().schema(builder.build()).settings(settings).create_in_dir(&source).unwrap();
    let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
    for n in 0..40 {
        let word = ["one", "three", "two"][n % 3];
        writer.add_document(tantivy::doc!(id => n.to_string(), rank => word)).unwrap();
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();

    let columns = file(&source, "fast");
    edit(&columns, |body| {
        let three = [&3u64.to_le_bytes()[..], &3u32.to_le_bytes()].concat();
        let at = body.windows(12).position(|window| window == three).expect("three terms, in a table of version 3");
        body[at..at + 8].copy_from_slice(&(1u64 << 36).to_le_bytes());
    });
    let error = Job::new(&source, dir.path().join("out"), 2, "id").run(&Silent, &Cancel::new()).unwrap_err();
    assert!(matches!(&error, Error::Corrupt { path, .. } if *path == columns), "{error:?}");
    assert!(error.to_string().contains("68719476736 distinct values"), "{error}");
}

/// Asserts that verifying the two children in `out` finds an error of this kind in `file`.
#[track_caller]
fn assert_found(source: &Path, out: &Path, kind: FindingKind, file: &Path, words: &str) {
    let source = Source::open(source, LockMode::None).unwrap();
    let children = (0..2).map(|shard| (shard, out.join(shard.to_string()))).collect();
    let mut job = VerifyJob::new(&source, children);
    job.known_file = shardsplit::publish::is_manifest;
    let report = verify(&job, &Silent, &Cancel::new()).unwrap();
    let text = findings(&report);
    assert!(!report.is_clean());
    let found = report.findings.iter().find(|finding| finding.kind == kind && finding.child == Some(1));
    let found = format!("{}", found.unwrap_or_else(|| panic!("no {kind:?}:\n{text}")));
    assert!(found.contains(words) || text.contains(words), "{text}");
    assert!(text.contains(&name(file)), "{text}");
}

#[test]
fn a_block_of_a_columns_dictionary_that_claims_a_terabyte_is_refused() {
    for key in [KeyKind::Column, KeyKind::Everything] {
        let spoilt = Spoilt::new(key, Compressor::Lz4);
        let columns = file(&spoilt.source(), "fast");
        edit(&columns, |body| lie_in_dictionary(body));
        for method in METHODS {
            spoilt.assert_refused(method, &columns, "claims to have 1099511627776 uncompressed");
        }
    }
}

#[test]
fn a_damaged_dictionary_of_a_child_is_a_finding() {
    let spoilt = Spoilt::new(KeyKind::Column, Compressor::Lz4);
    for method in METHODS {
        let out = spoilt.dir.path().join("out");
        spoilt.job(method).run(&Silent, &Cancel::new()).unwrap();
        let columns = file(&out.join("1"), "fast");
        edit(&columns, |body| lie_in_dictionary(body));
        assert_found(&spoilt.source(), &out, FindingKind::Unreadable, &columns, "claims to have 1099511627776");
        std::fs::remove_dir_all(out).unwrap();
    }
}

#[test]
fn a_table_of_columns_that_counts_without_end_is_refused_and_in_a_child_found() {
    let spoilt = Spoilt::new(KeyKind::Column, Compressor::Lz4);
    let out = spoilt.dir.path().join("out");
    spoilt.job(Method::Rewrite).run(&Silent, &Cancel::new()).unwrap();
    let columns = file(&out.join("1"), "fast");
    edit(&columns, lie_about_columns);
    assert_found(&spoilt.source(), &out, FindingKind::ChildUnreadable, &columns, "its dictionary of columns has");
    std::fs::remove_dir_all(out).unwrap();

    let columns = file(&spoilt.source(), "fast");
    edit(&columns, lie_about_columns);
    for method in METHODS {
        spoilt.assert_refused(method, &columns, "its dictionary of columns has");
    }
    let error = Source::open(spoilt.source(), LockMode::None).unwrap_err();
    assert!(matches!(&error, Error::Corrupt { path, .. } if *path == columns), "{error:?}");
}

#[test]
fn a_dictionary_with_an_index_of_version_2_that_claims_keys_without_end_is_refused() {
    let spoilt = Spoilt::new(KeyKind::Column, Compressor::Lz4);
    let columns = file(&spoilt.source(), "fast");
    edit(&columns, |body| {
        // The first column is the one of strings: its table ends in u64 terms, u32 version.
        let terms = [&4_000u64.to_le_bytes()[..], &3u32.to_le_bytes()].concat();
        let at = body.windows(12).position(|window| window == terms).expect("the end of a table");
        body[at + 8] = 2;
        // What was an index of version 3 begins with a block that is read as one of keys now: one that shares 2^40
        // bytes with the one before.
        let index = u64::from_le_bytes(body[at - 8..at].try_into().unwrap()) as usize;
        let block = [20, 0, 0, 0, 0, 1, 0, 9, 0, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 1, b'a', 0, 0, 0, 0, 0, 0];
        body[index..index + block.len()].copy_from_slice(&block);
    });
    for method in METHODS {
        spoilt.assert_refused(method, &columns, "longer than its bytes");
    }
}

#[test]
fn a_stored_text_that_claims_a_terabyte_is_found_where_documents_are_decoded() {
    // Stores of version 1 are: dates have another unit there.
    let spoilt = Spoilt::new(KeyKind::Column, Compressor::None);
    let store = file(&spoilt.source(), "store");
    let as_version_1 = |body: &mut Vec<u8>| {
        let at = body.len() - 28;
        body[at] = 1;
    };
    edit(&store, as_version_1);
    let out = spoilt.dir.path().join("out");
    spoilt.job(Method::Link).run(&Silent, &Cancel::new()).unwrap();
    std::fs::remove_dir_all(&out).unwrap();

    edit(&store, |body| {
        // serial is there always and takes 13 bytes; the documents that have a text too have it next: field, type,
        // length.
        let text = [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0];
        let at = body.windows(13).position(|window| window == text).expect("a text behind a serial") + 13;
        body[at..at + 6].copy_from_slice(&[0, 0, 0, 0, 0, 0xa0]);
    });
    let job = Job { verify: VerifyLevel::None, ..spoilt.job(Method::Link) };
    job.run(&Silent, &Cancel::new()).unwrap();
    let linked = file(&out.join("1"), "store");
    assert_found_in_source(&spoilt.source(), &out, &store, "it ends within a value");
    assert_eq!(std::fs::read(linked).unwrap(), std::fs::read(&store).unwrap());
    for method in METHODS {
        std::fs::remove_dir_all(&out).unwrap_or_default();
        spoilt.assert_refused(method, &store, "it ends within a value");
    }
}

#[test]
fn a_document_of_version_1_within_the_one_before_is_refused() {
    use tantivy::schema::{FAST, STORED, STRING, Schema};
    let (_dir, source, out) = folders();
    let mut builder = Schema::builder();
    let id = builder.add_text_field("id", STRING | STORED | FAST);
    let settings = tantivy::IndexSettings { docstore_compression: Compressor::None, ..Default::default() };
    let index = tantivy::Index::builder().schema(builder.build()).settings(settings).create_in_dir(&source).unwrap();
    let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
    for n in 0..10 {
        writer.add_document(tantivy::doc!(id => n.to_string())).unwrap();
    }
    writer.commit().unwrap();
    // Where the fourth would begin behind its end, it is not looked at.
    writer.delete_term(tantivy::Term::from_field_text(id, "4"));
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();

    let store = file(&source, "store");
    edit(&store, |body| {
        let footer = body.len() - 28;
        body[footer] = 1;
        // The only block: documents, where they start, and how many they are.
        let end = u64::from_le_bytes(body[footer + 4..footer + 12].try_into().unwrap()) as usize;
        assert_eq!(body[end - 4..end], 10u32.to_le_bytes());
        let starts = end - 4 - 10 * 4;
        body.copy_within(starts + 3 * 4..starts + 4 * 4, starts + 5 * 4);
    });
    let error = Job::new(&source, &out, 2, "id").run(&Silent, &Cancel::new()).unwrap_err();
    assert!(matches!(&error, Error::Corrupt { path, .. } if *path == store), "{error:?}");
    assert!(error.one_line().contains("document 5 lies within the one before"), "{error:?}");
    assert!(!out.exists());
}

#[track_caller]
fn assert_found_in_source(source: &Path, out: &Path, file: &Path, words: &str) {
    let source = Source::open(source, LockMode::None).unwrap();
    let job = VerifyJob::new(&source, (0..2).map(|shard| (shard, out.join(shard.to_string()))).collect());
    let report = verify(&job, &Silent, &Cancel::new()).unwrap();
    let text = findings(&report);
    assert!(!report.is_clean() && text.contains(words) && text.contains(&name(file)), "{text}");
}

#[test]
fn a_frequency_that_claims_positions_without_end_is_found() {
    use tantivy::schema::{FAST, STORED, STRING, Schema, TEXT};
    let (_dir, source, out) = folders();
    let mut builder = Schema::builder();
    let id = builder.add_text_field("id", STRING | STORED | FAST);
    let body = builder.add_text_field("body", TEXT);
    let index = tantivy::Index::create_in_dir(&source, builder.build()).unwrap();
    let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
    for n in 0..40 {
        writer.add_document(tantivy::doc!(id => n.to_string(), body => "lamp ".repeat(200))).unwrap();
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    let report = Job::new(&source, &out, 2, "id").run(&Silent, &Cancel::new()).unwrap();
    assert!(report.children.iter().all(|child| child.docs > 6));

    // A frequency of 200 takes two bytes. The first becomes 2^32 - 1 in five, the next three take one each, and two keep
    // their two bytes.
    let postings = file(&out.join("1"), "idx");
    edit(&postings, |body| {
        let six = [0x48, 0x81].repeat(6);
        let at = body.windows(12).position(|window| window == six).unwrap();
        body[at..at + 8].copy_from_slice(&[0x7f, 0x7f, 0x7f, 0x7f, 0x8f, 0x85, 0x85, 0x85]);
    });
    assert_found(&source, &out, FindingKind::Structure, &postings, "position");
}

#[test]
fn columns_that_are_not_found_by_their_name_are_found_by_verification() {
    use tantivy::columnar::ColumnarReader;
    use tantivy::schema::{FAST, JsonObjectOptions, STORED, STRING, Schema};
    let (_dir, source, out) = folders();
    let mut builder = Schema::builder();
    builder.add_text_field("id", STRING | STORED | FAST);
    builder.add_json_field("json", JsonObjectOptions::default().set_fast("raw"));
    let schema = builder.build();
    let index = tantivy::Index::create_in_dir(&source, schema.clone()).unwrap();
    let mut writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
    // So many paths that the table of columns has an index.
    let object: serde_json::Map<String, serde_json::Value> =
        (0..900u64).map(|n| (format!("path {:x}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15)), n.into())).collect();
    for n in 0..10 {
        let document = serde_json::json!({"id": n.to_string(), "json": object}).to_string();
        writer.add_document(tantivy::TantivyDocument::parse_json(&schema, &document).unwrap()).unwrap();
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    Job::new(&source, &out, 1, "id").run(&Silent, &Cancel::new()).unwrap();

    let columns = file(&out.join("0"), "fast");
    let sound = std::fs::read(&columns).unwrap();
    let (body, footer) = split(&sound);
    // The index stands between the blocks of the table and its footer.
    let end = body.len() - 20;
    let table = end - u64::from_le_bytes(body[end..end + 8].try_into().unwrap()) as usize;
    let start = table + u64::from_le_bytes(body[end - 20..end - 12].try_into().unwrap()) as usize;
    assert!(end - 20 - start > 60, "the table has an index");
    let opened = Source::open(&source, LockMode::None).unwrap();
    let mut lost = 0;
    for at in (start..end - 20).step_by(3) {
        let mut damaged = body.clone();
        damaged[at] ^= 0x11;
        // Whether some column is not found by its name, as tantivy sees it.
        let bytes = damaged.clone();
        let unfound = std::panic::catch_unwind(|| {
            let reader = ColumnarReader::open(bytes).unwrap();
            reader.iter_columns().unwrap().any(|(name, _)| reader.read_columns(&name).unwrap().len() != 1)
        });
        if unfound.unwrap_or(true) {
            lost += 1;
            std::fs::write(&columns, seal(&damaged, &footer)).unwrap();
            let mut job = VerifyJob::new(&opened, vec![(0, out.join("0"))]);
            job.level = VerifyLevel::Counts;
            job.known_file = shardsplit::publish::is_manifest;
            let report = verify(&job, &Silent, &Cancel::new()).unwrap();
            assert!(!report.is_clean(), "byte {at}");
            assert!(findings(&report).contains(&name(&columns)[..32]), "{}", findings(&report));
        }
    }
    assert!(lost > 5, "{lost}");
}
