//! `.term`, `.idx` and `.pos`: that the three name the same fields, and that every dictionary is one we can read.
//!
//! The part of a field in `.term` is `fst ‖ term infos ‖ u64 LE length of the term infos ‖ u32 LE fst version ‖ u32 LE
//! kind of dictionary`. The term infos are `u64 LE length of the block metas ‖ u64 LE terms ‖ block metas ‖ bits`, one
//! block for 256 terms; a block meta is `u64 LE offset into the bits ‖ u32 LE doc freq ‖ (u64 LE start, u32 LE length)
//! for postings and for positions ‖ 3 bit widths (doc freq, postings, positions)`. The first term of a block stands in
//! the meta, the others are deltas to it. Facts from tantivy 0.27, `src/termdict/`.
//!
//! Cost: 39 bytes read for 256 terms.

use std::path::Path;

use super::{CheckedFile, Parts};
use crate::error::{Error, Result};
use crate::source::bytes::{Bytes, tail};

/// Kinds of dictionary: tantivy's own, and the one of its `quickwit` feature.
const KIND_FST: u32 = 1;
const KIND_SSTABLE: u32 = 2;
const FST_VERSION: u32 = 1;
const BLOCK_TERMS: u64 = 256;
const BLOCK_META: usize = 39;
/// Total number of tokens, before the postings.
const POSTINGS_HEADER: usize = 8;

/// A file and its table.
pub(super) type Plane<'a> = (&'a CheckedFile, &'a Parts);

/// Checks the three files against each other.
pub(super) fn check(terms: Plane<'_>, postings: Plane<'_>, positions: Plane<'_>) -> Result<()> {
    for field in terms.1.fields().chain(postings.1.fields()).chain(positions.1.fields()) {
        for (file, parts) in [terms, postings, positions] {
            if parts.get(field, &file.body).is_none() {
                let problem = format!("it has no part for field {}, which the other planes have", field.field_id());
                return Err(Error::corrupt(&file.path, problem));
            }
        }
        let dictionary = terms.1.get(field, &terms.0.body).unwrap_or_default();
        let postings_len = postings.1.len(field).checked_sub(POSTINGS_HEADER).ok_or_else(|| {
            let problem = format!("field {} has {} bytes", field.field_id(), postings.1.len(field));
            Error::corrupt(&postings.0.path, problem)
        })?;
        check_kind(&terms.0.path, field.field_id(), dictionary)?;
        let limits = Limits { postings: postings_len, positions: positions.1.len(field) };
        check_fst_dictionary(dictionary, limits).map_err(|problem| {
            Error::corrupt(&terms.0.path, format!("the dictionary of field {} {problem}", field.field_id()))
        })?;
    }
    Ok(())
}

fn check_kind(path: &Path, field: u32, dictionary: &[u8]) -> Result<()> {
    let kind = tail(dictionary, 4).and_then(|bytes| Bytes::new(bytes).u32());
    let version = tail(dictionary, 8).and_then(|bytes| Bytes::new(bytes).u32());
    let unsupported = |what, found: String, expected: &str, hint: &str| Error::Unsupported {
        path: path.to_path_buf(),
        what,
        found: format!("{found} (field {field})"),
        expected: expected.to_owned(),
        hint: hint.to_owned(),
    };
    match (kind, version) {
        (Some(KIND_FST), Some(FST_VERSION)) => Ok(()),
        (Some(KIND_FST), Some(version)) => Err(unsupported(
            "the version of the term dictionary",
            version.to_string(),
            "1",
            "another tantivy wrote it, or the file is damaged",
        )),
        (Some(KIND_SSTABLE), _) => Err(unsupported(
            "the kind of term dictionary",
            "2, an SSTable, written by tantivy's quickwit feature".to_owned(),
            "1, an FST",
            "re-index with a tantivy built without that feature",
        )),
        _ => Err(Error::corrupt(
            path,
            match kind {
                Some(kind) => format!("the dictionary of field {field} ends in kind {kind}, known are 1 and 2"),
                None => format!("the dictionary of field {field} has {} bytes", dictionary.len()),
            },
        )),
    }
}

/// How far ranges of term infos may reach.
#[derive(Clone, Copy)]
struct Limits {
    postings: usize,
    positions: usize,
}

impl Limits {
    /// Whether ends of ranges lie inside.
    fn hold(self, postings_end: u64, positions_end: u64) -> bool {
        postings_end <= self.postings as u64 && positions_end <= self.positions as u64
    }
}

fn check_fst_dictionary(dictionary: &[u8], limits: Limits) -> Result<(), String> {
    let short = || format!("is cut off: it has {} bytes", dictionary.len());
    let main = dictionary.len().checked_sub(16).and_then(|end| dictionary.get(..end)).ok_or_else(short)?;
    let infos_len = tail(dictionary, 16).and_then(|bytes| Bytes::new(bytes).u64()).ok_or_else(short)?;
    let split = usize::try_from(infos_len).ok().and_then(|len| main.len().checked_sub(len));
    let Some((fst, infos)) = split.and_then(|at| main.split_at_checked(at)) else {
        return Err(format!("claims {infos_len} bytes of term infos, it has {}", main.len()));
    };

    let mut infos = Bytes::new(infos);
    let (Some(metas_len), Some(num_terms)) = (infos.u64(), infos.u64()) else { return Err(short()) };
    let blocks = num_terms.div_ceil(BLOCK_TERMS);
    let metas = usize::try_from(metas_len).ok().and_then(|len| infos.take(len));
    let Some(metas) = metas.filter(|metas| blocks.checked_mul(BLOCK_META as u64) == Some(metas.len() as u64)) else {
        return Err(format!("has {metas_len} bytes of block metas for {num_terms} terms"));
    };
    let keys = tail(fst, 16).and_then(|bytes| Bytes::new(bytes).u64());
    if keys != Some(num_terms) {
        return Err(format!("has term infos for {num_terms} terms, its FST has {}", keys.unwrap_or(0)));
    }
    let bits = infos.take(infos.len()).unwrap_or_default();
    check_blocks(metas, bits, num_terms, limits)
}

fn check_blocks(metas: &[u8], bits: &[u8], num_terms: u64, limits: Limits) -> Result<(), String> {
    let mut first_term = 0u64;
    for meta in metas.chunks(BLOCK_META) {
        let in_block = (num_terms - first_term).min(BLOCK_TERMS);
        let meta = BlockMeta::read(meta).ok_or("has a block meta that is cut off")?;
        // The end of the last term of the block: every other range of it ends before.
        let ends = if in_block == 1 { meta.first_ends() } else { meta.ends(bits, in_block - 2) };
        let sound = meta.first_ends().zip(ends).is_some_and(|(first, last)| {
            limits.hold(first.0, first.1) && limits.hold(last.0, last.1) && first.0 <= last.0 && first.1 <= last.1
        });
        if !sound {
            let problem = format!("refers to postings or positions that are not there, near term {first_term}");
            return Err(problem);
        }
        first_term += in_block;
    }
    Ok(())
}

struct BlockMeta {
    offset: u64,
    postings: (u64, u32),
    positions: (u64, u32),
    doc_freq_bits: u8,
    postings_bits: u8,
    positions_bits: u8,
}

impl BlockMeta {
    fn read(meta: &[u8]) -> Option<BlockMeta> {
        let mut meta = Bytes::new(meta);
        let offset = meta.u64()?;
        meta.u32()?;
        Some(BlockMeta {
            offset,
            postings: (meta.u64()?, meta.u32()?),
            positions: (meta.u64()?, meta.u32()?),
            doc_freq_bits: meta.u8()?,
            postings_bits: meta.u8()?,
            positions_bits: meta.u8()?,
        })
    }

    /// Ends of postings and positions of the first term.
    fn first_ends(&self) -> Option<(u64, u64)> {
        let end = |(start, len): (u64, u32)| start.checked_add(u64::from(len));
        Some((end(self.postings)?, end(self.positions)?))
    }

    /// Ends of postings and positions of the term `index`, counted from the second of the block. An entry gives the
    /// starts of its term; the ends are the starts in the next one.
    fn ends(&self, bits: &[u8], index: u64) -> Option<(u64, u64)> {
        let bits = bits.get(usize::try_from(self.offset).ok()?..)?;
        let widths = [self.doc_freq_bits, self.postings_bits, self.positions_bits];
        let entry: u64 = widths.iter().map(|&width| u64::from(width)).sum();
        let next = entry.checked_mul(index.checked_add(1)?)?;
        let postings = extract(bits, next, self.postings_bits)?;
        let positions = extract(bits, next.checked_add(u64::from(self.postings_bits))?, self.positions_bits)?;
        Some((self.postings.0.checked_add(postings)?, self.positions.0.checked_add(positions)?))
    }
}

/// `width` bits from bit `at` on, low bits first; what lies beyond the end counts as zero.
fn extract(bits: &[u8], at: u64, width: u8) -> Option<u64> {
    if width > 56 {
        return None;
    }
    let bytes = bits.get(usize::try_from(at / 8).ok()?..)?;
    let word = bytes.iter().take(8).rev().fold(0u64, |word, &byte| (word << 8) | u64::from(byte));
    Some((word >> (at % 8)) & ((1u64 << width) - 1))
}

#[cfg(test)]
#[allow(clippy::cast_possible_truncation, reason = "lengths in these tests are small")]
mod tests {
    use super::*;
    use tantivy::postings::TermInfo;
    use tantivy::termdict::TermDictionaryBuilder;

    /// A dictionary of `terms` terms whose postings have `step` bytes each and positions twice that.
    fn dictionary(terms: usize, step: usize) -> Vec<u8> {
        let mut builder = TermDictionaryBuilder::create(Vec::new()).unwrap();
        for term in 0..terms {
            let info = TermInfo {
                doc_freq: term as u32,
                postings_range: term * step..(term + 1) * step,
                positions_range: term * step * 2..(term + 1) * step * 2,
            };
            builder.insert(format!("{term:08}"), &info).unwrap();
        }
        builder.finish().unwrap()
    }

    #[test]
    fn dictionaries_of_every_size_reach_exactly_to_the_end_of_their_postings() {
        for terms in [0, 1, 2, 3, 255, 256, 257, 258, 600] {
            let bytes = dictionary(terms, 5);
            let check = |postings, positions| check_fst_dictionary(&bytes, Limits { postings, positions });
            check_kind(Path::new("a.term"), 0, &bytes).unwrap();
            assert_eq!(check(terms * 5, terms * 10), Ok(()), "{terms}");
            if terms > 0 {
                assert!(check(terms * 5 - 1, terms * 10).is_err(), "{terms} terms, postings one byte short");
                assert!(check(terms * 5, terms * 10 - 1).is_err(), "{terms} terms, positions one byte short");
            }
        }
    }

    #[test]
    fn counts_that_disagree_are_refused() {
        let bytes = dictionary(10, 5);
        let infos_len = Bytes::new(tail(&bytes, 16).unwrap()).u64().unwrap() as usize;
        let terms_at = bytes.len() - 16 - infos_len + 8;
        for (at, value) in [(bytes.len() - 16, u64::MAX), (terms_at, 11), (terms_at, u64::MAX), (terms_at - 8, 40)] {
            let mut bytes = bytes.clone();
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            let limits = Limits { postings: 50, positions: 100 };
            assert!(check_fst_dictionary(&bytes, limits).is_err(), "{value} at {at}");
        }
    }

    #[test]
    fn an_sstable_dictionary_is_named_as_the_quickwit_feature() {
        let mut bytes = dictionary(3, 5);
        let end = bytes.len();
        bytes[end - 4..].copy_from_slice(&2u32.to_le_bytes());
        let error = check_kind(Path::new("a.term"), 4, &bytes).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }));
        assert!(error.to_string().contains("quickwit") && error.to_string().contains("field 4"), "{error}");
    }
}
