//! Cuts of a row of loads into pieces, shared by slot tables and by splits along prefixes.
//!
//! Input: a load per item (documents or bytes; the unit does not matter) and a number of pieces. Output: which items a
//! piece has. Invariant: every item is in exactly one piece and every piece has an item.
//!
//! Bounds, with `total` the sum of the loads and `largest` the largest of them: [`contiguous`] makes the heaviest
//! piece as light as contiguous pieces can be, and [`scattered`] makes it at most 4/3 of what any arrangement could.
//! Both stay within `total / pieces + largest`.
//!
//! Cost: [`contiguous`] is O(n + pieces · log n · log total) with 24 bytes per item; [`scattered`] is O(n log n).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// End (exclusive) of each piece, ascending; the last is the number of items. `None` unless 1 ≤ `pieces` ≤ items.
///
/// No contiguous cut has a lighter heaviest piece. Among those that reach this bound, each piece in turn is as close
/// to an even share of what is left as it can be; of two that are equally close, the larger.
pub(super) fn contiguous(loads: &[u64], pieces: usize) -> Option<Vec<usize>> {
    let items = loads.len();
    if !(1..=items).contains(&pieces) {
        return None;
    }
    let sums = Sums::new(loads);
    let bound = sums.lightest_bound(loads, pieces);
    let pieces_from = sums.pieces_needed(bound);
    let mut ends = Vec::with_capacity(pieces);
    let mut start = 0;
    for left in (1..pieces).rev() {
        // Later pieces need an item each, and no more load than the bound allows them.
        let first = pieces_from.partition_point(|&needed| needed > left).max(start + 1);
        let last = sums.reach(start, bound).min(items - left);
        let share = (sums.total() - sums.before(start)) / (left as u128 + 1);
        let end = sums.nearest(start, share).clamp(first, last.max(first));
        ends.push(end);
        start = end;
    }
    ends.push(items);
    Some(ends)
}

/// Piece of each item: the heaviest item first, always to the piece that is lightest so far (Graham's LPT rule; among
/// equals the one with fewer items, then the first). `None` unless 1 ≤ `pieces` ≤ items.
pub(super) fn scattered(loads: &[u64], pieces: usize) -> Option<Vec<usize>> {
    if !(1..=loads.len()).contains(&pieces) {
        return None;
    }
    let mut order: Vec<(Reverse<u64>, usize)> = loads.iter().copied().map(Reverse).zip(0..).collect();
    order.sort_unstable();
    let mut lightest: BinaryHeap<_> = (0..pieces).map(|piece| Reverse((0u128, 0usize, piece))).collect();
    let mut piece_of = vec![0; loads.len()];
    for (Reverse(load), item) in order {
        let Some(Reverse((sum, items, piece))) = lightest.pop() else { break };
        if let Some(slot) = piece_of.get_mut(item) {
            *slot = piece;
        }
        lightest.push(Reverse((sum + u128::from(load), items + 1, piece)));
    }
    Some(piece_of)
}

/// Running sums of a row of loads: position i is the load of the first i items.
struct Sums(Vec<u128>);

impl Sums {
    fn new(loads: &[u64]) -> Sums {
        let mut sum = 0;
        let running = loads.iter().map(|&load| {
            sum += u128::from(load);
            sum
        });
        Sums(std::iter::once(0).chain(running).collect())
    }

    fn total(&self) -> u128 {
        self.0.last().copied().unwrap_or(0)
    }

    /// Load of the items before `item`.
    fn before(&self, item: usize) -> u128 {
        self.0.get(item).copied().unwrap_or_else(|| self.total())
    }

    /// Largest end of a piece from `start` whose load is within `bound`.
    fn reach(&self, start: usize, bound: u128) -> usize {
        let limit = self.before(start) + bound;
        self.0.partition_point(|&sum| sum <= limit) - 1
    }

    /// End of the piece from `start` whose load is nearest to `share`.
    fn nearest(&self, start: usize, share: u128) -> usize {
        let wanted = self.before(start) + share;
        let above = self.0.partition_point(|&sum| sum < wanted);
        let below = above.saturating_sub(1);
        if wanted - self.before(below).min(wanted) < self.before(above).saturating_sub(wanted) { below } else { above }
    }

    /// Least load that the heaviest of `pieces` contiguous pieces can have.
    fn lightest_bound(&self, loads: &[u64], pieces: usize) -> u128 {
        let largest = loads.iter().copied().max().unwrap_or(0);
        let mut low = self.total().div_ceil(pieces as u128).max(u128::from(largest));
        let mut high = self.total();
        while low < high {
            let middle = low + (high - low) / 2;
            if self.fits(middle, pieces) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }

    /// Whether `pieces` pieces within `bound` hold all items. `bound` is no less than any load.
    fn fits(&self, bound: u128, pieces: usize) -> bool {
        let items = self.0.len() - 1;
        let mut start = 0;
        for _ in 0..pieces {
            start = self.reach(start, bound);
            if start == items {
                return true;
            }
        }
        false
    }

    /// Position i: the least number of pieces within `bound` that hold the items from i on. Descending.
    fn pieces_needed(&self, bound: u128) -> Vec<usize> {
        let items = self.0.len() - 1;
        let mut needed = vec![0; items + 1];
        let mut end = items;
        for start in (0..items).rev() {
            while self.before(end) - self.before(start) > bound {
                end -= 1;
            }
            let after = needed.get(end).copied().unwrap_or(0);
            if let Some(here) = needed.get_mut(start) {
                *here = after + 1;
            }
        }
        needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn heaviest_of_ends(loads: &[u64], ends: &[usize]) -> u64 {
        let starts = std::iter::once(0).chain(ends.iter().copied());
        starts.zip(ends).map(|(start, &end)| loads[start..end].iter().sum()).max().unwrap()
    }

    /// Every way to cut, tried.
    fn best_contiguous(loads: &[u64], pieces: usize) -> u64 {
        if pieces == 1 {
            return loads.iter().sum();
        }
        (1..=loads.len() - (pieces - 1))
            .map(|end| loads[..end].iter().sum::<u64>().max(best_contiguous(&loads[end..], pieces - 1)))
            .min()
            .unwrap()
    }

    /// Every arrangement, tried.
    fn best_of_all(loads: &[u64], sums: &mut [u64]) -> u64 {
        let Some((&load, rest)) = loads.split_first() else { return *sums.iter().max().unwrap() };
        let mut best = u64::MAX;
        for piece in 0..sums.len() {
            sums[piece] += load;
            best = best.min(best_of_all(rest, sums));
            sums[piece] -= load;
        }
        best
    }

    #[test]
    fn impossible_numbers_of_pieces_are_refused() {
        for pieces in [0, 4] {
            assert_eq!(contiguous(&[1, 2, 3], pieces), None);
            assert_eq!(scattered(&[1, 2, 3], pieces), None);
        }
    }

    #[test]
    fn items_without_load_are_spread_too() {
        assert_eq!(contiguous(&[0; 4], 4), Some(vec![1, 2, 3, 4]));
        assert_eq!(scattered(&[0; 4], 2), Some(vec![0, 1, 0, 1]));
    }

    #[test]
    fn light_pieces_are_evened_out_below_the_bound_that_a_heavy_item_sets() {
        assert_eq!(contiguous(&[9, 1, 1, 1, 1], 3), Some(vec![1, 3, 5]));
        assert_eq!(contiguous(&[1, 1, 1, 1, 9], 3), Some(vec![3, 4, 5]));
    }

    #[test]
    fn loads_may_add_up_beyond_64_bits() {
        assert_eq!(contiguous(&[u64::MAX; 4], 2), Some(vec![2, 4]));
    }

    proptest! {
        #[test]
        fn contiguous_cuts_are_the_best_that_exist(loads in prop::collection::vec(0u64..20, 1..9), pieces in 1usize..9) {
            let pieces = 1 + pieces % loads.len();
            let ends = contiguous(&loads, pieces).unwrap();
            prop_assert_eq!(ends.len(), pieces);
            prop_assert!(std::iter::once(&0).chain(&ends).zip(&ends).all(|(start, end)| start < end), "{:?}", ends);
            prop_assert_eq!(*ends.last().unwrap(), loads.len());
            prop_assert_eq!(heaviest_of_ends(&loads, &ends), best_contiguous(&loads, pieces));
        }

        #[test]
        fn contiguous_cuts_stay_within_the_stated_bound(loads in prop::collection::vec(0u64..1000, 1..300), pieces in 1usize..40) {
            let pieces = 1 + pieces % loads.len();
            let heaviest = heaviest_of_ends(&loads, &contiguous(&loads, pieces).unwrap());
            let share = loads.iter().sum::<u64>().div_ceil(pieces as u64);
            prop_assert!(heaviest <= share + loads.iter().max().unwrap());
        }

        #[test]
        fn scattered_pieces_stay_within_four_thirds_of_the_best(loads in prop::collection::vec(0u64..50, 1..8), pieces in 1usize..4) {
            let pieces = 1 + pieces % loads.len();
            let piece_of = scattered(&loads, pieces).unwrap();
            let mut sums = vec![0; pieces];
            let mut items = vec![0; pieces];
            for (&piece, load) in piece_of.iter().zip(&loads) {
                sums[piece] += load;
                items[piece] += 1;
            }
            prop_assert!(items.iter().all(|&items| items > 0));
            let best = best_of_all(&loads, &mut vec![0; pieces]);
            prop_assert!(3 * sums.iter().max().unwrap() <= 4 * best);
        }
    }
}
