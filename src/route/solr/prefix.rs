//! Cuts along prefixes (Solr's `splitByPrefix`): pieces of a shard's range that have about equally many documents, or
//! bytes, and keep the documents of a route key together where possible.
//!
//! Input: a [`PrefixHistogram`], measured over the shard's ids. Output: a [`PrefixSplit`].
//!
//! Ranges of prefixes that overlap (`a/8!` holds `a!`) form a group. With at least as many groups as pieces, cuts are
//! between groups only, and no cut between groups has a lighter heaviest piece; the heaviest stays within
//! `total / pieces + heaviest group`. With fewer groups than pieces a cut within a group cannot be avoided: each piece
//! too many goes to the group whose pieces are heaviest, and a group is cut into pieces of equally many hashes.
//! For two pieces this is `SplitOp.getSplits` of apache/solr, except that a group of two hashes is cut and not refused,
//! and that prefixes which overlap are not cut.
//!
//! Cost: O(n log n) for n different prefixes; at most 65,536 entries for ids without a route key.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::{HashRange, RangeError, SubRanges, composite_id_hash, route_key_range};
use crate::route::split::MAX_CHILDREN;
use crate::route::{RoutingHash, balance};

/// Documents, or bytes, per range of a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixHistogram {
    loads: BTreeMap<HashRange, u64>,
}

/// Pieces along prefixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixSplit {
    /// The pieces, ascending.
    pub pieces: SubRanges,
    /// Load of each piece: measured, but for ranges in [`PrefixSplit::cut`], whose load is taken to be spread evenly.
    pub loads: Vec<u64>,
    /// Ranges of prefixes that lie in several pieces, ascending. A search by such a route key asks several shards.
    pub cut: Vec<HashRange>,
}

impl PrefixHistogram {
    /// Nothing counted.
    #[must_use]
    pub fn new() -> PrefixHistogram {
        PrefixHistogram::default()
    }

    /// Counts a document: `load` is 1, or its bytes. An id without a route key, or with one that decides no bits, counts
    /// for the group of hashes with its 16 high bits; Solr leaves it out.
    pub fn add(&mut self, id: &str, load: u64) {
        self.add_range(prefix_range(id), load);
    }

    /// Counts documents of a prefix whose range is known.
    pub fn add_range(&mut self, range: HashRange, load: u64) {
        let sum = self.loads.entry(range).or_insert(0);
        *sum = sum.saturating_add(load);
    }

    /// Ranges and their loads, ascending.
    pub fn loads(&self) -> impl Iterator<Item = (HashRange, u64)> + '_ {
        self.loads.iter().map(|(&range, &load)| (range, load))
    }

    /// Splits a shard's range into `pieces`. What was counted beyond `parent` has no effect.
    ///
    /// # Errors
    /// [`RangeError::Pieces`] unless 2 ≤ `pieces` ≤ [`MAX_CHILDREN`]; [`RangeError::NothingCounted`];
    /// [`RangeError::TooNarrow`] if the groups have fewer hashes than there should be pieces.
    pub fn split(&self, parent: HashRange, pieces: u32) -> Result<PrefixSplit, RangeError> {
        if !(2..=MAX_CHILDREN).contains(&pieces) {
            return Err(RangeError::Pieces { pieces: u64::from(pieces) });
        }
        let inside: Vec<(HashRange, u64)> = self
            .loads()
            .filter(|&(_, load)| load > 0)
            .filter_map(|(range, load)| Some((range.intersection(&parent)?, load)))
            .collect();
        let groups = groups(parent, &inside);
        if groups.is_empty() {
            return Err(RangeError::NothingCounted { parent });
        }
        let mut ends = if groups.len() >= pieces as usize {
            ends_between(&groups, pieces as usize)
        } else {
            ends_within(&groups, pieces as usize)
        };
        let too_narrow = RangeError::TooNarrow { range: parent, pieces };
        // Pieces reach to the ends of the shard: hashes without documents belong to some piece too.
        if let Some(last) = ends.last_mut() {
            *last = parent.max_hash();
        }
        let mut ranges = Vec::with_capacity(ends.len());
        let mut rest = Some(parent);
        for end in ends {
            let piece =
                rest.and_then(|rest| HashRange::new(rest.min_hash(), end).ok()).ok_or_else(|| too_narrow.clone())?;
            rest = parent.after(&piece);
            ranges.push(piece);
        }
        if ranges.len() != pieces as usize {
            return Err(too_narrow);
        }
        let (loads, cut) = spread(&ranges, &inside);
        Ok(PrefixSplit { pieces: SubRanges::new(parent, ranges)?, loads, cut })
    }
}

/// What [`PrefixHistogram::add`] counts an id for.
pub(super) fn prefix_range(id: &str) -> HashRange {
    match route_key_range(id) {
        Ok(range) if id.contains('!') && range != HashRange::FULL => range,
        _ => HashRange::prefix_group(composite_id_hash(id)),
    }
}

/// First hash of the prefix of `id`, as [`PrefixHistogram::add`] counts it: a measuring tape for readers that keep a hash
/// per document.
#[must_use]
pub fn prefix_first_hash(id: &str) -> RoutingHash {
    prefix_range(id).min_hash()
}

/// Last hash of the prefix of `id`. See [`prefix_first_hash`].
#[must_use]
pub fn prefix_last_hash(id: &str) -> RoutingHash {
    prefix_range(id).max_hash()
}

/// Ranges that overlap, joined, with the sum of their loads; ascending. A range that is all of `parent` is cut wherever
/// cuts are, so it joins nothing, unless there is no other.
fn groups(parent: HashRange, inside: &[(HashRange, u64)]) -> Vec<(HashRange, u64)> {
    let has_parts = inside.iter().any(|&(range, _)| range != parent);
    // Clipping at the ends of the shard may have changed the order.
    let mut parts: Vec<_> = inside.iter().filter(|&&(range, _)| !has_parts || range != parent).copied().collect();
    parts.sort_unstable();
    let mut groups: Vec<(HashRange, u64)> = Vec::new();
    for (range, load) in parts {
        match groups.last_mut() {
            Some((group, sum)) if range.min_hash() <= group.max_hash() => {
                *group = group.join(&range);
                *sum = sum.saturating_add(load);
            }
            _ => groups.push((range, load)),
        }
    }
    groups
}

/// Last hashes of `pieces` pieces that are whole groups.
fn ends_between(groups: &[(HashRange, u64)], pieces: usize) -> Vec<i32> {
    let loads: Vec<u64> = groups.iter().map(|&(_, load)| load).collect();
    let ends = balance::contiguous(&loads, pieces).unwrap_or_default();
    ends.into_iter().filter_map(|end| groups.get(end.checked_sub(1)?)).map(|(group, _)| group.max_hash()).collect()
}

/// Last hashes of `pieces` pieces, more than there are groups; fewer if the groups have too few hashes.
fn ends_within(groups: &[(HashRange, u64)], pieces: usize) -> Vec<i32> {
    let per_piece = |load: u64, pieces: u64| (u128::from(load) << 64) / u128::from(pieces);
    let mut number: Vec<u64> = vec![1; groups.len()];
    // Heaviest pieces first; among equals the first group.
    let mut heaviest: BinaryHeap<_> =
        groups.iter().enumerate().map(|(nth, &(_, load))| (per_piece(load, 1), Reverse(nth))).collect();
    for _ in groups.len()..pieces {
        while let Some((_, Reverse(nth))) = heaviest.pop() {
            let (Some(number), Some((group, load))) = (number.get_mut(nth), groups.get(nth)) else { continue };
            if *number < group.hashes() {
                *number += 1;
                heaviest.push((per_piece(*load, *number), Reverse(nth)));
                break;
            }
        }
    }
    groups.iter().zip(number).flat_map(|((group, _), pieces)| even_ends(*group, pieces)).collect()
}

/// Last hashes of `pieces` pieces of equally many hashes.
fn even_ends(range: HashRange, pieces: u64) -> impl Iterator<Item = i32> {
    let distance = u128::from(range.min_hash().abs_diff(range.max_hash()));
    (1..=pieces).filter_map(move |nth| {
        let offset = u32::try_from(distance * u128::from(nth) / u128::from(pieces)).ok()?;
        Some(range.min_hash().wrapping_add_unsigned(offset))
    })
}

/// Load of each piece, and the ranges that lie in several.
fn spread(pieces: &[HashRange], inside: &[(HashRange, u64)]) -> (Vec<u64>, Vec<HashRange>) {
    let mut loads = vec![0u64; pieces.len()];
    let mut cut = Vec::new();
    for &(range, load) in inside {
        let first = pieces.partition_point(|piece| piece.max_hash() < range.min_hash());
        let mut rest = load;
        let parts =
            loads.iter_mut().zip(pieces).skip(first).take_while(|(_, piece)| piece.min_hash() <= range.max_hash());
        for (sum, piece) in parts {
            let hashes = piece.intersection(&range).map_or(0, |part| part.hashes());
            let share = u128::from(load) * u128::from(hashes) / u128::from(range.hashes());
            let ends_here = range.max_hash() <= piece.max_hash();
            let share = if ends_here { rest } else { u64::try_from(share).unwrap_or(rest).min(rest) };
            *sum = sum.saturating_add(share);
            rest -= share;
            if ends_here && range.min_hash() < piece.min_hash() {
                cut.push(range);
            }
        }
    }
    (loads, cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(min: i32, max: i32) -> HashRange {
        HashRange::new(min, max).unwrap()
    }

    fn histogram(counts: &[(i32, i32, u64)]) -> PrefixHistogram {
        let mut histogram = PrefixHistogram::new();
        for &(min, max, load) in counts {
            histogram.add_range(range(min, max), load);
        }
        histogram
    }

    #[test]
    fn three_pieces_keep_every_prefix_whole() {
        let histogram = histogram(&[(0, 9, 5), (20, 29, 1), (40, 49, 4), (60, 69, 2), (80, 89, 2)]);
        let split = histogram.split(range(-100, 100), 3).unwrap();
        assert_eq!(split.pieces.ranges(), [range(-100, 9), range(10, 49), range(50, 100)]);
        assert_eq!(split.loads, [5, 5, 4]);
        assert_eq!(split.cut, []);
    }

    #[test]
    fn the_heaviest_prefix_is_cut_where_there_are_fewer_prefixes_than_pieces() {
        let histogram = histogram(&[(0, 9, 90), (20, 29, 10)]);
        let split = histogram.split(range(-100, 100), 4).unwrap();
        assert_eq!(split.pieces.ranges(), [range(-100, 3), range(4, 6), range(7, 9), range(10, 100)]);
        assert_eq!(split.loads, [36, 27, 27, 10]);
        assert_eq!(split.cut, [range(0, 9)]);
    }

    #[test]
    fn prefixes_within_a_wider_prefix_are_not_cut_apart_from_it() {
        let histogram = histogram(&[(0, 99, 1), (0, 9, 50), (90, 99, 50), (200, 209, 1)]);
        let split = histogram.split(range(0, 300), 2).unwrap();
        assert_eq!(split.pieces.ranges(), [range(0, 99), range(100, 300)]);
        assert_eq!(split.cut, []);
    }

    #[test]
    fn prefixes_that_share_one_hash_stay_together() {
        let split = histogram(&[(0, 9, 5), (9, 19, 5), (20, 29, 1)]).split(range(0, 29), 2).unwrap();
        assert_eq!(split.pieces.ranges(), [range(0, 19), range(20, 29)]);
    }

    #[test]
    fn a_prefix_as_wide_as_the_shard_does_not_keep_others_from_staying_whole() {
        let histogram = histogram(&[(-1000, 1000, 100), (0, 9, 2), (50, 59, 2)]);
        let split = histogram.split(range(0, 99), 2).unwrap();
        assert_eq!(split.pieces.ranges(), [range(0, 9), range(10, 99)]);
        assert_eq!(split.loads, [12, 92]);
        assert_eq!(split.cut, [range(0, 99)]);
    }

    #[test]
    fn ids_count_for_their_route_key_and_others_for_their_group() {
        let mut measured = PrefixHistogram::new();
        for id in ["b!1", "b!2", "f1!f2!3", "b", "foo/0!b"] {
            measured.add(id, 1);
        }
        let counts: Vec<(String, u64)> = measured.loads().map(|(range, load)| (range.to_string(), load)).collect();
        assert_eq!(counts, [("95de0000-95deffff".to_owned(), 4), ("31f10000-31f1ffff".to_owned(), 1)]);
    }

    #[test]
    fn a_split_that_cannot_follow_documents_is_refused() {
        let parent = range(0, 99);
        let elsewhere = histogram(&[(100, 200, 5), (0, 9, 0)]);
        assert_eq!(elsewhere.split(parent, 2), Err(RangeError::NothingCounted { parent }));
        let narrow = histogram(&[(3, 4, 5)]);
        assert_eq!(narrow.split(parent, 3), Err(RangeError::TooNarrow { range: parent, pieces: 3 }));
        assert!(narrow.split(parent, 2).is_ok());
        assert_eq!(narrow.split(parent, 1), Err(RangeError::Pieces { pieces: 1 }));
    }

    proptest! {
        #[test]
        fn pieces_cover_the_shard_and_their_loads_add_up(
            counts in prop::collection::vec((-300i32..300, 0i32..60, 0u64..100), 1..30), pieces in 2u32..12,
        ) {
            let counts: Vec<_> = counts.into_iter().map(|(min, width, load)| (min, min + width, load)).collect();
            let (histogram, parent) = (histogram(&counts), range(-200, 200));
            match histogram.split(parent, pieces) {
                Ok(split) => {
                    prop_assert_eq!(split.pieces.ranges().len(), pieces as usize);
                    let width: u64 = split.pieces.ranges().iter().map(HashRange::hashes).sum();
                    prop_assert_eq!(width, parent.hashes());
                    let inside = counts.iter().filter(|&&(min, max, _)| range(min, max).intersection(&parent).is_some());
                    prop_assert_eq!(split.loads.iter().sum::<u64>(), inside.map(|&(_, _, load)| load).sum::<u64>());
                }
                Err(RangeError::NothingCounted { .. } | RangeError::TooNarrow { .. }) => {}
                Err(error) => prop_assert!(false, "{}", error),
            }
        }

        #[test]
        fn prefixes_are_whole_and_pieces_within_the_stated_bound_where_prefixes_suffice(
            counts in prop::collection::vec(1u64..100, 12..30), pieces in 2u32..12,
        ) {
            let mut histogram = PrefixHistogram::new();
            for (&load, nth) in counts.iter().zip(0i32..) {
                histogram.add_range(range(nth * 100, nth * 100 + 60), load);
            }
            let split = histogram.split(range(-50, 5000), pieces).unwrap();
            prop_assert_eq!(&split.cut, &[]);
            let bound = counts.iter().sum::<u64>() / u64::from(pieces) + counts.iter().max().unwrap();
            prop_assert!(split.loads.iter().all(|&load| load > 0 && load <= bound), "{:?}", split.loads);
        }

        #[test]
        fn two_pieces_are_cut_where_solr_cuts_them(counts in prop::collection::vec(1u64..100, 2..20)) {
            // SplitOp.getSplits: the first prefix that reaches half of the documents goes with the lower piece, unless the
            // lower piece comes closer to half without it.
            let half = counts.iter().sum::<u64>() / 2;
            let mut sum = 0;
            let reaches = counts.iter().position(|&count| { sum += count; sum >= half }).unwrap();
            let (over, under) = (sum - half, half - (sum - counts[reaches]));
            let lower = if under < over { reaches } else { reaches + 1 };
            let mut histogram = PrefixHistogram::new();
            for (&load, nth) in counts.iter().zip(0i32..) {
                histogram.add_range(range(nth * 100, nth * 100 + 60), load);
            }
            let split = histogram.split(range(-50, 5000), 2).unwrap();
            let max = i32::try_from(lower - 1).unwrap() * 100 + 60;
            prop_assert_eq!(split.pieces.ranges()[0], range(-50, max));
        }
    }
}
