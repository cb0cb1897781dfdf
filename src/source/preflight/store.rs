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

use crate::error::{Error, Result};
use crate::source::bytes::{Bytes, tail};
use crate::source::claims::most_in_block;

/// Bytes of a store's footer.
pub(crate) const STORE_FOOTER: usize = 28;

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

/// Checks the store at `path`, whose file without footer is `body`, of a segment of `max_doc` documents. Returns also how
/// many bytes its blocks take.
pub(super) fn check(path: &Path, body: &[u8], max_doc: u32) -> Result<(StoreInfo, usize)> {
    let short =
        || Error::corrupt(path, format!("it has {} bytes, a store's footer alone has {STORE_FOOTER}", body.len()));
    let mut footer = Bytes::new(tail(body, STORE_FOOTER).ok_or_else(short)?);
    let (Some(version), Some(offset), Some(codec)) = (footer.u32(), footer.u64(), footer.u8()) else {
        return Err(short());
    };
    let info = StoreInfo { version: check_version(path, version)?, codec: check_codec(path, codec)? };
    let end = body.len() - STORE_FOOTER;
    let start = usize::try_from(offset).ok().filter(|start| *start <= end);
    let Some((blocks, index)) = start.and_then(|start| Some((start, body.get(start..end)?))) else {
        return Err(Error::corrupt(path, format!("its skip index is said to begin at byte {offset}, beyond {end}")));
    };
    check_skip_index(index, info.codec, Run { docs: u64::from(max_doc), bytes: blocks as u64 })
        .map_err(|problem| Error::corrupt(path, format!("its skip index at byte {offset} {problem}")))?;
    Ok((info, blocks))
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

/// Bytes of the start of a document within its block.
const START: u64 = 4;

/// A run of documents and the bytes it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Run {
    docs: u64,
    bytes: u64,
}

/// `blocks`: what it must cover.
fn check_skip_index(index: &[u8], codec: StoreCodec, blocks: Run) -> Result<(), String> {
    let mut index = Bytes::new(index);
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

    // From the blocks upwards: what a layer names must be what stands below it.
    let mut below: Option<Vec<Run>> = None;
    for layer in layers.iter().rev() {
        below = Some(walk_layer(layer, codec, below.as_deref(), blocks)?);
    }
    if below.is_none() && blocks != Run::default() {
        return Err(format!("names no block of {} bytes and {} documents", blocks.bytes, blocks.docs));
    }
    Ok(())
}

fn cut_off() -> String {
    "is cut off".to_owned()
}

/// Walks a layer and returns its groups. Its checkpoints must be the groups `below` it; those of the last layer, which
/// has none below, must follow each other and cover `blocks`.
fn walk_layer(layer: &[u8], codec: StoreCodec, below: Option<&[Run]>, blocks: Run) -> Result<Vec<Run>, String> {
    let mut layer = Bytes::new(layer);
    let mut below_iter = below.map(|below| below.iter());
    let mut groups = Vec::new();
    let mut covered = Run::default();
    while layer.len() != 0 {
        let (before, first) = (layer.len(), covered);
        let count = layer.vint().filter(|count| *count > 0).ok_or_else(cut_off)?;
        let (Some(doc), Some(start)) = (layer.vint(), layer.vint()) else { return Err(cut_off()) };
        if (Run { docs: doc, bytes: start }) != covered {
            let Run { docs, bytes } = covered;
            return Err(format!("goes on at document {doc} and byte {start}, not at {docs} and {bytes}"));
        }
        for _ in 0..count {
            let (Some(docs), Some(bytes)) = (layer.vint(), layer.vint()) else { return Err(cut_off()) };
            let run = Run { docs, bytes };
            if below_iter.as_mut().is_some_and(|below| below.next() != Some(&run)) {
                return Err(format!("names {docs} documents in {bytes} bytes that its next layer does not have"));
            }
            if docs == 0 || docs > u64::from(u32::MAX) || bytes > u64::from(u32::MAX) {
                return Err(format!("has a block of {docs} documents in {bytes} bytes"));
            }
            // A block has the start of each document and their number. Without this a few bytes could claim as many
            // documents as memory is then set aside for.
            if below.is_none() && (docs + 1) * START > most_in_block(codec, bytes) {
                return Err(format!("has a block of {docs} documents in {bytes} bytes, which cannot hold them"));
            }
            // Addends of 32 bits that take two bytes of file each: the sums stay in 64.
            covered.docs += docs;
            covered.bytes += bytes;
        }
        groups.push(Run { docs: covered.docs - first.docs, bytes: (before - layer.len()) as u64 });
    }
    let due =
        below.map_or(blocks, |below| Run { docs: blocks.docs, bytes: below.iter().map(|group| group.bytes).sum() });
    if covered == due {
        return Ok(groups);
    }
    let (Run { docs, bytes }, due) = (covered, due);
    Err(format!("covers {docs} documents in {bytes} bytes, of {} in {}", due.docs, due.bytes))
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "numbers in these tests are small")]
mod tests {
    use super::*;
    use tantivy_common::VInt;

    fn vints(values: &[u64]) -> Vec<u8> {
        let mut out = Vec::new();
        for &value in values {
            VInt(value).serialize_into_vec(&mut out);
        }
        out
    }

    /// A skip index of the given layers.
    fn index(layers: &[Vec<u8>]) -> Vec<u8> {
        let mut head = vec![layers.len() as u64];
        for layer in layers {
            head.push(head.iter().skip(1).last().unwrap_or(&0) + layer.len() as u64);
        }
        [vints(&head), layers.concat()].concat()
    }

    /// Two groups of two and one blocks: documents 0..2, 2..5 and 5..6 in 10, 20 and 30 bytes.
    fn blocks() -> [Vec<u8>; 2] {
        [vints(&[2, 0, 0, 2, 10, 3, 20]), vints(&[1, 5, 30, 1, 30])]
    }

    fn check(index: &[u8], bytes: u64, docs: u32) -> Result<(), String> {
        check_skip_index(index, StoreCodec::Lz4, Run { docs: u64::from(docs), bytes })
    }

    fn upper(docs: [u64; 2]) -> Vec<u8> {
        let [first, second] = blocks();
        vints(&[2, 0, 0, docs[0], first.len() as u64, docs[1], second.len() as u64])
    }

    #[test]
    fn an_index_whose_layers_name_each_other_and_all_blocks_passes() {
        let sound = index(&[upper([5, 1]), blocks().concat()]);
        assert_eq!(check(&sound, 60, 6), Ok(()));
        assert_eq!(check(&index(&[]), 0, 0), Ok(()));
        assert_eq!(check(&index(&[blocks()[0].clone()]), 30, 5), Ok(()));
        // Seeking goes on from group to group, so an upper layer is for speed alone.
        assert_eq!(check(&index(&[blocks().concat()]), 60, 6), Ok(()));
    }

    #[test]
    fn an_index_that_misses_or_misplaces_blocks_is_refused() {
        let [first, second] = blocks();
        let sound = index(&[upper([5, 1]), blocks().concat()]);
        for (what, bytes, blocks_len, max_doc, words) in [
            ("another document", sound.clone(), 60, 7, "6 documents in 60 bytes, of 7 in 60"),
            ("another byte", sound.clone(), 59, 6, "6 documents in 60 bytes, of 6 in 59"),
            ("cut off", sound[..sound.len() - 1].to_vec(), 60, 6, "cut off"),
            ("longer", [&sound[..], &[0x81]].concat(), 60, 6, "1 bytes after"),
            ("upper layer lies", index(&[upper([4, 2]), blocks().concat()]), 60, 6, "does not have"),
            ("a gap", index(&[vints(&[1, 0, 0, 5, 7]), [vints(&[1, 1, 0, 5, 60])].concat()]), 60, 6, "goes on at"),
            ("an empty group", index(&[[vec![0x80], first, second].concat()]), 60, 6, "cut off"),
            ("no layer", index(&[]), 60, 6, "names no block"),
            ("a million layers", vints(&[1_000_000]), 60, 6, "cut off"),
            ("a block without documents", index(&[vints(&[1, 0, 0, 0, 60])]), 60, 0, "a block of 0 documents"),
        ] {
            let problem = check(&bytes, blocks_len, max_doc).unwrap_err();
            assert!(problem.contains(words), "{what}: {problem}");
        }
    }

    #[test]
    fn a_block_too_small_for_its_documents_is_refused() {
        let one = |docs: u64, bytes: u64| index(&[vints(&[1, 0, 0, docs, bytes])]);
        for (codec, bytes, most) in
            [(StoreCodec::None, 44, 10), (StoreCodec::Lz4, 8, 317), (StoreCodec::Zstd, 12, 2 * 32_768 - 1)]
        {
            let check = |docs| check_skip_index(&one(docs, bytes), codec, Run { docs, bytes });
            assert_eq!(check(most), Ok(()), "{codec:?}");
            for docs in [most + 1, 1 << 31] {
                assert!(check(docs).unwrap_err().contains("cannot hold them"), "{codec:?}, {docs}");
            }
        }
    }
}
