//! `.store`: version and codec from its footer, and a walk over its skip index.
//!
//! The body is `blocks ‖ skip index ‖ footer`. The footer has 28 bytes: `u32 LE version ‖ u64 LE offset of the skip
//! index ‖ u8 codec ‖ 15 × 0`. The skip index is `VInt layers ‖ layers × VInt end ‖ layers`; the last layer names the
//! blocks of documents, every other one the blocks of the layer after it. A layer is made of groups of checkpoints:
//! `VInt n ‖ VInt first document ‖ VInt first byte ‖ n × (VInt documents, VInt bytes)`. Facts from tantivy 0.27,
//! `src/store/`.
//!
//! Cost: the skip index, about a thousandth of the file; no block is read.

use std::path::Path;

use super::bytes::{Bytes, tail};
use crate::error::{Error, Result};

const FOOTER: usize = 28;

/// How the blocks of a doc store are compressed; from the store's own footer, not from the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreCodec {
    /// Stored as they are (id 0).
    None,
    /// u32 LE length, then an LZ4 block (id 1).
    Lz4,
    /// u32 LE length, then a zstd frame (id 4).
    Zstd,
}

/// What the 28-byte footer of a `.store` body says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct StoreInfo {
    /// 1: stored dates are microseconds; 2: nanoseconds.
    pub version: u32,
    /// How blocks are compressed.
    pub codec: StoreCodec,
}

/// Checks the store at `path`, whose file without footer is `body`, of a segment of `max_doc` documents.
pub(super) fn check(path: &Path, body: &[u8], max_doc: u32) -> Result<StoreInfo> {
    let short = || Error::corrupt(path, format!("it has {} bytes, a store's footer alone has {FOOTER}", body.len()));
    let mut footer = Bytes::new(tail(body, FOOTER).ok_or_else(short)?);
    let (Some(version), Some(offset), Some(codec)) = (footer.u32(), footer.u64(), footer.u8()) else {
        return Err(short());
    };
    let info = StoreInfo { version: check_version(path, version)?, codec: check_codec(path, codec)? };
    let end = body.len() - FOOTER;
    let start = usize::try_from(offset).ok().filter(|start| *start <= end);
    let Some((blocks, index)) = start.and_then(|start| Some((start, body.get(start..end)?))) else {
        return Err(Error::corrupt(path, format!("its skip index is said to begin at byte {offset}, beyond {end}")));
    };
    check_skip_index(index, blocks as u64, max_doc)
        .map_err(|problem| Error::corrupt(path, format!("its skip index at byte {offset} {problem}")))?;
    Ok(info)
}

fn check_version(path: &Path, version: u32) -> Result<u32> {
    if (1..=2).contains(&version) {
        return Ok(version);
    }
    Err(Error::Unsupported {
        path: path.to_path_buf(),
        what: "the version of the doc store",
        found: version.to_string(),
        expected: "1 or 2".to_owned(),
        hint: "another tantivy wrote it, or the file is damaged".to_owned(),
    })
}

fn check_codec(path: &Path, codec: u8) -> Result<StoreCodec> {
    let found = match codec {
        0 => return Ok(StoreCodec::None),
        1 => return Ok(StoreCodec::Lz4),
        4 => return Ok(StoreCodec::Zstd),
        2 => "2 (brotli)".to_owned(),
        3 => "3 (snappy)".to_owned(),
        other => other.to_string(),
    };
    Err(Error::Unsupported {
        path: path.to_path_buf(),
        what: "the codec of the doc store",
        found,
        expected: "0 (none), 1 (lz4) or 4 (zstd)".to_owned(),
        hint: "re-index with one of these codecs".to_owned(),
    })
}

/// A run of documents and the bytes it takes.
struct Checkpoint {
    docs: u64,
    start: u64,
    bytes: u64,
}

fn check_skip_index(index: &[u8], blocks_len: u64, max_doc: u32) -> Result<(), String> {
    let mut index = Bytes::new(index);
    let cut_off = || "is cut off".to_owned();
    let num_layers = index.vint().ok_or_else(cut_off)?;
    // An end takes one byte or more, so a false count runs out of bytes before it costs memory.
    let mut ends = Vec::new();
    for _ in 0..num_layers {
        ends.push(index.vint().ok_or_else(cut_off)?);
    }
    let mut layers = Vec::new();
    let mut previous = 0;
    for end in ends {
        let len = end.checked_sub(previous).and_then(|len| usize::try_from(len).ok());
        layers.push(len.and_then(|len| index.take(len)).ok_or_else(cut_off)?);
        previous = end;
    }
    if index.len() != 0 {
        return Err(format!("has {} bytes after its last layer", index.len()));
    }
    if layers.is_empty() && (max_doc != 0 || blocks_len != 0) {
        return Err(format!("names no block, there are {blocks_len} bytes of blocks and {max_doc} documents"));
    }
    // Every layer must cover all documents, and exactly the bytes of what it names.
    let covered = layers.iter().skip(1).map(|layer| layer.len() as u64).chain([blocks_len]);
    for (layer, expected_bytes) in layers.iter().zip(covered) {
        let (docs, bytes) = walk_layer(layer)?;
        if docs != u64::from(max_doc) || bytes != expected_bytes {
            return Err(format!("covers {docs} documents in {bytes} bytes, of {max_doc} in {expected_bytes}"));
        }
    }
    Ok(())
}

/// Documents and bytes that a layer covers, without gaps from the first of each.
fn walk_layer(layer: &[u8]) -> Result<(u64, u64), String> {
    let mut layer = Bytes::new(layer);
    let mut next = Checkpoint { docs: 0, start: 0, bytes: 0 };
    while layer.len() != 0 {
        walk_group(&mut layer, &mut next)?;
    }
    Ok((next.docs, next.start))
}

fn walk_group(layer: &mut Bytes<'_>, next: &mut Checkpoint) -> Result<(), String> {
    let cut_off = || "is cut off".to_owned();
    let count = layer.vint().filter(|count| *count > 0).ok_or_else(cut_off)?;
    let (Some(doc), Some(start)) = (layer.vint(), layer.vint()) else { return Err(cut_off()) };
    if (doc, start) != (next.docs, next.start) {
        let (docs, bytes) = (next.docs, next.start);
        return Err(format!("goes on at document {doc} and byte {start}, not at {docs} and {bytes}"));
    }
    for _ in 0..count {
        let (Some(docs), Some(bytes)) = (layer.vint(), layer.vint()) else { return Err(cut_off()) };
        if docs == 0 || docs > u64::from(u32::MAX) || bytes > u64::from(u32::MAX) {
            return Err(format!("has a block of {docs} documents in {bytes} bytes"));
        }
        // Each addend has 32 bits and takes a byte of file, so the sums stay in 64.
        next.docs += docs;
        next.start += bytes;
        next.bytes = bytes;
    }
    Ok(())
}
