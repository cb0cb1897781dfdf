//! Damaged planes give typed errors: nothing panics, nothing is silently routed elsewhere.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use tantivy::schema::{STORED, STRING, TextOptions};

use super::*;

/// The file of an index with this extension.
fn file(fixture: &Fixture, extension: &str) -> PathBuf {
    let mut files = std::fs::read_dir(fixture.dir.path()).unwrap().map(|entry| entry.unwrap().path());
    files.find(|path| path.extension().is_some_and(|other| other == extension)).unwrap()
}

/// `file` with its body changed and its checksum made right, so that only a reader of the content can notice.
fn reseal(file: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let len = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap()) as usize;
    let (body, footer) = file.split_at(file.len() - 8 - len);
    let mut json: serde_json::Value = serde_json::from_slice(&footer[..len]).unwrap();
    assert_eq!(json["crc"], crc32fast::hash(body));
    let mut body = body.to_vec();
    change(&mut body);
    json["crc"] = crc32fast::hash(&body).into();
    let json = json.to_string();
    body.extend_from_slice(json.as_bytes());
    body.extend_from_slice(&u32::try_from(json.len()).unwrap().to_le_bytes());
    body.extend_from_slice(&1337u32.to_le_bytes());
    body
}

fn fixture(options: TextOptions) -> Fixture {
    let mut schema = Schema::builder();
    let id = schema.add_text_field("id", options);
    Fixture::new(schema, &[vec!["a", "b", "c"]], &[], |document, value| document.add_text(id, value))
}

#[test]
fn a_posting_beyond_the_segment_is_a_typed_error() {
    let fixture = fixture(STRING);
    let path = file(&fixture, "idx");
    let damaged = reseal(&std::fs::read(&path).unwrap(), |body| {
        // The first posting of field "id" stands after its 8-byte token count: document 0 as VInt.
        assert_eq!(body[8], 0x80);
        body[8] = 0xff;
    });
    std::fs::write(&path, damaged).unwrap();
    match run(&fixture.open(), &spec("id", None), &into(2)) {
        Err(Error::Corrupt { path: named, problem }) => {
            assert_eq!(named, path);
            assert!(problem.contains("postings of field \"id\" at byte 0"), "{problem}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn whatever_byte_of_a_plane_is_flipped_the_answer_is_a_result() {
    let planes = [
        (TextOptions::default().set_fast("raw"), "fast"),
        (STRING, "term"),
        (STRING, "idx"),
        (TextOptions::default() | STORED, "store"),
    ];
    for (options, extension) in planes {
        let fixture = fixture(options);
        let path = file(&fixture, extension);
        let whole = std::fs::read(&path).unwrap();
        let (mut errors, mut opened) = (0, 0);
        let len = reseal(&whole, |_| {}).len().min(whole.len());
        for position in 0..len {
            for flip in [0x01, 0x80, 0xff] {
                let mut refused = false;
                let damaged = reseal(&whole, |body| match body.get_mut(position) {
                    Some(byte) => *byte ^= flip,
                    None => refused = true,
                });
                if refused {
                    continue;
                }
                std::fs::write(&path, damaged).unwrap();
                // Opening is for the source to guard; here the key readers are.
                let open = || Source::open(fixture.dir.path(), LockMode::Writer);
                let Ok(Ok(source)) = catch_unwind(AssertUnwindSafe(open)) else { continue };
                opened += 1;
                errors += usize::from(run(&source, &spec("id", None), &into(2)).is_err());
            }
        }
        assert!(opened > 50 && errors > 0, "{extension}: {opened} opened, {errors} failed");
    }
}
