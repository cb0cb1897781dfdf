//! Entrances for fuzzing: see [`crate::fuzz`].

#![expect(clippy::expect_used, reason = "a target tells what it found by failing")]

use std::path::{Path, PathBuf};

use tantivy::directory::{FileSlice, OwnedBytes};
use tantivy::schema::{Schema, TEXT};
use tantivy::termdict::TermDictionary;

use super::footer::{FOOTER_MAGIC, FileFooter, WrittenBy};
use super::store::StoreInfo;
use super::{CheckedFile, Parts, footer as footers, planes, settings as rules, store as stores, terms};
use crate::error::Error;
use crate::source::Component;
use crate::source::dictionary::TermReader;
use crate::source::file_id::FileId;
use crate::source::guard::guard;
use crate::source::meta::Meta;

/// Terms that are walked at most.
const MOST_TERMS: u64 = 1 << 16;

fn schema() -> Schema {
    let mut builder = Schema::builder();
    for name in ["a", "b", "c"] {
        builder.add_text_field(name, TEXT);
    }
    builder.build()
}

fn file(component: Component, body: Vec<u8>) -> CheckedFile {
    let written_by = WrittenBy { major: 0, minor: 27, patch: 0, index_format: 7 };
    let footer = FileFooter { written_by, crc32: 0, body_len: body.len() };
    let path = PathBuf::from("index").join(component.file_name("segment"));
    let id = FileId::Path(path.clone());
    CheckedFile { component: Some(component), path, len: body.len(), body: OwnedBytes::new(body), footer, crc32: 0, id }
}

/// The end of a file.
pub fn footer(bytes: &[u8]) {
    if let Ok(footer) = footers::parse(bytes) {
        assert!(footer.body_len + 8 <= bytes.len(), "a footer that is not there");
        assert!(bytes.ends_with(&FOOTER_MAGIC.to_le_bytes()));
    }
}

/// The table at the end of `.term`, `.idx`, `.pos` and `.fieldnorm`.
pub fn fields(bytes: &[u8]) {
    let Ok(parts) = Parts::read(Path::new("a.idx"), bytes, &schema()) else { return };
    for field in parts.fields() {
        let part = parts.get(field, bytes).expect("a part that the table names is in the file");
        assert_eq!(part.len(), parts.len(field));
    }
}

/// A `.fieldnorm` apart, `.del` is the simplest file: `u16 LE documents ‖ u16 LE deleted ones ‖ body`.
pub fn deletes(bytes: &[u8]) {
    let Some(([a, b, c, d], body)) = bytes.split_first_chunk::<4>() else { return };
    let (max_doc, deleted) = (u16::from_le_bytes([*a, *b]), u16::from_le_bytes([*c, *d]));
    let body = OwnedBytes::new(body.to_vec());
    let _ = planes::check_deletes(Path::new("a.1.del"), &body, u32::from(max_doc), u32::from(deleted));
}

/// The body of a `.fast` file: `u16 LE documents ‖ body`.
pub fn columns(bytes: &[u8]) {
    let Some((docs, body)) = bytes.split_first_chunk::<2>() else { return };
    let file = file(Component::FastFields, body.to_vec());
    let _ = planes::check_columns(&file, u32::from(u16::from_le_bytes(*docs)), None);
}

/// A term dictionary: `u16 LE bytes of postings ‖ u16 LE bytes of positions ‖ dictionary`. What pre-flight lets through
/// is walked; where the walk ends well tantivy's own stream must give the same terms.
pub fn dictionary(bytes: &[u8]) {
    let Some(([a, b, c, d], dictionary)) = bytes.split_first_chunk::<4>() else { return };
    let schema = schema();
    let plane = |component, part: Vec<u8>| {
        let mut body = part;
        body.extend_from_slice(&[0x81, 0x80, 0, 0, 0, 0, 0x80]);
        body.extend_from_slice(&7u32.to_le_bytes());
        let file = file(component, body);
        let parts = Parts::read(&file.path, &file.body, &schema).expect("one part");
        (file, parts)
    };
    let lens = [u16::from_le_bytes([*a, *b]), u16::from_le_bytes([*c, *d])].map(usize::from);
    let [postings, positions] = lens;
    let terms = plane(Component::Terms, dictionary.to_vec());
    let postings = plane(Component::Postings, vec![0; 8 + postings]);
    let positions = plane(Component::Positions, vec![0; positions]);
    let passed = terms::check((&terms.0, &terms.1), (&postings.0, &postings.1), (&positions.0, &positions.1)).is_ok();
    let Ok(mut reader) = TermReader::open(dictionary, None) else { return };
    let mut found = Vec::new();
    let whole = loop {
        match reader.advance() {
            Ok(true) if reader.ordinal() >= MOST_TERMS => break false,
            Ok(true) => {
                assert_eq!(reader.ordinal(), found.len() as u64);
                found.push((reader.key().to_vec(), reader.info().clone()));
                assert!(found.iter().rev().nth(1).is_none_or(|(before, _)| before.as_slice() < reader.key()));
            }
            Ok(false) => break true,
            Err(_) => break false,
        }
    };
    for (at, (term, _)) in found.iter().enumerate().step_by(1 + found.len() / 8) {
        // A walk from the middle on may meet damage that the first one passed, never another term.
        let Ok(mut from) = TermReader::open(dictionary, Some(term)) else { continue };
        if from.advance() == Ok(true) {
            assert_eq!((from.key(), from.ordinal()), (term.as_slice(), at as u64), "sought and walked to");
        }
    }
    if !(passed && whole) {
        return;
    }
    let streamed = guard("a.term", "the terms", || {
        let dictionary = FileSlice::from(dictionary.to_vec());
        let dictionary = TermDictionary::open(dictionary).map_err(Error::io("open", "a.term"))?;
        let mut stream = dictionary.stream().map_err(Error::io("stream", "a.term"))?;
        let mut terms = Vec::new();
        while let Some((term, info)) = stream.next() {
            terms.push((term.to_vec(), info.clone()));
        }
        Ok(terms)
    });
    if let Ok(streamed) = streamed {
        assert!(streamed == found, "tantivy streams {} terms, other than our {}", streamed.len(), found.len());
    }
}

pub(in crate::source) fn settings(meta: &Meta) {
    let path = Path::new("index/meta.json");
    if rules::check(path, meta).is_err() {
        return;
    }
    if let Ok(schema) = rules::parse_schema(path, meta, None) {
        let _ = rules::check_sort(path, meta, &schema);
    }
}

pub(in crate::source) fn store(body: &[u8], max_doc: u32) -> Option<(StoreInfo, usize)> {
    stores::check(Path::new("a.store"), body, max_doc).ok()
}
