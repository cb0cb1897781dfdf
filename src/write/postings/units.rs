//! Cutting a field into ranges of terms of about equal work.

use tantivy::termdict::TermDictionary;

use super::terms::TermRange;
use crate::error::{Error, Result};

/// Source bytes of postings and positions that a unit aims to read.
pub(super) const UNIT_BYTES: u64 = 1 << 20;

/// Terms of all dictionaries that a unit has at most, by output: large batches keep a dictionary builder's caches warm,
/// and the fewer builders take turns, the smaller they may be.
const UNIT_TERMS: u64 = 1 << 12;
const UNIT_TERMS_LEAST: u64 = 1 << 14;
const UNIT_TERMS_MOST: u64 = 1 << 16;

/// Looks at a dictionary about so often per unit.
const SAMPLES_PER_UNIT: u64 = 16;

/// Cuts the terms of a field into ranges that cover everything.
///
/// Only the largest dictionary is looked at; terms of other segments fall where they fall. A term is never cut, so a
/// range may be larger than it should. `bytes`: postings and positions of the field in all segments. `outputs`: how many.
pub(super) fn cut(dictionaries: &[Option<TermDictionary>], bytes: u64, outputs: usize) -> Result<Vec<TermRange>> {
    let unit_terms = (UNIT_TERMS * outputs as u64).clamp(UNIT_TERMS_LEAST, UNIT_TERMS_MOST);
    let mut ranges = vec![TermRange::default()];
    let terms = |dictionary: &&TermDictionary| dictionary.num_terms();
    let Some(largest) = dictionaries.iter().flatten().max_by_key(terms) else { return Ok(ranges) };
    let all: u64 = dictionaries.iter().flatten().map(|dictionary| dictionary.num_terms() as u64).sum();
    let num_terms = largest.num_terms() as u64;
    if num_terms == 0 {
        return Ok(ranges);
    }
    // What the largest dictionary says stands for all of them.
    let scale = (all / num_terms).max(1);
    let units = 1 + bytes / UNIT_BYTES + all / unit_terms;
    if units == 1 {
        return Ok(ranges);
    }
    let step = num_terms.div_ceil(SAMPLES_PER_UNIT * units);
    let read = Error::io("read", "a term dictionary");
    let mut sample = || -> std::io::Result<()> {
        let (mut key, mut start_bytes, mut start_ord) = (Vec::new(), 0, 0);
        let mut ord = step;
        while ord < num_terms {
            if !largest.ord_to_term(ord, &mut key)? {
                break;
            }
            let info = largest.get(&key)?.unwrap_or_default();
            let bytes = (info.postings_range.start + info.positions_range.start) as u64;
            if bytes.saturating_sub(start_bytes) * scale >= UNIT_BYTES || (ord - start_ord) * scale >= unit_terms {
                if let Some(last) = ranges.last_mut() {
                    last.lt = Some(key.clone());
                }
                ranges.push(TermRange { ge: Some(key.clone()), lt: None });
                (start_bytes, start_ord) = (bytes, ord);
            }
            ord += step;
        }
        Ok(())
    };
    sample().map_err(read)?;
    Ok(ranges)
}
