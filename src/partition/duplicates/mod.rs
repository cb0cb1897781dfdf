//! How many distinct ids the live documents have, exactly.
//!
//! Equal hashes prove nothing, so ids with equal hashes are compared themselves, as cheaply as the plane they were read
//! from allows; different hashes do prove that ids differ:
//!
//! - [`dictionaries`] (columns of text, terms): of one segment, the terms that live documents have are counted. Of
//!   several, their hashes are sorted, and only terms whose hash is not unique are read once more; where those are
//!   many, the sorted dictionaries are merged. Memory: one bit per term, of several segments 4 bytes too.
//! - columns of numbers: the numbers are sorted. Memory: 8 bytes per document.
//! - [`stores`]: as dictionaries, but by document. Memory: 4 bytes per document.
//!
//! Hashes are sorted a part of all possible ones at a time: one more byte per document. Texts of ids take up to
//! [`REPEATED_BYTES`]. Where ids of one job came from planes that cannot be compared, or too many are repeated in a store,
//! there is no number.

pub(super) mod dictionaries;
mod stores;

use super::bits::Bits;
use super::keys::{KeyField, Seen, number_at, numbers};
use crate::error::Result;
use crate::progress::Cancel;
use crate::route::RoutingHash;
use crate::source::{Segment, Source};
use crate::threads;
use dictionaries::{Dictionary, Plane};

/// Most bytes of ids with hashes that are not unique that are kept in memory to compare them.
const REPEATED_BYTES: usize = 32 << 20;

/// Distinct ids among `with_id` live documents; `seen` by segment of `source`.
pub(super) fn count_distinct(
    source: &Source,
    field: &KeyField,
    seen: Vec<Seen>,
    with_id: u64,
    threads: usize,
    cancel: &Cancel,
) -> Result<Option<u64>> {
    let (mut dictionaries, mut number_columns, mut stores, mut unknown) = (Vec::new(), Vec::new(), Vec::new(), false);
    for (segment, seen) in source.segments().iter().zip(seen) {
        match seen {
            Seen::ColumnTerms(terms) => dictionaries.push(Dictionary { segment, plane: Plane::Column, terms }),
            Seen::Terms(terms) => dictionaries.push(Dictionary { segment, plane: Plane::Terms, terms }),
            Seen::Numbers => number_columns.push(segment),
            Seen::Hashes { hashes, keyed } => stores.push((segment, hashes, keyed)),
            Seen::Nothing => {}
            Seen::Unknown => unknown = true,
        }
    }
    if unknown {
        return Ok(None);
    }
    match (dictionaries.as_slice(), number_columns.as_slice(), stores.as_slice()) {
        ([], [], []) => Ok(Some(0)),
        (_, [], []) => dictionaries::distinct(field, &dictionaries, REPEATED_BYTES, threads, cancel).map(Some),
        ([], _, []) => sort_numbers(field, &number_columns, with_id, cancel).map(Some),
        ([], [], _) => {
            let repeated = stores::repeated(field, &stores, threads, cancel)?;
            Ok(repeated.map(|repeated| with_id.saturating_sub(repeated)))
        }
        _ => Ok(None),
    }
}

fn sort_numbers(field: &KeyField, segments: &[&Segment], with_id: u64, cancel: &Cancel) -> Result<u64> {
    let mut all: Vec<u64> = Vec::with_capacity(usize::try_from(with_id).unwrap_or_default());
    for segment in segments {
        cancel.check()?;
        let Some(column) = numbers(segment, field)? else { continue };
        let live = (0..segment.max_doc()).filter(|&doc| segment.is_alive(doc));
        all.extend(live.filter_map(|doc| number_at(&column, doc)));
    }
    all.sort_unstable();
    all.dedup();
    Ok(all.len() as u64)
}

/// Hashes that come more than once.
#[derive(Default)]
struct Repeated {
    /// Ascending.
    hashes: Vec<RoutingHash>,
    /// Of each, the lower bits: most hashes are none of these, and few bits say so.
    low: Bits,
}

/// Bits of a hash that [`Repeated::low`] goes by.
const LOW: u32 = (1 << 20) - 1;

impl Repeated {
    /// Among all that `hashes` gives; it is asked once per part.
    fn find<I: Iterator<Item = RoutingHash>>(
        hashes: impl Fn() -> I + Sync,
        threads: usize,
        cancel: &Cancel,
    ) -> Result<Repeated> {
        let threads = threads::number(threads);
        // Parts that are sorted at once take a byte per document together.
        let parts = u32::try_from((4 * threads).next_power_of_two()).unwrap_or(u32::MAX);
        let numbers: Vec<u32> = (0..parts).collect();
        let found = threads::each(&numbers, threads, |&part| {
            cancel.check()?;
            // The upper bits, so that parts follow each other.
            let shift = u32::BITS - parts.trailing_zeros();
            let mut some: Vec<u32> =
                hashes().map(RoutingHash::cast_unsigned).filter(|hash| hash >> shift == part).collect();
            some.sort_unstable();
            let equal = some.chunk_by(|left, right| left == right).filter(|equal| equal.len() > 1);
            Ok(equal.filter_map(|equal| equal.first().copied()).collect::<Vec<u32>>())
        })?;
        let mut repeated = Repeated::default();
        for hash in found.into_iter().flatten() {
            repeated.low.insert((hash & LOW) as usize);
            repeated.hashes.push(hash.cast_signed());
        }
        Ok(repeated)
    }

    #[inline]
    fn contains(&self, hash: RoutingHash) -> bool {
        self.low.contains((hash.cast_unsigned() & LOW) as usize)
            && self.hashes.binary_search_by_key(&hash.cast_unsigned(), |known| known.cast_unsigned()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_hashes_are_found_whatever_their_sign_and_no_others() {
        let all: Vec<RoutingHash> = vec![0, -1, 5, i32::MIN, 5, i32::MAX, -1, 1 << 20, i32::MIN, 5, 0x4000_0000];
        for threads in [1, 2, 7] {
            let repeated = Repeated::find(|| all.iter().copied(), threads, &Cancel::new()).unwrap();
            let found: Vec<RoutingHash> = all.iter().copied().filter(|&hash| repeated.contains(hash)).collect();
            assert_eq!(found, [-1, 5, i32::MIN, 5, -1, i32::MIN, 5], "{threads} threads");
            assert_eq!(repeated.hashes.len(), 3);
            // Its lower bits are those of 5.
            assert!(!repeated.contains(5 | 1 << 25));
        }
    }
}
