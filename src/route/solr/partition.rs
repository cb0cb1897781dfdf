//! Even pieces of a range, by Solr's own arithmetic, so that the pieces are those that Solr would make.
//!
//! Solr has two ways. Creating a collection rounds ([`Rounding::PrefixGroups`]); SPLITSHARD with a number of sub-shards
//! does not ([`Rounding::Exact`]) and so may cut the documents of one route key in two.
//!
//! Output: as many pieces as asked for, ascending, that have every hash of the range once. Solr gives fewer, or pieces
//! outside of the range, if the range has hardly more hashes than pieces; that is refused here.

use serde::{Deserialize, Serialize};

use super::range::check_cover;
use super::{HashRange, RangeError};
use crate::route::split::MAX_CHILDREN;

/// How the ends of even pieces are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Pieces end at hashes xxxxffff, so that they hold whole groups of 16 high bits, unless a piece has less than 2^20
    /// hashes (`CompositeIdRouter.partitionRange(int, Range)`): how `compositeId` collections are created.
    PrefixGroups,
    /// No rounding (`DocRouter.partitionRange(int, Range)`): how `plain` collections are created, and what SPLITSHARD
    /// does with numSubShards.
    Exact,
}

/// Solr's splitFuzz: pieces with odd numbers are larger and those with even numbers smaller by half this share, so that
/// shards that grow evenly need not be split all at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f32", into = "f32")]
pub struct SplitFuzz(f32);

impl TryFrom<f32> for SplitFuzz {
    type Error = RangeError;

    fn try_from(fuzz: f32) -> Result<SplitFuzz, RangeError> {
        SplitFuzz::new(fuzz)
    }
}

impl From<SplitFuzz> for f32 {
    fn from(fuzz: SplitFuzz) -> f32 {
        fuzz.0
    }
}

impl SplitFuzz {
    /// # Errors
    /// [`RangeError::Fuzz`] unless 0 ≤ `fuzz` ≤ 0.5. Solr takes a negative fuzz for 0.
    pub fn new(fuzz: f32) -> Result<SplitFuzz, RangeError> {
        if (0.0..=0.5).contains(&fuzz) { Ok(SplitFuzz(fuzz)) } else { Err(RangeError::Fuzz { fuzz: fuzz.to_string() }) }
    }

    /// By how many hashes pieces of `step` differ: `Math.round(step * (double) fuzz / 2.0)`.
    fn hashes(self, step: i64) -> i64 {
        // Steps are less than 2^32: exact.
        let half = step as f64 * f64::from(self.0) / 2.0;
        #[expect(clippy::cast_possible_truncation, reason = "at most a quarter of a step")]
        let rounded = (half + 0.5).floor() as i64;
        rounded
    }
}

/// `pieces` even pieces of `range`, ascending. One piece is the range.
///
/// # Errors
/// [`RangeError::Pieces`] for no piece or more than [`MAX_CHILDREN`]; [`RangeError::TooNarrow`].
pub fn partition_range(range: HashRange, pieces: u32, rounding: Rounding) -> Result<Vec<HashRange>, RangeError> {
    let round = |step: i64, start: i64, end: i64| match rounding {
        Rounding::PrefixGroups if step >= 1 << 20 => end_of_prefix_group(start, end),
        Rounding::PrefixGroups | Rounding::Exact => end,
    };
    let mut target = i64::from(range.min_hash());
    partition(range, pieces, |step, start, _| {
        // The target goes on from the end before rounding: errors do not add up. Without rounding they are the same.
        let end = target + step;
        target = end + 1;
        round(step, start, end)
    })
}

/// `pieces` pieces of `range`, ascending, as SPLITSHARD with numSubShards and splitFuzz makes them
/// (`DocRouter.partitionRange(int, Range, float)`).
///
/// # Errors
/// As for [`partition_range`].
pub fn partition_range_with_fuzz(range: HashRange, pieces: u32, fuzz: SplitFuzz) -> Result<Vec<HashRange>, RangeError> {
    partition(range, pieces, |step, start, nth| {
        let difference = fuzz.hashes(step);
        start + step + if nth.is_multiple_of(2) { difference } else { -difference }
    })
}

/// `end(step, start, nth)`: last hash of a piece.
fn partition(
    range: HashRange,
    pieces: u32,
    mut end: impl FnMut(i64, i64, u32) -> i64,
) -> Result<Vec<HashRange>, RangeError> {
    if !(1..=MAX_CHILDREN).contains(&pieces) {
        return Err(RangeError::Pieces { pieces: u64::from(pieces) });
    }
    let too_narrow = RangeError::TooNarrow { range, pieces };
    let (min, max) = (i64::from(range.min_hash()), i64::from(range.max_hash()));
    let step = ((max - min) / i64::from(pieces)).max(1);
    let mut ranges = Vec::with_capacity(pieces as usize);
    let mut start = min;
    for nth in 0..pieces {
        let last = if nth == pieces - 1 { max } else { end(step, start, nth) };
        let piece = i32::try_from(start).ok().zip(i32::try_from(last).ok());
        match piece.map(|(start, last)| HashRange::new(start, last)) {
            Some(Ok(piece)) => ranges.push(piece),
            _ => return Err(too_narrow),
        }
        start = last + 1;
    }
    check_cover(range, &ranges).map_err(|_| too_narrow)?;
    Ok(ranges)
}

/// `end` moved down to the next hash xxxxffff, or up past the next one if a piece from `start` would have none left.
/// Moving up skips a group; Solr does so.
fn end_of_prefix_group(start: i64, end: i64) -> i64 {
    const GROUP: i64 = 0x1_0000;
    let in_group = end | (GROUP - 1);
    if in_group == end {
        return end;
    }
    let (down, up) = (in_group - GROUP, in_group + GROUP);
    if end - down < up - end && down > start { down } else { up }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_of_pieces_out_of_bounds_are_refused() {
        for pieces in [0, MAX_CHILDREN + 1] {
            let error = partition_range(HashRange::FULL, pieces, Rounding::Exact).unwrap_err();
            assert_eq!(error, RangeError::Pieces { pieces: u64::from(pieces) });
        }
    }

    #[test]
    fn one_piece_is_the_range() {
        for range in [HashRange::FULL, HashRange::one(7)] {
            assert_eq!(partition_range(range, 1, Rounding::PrefixGroups), Ok(vec![range]));
        }
    }

    #[test]
    fn ranges_with_hardly_more_hashes_than_pieces_are_refused_instead_of_cut_short() {
        // Solr gives 0-1, 2-3, 4-5 for 8 pieces of 0-4.
        let range = HashRange::new(0, 4).unwrap();
        let error = partition_range(range, 8, Rounding::Exact).unwrap_err();
        assert_eq!(error, RangeError::TooNarrow { range, pieces: 8 });
        assert_eq!(error.to_string().matches("5 hashes").count(), 1, "{error}");
    }

    #[test]
    fn fuzz_out_of_bounds_is_refused() {
        for fuzz in [-0.1, 0.51, f32::NAN, f32::INFINITY] {
            assert_eq!(SplitFuzz::new(fuzz), Err(RangeError::Fuzz { fuzz: fuzz.to_string() }));
        }
    }

    #[test]
    fn collections_below_4000_shards_hold_whole_groups_of_evenly_many_hashes() {
        for shards in (1..200).chain([1000, 2047, 3999]) {
            let ideal = (1u64 << 32) / u64::from(shards);
            for range in partition_range(HashRange::FULL, shards, Rounding::PrefixGroups).unwrap() {
                assert_eq!(range.max_hash() & 0xffff, 0xffff, "{shards} {range}");
                assert!(range.hashes().abs_diff(ideal) < ideal / 16, "{shards} {range}");
            }
        }
    }

    proptest! {
        #[test]
        fn partitions_are_total_and_disjoint(
            a in any::<i32>(), b in any::<i32>(), pieces in 1u32..3000, fuzz in 0f32..=0.5, groups in any::<bool>(),
        ) {
            let range = HashRange::new(a.min(b), a.max(b)).unwrap();
            let rounding = if groups { Rounding::PrefixGroups } else { Rounding::Exact };
            for made in [
                partition_range(range, pieces, rounding),
                partition_range_with_fuzz(range, pieces, SplitFuzz::new(fuzz).unwrap()),
            ] {
                match made {
                    Ok(made) => {
                        prop_assert_eq!(made.len(), pieces as usize);
                        prop_assert_eq!(made.iter().map(HashRange::hashes).sum::<u64>(), range.hashes());
                        prop_assert_eq!(made[0].min_hash(), range.min_hash());
                        let neighbours = made.windows(2).all(|pair| pair[0].max_hash() + 1 == pair[1].min_hash());
                        prop_assert!(neighbours);
                    }
                    Err(_) => prop_assert!(range.hashes() < 2 * u64::from(pieces).pow(2) + 8),
                }
            }
        }

        #[test]
        fn exact_pieces_differ_by_less_than_their_number(a in any::<i32>(), b in any::<i32>(), pieces in 1u32..1000) {
            let range = HashRange::new(a.min(b), a.max(b)).unwrap();
            if let Ok(made) = partition_range(range, pieces, Rounding::Exact) {
                let sizes = made.iter().map(HashRange::hashes);
                prop_assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= u64::from(pieces));
            }
        }
    }
}
