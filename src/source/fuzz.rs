//! Entrances for fuzzing: see [`crate::fuzz`].

use std::path::Path;

use super::bytes::Bytes;
use super::claims::{block_size, check_dictionary, check_names};
use super::meta::Meta;
use super::preflight::{StoreCodec, fuzz as preflight};
use super::sidecar::Header;
use super::store::{self, BlockReader, Documents};
use super::stored::{check_document, holds_json_text, visit_dates, visit_values};

pub use super::preflight::fuzz::{columns, deletes, dictionary, fields, footer};

/// `meta.json`, its settings and its schema.
pub fn meta(bytes: &[u8]) {
    if let Ok(meta) = Meta::parse(Path::new("index"), bytes.to_vec()) {
        preflight::settings(&meta);
    }
}

/// The body of a doc store: `u16 LE documents of the segment ‖ body`.
pub fn store(bytes: &[u8]) {
    let Some((docs, body)) = bytes.split_first_chunk::<2>() else { return };
    let max_doc = u32::from(u16::from_le_bytes(*docs));
    let Some((info, blocks_len)) = preflight::store(body, max_doc) else { return };
    // What pre-flight lets through the readers must be able to walk.
    let blocks = store::parse(body, max_doc);
    assert!(blocks.is_ok() || max_doc == 0, "{blocks:?} of a store that was let through");
    let mut reader = BlockReader::default();
    for addr in blocks.unwrap_or_default() {
        assert!(addr.bytes.end <= blocks_len, "{addr:?} reaches beyond the blocks");
        let compressed = body.get(addr.bytes.clone()).unwrap_or_default();
        let Ok(block) = reader.decompress(info.codec, compressed) else { continue };
        let Ok(read) = Documents::open(block, addr.docs.len()) else { continue };
        for index in 0..addr.docs.len() {
            if let Some(document) = read.get(index) {
                documents(document);
            }
        }
    }
}

/// A stored document.
pub fn documents(document: &[u8]) {
    let mut dates = Vec::new();
    if visit_dates(document, &mut |at| dates.push(at)).is_ok() {
        assert!(dates.iter().all(|at| at + 8 <= document.len()), "a date reaches beyond its document");
    }
    let _ = holds_json_text(document);
    for field in [0, 1, u32::MAX] {
        let _ = visit_values(document, field, &mut |_| {});
    }
    let _ = check_document(document);
}

/// Sorted string tables and compressed blocks: `u8 which ‖ bytes`.
pub fn tables(bytes: &[u8]) {
    let Some((which, rest)) = bytes.split_first() else { return };
    match which % 4 {
        0 => drop(check_names(rest, 1 << 20)),
        1 => drop(check_dictionary(rest)),
        2 => drop(block_size(StoreCodec::Lz4, rest)),
        _ => drop(block_size(StoreCodec::Zstd, rest)),
    }
    // Both kinds of numbers.
    let (mut long, mut short) = (Bytes::new(rest), Bytes::new(rest));
    if let Some(value) = short.vint32() {
        assert_eq!((long.vint(), long.len()), (Some(u64::from(value)), short.len()), "one number read in two ways");
    }
}

/// A hash sidecar.
pub fn sidecar(bytes: &[u8]) {
    // With the checksum made right, so that what stands behind it is reached.
    let mut sealed = bytes.to_vec();
    if let Some((body, trailer)) = sealed.split_last_chunk_mut::<4>() {
        *trailer = crc32fast::hash(body).to_le_bytes();
    }
    for bytes in [bytes, &sealed] {
        let Ok((header, start)) = Header::parse(bytes) else { continue };
        assert!(start + 4 * header.max_doc as usize <= bytes.len(), "hashes reach beyond the file");
        let again = header.encode().map(|bytes| bytes.len());
        assert_eq!(again.ok(), Some(start), "a header that was read has another length written");
    }
}
